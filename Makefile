# make | make check | make demo | make help
comma    := ,
CC       := $(if $(filter default undefined,$(origin CC)),gcc,$(CC))
PREFIX   ?= /usr/local
BUILD    ?= build$(if $(filter clang%,$(CC)),-clang)$(if $(SAN),-$(subst $(comma),-,$(SAN)))
JOBS     ?= $(shell nproc 2>/dev/null || echo 2)
WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Wundef \
            -Wpointer-arith -Wcast-qual -Wwrite-strings -Werror=implicit-function-declaration
HARDEN   := -fstack-protector-strong -fPIE $(if $(SAN),,-D_FORTIFY_SOURCE=2)
CFLAGS   ?= -O2 -g
override CFLAGS   += -std=gnu17 -pthread $(WARN) $(HARDEN) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all) $(if $(WERROR),-Werror)
override CPPFLAGS += -D_GNU_SOURCE -I. -MMD -MP
override LDFLAGS  += -pthread -pie -Wl,-z,relro,-z,now,--as-needed $(if $(SAN),-fsanitize=$(SAN))

# rooms, and what each links with (design: one direction, top to bottom)
ROOMS    := base profiler planner storage api server
USES_base     := base
USES_profiler := profiler base
USES_planner  := planner base
USES_storage  := storage base
USES_api      := api profiler planner storage web base
USES_server   := server api profiler planner storage web base
EXT_base      := -lm
EXT_profiler  := -larchive -lz -lsqlite3 $(EXT_base)
EXT_planner   := $(EXT_base)
EXT_storage   := -lsqlite3 -lgnutls $(EXT_base)
EXT_api       := -ljansson $(EXT_storage) $(EXT_profiler)
EXT_server    := -lmicrohttpd -lcurl $(EXT_api)

src = $(sort $(shell find $(1) -name '*.c' 2>/dev/null))
$(foreach r,$(ROOMS),$(eval SRC_$(r) := $(filter-out server/main.c,$(call src,$(r)))))
SRC      := $(foreach r,$(ROOMS),$(SRC_$(r))) server/main.c
lib = $(BUILD)/lib$(1).a
libs = $(foreach r,$(USES_$(1)),$(call lib,$(r)))

all: $(BUILD)/signalbox

# `make V=1` shows the commands, else a short line says what is made
Q        := $(if $(V),,@)
say       = $(if $(V),,@echo "  $(1)")

# a changed flag rebuilds everything: the stamp holds the last command line
$(BUILD)/.flags: FORCE
	@mkdir -p $(@D); echo '$(CC) $(CFLAGS) $(CPPFLAGS)' | cmp -s - $@ || echo '$(CC) $(CFLAGS) $(CPPFLAGS)' > $@
$(BUILD)/%.o: %.c $(BUILD)/.flags
	@mkdir -p $(@D)
	$(call say,CC   $<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

define room
$(call lib,$(1)): $$(SRC_$(1):%.c=$$(BUILD)/%.o)
	@rm -f $$@
	$(call say,AR   $$@)
	$$(Q)ar rcs $$@ $$^
TESTS_$(1) := $$(patsubst %.c,$$(BUILD)/%,$$(sort $$(wildcard tests/unit/$(1)/test_*.c)))
$$(TESTS_$(1)): $$(BUILD)/tests/unit/$(1)/%: $$(BUILD)/tests/unit/$(1)/%.o $$(call libs,$(1))
	$(call say,LD   $$@)
	$$(Q)$$(CC) $$(LDFLAGS) $$^ -lcmocka -ljansson $$(EXT_$(1)) -o $$@
# the unit ring of one room
check-unit-$(1): $$(TESTS_$(1))
	@tests/run --build $$(BUILD) unit/$(1)
endef
$(foreach r,$(ROOMS),$(eval $(call room,$(r))))
-include web/assets.mk
-include api/openapi.mk

$(BUILD)/signalbox: $(BUILD)/server/main.o $(call libs,server)
	$(call say,LD   $@)
	$(Q)$(CC) $(LDFLAGS) $^ $(EXT_server) -o $@

include tests/rings.mk

PACKAGES = tests/packages $(if $(NO_INSTALL),--no-install)
# installs what a build needs and is not there; prints the command first (NO_INSTALL=1: prints it and fails)
deps-build:
	@$(PACKAGES) build
# the same for all of `make check` and `make lint`
deps:
	@$(PACKAGES) build check
deps-lint:
	@$(PACKAGES) build check lint
# everything, as it is judged: installs what is missing, builds, runs every ring
check: deps
	@$(MAKE) --no-print-directory -j$(JOBS) BUILD=$(BUILD) everything
	@tests/run --build $(BUILD) all

# starts the service, shows it a made-up job, and leaves it running
demo:
	@$(PACKAGES) build demo
	@$(MAKE) --no-print-directory -j$(JOBS) BUILD=$(BUILD) all generate
	@BUILD=$(BUILD) node tests/demo.mjs

install: all
	install -D -m 755 $(BUILD)/signalbox $(DESTDIR)$(PREFIX)/bin/signalbox
	install -D -m 644 LICENSE $(DESTDIR)$(PREFIX)/share/doc/signalbox/LICENSE
	install -D -m 644 README.md $(DESTDIR)$(PREFIX)/share/doc/signalbox/README.md
# installs beside the build and asks the installed program for its version and one request
installcheck:
	@$(MAKE) --no-print-directory BUILD=$(BUILD) DESTDIR=$(CURDIR)/$(BUILD)/stage PREFIX=/usr install
	@tests/installcheck $(BUILD)/stage/usr/bin/signalbox

clean:
	rm -rf build build-*

help:
	@printf '%s\n' \
	 'make                       the program, build/signalbox' \
	 'make check                 installs what is missing, builds, runs all tests' \
	 'make demo                  starts the service with a sample profile and shows what it finds' \
	 'make deps                  only installs what is missing (NO_INSTALL=1: only says what)' \
	 'make check-unit[-ROOM] check-oracles check-field check-fuzz check-docs check-docker check-api check-web' \
	 'make check-server          unit tests of server/ and tests/api, meant for SAN=thread' \
	 'make lint                  format, clang-tidy, cppcheck, headers, structure (check-lint: structure only)' \
	 'make fuzz SECONDS=60       each fuzz target with libFuzzer (clang), SECONDS each' \
	 'make bench                 measures; a line a figure: name ours baseline ratio unit' \
	 'make bench-truth           made-up jobs with known causes: what is found, and how true the gains are' \
	 'make generate              build/generate, which writes made-up profiles' \
	 'make V=1                   as make, and shows the commands' \
 'make install PREFIX=/usr/local DESTDIR=    and installcheck' \
	 'make clean' \
	 'variables: CC=clang  SAN=address,undefined  SAN=thread  WERROR=1  BUILD=DIR  JOBS=N  SIGNALBOX_SHARED=DIR'

-include $(SRC:%.c=$(BUILD)/%.d)
.PHONY: all deps deps-build deps-lint check demo install installcheck clean help FORCE $(foreach r,$(ROOMS),check-unit-$(r))
.SECONDARY:
.DELETE_ON_ERROR:
