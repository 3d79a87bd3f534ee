# What a person does with a clone:
#
#   make demo    paper 0's result on this machine: needs Rust and a C compiler
#   make test    every test
#   make bench   what the simulator, the disciplines and the lab cost: nanoseconds, instructions, memory
#
# Each installs the Debian packages it needs when it runs as root, and otherwise prints the line to type.

CARGO ?= cargo

.PHONY: demo test bench

demo:
	@.ci/packages gcc libc6-dev
	$(CARGO) run --release --locked --package suimon --no-default-features -- demo

test:
	@.ci/packages gcc libc6-dev make pkg-config clang llvm libbpf-dev libelf-dev zlib1g-dev \
		iproute2 ethtool iputils-ping iperf3 curl tshark python3 python3-venv \
		groff-base bsdutils
	@.ci/editors
	$(CARGO) test --workspace --locked

bench:
	@.ci/packages gcc libc6-dev valgrind python3 iproute2 ethtool
	benches/cost
	benches/fabric
