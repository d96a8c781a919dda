// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Compares two results of the same run and describes the first difference. */
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "rig.h"

static bool numbers_differ(const char *name, uint64_t a, uint64_t b, char *what)
{
	if (a == b)
		return false;
	snprintf(what, RIG_DIFF_MAX, "%s: 0x%" PRIx64 " and 0x%" PRIx64, name,
		 a, b);
	return true;
}

static bool answer_differs(uint32_t i, const struct rig_answer *a,
			   const struct rig_answer *b, char *what)
{
	const struct {
		const char *name;
		uint32_t a, b;
	} parts[] = {
		{ "immediate", a->imm, b->imm },
		{ "CQE opcode", a->opcode, b->opcode },
		{ "length", a->byte_cnt, b->byte_cnt },
		{ "wqe_counter", a->wqe_counter, b->wqe_counter },
	};
	char name[60];
	unsigned int p;

	for (p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
		if (parts[p].a == parts[p].b)
			continue;
		snprintf(name, sizeof(name), "%s of answer %" PRIu32,
			 parts[p].name, i);
		return numbers_differ(name, parts[p].a, parts[p].b, what);
	}
	return false;
}

static bool answers_differ(const struct rig_result *a, const struct rig_result *b,
			   char *what)
{
	uint32_t n = a->nr_answers < b->nr_answers ? a->nr_answers :
						     b->nr_answers;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (answer_differs(i, &a->answers[i], &b->answers[i], what))
			return true;
	}
	return numbers_differ("answers", a->nr_answers, b->nr_answers, what);
}

static bool words_differ(const char *name, const __be64 *a, const __be64 *b,
			 unsigned int n, char *what)
{
	char one[80];
	unsigned int i;

	for (i = 0; i < n && a[i] == b[i]; i++)
		;
	if (i == n)
		return false;
	snprintf(one, sizeof(one), "%s %u", name, i);
	return numbers_differ(one, be64toh(a[i]), be64toh(b[i]), what);
}

static bool bytes_differ(const char *name, const uint8_t *a, const uint8_t *b,
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
	return numbers_differ(one, a[i], b[i], what);
}

static bool held_differs(const char *when, const struct rig_books *a,
			 const struct rig_books *b, char *what)
{
	char name[60];
	uint32_t i;

	for (i = 0; i < a->nr_held; i++) {
		const struct wrc_held *x = &a->held[i], *y = &b->held[i];

		snprintf(name, sizeof(name), "%spage held by %" PRIu32, when,
			 i);
		if (numbers_differ(name, x->page, y->page, what))
			return true;
		snprintf(name, sizeof(name), "%sslot held by %" PRIu32, when,
			 i);
		if (numbers_differ(name, x->slot, y->slot, what))
			return true;
	}
	return false;
}

static bool books_differ(const char *when, const struct rig_books *a,
			 const struct rig_books *b, char *what)
{
	char name[5][60];

	snprintf(name[0], sizeof(name[0]), "%stable entry", when);
	snprintf(name[1], sizeof(name[1]), "%sring slot", when);
	snprintf(name[2], sizeof(name[2]), "%sring's head", when);
	snprintf(name[3], sizeof(name[3]), "%sring's tail", when);
	snprintf(name[4], sizeof(name[4]), "%sholders", when);
	return words_differ(name[0], a->tt, b->tt, RIG_SLOTS, what) ||
	       words_differ(name[1], a->ring, b->ring, RIG_RING_SLOTS, what) ||
	       numbers_differ(name[2], a->head, b->head, what) ||
	       numbers_differ(name[3], a->tail, b->tail, what) ||
	       numbers_differ(name[4], a->nr_held, b->nr_held, what) ||
	       held_differs(when, a, b, what);
}

static bool reached_differs(const struct rig_result *a, const struct rig_result *b,
			    char *what)
{
	char name[60];
	unsigned int i;

	for (i = 0; i < RIG_SLOTS; i++) {
		snprintf(name, sizeof(name), "page that a peer reaches by "
			 "slot %u", i);
		if (numbers_differ(name, a->reached[i], b->reached[i], what))
			return true;
	}
	return false;
}

static bool counts_differ(const struct rig_result *a, const struct rig_result *b,
			  char *what)
{
	return numbers_differ("loop queue's CQEs", a->loop_cqes, b->loop_cqes,
			      what) ||
	       numbers_differ("client queue's CQEs", a->client_cqes, b->client_cqes,
			      what) ||
	       numbers_differ("CQEs of answers", a->answer_cqes, b->answer_cqes,
			      what) ||
	       numbers_differ("loop queue's BBs", a->loop_bbs, b->loop_bbs, what) ||
	       numbers_differ("client queue's BBs", a->client_bbs, b->client_bbs,
			      what) ||
	       numbers_differ("completed before the client took the answer",
			      a->passed_early, b->passed_early, what) ||
	       numbers_differ("all completed", a->passed, b->passed, what);
}

bool rig_differ(const struct rig_result *a, const struct rig_result *b,
		char what[RIG_DIFF_MAX])
{
	static const char cut[] = "after the connection was cut, ";

	return numbers_differ("error", -a->err, -b->err, what) ||
	       answers_differ(a, b, what) ||
	       numbers_differ("syndrome", a->syndrome, b->syndrome, what) ||
	       books_differ("", &a->end, &b->end, what) ||
	       bytes_differ("pool page", a->pool, b->pool, sizeof(a->pool), what) ||
	       bytes_differ("client's page", a->mem, b->mem, sizeof(a->mem), what) ||
	       reached_differs(a, b, what) ||
	       counts_differ(a, b, what) ||
	       books_differ(cut, &a->cut, &b->cut, what);
}
