// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The programs that the agent can arm, in both modes, as reviewed text:
 * tests/golden/node-NAME-MODE.dis, the listing of four instances, and .wqe, the
 * bytes of instance 1.  Those of page exchange have exchange- before their name,
 * those of translation in the NIC keyed-, those of order=fence fence- before all.
 *
 * After a change that is meant: ODRP_REGEN=1 meson test "wrchain golden", and
 * review the difference.
 */
#include <stdlib.h>
#include "bench.h"

#define MAX_FILE (1 << 20)

static void add_line(struct wrc_text *out, const struct bench *b,
		     const struct wrc_dis_ctx *ctx, unsigned int insn,
		     uint32_t k)
{
	const struct wrc_insn *i = &b->prog.insn[insn];
	struct wrc_text t;
	char label[16];

	wrc_text_init(&t, label, sizeof(label));
	wrc_dis_label(&t, &b->prog, insn);
	wrc_text_add(&t, "@%u", k);
	wrc_text_add(out, "%-6s %3u  %-6s ",
		     i->queue == WRC_LOOP ? "loop" : "client",
		     k * b->prog.bb[i->queue] + i->bb, label);
	wrc_dis_bytes(out, ctx,
		      b->arena + wrc_insn_off(&b->prog, &b->geom, insn, k),
		      i->nr_bb * 64, i->op);
	wrc_text_add(out, "\n");
}

static void add_recv(struct wrc_text *out, struct bench *b,
		     const struct wrc_dis_ctx *ctx, uint32_t k)
{
	struct wrc_sge sge[WRC_MAX_RECV_SGE];
	int n = wrc_decode_recv(bench_recv(b, k, 0),
				(size_t)1 << b->geom.log_rq_stride, sge);

	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		wrc_text_add(out, "recv   %3u  sge%-3d ", k, i);
		wrc_dis_sge(out, ctx, &sge[i]);
		wrc_text_add(out, "\n");
	}
}

static void add_words(struct wrc_text *out, const struct bench *b)
{
	struct wrc_word_rule words[WRC_MAX_WORDS];
	int n = wrc_words(&b->prog, &b->geom, words);

	for (int i = 0; i < n; i++) {
		const struct wrc_word *w = &b->prog.word[i];

		wrc_text_add(out, "word   %3u  %-6s ", w->off,
			     wrc_word_name(words[i].kind));
		if (w->insn != WRC_NONE) {
			wrc_text_add(out, w->delta ? "next " : "");
			wrc_dis_label(out, &b->prog, w->insn);
			wrc_text_add(out, " ");
		}
		wrc_text_add(out, "= %u + r * %u\n", be16toh(words[i].base),
			     words[i].step);
	}
}

static void listing(struct bench *b, char *buf)
{
	struct wrc_dis_ctx ctx = { &b->prog, &b->geom, &b->bind };
	struct wrc_text out;

	wrc_text_init(&out, buf, MAX_FILE);
	for (uint32_t k = 0; k < b->geom.depth; k++)
		for (unsigned int i = 0; i < b->prog.nr_insn; i++)
			add_line(&out, b, &ctx, i, k);
	add_recv(&out, b, &ctx, 0);
	add_recv(&out, b, &ctx, b->geom.depth - 1);
	add_words(&out, b);
}

static void hex(struct bench *b, char *buf)
{
	struct wrc_text out;

	wrc_text_init(&out, buf, MAX_FILE);
	for (unsigned int i = 0; i < b->prog.nr_insn; i++) {
		const uint8_t *p = b->arena +
			wrc_insn_off(&b->prog, &b->geom, i, 1);

		for (int n = 0; n < b->prog.insn[i].nr_bb * 64; n++)
			wrc_text_add(&out, "%02x%s", p[n],
				     n % 64 == 63 ? "\n" :
				     n % 16 == 15 ? " " : "");
	}
}

static void compare(const char *name, bool strict, const char *ext,
		    const char *have)
{
	const char *dir = getenv("GOLDEN");
	char path[512], *want;
	FILE *f;
	size_t n;

	assert_non_null(dir);
	snprintf(path, sizeof(path), "%s/%s-%s.%s", dir, name,
		 strict ? "strict" : "relaxed", ext);
	if (getenv("ODRP_REGEN")) {
		f = fopen(path, "w");
		assert_non_null(f);
		fputs(have, f);
		assert_int_equal(fclose(f), 0);
		return;
	}
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s: %s", path, strerror(errno));
	want = calloc(1, MAX_FILE);
	assert_non_null(want);
	n = fread(want, 1, MAX_FILE - 1, f);
	fclose(f);
	if (strlen(have) != n || strcmp(have, want))
		fail_msg("%s is not what the program is now (ODRP_REGEN=1 renews it)",
			 path);
	free(want);
}

static const char *const prefixes[WRC_NR_VARIANTS] = {
	[WRC_V_OURS] = "",
	[WRC_V_EXCHANGE] = "exchange-",
	[WRC_V_KEYED] = "keyed-",
};

static void both(enum odrp_wire_chain chain, bool strict,
		 enum wrc_variant variant, enum wrc_order order, char *buf)
{
	struct wrc_opts opts = {
		.strict_index = strict, .variant = variant,
		.recycle = WRC_RECYCLE_NODE, .order = order,
	};
	struct bench b;
	char name[64];

	assert_int_equal(wrc_any_build(chain, &opts, &b.prog), 0);
	bench_image(&b, 4);
	snprintf(name, sizeof(name), "%snode-%s%s", order ? "fence-" : "",
		 prefixes[variant], b.prog.name);
	listing(&b, buf);
	compare(name, strict, "dis", buf);
	hex(&b, buf);
	compare(name, strict, "wqe", buf);
	bench_close(&b);
}

static bool is_store(enum odrp_wire_chain chain)
{
	return chain == ODRP_WIRE_MAPPED_STORE ||
	       chain == ODRP_WIRE_UNMAPPED_STORE;
}

/* Whatever the agent is told and knows of its NIC. */
static void armed(enum odrp_wire_chain chain, bool strict, char *buf)
{
	for (int order = WRC_ORDER_WAIT; order < WRC_NR_ORDERS; order++) {
		both(chain, strict, WRC_V_OURS, order, buf);
		if (is_store(chain))
			both(chain, strict, WRC_V_EXCHANGE, order, buf);
		if (wrc_variant_has(WRC_V_KEYED, chain))
			both(chain, strict, WRC_V_KEYED, order, buf);
	}
}

static void golden(void **state)
{
	char *buf = malloc(MAX_FILE);

	assert_non_null(buf);
	for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++)
		for (int strict = 0; strict < 2; strict++)
			armed(chain, strict, buf);
	free(buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
