// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An agent that starts: of order and translate, what counts, the operator's word or
 * what is known of the NIC; and what it warns of.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bed/agent.h"

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
	struct bed_options o;
	struct manager m;
	unsigned int order, translate, known;

	for (order = CONF_ORDER_AUTO; order <= CONF_ORDER_FENCE; order++)
	for (translate = CONF_TRANSLATE_AUTO; translate <= CONF_TRANSLATE_NIC;
	     translate++)
	for (known = 0; known < 2; known++) {
		bed_options(&o);
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
	}
}

/* No other store takes the place of one that does not fit. */
static void too_short(void **state)
{
	char why[CONF_WHY_MAX] = "";
	struct bed_options o;
	struct manager m;
	struct bed b;

	bed_options(&o);
	o.conf.translate = CONF_TRANSLATE_AUTO;
	bed_open(&b, &o, 0);
	b.nic->node->max_recv_len = 64;
	assert_int_equal(manager_init(&m, &b.opts.conf, b.nic, why), -EMSGSIZE);
	assert_string_equal(why, "chain mapped_store: expected receive entries of "
			    "at least 128 bytes, and this NIC has 64");
	bed_close(&b);
}

static void direct_refused(uint64_t pool, uint64_t max_pages, const char *words)
{
	char why[CONF_WHY_MAX] = "";
	struct bed_options o;
	struct manager m;
	struct conf conf;
	struct bed b;

	bed_options(&o);
	bed_open(&b, &o, 0);
	conf = b.opts.conf;
	conf.translate = CONF_TRANSLATE_DIRECT;
	conf.pool = pool;
	conf.max_pages = max_pages;
	assert_int_equal(manager_init(&m, &conf, b.nic, why), -EINVAL);
	assert_string_equal(why, words);
	bed_close(&b);
}

/* A compute node with slabs would never get a page. */
static void less_than_a_slab(void **state)
{
	direct_refused(16 << 20, 511, "max-pages=511: expected 0, or at least 512, the pages of "
		       "a direct slab");
	direct_refused(1 << 20, 0, "pool=1024K: expected at least 2048K, a direct slab");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_or_known),
		cmocka_unit_test(too_short),
		cmocka_unit_test(less_than_a_slab),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
