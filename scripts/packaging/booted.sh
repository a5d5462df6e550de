#!/usr/bin/env bash
# Runs as a service of a Debian that has just started, with the package installed: systemd runs the
# nodes of two owners, one of them in a home, starts a hanging one again, and lets go of them. The
# result is in /opt/result, and what was done in /opt/said.
set -u
exec >/opt/said 2>&1
export LC_ALL=C.UTF-8
trap 'systemctl poweroff' EXIT

fail() {
  echo "deb-test: $1" | tee /opt/result
  journalctl --no-pager --output=short-monotonic --unit='flotilla@*' | tail -n 40
  exit 1
}
holds() { local what=$1; shift; "$@" || fail "$what"; }
as() { local user=$1; shift; setpriv --reuid="$user" --regid="$user" --clear-groups "$@"; }
property() { systemctl show --property="$1" --value "$2"; }
# Asks for ten seconds whether something is so.
soon() { for _ in $(seq 100); do if "$@"; then return; fi; sleep 0.1; done; return 1; }
is_another() { [[ $(property MainPID "$2") != "$1" && $(property MainPID "$2") != 0 ]]; }
is_active() { [[ $(property ActiveState "$1") == active ]]; }
counts() { flotilla status "$1" 2>/dev/null | grep -q "$2 rows"; }

useradd --create-home --home-dir /srv/clinic clinic
useradd --create-home --home-dir /home/anna anna
chmod 700 /home/anna
cd /srv/clinic || fail "there is no /srv/clinic"
as clinic sqlite3 a.db "CREATE TABLE patient (id TEXT PRIMARY KEY); INSERT INTO patient VALUES (1)"
holds init as clinic flotilla init a.db --all
cd /home/anna || fail "there is no /home/anna"
holds init as anna flotilla init "my db.db"

cd /
clinic='flotilla@srv-clinic-a.db.service'
anna='flotilla@home-anna-my\x20db.db.service'
if flotilla service /srv/clinic/a.db status; then fail "there is a service before there is one"; fi
holds "service enable" flotilla service /srv/clinic/a.db enable
holds "service of a home" flotilla service "/home/anna/my db.db" enable
holds "service status" flotilla service /srv/clinic/a.db status
for unit in "$clinic clinic" "$anna anna"; do
  process=$(property MainPID "${unit% *}")
  [[ $(stat -c %U "/proc/$process") == "${unit##* }" ]] || fail "the node is not its owner's"
  [[ $(property StatusText "${unit% *}") == "1 database" ]] || fail "the node has told nothing"
done
holds "status as the owner" as anna flotilla status "/home/anna/my db.db"
as clinic sqlite3 -cmd '.timeout 5000' /srv/clinic/a.db "INSERT INTO patient VALUES (2)"
soon counts /srv/clinic/a.db 2 || fail "the node has not seen an edit"
has_fields() {
  journalctl --quiet --no-pager FLOTILLA_DATABASE=/srv/clinic/a.db PRIORITY=6 |
    grep -q 'listens on port'
}
soon has_fields || fail "lines of the journal have no fields"
flotilla doctor /srv/clinic/a.db --bundle /opt/help.json || echo "the doctor ended with $?"
grep -q '^"journal":\[".*listens on port' /opt/help.json || fail "the bundle has no log"
if flotilla list | grep -q "no node runs"; then fail "list says that no node runs"; fi

# The watchdog of minutes is one of seconds here.
mkdir -p /run/systemd/system/flotilla@.service.d
printf '[Service]\nWatchdogSec=3s\nRestartSec=100ms\n' \
  >/run/systemd/system/flotilla@.service.d/test.conf
systemctl daemon-reload
holds restart systemctl restart "$clinic" "$anna"
process=$(property MainPID "$clinic")
sleep 5
[[ $(property MainPID "$clinic") == "$process" ]] || fail "a node that answers was ended"
kill -STOP "$process"
soon is_another "$process" "$clinic" || fail "a node that hangs was not started again"
soon is_active "$clinic" || fail "the node that was started again does not serve"
[[ $(property NRestarts "$anna") == 0 ]] || fail "the other node was ended as well"
soon counts /srv/clinic/a.db 2 || fail "the new node does not answer"

holds "service disable" flotilla service /srv/clinic/a.db disable
[[ $(property ActiveState "$clinic") == inactive ]] || fail "the node goes on"
[[ ! -e /etc/systemd/system/$clinic.d ]] || fail "disable leaves its settings"
holds removal dpkg --remove flotilla
! is_active "$anna" || fail "a node outlives the package"
holds "the package again" dpkg --install /opt/new.deb
soon is_active "$anna" || fail "a node that starts with the machine waits for that"
! is_active "$clinic" || fail "a node runs that was disabled"
holds removal dpkg --remove flotilla
holds purge dpkg --purge flotilla
[[ ! -e /etc/systemd/system/$anna.d ]] || fail "purge leaves settings"
[[ -f "/home/anna/my db.db" ]] || fail "purge took a database"
echo "deb-test: systemd ran nodes of two owners, one that hung was started again" >/opt/result
