#!/usr/bin/env bash
# The image, built from the Dockerfile as it is written, and run for real without a container engine: buildah builds it in a chroot,
# on base images that debootstrap makes, under the names that the Dockerfile uses. Three containers of it and a Redis with a password
# run with the settings of compose.yaml: each in namespaces of its own, with a read-only root, no capabilities, and PID 1 being the
# program. Needs root, buildah, debootstrap, redis-server and a Rust toolchain.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
project=$(realpath "$here/../..")
cache=${SOLOCRON_CACHE:-/var/cache/solocron-tests}
work=$(mktemp -d "${TMPDIR:-/var/tmp}/solocron-image.XXXXXX")
password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
buildah() { command buildah --storage-driver vfs --root "$cache/images" --runroot "$work/run" "$@"; }
cleanup() {
    jobs -p | xargs -r kill -KILL 2> /dev/null || true
    wait 2> /dev/null || true
    umount "$work/redis-root" "$work/root" 2> /dev/null || true
    buildah rm --all > /dev/null 2>&1 || true
    rm -rf --one-file-system "$work"
}
trap cleanup EXIT
fail() {
    echo "image.sh: $*" >&2
    tail -n 20 "$work"/*.log >&2 || true
    exit 1
}

# Base images, made once.
mkdir -p "$cache"
if ! buildah inspect --type image docker.io/library/debian:bookworm-slim > /dev/null 2>&1; then
    debootstrap --variant=minbase bookworm "$cache/slim" > "$cache/slim.log" 2>&1 || { tail -20 "$cache/slim.log" >&2; exit 1; }
    container=$(buildah from scratch)
    buildah add -q "$container" "$cache/slim" / > /dev/null
    buildah config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
    buildah commit -q "$container" docker.io/library/debian:bookworm-slim > /dev/null
    rm -rf "$cache/slim"
fi
rust=$(sed -n 's/^FROM \(rust:[^ ]*\) AS build$/\1/p' "$project/Dockerfile")
if ! buildah inspect --type image "docker.io/library/$rust" > /dev/null 2>&1; then
    container=$(buildah from --pull=never docker.io/library/debian:bookworm-slim)
    buildah run --isolation chroot "$container" sh -c \
        'apt-get update -q && apt-get install -qy --no-install-recommends ca-certificates gcc libc6-dev' > "$work/rust.log" 2>&1 || fail rust
    buildah add -q "$container" "$(rustc --print sysroot)" /usr/local > /dev/null
    # Behind a proxy that has an authority of its own, crates come from it.
    buildah add -q "$container" /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt > /dev/null
    buildah commit -q "$container" "docker.io/library/$rust" > /dev/null
fi

# What is committed, and nothing else.
mkdir "$work/context"
git -C "$project" archive HEAD | tar -x -C "$work/context"
buildah build --isolation chroot --pull=never -t solocron "$work/context" > "$work/build.log" 2>&1 || fail "the image cannot be built"
user=$(buildah inspect --type image --format '{{.OCIv1.Config.User}}' solocron)
[[ $user == 7070:7070 ]] || fail "its user is $user"
container=$(buildah from --pull=never solocron)
root=$(buildah mount "$container")
found=$(find "$root" -xdev -perm /6000 -type f)
[[ -z $found ]] || fail "these gain privileges: $found"
buildah inspect --type image --format '{{.OCIv1.Config.Env}} {{.OCIv1.Config.ExposedPorts}}' solocron > "$work/config.log"
grep -q 'SOLOCRON_LISTEN=0.0.0.0:7070.*7070/tcp' "$work/config.log" || fail "it does not listen on port 7070 of all addresses"
echo "built: user $user, nothing gains privileges, listens on all addresses"

# The settings that are used below are those of the file.
for setting in 'cap_drop: \[ALL\]' 'no-new-privileges:true' 'read_only: true' 'tmpfs: \[/tmp\]' 'pids_limit: 512' 'replicas: 3' \
    '"--requirepass"' 'SOLOCRON_STORE: redis://:\${REDIS_PASSWORD}@redis:6379/0' '/etc/solocron/jobs.toml:ro' 'state:/var/lib/solocron'; do
    grep -q -- "$setting" "$project/compose.yaml" || fail "compose.yaml has no $setting"
done

mkdir "$work/state" "$work/etc"
chown 7070:7070 "$work/state"
cat > "$work/etc/jobs.toml" << 'JOBS'
cluster = { name = "image", store = "redis://localhost" }
[jobs.once]
schedule = "* * * * * *"
shell = '''
echo $SOLOCRON_TICK_MS >> once
touch /x 2> /dev/null && echo "its root can be written" >> odd
grep -q "^CapBnd:.0000000000000000$" /proc/self/status || echo "it has capabilities" >> odd
grep -q "^NoNewPrivs:.1$" /proc/self/status || echo "it may gain privileges" >> odd
(sleep 1 &)
'''
[jobs.orphans]
schedule = "*/2 * * * * *"
shell = '''
dead() { grep -l "^State:.Z" /proc/[0-9]*/status 2> /dev/null; }
before=$(dead)
sleep 1
for one in $(dead); do case "$before" in *"$one"*) echo "nobody buries the dead" >> odd ;; esac; done
tr "\\0" " " < /proc/1/cmdline > first
'''
JOBS
printf '127.0.0.1 localhost redis\n' > "$work/etc/hosts"
cat > "$work/container" << 'CONTAINER'
#!/bin/bash
# container ROOT WORK NAME PORT: one container, in this process's namespaces; the containers share a network, so each has its port.
set -e
root=$1 work=$2 port=$4
hostname "$3"
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mount --bind "$work/state" "$root/var/lib/solocron"
mount --bind "$work/etc" "$root/etc/solocron"
touch "$root/etc/hosts"
mount --bind "$work/etc/hosts" "$root/etc/hosts"
mount -o remount,bind,ro "$root"
exec chroot "$root" setpriv --reuid=7070 --regid=7070 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \
    prlimit --nproc=512 env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin SOLOCRON_STATE_DIR=/var/lib/solocron \
    SOLOCRON_STORE="$SOLOCRON_STORE" SOLOCRON_LISTEN="0.0.0.0:$port" sh -c 'cd /var/lib/solocron && exec /usr/local/bin/solocron run --log-format json'
CONTAINER
chmod +x "$work/container"
cat > "$work/all" << 'ALL'
#!/bin/bash
# all ROOT WORK PASSWORD: Redis and three containers in a network of their own; stops them, and says how they ended.
root=$1 work=$2
ip link set lo up
redis-server --port 6379 --appendonly yes --save '' --dir "$work" --maxmemory-policy noeviction --requirepass "$3" > "$work/redis.log" 2>&1 &
redis=$!
export SOLOCRON_STORE="redis://:$3@redis:6379/0"
containers=()
port=7070
for name in a b c; do
    unshare --mount --pid --ipc --uts --fork "$work/container" "$root" "$work" "$name" "$port" > "$work/$name.log" 2>&1 &
    containers+=($!)
    port=$((port + 1))
done
for _ in $(seq 600); do [[ -e $work/state/once && $(wc -l < "$work/state/once") -ge 12 ]] && break; sleep 0.1; done
# The health check of compose.yaml, as it is written there, by the shell of the image; and what is closed without tokens.
ask() { exec 3<> "/dev/tcp/127.0.0.1/$1" && printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$2" >&3 && head -1 <&3 | tr -d '\r'; }
chroot "$root" bash -c "$(cat "$work/healthcheck")" && echo "healthy" || echo "not healthy"
for port in 7070 7071 7072; do echo "ready $(ask "$port" /readyz)"; done
echo "page $(ask 7070 /)"
for container in "${containers[@]}"; do pkill -TERM -P "$container"; done
for container in "${containers[@]}"; do wait "$container"; echo "ended $?"; done
kill "$redis"
wait
ALL
chmod +x "$work/all"
sed -n "s/^ *test: \[\"CMD\", \"bash\", \"-c\", \"\(.*\)\"\]$/\1/p" "$project/compose.yaml" | sed 's/\\\\/\\/g' > "$work/healthcheck"
[[ -s $work/healthcheck ]] || fail "compose.yaml has no health check"
timeout 120 unshare --net --mount --propagation private "$work/all" "$root" "$work" "$password" > "$work/ends" || fail "the containers: $(cat "$work/ends")"
[[ $(grep -c '^ended 0$' "$work/ends") == 3 ]] || fail "a container did not drain: $(cat "$work/ends")"
grep -qx healthy "$work/ends" || fail "the health check of compose.yaml fails: $(cat "$work/ends")"
[[ $(grep -c '^ready HTTP/1.1 200' "$work/ends") == 3 ]] || fail "a container is not ready: $(cat "$work/ends")"
grep -qx 'page HTTP/1.1 40[13].*' "$work/ends" || fail "the page is open without tokens: $(cat "$work/ends")"
ran=$(wc -l < "$work/state/once")
(( ran >= 12 )) || fail "only $ran ticks ran"
twice=$(sort "$work/state/once" | uniq -d)
[[ -z $twice ]] || fail "these ticks ran twice: $twice"
[[ ! -e $work/state/odd ]] || fail "$(sort -u "$work/state/odd")"
grep -q '^/usr/local/bin/solocron run' "$work/state/first" || fail "PID 1 is $(cat "$work/state/first")"
echo "run: three containers, $ran ticks, each once; PID 1 is the program, buries orphans and drains on SIGTERM; root read-only"
