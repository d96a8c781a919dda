// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The agent is killed, whatever it or its NIC was doing, and another one goes on with
 * what it has left: no page is lost, none is lent twice, and its compute nodes take
 * their sessions up again.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <adopt.h>
#include "bed/cut.h"
#include "bed/load.h"
#include "killed.h"
#include "../../lib/child.h"

#define SLOTS	300
#define STEP_NS	100

static struct bed bed;
static struct load load;
static uint8_t page[ODRP_WIRE_PAGE_SIZE] __attribute__((aligned(8)));

static struct sess *sess(void)
{
	assert_true(bed.m.nr_sess > 0);
	return bed.m.sess[0];
}

static uint64_t mapped_of(const struct sess *s)
{
	uint64_t slot, nr = 0;

	for (slot = 0; slot < s->tt.nr_slots; slot++)
		nr += !!s->tt.entries[slot];
	return nr;
}

static void restart(void)
{
	int fd[KEEP_FILES];

	bed_copy_kept(&bed, fd);
	bed_restart(&bed, fd);
	bed_settle(&bed);
}

static void resume(struct cnode *c)
{
	struct cnode_refusal no;
	int r = cnode_resume(c, &no);

	if (r)
		fail_msg("cnode_resume: %d, status %u, detail %lu", r,
			 no.status, (unsigned long)no.detail);
}

/* ---- a request under way --------------------------------------------------------- */

static void restart_under(struct cnode *c, unsigned int steps)
{
	restart();
	assert_false(sess_attached(sess()));
	resume(c);
}

static void test_in_the_middle(void **state)
{
	cut_each_chain(&bed, restart_under);
}

/* ---- many requests under way ----------------------------------------------------- */

/* Mapped, with what was there before or with what was under way.  A WRITE by key that was
 * cut short leaves some of both, and is done again. */
static void settle_mapped(struct load_slot *s, uint64_t slot)
{
	assert_int_equal(cnode_do(load.cnode, 0, ODRP_WIRE_LOAD, slot, page), 0);
	if (s->version && bed_is(page, 0, slot, s->version))
		return;
	if (!bed_is(page, 0, slot, s->version + 1)) {
		assert_true(bed_keyed && s->version);
		bed_fill(page, 0, slot, s->version + 1);
		assert_int_equal(cnode_do(load.cnode, 0, ODRP_WIRE_MAPPED_STORE, slot,
					  page), 0);
	}
	s->version++;
}

/* As a compute node does: the table says what became of what was not answered. */
static void settle_load(void)
{
	uint64_t slot, entry;

	load.mapped = 0;
	load.under_way = 0;
	for (slot = 0; slot < load.nr_slots; slot++) {
		struct load_slot *s = &load.slots[slot];

		assert_int_equal(cnode_read_table(load.cnode, slot, 1, &entry), 0);
		if (!s->busy)
			assert_int_equal(!entry, !s->version);
		else if (entry)
			settle_mapped(s, slot);
		else
			s->version = 0;
		s->busy = false;
		load.mapped += !!entry;
	}
}

static void test_random_points(void **state)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	o.cost_ns = STEP_NS;
	o.cost_more_ns = STEP_NS;
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, SLOTS, 2, 7);
	load_init(&load, &bed, 0, SLOTS, 7);
	load_run(&load, 300);
	for (i = 0; i < 20; i++) {
		load_submit(&load, 12);
		cnode_flush(load.cnode);
		bed_run_ns(&bed, i * 7919 % 30000);
		load_poll(&load);
		restart();
		bed_check(&bed, mapped_of(sess()));
		resume(load.cnode);
		settle_load();
		bed_check_translations(&bed);
		bed_settle(&bed);
		bed_check(&bed, load.mapped);
		load_verify(&load);
		load_run(&load, 50);
	}
	assert_int_equal(bed.m.sess_adopted, 1);
	/* Heartbeats count again, and so do leases. */
	bed_pass(&bed, 3000);
	assert_int_equal(bed.m.nr_sess, 1);
	assert_true(sess()->lease.reachable);
	load_verify(&load);
	load_close(&load, &bed);
}

/* ---- several sessions ------------------------------------------------------------ */

static void store_some(struct cnode *c, unsigned int node, uint64_t from, uint64_t to)
{
	uint64_t slot;

	for (slot = from; slot < to; slot++) {
		bed_fill(page, node, slot, 1);
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_UNMAPPED_STORE, slot, page), 0);
	}
}

/* What the chains of the second one need is not made while the first is restored. */
static void test_two_sessions(void **state)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	bed_open(&bed, &o, 2);
	for (i = 0; i < 2; i++) {
		bed_connect(&bed, i, SLOTS, 1, 7);
		store_some(bed.nodes[i].cnode, i, 0, 60);
	}
	restart();
	for (i = 0; i < 2; i++)
		resume(bed.nodes[i].cnode);
	bed_check_translations(&bed);
	for (i = 0; i < 2; i++) {
		store_some(bed.nodes[i].cnode, i, 60, 70);
		assert_int_equal(cnode_do(bed.nodes[i].cnode, 0, ODRP_WIRE_LOAD, 3,
					  page), 0);
		assert_true(bed_is(page, i, 3, 1));
	}
	bed_settle(&bed);
	bed_check(&bed, 140);
	bed_close(&bed);
}

/* ---- the agent's own writes ------------------------------------------------------ */

void __real_keep_put(struct keep *k, uint16_t owner, const struct keep_record *rec);
void __wrap_keep_put(struct keep *k, uint16_t owner, const struct keep_record *rec);
void __real_keep_drop(struct keep *k, uint16_t owner);
void __wrap_keep_drop(struct keep *k, uint16_t owner);
void __real_keep_lease(struct keep *k, uint16_t owner, uint64_t granted,
		       uint64_t ceiling);
void __wrap_keep_lease(struct keep *k, uint16_t owner, uint64_t granted,
		       uint64_t ceiling);

/* Also between its words: what it has of them before the last one does not count. */
void __wrap_keep_put(struct keep *k, uint16_t owner, const struct keep_record *rec)
{
	volatile struct keep_record *to = &k->record[owner - 1];

	killed_write();
	memset((void *)to, 0xee, offsetof(struct keep_record, valid));
	killed_write();
	__real_keep_put(k, owner, rec);
}

void __wrap_keep_drop(struct keep *k, uint16_t owner)
{
	killed_write();
	__real_keep_drop(k, owner);
}

void __wrap_keep_lease(struct keep *k, uint16_t owner, uint64_t granted,
		       uint64_t ceiling)
{
	volatile struct keep_record *rec = keep_record(k, owner);

	if (rec && (rec->granted != granted || rec->ceiling != ceiling))
		killed_write();
	__real_keep_lease(k, owner, granted, ceiling);
}

/* Come, store, have more, free, be taken pages away, be evicted, leave. */
static void live_a_little(void)
{
	struct cnode *c;
	uint64_t slot;

	bed_connect(&bed, 0, 400, 1, 7);
	c = bed.nodes[0].cnode;
	store_some(c, 0, 0, 30);
	bed_pass(&bed, 500);
	bed_connect(&bed, 1, 400, 1, 7);
	store_some(bed.nodes[1].cnode, 1, 0, 20);
	for (slot = 0; slot < 10; slot++)
		assert_int_equal(cnode_do(c, 0, ODRP_WIRE_INVALIDATE, slot, NULL), 0);
	bed.want = 300;
	bed_pass(&bed, 800);
	bed.want = 0;
	manager_kill(&bed.m, sess(), WHY_EVICTED);
	bed_settle(&bed);
	bed_die(&bed, 0);
	bed_leave(&bed, 1);
	bed_settle(&bed);
	assert_int_equal(bed.m.nr_sess, 0);
}

/* What is mapped is what was stored, by whom it was stored. */
static void check_contents(const struct sess *s)
{
	unsigned int node = !strcmp(s->name, "node1");
	uint64_t slot, nr = 0;

	for (slot = 0; slot < s->tt.nr_slots; slot++) {
		if (!s->tt.entries[slot])
			continue;
		assert_true(page_index(be64toh(s->tt.entries[slot]), bed.m.pool.pages,
				       &nr));
		assert_true(bed_is(pool_va(&bed.m.pool, nr), node, slot, 1));
	}
}

/* True: there was such a write. */
static bool killed_at(unsigned int n, unsigned int *sessions)
{
	struct bed_options o;
	uint64_t mapped = 0;
	unsigned int i;
	bool killed;

	bed_options(&o);
	bed_open(&bed, &o, 2);
	killed_begin(&bed, n);
	live_a_little();
	killed = killed_end(&bed);
	if (killed) {
		for (i = 0; i < bed.m.nr_sess; i++) {
			check_contents(bed.m.sess[i]);
			mapped += mapped_of(bed.m.sess[i]);
		}
		bed_check(&bed, mapped);
		*sessions |= 1u << bed.m.nr_sess;
		/* Nobody comes: all of it is there again. */
		bed_pass(&bed, 3000);
		bed_settle(&bed);
		assert_int_equal(bed.m.nr_sess, 0);
		assert_int_equal(bed.m.pool.nr_free, bed.m.pool.pages);
	}
	bed_close(&bed);
	return killed;
}

/* Each of the first, then each so many-th: pages in a row are one like the other. */
static void test_each_write(void **state)
{
	unsigned int n, sessions = 0;

	for (n = 1; killed_at(n, &sessions); n += n < 10 ? 1 : 61)
		;
	assert_true(n > 100);
	assert_int_equal(sessions, 7);
}

/* ---- what is not taken over ------------------------------------------------------ */

static struct cnode *one_page(void)
{
	struct bed_options o;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, SLOTS, 1, 7);
	store_some(bed.nodes[0].cnode, 0, 0, 3);
	return bed.nodes[0].cnode;
}

static void expect_lost(struct cnode *c)
{
	struct cnode_refusal no = { 0 };

	assert_int_equal(bed.m.nr_sess, 0);
	assert_int_equal(bed.m.pool.nr_free, bed.m.pool.pages);
	assert_int_not_equal(cnode_resume(c, &no), 0);
	bed_check(&bed, 0);
	bed_close(&bed);
}

/* A page in two slots: nobody knows whose contents it has. */
static void test_named_twice(void **state)
{
	struct cnode *c = one_page();

	sess()->tt.entries[7] = sess()->tt.entries[1];
	restart();
	expect_lost(c);
}

static void test_not_its_page(void **state)
{
	struct cnode *c = one_page();
	uint64_t nobodys = 0;

	while (bed.m.pool.owner[nobodys] != POOL_NOBODY)
		nobodys++;
	sess()->tt.entries[7] = htobe64(page_addr(nobodys));
	restart();
	expect_lost(c);
}

static void test_damaged_record(void **state)
{
	struct cnode *c = one_page();

	keep_record(&bed.m.keep, sess()->owner)->instances = 0;
	restart();
	expect_lost(c);
}

/* Nothing is believed of another version, or of a record that is cut off. */
static void test_other_version(void **state)
{
	struct cnode *c = one_page();

	bed.m.keep.head->version++;
	restart();
	assert_false(bed.m.keep.adopted);
	expect_lost(c);
}

static void test_cut_off(void **state)
{
	struct cnode *c = one_page();
	int fd[KEEP_FILES];

	bed_copy_kept(&bed, fd);
	assert_int_equal(ftruncate(fd[KEEP_PAGES], 4096), 0);
	bed_restart(&bed, fd);
	assert_false(bed.m.keep.adopted);
	expect_lost(c);
}

/* ---- a kernel that takes nothing back -------------------------------------------- */

/* By the name that it has with offsets of 64 bits. */
static bool no_holes;

int __real_fallocate64(int fd, int mode, off_t off, off_t len);
int __wrap_fallocate64(int fd, int mode, off_t off, off_t len);

int __wrap_fallocate64(int fd, int mode, off_t off, off_t len)
{
	if (!no_holes)
		return __real_fallocate64(fd, mode, off, len);
	errno = EOPNOTSUPP;
	return -1;
}

/* A newcomer's table is empty, though another one had it before. */
static void test_table_cleared(void **state)
{
	one_page();
	no_holes = true;
	manager_kill(&bed.m, sess(), WHY_EVICTED);
	bed_settle(&bed);
	no_holes = false;
	assert_int_equal(bed.m.nr_sess + bed.m.nr_old, 0);
	cnode_die(bed.nodes[0].cnode);
	bed_connect(&bed, 0, SLOTS, 1, 7);
	assert_int_equal(mapped_of(sess()), 0);
	bed_close(&bed);
}

/* And no agent begins where that is not so. */
static void test_tables_not_cleared(void **state)
{
	struct cnode *c = one_page();
	int fd[KEEP_FILES];
	struct keep k;

	manager_kill(&bed.m, sess(), WHY_EVICTED);
	bed_copy_kept(&bed, fd);
	assert_int_equal(keep_adopt(&k, fd), 0);
	no_holes = true;
	assert_int_equal(adopt_pages(&k), -EOPNOTSUPP);
	no_holes = false;
	assert_int_equal(adopt_pages(&k), 0);
	keep_close(&k);
	restart();
	expect_lost(c);
}

/* A node that was evicted does not come back, however soon the agent ends. */
static void test_evicted(void **state)
{
	struct cnode *c = one_page();

	manager_kill(&bed.m, sess(), WHY_EVICTED);
	restart();
	expect_lost(c);
}

/* SIGTERM: connections end, and the session is left to the next agent. */
static void test_paused(void **state)
{
	struct cnode_refusal no = { 0 };
	struct cnode *c = one_page();

	manager_pause(&bed.m);
	bed_pass(&bed, 300);
	assert_false(sess_attached(sess()));
	assert_int_not_equal(cnode_resume(c, &no), 0);
	restart();
	resume(c);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, 1, page), 0);
	assert_true(bed_is(page, 0, 1, 1));
	bed_check(&bed, 3);
	bed_close(&bed);
}

/* All is lost, as after a reboot: who had a session finds that out by asking, though the
 * new agent has given its number to another one. */
static void test_generation(void **state)
{
	struct cnode_refusal no = { 0 };
	struct cnode *c = one_page(), *other;
	uint64_t id = sess()->id;

	bed.nodes[0].silent = true;
	bed_restart(&bed, NULL);
	assert_int_equal(bed.m.nr_sess, 0);
	bed.nodes[0].silent = false;
	bed.nodes[0].cnode = NULL;
	bed_connect(&bed, 0, SLOTS, 1, 7);
	other = bed.nodes[0].cnode;
	assert_int_equal(sess()->id, id);
	bed.nodes[0].cnode = c;
	assert_int_not_equal(cnode_resume(c, &no), 0);
	assert_true(sess_attached(sess()));
	cnode_die(c);
	bed.nodes[0].cnode = other;
	bed_close(&bed);
}

/* As long as one lives, another one gets nothing. */
static void test_second_agent(void **state)
{
	struct keep k;
	pid_t pid;
	int status;

	one_page();
	pid = child_fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(keep_adopt(&k, bed.m.keep.fd) == -EBUSY ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	bed_close(&bed);
}

/* Other settings: those who are there go on, and nothing is given away twice. */
static void test_other_settings(void **state)
{
	struct cnode *c = one_page();
	uint64_t pages = bed.m.pool.pages;

	bed.opts.conf.pool *= 2;
	bed.opts.conf.max_sessions = 1;
	bed.opts.conf.store_pages = 0;
	bed.opts.conf.max_slots = SLOTS - 1;
	bed.opts.conf.depth = 4;
	restart();
	assert_int_equal(bed.m.pool.pages, pages);
	assert_true(bed.m.stock.target >= bed.m.stock.claimed);
	resume(c);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, 1, page), 0);
	assert_true(bed_is(page, 0, 1, 1));
	bed_settle(&bed);
	bed_check(&bed, 3);
	bed_close(&bed);
}

/* ---- settings that what is there has no room for --------------------------------- */

/* A lease of most of the pool, and three pages of it in use. */
static struct cnode *large_lease(uint64_t want)
{
	struct bed_options o;

	bed_options(&o);
	o.conf.pool = 16 << 20;
	bed_open(&bed, &o, 1);
	bed.want = want;
	bed_connect(&bed, 0, 2 * want, 1, 7);
	store_some(bed.nodes[0].cnode, 0, 0, 3);
	bed_pass(&bed, 2000);
	assert_true(sess()->lease.granted >= want);
	return bed.nodes[0].cnode;
}

static void expect_resumed(struct cnode *c)
{
	assert_true(bed.m.budget <= bed.m.pool.pages);
	resume(c);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, 1, page), 0);
	assert_true(bed_is(page, 0, 1, 1));
	store_some(c, 0, 3, 10);
	bed_settle(&bed);
	bed_check(&bed, 10);
	bed_close(&bed);
}

/* Pages that a session has the promise of are no space's. */
static void test_space_beside_lease(void **state)
{
	struct cnode *c = large_lease(3500);
	char why[CONF_WHY_MAX];

	assert_int_equal(conf_space_set(&bed.opts.conf, "a", "size", "8M", why), 0);
	restart();
	assert_int_equal(bed.m.spaces.nr_pages, 0);
	expect_resumed(c);
}

/* Nor are they set aside for stores of others. */
static void test_stock_beside_lease(void **state)
{
	struct cnode *c = large_lease(3500);

	bed.opts.conf.store_pages = bed.m.pool.pages - 100;
	restart();
	expect_resumed(c);
}

/* What fits the pool of the settings need not fit the one that there is. */
static void test_settings_of_larger_pool(void **state)
{
	struct cnode *c = one_page();

	bed.opts.conf.pool *= 4;
	bed.opts.conf.store_pages = 2 * bed.m.pool.pages;
	bed.opts.conf.reserve = bed.m.pool.pages;
	restart();
	assert_true(bed.m.slack < bed.m.pool.pages);
	expect_resumed(c);
}

/* What was promised by settings of a larger pool is not, and who is there goes on. */
static void test_guarantee_of_larger_pool(void **state)
{
	struct cnode *c = one_page();
	struct conf_client *client = &bed.opts.conf.clients[0];
	struct share *share;

	*client = bed.opts.conf.others;
	snprintf(client->name, sizeof(client->name), "node0");
	bed.opts.conf.nr_clients = 1;
	client->max_pages = 77;
	client->guaranteed_pages = 2 * bed.m.pool.pages;
	bed.opts.conf.pool *= 4;
	restart();
	share = shares_find(&bed.m.shares, "node0");
	assert_non_null(share);
	assert_int_equal(share->lease.least, 0);
	assert_int_equal(share->lease.most, 77);
	expect_resumed(c);
}

/* ---- numbers that nobody has written --------------------------------------------- */

#define RECORD_AT(field) offsetof(struct keep_record, field)

/* A lease beyond the ring, another claim than of its queues; the number of nobody, and
 * one that a newcomer gets, too. */
static const struct {
	size_t off;
	uint64_t value;
} damage[] = {
	{ RECORD_AT(ceiling), UINT64_MAX }, { RECORD_AT(ceiling), 16 * SLOTS },
	{ RECORD_AT(granted), SLOTS + 1 }, { RECORD_AT(claim), 1 },
	{ RECORD_AT(id), 0 }, { RECORD_AT(id), 1 << 20 },
};

static void test_damaged_numbers(void **state)
{
	unsigned int i;

	for (i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		struct cnode *c = one_page();

		memcpy((char *)keep_record(&bed.m.keep, sess()->owner) + damage[i].off,
		       &damage[i].value, sizeof(damage[i].value));
		restart();
		if (bed.m.nr_sess)
			fail_msg("damage %u is not noticed", i);
		expect_lost(c);
	}
}

/* Nobody knows which of two sessions with one number is asked for. */
static void test_same_id(void **state)
{
	struct bed_options o;
	unsigned int i;

	bed_options(&o);
	bed_open(&bed, &o, 2);
	for (i = 0; i < 2; i++) {
		bed_connect(&bed, i, SLOTS, 1, 7);
		store_some(bed.nodes[i].cnode, i, 0, 3);
	}
	keep_record(&bed.m.keep, bed.m.sess[1]->owner)->id = sess()->id;
	restart();
	assert_int_equal(bed.m.nr_sess, 1);
	bed_check(&bed, 3);
	bed_close(&bed);
}

/* It has to fit into what compute nodes know a session by. */
static void test_next_id(void **state)
{
	struct cnode *c = one_page();

	bed.m.keep.head->next_id = UINT64_C(1) << 32;
	restart();
	assert_false(bed.m.keep.adopted);
	expect_lost(c);
}

/* ---- files that cannot be had now ------------------------------------------------ */

/* Where it is not they that are wrong, they stay for the next one. */
static void test_cannot_be_had(void **state)
{
	static struct manager other;
	struct cnode *c = one_page();
	int fd[KEEP_FILES], bad[KEEP_FILES];
	char path[64], why[CONF_WHY_MAX];
	unsigned int i;

	bed_copy_kept(&bed, fd);
	for (i = 0; i < KEEP_FILES; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd[i]);
		bad[i] = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(bad[i] >= 0);
	}
	assert_int_equal(manager_adopt(&other, &bed.opts.conf, bed.nic, bad, why),
			 -EBADF);
	for (i = 0; i < KEEP_FILES; i++)
		close(bad[i]);
	bed_restart(&bed, fd);
	bed_settle(&bed);
	resume(c);
	assert_int_equal(cnode_do(c, 0, ODRP_WIRE_LOAD, 1, page), 0);
	assert_true(bed_is(page, 0, 1, 1));
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_the_middle),
		cmocka_unit_test(test_random_points),
		cmocka_unit_test(test_two_sessions),
		cmocka_unit_test(test_each_write),
		cmocka_unit_test(test_named_twice),
		cmocka_unit_test(test_not_its_page),
		cmocka_unit_test(test_damaged_record),
		cmocka_unit_test(test_other_version),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_table_cleared),
		cmocka_unit_test(test_tables_not_cleared),
		cmocka_unit_test(test_evicted),
		cmocka_unit_test(test_paused),
		cmocka_unit_test(test_generation),
		cmocka_unit_test(test_second_agent),
		cmocka_unit_test(test_other_settings),
		cmocka_unit_test(test_space_beside_lease),
		cmocka_unit_test(test_stock_beside_lease),
		cmocka_unit_test(test_settings_of_larger_pool),
		cmocka_unit_test(test_guarantee_of_larger_pool),
		cmocka_unit_test(test_damaged_numbers),
		cmocka_unit_test(test_same_id),
		cmocka_unit_test(test_next_id),
		cmocka_unit_test(test_cannot_be_had),
	};

	return bed_run_tests(tests);
}
