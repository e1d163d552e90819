# Motte. Each target does its own set-up and is safe to run again; the scripts behind them say what they do.
#
#   make demo       the flights of New York in 2013: import, queries, live results, C, NumPy
#   make check      the quick loop: formatters, linters, and the tests that the change at hand can have an effect on
#   make test       the optimised build, its tests, C, Python, the demo: a quarter of an hour; ends with a summary
#   make verify     what else must be true before a change is done: sanitizers, valgrind, consumers, real size
#   make test STAGES="tidy python"     some stages of either (scripts/test.sh and scripts/check.sh list them)
#   make lint       formatters and linters alone; make format lets them mend what they can
#   make pins       newest versions of the tools that builds and tests take (scripts/pin.sh)
#   make build      library, tool and Python package
#   make install PREFIX=/usr/local       library, header, tool, CMake package, documents; installs nothing else
#   make docs       all documents and the references of three languages as one site, build/docs (scripts/docs.sh)
#   make release    source archive, library archive, wheel and .deb, each tested (docs/RELEASING.md)
#   make deb        packages for Debian: libmotte1, libmotte-dev, motte, python3-motte (scripts/debian.sh)
#   make bench      benchmarks beside SQLite and raw LMDB
#   make bench-all  all benchmarks beside other engines, ObjectBox too, and memory by budget
#   make fuzz       the fuzz targets (Fuzz/run.sh)
#   make soak       random, crash and damage tests as often as is promised, three hours (scripts/soak.sh lists them)
#   make clean

PREFIX ?= /usr/local
DESTDIR ?=
STAGES ?=

.PHONY: all setup build check test verify tidy lint format pins demo bench bench-all fuzz soak docs release deb install clean

all: build

setup:
	@scripts/setup.sh

build: setup
	@scripts/build.sh
	@scripts/install-python.sh

check: setup
	@scripts/check.sh $(STAGES)

test: setup
	@scripts/test.sh $(or $(STAGES),test)

verify: setup
	@scripts/test.sh $(or $(STAGES),verify)

lint: setup
	@scripts/style.sh

format: setup
	@scripts/style.sh --fix

pins:
	@scripts/pin.sh

tidy:
	@python3 scripts/tidy.py

demo:
	@scripts/setup.sh demo
	@scripts/build.sh
	@scripts/install-python.sh
	@scripts/demo.sh

bench: setup
	@Benchmarks/run.sh

bench-all: setup
	@Benchmarks/all.sh

fuzz: setup
	@Fuzz/run.sh

soak: setup
	@scripts/soak.sh $(STAGES)

docs:
	@scripts/setup.sh docs
	@scripts/docs.sh

release:
	@scripts/setup.sh release
	@scripts/release.sh

deb: build
	@scripts/setup.sh release
	@scripts/debian.sh

install:
	@mkdir -p build
	@cmake -S . -B build/cmake -DCMAKE_BUILD_TYPE=Release -DMOTTE_BUILD_TESTS=OFF \
		-DCMAKE_INSTALL_PREFIX="$(PREFIX)" > build/cmake.log 2>&1 \
		|| { cat build/cmake.log; exit 1; }
	@cmake --build build/cmake
	@DESTDIR="$(DESTDIR)" cmake --install build/cmake --prefix "$(PREFIX)"

clean:
	@rm -rf build .build .build-*
