// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An agent that starts: of order and translate, what counts, the operator's word or
 * what is known of the NIC; and what it warns of.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bed.h"

static char text[4096];

/* The agent's log while it starts and ends, in text[]. */
static void start(const struct bed_options *o, struct manager *ret_m)
{
	FILE *f = tmpfile();
	int old = dup(STDERR_FILENO);
	struct bed b;
	size_t n;

	assert_non_null(f);
	assert_int_equal(setenv("MNODE_LOG", "1", 1), 0);
	fflush(stderr);
	assert_true(dup2(fileno(f), STDERR_FILENO) >= 0);
	bed_open(&b, o, 0);
	*ret_m = b.m;
	fflush(stderr);
	assert_true(dup2(old, STDERR_FILENO) >= 0);
	close(old);
	unsetenv("MNODE_LOG");
	bed_close(&b);
	rewind(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	fclose(f);
}

/* A NIC of which nothing is known, and one that is known to keep all. */
static void unknown_or_known(void **state)
{
	static const char warning[] = "order=fence: documented for no card";
	static const char beyond[] = "order=fence: odrp-hwcheck says nothing";
	struct bed_options o;
	struct manager m;
	unsigned int order, translate, known;

	for (order = CONF_ORDER_AUTO; order <= CONF_ORDER_FENCE; order++)
	for (translate = CONF_TRANSLATE_AUTO; translate <= CONF_TRANSLATE_NIC;
	     translate++)
	for (known = 0; known < 2; known++) {
		bed_options(&o);
		o.conf.exchange = o.conf.node_recycles = true;
		o.conf.order = order;
		o.conf.translate = translate;
		o.unknown_nic = !known;
		start(&o, &m);
		assert_true(m.waits == (order == CONF_ORDER_WAIT ||
					(order == CONF_ORDER_AUTO && !known)));
		assert_true(m.nic_translates ==
			    (translate == CONF_TRANSLATE_NIC ||
			     (translate == CONF_TRANSLATE_AUTO && known)));
		assert_true(!!strstr(text, warning) ==
			    (order == CONF_ORDER_FENCE && !known));
		assert_null(strstr(text, beyond));
	}
}

/* Fences where none were compared, known card or not: not without a word. */
static void fences_beyond(void **state)
{
	static const char beyond[] = "order=fence: odrp-hwcheck says nothing";
	struct bed_options o;
	struct manager m;
	unsigned int i, order;

	for (order = CONF_ORDER_AUTO; order <= CONF_ORDER_FENCE; order++)
	for (i = 0; i < 8; i++) {
		bed_options(&o);
		o.conf.order = order;
		o.conf.exchange = i & 1;
		o.conf.node_recycles = i & 2;
		o.unknown_nic = i & 4;
		start(&o, &m);
		assert_true(!!strstr(text, beyond) ==
			    (order == CONF_ORDER_FENCE && (i & 3) != 3));
	}
}

/* Copies and clients that count know nothing of keys, and with fences no card was
 * asked for them: left to us, chains that WAIT. */
static void without_keys(void **state)
{
	struct bed_options o;
	struct manager m;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		bed_options(&o);
		o.conf.order = CONF_ORDER_AUTO;
		o.conf.translate = CONF_TRANSLATE_AUTO;
		o.conf.exchange = i & 1;
		o.conf.node_recycles = i & 2;
		start(&o, &m);
		assert_true(m.nic_translates == (i == 3));
		assert_true(m.waits == (i != 3));
	}
}

/* Receive entries that are too short for the programs with keys. */
static void too_short(void **state)
{
	struct bed_options o;
	struct manager m;

	bed_options(&o);
	o.conf.exchange = o.conf.node_recycles = true;
	o.conf.translate = CONF_TRANSLATE_AUTO;
	o.max_recv_len = 64;
	start(&o, &m);
	assert_false(m.nic_translates);
	assert_non_null(strstr(text, "translate=nic: "));
	assert_non_null(strstr(text, "; chains translate"));
}

static void insecure_is_said(void **state)
{
	static const char copy[] = "store=copy: INSECURE";
	static const char client[] = "recycle=client: INSECURE";
	struct bed_options o;
	struct manager m;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		bed_options(&o);
		o.conf.exchange = i & 1;
		o.conf.node_recycles = i & 2;
		start(&o, &m);
		assert_true(!strstr(text, copy) == !!(i & 1));
		assert_true(!strstr(text, client) == !!(i & 2));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_or_known),
		cmocka_unit_test(fences_beyond),
		cmocka_unit_test(without_keys),
		cmocka_unit_test(too_short),
		cmocka_unit_test(insecure_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
