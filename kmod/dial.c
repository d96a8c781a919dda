// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Making I/O connections, a group at a time.  The REQs of a group are all sent before the
 * first answer is waited for, so several lost messages cost a group one time-out.  The
 * connections of a group do not depend on each other: a connection that fails is dropped,
 * and the next call makes it again without the others.
 *
 * The memory node handles the REQs one by one and in any order; each REQ has its own
 * counter (sign.c).
 */
#include "cm.h"
#include "odrp.h"

/* Connections of a group.  The memory node's NIC queues far more REQs of one address. */
#define AT_A_TIME	32

static unsigned int nr_conns(const struct odrp_sess *s)
{
	return s->nr_queues * odrp_sess_chains(s);
}

static struct odrp_conn *nth_conn(struct odrp_sess *s, unsigned int n)
{
	unsigned int chains = odrp_sess_chains(s);

	return s->queues[n / chains].conn[n % chains];
}

/* Are these connections still needed? */
static bool is_wanted(struct odrp_sess *s)
{
	enum odrp_state state = odrp_sess_state(s);

	return state == ODRP_CONNECTING ||
	       (odrp_state_is_lost(state) && !READ_ONCE(s->reconnect.broken));
}

/*
 * Make as many of the connections of a group that are not up as possible.  If the REQ of a
 * connection cannot be sent, those after it are not tried, because each might take the time
 * limit of a step to fail in the same way.
 *
 * Return: 0, or the error of the connection that failed last.
 */
static int dial_group(struct odrp_sess *s, unsigned int first, unsigned int end)
{
	u32 begun = 0;		/* AT_A_TIME bits */
	unsigned long until;
	unsigned int i;
	int err, ret = 0;

	for (i = first; !ret && i < end; i++) {
		struct odrp_conn *conn = nth_conn(s, i);

		if (conn->established)
			continue;
		err = is_wanted(s) ? odrp_cm_begin(conn) : -ECONNRESET;
		if (err) {
			odrp_cm_drop(conn);
			ret = err;
		} else {
			begun |= 1u << (i - first);
		}
	}
	until = jiffies + msecs_to_jiffies(odrp_cm_step_ms(nth_conn(s, first)));
	for (i = first; i < end; i++) {
		if (!(begun & 1u << (i - first)))
			continue;
		err = odrp_cm_finish(nth_conn(s, i), until);
		if (err) {
			odrp_cm_drop(nth_conn(s, i));
			ret = err;
		}
	}
	return ret;
}

/*
 * odrp_dial() - make the I/O connections that are not up
 * @from: number of the first connection to make
 * @ret_left: gets the number of connections that are not up, also on an error
 *
 * Return: 0 when all are up; else the error of one connection, or -ECONNRESET if the
 * connections are not needed any more.
 */
int odrp_dial(struct odrp_sess *s, unsigned int from, unsigned int *ret_left)
{
	unsigned int i, n, nr = nr_conns(s);
	int err, ret = 0;

	for (i = from; i < nr; i += n) {
		n = min_t(unsigned int, nr - i, AT_A_TIME);
		err = dial_group(s, i, i + n);
		if (err)
			ret = err;
		/* A new session needs all connections: one that fails ends hot_add. */
		if (!is_wanted(s) || (err && odrp_sess_state(s) == ODRP_CONNECTING))
			break;
	}
	if (!ret && i < nr)
		ret = -ECONNRESET;
	*ret_left = 0;
	for (i = from; i < nr; i++)
		*ret_left += !nth_conn(s, i)->established;
	return ret;
}
