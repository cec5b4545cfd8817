# SPDX-License-Identifier: Apache-2.0
#
# The virtual machines' parts that are made once and kept in the cache. What runs in them is said
# by tests/tests.mk and the demo.

.PHONY: vm-image vm-kernels

vm-image:
	$(Q)qemu/image >/dev/null

vm-kernels:
	$(Q)for series in $(SERIES); do qemu/kernels fetch $$series >/dev/null; done
