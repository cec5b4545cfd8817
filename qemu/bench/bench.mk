# SPDX-License-Identifier: Apache-2.0
#
# `make bench`: the target beside its peers in virtual time, one lab guest for each row.

BENCH_SRC := $(wildcard qemu/bench/*.cpp)

$(B)/ht_bench: $(BENCH_SRC) $(wildcard uapi/hintier/*.h)
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CPPFLAGS_COMMON) $(CXXFLAGS_COMMON) -static -o $@ $<

.PHONY: bench bench-run
bench: deps
	+$(Q)$(MAKE) bench-run

bench-run: $(B)/ht_bench $(B)/hintierctl $(B)/hintierd $(B)/kmod/6.1/hintier.ko $(B)/flash/6.1/ht_flash.ko
	$(Q)qemu/bench/run
