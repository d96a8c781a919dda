// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reading a grant.
 *
 * The memory node writes the grant one-sided, so the grant may change while it is read.
 * Somebody on the path who knows the numbers of the connection can write it, too.  So this
 * file checks and uses a copy.  With ODRP_WIRE_F_SIGNED a grant counts if its MAC is right
 * and its epoch is new; without, if its epoch is new and the same before and after the
 * copy.  A grant that does not count is read again before the next heartbeat.
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

/* Reads the epoch first, and only then the rest; the caller reads the epoch again. */
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
 * odrp_grant_read() - copy and check the grant
 * @page:	memory that the memory node writes the grant to
 * @epoch:	epoch of the last grant that counted; with a key, 0 after each handshake
 * @key:	key of the last handshake, or NULL: grants have no MAC
 * @handle:	handle of the last handshake; used only with a key
 * @ret_grant:	the grant, big-endian as on the wire; set only when true is returned
 *
 * Any context.
 *
 * Return: true when a new grant counts.
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
