# SPDX-License-Identifier: Apache-2.0
# hintierctl, its manuals, its completion, and their tests.

CTL := $(B)/agent/hintierctl
CTL_OUT := $(B)/agent/ctl
CTL_SRC := $(wildcard agent/cli/*.cpp agent/cli/*/*.cpp) agent/layout/device.cpp
CTL_LIB_OBJ := $(CTL_SRC:%.cpp=$(CTL_OUT)/%.o)
CTL_CORE_SRC := kmod/core/format.c kmod/core/crc32c.c
CTL_CORE_OBJ := $(CTL_CORE_SRC:%.c=$(CTL_OUT)/%.o)
CTL_MAIN_OBJ := $(CTL_OUT)/agent/hintierctl.o
CTL_PACKAGES := libnl-3.0 libnl-genl-3.0 devmapper blkid fmt
CTL_CPPFLAGS = $(CPPFLAGS_COMMON) -I$(CTL_OUT) $(shell pkg-config --cflags $(CTL_PACKAGES))
CTL_LIBS = $(shell pkg-config --libs $(CTL_PACKAGES)) -pthread

ALL += $(CTL)

# The completion as a string literal for `hintierctl completion`.
$(CTL_OUT)/completion.inc: agent/completion/hintierctl agent/cli/cli.mk
	@mkdir -p $(@D)
	$(Q){ printf 'R"bash('; cat $<; printf ')bash"\n'; } > $@

$(CTL_OUT)/agent/cli/verbs/completion.o: $(CTL_OUT)/completion.inc

$(CTL_OUT)/%.o: %.cpp
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) $(CTL_CPPFLAGS) $(CXXFLAGS_COMMON) -MMD -MP -c $< -o $@

$(CTL_OUT)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(CTL_CPPFLAGS) $(CFLAGS_COMMON) -MMD -MP -c $< -o $@

$(CTL): $(CTL_MAIN_OBJ) $(CTL_LIB_OBJ) $(CTL_CORE_OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CXX) $(CXXFLAGS_COMMON) $^ $(CTL_LIBS) -o $@

# ---- tests ----------------------------------------------------------------------------------

CTL_TEST := $(B)/tests/agent_cli_test
CTL_TEST_SRC := $(wildcard tests/unit/agent/cli/*.cpp)
CTL_TEST_OBJ := $(CTL_TEST_SRC:%.cpp=$(CTL_OUT)/%.o)

$(CTL_TEST): $(CTL_TEST_OBJ) $(CTL_LIB_OBJ) $(CTL_CORE_OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)
	$(Q)$(CXX) $(CXXFLAGS_COMMON) $^ $(CTL_LIBS) -lgtest -lgtest_main -o $@

# Some of its tests run the command itself.
$(CTL_TEST): | $(CTL)
HOST_TESTS += $(CTL_TEST)

-include $(CTL_LIB_OBJ:.o=.d) $(CTL_CORE_OBJ:.o=.d) $(CTL_MAIN_OBJ:.o=.d) $(CTL_TEST_OBJ:.o=.d)

# ---- manuals and installation -----------------------------------------------------------------

MANUALS := $(wildcard agent/man/*.[1-8])

.PHONY: lint-man install-ctl
lint-man:
	$(call say,MAN,agent/man)
	$(Q)for page in $(MANUALS); do \
		warnings=$$(LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -E UTF-8 -l $$page 2>&1 >/dev/null); \
		[ -z "$$warnings" ] || { echo "$$page: $$warnings" >&2; exit 1; }; \
	done
LINTS += lint-man

install-ctl: $(CTL)
	$(call say,INSTALL,hintierctl)
	$(Q)install -D -m 755 $(CTL) $(DESTDIR)$(PREFIX)/sbin/hintierctl
	$(Q)install -D -m 644 agent/completion/hintierctl \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/hintierctl
	$(Q)for page in $(MANUALS); do \
		install -D -m 644 $$page $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}; \
	done
INSTALLS += install-ctl
