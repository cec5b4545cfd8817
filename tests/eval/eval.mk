# SPDX-License-Identifier: Apache-2.0
#
# ht_eval: the agent's model and planner, the objects that the daemon links, on traces. `make eval`.

EVAL_SRCS := $(sort $(wildcard tests/eval/*.cpp))
EVAL_OBJS := $(EVAL_SRCS:%.cpp=$(B)/%.o)
EVAL_AGENT := $(filter $(B)/agent/base/% $(B)/agent/model/% $(B)/agent/plan/%,$(AGENT_OBJS))
EVAL_REPLAY := $(addprefix $(B)/qemu/replay/,trace.o generate.o plan.o sessions.o server.o)

# Real traces, where they are; what is not there is generated.
TRACES ?= ../shared/traces

$(EVAL_OBJS): $(B)/%.o: %.cpp
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CPPFLAGS_COMMON) $(CXXFLAGS_COMMON) -MMD -MP -c $< -o $@

$(B)/ht_eval: $(EVAL_OBJS) $(EVAL_AGENT) $(EVAL_REPLAY)
	$(call say,LINK,$@)
	$(Q)$(CXX) $^ -lfmt -o $@

.PHONY: eval eval-run
eval: deps
	+@$(MAKE) eval-run

eval-run: $(B)/ht_eval
	$(Q)mkdir -p $(B)/eval
	$(Q)$(B)/ht_eval --traces '$(TRACES)' --out $(B)/eval/result.json

# ---- unit tests, under ASan and UBSan -------------------------------------------------------

EVAL_TEST_SRCS := $(sort $(wildcard tests/unit/eval/*.cpp)) $(filter-out %/main.cpp %/read.cpp %/report.cpp,$(EVAL_SRCS))
EVAL_TEST_OBJS := $(EVAL_TEST_SRCS:%.cpp=$(B)/san/%.o)
EVAL_TEST_LINKED := $(filter $(B)/san/agent/base/% $(B)/san/agent/model/% $(B)/san/agent/plan/%,$(AGENT_SAN_OBJS)) \
	$(addprefix $(B)/san/qemu/replay/,trace.o generate.o plan.o sessions.o server.o)
HOST_TESTS += $(B)/tests/eval_test

$(EVAL_TEST_OBJS): $(B)/san/%.o: %.cpp
	$(call say,CXX,$< (sanitized))
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CPPFLAGS_COMMON) $(CXXFLAGS_COMMON) $(AGENT_SANFLAGS) -MMD -MP -c $< -o $@

$(B)/tests/eval_test: $(EVAL_TEST_OBJS) $(EVAL_TEST_LINKED)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(AGENT_SANFLAGS) $^ -lgtest -lgtest_main -lpthread -lfmt -o $@

-include $(EVAL_OBJS:.o=.d) $(EVAL_TEST_OBJS:.o=.d)
