PREFIX ?= /usr/local
SWIFT ?= swift
# What is installed is small (docs/decisions/0087-a-small-program.md). An older C library does not
# know packed relocations, and a program with them ends at its start there.
PACKED := $(shell getconf GNU_LIBC_VERSION | awk '{ split($$2, v, "."); \
	if (v[1] > 2 || v[2] >= 36) print "-Xlinker -z -Xlinker pack-relative-relocs" }')
RUNTIME = $(CURDIR)/.build/runtime
RELEASE = -c release --static-swift-stdlib -Xswiftc -resource-dir -Xswiftc "$(RUNTIME)/swift_static" \
	-Xswiftc -use-ld=lld -Xlinker -s -Xlinker --icf=all \
	$(PACKED) -Xlinker --no-export-dynamic -Xlinker --no-eh-frame-hdr \
	-Xlinker --wrap=_swift_stdlib_getScalarName \
	-Xlinker -T -Xlinker "$(CURDIR)/scripts/packaging/program.ld"

.DEFAULT_GOAL := help
.PHONY: setup runtime build test quick docs check crash siege fuzz demo recording bench browser mirror chaos \
	applications simulate nightly mutate install uninstall deb deb-test clean help

bench install deb deb-test: export FLOTILLA_SMALL = 1
bench install deb: runtime

setup: ## install what is missing on this machine (Debian packages)
	@scripts/setup.sh

runtime: setup
	@scripts/packaging/runtime.sh $(SWIFT) "$(RUNTIME)"

build: setup ## build everything
	$(SWIFT) build

test: setup ## build, then run all tests
	@scripts/test.sh

check: setup ## what must hold before a commit: format, warnings, tests, three hosts
	$(SWIFT) format lint --strict --recursive Package.swift Sources Examples Tests
	@scripts/test.sh

crash: setup ## kill processes at 6,000 calls, fail 3,000 calls, or repeat one: make crash POINT=…
	@scripts/crash.sh $(if $(POINT),--point $(POINT),--sample $(or $(POINTS),5100) \
	  --commands $(or $(COMMANDS),1000)) $(if $(SEED),--seed $(SEED))

chaos: setup ## a LAN of five nodes under kills, cuts and wrong clocks, some times for minutes
	$(SWIFT) build --build-tests --disable-xctest
	@for run in $$(seq $(or $(CHAOS_RUNS),5)); do \
	  FLOTILLA_CHAOS_SECONDS=$(or $(CHAOS_SECONDS),300) SWIFT_BACKTRACE=enable=no \
	  $(SWIFT) test --skip-build --disable-xctest --filter "ChaosTests|KilledTests" || exit 1; done

applications: setup ## Django, SQLAlchemy and PHP on two hosts that migrate apart, for minutes each
	$(SWIFT) build --build-tests --disable-xctest
	@for run in $$(seq $(or $(APPLICATION_RUNS),5)); do \
	  FLOTILLA_APPLICATION_SECONDS=$(or $(APPLICATION_SECONDS),120) FLOTILLA_TWINS=500 \
	  SWIFT_BACKTRACE=enable=no \
	  $(SWIFT) test --skip-build --disable-xctest --filter ApplicationTests || exit 1; done

mirror: setup ## a server that is mirrored: programs write and are killed for minutes, 150,000 rows
	$(SWIFT) build --build-tests --disable-xctest
	FLOTILLA_MIRROR_SECONDS=$(or $(MIRROR_SECONDS),120) FLOTILLA_MIRROR_ROWS=150000 \
	  SWIFT_BACKTRACE=enable=no $(SWIFT) test --skip-build --disable-xctest --no-parallel \
	  --filter MirrorTests

browser: setup ## drive the page of a node in Chromium; PICTURES=folder keeps what it looked like
	@scripts/setup.sh chromium
	$(SWIFT) build --build-tests --disable-xctest
	FLOTILLA_BROWSER=1 $(if $(PICTURES),FLOTILLA_SCREENSHOTS="$(abspath $(PICTURES))") \
	  SWIFT_BACKTRACE=enable=no $(SWIFT) test --skip-build --disable-xctest --no-parallel \
	  --filter 'The page in a browser'

siege: setup ## what one hostile member costs the others: latency, memory and log, SIEGE_SECONDS each
	$(SWIFT) build -c release --static-swift-stdlib --product flotilla
	@scripts/siege.py .build/release/flotilla $(or $(SIEGE_SECONDS),8)

fuzz: setup ## feed every reader of foreign bytes with what libFuzzer makes, FUZZ_SECONDS each
	@scripts/fuzz.sh --seconds $${FUZZ_SECONDS:-60}

demo: build ## three hosts with real discovery on this machine; HTTP=1 leaves the page open
	@HTTP=$(HTTP) scripts/demo.sh

quick: setup ## build what has changed, without optimising, and run some tests: FILTER=StoreTests
	$(SWIFT) build --build-tests --disable-xctest
	@SWIFT_BACKTRACE=enable=no .build/debug/flotillaPackageTests.xctest \
	  --testing-library swift-testing --no-parallel --filter '$(FILTER)'

docs: setup ## pages of the library and its tutorial, in .build/docs (DocC)
	@scripts/docs.sh .build/docs

recording: build ## the picture in the README, of what is typed and printed on two hosts
	@scripts/recording.py .build/debug/flotilla docs/recording.svg

bench: setup ## measure, with the release build; JSON=file COMPARE=file PLOTS=folder PAGE=page ONLY="…"
	$(SWIFT) build $(RELEASE) --product flotilla
	$(SWIFT) run $(RELEASE) FlotillaBench $(if $(JSON),--save "$(abspath $(JSON))") \
	  $(if $(COMPARE),--compare "$(abspath $(COMPARE))") \
	  $(if $(PLOTS),--plots "$(abspath $(PLOTS))") $(if $(PAGE),--page "$(abspath $(PAGE))") $(ONLY)

SIMULATOR = .build/simulator/release/FlotillaSimulator
JOBS ?= $$(nproc)
# Deleted rows are let go of while machines are away and links are slow, also beside an anchor; and
# files are copied and put back. Tables and columns come and go, and so do anchors, whose files are
# put back and copied, too.
RETURNS = --with collection,slowness --steps 250
ANCHORED = --with collection,slowness,office --steps 250
COPIES = --with collection,absence,restore,clone --steps 250 --first 1021
SCHEMAS = --with migration,removal --first 23400 --steps 300 --drawn
OFFICES = --with collection,office --first 602771
RESTORES = --with office,restore --first 2000
TIMES = --with office,siteTime --without collection
TWINS = --with office,clone
# A member says what its program likes, and is shut out in the end.
LIES = --with liar --first 101000 --steps 250 --drawn
# Programs write at nodes where rows are parked, and what is folded there is cut short.
SWAPS = --with unique,swap,crash,diskFull --first 740072
CHANGES = --with changes,unique,swap,crash --first 1000
# Members do not know each other's keys yet; tables of random schemas get other names, or rows of
# one number are two rows.
STRANGERS = --with strangers,slices,slowness --steps 250
TABLES = --tables --first 900001
NUMBERS = --numbers --first 40000
BESIDE = --anchor --first 11601

simulate: setup ## random schedules from seeds, as many as `make test` runs
	@scripts/simulator.sh
	@$(SIMULATOR) pure --seeds 30000 --jobs $(JOBS)
	@$(SIMULATOR) full --seeds 2000 --jobs $(JOBS)
	@$(SIMULATOR) pure --seeds 8000 --jobs $(JOBS) $(RETURNS)
	@$(SIMULATOR) pure --seeds 1000 --jobs $(JOBS) $(ANCHORED)
	@$(SIMULATOR) pure --seeds 3000 --jobs $(JOBS) $(COPIES)
	@$(SIMULATOR) full --seeds 150 --jobs $(JOBS) $(COPIES)
	@$(SIMULATOR) full --seeds 1000 --jobs $(JOBS) $(SCHEMAS)
	@$(SIMULATOR) full --seeds 400 --jobs $(JOBS) $(OFFICES)
	@$(SIMULATOR) full --seeds 600 --jobs $(JOBS) $(RESTORES)
	@$(SIMULATOR) full --seeds 300 --jobs $(JOBS) $(TIMES)
	@$(SIMULATOR) full --seeds 300 --jobs $(JOBS) $(TWINS)
	@$(SIMULATOR) full --seeds 300 --jobs $(JOBS) $(LIES)
	@$(SIMULATOR) full --seeds 300 --jobs $(JOBS) $(SWAPS)
	@$(SIMULATOR) full --seeds 150 --jobs $(JOBS) $(CHANGES)
	@$(SIMULATOR) laws --seeds 10 --jobs $(JOBS)
	@$(SIMULATOR) schemas --seeds 1500 --jobs $(JOBS)
	@$(SIMULATOR) schemas --seeds 200 --jobs $(JOBS) $(BESIDE)
	@$(SIMULATOR) schemas --seeds 300 --jobs $(JOBS) $(NUMBERS)
	@$(SIMULATOR) schemas --seeds 100 --jobs $(JOBS) --anchor --numbers --mishaps
	@$(SIMULATOR) schemas --seeds 200 --jobs $(JOBS) $(TABLES)

nightly: crash ## what takes hours: 2 million pure and 100,000 full schedules, 6,000 kills, chaos
	@scripts/simulator.sh
	@$(SIMULATOR) laws --seeds 500 --jobs $(JOBS)
	@$(SIMULATOR) schemas --seeds 200000 --jobs $(JOBS)
	@$(SIMULATOR) schemas --split --seeds 20000 --jobs $(JOBS)
	@$(SIMULATOR) schemas --seeds 10000 --jobs $(JOBS) $(TABLES)
	@$(SIMULATOR) schemas --seeds 20000 --jobs $(JOBS) $(BESIDE)
	@$(SIMULATOR) schemas --seeds 20000 --jobs $(JOBS) $(NUMBERS)
	@$(SIMULATOR) schemas --seeds 10000 --jobs $(JOBS) --anchors --numbers --mishaps
	@$(SIMULATOR) pure --seeds 2000000 --jobs $(JOBS)
	@$(SIMULATOR) full --seeds 100000 --jobs $(JOBS)
	@$(SIMULATOR) pure --seeds 100000 --jobs $(JOBS) $(RETURNS)
	@$(SIMULATOR) pure --seeds 30000 --jobs $(JOBS) $(ANCHORED)
	@$(SIMULATOR) pure --seeds 100000 --jobs $(JOBS) $(COPIES)
	@$(SIMULATOR) full --seeds 5000 --jobs $(JOBS) $(COPIES)
	@$(SIMULATOR) full --seeds 10000 --jobs $(JOBS) $(SCHEMAS)
	@$(SIMULATOR) full --seeds 10000 --jobs $(JOBS) $(OFFICES)
	@$(SIMULATOR) full --seeds 10000 --jobs $(JOBS) $(RESTORES)
	@$(SIMULATOR) full --seeds 10000 --jobs $(JOBS) $(TIMES)
	@$(SIMULATOR) full --seeds 10000 --jobs $(JOBS) $(TWINS)
	@$(SIMULATOR) full --seeds 20000 --jobs $(JOBS) $(LIES)
	@$(SIMULATOR) pure --seeds 20000 --jobs $(JOBS) --with liar
	@$(SIMULATOR) full --seeds 10000 --jobs $(JOBS) $(SWAPS)
	@$(SIMULATOR) full --seeds 6000 --jobs $(JOBS) $(CHANGES)
	@$(SIMULATOR) pure --seeds 60000 --jobs $(JOBS) $(STRANGERS)
	@$(SIMULATOR) full --seeds 6000 --jobs $(JOBS) $(STRANGERS)
	@$(MAKE) --no-print-directory chaos applications browser mirror fuzz deb-test docs

mutate: setup ## break the product on purpose: does the simulator notice?
	@scripts/mutate.py

PROGRAM = "$$($(SWIFT) build $(RELEASE) --show-bin-path)/flotilla"

install: setup ## build the release and install it, with pages and completions, to $(DESTDIR)$(PREFIX)
	$(SWIFT) build $(RELEASE) --product flotilla
	@scripts/packaging/stage.sh $(PROGRAM) "$(DESTDIR)" "$(PREFIX)"

uninstall: ## take out what install has put there; databases stay
	@scripts/packaging/stage.sh --remove "$(DESTDIR)" "$(PREFIX)"

deb: setup ## build the release and make a Debian package of it in .build/deb
	$(SWIFT) build $(RELEASE) --product flotilla
	@scripts/packaging/deb.sh $(PROGRAM) .build/deb

deb-test: deb ## install, upgrade, remove and purge the package in a clean Debian; look at it with lintian
	@scripts/setup.sh packaging
	@scripts/packaging/test.sh $(PROGRAM)

clean: ## remove what was built
	rm -rf .build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 10
