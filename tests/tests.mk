# SPDX-License-Identifier: Apache-2.0
#
# Running the tests: the host's GoogleTest programs, and the VM's tests on each kernel series.
# Every set leaves a file with its counts, also when it fails; tests/summary judges them together.

HOST_COUNT := $(B)/tests/host/count
VM_COUNTS := $(SERIES:%=$(B)/tests/vm/%/count)
# Single tests have a place of their own, see tests/vm/run.
VM_PLACE := $(if $(TESTS),-$(firstword $(TESTS)))
VM_ROOT := $(B)/tests/vm-root

.PHONY: test-host test-vm test-run host-results vm-root $(VM_COUNTS)

host-results: $(HOST_TESTS)
	$(Q)tests/run-host $(dir $(HOST_COUNT)) $(HOST_TESTS)

test-host: host-results
	$(Q)tests/summary $(HOST_COUNT)

# What `make install` installs, and the programs that tests call: the VM unpacks it over its root.
vm-root: $(ALL) $(VM_PROGRAMS) $(VM_DATA) | vm-image
	$(Q)rm -rf $(VM_ROOT)
	$(Q)mkdir -p $(VM_ROOT)/usr/bin
	+$(Q)$(MAKE) -s install-files DESTDIR=$(CURDIR)/$(VM_ROOT) PREFIX=/usr >/dev/null
	$(if $(VM_PROGRAMS),$(Q)cp $(VM_PROGRAMS) $(VM_ROOT)/usr/bin/)
	$(if $(VM_DATA),$(Q)install -D -t $(VM_ROOT)/usr/share/hintier-test $(VM_DATA))

# VMs wait more than they compute: those of all series run at once. The counts are judged by
# tests/summary.
$(VM_COUNTS): $(B)/tests/vm/%/count: vm-root
	$(Q)tests/vm/run $* $(TESTS) || [ -e $(@D)$(VM_PLACE)/count ]

test-vm: $(VM_COUNTS)
	$(Q)tests/summary $(VM_COUNTS:%/count=%$(VM_PLACE)/count)

test-run: host-results $(VM_COUNTS)
	$(Q)tests/summary $(HOST_COUNT) $(VM_COUNTS)

# ---- lint --------------------------------------------------------------------------------------

# The tests have no interpreter line, and set variables for those who source them.
LINTS += lint-vm
.PHONY: lint-vm
lint-vm:
	$(call say,SHELLCK,tests/vm)
	$(Q)shellcheck -s bash -S warning -e SC2034 tests/vm/[0-9cdl][0-9]*[a-z0-9] tests/vm/*.sh
