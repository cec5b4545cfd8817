// SPDX-License-Identifier: GPL-2.0-only
/* Instantiates the tracepoints of trace.h, once for the module. */
#include <linux/module.h>
#include <linux/types.h>

#define CREATE_TRACE_POINTS
#include "trace.h"
