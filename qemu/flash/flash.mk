# SPDX-License-Identifier: GPL-2.0-only
#
# The lab's flash model: ht_flash.ko for each kernel series, built in a tree of links like
# hintier.ko, and the tests of its pure part on this machine.

FLASH_FILES := $(wildcard qemu/flash/*.[ch]) qemu/flash/Kbuild
FLASH_MODULES := $(SERIES:%=$(B)/flash/%/ht_flash.ko)
ALL += $(FLASH_MODULES)

# flash-kbuild SERIES,DIR,ARGUMENTS
define flash-kbuild
	$(Q)mkdir -p $(2) && find $(2) -type l -delete && ln -s $(addprefix $(CURDIR)/,$(FLASH_FILES)) $(2)/
	+$(Q)kdir=$$(qemu/kernels fetch $(1))/headers; \
	$(MAKE) -s -C $$kdir M=$(CURDIR)/$(2) W=1 $(3) >$(2)/log 2>&1 || { cat $(2)/log >&2; exit 1; }; \
	! grep -i warning $(2)/log >&2
endef

$(B)/flash/%/ht_flash.ko: $(FLASH_FILES) qemu/flash/flash.mk
	$(call say,KBUILD,$@)
	$(call flash-kbuild,$*,$(@D),modules)
	$(Q)touch $@

.PHONY: flash
flash: $(FLASH_MODULES)

# ---- unit tests ---------------------------------------------------------------------------

FLASH_PURE := model params store cache faults
FLASH_TEST := $(B)/tests/flash_test
FLASH_OBJS := $(FLASH_PURE:%=$(B)/tests/flash/%.o) \
	$(patsubst tests/unit/flash/%.cpp,$(B)/tests/flash/%.o,$(wildcard tests/unit/flash/*.cpp))
HOST_TESTS += $(FLASH_TEST)

$(B)/tests/flash/%.o: qemu/flash/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_COMMON) -fsanitize=address,undefined -MMD -c -o $@ $<

$(B)/tests/flash/%.o: tests/unit/flash/%.cpp
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CXXFLAGS_COMMON) -I. -fsanitize=address,undefined -MMD -c -o $@ $<

$(FLASH_TEST): $(FLASH_OBJS)
	$(call say,LD,$@)
	$(Q)$(CXX) -fsanitize=address,undefined -o $@ $^ -lgtest -lgtest_main

-include $(FLASH_OBJS:.o=.d)

# ---- lint ---------------------------------------------------------------------------------

LINTS += lint-flash
.PHONY: lint-flash
lint-flash: $(CHECKPATCH)
	$(call say,SPARSE,qemu/flash)
	$(call flash-kbuild,$(LINT_SERIES),$(B)/flash/lint,C=2 CHECK=sparse CF=-Wsparse-error modules)
	$(call say,CHECKP,qemu/flash)
	$(Q)$(CHECKPATCH) $(CHECKPATCH_FLAGS) -f $(wildcard qemu/flash/*.[ch])
