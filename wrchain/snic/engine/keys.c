// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of memory keys.  The key number is all that a peer has to know to
 * reach memory of a domain.  So index and variant are random: the keys that a
 * peer knows tell nothing about the keys of others.
 *
 * An open hash table, at most half full.  The index is random, so it serves as
 * its own hash.
 */
#include <errno.h>
#include <stdlib.h>
#include "engine-priv.h"

#define MIN_LEN		64
#define MAX_KEYS	(1u << 22)	/* of 2^24 numbers */

void snic_keys_fini(struct snic_keys *t)
{
	free(t->at);
	*t = (struct snic_keys){ 0 };
}

static void key_place(struct snic_keys *t, void *obj, uint32_t nr)
{
	uint32_t i = snic_keys_home(t, nr);

	while (t->at[i].obj)
		i = (i + 1) & (t->len - 1);
	t->at[i] = (struct snic_keys_entry){ .obj = obj, .nr = nr };
}

/* Makes room for one more key. */
static int keys_grow(struct snic_keys *t)
{
	struct snic_keys_entry *old = t->at;
	uint32_t len = t->len ? 2 * t->len : MIN_LEN, i;

	if (2 * (t->nr + 1) <= t->len)
		return 0;
	if (t->nr == MAX_KEYS)
		return -ENFILE;
	t->at = calloc(len, sizeof(*t->at));
	if (!t->at) {
		t->at = old;
		return -ENOMEM;
	}
	i = t->len;
	t->len = len;
	while (i--)
		if (old[i].obj)
			key_place(t, old[i].obj, old[i].nr);
	free(old);
	return 0;
}

/* Only one variant of an index exists at a time. */
static bool key_is_taken(const struct snic_keys *t, uint32_t nr)
{
	uint32_t i = snic_keys_home(t, nr);

	for (; t->at[i].obj; i = (i + 1) & (t->len - 1))
		if (!((t->at[i].nr ^ nr) >> SNIC_KEY_SHIFT))
			return true;
	return false;
}

int snic_keys_add(struct snic *nic, struct snic_keys *t, void *obj, int variant,
		  uint32_t *ret_nr)
{
	int r = keys_grow(t);
	uint32_t nr;

	if (r)
		return r;
	do {
		nr = snic_secret(nic);
		if (variant >= 0)
			nr = (nr & ~SNIC_KEY_VARIANT) | variant;
	} while (nr >> SNIC_KEY_SHIFT < SNIC_FIRST_SLOT || key_is_taken(t, nr));
	key_place(t, obj, nr);
	t->nr++;
	*ret_nr = nr;
	return 0;
}

/* The entries that follow without a gap may have been displaced by this one:
 * moves them closer to their home. */
void snic_keys_del(struct snic_keys *t, uint32_t nr)
{
	uint32_t mask = t->len - 1, i = snic_keys_home(t, nr), k;

	while (t->at[i].nr != nr)
		i = (i + 1) & mask;
	for (k = (i + 1) & mask; t->at[k].obj; k = (k + 1) & mask) {
		uint32_t home = snic_keys_home(t, t->at[k].nr);

		if (((k - home) & mask) < ((k - i) & mask))
			continue;
		t->at[i] = t->at[k];
		i = k;
	}
	t->at[i] = (struct snic_keys_entry){ 0 };
	t->nr--;
}

void *snic_keys_next(const struct snic_keys *t, uint32_t *pos)
{
	while (*pos < t->len) {
		void *obj = t->at[(*pos)++].obj;

		if (obj)
			return obj;
	}
	return NULL;
}
