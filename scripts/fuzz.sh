#!/usr/bin/env bash
# Feeds the readers of foreign bytes with what libFuzzer makes of the corpus; see docs/fuzzing.md.
#
#   fuzz.sh [--seconds N] [TARGET…]   each target, or those named, for N seconds (60)
#   fuzz.sh --build [TARGET…]         only builds
#   fuzz.sh --grow TARGET…            as the first, then keeps in the corpus what reaches new code
#   fuzz.sh --repeat TARGET FILE      gives one file to a target
#   fuzz.sh --quick …                 builds the program of everything without the optimiser
#
# Exit status 1 if an input was found that does harm: it lies in .build/fuzz/found/, and what
# repeats it is printed.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# The backtracer of a crashed program can hang where its output is a pipe.
export SWIFT_BACKTRACE=enable=no
# Stacks of every allocation cost a third of the time, a large quarantine evicts the caches, and
# Swift fills its memory itself; its metadata is never freed.
fast=malloc_context_size=0:quarantine_size_mb=8:max_malloc_fill_size=0:detect_leaks=0
export ASAN_OPTIONS=${ASAN_OPTIONS:-$fast}

place=.build/fuzz
corpus=Tests/Fixtures/Corpus
seconds=60
grows=
builds=
quick=

# Which program has a target: the small one with what needs no store, or the one of everything.
part() {
  case $1 in
    frame | message | batch | key | session | code | statements | appointment | certificate)
      echo wire
      ;;
    *) echo node ;;
  esac
}

# A program for seconds is built in a quarter of the time, and what needs a file is no slower in it.
part_place() { if [[ $1 == node ]]; then echo "$place/$quick$1"; else echo "$place/$1"; fi; }

program() { echo "$(part_place "$(part "$1")")/release/FlotillaFuzz"; }

# With the variable set, the manifest makes a program of the tests. SwiftPM hands over several
# sanitizers one by one and in any order, and then coverage may be left out: so both at once.
# Code that is small has fewer places to look at after each input: a sixth of the time of `frame`.
build() {
  local part optimiser
  for part in $(for target in "$@"; do part "$target"; done | sort -u); do
    optimiser=-Osize
    if [[ $part == node && -n $quick ]]; then optimiser=-Onone; fi
    FLOTILLA_FUZZ=$part swift build -c release --scratch-path "$(part_place "$part")" \
      --product FlotillaFuzz --sanitize fuzzer -Xswiftc -sanitize=fuzzer,address \
      -Xswiftc $optimiser -Xswiftc -enable-testing || return
  done
}

# The longest input: what is long is slow, and finds little that is not found in short.
length() {
  case $1 in
    merge | batch) echo 2048 ;;
    session | frame) echo 256 ;;
    code | address) echo 80 ;;
    *) echo 512 ;;
  esac
}

run() {
  local target=$1 log=$place/log/$1 began ended status runs
  mkdir -p "$place/found" "$place/log" "$place/made/$target"
  times_used began
  FLOTILLA_FUZZ=$target $(program "$target") -max_total_time="$seconds" \
    -max_len="$(length "$target")" -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="$place/found/$target-" -print_final_stats=1 \
    "$place/made/$target" "$corpus/$target" >"$log" 2>&1
  status=$?
  times_used ended
  if ! grep -q '^INFO: Loaded' "$log"; then
    echo "$target: the program was built without coverage" >&2
    return 1
  fi
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  if ((status != 0)); then
    echo "$target: an input that does harm:"
    grep -E 'Fatal error|runtime failure|AddressSanitizer|SUMMARY' "$log" | head -n 5
    sed -n "s|.*Test unit written to \(.*\)|repeat it with: scripts/fuzz.sh --repeat $target \1|p" \
      "$log"
    return 1
  fi
  awk -v t="$target" -v n="${runs:-0}" -v a="$began" -v b="$ended" 'BEGIN {
    s = (b - a) > 0 ? b - a : 1
    printf "%-8s %9d inputs, %7d a second of processor time\n", t, n, n / s }'
}

# Seconds of processor time of all that this script has waited for, into the variable named.
times_used() {
  times >$place/times
  printf -v "$1" %s "$(awk 'NR == 2 {
    for (i = 1; i <= 2; i++) { split($i, p, /[ms]/); s += p[1] * 60 + p[2] } }
    END { print s }' $place/times)"
}

# Adds to the corpus what reaches code that nothing in it reaches.
# How often code is reached does not count: it would be hundreds of files.
grow() {
  FLOTILLA_FUZZ=$1 $(program "$1") -set_cover_merge=1 -use_counters=0 \
    -max_len="$(length "$1")" "$corpus/$1" "$place/made/$1" >"$place/log/$1-merge" 2>&1
}

targets=()
while (($# > 0)); do
  case $1 in
    --seconds) seconds=$2 && shift ;;
    --build) builds=1 ;;
    --quick) quick=quick- ;;
    --grow) grows=1 ;;
    --repeat)
      build "$2" >/dev/null && FLOTILLA_FUZZ=$2 ASAN_OPTIONS=detect_leaks=0 $(program "$2") "$3"
      exit
      ;;
    -*) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" && exit 2 ;;
    *) targets+=("$1") ;;
  esac
  shift
done
((${#targets[@]} > 0)) || mapfile -t targets < <(ls $corpus)

build "${targets[@]}" || exit 1
if [[ -n $builds ]]; then exit; fi
status=0
for target in "${targets[@]}"; do
  run "$target" || status=1
  if [[ -n $grows ]]; then grow "$target"; fi
done
exit $status
