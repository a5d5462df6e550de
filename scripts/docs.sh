#!/usr/bin/env bash
# Makes pages of the library's interface and its tutorial, by DocC of the toolchain:
#
#   scripts/docs.sh FOLDER     to be served from there, e.g. python3 -m http.server -d FOLDER
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${1:?where to?}
symbols=$(mktemp -d)
trap 'rm -rf "$symbols"' EXIT
headers=()
for module in Sources/C*/module.modulemap Sources/C*/include/module.modulemap; do
  headers+=(-I "$(dirname "$module")")
done
swift build --target FlotillaRows
for module in Flotilla FlotillaRows; do
  swift-symbolgraph-extract -module-name "$module" -I .build/debug/Modules "${headers[@]}" \
    -target "$(uname -m)-unknown-linux-gnu" -minimum-access-level public -output-dir "$symbols"
done
docc convert docs/Flotilla.docc --additional-symbol-graph-dir "$symbols" --output-dir "$folder" \
  --fallback-display-name Flotilla --fallback-bundle-identifier flotilla --warnings-as-errors
echo "made $folder/index.html; begin at tutorials/tutorials"
