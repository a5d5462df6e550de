#!/usr/bin/env bash
# Three machines of a clinic on a LAN of their own, with real discovery: an edit arrives, a cable is
# pulled, both sides go on working, and all become equal again. Ends by itself; exit 1 if anything
# did not happen as told. With HTTP=1 it waits for Enter at the end; the page is open until then.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
# shellcheck source=scripts/lan.sh
source scripts/lan.sh

FLOTILLA_BIN=${FLOTILLA_BIN:-$PWD/.build/debug}
export FLOTILLA_BIN
python=$(PATH=/usr/bin:$PATH command -v python3)
names=(- ward-1 pharmacy field-bag)
query="SELECT ward FROM patient WHERE id = 'p-0117'"

bold='' dim='' green='' red='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' red=$'\e[31m' plain=$'\e[0m'
fi

step() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
good() { printf '  %s✓%s %s\n' "$green" "$plain" "$*"; }
fail() {
  printf '  %s✗ %s%s\n' "$red" "$*" "$plain"
  exit 1
}

# Runs a command on host K as shown; its output is indented, its failure ends the demo. Output goes
# through a file: what stays in the background would hold a pipe open.
on() {
  local k=$1 shown='' word status
  shift
  for word in "$@"; do
    if [[ $word == *[!A-Za-z0-9_./:=-]* ]]; then word="\"$word\""; fi
    shown+=" $word"
  done
  printf '  %s%-10s$%s%s\n' "$dim" "${names[k]}" "$shown" "$plain"
  lan_exec "$k" timeout -k 2 30 "$@" >"$FLOTILLA_LAB/said" 2>&1 </dev/null
  status=$?
  sed 's/^/    /' "$FLOTILLA_LAB/said"
  ((status == 0)) || fail "that failed (exit $status)"
}

# Plain SQL on host K, by the sqlite3 program.
sql() {
  on "$1" sqlite3 -cmd ".timeout 5000" clinic.db "$2"
}

file() { echo "$FLOTILLA_LAB/h$1/home/clinic.db"; }
ward() { sqlite3 -cmd '.timeout 5000' "$(file "$1")" "$query"; }
wards() { for k in 1 2 3; do printf '    %-10s %s\n' "${names[k]}" "$(ward "$k")"; done; }
equal() { "$python" Tests/Fixtures/compare.py "$(file 1)" "$(file 2)" "$(file 3)"; }
seconds() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }

# Waits until the three files hold the same rows.
until_equal() {
  local start=$EPOCHREALTIME end=$((SECONDS + 30)) report
  while ((SECONDS < end)); do
    if report=$(equal); then
      good "$report, the same on all three after $(seconds "$start") s"
      return
    fi
    sleep 0.1
  done
  echo "$report"
  fail "the files still differ after $(seconds "$start") s"
}

# Changes the ward of one patient on one host and times the others.
timed_edit() {
  local k=$1 value=$2 others=() taken i=0 other
  for other in 1 2 3; do ((other == k)) || others+=("$other"); done
  local sql="UPDATE patient SET ward = '$value' WHERE id = 'p-0117'"
  printf '  %s%-10s$ sqlite3 clinic.db "%s"%s\n' "$dim" "${names[k]}" "$sql" "$plain"
  taken=$(lan_exec "$k" python3 "$PWD/scripts/clinic.py" time clinic.db "$sql" "$query" "$value" \
    "$(file "${others[0]}")" "$(file "${others[1]}")") || fail "the edit did not arrive: $taken"
  for other in "${others[@]}"; do
    i=$((i + 1))
    good "${names[other]} has ward $value, $(sed -n "${i}p" <<<"$taken") ms after the commit"
  done
}

began=$EPOCHREALTIME
trap 'lan_down' EXIT
trap 'exit 130' INT TERM

[[ -x $FLOTILLA_BIN/flotilla ]] || fail "there is no $FLOTILLA_BIN/flotilla: make build"

step "Three machines on a LAN of their own, each with Avahi"
lan_up 3 $$ || fail "this machine cannot hold the LAN"
good "ward-1, pharmacy and field-bag are up"

step "ward-1 has a database in daily use and makes it the first replica"
"$python" scripts/clinic.py make "$(file 1)" || fail "no database"
on 1 flotilla init clinic.db --site "North clinic" --name ward-1 --all
on 1 flotilla run clinic.db --http --background

for k in 2 3; do
  step "${names[k]} has nothing but a code"
  printf '  %sward-1    $ flotilla invite clinic.db%s\n' "$dim" "$plain"
  code=$(lan_exec 1 flotilla invite clinic.db 2>"$FLOTILLA_LAB/said") || fail "no invitation"
  sed 's/^/    /' <(echo "$code") "$FLOTILLA_LAB/said"
  on "$k" flotilla join clinic.db "$code" --name "${names[k]}"
  on "$k" flotilla run clinic.db --background
done
until_equal

step "Any program edits with plain SQL, anywhere"
timed_edit 2 B
timed_edit 1 A

step "Somebody trips over field-bag's cable; everybody goes on working"
lan_cut 3
sql 1 "UPDATE patient SET ward = 'C', note = 'moved' WHERE id = 'p-0117'"
sql 1 "UPDATE stock SET quantity = quantity + 20 WHERE batch = 'L007'"
sleep 0.2
sql 3 "UPDATE patient SET ward = 'ICU', note = 'fever' WHERE id = 'p-0117'"
sql 3 "INSERT INTO patient VALUES ('p-2001', 'Zola Mbeki', '2024-02-29', 'B', '')"
for ((i = 0; i < 50; i++)); do [[ $(ward 2) == C ]] && break || sleep 0.1; done
echo "  the ward of p-0117 now:"
wards
[[ $(ward 2) == C && $(ward 3) == ICU ]] || fail "expected C, C and ICU"
if equal >/dev/null; then fail "the files should differ"; fi
good "two opinions about one patient, as it must be"

step "The cable is put back"
lan_heal 3
until_equal
wards
[[ $(ward 1) == ICU ]] || fail "the newer edit should stand"
good "the newer edit stands everywhere"

step "What the nodes say"
on 1 flotilla wait clinic.db --for all --timeout 20s
# That the files are equal shows a moment before the nodes have told each other so.
for ((i = 0; i < 50; i++)); do
  lan_exec 1 timeout -k 2 10 flotilla status clinic.db >/dev/null 2>&1 </dev/null && break
  sleep 0.1
done
on 1 flotilla status clinic.db

step "There is a page for people, too"
token=$(lan_exec 1 flotilla token clinic.db add demo 2>"$FLOTILLA_LAB/said") || fail "no token"
log=$(file 1)-flotilla/node.log
gate=$(sed -n 's|.*serves http://127.0.0.1:\([0-9]*\)/v1/.*|\1|p' "$log" | head -1)
[[ -n $gate ]] || fail "the log does not say where"
answer=$(lan_exec 1 curl -sS -H "Authorization: Bearer $token" \
  "http://127.0.0.1:$gate/v1/clinic/rows/patient/p-0117") || fail "the gateway does not answer"
good "ward-1 serves http://127.0.0.1:$gate/ to a browser on that machine"
good "and rows to programs: $answer"
if [[ ${HTTP:-} == 1 ]]; then
  port=7392
  "$python" -c "import socket; socket.create_server(('127.0.0.1', $port)).close()" 2>/dev/null ||
    port=0
  "$python" scripts/door.py "$port" scripts/lan.sh exec 1 \
    "$python" "$PWD/scripts/door.py" - "$gate" >"$FLOTILLA_LAB/door" 2>"$FLOTILLA_LAB/said" &
  # shellcheck disable=SC2016
  lan_until sh -c 'curl -sfo "$1.page" "$(cat "$1")" 2>"$1.said"' sh "$FLOTILLA_LAB/door" || {
    cat "$FLOTILLA_LAB/said"
    fail "no port of this machine leads there"
  }
  good "here it is at $bold$(cat "$FLOTILLA_LAB/door")$plain, with the token"
  printf '      %s\n' "$token"
  read -r -p "  Press Enter to end. " || echo
else
  good "make demo HTTP=1 leaves it open for your browser"
fi

step "Good night"
for k in 1 2 3; do on "$k" flotilla stop clinic.db; done
good "done in $(seconds "$began") s; nothing is left running"
