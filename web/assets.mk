# The page as $(BUILD)/libweb.a: web/build.mjs packs the files, the assembler takes them in with .incbin.
WEB_APP     := $(sort $(wildcard web/app/*.js))
WEB_INPUTS  := web/build.mjs web/index.html web/style.css web/favicon.svg $(WEB_APP)
WEB_MODULES := web/node_modules/.package-lock.json
WEB_OUT     := $(BUILD)/web/assets

# npm ci writes the stamp itself, but with an old date when the cache is warm
$(WEB_MODULES): web/package-lock.json web/package.json
	npm ci --prefix web --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
web-modules: $(WEB_MODULES)

# a file that is added or goes away changes this list, and with it the table
$(BUILD)/web/.inputs: FORCE
	@mkdir -p $(@D); echo '$(WEB_INPUTS)' | cmp -s - $@ || echo '$(WEB_INPUTS)' > $@
$(WEB_OUT)/table.c: $(WEB_INPUTS) $(WEB_MODULES) $(BUILD)/web/.inputs
	node web/build.mjs $(@D)
# the compiler's own list (-MMD) does not see .incbin: the packed files are newer only when table.c is
$(BUILD)/web/table.o: $(WEB_OUT)/table.c web/assets.h $(BUILD)/.flags
	$(call say,CC   $<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@
$(BUILD)/libweb.a: $(BUILD)/web/assets.o $(BUILD)/web/table.o
	@rm -f $@
	$(call say,AR   $@)
	$(Q)ar rcs $@ $^

-include $(BUILD)/web/assets.d $(BUILD)/web/table.d
.PHONY: web-modules
