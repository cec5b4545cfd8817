# SPDX-License-Identifier: Apache-2.0
#
# The debug kernel (qemu/debug): the module built against it, the tests that run on it, and what it
# has to say. Its kernel has no BTF and no INET, and is slow: tests of the agent, of hintierctl and
# of XFS are not in the sets, nor those whose paths the stress tests cover. Each set is a boot.

DEBUG_SETS := "010 011 018 019 024 025" "070 071 104 106" "d01 d02 d03"
DEBUG_MODULES := $(B)/kmod/debug/hintier.ko $(B)/flash/debug/ht_flash.ko $(B)/canary/debug/ht_canary.ko

.PHONY: check-debug check-debug-run
check-debug: deps
	+@$(MAKE) check-debug-run

check-debug-run: vm-root $(DEBUG_MODULES)
	$(Q)tests/debug/check $(B)/check-debug $(DEBUG_SETS)

$(B)/canary/%/ht_canary.ko: $(wildcard tests/debug/canary/*) tests/debug/debug.mk
	$(call say,KBUILD,$@)
	$(Q)mkdir -p $(@D) && ln -sf $(addprefix $(CURDIR)/,$(filter %.c %/Kbuild,$^)) $(@D)/
	+$(call kbuild,$*,$(@D),modules)
	$(Q)touch $@

LINTS += lint-debug
.PHONY: lint-debug
lint-debug: $(CHECKPATCH)
	$(call say,CHECKP,tests/debug)
	$(Q)$(CHECKPATCH) $(CHECKPATCH_FLAGS),VOLATILE -f tests/debug/canary/canary.c
