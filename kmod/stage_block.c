// SPDX-License-Identifier: GPL-2.0-only
/*
 * The blocks of the stage, their memory: who may take one, who finds it, and when its pages go
 * back. See stage.c.
 */
#include "stage_block.h"

#include "core/bits.h"

/* ---- pages ---------------------------------------------------------------------------------- */

static void free_pages_of(struct ht_staged *b)
{
	for (u32 i = 0; i < b->tier->map.geo.units; i++) {
		if (b->pages[i])
			__free_page(b->pages[i]);
		b->pages[i] = NULL;
	}
	b->has_pages = false;
}

/* The worker may be the one that memory is freed by: it takes what is there. */
bool ht_staged_get_pages(struct ht_staged *b)
{
	for (u32 i = 0; i < b->tier->map.geo.units && !b->has_pages; i++) {
		if (!b->pages[i])
			b->pages[i] = alloc_page(GFP_NOWAIT | __GFP_NOWARN | __GFP_NORETRY |
						 __GFP_NOMEMALLOC);
		if (!b->pages[i]) {
			free_pages_of(b);
			return false;
		}
	}
	b->has_pages = true;
	return true;
}

/* ---- free and in use ------------------------------------------------------------------------ */

void ht_staged_give(struct ht_stage *stage, struct ht_staged *b)
{
	unsigned long flags;

	spin_lock_irqsave(&stage->lock, flags);
	if (b->has_pages) {
		list_add(&b->order, &stage->free);
		stage->idle_pages++;
	} else {
		list_add_tail(&b->order, &stage->free);
	}
	stage->used--;
	if (b->piece.stream == HT_NIL)
		stage->used_fetched--;
	b->piece.stream = 0;
	spin_unlock_irqrestore(&stage->lock, flags);
	if (ht_fetch_waiting(stage->tier, true))
		ht_stage_kick(stage);
}

static struct ht_staged *first_free(struct ht_stage *stage)
{
	return stage->used < stage->limit ?
	       list_first_entry_or_null(&stage->free, struct ht_staged, order) : NULL;
}

static void take(struct ht_stage *stage, struct ht_staged *b)
{
	list_del_init(&b->order);
	stage->used++;
	if (b->has_pages)
		stage->idle_pages--;
	b->fetch = 0;
	b->state = HT_STAGED_LOADING;
}

/* A free block with pages, for the next piece of a stream. NULL: no stream wants, or no room. */
struct ht_staged *ht_staged_take(struct ht_stage *stage)
{
	struct ht_piece piece;
	struct ht_staged *b;

	spin_lock_irq(&stage->lock);
	b = first_free(stage);
	if (b && ht_streams_next(&stage->streams, &piece)) {
		take(stage, b);
		b->piece = piece;
	} else {
		b = NULL;
	}
	spin_unlock_irq(&stage->lock);
	return b;
}

struct ht_staged *ht_staged_take_fetched(struct ht_stage *stage, const struct ht_wanted *wanted)
{
	struct ht_staged *b = NULL;

	spin_lock_irq(&stage->lock);
	if (stage->used_fetched < max(stage->limit - stage->limit / 4, 1U))
		b = first_free(stage);
	if (b) {
		take(stage, b);
		stage->used_fetched++;
		b->piece = (struct ht_piece){ .stream = HT_NIL, .extent = wanted->extent,
					      .from = wanted->from, .to = wanted->to };
		b->fetch = wanted->number;
		b->since = ht_stage_ticks();
	}
	spin_unlock_irq(&stage->lock);
	return b;
}

void ht_staged_put(struct ht_staged *b)
{
	if (atomic_dec_and_test(&b->users))
		ht_staged_give(b->tier->stage, b);
}

/* Free blocks' pages that nobody has needed for a while go back, some each time. */
void ht_stage_free_some(struct ht_stage *stage, u32 most)
{
	struct ht_staged *b;
	unsigned long flags;

	while (most--) {
		spin_lock_irqsave(&stage->lock, flags);
		b = list_first_entry_or_null(&stage->free, struct ht_staged, order);
		if (b && b->has_pages) {
			list_del_init(&b->order);
			stage->idle_pages--;
			stage->used++;
		} else {
			b = NULL;
		}
		spin_unlock_irqrestore(&stage->lock, flags);
		if (!b)
			return;
		free_pages_of(b);
		ht_staged_give(stage, b);
	}
}

/* ---- findable ------------------------------------------------------------------------------- */

void ht_staged_tell(struct ht_staged *b, enum hintier_fetch how)
{
	u32 units = b->piece.to - b->piece.from, number = b->fetch;

	b->fetch = 0;
	if (!number)
		return;
	if (b->state == HT_STAGED_READY)
		ht_fetch_outcome(b->tier, number, units, how);
	else
		ht_fetch_over(b->tier, number, units, how);
}

/* Nobody finds it any more. What is unread is no more the stream's. */
void ht_staged_hide(struct ht_stage *stage, struct ht_lock_shard *shard, struct ht_staged *b,
		    enum hintier_fetch how)
{
	struct ht_staged **link = &shard->staged;
	bool read = !ht_bits_any(b->unread, b->piece.from, b->piece.to);

	while (*link != b)
		link = &(*link)->next;
	*link = b->next;
	b->findable = false;
	spin_lock(&stage->lock);
	list_del_init(&b->order);
	if (b->piece.stream != HT_NIL)
		ht_streams_gone(&stage->streams, &b->piece, read ? HT_GONE_READ : HT_GONE_UNREAD);
	spin_unlock(&stage->lock);
	ht_staged_tell(b, how);
	if (!read)
		ht_count(b->tier, HINTIER_C_STAGE_UNUSED_BYTES,
			 (u64)ht_bits_count(b->unread, b->piece.from, b->piece.to) *
			 HINTIER_UNIT_BYTES);
	ht_staged_put(b);
}

struct ht_staged *ht_staged_find(struct ht_lock_shard *shard, u32 extent, u32 from, u32 to)
{
	struct ht_staged *b = shard->staged;

	while (b && (b->piece.extent != extent || b->piece.from >= to || b->piece.to <= from))
		b = b->next;
	return b;
}

void ht_stage_forget(struct ht_tier *t, struct ht_lock_shard *shard, u32 extent)
{
	struct ht_staged *b;

	while ((b = ht_staged_find(shard, extent, 0, t->map.geo.units)))
		ht_staged_hide(t->stage, shard, b, HINTIER_FETCH_CANCELLED);
}

/* A block that was found without its shard's lock, with a reference, is to go. */
void ht_staged_drop(struct ht_stage *stage, struct ht_staged *b)
{
	struct ht_lock_shard *shard;
	unsigned long flags;

	shard = ht_shard_lock(stage->tier, b->piece.extent, &flags);
	if (b->findable)
		ht_staged_hide(stage, shard, b, HINTIER_FETCH_UNUSED);
	ht_shard_unlock(shard, flags);
	ht_staged_put(b);
}

/* The last block of the stream that was not read for longest, and at least so long; or NULL. */
struct ht_staged *ht_staged_idlest(struct ht_stage *stage, u32 age)
{
	struct ht_staged *b = NULL;
	unsigned long flags;
	u32 now = ht_stage_ticks();

	spin_lock_irqsave(&stage->lock, flags);
	for (u32 nth = 0; nth < HT_STREAMS; nth++) {
		u32 idle = now - stage->streams.stream[nth].used;

		if (list_empty(&stage->order[nth]) || idle < age)
			continue;
		b = list_last_entry(&stage->order[nth], struct ht_staged, order);
		age = idle;
	}
	if (b)
		atomic_inc(&b->users);
	spin_unlock_irqrestore(&stage->lock, flags);
	return b;
}

struct ht_staged *ht_staged_oldest(struct ht_stage *stage, u32 age)
{
	struct ht_staged *b;
	unsigned long flags;

	spin_lock_irqsave(&stage->lock, flags);
	b = list_first_entry_or_null(&stage->fetched, struct ht_staged, order);
	if (b && ht_stage_ticks() - b->since < age)
		b = NULL;
	if (b)
		atomic_inc(&b->users);
	spin_unlock_irqrestore(&stage->lock, flags);
	return b;
}

/* ---- memory pressure ------------------------------------------------------------------------ */

static unsigned long shrink_count(struct shrinker *shrinker, struct shrink_control *sc);
static unsigned long shrink_scan(struct shrinker *shrinker, struct shrink_control *sc);

#ifdef SHRINKER_ALLOCATED

static struct ht_stage *stage_of(struct shrinker *shrinker)
{
	return shrinker->private_data;
}

int ht_stage_add_shrinker(struct ht_stage *stage)
{
	struct shrinker *s = shrinker_alloc(0, "hintier-stage");

	if (!s)
		return -ENOMEM;
	s->count_objects = shrink_count;
	s->scan_objects = shrink_scan;
	s->seeks = DEFAULT_SEEKS;
	s->private_data = stage;
	stage->shrinker = s;
	shrinker_register(s);
	return 0;
}

void ht_stage_remove_shrinker(struct ht_stage *stage)
{
	if (stage->shrinker)
		shrinker_free(stage->shrinker);
}

#else

static struct ht_stage *stage_of(struct shrinker *shrinker)
{
	return container_of(shrinker, struct ht_stage, shrinker);
}

int ht_stage_add_shrinker(struct ht_stage *stage)
{
	struct shrinker *s = &stage->shrinker;
	int r;

	s->count_objects = shrink_count;
	s->scan_objects = shrink_scan;
	s->seeks = DEFAULT_SEEKS;
	r = register_shrinker(s, "hintier-stage");
	stage->shrinks = !r;
	return r;
}

void ht_stage_remove_shrinker(struct ht_stage *stage)
{
	if (stage->shrinks)
		unregister_shrinker(&stage->shrinker);
}

#endif

/* Counted in pages. */
static unsigned long shrink_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct ht_stage *stage = stage_of(shrinker);

	return (unsigned long)(READ_ONCE(stage->used) + READ_ONCE(stage->idle_pages)) *
	       stage->tier->map.geo.units;
}

static unsigned long shrink_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct ht_stage *stage = stage_of(shrinker);
	u32 units = stage->tier->map.geo.units;
	u32 want = DIV_ROUND_UP(sc->nr_to_scan, units), freed = 0, before, keep;
	struct ht_staged *b;
	unsigned long flags;

	spin_lock_irqsave(&stage->lock, flags);
	/* It grows again with every sweep. Some room stays: a few blocks still help. */
	keep = min(stage->limit, stage->used);
	stage->limit = max(keep - min(want, keep), stage->nr / 8 + 1);
	spin_unlock_irqrestore(&stage->lock, flags);
	while (freed < want) {
		before = READ_ONCE(stage->idle_pages);
		if (!before) {
			b = ht_staged_idlest(stage, 0);
			if (!b)
				b = ht_staged_oldest(stage, 0);
			if (!b)
				break;
			ht_staged_drop(stage, b);
		}
		ht_stage_free_some(stage, 1);
		freed++;
	}
	return freed ? (unsigned long)freed * units : SHRINK_STOP;
}

/* ---- life ----------------------------------------------------------------------------------- */

int ht_stage_create_blocks(struct ht_stage *stage)
{
	struct ht_tier *t = stage->tier;
	u32 units = t->map.geo.units;
	struct page **pages;

	stage->blocks = kvcalloc(stage->nr, sizeof(*stage->blocks), GFP_KERNEL);
	if (!stage->blocks)
		return -ENOMEM;
	pages = kvcalloc(stage->nr, units * sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	for (u32 i = 0; i < stage->nr; i++) {
		struct ht_staged *b = &stage->blocks[i];

		b->tier = t;
		b->pages = pages + (size_t)i * units;
		bio_list_init(&b->readers);
		INIT_WORK(&b->work, ht_staged_serve_joined);
		list_add_tail(&b->order, &stage->free);
	}
	return 0;
}
