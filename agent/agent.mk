# SPDX-License-Identifier: Apache-2.0
#
# The daemon: rooms as an archive that its unit tests link too, so that they test what is shipped.
# Each outside library is named for the rooms that use it.

AGENT_ROOMS := base objects model plan layout source sink daemon
AGENT_SRCS := $(sort $(wildcard $(AGENT_ROOMS:%=agent/%/*.cpp)))
AGENT_OBJS := $(AGENT_SRCS:%.cpp=$(B)/%.o)
AGENT_LIB := $(B)/agent/libagent.a

AGENT_CPPFLAGS := $(CPPFLAGS_COMMON) -I$(B) -isystem /usr/include/libnl3 \
	-DTOML_HEADER_ONLY=0 -DTOML_SHARED_LIB=1
AGENT_CXXFLAGS := $(CXXFLAGS_COMMON)
AGENT_LIBS := -lbpf -lelf -lnl-genl-3 -lnl-3 -ltomlplusplus -lsystemd -lzmq -lsqlite3 -lfmt

AGENT_BPF_OBJS := $(addprefix agent/source/,bpf_source.o io_counter.o call_source.o fill_source.o)

$(addprefix $(B)/,$(AGENT_BPF_OBJS)): $(BPF_SKELS)

$(AGENT_OBJS) $(B)/agent/hintierd.o: $(B)/%.o: %.cpp
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(AGENT_CPPFLAGS) $(AGENT_CXXFLAGS) -MMD -MP -c $< -o $@

$(AGENT_LIB): $(AGENT_OBJS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/hintierd: $(B)/agent/hintierd.o $(AGENT_LIB)
	$(call say,LINK,$@)
	$(Q)$(CXX) $(AGENT_CXXFLAGS) $^ $(AGENT_LIBS) -o $@

-include $(AGENT_OBJS:.o=.d) $(B)/agent/hintierd.d

ALL += $(B)/hintierd

# ---- unit tests, under ASan and UBSan -------------------------------------------------------

AGENT_TEST_SRCS := $(sort $(wildcard $(AGENT_ROOMS:%=tests/unit/agent/%/*.cpp)))
AGENT_TEST_OBJS := $(AGENT_TEST_SRCS:%.cpp=$(B)/san/%.o)
AGENT_SAN_OBJS := $(AGENT_SRCS:%.cpp=$(B)/san/%.o)
AGENT_SANFLAGS := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all

$(addprefix $(B)/san/,$(AGENT_BPF_OBJS)): $(BPF_SKELS)

$(AGENT_SAN_OBJS): $(B)/san/%.o: %.cpp
	$(call say,CXX,$< (sanitized))
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(AGENT_CPPFLAGS) $(AGENT_CXXFLAGS) $(AGENT_SANFLAGS) -MMD -MP -c $< -o $@

# The tests themselves only have to compile fast.
$(AGENT_TEST_OBJS): $(B)/san/%.o: %.cpp
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(AGENT_CPPFLAGS) $(AGENT_CXXFLAGS) -O0 -g1 -fsanitize=address \
		-Wno-missing-field-initializers -DSOURCE_DIR='"$(CURDIR)"' -MMD -MP -c $< -o $@

# The C client, as a server would compile it.
CLIENT_OBJ := $(B)/san/agent/client/hintier_client.o

$(CLIENT_OBJ): agent/client/hintier_client.c agent/client/hintier_client.h
	$(call say,CC,$< (sanitized))
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -Wall -Wextra -Wpedantic -Werror $(AGENT_SANFLAGS) -c $< -o $@

$(B)/tests/agent_test: $(AGENT_SAN_OBJS) $(AGENT_TEST_OBJS) $(CLIENT_OBJ)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(AGENT_SANFLAGS) $^ $(AGENT_LIBS) -lgmock -lgtest -lgtest_main -lpthread -o $@

-include $(AGENT_SAN_OBJS:.o=.d) $(AGENT_TEST_OBJS:.o=.d)

HOST_TESTS += $(B)/tests/agent_test

# ---- clang, as a second opinion: the coroutine rules of agent/base/task.hpp have a reason ----

.PHONY: lint-agent-clang
lint-agent-clang: $(BPF_SKELS)
	$(call say,CLANG,agent)
	$(Q)for f in $(AGENT_SRCS) agent/hintierd.cpp; do \
		clang++-14 $(AGENT_CPPFLAGS) -std=c++20 -Wall -Wextra -Werror -fsyntax-only $$f || exit 1; \
	done
	$(Q)! grep -nE 'co_await[^;]*(\{|\[[^]]+\])' $(AGENT_SRCS) || \
		{ echo 'agent: no { and no [capture] inside co_await: gcc 12 miscompiles it' >&2; exit 1; }

.PHONY: lint-agent-tidy
lint-agent-tidy: $(BPF_SKELS)
	$(call say,TIDY,agent)
	$(Q)$(call tidy,$(AGENT_SRCS) agent/hintierd.cpp,$(AGENT_CPPFLAGS))

LINTS += lint-agent-clang lint-agent-tidy

# ---- install ----------------------------------------------------------------------------------

.PHONY: install-agent
install-agent: $(B)/hintierd
	$(call say,INSTALL,hintierd)
	$(Q)install -D -m 755 $(B)/hintierd $(DESTDIR)$(PREFIX)/sbin/hintierd
	$(Q)install -D -m 644 agent/hintierd.service $(DESTDIR)$(PREFIX)/lib/systemd/system/hintierd.service
	$(Q)sed -i 's|/usr/sbin|$(PREFIX)/sbin|' $(DESTDIR)$(PREFIX)/lib/systemd/system/hintierd.service
	$(Q)install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/hintier/client agent/client/*
	$(Q)[ -e $(DESTDIR)/etc/hintier/hintierd.toml ] || \
		install -D -m 644 agent/hintierd.toml $(DESTDIR)/etc/hintier/hintierd.toml

INSTALLS += install-agent
