# check.mk -- which tests are run when. Included by the Makefile.
#
# `make check` is what a contributor runs. It builds twice: with sanitizers what
# unit, fuzz, replay and scenario tests link, without them the program for e2e and
# the callback sweep, whose allocator guards every page.
# `make check-all` adds what takes longer or needs a real counterpart, `make
# check-long` what takes hours. T=SUITE... narrows check and check-all to suites
# as tests/run names them, and builds only what they need.
SANITIZED := address,undefined
ASAN_BUILD := $(if $(SANITIZE),$(BUILD),$(BUILD)-$(subst $(comma),-,$(SANITIZED)))
# Programs that do nothing without PostgreSQL, Redis, clang or the static program, and shellcheck,
# which takes a minute.
SERVED := lint/clang lint/scripts e2e/static unit/store/test_postgres unit/store/test_redis e2e/crash_servers e2e/two_nodes e2e/nodes_order e2e/isolation e2e/nodes_faults e2e/nodes_serve e2e/nodes_channels e2e/nodes_press
# Tests that start themselves in the sandbox, which valgrind refuses.
SELF_STARTING := unit/tool/test_bombs unit/tool/test_sandbox
# Run with sanitizers by check-all; check-long runs every e2e program so.
E2E_ASAN := $(addprefix e2e/,answers approval attack cancel feishu modes relief serve sessions tools)

# The tests themselves gain nothing from being optimized, and are compiled in half the time.
$(BUILD)/obj/tests/%.o: CFLAGS += $(if $(SANITIZE),-O0)

IN_CHECK := $(or $(T),lint unit fuzz replay scenario sweep sim e2e)
IN_REST := $(or $(T),sdk $(SERVED) $(E2E_ASAN))
compiled = $(filter unit% fuzz% replay% scenario%,$(1))
served = $(filter $(SERVED),$(1))
make = $(MAKE) --no-print-directory $(1)
# What a suite needs. A compiled test has its own prerequisites.
needs = $(if $(filter lint%,$(1)),all) $(if $(filter sim%,$(1)),$(SIM)) $(if $(filter e2e%,$(1)),all examples $(TOOLS)) $(if $(filter e2e/static,$(1)),static) $(if $(filter sdk%,$(1)),all sdk) $(if $(filter scenario%,$(1)),$(MODULE_SOS) $(BOX) $(TOOLS)) \
    $(filter $(addprefix $(BUILD)/tests/,$(1)% $(dir $(1))test_$(notdir $(1))% $(dir $(1))fuzz_$(notdir $(1))%),$(UNIT) $(WHOLE) $(FUZZ))

.PHONY: live check check-all check-rest check-long check-x86 fuzz check-now check-rest-now check-long-now check-x86-now fuzz-now tests-of lint-clang helpers sdk
check: ## install what is missing, build, and run the tests (T=e2e/feishu: only those)
	$(call again,build test) check-now
check-all: ## check, and e2e with sanitizers, the vendors' clients, database servers, a browser
	+@scripts/install-deps build test real && tests/all check check-rest
check-rest: ## what check-all adds to check
	$(call again,build test real) check-rest-now
check-long: ## check-all, and clang, x86-64, the whole crash sweep, fuzzing, valgrind, thread sanitizer, packages
	$(call again,build test real long cross package) check-long-now
check-x86: ## build for x86-64 and run unit, fuzz, replay and scenario with qemu-user
	$(call again,build test cross) check-x86-now
fuzz: ## fuzz every parser for FUZZ_SECONDS each
	$(call again,build test long) fuzz-now CC=clang FUZZER=-fsanitize=fuzzer SANITIZE=fuzzer-no-link,$(SANITIZED)

live: all ## try the current models of every service whose key is in the environment, for LIVE_USD at most (0.50)
	@BUILD=$(BUILD) scripts/live

tests-of: $(foreach t,$(T),$(call needs,$(t)))
ifdef SANITIZE
check-now: $(foreach t,$(IN_CHECK),$(call needs,$(t)))
	@tests/run -t 3 $(SERVED:%=-x %) -b $(BUILD) $(IN_CHECK)
else
check-now:
	+@$(call make,SANITIZE=$(SANITIZED) tests-of T='$(call compiled,$(IN_CHECK))')
	+@$(call make,tests-of T='$(filter-out $(call compiled,$(IN_CHECK)),$(IN_CHECK))')
	@tests/run $(SERVED:%=-x %) -b $(BUILD) $(filter lint%,$(IN_CHECK)) -t 3 -b $(ASAN_BUILD) $(call compiled,$(IN_CHECK)) \
	    -t 1 -b $(BUILD) $(filter-out lint% $(call compiled,$(IN_CHECK)),$(IN_CHECK))
endif

REST_PLAIN := $(filter e2e%,$(call served,$(IN_REST))) $(filter sdk%,$(IN_REST)) $(filter lint%,$(call served,$(IN_REST)))
REST_ASAN := $(filter sweep%,$(IN_REST)) $(filter unit%,$(call served,$(IN_REST))) $(filter-out $(SERVED),$(filter e2e%,$(IN_REST)))
# Where check leaves the search for leaks out (tests/run), the scenarios are searched
# here and the rest by check-long.
LEAKS := $(if $(filter aarch64,$(shell uname -m)),$(filter scenario%,$(call compiled,$(IN_CHECK))))
check-rest-now:
	+@$(call make,tests-of T='$(REST_PLAIN)')
	+@$(call make,SANITIZE=$(SANITIZED) tests-of T='$(REST_ASAN) $(LEAKS)')
	@tests/run -n 'real counterparts' -b $(BUILD) $(REST_PLAIN) -n '$(SANITIZED)' -t 3 -b $(ASAN_BUILD) $(REST_ASAN) \
	    $(if $(LEAKS),-n 'leaks' -l $(SERVED:%=-x %) $(LEAKS))
check-long-now:
	+@tests/all check check-rest
	+@$(call make,tests)
	@SWEEP_ALL=1 tests/run -b $(BUILD) -t 12 sweep
	+@$(call make,SANITIZE=$(SANITIZED) tests-of T=sweep)
	@tests/run -t 12 -b $(ASAN_BUILD) sweep
	@SIM_SEEDS=250000 tests/run -b $(BUILD) -t 200 sim
	@tests/run -l -t 5 -b $(ASAN_BUILD) unit fuzz replay
	@FAULT_POINTS=500 tests/run -b $(BUILD) -t 12 e2e/nodes_faults
	@CRASH_ALL=1 tests/run -b $(BUILD) -t 10 e2e/crash unit/store && tests/run -t 3 -b $(ASAN_BUILD) e2e
	+@$(call make,CC=clang BUILD=$(BUILD)-clang tests)
	@tests/run -b $(BUILD)-clang unit fuzz replay scenario
	+@$(call make,check-x86-now)
	+@$(call make,SANITIZE=thread tests)
	@cp $(BOX) $(BUILD)-thread && tests/run -t 5 -b $(BUILD)-thread unit scenario e2e
	@tests/run -b $(BUILD) -w 'valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --suppressions=tests/valgrind.supp' \
	    -k tests/valgrind.known $(SELF_STARTING:%=-x %) -t 20 unit scenario
	+@$(call make,fuzz deb)
	@packaging/try-deb $(BUILD)/deb | tee /dev/stderr | { ! grep -q '^not ok'; }
fuzz-now: $(FUZZ)
	@tests/fuzz/run $(BUILD) $(FUZZ_SECONDS)
check-x86-now:
	+@tests/x86 $(BUILD)
# clang's warnings about every source; no object files.
lint-clang:
	@git ls-files -co --exclude-standard '*.c' | grep -v '^tests/lint/bad' | xargs -P $$(nproc) -n 16 clang -fsyntax-only \
	    $(CPPFLAGS) -Itests -Ibench $(filter-out -M%,$(CFLAGS)) '-D$(STATIC_LIST)' $(call pkg,--cflags,$(foreach m,$(MODULES),$(MODULE_$(m)_PKGS)))
# Programs that tests start.
helpers: $(BOX) $(TOOLS)
sdk:
	@tests/sdk/install $(BUILD)/sdk
