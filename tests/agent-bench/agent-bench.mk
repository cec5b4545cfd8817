# SPDX-License-Identifier: Apache-2.0
#
# What the agent costs for each file event, in the virtual-time lab.

$(B)/bench/file_load: tests/agent-bench/file_load.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(CFLAGS_COMMON) -static $< -o $@

.PHONY: bench-agent
bench-agent: $(B)/hintierd $(B)/hintierctl $(B)/kmod/6.1/hintier.ko $(B)/bench/file_load
	$(Q)tests/agent-bench/run $(B)
