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

static int open_bench(struct side *side, struct bench *ret_bench)
{
	struct bench b = { .side = side };
	struct nic *nic = side->nic;
	int r;

	if (side_lacks_keys(side))
		return -EOPNOTSUPP;
	r = raw_open(side, 0, NULL, &b.home);
	if (r)
		return r;
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
	r = reach_open(side, b.home.pdn, &b.reach);
	if (r)
		goto destroy;
	*ret_bench = b;
	return 0;

destroy:
	nic->ops->mr_dereg(nic, b.key);
dereg:
	nic->ops->mr_dereg(nic, b.page_key);
close_home:
	raw_close(&b.home);
	return r;
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
static int lead(struct bench *b, uint16_t offset, char which)
{
	return reach_map(&b->reach, b->key, offset, which ? b->page_key : 0,
			 which ? (uintptr_t)page_of(b, which) : 0);
}

/* READs by an entry.  *ret_which: the letter of the page; 0: the READ was refused. */
static int read_entry(struct bench *b, uint16_t offset, char *ret_which)
{
	int r = reach_read(&b->reach, b->key, offset * PIECE, 8);

	*ret_which = r ? 0 : b->reach.far.data[0];
	return r == -EACCES ? 0 : r;
}

/* ---- entries -------------------------------------------------------------------- */

/* The agent makes an entry: a peer READs by that entry, by a new key, and by the next group. */
int probe_keys_entries(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	char first = 0, mapped = 0, beside = 0;
	struct bench b;
	int r = open_bench(side, &b);

	if (r)
		return r;
	r = read_entry(&b, 4, &first);
	if (!r)
		r = lead(&b, 4, 'a');
	if (!r)
		r = read_entry(&b, 4, &mapped);
	if (!r)
		r = read_entry(&b, 8, &beside);
	if (!r)
		probe_describe(answer, "a new key leads %s; with an entry, %s; and by "
			       "the next group, %s", first ? "somewhere" : "nowhere",
			       mapped == 'a' ? "to its page" :
			       mapped ? "to something else" : "nowhere",
			       beside ? "somewhere" : "nowhere");
	close_bench(&b);
	return r;
}

/* ---- pages that are taken away --------------------------------------------------- */

/* Does a peer still READ the old page right behind the completion of the UMR that took it? */
int probe_keys_taken(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	unsigned int n, old = 0, refused = 0;
	struct bench b;
	char which = 0;
	int r = open_bench(side, &b);

	if (r)
		return r;
	for (n = 0; !r && n < ROUNDS; n++) {
		/* READ first, so that the NIC may cache the entry.  A refused READ costs a
		 * connection, so only one round in 100 has one. */
		r = lead(&b, 0, 'a');
		if (!r)
			r = read_entry(&b, 0, &which);
		if (!r)
			r = lead(&b, 0, n % 100 ? 'b' : 0);
		if (!r)
			r = read_entry(&b, 0, &which);
		old += which == 'a';
		refused += !which;
	}
	if (!r)
		probe_describe(answer, "of %u READs behind a UMR's completion %u find "
			       "the old page, and %u are refused where there is none",
			       n, old, refused);
	close_bench(&b);
	return r;
}

/* ---- READs behind a UMR ------------------------------------------------------------ */

/* Posts a UMR and, right behind it in the same queue, a READ by its entry. */
static int read_behind(struct bench *b, uint8_t flags, char *ret_which)
{
	struct wrc_wr umr = {
		.op = WRC_WQE_UMR, .imm = b->key, .page_key = b->page_key,
		.page = (uintptr_t)page_of(b, 'b'),
	};
	struct wrc_wr read = {
		.op = WRC_WQE_READ, .flags = flags, .rkey = b->key, .nr_sge = 1,
	};
	struct raw *w = &b->reach.writer;
	uint8_t syndrome;
	int r;

	read.sge[0] = (struct wrc_sge){ 8, w->key, (uintptr_t)w->data };
	memset(w->data, 0, 8);
	r = reach_put(w, umr);
	if (!r)
		r = reach_put(w, read);
	if (!r)
		r = reach_go(w, &syndrome);
	*ret_which = r ? 0 : w->data[0];
	return r == -EIO ? 0 : r;
}

static int count_behind(struct bench *b, uint8_t flags, unsigned int *ret_new)
{
	char which;
	unsigned int n;
	int r = 0;

	*ret_new = 0;
	for (n = 0; !r && n < ROUNDS; n++) {
		r = lead(b, 0, 'a');
		if (!r)
			r = read_behind(b, flags, &which);
		*ret_new += !r && which == 'b';
	}
	return r;
}

int probe_keys_behind(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	unsigned int plain, fenced = 0;
	struct bench b;
	int r = open_bench(side, &b);

	if (r)
		return r;
	r = count_behind(&b, 0, &plain);
	if (!r)
		r = count_behind(&b, WRC_WQE_FM_FENCE, &fenced);
	if (!r)
		probe_describe(answer, "%u of %u use its entry, and %u with a fence",
			       plain, ROUNDS, fenced);
	close_bench(&b);
	return r;
}

/* ---- UMRs of a chain -------------------------------------------------------------- */

/* Puts the UMR into the slave: without key and offset, for page 'a'. */
static int put_blank(struct bench *b, struct raw *slave)
{
	return reach_put(slave, (struct wrc_wr){
		.op = WRC_WQE_UMR, .page_key = b->page_key,
		.page = (uintptr_t)page_of(b, 'a') });
}

/* Puts READs that bring key and offset into the UMR, a WAIT for them, and a SEND_EN. */
static int put_chain(struct bench *b, struct raw *master, struct raw *slave)
{
	uint8_t *umr = raw_wqe(slave, 0);
	const struct { uint8_t *to; uint32_t len; } part[] = {
		{ umr + offsetof(struct wrc_wqe_ctrl, imm), 4 },
		{ umr + sizeof(struct wrc_wqe_ctrl) +
		  offsetof(struct wrc_wqe_umr, offset_low), 2 },
	};
	const __be32 key = htobe32(b->key);
	const __be16 offset = htobe16(12);
	struct wrc_wr read = {
		.op = WRC_WQE_READ, .shape = WRC_WQE_READ,
		.flags = WRC_WQE_CE_ALWAYS, .rkey = master->key, .nr_sge = 1,
	};
	unsigned int i;
	int r = 0;

	memcpy(master->data, &key, sizeof(key));
	memcpy(master->data + 8, &offset, sizeof(offset));
	for (i = 0; !r && i < 2; i++) {
		read.raddr = (uintptr_t)master->data + 8 * i;
		read.sge[0] = (struct wrc_sge){ part[i].len, slave->key,
						(uintptr_t)part[i].to };
		r = raw_put(master, read);
	}
	if (!r)
		r = raw_put_wait(master, master->scqn, 1);
	return r ? r : raw_put_enable(master, slave->qpn, slave->next);
}

int probe_keys_chain(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	struct raw slave = { 0 }, master = { 0 };
	struct bench b;
	char which = 0;
	int r = open_bench(side, &b);

	if (r)
		return r;
	r = raw_open(side, RAW_SLAVE, &b.home, &slave);
	if (!r)
		r = raw_open(side, RAW_MASTER, &b.home, &master);
	if (!r)
		r = put_blank(&b, &slave);
	if (!r)
		r = put_chain(&b, &master, &slave);
	if (!r)
		r = raw_go(&master);
	if (!r)
		r = read_entry(&b, 12, &which);
	if (!r)
		probe_describe(answer, "%s", which == 'a' ?
			       "yes: its entry leads to the page" :
			       "no: its entry does not lead to the page");
	raw_close(&master);
	raw_close(&slave);
	close_bench(&b);
	return r;
}

/* ---- keys of another domain ---------------------------------------------------------- */

int probe_keys_stranger(struct side *side, char answer[PROBE_ANSWER_MAX])
{
	struct reach other = { .side = side };
	struct bench b;
	uint8_t syndrome = 0;
	char which = 0;
	int r = open_bench(side, &b);

	if (r)
		return r;
	r = raw_open(side, 0, NULL, &other.writer);
	if (r)
		goto close_bench;
	r = reach_put(&other.writer, (struct wrc_wr){
		.op = WRC_WQE_UMR, .imm = b.key, .page_key = b.page_key,
		.page = (uintptr_t)page_of(&b, 'a') });
	if (!r)
		r = reach_go(&other.writer, &syndrome);
	if (!r || r == -EIO)
		r = read_entry(&b, 0, &which);
	if (!r && syndrome)
		probe_describe(answer, "no: the queue stops with syndrome 0x%02x%s",
			       syndrome, which ? ", but the key is changed" : "");
	else if (!r)
		probe_describe(answer, "its UMR is done, and the key %s",
			       which ? "changed" : "is as it was");
	raw_close(&other.writer);
close_bench:
	close_bench(&b);
	return r;
}
