#!/usr/bin/env bash
# Builds and runs the tests; the last line says `N passed, M failed`, and the status is 0 only if
# none failed. Arguments go to the tests, for instance --filter StoreTests; then one process runs.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# The backtracer of a crashed test can hang where its output is a pipe.
export SWIFT_BACKTRACE=enable=no
export try=first
export limit=${FLOTILLA_TEST_SECONDS:-3900}
export built=$PWD/.build/tests/release

# What mostly waits, for processes, daemons and timers: some at the same time. Each line is a
# process and the names of the tests in it, the longest first.
waiting='
FlotillaTests\.
BadInputTests/[L-O]
BadInputTests/[R-Z]
LANTests/ChaosTests
BadInputTests/[A-C]
CrashTests\.
LANTests/[D-Z]
BadInputTests/K
BadInputTests/[D-J]
BadInputTests/[PQ]
LANTests/A
CommandTests\.
GatewayTests\.
MirrorTests\.`A m
MirrorTests\.`A s
MirrorTests\.`[TW]
MirrorTests\.`(A t|O)
NetworkTests\.
^RowsTests\.
'
# What mostly computes, one after another. Whatever is in no line runs beside these.
computing='
SimulatorTests\.
FuzzTests\.
'

# One build for all: whole programs are tried optimised, for the optimiser has its own ways to use
# what is gone. What the standard library checks in a debug build alone is checked here as well.
build() {
  swift build -c release --build-tests --disable-xctest --scratch-path .build/tests \
    -debug-info-format none -Xswiftc -enable-testing -Xswiftc -assert-config -Xswiftc Debug
}

# What starts is not news; what ends is. An argument can spread the line over several.
without_starts() {
  awk '
    /^◇/ { left = /started\.$/ ? 0 : 30; next }
    left > 0 { left = /started\.$/ ? 0 : left - 1; next }
    { print; fflush() }'
}

# One process with the tests that the arguments select; what it says is shown when it has ended.
run() {
  local part status
  part=$(mktemp -d "$parts/$try-XXXXXX") || return
  timeout --foreground -s INT -k 30 "$limit" "$built/flotillaPackageTests.xctest" \
    --testing-library swift-testing --no-parallel "$@" \
    --event-stream-output-path "$part/events" --event-stream-version 0 >"$part/said" 2>&1
  status=$?
  if ((status == 124 || status == 137)); then echo "stopped after $limit seconds: $*"; fi
  echo "$status" >"$part/status"
  flock "$parts" cat "$part/said"
}

# Runs each line as a process, so many at a time.
run_lines() { grep . | xargs -d '\n' -P "$1" -I '{}' bash -c 'run --filter "$1"' run '{}'; }

# All parts, and the rest. Files of stores lie in memory, where no process is killed over them.
run_all() {
  local skips=() line
  while read -r line; do skips+=(--skip "$line"); done < <(grep -h . <<<"$waiting$computing")
  run_lines 4 <<<"$waiting" &
  if [[ -w /dev/shm ]]; then export TMPDIR=/dev/shm; fi
  run_lines 1 <<<"$computing" &
  run "${skips[@]}"
  wait
}
export -f run

# A few tests that failed are tried once more, alone: a machine that is busy with other things can
# keep a process from its turn for seconds. What passes then is told as unsteady, not hidden.
run_again() {
  local pattern
  try=again
  while read -r pattern; do run --filter "$pattern" </dev/null; done \
    < <(python3 scripts/count-tests.py --failed "$parts")
}

parts=$(mktemp -d) || exit 1
export parts
trap 'rm -rf "$parts"' EXIT
build
status=$?
if ((status == 0)); then
  export FLOTILLA_SIMULATOR=$built/FlotillaSimulator FLOTILLA_RELEASE=$built
  if (($# > 0)); then run "$@"; else (run_all); run_again; fi | without_starts
fi
python3 scripts/count-tests.py "$status" "$parts"
