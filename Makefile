# What a person does with a clone:
#
#   make test    every test
#
# It installs the Debian packages it needs when it runs as root, and otherwise prints the line to type.

CARGO ?= cargo

.PHONY: test

test:
	@.ci/packages gcc libc6-dev make pkg-config clang llvm libbpf-dev libelf-dev zlib1g-dev \
		iproute2 tshark python3
	$(CARGO) test --workspace --locked
