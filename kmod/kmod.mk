# SPDX-License-Identifier: GPL-2.0-only
#
# hintier.ko for each kernel series, and the module's lint. Kbuild writes its objects beside the
# sources, so each series gets a tree of symbolic links below build/: the real tree stays clean
# and series do not meet.

KMOD_SOURCES := $(wildcard kmod/*.c kmod/core/*.c)
KMOD_HEADERS := $(wildcard kmod/*.h kmod/core/*.h uapi/hintier/*.h)
KMOD_FILES := $(KMOD_SOURCES) $(KMOD_HEADERS) kmod/Kbuild
KMOD_MODULES := $(SERIES:%=$(B)/kmod/%/hintier.ko)
ALL += $(KMOD_MODULES)

# farm DIR: links to every file that belongs there, and to none that has gone.
define farm
	$(Q)mkdir -p $(1)/core $(1)/uapi/hintier
	$(Q)find $(1) -type l -delete
	$(Q)ln -s $(addprefix $(CURDIR)/,$(filter kmod/core/%,$(KMOD_FILES))) $(1)/core/
	$(Q)ln -s $(addprefix $(CURDIR)/,$(filter uapi/%,$(KMOD_FILES))) $(1)/uapi/hintier/
	$(Q)ln -s $(addprefix $(CURDIR)/,$(filter-out kmod/core/% uapi/%,$(KMOD_FILES))) $(1)/
endef

# kbuild SERIES,DIR,ARGUMENTS: the kernel is fetched into the cache if it is not there.
# Warnings of modpost and objtool are no compiler's: they fail the build here.
# Without vmlinux our module gets no BTF, which Debian's headers announce on every build.
define kbuild
	$(Q)kdir=$$(qemu/kernels fetch $(1))/headers; \
	$(MAKE) -s -C $$kdir M=$(CURDIR)/$(2) W=1 $(3) >$(2)/log 2>&1 || { cat $(2)/log >&2; exit 1; }; \
	! grep -i warning $(2)/log >&2
endef

$(B)/kmod/%/hintier.ko: $(KMOD_FILES) kmod/kmod.mk
	$(call say,KBUILD,$@)
	$(call farm,$(@D))
	+$(call kbuild,$*,$(@D),modules)
	$(Q)touch $@

.PHONY: kmod
kmod: $(KMOD_MODULES)

# ---- lint: sparse on the newest series, checkpatch on every file ------------------------------

LINTS += lint-sparse lint-checkpatch
LINT_SERIES := $(lastword $(SERIES))

.PHONY: lint-kmod lint-sparse lint-checkpatch
lint-kmod: lint-sparse lint-checkpatch

lint-sparse: $(B)/kmod/lint/.farm
	$(call say,SPARSE,kmod)
	+$(call kbuild,$(LINT_SERIES),$(B)/kmod/lint,C=2 CHECK=sparse CF='-D__CHECK_ENDIAN__ -Wsparse-error' modules)

$(B)/kmod/lint/.farm: $(KMOD_FILES) kmod/kmod.mk
	$(call farm,$(@D))
	$(Q)touch $@

# Debian ships checkpatch only inside the kernel's source.
CHECKPATCH := $(CACHE)/checkpatch/checkpatch.pl

$(CHECKPATCH):
	$(call say,FETCH,linux-source-6.1 for checkpatch)
	$(Q)rm -rf $(@D).new && mkdir -p $(@D).new && cd $(@D).new && \
		apt-get -qq download linux-source-6.1 2>/dev/null && dpkg -x linux-source-6.1_*.deb . && \
		tar -xf usr/src/linux-source-6.1.tar.xz --strip-components=2 --wildcards \
			'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' '*/scripts/const_structs.checkpatch' && \
		rm -rf usr linux-source-6.1_*.deb
	$(Q)mv $(@D).new $(@D)

# The ignored ones are about patches, or misread macros that hold tables.
CHECKPATCH_FLAGS := --no-tree --no-summary --terse --show-types --max-line-length=100 -q \
	--ignore FILE_PATH_CHANGES,SPDX_LICENSE_TAG,COMPLEX_MACRO

lint-checkpatch: $(CHECKPATCH)
	$(call say,CHECKP,kmod)
	$(Q)$(CHECKPATCH) $(CHECKPATCH_FLAGS) -f $(KMOD_SOURCES) $(filter kmod/%,$(KMOD_HEADERS))

# ---- install: the source, for dkms -----------------------------------------------------------

INSTALLS += install-kmod
KMOD_SRC := $(DESTDIR)$(PREFIX)/src/hintier-$(VERSION)

.PHONY: install-kmod
install-kmod:
	$(call say,INSTALL,$(KMOD_SRC))
	$(Q)install -d $(KMOD_SRC)/core $(KMOD_SRC)/uapi/hintier
	$(Q)install -m 644 $(wildcard kmod/*.[ch]) kmod/Kbuild kmod/COPYING $(KMOD_SRC)/
	$(Q)install -m 644 $(wildcard kmod/core/*.[ch]) $(KMOD_SRC)/core/
	$(Q)install -m 644 $(wildcard uapi/hintier/*.h) $(KMOD_SRC)/uapi/hintier/
	$(Q)sed 's/@VERSION@/$(VERSION)/' kmod/dkms.conf >$(KMOD_SRC)/dkms.conf
