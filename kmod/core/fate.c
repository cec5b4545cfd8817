// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fate of ended requests. See fate.h.
 */
#include "fate.h"

/* R9: the data is durable, now its record; or that it is not lost any more. */
static bool wants_record(const struct ht_map *map, const struct ht_ended *e)
{
	return ht_wrote_fast(e) || (e->op != HT_REQ_READ && map->lost.used &&
				    map->mode < HINTIER_MODE_BYPASS);
}

enum ht_fate ht_fate(const struct ht_map *map, const struct ht_ended *e)
{
	if (ht_ended_ok(map, e))
		return e->fua && wants_record(map, e) ? HT_FATE_RECORD : HT_FATE_TELL;
	if (e->fault == HT_FAULT_BUSY && e->nowait)
		return HT_FATE_AGAIN;
	if (e->fault == HT_FAULT_BUSY || e->fault == HT_FAULT_UNSUPPORTED ||
	    e->verdict != HT_DO_FAST)
		return HT_FATE_TELL;
	/* Home has it. */
	if (e->op == HT_REQ_READ && e->clean)
		return HT_FATE_AGAIN;
	/* A slot that has just turned bad and held nothing dirty there is not met again. */
	if (e->clean && e->fault == HT_FAULT_MEDIUM)
		return HT_FATE_COMMIT;
	return e->tried ? HT_FATE_FAIL : HT_FATE_COMMIT;
}
