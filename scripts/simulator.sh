#!/usr/bin/env bash
# Builds the simulator of the tree that one stands in, so that it runs fast, and prints where it is.
#
#   simulator.sh [FLAG…]   further flags for `swift build`
set -u

# A world has one thread: counting references needs no atomic instructions. The product itself is
# never built so, hence the place of its own.
swift build -c release --product FlotillaSimulator --scratch-path .build/simulator \
  -Xswiftc -Xfrontend -Xswiftc -assume-single-threaded "$@" >&2 || exit
echo "$PWD/.build/simulator/release/FlotillaSimulator"
