#!/usr/bin/env bash
# Runs in a clean Debian: installs the package of an earlier version, uses it, upgrades over it
# with live data, removes and purges it. The last line says that all of it held.
set -eu
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive

fail() { echo "deb-test: $1" >&2; exit 1; }
# What was said is shown where it is not what it should be.
holds() { local what=$1; shift; "$@" >/tmp/said 2>&1 || { cat /tmp/said >&2; fail "$what"; }; }
as_clinic() { setpriv --reuid=clinic --regid=clinic --clear-groups env HOME=/srv/clinic "$@"; }
files() {
  find /etc /usr /lib /var -xdev \( -path /var/cache -o -path /var/lib/dpkg -o -path /var/log \
    -o -path /var/lib/apt -o -path /var/lib/systemd -o -path /etc/ld.so.cache \
    -o -name '*.cache' -o -path /etc/alternatives -o -name '*-' \) -prune -o -print | sort
}
count() { sqlite3 -cmd '.timeout 5000' "$1" 'SELECT count(*) FROM patient'; }
arrives() {
  for _ in $(seq 200); do
    if [[ $(count "$1") == "$2" ]]; then return; fi
    sleep 0.1
  done
  fail "$1 has $(count "$1") rows instead of $2"
}

! command -v swift >/dev/null || fail "there is a Swift here, so nothing is shown"
useradd --create-home --home-dir /srv/clinic clinic
# Libraries first, so that what is left at the end is of the package alone.
holds "the first installation" apt-get install -qq -y --no-install-recommends /tmp/old.deb
holds "purge of the first one" apt-get purge -qq -y flotilla
files >/tmp/before

holds "installation" apt-get install -qq -y --no-install-recommends /tmp/old.deb
[[ $(stat -c %U:%a /var/lib/flotilla) == flotilla:750 ]] ||
  fail "/var/lib/flotilla is not its user's"
holds "the page of the manual" man -w 1 flotilla-track
for page in /usr/share/man/man1/flotilla*.gz; do
  man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>/tmp/said >/dev/null
  [[ ! -s /tmp/said ]] || fail "$page: $(cat /tmp/said)"
done
words=$(bash -ic '. /usr/share/bash-completion/bash_completion; _completion_loader flotilla
  COMP_WORDS=(flotilla unt); COMP_CWORD=1; _flotilla flotilla unt
  echo "${COMPREPLY[@]}"' 2>/dev/null)
[[ $words == untrack ]] || fail "bash completes nothing: $words"
holds "the unit" systemd-analyze verify --man=no /lib/systemd/system/flotilla@.service

cd /srv/clinic
as_clinic sqlite3 a.db "CREATE TABLE patient (id TEXT PRIMARY KEY, ward TEXT);
  INSERT INTO patient VALUES ('p-1', 'A'), ('p-2', 'B')"
holds init as_clinic flotilla init a.db --site Clinic --name first --all
holds run as_clinic flotilla run a.db --background --no-discovery --listen 127.0.0.1:7391
code=$(as_clinic flotilla invite a.db 2>/dev/null)
holds join as_clinic flotilla join b.db "$code" --name second --at 127.0.0.1:7391
holds "the second node" as_clinic flotilla run b.db --background --no-discovery \
  --listen 127.0.0.1:7392
as_clinic sqlite3 -cmd '.timeout 5000' a.db "INSERT INTO patient VALUES ('p-3', 'C')"
arrives b.db 3

holds upgrade apt-get install -qq -y --no-install-recommends /tmp/new.deb
as_clinic sqlite3 -cmd '.timeout 5000' b.db "INSERT INTO patient VALUES ('p-4', 'D')"
arrives a.db 4
holds "the new program beside an old node" as_clinic flotilla status a.db
holds stop as_clinic flotilla stop a.db
holds "the new node" as_clinic flotilla run a.db --background --no-discovery \
  --listen 127.0.0.1:7391
as_clinic sqlite3 -cmd '.timeout 5000' a.db "INSERT INTO patient VALUES ('p-5', 'E')"
arrives b.db 5
holds verify as_clinic flotilla verify a.db

if flotilla service a.db enable 2>/tmp/said; then fail "a service without systemd"; fi
grep -q 'systemd does not run' /tmp/said || fail "$(cat /tmp/said)"
holds "the service of an image" flotilla service a.db enable --root /
unit=$(systemctl --root=/ is-enabled 'flotilla@srv-clinic-a.db.service')
[[ $unit == enabled ]] || fail "the unit is $unit"
grep -qx User=clinic /etc/systemd/system/flotilla@srv-clinic-a.db.service.d/database.conf ||
  fail "the unit does not run as the owner"

holds stop as_clinic flotilla stop b.db
apt-get remove -qq -y flotilla >/tmp/said 2>&1 || fail "removal: $(cat /tmp/said)"
node=$(sed -n 's/.*ends a process that still runs it: \([0-9]*\) (.* a\.db ).*/\1/p' /tmp/said)
[[ -n $node ]] || fail "removal ends no node: $(cat /tmp/said)"
# A zombie may be left, where nobody waits for it; that runs nothing.
! readlink "/proc/$node/exe" >/dev/null || fail "the node of a.db goes on without its program"
[[ ! -e /usr/bin/flotilla ]] || fail "the program is still there"
[[ $(count a.db)$(count b.db) == 55 ]] || fail "rows went with the package"
as_clinic sqlite3 a.db "INSERT INTO patient VALUES ('p-6', 'F')"
holds purge apt-get purge -qq -y flotilla
files >/tmp/after
diff /tmp/before /tmp/after || fail "purge leaves something behind"
[[ -d a.db-flotilla && $(count a.db) == 6 ]] || fail "purge took something of a database"

# Whoever comes back finds all as it was, with what was written meanwhile.
holds "coming back" apt-get install -qq -y --no-install-recommends /tmp/new.deb
for port in "a 7391" "b 7392"; do
  holds "start again" as_clinic flotilla run "${port% *}.db" --background --no-discovery \
    --listen "127.0.0.1:${port#* }"
done
arrives b.db 6
for database in a.db b.db; do holds stop as_clinic flotilla stop "$database"; done
echo "deb-test: installed, used, upgraded, removed, purged and installed again"
