# make | make check | make demo | make help
comma    := ,
CC       := $(if $(filter default undefined,$(origin CC)),gcc,$(CC))
PREFIX   ?= /usr/local
BUILD    ?= build$(if $(filter clang%,$(CC)),-clang)$(if $(SAN),-$(subst $(comma),-,$(SAN)))
WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Wundef \
            -Wpointer-arith -Wcast-qual -Wwrite-strings -Werror=implicit-function-declaration
HARDEN   := -fstack-protector-strong -fPIE $(if $(SAN),,-D_FORTIFY_SOURCE=2)
CFLAGS   ?= -O2 -g
override CFLAGS   += -std=gnu17 -pthread $(WARN) $(HARDEN) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all) $(if $(WERROR),-Werror)
override CPPFLAGS += -D_GNU_SOURCE -I. -MMD -MP
override LDFLAGS  += -pthread -pie -Wl,-z,relro,-z,now $(if $(SAN),-fsanitize=$(SAN))

# rooms, and what each links with (design: one direction, top to bottom)
ROOMS    := base profiler planner storage api server
USES_base     := base
USES_profiler := profiler base
USES_planner  := planner base
USES_storage  := storage base
USES_api      := api profiler planner storage web base
USES_server   := server api profiler planner storage web base
EXT_base      := -lm
EXT_profiler  := -larchive -lz $(EXT_base)
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
	@ln -sfn ../$(BUILD)/signalbox build/signalbox 2>/dev/null || true

# a changed flag rebuilds everything: the stamp holds the last command line
$(BUILD)/.flags: FORCE
	@mkdir -p $(@D); echo '$(CC) $(CFLAGS) $(CPPFLAGS)' | cmp -s - $@ || echo '$(CC) $(CFLAGS) $(CPPFLAGS)' > $@
$(BUILD)/%.o: %.c $(BUILD)/.flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

define room
$(call lib,$(1)): $$(SRC_$(1):%.c=$$(BUILD)/%.o)
	@rm -f $$@
	ar rcs $$@ $$^
TESTS_$(1) := $$(patsubst %.c,$$(BUILD)/%,$$(sort $$(wildcard tests/unit/$(1)/test_*.c)))
$$(TESTS_$(1)): $$(BUILD)/tests/unit/$(1)/%: $$(BUILD)/tests/unit/$(1)/%.o $$(call libs,$(1))
	$$(CC) $$(LDFLAGS) $$^ -lcmocka $$(EXT_$(1)) -o $$@
# the unit ring of one room
check-unit-$(1): $$(TESTS_$(1))
	@set -e; for t in $$(TESTS_$(1)); do $$$$t; done
endef
$(foreach r,$(ROOMS),$(eval $(call room,$(r))))
-include web/assets.mk

$(BUILD)/signalbox: $(BUILD)/server/main.o $(call libs,server)
	$(CC) $(LDFLAGS) $^ $(EXT_server) -o $@

check-unit: $(foreach r,$(ROOMS),check-unit-$(r))

clean:
	rm -rf build build-*

-include $(SRC:%.c=$(BUILD)/%.d) $(patsubst %,%.d,$(foreach r,$(ROOMS),$(TESTS_$(r))))
.PHONY: all check-unit clean FORCE $(foreach r,$(ROOMS),check-unit-$(r))
.SECONDARY:
