PREFIX ?= /usr/local
SWIFT ?= swift
RELEASE = -c release --static-swift-stdlib -Xlinker -s

.DEFAULT_GOAL := help
.PHONY: setup build test check crash nightly demo bench install clean help

setup: ## install what is missing on this machine (Debian packages)
	@scripts/setup.sh

build: setup ## build everything
	$(SWIFT) build

test: setup ## build, then run all tests
	@scripts/test.sh

check: setup ## what must hold before a commit: format, warnings, tests, three hosts
	$(SWIFT) format lint --strict --recursive Package.swift Sources Tests
	$(SWIFT) build --build-tests
	@scripts/test.sh

crash: setup ## kill processes at 6,000 calls, or repeat one: make crash POINT=…
	@scripts/crash.sh $(if $(POINT),--point $(POINT),--sample $(or $(POINTS),5000) \
	  --commands $(or $(COMMANDS),1000)) $(if $(SEED),--seed $(SEED))

nightly: crash ## what takes too long for every change

demo: build ## three hosts with real discovery on this machine, in a minute
	@scripts/demo.sh

bench: setup ## measure, with the release build
	$(SWIFT) build $(RELEASE) --product flotilla
	$(SWIFT) run $(RELEASE) FlotillaBench

install: setup ## build the release and install it to $(DESTDIR)$(PREFIX)/bin
	$(SWIFT) build $(RELEASE) --product flotilla
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -m 755 "$$($(SWIFT) build $(RELEASE) --show-bin-path)/flotilla" \
	  "$(DESTDIR)$(PREFIX)/bin/flotilla"

clean: ## remove what was built
	rm -rf .build

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10
