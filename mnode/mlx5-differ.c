// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two results of the same run, side by side: the first thing that differs.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "mlx5-rig.h"

static bool numbers(const char *name, uint64_t a, uint64_t b, char *what)
{
	if (a == b)
		return false;
	snprintf(what, RIG_DIFF_MAX, "%s: 0x%" PRIx64 " and 0x%" PRIx64, name,
		 a, b);
	return true;
}

static bool answers(const struct rig_result *a, const struct rig_result *b,
		    char *what)
{
	uint32_t n = a->nr_answers < b->nr_answers ? a->nr_answers :
						     b->nr_answers;
	char name[40];
	uint32_t i;

	for (i = 0; i < n; i++) {
		const struct rig_answer *x = &a->answers[i];
		const struct rig_answer *y = &b->answers[i];

		snprintf(name, sizeof(name), "immediate of answer %" PRIu32, i);
		if (numbers(name, x->imm, y->imm, what))
			return true;
		snprintf(name, sizeof(name), "CQE opcode of answer %" PRIu32,
			 i);
		if (numbers(name, x->opcode, y->opcode, what))
			return true;
		snprintf(name, sizeof(name), "length of answer %" PRIu32, i);
		if (numbers(name, x->byte_cnt, y->byte_cnt, what))
			return true;
		snprintf(name, sizeof(name), "wqe_counter of answer %" PRIu32,
			 i);
		if (numbers(name, x->wqe_counter, y->wqe_counter, what))
			return true;
	}
	return numbers("answers", a->nr_answers, b->nr_answers, what);
}

static bool words(const char *name, const __be64 *a, const __be64 *b,
		  unsigned int n, char *what)
{
	char one[40];
	unsigned int i;

	for (i = 0; i < n; i++) {
		snprintf(one, sizeof(one), "%s %u", name, i);
		if (numbers(one, be64toh(a[i]), be64toh(b[i]), what))
			return true;
	}
	return false;
}

static bool bytes(const char *name, const uint8_t *a, const uint8_t *b,
		  size_t len, char *what)
{
	char one[60];
	size_t i;

	if (!memcmp(a, b, len))
		return false;
	for (i = 0; a[i] == b[i]; i++)
		;
	snprintf(one, sizeof(one), "%s %zu, byte 0x%zx", name,
		 i / ODRP_WIRE_PAGE_SIZE, i % ODRP_WIRE_PAGE_SIZE);
	return numbers(one, a[i], b[i], what);
}

bool rig_differ(const struct rig_result *a, const struct rig_result *b,
		char what[RIG_DIFF_MAX])
{
	return numbers("error", -a->err, -b->err, what) ||
	       answers(a, b, what) ||
	       numbers("syndrome", a->syndrome, b->syndrome, what) ||
	       words("table entry", a->tt, b->tt, RIG_SLOTS, what) ||
	       words("ring slot", a->ring, b->ring, 2 * RIG_PAGES, what) ||
	       numbers("ring's head", a->head, b->head, what) ||
	       numbers("ring's tail", a->tail, b->tail, what) ||
	       bytes("pool page", a->pool, b->pool, sizeof(a->pool), what) ||
	       bytes("client's page", a->mem, b->mem, sizeof(a->mem), what) ||
	       numbers("loop queue's CQEs", a->loop_cqes, b->loop_cqes,
		       what) ||
	       numbers("client queue's CQEs", a->client_cqes, b->client_cqes,
		       what) ||
	       numbers("loop queue's BBs", a->loop_bbs, b->loop_bbs, what) ||
	       numbers("client queue's BBs", a->client_bbs, b->client_bbs,
		       what);
}
