#!/usr/bin/env bash
# Builds the simulator of the tree that one stands in, so that it runs fast, and prints where it is.
#
#   simulator.sh [FLAG…]   further flags for `swift build`
set -u

# SQLite and the runtime are linked in: calls between their parts need no detour then, and Debian's
# shared SQLite makes one at each call of a function of its own.
lib="$PWD/.build/simulator/static"
mkdir -p "$lib" || exit
ln -sf "$(clang -print-file-name=libsqlite3.a)" "$lib/libsqlite3.a" || exit

# A world has one thread: counting references needs no atomic instructions. The product itself is
# never built so, hence the place of its own.
swift build -c release --product FlotillaSimulator --scratch-path .build/simulator \
  --static-swift-stdlib -Xlinker "-L$lib" \
  -Xswiftc -Xfrontend -Xswiftc -assume-single-threaded "$@" >&2 || exit
echo "$PWD/.build/simulator/release/FlotillaSimulator"
