# SPDX-License-Identifier: Apache-2.0
#
# BPF programs: CO-RE objects and the skeletons that the agent loads them by.

BPF_PROGS := files io calls fills
BPF_SKELS := $(BPF_PROGS:%=$(B)/bpf/%.skel.h)
BPF_ARCH := $(patsubst x86_64,x86,$(shell uname -m))
BPF_CFLAGS := -g -O2 -target bpf -D__TARGET_ARCH_$(BPF_ARCH) -Wall -Wextra -Werror \
	-Wno-unused-parameter -Iuapi -Ibpf -isystem /usr/include/$(shell uname -m)-linux-gnu

BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)

$(B)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@

# bpftool 7.1 is noisy about its own libbpf; its errors still fail the recipe.
$(B)/bpf/%.skel.h: $(B)/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name hintier_$* >$@.body 2>$@.log || { cat $@.log >&2; exit 1; }
	$(Q){ echo '/* NOLINTBEGIN */'; cat $@.body; echo '/* NOLINTEND */'; } >$@

-include $(BPF_PROGS:%=$(B)/bpf/%.bpf.d)

ALL += $(BPF_SKELS)
