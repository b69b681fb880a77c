#!/usr/bin/env bash
# systemd/solocron-hardened.service, started for real: a Debian with systemd as its first process, in a container of systemd's own.
# Three jobs run on the embedded store, a changed file is loaded by `systemctl reload`, a bad one is refused, and the service stops.
# Needs root, debootstrap and systemd-nspawn. Usage: systemd.sh PROGRAM, with the program to be installed.
set -euo pipefail
program=$(realpath "$1")
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
units=$here/../../systemd
# Downloaded once, and kept: a fresh Debian for each run is a copy of it.
base=${SOLOCRON_DEBIAN:-/var/cache/solocron-tests/debian}
suite=bookworm
machine=$(mktemp -d "${TMPDIR:-/var/tmp}/solocron-machine.XXXXXX")
console=$machine.console
container=
cleanup() {
    # Its first process ends all others.
    [[ -z $container ]] || kill -KILL "$container" 2> /dev/null || true
    wait 2> /dev/null || true
    rm -rf --one-file-system "$machine" "$console"
}
trap cleanup EXIT

fail() {
    echo "systemd.sh: $*" >&2
    echo "--- journal of the container" >&2
    journalctl --no-pager -q -D "$machine/var/log/journal" -u solocron-hardened 2> /dev/null | tail -60 >&2 || true
    tail -40 "$console" >&2 || true
    exit 1
}

if [[ ! -e $base/complete ]]; then
    mkdir -p "$base"
    debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,procps "$suite" "$base/root" > "$base/log" 2>&1 || {
        tail -20 "$base/log" >&2
        exit 1
    }
    touch "$base/complete"
fi
cp -a "$base/root/." "$machine/"
install -m 0755 "$program" "$machine/usr/local/bin/solocron"
install -m 0644 "$units/solocron-hardened.service" "$machine/etc/systemd/system/"
chroot "$machine" useradd --system --home-dir /var/lib/solocron --shell /usr/sbin/nologin solocron
install -d "$machine/etc/solocron" "$machine/var/log/journal"
jobs() {
    echo 'cluster = { name = "units", store = "local" }'
    for job in one two three; do
        echo "[jobs.$job]"
        echo 'schedule = "*/2 * * * * *"'
        echo "shell = 'echo \$SOLOCRON_JOB > \$STATE_DIRECTORY/$job; grep -E \"^(CapEff|NoNewPrivs|Seccomp):\" /proc/self/status >> \$STATE_DIRECTORY/$job; touch /usr/x 2> /dev/null || echo closed >> \$STATE_DIRECTORY/$job'"
    done
}
jobs > "$machine/etc/solocron/jobs.toml"
# What the container does once it is up, as its own service: it leaves its findings in a file.
cat > "$machine/usr/local/bin/drive" << 'DRIVE'
#!/bin/bash
report() { echo "$*" >> /report; }
state=/var/lib/solocron
systemctl start solocron-hardened && report started || report "start failed"
for job in one two three; do
    for _ in $(seq 300); do [[ -s $state/$job ]] && break; sleep 0.1; done
    report "$job: $(tr '\n\t' '; ' < $state/$job 2> /dev/null)"
done
sed -i 's/jobs.three/jobs.four/; s/three/four/g' /etc/solocron/jobs.toml
systemctl reload solocron-hardened && report reloaded || report "reload failed"
for _ in $(seq 300); do [[ -s $state/four ]] && break; sleep 0.1; done
report "four: $(head -1 $state/four 2> /dev/null)"
echo 'nonsense = 1' >> /etc/solocron/jobs.toml
systemctl reload solocron-hardened 2> /dev/null && report "bad file was loaded" || report "bad file refused"
report "still $(systemctl is-active solocron-hardened)"
report "user $(stat -c %U $state/../solocron 2> /dev/null) $(ps -o user= -C solocron | sort -u | tr '\n' ' ')"
systemctl stop solocron-hardened && report stopped || report "stop failed"
report "then $(systemctl show -p Result --value solocron-hardened)"
report over
systemctl poweroff
DRIVE
chmod 0755 "$machine/usr/local/bin/drive"
cat > "$machine/etc/systemd/system/drive.service" << 'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/usr/local/bin/drive
[Install]
WantedBy=multi-user.target
UNIT
install -d "$machine/etc/systemd/system/multi-user.target.wants"
ln -s ../drive.service "$machine/etc/systemd/system/multi-user.target.wants/drive.service"

systemd-nspawn --quiet --directory="$machine" --register=no --keep-unit --private-network --boot \
    < /dev/null > "$console" 2>&1 &
container=$!
deadline=$((SECONDS + 180))
until grep -qs '^over$' "$machine/report"; do
    kill -0 "$container" 2> /dev/null || fail "the container ended: $(cat "$machine/report" 2> /dev/null)"
    (( SECONDS < deadline )) || fail "not over after three minutes: $(cat "$machine/report" 2> /dev/null)"
    sleep 0.2
done
cat "$machine/report"
expect() { grep -qxE "$1" "$machine/report" || fail "the report lacks: $1"; }
expect started
for job in one two three; do
    expect "$job: $job;CapEff:.0000000000000000;NoNewPrivs:.1;Seccomp:.2;closed;"
done
expect reloaded
expect "four: four"
expect "bad file refused"
expect "still active"
expect "user solocron solocron *"
expect stopped
expect "then success"
