#!/usr/bin/env bash
# Tries the package on a clean Debian of this release, in a root of its own that mmdebstrap makes:
# test.sh PROGRAM. Needs no root where the kernel lets users have namespaces. It is skipped, with
# the reason, where no such root can be made.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
(($# == 1)) || { echo "usage: test.sh PROGRAM" >&2; exit 2; }

skip() { echo "deb-test: skipped: $1"; exit 0; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
old=$("$here/deb.sh" "$1" "$work" 0.0.9) || exit 1
new=$("$here/deb.sh" "$1" "$work") || exit 1
again=$("$here/deb.sh" "$1" "$work/again") || exit 1
cmp "$new" "$again" || { echo "deb-test: one program gave two packages" >&2; exit 1; }
size=$(stat -c %s "$1")
((size <= 20 << 20)) || { echo "deb-test: the program has $size bytes, over 20 MiB" >&2; exit 1; }

command -v lintian >/dev/null || skip "there is no lintian; setup.sh packaging installs it"
# As root it must be told that this is meant; what it says is shown.
lintian --allow-root --tag-display-limit 0 --fail-on error "$new" ||
  { echo "deb-test: lintian finds errors" >&2; exit 1; }

command -v mmdebstrap >/dev/null || skip "there is no mmdebstrap; setup.sh packaging installs it"
release=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
[[ -n $release ]] || skip "this is no release of Debian"
mode=unshare
if ((EUID == 0)); then mode=root; fi
if [[ $mode == unshare ]] && ! unshare -Ur true 2>/dev/null; then
  skip "users may have no namespaces here, and this is not root"
fi

# The sources of this machine are in reach; others may not be.
sources=()
for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
  if [[ -s $file ]]; then sources=("$file"); break; fi
done
cp "$old" "$work/old.deb"
cp "$new" "$work/new.deb"
mmdebstrap --quiet --mode="$mode" --variant=apt --format=null \
  --include=systemd,man-db,sqlite3,bash-completion \
  --customize-hook="copy-in $work/old.deb $work/new.deb $here/clean-root.sh /tmp" \
  --customize-hook='chroot "$1" bash /tmp/clean-root.sh; echo $? >'"$work/status" \
  "$release" /dev/null "${sources[@]}" 2>"$work/errors"
status=$?
if [[ ! -s $work/status ]]; then
  tail -n 5 "$work/errors" >&2
  skip "no clean root could be made (mmdebstrap ended with $status)"
fi
status=$(cat "$work/status")
# What hooks print comes out here.
if ((status != 0)); then
  cat "$work/errors" >&2
  exit "$status"
fi
grep '^deb-test:' "$work/errors"

# What only systemd itself shows: the same Debian is started, without a network but its own.
((EUID == 0)) || skip "only root can start a Debian within this one; all else holds"
command -v systemd-nspawn >/dev/null || skip "there is no systemd-nspawn; all else holds"
root=$work/root
mmdebstrap --quiet --mode=root --variant=apt --include=systemd-sysv,dbus,sqlite3 \
  --customize-hook="copy-in $work/new.deb $here/booted.sh $here/booted.service /opt" \
  --customize-hook='chroot "$1" apt-get install -qq -y --no-install-recommends /opt/new.deb >&2' \
  --customize-hook='chroot "$1" systemctl enable /opt/booted.service' \
  "$release" "$root" "${sources[@]}" 2>"$work/errors" ||
  { cat "$work/errors" >&2; skip "no root to start could be made; all else holds"; }
place=(--register=no)
# Where no systemd runs there is nobody to ask for a unit of its own.
if [[ ! -d /run/systemd/system ]]; then place+=(--keep-unit); fi
timeout 300 systemd-nspawn --quiet --directory="$root" --boot "${place[@]}" --private-network \
  </dev/null >"$work/console" 2>&1
if [[ ! -s $root/opt/said ]]; then
  tail -n 5 "$work/console" >&2
  skip "systemd-nspawn starts no Debian here; all else holds"
fi
cat "$root/opt/result"
if ! grep -q 'systemd ran' "$root/opt/result"; then
  cat "$root/opt/said" >&2
  exit 1
fi
