# SPDX-License-Identifier: Apache-2.0
# hintierctl, its manuals, its completion, and their tests.

CTL := $(B)/hintierctl
CTL_VERB_SRCS := $(sort $(wildcard agent/cli/verbs/*.cpp)) agent/hintierctl.cpp
CTL_SRCS := $(sort $(wildcard agent/cli/*.cpp agent/cli/doctor/*.cpp agent/cli/meta/*.cpp))
CTL_CORE_SRCS := kmod/core/format.c kmod/core/crc32c.c kmod/core/pair.c
CTL_OBJS := $(CTL_VERB_SRCS:%.cpp=$(B)/%.o) $(CTL_SRCS:%.cpp=$(B)/%.o) \
	$(CTL_CORE_SRCS:%.c=$(B)/agent/cli/%.o)

CTL_CPPFLAGS := $(CPPFLAGS_COMMON) -I$(B)/agent/cli -isystem /usr/include/libnl3
# A command that waits for people and devices: what counts is that it compiles fast.
CTL_CXXFLAGS := -O1 -g1
CTL_LIBS := -ldevmapper -lblkid -lnl-genl-3 -lnl-3 -ltomlplusplus -lzmq -lfmt -pthread

ALL += $(CTL)

# The completion as a string literal, for `hintierctl completion`.
$(B)/agent/cli/completion.inc: agent/completion/hintierctl agent/cli/cli.mk
	@mkdir -p $(@D)
	$(Q){ printf 'R"bash('; cat $<; printf ')bash"\n'; } > $@

$(B)/agent/cli/verbs/completion.o: $(B)/agent/cli/completion.inc

$(CTL_VERB_SRCS:%.cpp=$(B)/%.o) $(CTL_SRCS:%.cpp=$(B)/%.o): $(B)/%.o: %.cpp
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CTL_CPPFLAGS) $(CXXFLAGS_COMMON) $(CTL_CXXFLAGS) -MMD -MP -c $< -o $@

$(CTL_CORE_SRCS:%.c=$(B)/agent/cli/%.o): $(B)/agent/cli/%.o: %.c
	$(call say,CC,$< for hintierctl)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CTL_CPPFLAGS) $(CFLAGS_COMMON) -Wno-sign-compare -MMD -MP -c $< -o $@

$(CTL): $(CTL_OBJS) $(AGENT_LIB)
	$(call say,LINK,$@)
	$(Q)$(CXX) $(CXXFLAGS_COMMON) $^ $(CTL_LIBS) -o $@

-include $(CTL_OBJS:.o=.d)

# ---- unit tests, under ASan and UBSan; the verbs are tested by running the command -----------

CTL_SANFLAGS := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all
CTL_TEST := $(B)/tests/cli_test
CTL_TEST_SRCS := $(sort $(wildcard tests/unit/agent/cli/*.cpp))
CTL_TEST_OBJS := $(CTL_TEST_SRCS:%.cpp=$(B)/san/%.o)
CTL_SAN_OBJS := $(CTL_SRCS:%.cpp=$(B)/san/%.o)
# All of core: the tests also load pairs as the module does.
CTL_SAN_CORE := $(patsubst %.c,$(B)/san/agent/cli/%.o,$(sort $(wildcard kmod/core/*.c)))
CTL_TEST_DEFINES := -DCTL_PATH='"$(abspath $(CTL))"' -DSOURCE_DIR='"$(CURDIR)"'

$(CTL_SAN_OBJS): $(B)/san/%.o: %.cpp
	$(call say,CXX,$< (sanitized))
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CTL_CPPFLAGS) $(CXXFLAGS_COMMON) $(CTL_SANFLAGS) -MMD -MP -c $< -o $@

$(CTL_TEST_OBJS): $(B)/san/%.o: %.cpp
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CTL_CPPFLAGS) $(CTL_TEST_DEFINES) $(CXXFLAGS_COMMON) -O0 -g1 -fsanitize=address -MMD -MP -c $< -o $@

$(CTL_SAN_CORE): $(B)/san/agent/cli/%.o: %.c
	$(call say,CC,$< (sanitized))
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CTL_CPPFLAGS) $(CFLAGS_COMMON) -Wno-sign-compare $(CTL_SANFLAGS) -MMD -MP -c $< -o $@

$(CTL_TEST): $(CTL_SAN_OBJS) $(CTL_TEST_OBJS) $(CTL_SAN_CORE) $(B)/san/agent/layout/device.o | $(CTL)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CTL_SANFLAGS) $^ $(CTL_LIBS) -lgtest -lgtest_main -o $@

-include $(CTL_SAN_OBJS:.o=.d) $(CTL_TEST_OBJS:.o=.d) $(CTL_SAN_CORE:.o=.d)

HOST_TESTS += $(CTL_TEST)

# ---- manuals and installation -----------------------------------------------------------------

MANUALS := $(sort $(wildcard agent/man/*.[1-8]))

.PHONY: lint-man
lint-man:
	$(call say,MAN,agent/man)
	$(Q)for page in $(MANUALS); do \
		said=$$(LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -E UTF-8 -l $$page 2>&1 >/dev/null); \
		[ -z "$$said" ] || { echo "$$page: $$said" >&2; exit 1; }; \
	done

.PHONY: lint-ctl-clang
lint-ctl-clang: $(B)/agent/cli/completion.inc
	$(call say,CLANG,agent/cli)
	$(Q)for f in $(CTL_VERB_SRCS) $(CTL_SRCS); do \
		clang++-14 $(CTL_CPPFLAGS) -std=c++20 -Wall -Wextra -Werror -fsyntax-only $$f || exit 1; \
	done

.PHONY: lint-ctl-tidy
lint-ctl-tidy: $(B)/agent/cli/completion.inc
	$(call say,TIDY,agent/cli)
	$(Q)$(call tidy,$(CTL_VERB_SRCS) $(CTL_SRCS),$(CTL_CPPFLAGS))

LINTS += lint-man lint-ctl-clang lint-ctl-tidy

.PHONY: install-ctl
install-ctl: $(CTL)
	$(call say,INSTALL,hintierctl)
	$(Q)install -D -s -m 755 $(CTL) $(DESTDIR)$(PREFIX)/sbin/hintierctl
	$(Q)install -D -m 644 agent/completion/hintierctl \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/hintierctl
	$(Q)for page in $(MANUALS); do \
		install -D -m 644 $$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}; \
	done

INSTALLS += install-ctl
