# SPDX-License-Identifier: Apache-2.0
#
# ht_replay: static, so that a guest needs no libraries for it. Its unit tests, under ASan and
# UBSan. The demo.

REPLAY_SRC := $(sort $(wildcard qemu/replay/*.cpp))
REPLAY_OBJ := $(REPLAY_SRC:%.cpp=$(B)/%.o)
REPLAY_TEST_SRC := $(sort $(wildcard tests/unit/replay/*.cpp)) $(filter-out %/main.cpp,$(REPLAY_SRC))
REPLAY_TEST_OBJ := $(REPLAY_TEST_SRC:%.cpp=$(B)/san/%.o)
REPLAY_TEST := $(B)/tests/replay_test
REPLAY_FLAGS := $(CPPFLAGS_COMMON) $(CXXFLAGS_COMMON) -DFMT_HEADER_ONLY -MMD -MP
REPLAY_SANFLAGS := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all

ALL += $(B)/ht_replay
HOST_TESTS += $(REPLAY_TEST)

$(REPLAY_OBJ): $(B)/%.o: %.cpp
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(REPLAY_FLAGS) -c -o $@ $<

$(REPLAY_TEST_OBJ): $(B)/san/%.o: %.cpp
	$(call say,CXX,$< (sanitized))
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(REPLAY_FLAGS) $(REPLAY_SANFLAGS) -c -o $@ $<

$(B)/ht_replay: $(REPLAY_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CXX) -static -o $@ $^ -pthread

$(REPLAY_TEST): $(REPLAY_TEST_OBJ)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(REPLAY_SANFLAGS) -o $@ $^ -lgmock -lgtest -lgtest_main -pthread

-include $(REPLAY_OBJ:.o=.d) $(REPLAY_TEST_OBJ:.o=.d)

# Nothing that it does not need: the first figures come the sooner.
.PHONY: demo-run
demo-run: $(B)/kmod/6.1/hintier.ko $(B)/flash/6.1/ht_flash.ko $(B)/hintierctl $(B)/hintierd $(B)/ht_replay
	$(Q)qemu/demo/run

.PHONY: lint-replay-tidy
lint-replay-tidy:
	$(call say,TIDY,qemu/replay)
	$(Q)$(call tidy,$(REPLAY_SRC),$(CPPFLAGS_COMMON) -DFMT_HEADER_ONLY)

LINTS += lint-replay-tidy
