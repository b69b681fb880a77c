# make test    everything that is tested, on a fresh Debian or Ubuntu with Rust: installs what is missing
# make check   formatting, lints, documentation, dependencies
# make run     three replicas of ./jobs.toml on this machine

SHELL := /bin/bash
CARGO ?= cargo
# Lets tests switch single protections off, to show that the checkers notice. Never in a shipped build.
FEATURES := --features test-switches
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

# The tests' tools, each with the Debian package that has it.
TOOLS := redis-server:redis-server redis-cli:redis-tools openssl:openssl cc:gcc unshare:util-linux \
	systemd-analyze:systemd

.PHONY: test check run tools fmt clippy doc deny

test: tools
	$(CARGO) nextest run $(FEATURES)
	$(CARGO) test --doc $(FEATURES)

check: fmt clippy doc deny

run:
	$(CARGO) run --release -- run --replicas 3

tools:
	@missing=(); for tool in $(TOOLS); do \
		PATH="$$PATH:/usr/sbin:/sbin" command -v "$${tool%%:*}" >/dev/null || missing+=("$${tool##*:}"); \
	done; \
	if (( $${#missing[@]} )); then \
		command -v apt-get >/dev/null || { \
			echo "missing: $${missing[*]} (as Debian calls them); install them and try again" >&2; exit 1; }; \
		$(SUDO) apt-get update -q; \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$${missing[@]}"; \
	fi
	@$(CARGO) nextest --version >/dev/null 2>&1 || $(CARGO) install cargo-nextest --locked

fmt:
	$(CARGO) fmt --check

# With and without the switches: a shipped build is linted as it is shipped.
clippy:
	$(CARGO) clippy --all-targets $(FEATURES) -- -D warnings
	$(CARGO) clippy --all-targets -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --document-private-items

deny:
	@if $(CARGO) deny --version >/dev/null 2>&1; then \
		$(CARGO) deny check bans licenses sources; \
	else \
		echo "cargo-deny is not installed: bans, licences and sources are not checked" \
			"(cargo install cargo-deny --locked)"; \
	fi
