#!/usr/bin/env bash
# Kills processes at calls that change files, and looks whether all is well afterwards; see
# docs/crash-testing.md. Arguments go to the runner: --sample N, --commands N, --seed S,
# --point POINT, --jobs N, --list.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
swift build --product CrashShim
swift build --product flotilla
swift build --product CrashProgram
swift build --product CrashRunner
exec "$(swift build --show-bin-path)/CrashRunner" "$@"
