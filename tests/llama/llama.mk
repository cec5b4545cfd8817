# SPDX-License-Identifier: Apache-2.0
#
# For the tests of what the agent sees of llama.cpp: a library with its names, a server that uses
# it, the same in one binary, and a model.

LLAMA := $(B)/tests/llama
LLAMA_CFLAGS := -std=gnu11 -O1 -g0 -Wall -Wextra -Werror -Itests/llama
LLAMA_FILES := $(LLAMA)/libllama.so $(LLAMA)/fake_server $(LLAMA)/fake_server_static \
	$(LLAMA)/tiny_moe.gguf

$(LLAMA)/libllama.so: tests/llama/fake_llama.c tests/llama/fake_llama.h
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LLAMA_CFLAGS) -shared -fPIC -fvisibility=hidden -Wl,-soname,libllama.so $< -o $@

# Finds its library beside itself.
$(LLAMA)/fake_server: tests/llama/fake_server.c $(LLAMA)/libllama.so
	$(call say,CC,$@)
	$(Q)$(CC) $(LLAMA_CFLAGS) $^ '-Wl,-rpath,$$ORIGIN' -o $@

# Not exported: only the symbol table knows them.
$(LLAMA)/fake_server_static: tests/llama/fake_server.c tests/llama/fake_llama.c tests/llama/fake_llama.h
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LLAMA_CFLAGS) -static -no-pie tests/llama/fake_server.c tests/llama/fake_llama.c -o $@

$(LLAMA)/tiny_moe.gguf: tests/llama/make_moe
	$(call say,GGUF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$< $@

VM_DATA += $(LLAMA_FILES)

# Real llama.cpp is some 200 MB from npm's registry: a goal of its own.
LLAMA_REAL := $(B)/llama
.PHONY: test-llama
test-llama: vm-root $(SERIES:%=$(B)/kmod/%/hintier.ko) $(LLAMA_REAL)/made
	$(Q)HINTIER_VM_EXTRA=$(LLAMA_REAL)/root tests/vm/run $(firstword $(SERIES)) l01-llama

$(LLAMA_REAL)/made: tests/llama/fetch tests/llama/run.mjs
	$(call say,FETCH,llama.cpp)
	$(Q)rm -rf $(LLAMA_REAL)
	$(Q)$< $(LLAMA_REAL)/root/opt/llama
	$(Q)touch $@
