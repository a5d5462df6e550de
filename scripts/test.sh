#!/usr/bin/env bash
# Builds and runs the tests; the last line says `N passed, M failed`, and the status is 0 only if
# none failed. Arguments go to `swift test`, for instance --filter StoreTests.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# The backtracer of a crashed test can hang where its output is a pipe.
export SWIFT_BACKTRACE=enable=no
limit=${FLOTILLA_TEST_SECONDS:-3900}

events=$(mktemp) || exit 1
trap 'rm -f "$events"' EXIT

# What starts is not news; what ends is. An argument can spread the line over several.
without_starts() {
  awk '
    /^◇/ { left = /started\.$/ ? 0 : 30; next }
    left > 0 { left = /started\.$/ ? 0 : left - 1; next }
    { print; fflush() }'
}

# So long is each reader of foreign bytes fed by libFuzzer.
export FLOTILLA_FUZZ_SECONDS=${FLOTILLA_FUZZ_SECONDS:-2}

# Schedules by the ten thousand need the optimiser; and whole programs are tried as they are
# installed, for the optimiser has its own ways to use what is gone.
FLOTILLA_SIMULATOR=$(scripts/simulator.sh) &&
  export FLOTILLA_SIMULATOR &&
  swift build -c release --product flotilla &&
  FLOTILLA_RELEASE=$(swift build -c release --show-bin-path) &&
  export FLOTILLA_RELEASE &&
  swift build --build-tests --disable-xctest
status=$?
if ((status == 0)); then
  # One after another: real processes, daemons and clocks disturb each other on few cores.
  timeout --foreground -s INT -k 30 "$limit" \
    swift test --skip-build --disable-xctest --no-parallel "$@" \
    --event-stream-output-path "$events" --event-stream-version 0 2>&1 | without_starts
  status=${PIPESTATUS[0]}
  if ((status == 124 || status == 137)); then echo "stopped after $limit seconds"; fi
fi
python3 scripts/count-tests.py "$events" "$status"
