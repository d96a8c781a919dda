// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Experiments on translation in the NIC: UMRs that a chain patches and enables; what a
 * peer reaches by the entries of a key, and when.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <core/keymap.h>
#include "probes.h"
#include "reach.h"

#define PIECE	4096u
#define ENTRIES	32
#define ROUNDS	1000

/**
 * struct bench - a key, and two pages, 'a' and 'b', for its entries
 * @home:	has the protection domain and the pages
 * @page_key:	key of the pages; gives peers no rights
 */
struct bench {
	struct side *side;
	struct raw home;
	struct reach reach;
	uint32_t page_key, key;
};

static uint8_t *page_of(struct bench *b, char which)
{
	return b->home.data + (which - 'a') * PIECE;
}

static bool open_bench(struct side *side, struct bench *ret_bench)
{
	struct bench b = { .side = side };
	struct nic *nic = side->nic;
	int r;

	if (side_lacks_keys(side)) {
		side_fail(side, -EOPNOTSUPP);
		return false;
	}
	if (!raw_open(side, 0, NULL, &b.home))
		return false;
	memset(page_of(&b, 'a'), 'a', PIECE);
	memset(page_of(&b, 'b'), 'b', PIECE);
	r = nic->ops->mr_reg(nic, b.home.pdn, b.home.data, RAW_DATA_LEN,
			     (uintptr_t)b.home.data, NIC_LOCAL_WRITE,
			     &b.page_key);
	if (r)
		goto close_home;
	r = nic->node->ops->ksm_create(nic, b.home.pdn, ENTRIES,
				       NIC_REMOTE_READ | NIC_REMOTE_WRITE,
				       WRC_KEY_VARIANT, &b.key);
	if (r)
		goto dereg;
	if (!reach_open(side, b.home.pdn, &b.reach))
		goto destroy;
	*ret_bench = b;
	return true;

destroy:
	nic->ops->mr_dereg(nic, b.key);
dereg:
	nic->ops->mr_dereg(nic, b.page_key);
close_home:
	raw_close(&b.home);
	side_fail(side, r);
	return false;
}

static void close_bench(struct bench *b)
{
	struct nic *nic = b->side->nic;

	reach_close(&b->reach);
	nic->ops->mr_dereg(nic, b->key);
	nic->ops->mr_dereg(nic, b->page_key);
	raw_close(&b->home);
}

/* Lets the entries at offset lead to a page; which 0: nowhere. */
static void lead(struct bench *b, uint16_t offset, char which)
{
	reach_map(&b->reach, b->key, offset, which ? b->page_key : 0,
		  which ? (uintptr_t)page_of(b, which) : 0);
}

/* READs by an entry.  Returns the letter of the page; 0: the READ was refused. */
static char read_entry(struct bench *b, uint16_t offset)
{
	return reach_read(&b->reach, b->key, offset * PIECE, 8) ?
	       b->reach.far.data[0] : 0;
}

/* A UMR that lets the first entries of the key lead to a page, for raw_put(). */
static struct wrc_wr umr_to(struct bench *b, char which)
{
	return (struct wrc_wr){
		.op = WRC_WQE_UMR, .imm = b->key, .page_key = b->page_key,
		.page = (uintptr_t)page_of(b, which) };
}

/* ---- entries -------------------------------------------------------------------- */

/* The agent makes an entry: a peer READs by that entry, by a new key, and by the next group. */
void probe_keys_entries(struct side *side)
{
	char first, mapped, beside;
	struct bench b;

	if (!open_bench(side, &b))
		return;
	first = read_entry(&b, 4);
	lead(&b, 4, 'a');
	mapped = read_entry(&b, 4);
	beside = read_entry(&b, 8);
	probe_describe(side, "a new key leads %s; with an entry, %s; and by the next group, "
		       "%s", first ? "somewhere" : "nowhere",
		       mapped == 'a' ? "to its page" :
		       mapped ? "to something else" : "nowhere",
		       beside ? "somewhere" : "nowhere");
	close_bench(&b);
}

/* ---- pages that are taken away --------------------------------------------------- */

/* Does a peer still READ the old page right behind the completion of the UMR that took it? */
void probe_keys_taken(struct side *side)
{
	unsigned int n, old = 0, refused = 0;
	struct bench b;
	char which;

	if (!open_bench(side, &b))
		return;
	for (n = 0; !side->err && n < ROUNDS; n++) {
		/* READ first, so that the NIC may cache the entry.  A refused READ costs a
		 * connection, so only one round in 100 has one. */
		lead(&b, 0, 'a');
		read_entry(&b, 0);
		lead(&b, 0, n % 100 ? 'b' : 0);
		which = read_entry(&b, 0);
		old += which == 'a';
		refused += !which;
	}
	probe_describe(side, "of %u READs behind a UMR's completion %u find the old page, "
		       "and %u are refused where there is none", n, old, refused);
	close_bench(&b);
}

/* ---- READs behind a UMR ------------------------------------------------------------ */

/* Posts a UMR and, right behind it in the same queue, a READ by its entry.  Returns the
 * letter of the page; 0: none came. */
static char read_behind(struct bench *b, uint8_t flags)
{
	struct raw *w = &b->reach.writer;
	uint8_t syndrome;

	memset(w->data, 0, 8);
	raw_put(w, umr_to(b, 'b'));
	raw_put(w, (struct wrc_wr){
		.op = WRC_WQE_READ, .flags = flags, .rkey = b->key, .nr_sge = 1,
		.sge = { { 8, w->key, (uintptr_t)w->data } } });
	return reach_go(w, &syndrome) ? w->data[0] : 0;
}

static unsigned int count_behind(struct bench *b, uint8_t flags)
{
	unsigned int n, new = 0;

	for (n = 0; !b->side->err && n < ROUNDS; n++) {
		lead(b, 0, 'a');
		new += read_behind(b, flags) == 'b';
	}
	return new;
}

void probe_keys_behind(struct side *side)
{
	unsigned int plain, fenced;
	struct bench b;

	if (!open_bench(side, &b))
		return;
	plain = count_behind(&b, 0);
	fenced = count_behind(&b, WRC_WQE_FM_FENCE);
	probe_describe(side, "%u of %u use its entry, and %u with a fence", plain, ROUNDS,
		       fenced);
	close_bench(&b);
}

/* ---- UMRs of a chain -------------------------------------------------------------- */

/* Puts READs that bring key and offset into the UMR, a WAIT for them, and a SEND_EN. */
static void put_chain(struct bench *b, struct raw *master, struct raw *slave)
{
	uint8_t *umr = raw_wqe(slave, 0);
	const struct { uint8_t *to; uint32_t len; } part[] = {
		{ umr + offsetof(struct wrc_wqe_ctrl, imm), 4 },
		{ umr + sizeof(struct wrc_wqe_ctrl) +
		  offsetof(struct wrc_wqe_umr, offset_low), 2 },
	};
	const __be32 key = htobe32(b->key);
	const __be16 offset = htobe16(12);
	unsigned int i;

	memcpy(master->data, &key, sizeof(key));
	memcpy(master->data + 8, &offset, sizeof(offset));
	for (i = 0; i < 2; i++)
		raw_put_move(master, WRC_WQE_READ, part[i].to, slave->key, part[i].len,
			     (uintptr_t)master->data + 8 * i, master->key);
	raw_put_wait(master, master->scqn, 1);
	raw_put_enable(master, slave->qpn, slave->next);
}

void probe_keys_chain(struct side *side)
{
	struct raw slave, master;
	struct wrc_wr blank;
	struct bench b;

	if (!open_bench(side, &b))
		return;
	raw_open(side, RAW_SLAVE, &b.home, &slave);
	if (raw_open(side, RAW_MASTER, &b.home, &master)) {
		blank = umr_to(&b, 'a');
		blank.imm = 0;	/* the chain brings the key, and the offset */
		raw_put(&slave, blank);
		put_chain(&b, &master, &slave);
		raw_go(&master);
	}
	probe_describe(side, "%s", read_entry(&b, 12) == 'a' ?
		       "yes: its entry leads to the page" :
		       "no: its entry does not lead to the page");
	raw_close(&master);
	raw_close(&slave);
	close_bench(&b);
}

/* ---- keys of another domain ---------------------------------------------------------- */

void probe_keys_stranger(struct side *side)
{
	uint8_t syndrome = 0;
	struct raw writer;
	struct bench b;
	char which;

	if (!open_bench(side, &b))
		return;
	if (raw_open(side, 0, NULL, &writer)) {
		raw_put(&writer, umr_to(&b, 'a'));
		reach_go(&writer, &syndrome);
	}
	which = read_entry(&b, 0);
	if (syndrome)
		probe_describe(side, "no: the queue stops with syndrome 0x%02x%s",
			       syndrome, which ? ", but the key is changed" : "");
	else
		probe_describe(side, "its UMR is done, and the key %s",
			       which ? "changed" : "is as it was");
	raw_close(&writer);
	close_bench(&b);
}
