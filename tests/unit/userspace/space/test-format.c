// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Formatting, and every superblock that is not to be believed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#include <cmocka.h>

#include "../../../../userspace/space/format.h"
#include "../../../../userspace/space/geometry.h"
#include "../../../../userspace/space/summary.h"

#define MIB	(UINT64_C(1) << 20)

static const struct far_format small = {
	.name = "s", .set = "0123456789abcde", .size = 4 * MIB,
	.nr_nodes = 2, .node = 1, .arbiter = 1, .created = 12,
};

static struct far_sb plan(const struct far_format *format)
{
	struct far_sb sb;
	char why[160] = "";

	assert_int_equal(far_format_plan(format, why, sizeof(why), &sb), 0);
	return sb;
}

/* Tables lie one behind the other, aligned, and chunks behind them in the space. */
static void check_places(const struct far_sb *sb)
{
	uint64_t end = FAR_SB_LEN;

	if (sb->node == sb->arbiter) {
		assert_int_equal(sb->dir_off, end);
		assert_int_equal(sb->client_off, far_dir_entry_off(sb, FAR_NR_NAMES));
		end = far_client_entry_off(sb, sb->max_clients + 1);
	} else {
		assert_int_equal(sb->dir_off | sb->client_off, 0);
	}
	assert_true(sb->chunk_off >= end);
	assert_true(sb->page_off >= far_chunk_word_off(sb, sb->nr_chunks));
	assert_true(sb->map_off >= far_page_word_off(sb, far_nr_pages(sb)));
	assert_true(sb->data_off >= far_map_off(sb, far_nr_pages(sb)));
	assert_int_equal(sb->data_off % far_page_size(sb), 0);
	assert_int_equal((sb->chunk_off | sb->page_off | sb->map_off) % 64, 0);
	assert_true(far_chunk_off(sb, sb->nr_chunks) <= sb->size);
	/* and no further chunk would have fitted */
	assert_true(far_chunk_off(sb, sb->nr_chunks + 1) +
		    far_chunk_pages(sb) * (8 + far_map_words(sb) * 8) + (64 << 10) >
		    sb->size);
}

static void plans(void **state)
{
	const uint64_t size[] = { 4 * MIB, 5 * MIB + 4096, 64 * MIB, 1024 * MIB,
				  64 * 1024 * MIB, FAR_MAX_SIZE };
	const uint64_t chunk[] = { 0, 1 * MIB, 2 * MIB, 32 * MIB };
	const unsigned max_clients = small.max_clients;
	struct far_format format = small;
	char why[160];

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		for (unsigned k = 0; k < 4; k++) {
			struct far_sb sb;

			format.size = size[i];
			format.chunk_size = chunk[k];
			format.node = k & 1;
			if (chunk[k] * 2 > size[i])
				continue;
			sb = plan(&format);
			check_places(&sb);
			assert_int_equal(far_sb_check(&sb, size[i], why, sizeof(why)), 0);
		}
	}
	/* a page of each of three size classes for each of 256 clients, and a chunk for it */
	format.size = 64 * MIB;
	format.chunk_size = 0;
	format.max_clients = 256;
	format.node = format.arbiter;
	assert_int_equal(plan(&format).chunk_size, 64 << 10);
	assert_true(plan(&format).nr_chunks >= 3 * 256);
	assert_int_equal(plan(&format).page_shift, 14);
	format.max_clients = max_clients;
	format.size = FAR_MAX_SIZE;
	format.chunk_size = 0;
	assert_int_equal(plan(&format).chunk_size, 32 * MIB);
	assert_int_equal(plan(&format).page_shift, FAR_MAX_PAGE_SHIFT);
	format.size = 4 * MIB;
	format.max_clients = FAR_MAX_CLIENTS;
	assert_int_equal(plan(&format).page_shift, FAR_MIN_PAGE_SHIFT);
}

static void refuse(const struct far_format *format, int err, const char *word)
{
	struct far_sb sb;
	char why[160] = "";

	assert_int_equal(far_format_plan(format, why, sizeof(why), &sb), err);
	assert_non_null(strstr(why, word));
	assert_int_equal(far_format_plan(format, NULL, 0, &sb), err);
}

#define REFUSE(member, value, err, word) do {		\
	struct far_format format_ = small;		\
							\
	format_.member = value;				\
	refuse(&format_, err, word);			\
} while (0)

/* What a person can wish for in vain; the sentence has the value. */
static void bad_wishes(void **state)
{
	(void)state;
	REFUSE(name, "", -EINVAL, "0 bytes");
	REFUSE(name, NULL, -EINVAL, "0 bytes");
	REFUSE(name, "0123456789012345678901234567890123456789012345678901234567890123",
	       -EINVAL, "64 bytes");
	REFUSE(size, 4 * MIB - 1, -EINVAL, "4194303");
	REFUSE(size, FAR_MAX_SIZE + 1, -EINVAL, "1099511627777");
	REFUSE(chunk_size, 32 << 10, -EINVAL, "32768");
	REFUSE(chunk_size, 3 * MIB, -EINVAL, "3145728");
	REFUSE(chunk_size, 64 * MIB, -EINVAL, "67108864");
	REFUSE(chunk_size, 4 * MIB, -ENOSPC, "4194304");
	REFUSE(max_clients, 4095, -EINVAL, "4095");
	REFUSE(nr_nodes, 0, -EINVAL, "0 nodes");
	REFUSE(nr_nodes, 256, -EINVAL, "256 nodes");
	REFUSE(node, 2, -EINVAL, "node 2");
	REFUSE(arbiter, 2, -EINVAL, "arbiter 2");
}

static void writes(void **state)
{
	struct far_sb sb = plan(&small);
	char *memory = malloc(sb.size);
	struct far_epoch_line *line = (void *)(memory + FAR_SB_EPOCH);

	(void)state;
	assert_non_null(memory);
	memset(memory, 0xff, sb.size);
	far_format_write(memory, &sb, false);
	assert_memory_equal(memory, &sb, sizeof(sb));
	assert_int_equal(line->epoch, 1);
	assert_int_equal(line->safe, 1);
	assert_int_equal(line->deaths, 0);
	for (uint64_t at = FAR_SB_SHARED; at < sb.data_off; at++)
		assert_int_equal(memory[at], 0);
	assert_int_equal((unsigned char)memory[sb.data_off], 0xff);
	free(memory);
}

static void sum_set(struct far_sb *sb)
{
	sb->checksum = XXH3_64bits(sb, offsetof(struct far_sb, checksum));
}

static void judge(const struct far_sb *sb, uint64_t size, const char *word)
{
	char why[160] = "";

	assert_int_equal(far_sb_check(sb, size, why, sizeof(why)), -EPROTO);
	if (!strstr(why, word))
		fail_msg("\"%s\" does not say \"%s\"", why, word);
}

/* Each field with another value, under a checksum that is right. */
#define BAD(member, value, word) do {			\
	struct far_sb sb_ = plan(&small);		\
							\
	sb_.member = value;				\
	sum_set(&sb_);					\
	judge(&sb_, 4 * MIB, word);			\
} while (0)

static void bad_superblocks(void **state)
{
	struct far_sb sb = plan(&small);

	(void)state;
	BAD(magic, 0, "magic");
	BAD(version, 2, "version 2: expected 4: delete the space");
	BAD(page_shift, 0, "number");
	BAD(page_shift, 11, "number");
	BAD(page_shift, 17, "number");
	BAD(page_shift, 40, "number");
	BAD(size, 4 * MIB + 1, "the node has 4194304");
	BAD(size, 0, "size 0");
	BAD(chunk_size, 0, "number");
	BAD(chunk_size, 3 * MIB, "3145728");
	BAD(nr_chunks, 0, "number");
	BAD(nr_chunks, 4, "tables");
	BAD(nr_chunks, 2, "tables");
	BAD(nr_chunks, UINT32_MAX, "tables");
	BAD(max_clients, 0, "number");
	BAD(max_clients, 5000, "5000");
	BAD(nr_nodes, 0, "0 nodes");
	BAD(nr_nodes, 300, "300 nodes");
	BAD(node, 2, "node 2");
	BAD(arbiter, 9, "arbiter 9");
	BAD(arbiter, 0, "tables");
	BAD(nr_names, 63, "number");
	BAD(dir_off, 0, "tables");
	BAD(client_off, 8, "tables");
	BAD(chunk_off, 8, "tables");
	BAD(page_off, 8, "tables");
	BAD(map_off, 8, "tables");
	BAD(data_off, 2 * MIB * 4, "tables");
	BAD(name[0], 0, "0 bytes");
	memset(sb.name, 'x', sizeof(sb.name));
	sum_set(&sb);
	judge(&sb, 4 * MIB, "no end");
}

/* Any bit of what the checksum covers, and of the checksum. */
static void every_bit(void **state)
{
	struct far_sb sb = plan(&small);
	char why[160];

	(void)state;
	for (size_t bit = 0; bit < sizeof(sb) * 8; bit++) {
		((unsigned char *)&sb)[bit / 8] ^= 1 << bit % 8;
		assert_int_equal(far_sb_check(&sb, 4 * MIB, why, sizeof(why)), -EPROTO);
		((unsigned char *)&sb)[bit / 8] ^= 1 << bit % 8;
	}
	assert_int_equal(far_sb_check(&sb, 4 * MIB, why, sizeof(why)), 0);
}

static void sets(void **state)
{
	struct far_format other = small;
	struct far_sb a = plan(&small), b;
	char why[160];

	(void)state;
	other.node = 0;
	b = plan(&other);
	assert_int_equal(far_sb_same_set(&a, &b, 0, why, sizeof(why)), 0);
	assert_int_equal(far_sb_same_set(&a, &b, 1, why, sizeof(why)), -EPROTO);
	assert_non_null(strstr(why, "node 1 of the list is node 0"));
	other.arbiter = 0;
	b = plan(&other);
	assert_int_equal(far_sb_same_set(&a, &b, 0, why, sizeof(why)), -EPROTO);
	other.set[3] ^= 1;
	b = plan(&other);
	assert_int_equal(far_sb_same_set(&a, &b, 0, why, sizeof(why)), -EPROTO);
	assert_non_null(strstr(why, "another set"));
}

/*
 * Claimed chunks of a space with many are counted in pieces, and all of them. Until the
 * first round is whole, those that it has counted are shown.
 */
static void many_chunks(void **state)
{
	struct far_format format = small;
	struct far_tally tally = { .at = 0 };
	struct far_summary sum;
	struct far_sb sb;
	uint64_t *words;
	unsigned calls;
	char *memory;

	(void)state;
	format.size = 16 * 1024 * MIB;
	format.chunk_size = 64 << 10;
	sb = plan(&format);
	assert_true(sb.nr_chunks > 3 * FAR_TALLY_STEP);
	memory = mmap(NULL, sb.size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	far_format_write(memory, &sb, false);
	words = (uint64_t *)(memory + far_chunk_word_off(&sb, 0));
	words[1] = words[FAR_TALLY_STEP] = words[sb.nr_chunks - 1] = 1;
	for (calls = 1; calls < 10; calls++) {
		far_summary_of(memory, &sb, &tally, &sum);
		if (tally.whole)
			break;
		assert_int_equal(tally.at, calls * FAR_TALLY_STEP);
		assert_int_equal(sum.used, (calls == 1 ? 1 : 2) * sb.chunk_size);
	}
	assert_int_equal(calls, (sb.nr_chunks + FAR_TALLY_STEP - 1) / FAR_TALLY_STEP);
	assert_int_equal(sum.used, 3 * sb.chunk_size);
	assert_int_equal(far_summary(memory, sb.size, &sum), 0);
	assert_int_equal(sum.used, 3 * sb.chunk_size);
	munmap(memory, sb.size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans),
		cmocka_unit_test(bad_wishes),
		cmocka_unit_test(writes),
		cmocka_unit_test(bad_superblocks),
		cmocka_unit_test(every_bit),
		cmocka_unit_test(sets),
		cmocka_unit_test(many_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
