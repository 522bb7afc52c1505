# the compiler's own list (-MMD) does not see .incbin
$(BUILD)/api/openapi.o: api/openapi.json profiler/read/signalbox_profile.schema.json
