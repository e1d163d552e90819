#!/usr/bin/env bash
# Installs the packages of build/debian in a fresh Debian 12 that has no Swift, uses each of them there, and removes
# them. The system lies in build/debian-SUITE, where nobody else can write, and goes when all has passed.
#
#   Tests/Consumers/check-debian.sh [FOLDER WITH THE PACKAGES]         as root; takes debootstrap and the network
#
# The last line is "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
packages=$(cd "${1:-build/debian}" && pwd)
suite=${MOTTE_DEBIAN_SUITE:-bookworm}
mirror=${MOTTE_DEBIAN_MIRROR:-http://deb.debian.org/debian}
place=$PWD/build/debian-$suite
passed=0

say() { passed=$((passed + 1)); echo "ok: $*"; }
fail() { echo "check-debian: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || fail "only root can make a system in a folder"
command -v debootstrap > /dev/null || fail "debootstrap is missing; apt-get install debootstrap"
ls "$packages"/motte_*.deb > /dev/null || fail "there are no packages in $packages; scripts/debian.sh makes them"

mkdir -p build
if [ ! -x "$place/usr/bin/apt-get" ]; then
    rm -rf "$place"
    debootstrap --variant=minbase --include=python3,man-db "$suite" "$place" "$mirror" > "$place.log" 2>&1 ||
        { tail -5 "$place.log"; fail "debootstrap failed"; }
fi
inside() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        chroot "$place" "$@"
}
mkdir -p "$place/packages"
rm -f "$place"/packages/*
cp "$packages"/*.deb "$place/packages/"
mountpoint -q "$place/proc" || mount -t proc proc "$place/proc"
trap 'umount "$place/proc" 2> /dev/null || true' EXIT
! inside sh -c 'command -v swift' || fail "there is a Swift in it"
# As it is without the packages, also after a run that was stopped.
inside apt-get purge -y -qq motte libmotte-dev libmotte1 python3-motte > /dev/null 2>&1 || true
inside apt-get install -y -qq --no-install-recommends gcc libc6-dev pkg-config libedit2 zlib1g > "$place.log" 2>&1 ||
    { tail -5 "$place.log"; fail "no compiler can be installed"; }
# What hooks of dpkg write is no file of a package.
listing() { inside find / -xdev -type f -not -path '/var/*' -not -path '/proc/*' -not -path '/tmp/*' | sort; }
listing > "$place.before"

inside sh -c 'apt-get install -y -qq --no-install-recommends /packages/*.deb' > "$place.log" 2>&1 ||
    { tail -20 "$place.log"; fail "the packages do not install"; }
say "installed in $suite"

inside sh -e -c 'cd /tmp; rm -f t.*; printf "id,name\n1,Ada\n2,Bob\n" > t.csv
    motte import t.motte Person t.csv --key id
    echo "select name from Person where id == 2;" | motte t.motte | grep -qx Bob
    gzip -kf t.csv; motte import u.motte Person t.csv.gz --key id; motte diff t.motte u.motte
    rm -f t.* u.*' > /dev/null || fail "the command does not work"
say "the command"

cp Tests/Consumers/consumer.c "$place/tmp/consumer.c"
# shellcheck disable=SC2016
inside sh -e -c 'cd /tmp; gcc -Wall -Wextra -Werror consumer.c -o consumer $(pkg-config --cflags --libs motte)
    ./consumer c.motte; motte verify c.motte; rm -f consumer* c.motte*' > /dev/null || fail "no C program works"
say "a C program"

cp Tests/Consumers/wheel.py "$place/tmp/wheel.py"
inside sh -e -c 'mkdir -p /tmp/python; python3 /tmp/wheel.py /tmp/python; rm -rf /tmp/python /tmp/wheel.py' ||
    fail "the Python package does not work"
say "the Python package, with $(inside python3 --version)"

inside sh -e -c 'man -w motte motte-query motte-shell; bash -n /usr/share/bash-completion/completions/motte
    test -s /usr/share/zsh/vendor-completions/_motte; test -s /usr/share/fish/vendor_completions.d/motte.fish' \
    > /dev/null || fail "man pages or completion are missing"
say "man pages and completion"

inside sh -c 'apt-get purge -y -qq motte libmotte-dev libmotte1 python3-motte' > "$place.log" 2>&1 ||
    { tail -5 "$place.log"; fail "the packages cannot be removed"; }
listing > "$place.after"
left=$(comm -13 "$place.before" "$place.after" | grep -E 'motte' || true)
[ -z "$left" ] || fail "they leave $left"
say "removed without a trace"
umount "$place/proc"
rm -rf --one-file-system "$place" "$place".{log,before,after}
echo "$passed passed, 0 failed"
