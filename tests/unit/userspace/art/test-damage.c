/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A tree in which a word is damaged: whoever meets it says so, and neither loops nor leaves
 * its buffers.
 */
#include "kind.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <far/art.h>

#include "../../../../userspace/art/art_priv.h"

#define HANGS	60u	/* seconds: then something loops */

struct bed {
	struct rig rig;
	struct far_task *task;
	struct far_art *art;
};

static void store(struct bed *bed, const char *key)
{
	assert_int_equal(far_art_insert(bed->task, bed->art, key, strlen(key), "value", 5), 0);
}

/* Below "a" is a node of type 1, below "b", "c" and "d" a leaf each. */
static void bed_open(struct bed *bed)
{
	const struct rig_conf conf = { .sim = 1, .seed = 1, .nodes = 1 };
	char key[3] = "a0";

	alarm(HANGS);
	rig_open(&bed->rig, &conf);
	bed->task = rig_enter(&bed->rig, 0);
	assert_int_equal(far_art_create(bed->task, "t", &bed->art), 0);
	for (; key[1] <= '9'; key[1]++)
		store(bed, key);
	store(bed, "b");
	store(bed, "c");
	store(bed, "d");
	far_art_close(bed->art);
	/* which remembers nothing */
	assert_int_equal(far_art_open(bed->task, "t", &bed->art), 0);
}

static void *at(const struct bed *bed, uint64_t addr)
{
	return (char *)bed->rig.map[0].addr + far_addr_off(addr);
}

static uint64_t *slot_of(const struct bed *bed, unsigned symbol)
{
	struct art_node *first = at(bed, art_first_node(bed->art));

	return &first->slot[symbol];
}

static struct art_leaf *leaf_of(const struct bed *bed, unsigned symbol)
{
	return at(bed, art_pointee(*slot_of(bed, symbol)));
}

static int nothing(void *arg, const void *key, size_t key_len, const void *value,
		   size_t value_len)
{
	(void)arg;
	(void)key;
	(void)key_len;
	(void)value;
	(void)value_len;
	return 0;
}

/* A lookup of the key, a scan and a check all say so. */
static void expect_damage(struct bed *bed, const char *key)
{
	const struct far_range all = { 0 }, down = { .flags = FAR_RANGE_DOWN };
	char value[8];

	assert_true(rig_problems(&bed->rig, bed->task) > 0);
	assert_int_equal(far_art_scan(bed->task, bed->art, &all, nothing, NULL), -EBADMSG);
	assert_int_equal(far_art_scan(bed->task, bed->art, &down, nothing, NULL), -EBADMSG);
	assert_int_equal(far_art_get(bed->task, bed->art, key, strlen(key), value,
				     sizeof(value), NULL), -EBADMSG);
	assert_int_equal(far_art_get(bed->task, bed->art, key, strlen(key), value,
				     sizeof(value), NULL), -EBADMSG);
	alarm(0);
	far_art_close(bed->art);
	far_leave(bed->task);
	rig_close(&bed->rig);
}

static void symbol_out_of_range(void **state)
{
	struct bed bed;

	(void)state;
	bed_open(&bed);
	*slot_of(&bed, 'a') = art_slot_as(*slot_of(&bed, 'a'), ART_SYMBOL_MASK);
	expect_damage(&bed, "a0");
}

/* The slot says that the node is shorter, or longer, than it is; or of no type. */
static void other_type(void **state)
{
	static const unsigned types[] = { 0, 3, ART_TYPES };
	uint64_t *slot;
	struct bed bed;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		bed_open(&bed);
		slot = slot_of(&bed, 'a');
		assert_int_equal(art_slot_size(*slot), 1);
		*slot = art_slot('a', types[i], art_pointee(*slot));
		expect_damage(&bed, "a0");
	}
}

/* A slot of the first node leads to the first node. */
static void nodes_in_a_circle(void **state)
{
	struct bed bed;

	(void)state;
	bed_open(&bed);
	*slot_of(&bed, 'a') = art_slot('a', ART_TYPES - 1, art_first_node(bed.art));
	expect_damage(&bed, "aaaaaaaa");
}

static void moves_to(const struct bed *bed, unsigned from, unsigned to)
{
	leaf_of(bed, from)->head = art_head_moved(art_slot_size(*slot_of(bed, to)),
						  art_pointee(*slot_of(bed, to)));
}

static void leaf_moves_to_itself(void **state)
{
	struct bed bed;

	(void)state;
	bed_open(&bed);
	moves_to(&bed, 'b', 'b');
	expect_damage(&bed, "b");
}

static void leaves_in_a_circle(void **state)
{
	struct bed bed;

	(void)state;
	bed_open(&bed);
	moves_to(&bed, 'b', 'c');
	moves_to(&bed, 'c', 'd');
	moves_to(&bed, 'd', 'b');
	expect_damage(&bed, "b");
}

/*
 * Client 0 remembers a node that others have replaced and whose block is another node by
 * now, born later, with the same word at the same place: it may not change that word.
 */
static void slot_of_another_node(void **state)
{
	const struct rig_conf conf = { .sim = 1, .seed = 1, .nodes = 1, .clients = 2 };
	uint64_t saved[14], addr;
	struct far_art *art, *other;
	struct far_task *task;
	struct art_node *node;
	struct rig rig;
	char key[3] = "a0", value[32];
	unsigned i;
	size_t len;

	(void)state;
	alarm(HANGS);
	rig_open(&rig, &conf);
	task = rig_enter(&rig, 0);
	assert_int_equal(far_art_create(task, "t", &art), 0);
	for (; key[1] <= '9'; key[1]++)
		assert_int_equal(far_art_insert(task, art, key, 2, "short", 5), 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(far_art_get(task, art, "a3", 2, value, 32, &len), 0);
	far_leave(task);
	node = (struct art_node *)((char *)rig.map[0].addr + art_first_node(art) -
				   far_addr(0, 0));
	addr = art_pointee(node->slot['a']);
	assert_int_equal(art_slot_size(node->slot['a']), 1);
	node = (struct art_node *)((char *)rig.map[0].addr + far_addr_off(addr));
	memcpy(saved, node->slot, sizeof(saved));
	task = rig_enter(&rig, 1);
	assert_int_equal(far_art_open(task, "t", &other), 0);
	for (key[1] = 'A'; key[1] <= 'F'; key[1]++)
		assert_int_equal(far_art_insert(task, other, key, 2, "short", 5), 0);
	far_leave(task);
	assert_true(node->slot[art_node_find(node, '3')] & ART_FROZEN);
	/* the block of a node that has just been made */
	art_node_init(node, art_seed(art->root, addr), art_header_prefix(node->header), 1,
		      art_header_depth(node->header), art_node_birth(node) + 1000);
	memcpy(node->slot, saved, sizeof(saved));
	task = rig_enter(&rig, 0);
	assert_int_equal(far_art_put(task, art, "a3", 2, "a longer value", 14), 0);
	assert_memory_equal(node->slot, saved, sizeof(saved));
	assert_int_equal(far_art_get(task, art, "a3", 2, value, 32, &len), 0);
	assert_int_equal(len, 14);
	rig_check(&rig, task, NULL);
	far_art_close(other);
	far_art_close(art);
	far_leave(task);
	alarm(0);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbol_out_of_range),
		cmocka_unit_test(other_type),
		cmocka_unit_test(nodes_in_a_circle),
		cmocka_unit_test(leaf_moves_to_itself),
		cmocka_unit_test(leaves_in_a_circle),
		cmocka_unit_test(slot_of_another_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
