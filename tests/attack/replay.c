// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Somebody on the same network has recorded all that an honest node has sent to its
 * memory node, from the first initiation on, and sends it again: while that session lives,
 * while it is resumed, and when it is over.
 */
#include <errno.h>
#include <stdlib.h>
#include "attack.h"
#include "snic/net/frame.h"

#define EACH		3000
#define MOST_FRAMES	20000

struct record {
	size_t len;
	uint8_t *bytes;
};

static struct record tape[MOST_FRAMES];
static unsigned int nr_taped;
static const struct snic_port_ops *real_ops;
static struct snic_port_ops taping_ops;

static int taping_send(struct snic_port *port, const struct iovec *iov, int n)
{
	struct record *r = &tape[nr_taped];
	size_t len = snic_iov_len(iov, n);
	int i;

	if (nr_taped < MOST_FRAMES && !attack_one.say) {
		r->bytes = malloc(len);
		assert_non_null(r->bytes);
		for (i = 0; i < n; i++) {
			memcpy(r->bytes + r->len, iov[i].iov_base, iov[i].iov_len);
			r->len += iov[i].iov_len;
		}
		nr_taped++;
	}
	return real_ops->send(port, iov, n);
}

/* From before its first word: the bed of attack.h is opened by hand. */
static void tape_begin(struct snic_port *port)
{
	real_ops = port->ops;
	taping_ops = *real_ops;
	taping_ops.send = taping_send;
	port->ops = &taping_ops;
}

static void tape_free(void)
{
	while (nr_taped)
		free(tape[--nr_taped].bytes);
	memset(tape, 0, sizeof(tape));
}

static void again(struct speaker *s)
{
	const struct record *r = &tape[s->nr % nr_taped];

	attack_frame(s, r->bytes, r->len);
}

/* A session with all that belongs to one, from the initiation to the goodbye. */
static void open_taped(void)
{
	attack_open(CONF_AUTH_REQUIRED);
	load_fini(&attack_load);
	cnode_close(attack_bed.nodes[0].cnode);
	attack_bed.nodes[0].cnode = NULL;
	bed_pass(&attack_bed, 1500);
	bed_settle(&attack_bed);
	assert_int_equal(attack_bed.m.nr_sess, 0);
	tape_begin(attack_bed.nodes[0].ports[0]);
	bed_connect(&attack_bed, 0, 200, 2, 7);
	load_init(&attack_load, &attack_bed, 0, 200, 1);
	load_run(&attack_load, 500);
	attack_one.behind_node = true;
	assert_in_range(nr_taped, 500, MOST_FRAMES - 1);
}

static void close_taped(void)
{
	attack_bed.nodes[0].ports[0]->ops = real_ops;
	attack_close();
	tape_free();
}

/* What has been taken is a duplicate, what is old is dropped: nothing happens twice. */
static void test_while_it_lives(void **state)
{
	uint64_t quiet, ns;

	open_taped();
	quiet = attack_work(2000);
	attack_begin(again, EACH);
	ns = attack_work(2000);
	print_message("%lu frames again: %lu us for 2000 requests, without %lu us\n",
		      (unsigned long)attack_one.speaker.frames, (unsigned long)ns / 1000,
		      (unsigned long)quiet / 1000);
	assert_in_range(attack_one.speaker.frames, nr_taped / 4, UINT64_MAX);
	assert_in_range(ns, 1, 2 * quiet);
	load_verify(&attack_load);
	bed_pass(&attack_bed, 300);
	attack_end();
	bed_pass(&attack_bed, 1500);
	bed_settle(&attack_bed);
	assert_int_equal(attack_bed.m.nr_sess, 1);
	assert_int_equal(attack_bed.m.sess_total, 2);
	assert_int_equal(attack_bed.m.queues_broken, 0);
	bed_check(&attack_bed, attack_load.mapped);
	close_taped();
}

static void test_while_it_resumes(void **state)
{
	struct cnode_refusal no;
	unsigned int tries = 0;

	open_taped();
	attack_begin(again, EACH);
	bed_pass(&attack_bed, 50);
	cnode_lose(attack_bed.nodes[0].cnode, true);
	while (cnode_resume(attack_bed.nodes[0].cnode, &no))
		assert_in_range(++tries, 1, 3);
	load_verify(&attack_load);
	attack_work(500);
	attack_end();
	bed_pass(&attack_bed, 1500);
	bed_settle(&attack_bed);
	assert_int_equal(attack_bed.m.nr_sess, 1);
	bed_check(&attack_bed, attack_load.mapped);
	close_taped();
}

/* All of it, and more than once: nobody gets a session, or a page. */
static void test_when_it_is_over(void **state)
{
	uint64_t passes;

	open_taped();
	cnode_close(attack_bed.nodes[0].cnode);
	attack_bed.nodes[0].cnode = NULL;
	/* The NIC has forgotten its connections, and the agent still has its pass. */
	bed_pass(&attack_bed, 6000);
	bed_settle(&attack_bed);
	assert_non_null(attack_bed.m.idents.passes);
	passes = attack_bed.m.responder.done;
	attack_begin(again, EACH);
	bed_pass(&attack_bed, 100);
	assert_in_range(attack_one.speaker.frames, 2 * nr_taped, UINT64_MAX);
	assert_int_equal(attack_bed.m.nr_sess, 0);
	assert_int_equal(attack_bed.m.sess_total, 2);
	assert_int_equal(attack_bed.m.responder.done, passes);
	attack_end();
	bed_pass(&attack_bed, 6000);
	bed_settle(&attack_bed);
	assert_int_equal(attack_bed.m.responder.nr_taken, 0);
	bed_check(&attack_bed, 0);
	close_taped();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_while_it_lives),
		cmocka_unit_test(test_while_it_resumes),
		cmocka_unit_test(test_when_it_is_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
