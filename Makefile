# A thin front for the CMake presets (CMakePresets.json). `make help` lists the words.
# What a target needs is installed on first use by tools/install_deps (Debian packages, as root).
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := all

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
SECONDS ?= 600
TEST_FUZZ_SECONDS ?= 25
# For half a minute of each, in tests, their build counts for more than their pace: a third less of it.
FUZZ_LEVEL ?= -O0
DEMO_TRACE := tests/traces/resnet50_bad_light.json.gz
CONFIGURE = cmake $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache) --preset

.PHONY: all demo test unit check tidy portable bench fuzz install clean help configure fuzzers

all: configure
	@cmake --build build --target hone -j $(JOBS)

# Ninja configures again by itself when a CMake file changed; only the first time is ours.
configure:
	@tools/install_deps build
	@[ -f build/build.ninja ] || $(CONFIGURE) release

demo: all
	build/hone analyze $(DEMO_TRACE)

# Unit tests, golden cases, checks of the tree, the doctor's labelled set and a short run of every
# fuzzer are all tests of ctest. Not among them: clang-tidy (make check), builds with ASan and TSan
# (tools/check_collect_sanitized), what needs a GPU. The doctor's figures and ctest's summary are said again at the end.
test: unit fuzzers
	@tools/install_torch
	@tools/install_web
	@status=0; HONE_FUZZ_SECONDS=$(TEST_FUZZ_SECONDS) ctest --test-dir build -LE gpu \
	  --output-on-failure --no-tests=error -j $(JOBS) | tee build/ctest.log || status=$$?; \
	echo; sed -n '/^doctor on /,/^$$/p' build/Testing/Temporary/LastTest.log || true; \
	echo "$$(grep -c '(Skipped)$$' build/ctest.log || true) skipped, for what is not on this machine"; \
	grep 'tests passed' build/ctest.log || true; exit $$status

unit:
	@tools/install_deps build test
	@$(CONFIGURE) release
	@cmake --build build --target hone hone_unit_tests hone_test_tools -j $(JOBS)

fuzzers:
	@tools/install_deps build test
	@$(CONFIGURE) fuzz -DHONE_FUZZ_LEVEL=$(FUZZ_LEVEL) >/dev/null
	@cmake --build build-fuzz --target fuzzers -j $(JOBS)

fuzz: FUZZ_LEVEL = -O1
fuzz: fuzzers
	@tools/fuzz --seconds $(SECONDS) --jobs $(JOBS)

check: configure
	@tools/install_deps build test check
	@$(CONFIGURE) release
	@tools/check

portable:
	@tools/install_deps build portable
	@tools/portable

bench: configure
	@tools/install_deps build bench
	@$(CONFIGURE) release
	@cmake --build build --target hone hone_micro -j $(JOBS)
	@build/hone_micro
	@bench/analyze_bench.py $(BENCH_ARGS)
	@bench/sql_bench.py
	@bench/page_bench.py
	@bench/export_bench.py

install: all
	@cmake --install build --prefix $(PREFIX)

clean:
	rm -rf build build-debug build-asan build-tsan build-fuzz build-portable dist

help:
	@echo "make            build the program: build/hone"
	@echo "make demo       build, then analyze a bundled real trace"
	@echo "make test       build and run the tests (unit, golden, checks, PyTorch, page, short fuzz run)"
	@echo "make check      layers, sizes, versions, format, ruff and clang-tidy over the tree"
	@echo "make fuzz       run every fuzzer for SECONDS=$(SECONDS) under ASan and UBSan"
	@echo "make bench      speed and memory against Python's json.load; BENCH_ARGS=--curve for 4 GB"
	@echo "make portable   dist/hone-VERSION-linux-x86_64.tar.gz, static but for glibc"
	@echo "make install    PREFIX=$(PREFIX)"
	@echo "make clean      remove every build folder"
	@echo "JOBS=$(JOBS) compilers at once; cmake --preset debug|asan|tsan for other builds"
