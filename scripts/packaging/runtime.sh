#!/bin/sh
# Makes a copy of Swift's static runtime in a folder, of which the linker leaves out what the
# program does not use (docs/decisions/0087-a-small-program.md): runtime.sh SWIFT FOLDER
set -eu
swift=$1 folder=$2
library=$(dirname "$("$swift" -print-target-info |
  sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')")
# A toolchain that was changed has other libraries.
made="$("$swift" --version 2>/dev/null | head -n 1) $library"
[ "$(cat "$folder/made" 2>/dev/null)" = "$made" ] && exit
rm -rf "$folder"
mkdir -p "$folder"
cp -rs "$library/swift_static" "$folder"
ln -s "$library/clang" "$folder/clang"
"$(dirname "$(readlink -f "$(command -v "$swift")")")/clang" -O1 -o "$folder/unretain" \
  scripts/packaging/unretain.c
for file in "$folder"/swift_static/linux/*.a; do
  from=$(readlink -f "$file")
  rm "$file"
  "$folder/unretain" "$from" "$file"
done
echo "$made" >"$folder/made"
