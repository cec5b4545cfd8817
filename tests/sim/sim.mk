# SPDX-License-Identifier: Apache-2.0
#
# The simulator: core as it is in the module, optimised, on devices that are cut at every step.

CRASH_SIM := $(B)/tests/crash_sim
SIM_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror -Wno-sign-compare
SIM_CXXFLAGS := -std=c++20 -O2 -g -Wall -Wextra -Werror -Wno-restrict
SIM_INCLUDES := -Iuapi -Ikmod/core -Itests

SIM_SOURCES := $(wildcard tests/sim/*.cpp)
SIM_OBJECTS := $(SIM_SOURCES:%.cpp=$(B)/sim/%.o) $(CORE_SOURCES:%.c=$(B)/sim/%.o)

$(CORE_SOURCES:%.c=$(B)/sim/%.o): $(B)/sim/%.o: %.c tests/sim/sim.mk
	$(call say,CC,$< for the simulator)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SIM_CFLAGS) $(SIM_INCLUDES) -MMD -MP -c $< -o $@

$(SIM_SOURCES:%.cpp=$(B)/sim/%.o): $(B)/sim/%.o: %.cpp tests/sim/sim.mk
	$(call say,CXX,$< for the simulator)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(SIM_CXXFLAGS) $(SIM_INCLUDES) -MMD -MP -c $< -o $@

$(CRASH_SIM): $(SIM_OBJECTS)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $^ -lpthread -o $@

-include $(SIM_OBJECTS:.o=.d)

# ---- make crash: the simulator, then power cuts and failing devices in a VM --------------------
# CRASH_SERIES="6.1 6.12" for a VM of each, CRASH_SERIES= for none.

CRASH_SERIES ?= $(firstword $(SERIES))
CRASH := $(B)/crash

.PHONY: crash crash-run
crash: deps
	+@$(MAKE) crash-run

crash-run: $(CRASH_SIM) $(if $(CRASH_SERIES),vm-root)
	$(Q)mkdir -p $(CRASH)
	$(Q)rm -f $(CRASH)/*.json
	$(Q)$(CRASH_SIM) --histories 2400 --json $(CRASH)/sim.json || [ -e $(CRASH)/sim.json ]
	$(Q)for series in $(CRASH_SERIES); do \
		tests/crash/vm $$series $(CRASH)/vm-$$series.json || [ -e $(CRASH)/vm-$$series.json ]; \
	done
	$(Q)tests/crash/merge $(CRASH)/result.json $(CRASH)/sim.json \
		$(CRASH_SERIES:%=$(CRASH)/vm-%.json)

# ---- make mutants: core broken on purpose, each rule in turn ------------------------------------

.PHONY: mutants
mutants: deps
	+@$(MAKE) $(CRASH_SIM) $(CORE_TEST) vm-root
	$(Q)tests/mutants/run --build $(B) --series $(firstword $(SERIES)) --json $(B)/mutants/result.json
