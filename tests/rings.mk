# The test rings: what each builds, and the order they run in (tests/run).
c_tests = $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard $(1))))
UNIT    := $(foreach r,$(ROOMS),$(TESTS_$(r)))
WIDE    := $(call c_tests,tests/oracles/test_*.c tests/field/test_*.c)
FUZZERS := $(call c_tests,tests/fuzz/fuzz_*.c)
BENCHES := $(call c_tests,tests/bench/bench_*.c)
GENERATE := $(BUILD)/generate

# oracle and field tests look at a whole answer: they may use every room but the process
$(WIDE): $(BUILD)/%: $(BUILD)/%.o $(call libs,api)
	$(call say,LD   $@)
	$(Q)$(CC) $(LDFLAGS) $^ -lcmocka $(EXT_api) -o $@
$(BENCHES): $(BUILD)/%: $(BUILD)/%.o $(call libs,server)
	$(call say,LD   $@)
	$(Q)$(CC) $(LDFLAGS) $^ $(EXT_server) -o $@
# LIBFUZZER=1 links the real fuzzer (make fuzz); without it a plain main feeds the corpus, with any compiler
ifdef LIBFUZZER
$(FUZZERS): $(BUILD)/%: $(BUILD)/%.o $(call libs,server)
	$(call say,LD   $@)
	$(Q)$(CC) $(LDFLAGS) -fsanitize=fuzzer $^ $(EXT_server) -o $@
else
$(FUZZERS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/tests/fuzz/driver.o $(call libs,server)
	$(call say,LD   $@)
	$(Q)$(CC) $(LDFLAGS) $^ $(EXT_server) -o $@
endif

# profiles that never were; shares no code with the program, because tests believe it
$(GENERATE): $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard tests/generate/*.c)))
	$(call say,LD   $@)
	$(Q)$(CC) $(LDFLAGS) $^ -lz -lsqlite3 -lm -o $@
generate: $(GENERATE)

WEB_TEST_MODULES := $(if $(wildcard tests/web/package-lock.json),tests/web/node_modules/.package-lock.json)
tests/web/node_modules/.package-lock.json: tests/web/package-lock.json tests/web/package.json
	npm ci --prefix tests/web --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

everything: all generate $(UNIT) $(WIDE) $(FUZZERS) $(WEB_TEST_MODULES)

RUN = tests/run --build $(BUILD)
check-unit: $(UNIT)
	@$(RUN) unit
check-oracles: $(WIDE) $(GENERATE)
	@$(RUN) oracles
check-field: $(WIDE) $(GENERATE)
	@$(RUN) field
check-fuzz: $(FUZZERS)
	@$(RUN) fuzz
check-api: all generate
	@$(RUN) api
check-web: all generate $(WEB_TEST_MODULES)
	@$(RUN) web
check-docs: all generate
	@$(RUN) docs
check-docker: all
	@$(RUN) docker
check-lint:
	@$(RUN) lint
# with SAN=thread; the libraries are not instrumented, tests/tsan.supp names them
check-server: all generate $(TESTS_server)
	@$(RUN) unit/server api

# the part of lint that needs tools of its own
C_FILES  = $(sort $(shell git ls-files '*.c' 2>/dev/null))
CH_FILES = $(sort $(shell git ls-files '*.[ch]' 2>/dev/null))
lint: deps-lint
	@echo clang-format; clang-format --dry-run -Werror $(CH_FILES)
	@echo clang-tidy; printf '%s\n' $(C_FILES) | xargs -P $(JOBS) -I{} sh -c 'clang-tidy --quiet {} -- -std=gnu17 -D_GNU_SOURCE -I. 2>/dev/null'
	@echo cppcheck; cppcheck --quiet -j $(JOBS) --error-exitcode=1 --enable=warning,portability,performance --inline-suppr \
	  --suppress=missingIncludeSystem --std=c11 -I. -D_GNU_SOURCE $(C_FILES)
	@$(RUN) lint

SECONDS ?= 60
fuzz:
	@$(PACKAGES) build lint
	@$(MAKE) --no-print-directory -j$(JOBS) CC=clang BUILD=build-fuzz SAN=fuzzer-no-link,address,undefined LIBFUZZER=1 fuzzers
	@tests/fuzz/fuzz build-fuzz $(SECONDS)
fuzzers: $(FUZZERS)

bench: all $(BENCHES) $(GENERATE)
	@tests/bench/bench $(BUILD)

# how many causes of known size are found, and how true the gains are; TRUTH="--short" or "--code CODE --verbose"
bench-truth: all $(GENERATE)
	@SIGNALBOX=$(BUILD)/signalbox SIGNALBOX_GENERATE=$(BUILD)/generate node tests/truth/truth.mjs $(TRUTH)

-include $(patsubst %,%.d,$(UNIT) $(WIDE) $(FUZZERS) $(BENCHES)) $(wildcard $(BUILD)/tests/generate/*.d)
.PHONY: generate everything check-unit check-oracles check-field check-fuzz check-api check-web check-docs check-docker \
        check-lint check-server lint fuzz fuzzers bench bench-truth
