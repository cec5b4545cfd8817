# SPDX-License-Identifier: Apache-2.0
#
# hintier: a device-mapper tier that takes hints, its agent, its lab. `make help` lists the goals.
# Each room has a fragment of its own; this file holds what they share. All output goes to build/.

VERSION := 0.1.0
B := build
SERIES := 6.1 6.12
XDG_CACHE_HOME ?= $(HOME)/.cache
HINTIER_CACHE ?= $(XDG_CACHE_HOME)/hintier
CACHE := $(HINTIER_CACHE)
export HINTIER_CACHE

# Everything the build, the tests and the demo need from Debian 12, one list.
PACKAGES := \
	g++ gcc-12 make git ca-certificates pkg-config python3 zstd xz-utils \
	libboost1.81-dev libexpected-dev libfmt-dev libspdlog-dev libcli11-dev libtomlplusplus-dev \
	nlohmann-json3-dev libnl-3-dev libnl-genl-3-dev libbpf-dev libsystemd-dev \
	libdevmapper-dev libblkid-dev libsqlite3-dev libzmq3-dev libgtest-dev libgmock-dev \
	clang-14 libclang-rt-14-dev llvm-14 bpftool libelf-dev zlib1g-dev \
	bc bison flex libssl-dev dwarves kmod cpio \
	qemu-system-x86 mmdebstrap uidmap squashfs-tools busybox-static dmsetup e2fsprogs xfsprogs fio bcache-tools

# Only for `make lint`.
LINT_PACKAGES := clang-format-14 clang-tidy-14 sparse shellcheck codespell man-db

PREFIX ?= /usr
DESTDIR ?=

CC := gcc
CXX := g++
CLANG := clang-14
CPPFLAGS_COMMON := -Iuapi -Ikmod/core -I. -DHINTIER_VERSION='"$(VERSION)"'
CFLAGS_COMMON := -O2 -g -Wall -Wextra -Werror
# gcc 12 warns of its own std::string at -O2 (GCC PR 105651).
CXXFLAGS_COMMON := -std=c++20 $(CFLAGS_COMMON) -Wno-restrict

# Quiet unless V=1: a recipe starts with $(Q) and announces itself with $(call say,VERB,what).
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-8s %s\n' '$(1)' '$(2)')

MAKEFLAGS += --no-builtin-rules --no-print-directory
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
SHELL := /bin/bash
.SHELLFLAGS := -ec
.DELETE_ON_ERROR:
.SECONDARY:

ALL :=        # what `make all` builds
HOST_TESTS := # GoogleTest programs that run on this machine
LINTS :=      # goals of `make lint`
INSTALLS :=   # goals of `make install`

.PHONY: all
all: build-all

# tests/tests.mk last: its goals depend on what the others have listed.
FRAGMENTS := kmod/kmod.mk bpf/bpf.mk agent/agent.mk agent/cli/cli.mk \
	qemu/qemu.mk qemu/flash/flash.mk qemu/replay/replay.mk qemu/bench/bench.mk tests/core.mk \
	tests/sim/sim.mk tests/fuzz/fuzz.mk tests/debug/debug.mk tests/eval/eval.mk \
	tests/llama/llama.mk tests/agent-bench/agent-bench.mk tests/tests.mk
include $(wildcard $(FRAGMENTS))

.PHONY: help
help:
	@echo 'make demo        install what is missing, build, replay a KV trace on every tier, print the table'
	@echo 'make test        install what is missing, build, run every test'
	@echo 'make all         build the module for $(SERIES), the agent and the lab'
	@echo 'make deps        install the Debian packages that all of this needs (root or sudo)'
	@echo 'make test-host   unit tests only            make test-vm   tests in the VM only'
	@echo 'make test-llama  real llama.cpp from npm in the VM, seen by the agent'
	@echo 'make check-debug  build a debug kernel (once, half an hour), run tests on it, count its reports'
	@echo 'make crash       a million simulated power cuts, then cuts and failing devices in VMs'
	@echo 'make eval        what the agent learns about KV blocks, on traces: build/eval/result.json'
	@echo 'make bench       the target beside its peers in virtual time: tables and goals, build/bench/target.json'
	@echo 'make bench-agent  what the agent costs for each file event: build/bench/agent.json'
	@echo 'make mutants     break each rule of core on purpose and see that the tests find it'
	@echo 'make fuzz        every parser under libFuzzer: FUZZ_SECONDS=20 each, FUZZ_TARGETS="meta hint"'
	@echo 'make lint        format, static checks, include arrows, licences'
	@echo 'make install     module source (dkms), agent, unit, manuals; DESTDIR= and PREFIX= are honoured'
	@echo 'make clean       remove build/ (downloads stay in $(CACHE))'
	@echo
	@echo 'V=1 shows commands. Demo: TRACE=file ENDS=60|none LOAD=light ROWS="bulk hintier" MINUTES=15.'
	@echo 'Bench: SECTIONS="qd1 hitpath" ROWS="raw hintier" JOBS=2.'
	@echo 'Eval: TRACES=directory (../shared/traces); what is not there is generated.'

.PHONY: build-all
build-all: $(ALL)

# ---- packages -------------------------------------------------------------------------------

SUDO := $(if $(filter 0,$(shell id -u)),,sudo)
APT := $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0

# Boost 1.81 and Debian's default 1.74 cannot both be installed: apt is told so by its name alone.
define install-packages
	@missing=$$(for p in $(1); do \
		dpkg-query -W -f='$${db:Status-Status}\n' $$p 2>/dev/null | grep -qx installed || echo $$p; \
	done); \
	[ -z "$$missing" ] && exit 0; \
	echo "  APT      " $$missing; mkdir -p $(B); \
	{ $(APT) install -y --no-install-recommends $$missing || \
	  { $(APT) update && $(APT) install -y --no-install-recommends $$missing; }; } \
		>$(B)/apt.log 2>&1 || { tail -n 20 $(B)/apt.log; \
		echo 'make deps: cannot install the packages above; see $(B)/apt.log' >&2; exit 1; }
endef

.PHONY: deps lint-deps
deps:
	$(call install-packages,$(PACKAGES))

lint-deps:
	$(call install-packages,$(LINT_PACKAGES))

# ---- goals that start from nothing: a second make sees the packages the first one installed ----

.PHONY: test demo
test: deps
	+@$(MAKE) all
	+@$(MAKE) test-run

demo: deps
	+@$(MAKE) demo-run

.PHONY: lint
lint: deps lint-deps
	+@$(MAKE) $(LINTS) lint-format lint-text

# $(call tidy,FILES,FLAGS)
tidy = printf '%s\n' $(1) | xargs -P$$(nproc) -n 3 sh -c \
	'clang-tidy-14 --quiet "$$@" -- $(subst ','"'"',$(2)) -std=c++20 2>/dev/null || exit 1' tidy

# C++ only: the kernel side follows the kernel's style, which checkpatch knows.
.PHONY: lint-format
lint-format:
	$(call say,FORMAT,all)
	$(Q)git ls-files '*.cpp' '*.hpp' | xargs clang-format-14 --dry-run --Werror

.PHONY: lint-text
lint-text:
	$(call say,CODESPELL,all)
	$(Q)git ls-files | xargs codespell -L fo,ue,te,ans,ot,nd,nin,inflight -q 3
	$(call say,SHELLCK,scripts)
	$(Q)git ls-files | xargs grep -lE '^#!.*(ba|da)?sh' | xargs shellcheck -x -S warning

.PHONY: install
install: all
	+@$(MAKE) install-files

.PHONY: install-files
install-files: $(INSTALLS)

.PHONY: clean
clean:
	$(Q)rm -rf $(B)
