// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The verifier against wrong programs.  test-mutate.c corrupts the image of a
 * good program; here the program itself is another one (mutants.h), which the
 * linker and the encoder turn into an image that does what it says.  Each mutant is
 *
 *  - refused, by the linker or by a rule of the verifier;
 *  - the same: image, table, words and what a stop would find are those of the
 *    good one;
 *  - equivalent, for a reason that is listed here, and running it shows that;
 *  - or found: it runs on the software NIC, and ends otherwise.  Such a one is
 *    broken for who uses it.  It must not be for others, nor lose a page or
 *    have it twice, or the verifier had to refuse it.
 *
 * MUTANTS_PRINT=1 in the environment prints each that is accepted, MUTANTS_OF=NAME
 * is for one program.
 *
 * Pairs of such changes, and an instruction put in with another change, are judged by
 * the last rule alone: they must do no harm.
 *
 * Of all programs that the agent can arm.  By day a share of the mutants, by
 * night (ODRP_NIGHTLY=1) all.  --save FILE, by night: writes the table of
 * docs/results/verifier-mutants.md; by day the test looks whether that table is
 * about these mutants.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include "../../lib/nightly.h"
#include "bench.h"
#include "mutants.h"
#include "stage.h"

#define EVERY 79		/* by day one of so many */
/* By day a pair is one of so many first changes, and of so many second ones behind it. */
#define EVERY_FIRST (nightly() ? 7 : 97)
#define EVERY_SECOND (nightly() ? 211 : 997)
#define NR_PROGRAMS 24
#define MAX_NAME 64

/* ---- equivalent ----------------------------------------------------------------- */

struct equivalent {
	const char *program, *what, *reason;
	unsigned long nr;		/* mutants that it is the reason of */
};

#define WAITS_MORE	"it waits for more than it has to"
#define COUNTED		"one completion more, which all counts know"
#define UNHEARD		"nobody waits for this completion: for a later one, or a fence"
#define ORDERED	"something else is enabled, or READ, one work request earlier"
#define READY		"what it enables earlier needs nothing more"
#define STRICT		"it renews the indices, too"
#define TRASH		"what nobody reads goes to other bytes that nobody reads"
#define MORE_TRASH	"it READs more or less of its own registers, to where nobody reads"
#define TOUCHES		"it READs more or less to see whether there is something"
#define NO_DATA		"an answer without data needs neither address nor key"
#define A_PAGE_MORE	"its requests bring a page, which nobody reads"

static struct equivalent equivalents[] = {
	{ "*", "* with fence", WAITS_MORE },
	{ "*", "*wait twice", WAITS_MORE },
	{ "keyed invalidate, fences*", "*wait target 8 -> 9", WAITS_MORE },
	{ "*", "* with signaled", COUNTED },
	{ "*", "*read without signaled", UNHEARD },
	{ "*, fences*", "*masked_?? without signaled", UNHEARD },
	{ "keyed invalidate*", "*umr without signaled", UNHEARD },
	{ "keyed invalidate*", "*umr behind the next", ORDERED },
	{ "keyed invalidate*", "*read behind the next", ORDERED },
	{ "keyed invalidate*", "*send_en target *", READY },
	{ "*", "*send_en behind the next", ORDERED },
	{ "*store*", "*read behind the next", ORDERED },
	{ "*", "program strict 0 -> 1", STRICT },
	{ "*", "* trash off *", TRASH },
	{ "*", "* trash register *", TRASH },
	{ "*invalidate*", "*read sge3 len 5 -> *", MORE_TRASH },
	{ "*invalidate*", "*read segments 4 -> 3", MORE_TRASH },
	{ "*store*", "*write sge0 len 8 -> *", TOUCHES },
	{ "*store*", "*read sge0 len 8 -> *", TOUCHES },
	{ "*store*", "arg[45] space 1 -> 2", NO_DATA },
	{ "*invalidate*", "arg[45] space 1 -> 2", NO_DATA },
	{ "load*", "program page 0 -> 1", A_PAGE_MORE },
	{ "*invalidate*", "program page 0 -> 1", A_PAGE_MORE },
	{ NULL, NULL, NULL },
};

/* NULL: there is no reason. */
static struct equivalent *equivalent_of(const char *program, const char *what)
{
	struct equivalent *e;

	for (e = equivalents; e->program; e++) {
		if (fnmatch(e->program, program, 0) ||
		    fnmatch(e->what, what, 0))
			continue;
		return e;
	}
	return NULL;
}

/* ---- one program ------------------------------------------------------------------ */

enum verdict {
	UNLINKED,
	REFUSED,
	SAME,
	EQUIVALENT,
	FOUND,
	NOT_FOUND,		/* and nothing of all that */
	NR_VERDICTS,
};

static const char *const verdict_names[] = {
	[UNLINKED] = "not linked", [REFUSED] = "refused", [SAME] = "the same",
	[EQUIVALENT] = "equivalent", [FOUND] = "found by running", [NOT_FOUND] = "not found",
};

/**
 * struct program - one that the agent can arm, and what became of its mutants
 * @source:	as it is written, before wrc_link()
 * @st:		linked, in its image, and what it does
 * @arena, @room: image of a mutant
 * @table, @table_room: and its table
 * @linked:	mutants are of what the linker has made
 * @harmful:	that were accepted, and did harm to another one
 */
struct program {
	char name[MAX_NAME];
	enum odrp_wire_chain chain;
	struct wrc_opts opts;
	struct wrc_prog source;
	struct stage st;
	struct stage_end good[STAGE_WRAP][2];
	uint8_t *arena, *table;
	size_t room, table_room;
	bool linked;
	unsigned long made, nr[NR_VERDICTS], rule[WRC_NR_RULES], harmful;
};

static struct wrc_prog *caught;

int __real_wrc_link(struct wrc_prog *prog);
int __wrap_wrc_link(struct wrc_prog *prog);

/* What the builder hands to the linker: the first program. */
int __wrap_wrc_link(struct wrc_prog *prog)
{
	if (caught)
		*caught = *prog;
	caught = NULL;
	return __real_wrc_link(prog);
}

/* ---- the verifier ------------------------------------------------------------------ */

struct mutant {
	struct wrc_prog prog;
	struct wrc_geom geom;
	struct wrc_bind bind;
	uint8_t *table;
};

static void count_refusal(struct program *p, const char *why)
{
	for (int rule = 0; rule < WRC_NR_RULES; rule++) {
		const char *name = wrc_rule_name(rule);
		size_t len = strlen(name);

		if (strncmp(why, name, len) || why[len] != ':')
			continue;
		p->rule[rule]++;
		return;
	}
	fail_msg("refused without a reason: '%s'", why);
}

/* As the agent does it; 0: there is an image. */
static int link_mutant(struct program *p, struct mutant *m)
{
	int err = p->linked ? 0 : wrc_link(&m->prog);

	if (!err)
		err = wrc_geom_init(&m->prog, STAGE_DEPTH, &m->geom);
	if (err)
		return err;
	if (m->geom.arena_len > p->room) {
		p->room = m->geom.arena_len;
		p->arena = realloc(p->arena, p->room);
		assert_non_null(p->arena);
	}
	return wrc_image_write(&m->prog, &m->geom, &m->bind, p->arena);
}

/*
 * The table of a mutant takes a while, so first the rules that do not read it.
 */
static int check_mutant(struct program *p, struct mutant *m,
			char why[WRC_WHY_MAX])
{
	const unsigned int readers = 1u << WRC_RULE_INDEX |
		1u << WRC_RULE_BALANCE | 1u << WRC_RULE_ORDER |
		1u << WRC_RULE_ANSWER | 1u << WRC_RULE_RQ |
		1u << WRC_RULE_TABLE;
	int err = wrc_check_rules(&m->prog, &m->geom, &m->bind, p->arena,
				  WRC_ALL_RULES & ~readers, why);

	if (err)
		return err;
	if (m->prog.node) {
		if (m->geom.table_len > p->table_room) {
			p->table_room = m->geom.table_len;
			p->table = realloc(p->table, p->table_room);
			assert_non_null(p->table);
		}
		m->table = p->table;
		wrc_table_fill(&m->prog, &m->geom, m->bind.table_iova,
			       m->table);
		m->bind.table = m->table;
	}
	return wrc_image_check(&m->prog, &m->geom, &m->bind, p->arena, why);
}

/* ---- the same ---------------------------------------------------------------------- */

/* Would a stop find the same, wherever it is? */
static bool same_held(const struct program *p, const struct mutant *m)
{
	const struct stage_cnode *c = &p->st.c[0];
	__u32 all = c->geom.loop_bb * STAGE_DEPTH;
	struct wrc_held a, b;

	for (__u32 bb = 0; bb < all; bb++)
		for (__u32 i = 0; i < STAGE_DEPTH; i++) {
			/* These bytes differ from place to place. */
			const uint8_t *arena = (const uint8_t *)&p->st.clean[64];

			wrc_held_of(&c->prog, &c->geom, arena, bb, i, &a);
			wrc_held_of(&m->prog, &m->geom, arena, bb, i, &b);
			if (a.page != b.page || a.slot != b.slot ||
			    a.home != b.home || a.tt_addr != b.tt_addr)
				return false;
		}
	return true;
}

static bool is_same(const struct program *p, const struct mutant *m)
{
	const struct stage_cnode *c = &p->st.c[0];
	struct wrc_word_rule words[WRC_MAX_WORDS];
	int n = wrc_words(&m->prog, &m->geom, words);

	return !memcmp(&m->geom, &c->geom, sizeof(m->geom)) &&
	       n == c->nr_words && !memcmp(words, c->words, n * sizeof(*words)) &&
	       m->prog.node == c->prog.node &&
	       m->prog.client_cqes == c->prog.client_cqes &&
	       m->prog.tail_len == c->prog.tail_len &&
	       wrc_has_register(&m->prog) == wrc_has_register(&c->prog) &&
	       wrc_is_keyed(&m->prog) == wrc_is_keyed(&c->prog) &&
	       !memcmp(p->arena, stage_image(&p->st), m->geom.arena_len) &&
	       (!m->table || !memcmp(m->table, c->table, m->geom.table_len)) &&
	       same_held(p, m);
}

/* ---- running ------------------------------------------------------------------------ */

static void learn(struct program *p)
{
	for (int scene = STAGE_LAPS; scene < STAGE_WRAP; scene++)
		for (int fetch = 0; fetch < 2; fetch++) {
			struct stage_end *end = &p->good[scene][fetch];

			stage_run(&p->st, stage_image(&p->st), scene, fetch,
				  end);
			stage_expect_well(&p->st, scene, end);
		}
}

/* Does one run of it end otherwise?  Whatever it does to itself, not to others. */
static bool ends_otherwise(struct program *p, struct stage *st, int scene,
			   int fetch, const char *what)
{
	const struct stage_end *good = &p->good[scene][fetch];
	struct stage_end end;

	stage_run(st, stage_image(st), scene, fetch, &end);
	if (end.others != good->others) {
		print_error("%s: %s: accepted, and does harm to another one\n",
			    p->name, what);
		p->harmful++;
	}
	if (scene != STAGE_CUT && !stage_pages_are_well(st)) {
		print_error("%s: %s: accepted, and a page is not in one place\n",
			    p->name, what);
		p->harmful++;
	}
	return end.told != good->told || end.answered != good->answered;
}

static bool is_found(struct program *p, const struct mutant *m,
		     const char *what)
{
	struct stage *st = calloc(1, sizeof(*st));
	bool found = false;

	assert_non_null(st);
	stage_open_prog(st, p->chain, &p->opts, &m->prog);
	for (int scene = STAGE_LAPS; !found && scene < STAGE_WRAP; scene++)
		for (int fetch = 0; !found && fetch < 2; fetch++)
			found = ends_otherwise(p, st, scene, fetch, what);
	stage_close(st);
	free(st);
	return found;
}

/* It is another program, and the verifier accepts it. */
static enum verdict judge_accepted(struct program *p,
				   const struct mutant *m, const char *what)
{
	struct equivalent *e = equivalent_of(p->name, what);
	bool found = is_found(p, m, what);

	if (getenv("MUTANTS_PRINT"))
		printf("  %s: %s: %s\n", p->name, what, found ? "found" :
		       e ? e->reason : "not found");
	if (found)
		return FOUND;
	if (e) {
		e->nr++;
		return EQUIVALENT;
	}
	print_error("%s: %s: accepted, and nothing tells it from the good one\n",
		    p->name, what);
	return NOT_FOUND;
}

static void judge(void *arg, const struct wrc_prog *mutant, const char *what)
{
	struct program *p = arg;
	struct mutant m = { .prog = *mutant, .bind = p->st.c[0].bind };
	char why[WRC_WHY_MAX] = "";
	enum verdict v;

	if (link_mutant(p, &m)) {
		v = UNLINKED;
	} else if (check_mutant(p, &m, why)) {
		count_refusal(p, why);
		v = REFUSED;
	} else if (is_same(p, &m)) {
		v = SAME;
	} else {
		v = judge_accepted(p, &m, what);
	}
	p->nr[v]++;
}

/* ---- all programs ------------------------------------------------------------------- */

static void open_program(struct program *p, unsigned int number)
{
	static const struct {
		enum odrp_wire_chain chain;
		enum wrc_variant variant;
		const char *name;
	} programs[] = {
		{ ODRP_WIRE_LOAD, WRC_V_OURS, "load" },
		{ ODRP_WIRE_INVALIDATE, WRC_V_OURS, "invalidate" },
		{ ODRP_WIRE_MAPPED_STORE, WRC_V_EXCHANGE, "mapped store" },
		{ ODRP_WIRE_UNMAPPED_STORE, WRC_V_EXCHANGE, "unmapped store" },
		{ ODRP_WIRE_UNMAPPED_STORE, WRC_V_KEYED, "keyed store" },
		{ ODRP_WIRE_INVALIDATE, WRC_V_KEYED, "keyed invalidate" },
	};
	bool strict = number & 1, fences = number & 2;

	p->chain = programs[number / 4].chain;
	p->opts = (struct wrc_opts){
		.variant = programs[number / 4].variant,
		.strict_index = strict, .recycle = WRC_RECYCLE_NODE,
		.order = fences ? WRC_ORDER_FENCE : WRC_ORDER_WAIT,
	};
	snprintf(p->name, sizeof(p->name), "%s%s%s", programs[number / 4].name,
		 fences ? ", fences" : ", waits", strict ? ", strict" : "");
	caught = &p->source;
	stage_open(&p->st, p->chain, &p->opts);
}

static void close_program(struct program *p)
{
	stage_close(&p->st);
	free(p->arena);
	free(p->table);
	free(p);
}

static unsigned long count_all(const struct program *p)
{
	unsigned long n = 0;

	for (int v = 0; v < NR_VERDICTS; v++)
		n += p->nr[v];
	return n;
}

static void report(const struct program *p)
{
	printf("%s: %lu mutants, %lu tried:", p->name, p->made, count_all(p));
	for (int v = 0; v < NR_VERDICTS; v++)
		printf(" %s %lu%s", verdict_names[v], p->nr[v],
		       v + 1 < NR_VERDICTS ? "," : "\n ");
	for (int rule = 0; rule < WRC_NR_RULES; rule++)
		printf(" %s %lu", wrc_rule_name(rule), p->rule[rule]);
	printf("\n");
	fflush(stdout);
}

static void try_program(struct program *p, unsigned int number)
{
	struct mutants *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	*m = (struct mutants){
		.try = judge, .arg = p, .good = &p->source,
		.every = nightly() ? 1 : EVERY,
		.next = nightly() ? 0 : number % EVERY,
	};
	learn(p);
	mutants_of_source(m);
	p->linked = true;
	m->good = &p->st.c[0].prog;
	mutants_of_linked(m);
	p->made = m->made;
	free(m);
	report(p);
}

/* ---- pairs ------------------------------------------------------------------------- */

/**
 * struct pairs - the second change of each pair
 * @p:		the program
 * @seed:	which of the second changes
 * @tried, @ran: pairs, and those that the verifier accepted, which were run
 */
struct pairs {
	struct program *p;
	uint32_t seed;
	unsigned long tried, ran;
};

/* Whatever an accepted pair does to itself: is_found() looks for harm to others. */
static void pair_judge(void *arg, const struct wrc_prog *mutant, const char *what)
{
	struct pairs *pairs = arg;
	struct program *p = pairs->p;
	struct mutant m = { .prog = *mutant, .bind = p->st.c[0].bind };
	char why[WRC_WHY_MAX] = "";

	pairs->tried++;
	if (link_mutant(p, &m) || check_mutant(p, &m, why))
		return;
	pairs->ran++;
	is_found(p, &m, what);
}

static void pair_second(void *arg, const struct wrc_prog *mutant, const char *what)
{
	struct pairs *pairs = arg;
	struct mutants *m = calloc(1, sizeof(*m));

	(void)what;
	assert_non_null(m);
	*m = (struct mutants){
		.try = pair_judge, .arg = pairs, .good = mutant, .every = EVERY_SECOND,
		.next = bench_random(&pairs->seed) % EVERY_SECOND,
	};
	mutants_of_source(m);
	free(m);
}

static void pairs_try(struct program *p, unsigned int number)
{
	struct pairs pairs = { .p = p, .seed = number + 1 };
	struct mutants *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	*m = (struct mutants){
		.try = pair_second, .arg = &pairs, .good = &p->source,
		.every = EVERY_FIRST, .next = number % EVERY_FIRST,
	};
	mutants_of_source(m);
	mutants_of_insertions(m);
	free(m);
	printf("%s: %lu pairs tried, %lu accepted and run\n", p->name, pairs.tried,
	       pairs.ran);
}

static void every_pair(void **state)
{
	unsigned long harmful = 0;

	for (unsigned int n = 0; n < NR_PROGRAMS; n++) {
		struct program *p = calloc(1, sizeof(*p));

		assert_non_null(p);
		open_program(p, n);
		learn(p);
		pairs_try(p, n);
		harmful += p->harmful;
		close_program(p);
	}
	assert_int_equal(harmful, 0);
}

/* ---- the table ---------------------------------------------------------------------- */

static const char *table;		/* the document */
static bool save;

/* By night it is written; by day it is of as many mutants. */
static void look_at_table(FILE *f, const struct program *p)
{
	char line[256], want[128];

	if (save) {
		fprintf(f, "| %s | %lu |", p->name, p->made);
		for (int v = 0; v < NOT_FOUND; v++)
			fprintf(f, " %lu |", p->nr[v]);
		fprintf(f, "\n");
		return;
	}
	snprintf(want, sizeof(want), "| %s | %lu |", p->name, p->made);
	rewind(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, want, strlen(want)))
			return;
	fail_msg("%s: no line '%s': by night, with --save", table, want);
}

static void begin_table(FILE *f)
{
	fprintf(f, "# verifier-mutants\n\n*Model*. Of each program that an agent can arm, "
		"all programs that differ\nfrom it in one thing, and what became "
		"of them; `wrchain/README.md` says more.\n\n"
		"| | |\n|---|---|\n| command | `ODRP_NIGHTLY=1 build/tests/unit/"
		"wrchain/test-wrchain-mutate-prog --save "
		"docs/results/verifier-mutants.md` |\n\n"
		"| program | mutants |");
	for (int v = 0; v < NOT_FOUND; v++)
		fprintf(f, " %s |", verdict_names[v]);
	fprintf(f, "\n|---|---|");
	for (int v = 0; v < NOT_FOUND; v++)
		fprintf(f, "---|");
	fprintf(f, "\n");
}

/* Patterns may have the same reason. */
static void end_table(FILE *f)
{
	fprintf(f, "\n| why they are equivalent | of which programs | which | mutants "
		"|\n|---|---|---|---|\n");
	for (const struct equivalent *e = equivalents; e->program; e++)
		fprintf(f, "| %s | `%s` | `%s` | %lu |\n", e->reason, e->program,
			e->what, e->nr);
}

static void every_program(void **state)
{
	unsigned long not_found = 0;
	FILE *f = table ? fopen(table, save ? "w" : "r") : NULL;

	assert_true(!table || f);
	if (save)
		begin_table(f);
	for (unsigned int n = 0; n < NR_PROGRAMS; n++) {
		struct program *p = calloc(1, sizeof(*p));

		assert_non_null(p);
		open_program(p, n);
		if (!getenv("MUTANTS_OF") || !strcmp(getenv("MUTANTS_OF"), p->name))
			try_program(p, n);
		if (f && p->made)
			look_at_table(f, p);
		not_found += p->nr[NOT_FOUND] + p->harmful;
		close_program(p);
	}
	if (save)
		end_table(f);
	if (f)
		fclose(f);
	assert_int_equal(not_found, 0);
}

/* A reason that no mutant needs is none. */
static void every_reason(void **state)
{
	bool all = nightly() && !getenv("MUTANTS_OF");

	for (struct equivalent *e = equivalents; all && e->program; e++)
		if (!e->nr)
			fail_msg("no mutant is '%s'", e->what);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_program),
		cmocka_unit_test(every_reason),
		cmocka_unit_test(every_pair),
	};

	save = argc > 2 && !strcmp(argv[1], "--save") && nightly();
	table = argc > 1 ? argv[argc - 1] : NULL;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
