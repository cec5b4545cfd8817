# SPDX-License-Identifier: Apache-2.0
#
# ht_replay: static, so that a guest needs no libraries for it. Its unit tests.

REPLAY_SRC := $(wildcard qemu/replay/*.cpp)
REPLAY_OBJ := $(REPLAY_SRC:%.cpp=$(B)/%.o)
REPLAY_CORE := $(filter-out %/main.o,$(REPLAY_OBJ))
REPLAY_TESTS := $(patsubst %.cpp,$(B)/%.o,$(wildcard tests/unit/replay/*.cpp))
REPLAY_FLAGS := $(CPPFLAGS_COMMON) $(CXXFLAGS_COMMON) -DFMT_HEADER_ONLY -MMD -MP

ALL += $(B)/ht_replay
HOST_TESTS += $(B)/test-replay

$(REPLAY_OBJ) $(REPLAY_TESTS): $(B)/%.o: %.cpp
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(REPLAY_FLAGS) -c -o $@ $<

$(B)/ht_replay: $(REPLAY_OBJ)
	$(call say,LD,$@)
	$(Q)$(CXX) -static -o $@ $^ -pthread

$(B)/test-replay: $(REPLAY_TESTS) $(REPLAY_CORE)
	$(call say,LD,$@)
	$(Q)$(CXX) -o $@ $^ -lgmock -lgtest -lgtest_main -pthread

-include $(REPLAY_OBJ:.o=.d) $(REPLAY_TESTS:.o=.d)
