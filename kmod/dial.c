// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Connections for I/O, many at a time: all of a group are asked for before the first
 * answer is waited for, so that a message that is lost costs the group the time of one.
 * Each is made for itself: one that fails is gone, and is dialled again by the next call,
 * alone.
 *
 * The memory node takes requests one by one, whatever order they come in; each has a
 * counter of its own (sign.c).
 */
#include "cm.h"
#include "odrp.h"

/* Of one group.  The memory node's NIC keeps many times as many of an address. */
#define AT_A_TIME	32

static unsigned int nr_conns(const struct odrp_sess *s)
{
	return s->nr_queues * ODRP_WIRE_NR_CHAINS;
}

static struct odrp_conn *nth_conn(struct odrp_sess *s, unsigned int n)
{
	return s->queues[n / ODRP_WIRE_NR_CHAINS].conn[n % ODRP_WIRE_NR_CHAINS];
}

/* Whether anybody wants these connections still. */
static bool is_wanted(struct odrp_sess *s)
{
	enum odrp_state state = odrp_sess_state(s);

	return state == ODRP_CONNECTING ||
	       (odrp_state_is_lost(state) && !READ_ONCE(s->reconnect.broken));
}

/*
 * Those of a group that are not up: as many as go.  When one cannot even be asked for,
 * those behind it are not tried: each may take the time of a step to find out the same.
 *
 * Return: 0, or the error of the last that failed.
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
 * odrp_dial() - make the connections for I/O that are not up, from the nth on
 * @ret_left: how many are not up; also when it fails
 *
 * Return: 0 when all are up; else the error of one that is not.
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
		/* A new session needs all of them at once. */
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
