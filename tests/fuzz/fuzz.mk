# SPDX-License-Identifier: Apache-2.0
#
# Fuzzing: `make fuzz` lets libFuzzer drive each target for FUZZ_SECONDS; the host tests replay the
# corpus and a fixed number of mutations. Both link the sources that are shipped.

FUZZ_SECONDS ?= 20
FUZZ_TARGETS ?=
FUZZ_CLANGXX := $(CLANG:clang%=clang++%)
FUZZ := $(B)/fuzz/fuzz
FUZZ_REPLAY := $(B)/tests/fuzz_replay_test

FUZZ_TARGET_SRCS := tests/fuzz/targets.cpp $(sort $(wildcard tests/fuzz/targets/*.cpp))
FUZZ_CORE_SRCS := $(sort $(wildcard kmod/core/*.c))
# Of the daemon only what parses; its loop and its sockets are not for fuzzing.
FUZZ_AGENT_SRCS := $(sort $(wildcard $(addprefix agent/,base/*.cpp model/*.cpp objects/*.cpp plan/*.cpp))) \
	$(addprefix agent/,layout/device.cpp layout/fiemap.cpp source/bpf_source.cpp \
	source/kernel_source.cpp source/kv_event_source.cpp source/kv_events.cpp source/msgpack.cpp \
	source/recording.cpp daemon/config.cpp daemon/control.cpp \
	daemon/http.cpp daemon/metrics_config.cpp)
FUZZ_AGENT_SRCS += qemu/replay/trace.cpp
FUZZ_CTL_SRCS := $(filter-out agent/cli/doctor/%,$(CTL_SRCS))

FUZZ_CPPFLAGS := $(AGENT_CPPFLAGS) -I$(B)/agent/cli
FUZZ_LIBS := $(AGENT_LIBS) -ldevmapper -lblkid -lpthread

# ---- libFuzzer, with clang ---------------------------------------------------------------------

FUZZ_SANFLAGS := -O1 -g -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize=function,vptr -fno-sanitize-recover=all
FUZZ_CXX_OBJS := $(patsubst %.cpp,$(B)/fuzz/obj/%.o,\
	$(FUZZ_TARGET_SRCS) tests/fuzz/engine.cpp $(FUZZ_AGENT_SRCS) $(FUZZ_CTL_SRCS))
FUZZ_C_OBJS := $(FUZZ_CORE_SRCS:%.c=$(B)/fuzz/obj/%.o)

$(B)/fuzz/obj/agent/source/bpf_source.o: $(BPF_SKELS)

$(FUZZ_CXX_OBJS): $(B)/fuzz/obj/%.o: %.cpp
	$(call say,FUZZCXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(FUZZ_CLANGXX) $(FUZZ_CPPFLAGS) -std=c++20 $(FUZZ_SANFLAGS) -MMD -MP -c $< -o $@

$(FUZZ_C_OBJS): $(B)/fuzz/obj/%.o: %.c
	$(call say,FUZZCC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS_COMMON) -std=gnu11 $(FUZZ_SANFLAGS) -MMD -MP -c $< -o $@

$(FUZZ): $(FUZZ_CXX_OBJS) $(FUZZ_C_OBJS)
	$(call say,LINK,$@)
	$(Q)$(FUZZ_CLANGXX) -fsanitize=fuzzer,address,undefined -fno-sanitize=function,vptr $^ \
		$(FUZZ_LIBS) -o $@

-include $(FUZZ_CXX_OBJS:.o=.d) $(FUZZ_C_OBJS:.o=.d)

.PHONY: fuzz fuzz-run
fuzz: deps
	+@$(MAKE) fuzz-run

fuzz-run: $(FUZZ)
	$(Q)tests/fuzz/run $(B)/fuzz $(FUZZ_SECONDS) $(FUZZ_TARGETS)

# ---- the replay, among the host tests ----------------------------------------------------------

FUZZ_REPLAY_OBJS := $(patsubst %.cpp,$(B)/san/%.o,$(FUZZ_TARGET_SRCS) tests/fuzz/replay_test.cpp)

$(FUZZ_REPLAY_OBJS): $(B)/san/%.o: %.cpp
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(FUZZ_CPPFLAGS) $(CXXFLAGS_COMMON) -O1 -g1 -fsanitize=address,undefined \
		-fno-sanitize-recover=all -Wno-missing-field-initializers \
		-DCORPUS_DIR='"$(CURDIR)/tests/fuzz/corpus"' -MMD -MP -c $< -o $@

$(FUZZ_REPLAY): $(FUZZ_REPLAY_OBJS) $(FUZZ_AGENT_SRCS:%.cpp=$(B)/san/%.o) \
		$(FUZZ_CTL_SRCS:%.cpp=$(B)/san/%.o) $(FUZZ_CORE_SRCS:%.c=$(B)/tests/obj/%.o)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(AGENT_SANFLAGS) $^ $(FUZZ_LIBS) -lgtest -lgtest_main -o $@

-include $(FUZZ_REPLAY_OBJS:.o=.d)

HOST_TESTS += $(FUZZ_REPLAY)
