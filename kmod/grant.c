// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A grant stands in memory that the memory node writes one-sided, so it may be written
 * while it is read, and by anybody on the path who knows the numbers of the connection.
 * What is looked at is a copy.  With ODRP_WIRE_F_SIGNED it counts if its MAC is right;
 * without, if its epoch is the same before and after.  What does not count now is
 * looked at again before the next heartbeat.
 */
#include <linux/compiler.h>
#include <linux/string.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>
#include "grant.h"

#define WORDS	(sizeof(struct odrp_wire_signed_grant) / sizeof(__be64))

static __be64 word_at(const void *page, unsigned int i)
{
	return READ_ONCE(((const __be64 *)page)[i]);
}

/* The epoch first. */
static void copy(const void *page, struct odrp_wire_signed_grant *ret_grant)
{
	__be64 words[WORDS];
	unsigned int i;

	words[0] = word_at(page, 0);
	rmb();
	for (i = 1; i < WORDS; i++)
		words[i] = word_at(page, i);
	rmb();
	memcpy(ret_grant, words, sizeof(words));
}

/*
 * odrp_grant_read() - is there a grant that counts?
 * @page:	where it is written to
 * @epoch:	of the last that counted; with a key 0 after each handshake
 * @key:	of the last handshake, or NULL: grants have no MAC
 * @handle:	of that handshake
 */
bool odrp_grant_read(const void *page, u64 epoch, const struct odrp_auth_key *key,
		     __be64 handle, struct odrp_wire_grant *ret_grant)
{
	struct odrp_wire_signed_grant g;
	bool counts;

	copy(page, &g);
	if (key)
		counts = be64_to_cpu(g.grant.epoch) > epoch &&
			 !odrp_auth_check_grant(key, handle, &g);
	else
		counts = be64_to_cpu(g.grant.epoch) != epoch &&
			 g.grant.epoch == word_at(page, 0);
	if (counts)
		*ret_grant = g.grant;
	return counts;
}
