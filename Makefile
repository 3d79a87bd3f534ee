# Targets:
#
#   make demo    runs paper 0's result on this machine; needs Rust and a C compiler
#   make install installs the command suimon, optimised, into Cargo's bin folder
#   make linux   builds the guest kernel, Linux in virtual time, into the user's cache: ten minutes of CPU time, once
#   make module  compiles sch_suimon, the disciplines as a module of Linux: for the guest kernel if it is built, and for
#                this machine's kernel if its headers are installed; with the plugin of tc
#   make module-debug
#                builds a guest kernel with checks on (KASAN, lockdep, kmemleak, failing allocations) and the module for it,
#                and sends ten million drawn frames through every discipline: half an hour
#   make module-debian
#                builds the module for Debian's newest kernel 6.12, also from the package for DKMS, boots that kernel in qemu
#                with two processors and the cards e1000e, e1000 and virtio, and tries module and `suimon host` there: some
#                minutes. apt downloads 120 MB into target/debian-kernel
#   make deb     makes a Debian package for DKMS of the module and the plugin of tc, in target/debian, for kernels
#                configured like the one whose headers HEADERS names; default: this machine's
#   make test    runs every test and lists the skipped ones; with SUIMON_TESTS=all, missing root or a missing program
#                is a failure
#   make soak    runs the randomised tests at length: hook sequences of 280 connections against the kernel's; ordinary
#                paths in simulator and lab, in real time; 200 paths between guest kernels, each twice, if a guest kernel
#                is built; 1000 transfers that are killed; and a sweep
#                of 10 000 points on Dask with dying workers
#   make wheel   builds the Python package as a wheel in target/wheels: needs clang, libelf and zlib to build, none to run
#   make python  tests the Python package only: a wheel, a clean environment, every Python here; part of make test
#   make docs    builds the docs as a book, target/book/index.html; make test checks the commands in it
#   make bench   measures the simulator, the disciplines and the lab: nanoseconds, instructions, memory; writes
#                docs/explanation/performance.md
#   make papers  measures the papers' experiments in the simulator, in about 25 minutes, and compares each row with
#                papers/*/measured.json
#   make audit   checks every crate against RustSec's advisories, its licence and its source: needs network, or .ci/audit
#                with a copy
#
# As root, each installs the Debian packages it needs; otherwise it prints the command to type.

CARGO ?= cargo

.PHONY: demo install linux module module-debug module-debian bench-module deb test wheel python soak docs bench papers audit

demo:
	@.ci/packages gcc libc6-dev
	$(CARGO) run --profile demo --locked --package suimon --no-default-features -- demo

install:
	@.ci/packages gcc libc6-dev make pkg-config clang libbpf-dev libelf-dev zlib1g-dev
	$(CARGO) install --locked --path crates/cli

linux:
	@.ci/packages gcc libc6-dev make flex bison bc patch binutils tar xz-utils
	$(CARGO) run --profile demo --locked --package suimon --no-default-features -- linux build

module:
	@.ci/packages gcc libc6-dev make binutils python3
	$(CARGO) build --profile demo --locked --package suimon --no-default-features
	@.ci/module "$${CARGO_TARGET_DIR:-target}/demo/suimon"

module-debug:
	@.ci/packages gcc libc6-dev make flex bison bc patch binutils tar xz-utils python3
	@.ci/module-debug

module-debian:
	@.ci/packages gcc libc6-dev make pkg-config clang libbpf-dev libelf-dev zlib1g-dev binutils xz-utils \
		qemu-system-x86 busybox-static kmod cpio iproute2 ethtool iperf3
	$(CARGO) build --locked --package suimon
	@.ci/module-debian "$${CARGO_TARGET_DIR:-target}/debug/suimon"

HEADERS ?= /lib/modules/$(shell uname -r)/build
deb:
	@.ci/packages gcc libc6-dev make binutils xz-utils
	@! command -v rustup >/dev/null || rustup --quiet component add rust-src
	@kernel/module/deb $(HEADERS)

test:
	@.ci/packages gcc libc6-dev make pkg-config clang llvm libbpf-dev libelf-dev zlib1g-dev \
		iproute2 ethtool iputils-ping iperf3 curl tshark python3 python3-venv binutils \
		groff-base bsdutils chromium openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran
	@.ci/editors
	@CARGO='$(CARGO)' .ci/test
	@.ci/python

wheel:
	@.ci/packages gcc libc6-dev make pkg-config clang libbpf-dev libelf-dev zlib1g-dev binutils python3 python3-venv
	python/build-wheel target/wheels

python:
	@.ci/packages gcc libc6-dev make pkg-config clang libbpf-dev libelf-dev zlib1g-dev binutils python3 python3-venv
	@.ci/python

soak:
	@.ci/packages gcc libc6-dev make pkg-config clang llvm libbpf-dev libelf-dev zlib1g-dev iproute2 ethtool iperf3 python3 python3-venv
	SUIMON_TESTS=all SUIMON_SEQUENCES=40 $(CARGO) test --locked --package transport --test sequence
	SUIMON_DRAWN=200 $(CARGO) test --locked --package suimon --test linux drawn_paths
	SUIMON_SURPRISES=all $(CARGO) test --locked --package suimon --test linux the_surprises
	PATH=$$(.ci/nextest):$$PATH $(CARGO) nextest run --profile soak --locked --package suimon --test lab
	SUIMON_KILLS=1000 $(CARGO) test --locked --package suimon --test transfer kills
	SUIMON_POINTS=10000 .ci/python -k nothing_is_lost

# Built once, into the build folder.
MDBOOK = target/mdbook/bin/mdbook
$(MDBOOK):
	$(CARGO) install mdbook --version 0.5.4 --locked --no-default-features --features search --root target/mdbook

docs: $(MDBOOK)
	$(MDBOOK) build docs

bench:
	@.ci/packages gcc libc6-dev valgrind python3 iproute2 ethtool
	benches/cost
	benches/scale --write
	benches/fabric

# Needs what `make module` compiles for the guest kernel.
bench-module:
	@.ci/packages gcc libc6-dev valgrind python3 iproute2
	benches/module

papers:
	@.ci/packages gcc libc6-dev make pkg-config clang libbpf-dev libelf-dev zlib1g-dev python3
	benches/papers

audit:
	@.ci/packages git gcc libc6-dev
	.ci/audit
