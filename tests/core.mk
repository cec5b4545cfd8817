# SPDX-License-Identifier: Apache-2.0
#
# The kernel side's tests on this machine: core, compiled as it is in the module but with the
# sanitizers, and the binary interface as 64-bit and 32-bit callers see it. And lint of the house.

CORE_TEST := $(B)/tests/core_test
ABI_TEST := $(B)/tests/abi_test
HOST_TESTS += $(CORE_TEST) $(ABI_TEST)

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CORE_CFLAGS := -std=gnu11 -O1 -g -Wall -Wextra -Werror -Wno-sign-compare $(SANITIZE)
CORE_CXXFLAGS := -std=c++20 -O1 -g -Wall -Wextra -Werror $(SANITIZE)
CORE_INCLUDES := -Iuapi -Ikmod/core -Itests

CORE_SOURCES := $(wildcard kmod/core/*.c)
CORE_TESTS := $(wildcard tests/unit/core/*.cpp tests/unit/sim/*.cpp) \
	$(filter-out tests/sim/crash_sim.cpp,$(wildcard tests/sim/*.cpp))
CORE_OBJECTS := $(CORE_SOURCES:%.c=$(B)/tests/obj/%.o) $(CORE_TESTS:%.cpp=$(B)/tests/obj/%.o)

$(CORE_SOURCES:%.c=$(B)/tests/obj/%.o): $(B)/tests/obj/%.o: %.c tests/core.mk
	$(call say,CC,$< for its tests)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CORE_CFLAGS) $(CORE_INCLUDES) -MMD -MP -c $< -o $@

ABI_OBJECT := $(B)/tests/obj/tests/unit/uapi/abi_test.o

$(CORE_TESTS:%.cpp=$(B)/tests/obj/%.o) $(ABI_OBJECT): $(B)/tests/obj/%.o: %.cpp tests/core.mk
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CORE_CXXFLAGS) $(CORE_INCLUDES) -MMD -MP -c $< -o $@

$(CORE_TEST): $(CORE_OBJECTS)
	$(call say,LINK,$@)
	$(Q)$(CXX) $(SANITIZE) $^ -lgtest_main -lgtest -lpthread -o $@

# A 32-bit compiler is enough to check layouts: no 32-bit library is needed.
ABI_ILP32 := $(B)/tests/obj/tests/unit/uapi/abi_ilp32.ok

$(ABI_ILP32): tests/unit/uapi/abi_ilp32.c tests/unit/uapi/abi.def $(wildcard uapi/hintier/*.h)
	$(call say,CC -m32,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -m32 -fsyntax-only -Wall -Wextra -Werror -Iuapi \
		-isystem /usr/include/$(shell $(CC) -print-multiarch) $<
	$(Q)touch $@

$(ABI_TEST): $(ABI_OBJECT) $(ABI_ILP32)
	$(call say,LINK,$@)
	$(Q)$(CXX) $(SANITIZE) $< -lgtest_main -lgtest -lpthread -o $@

-include $(CORE_OBJECTS:.o=.d) $(ABI_OBJECT:.o=.d)

# ---- programs that tests call in the VM ------------------------------------------------------

VM_PROGRAMS += $(B)/tests/hostile_ioctl $(B)/tests/netlink_test $(B)/tests/stress \
	$(B)/tests/user_pages $(B)/tests/stage_test $(B)/tests/fetch_test
CRASH_PROGRAMS := $(patsubst tests/vm/%.cpp,$(B)/tests/%,$(wildcard tests/vm/crash_*.cpp))
VM_PROGRAMS += $(CRASH_PROGRAMS)
VM_TEST_CXXFLAGS := -std=c++20 -O1 -g -Wall -Wextra -Werror -Iuapi

$(B)/tests/netlink_test: VM_TEST_LIBS := $(shell pkg-config --cflags --libs libnl-genl-3.0)

$(B)/tests/crash_sqlite: VM_TEST_LIBS := -lsqlite3

$(CRASH_PROGRAMS): tests/vm/crash.hpp

$(B)/tests/stage_test $(B)/tests/fetch_test: tests/vm/teller.hpp

$(VM_PROGRAMS): $(B)/tests/%: tests/vm/%.cpp tests/vm/check.hpp \
		$(wildcard uapi/hintier/*.h) tests/core.mk
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(VM_TEST_CXXFLAGS) $< $(VM_TEST_LIBS) -o $@

# ---- lint ------------------------------------------------------------------------------------

LINTS += lint-arrows lint-coawait

.PHONY: lint-arrows lint-coawait
lint-arrows:
	$(call say,ARROWS,includes and licences)
	$(Q)tests/lint/check_includes

lint-coawait:
	$(call say,COAWAIT,all)
	$(Q)tests/lint/check_coawait
