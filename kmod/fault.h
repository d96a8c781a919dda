/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fault injection for tests: the N-th call of a kind fails, as debugfs says (fault.c).
 * Only a module built by make ODRP_FAULTS=1 has it.  In any other module the functions
 * and macros here do nothing but the call that they wrap.
 */
#ifndef _ODRP_FAULT_H
#define _ODRP_FAULT_H

#include <linux/err.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct dentry;
struct odrp_conn;

enum odrp_fault {
	ODRP_FAULT_ALLOC,	/* an allocation finds no memory */
	ODRP_FAULT_STEP,	/* a step of the connection manager finds no memory */
	ODRP_FAULT_POST,	/* a work request for the send queue is refused */
	ODRP_FAULT_RECV,	/* posting receives is refused */
	ODRP_FAULT_STATUS,	/* a completion reports an error */
	ODRP_FAULT_LOST,	/* the connection is lost */
	ODRP_FAULT_MAP,		/* the page of a store cannot be mapped */
	ODRP_FAULT_HELD,	/* a connection id is not destroyed */
	ODRP_FAULT_BUSY,	/* an attempt to resume, or the making of spares, blocks */
	ODRP_FAULT_FIRMWARE,	/* a queue pair is not destroyed */
	ODRP_FAULT_HANDLER,	/* the handler of a connection id does not return */
	ODRP_FAULT_MUTE,	/* a completion that a task waits for does not come */
	ODRP_NR_FAULTS,
};

#ifdef ODRP_FAULTS
void odrp_fault_init(struct dentry *dir);
bool odrp_fault(enum odrp_fault kind);
void odrp_fault_plugged(struct odrp_conn *conn);
void odrp_fault_lost(struct odrp_conn *conn);
void odrp_fault_wait(enum odrp_fault kind);
void odrp_fault_polled(struct odrp_conn *conn, struct ib_wc *wc, int nr);
int odrp_post_send(struct ib_qp *qp, struct ib_send_wr *list,
		   const struct ib_send_wr **ret_bad);
#else
static inline void odrp_fault_init(struct dentry *dir) { }

static inline bool odrp_fault(enum odrp_fault kind)
{
	return false;
}

static inline void odrp_fault_plugged(struct odrp_conn *conn) { }
static inline void odrp_fault_lost(struct odrp_conn *conn) { }
static inline void odrp_fault_wait(enum odrp_fault kind) { }

static inline void odrp_fault_polled(struct odrp_conn *conn, struct ib_wc *wc,
				     int nr) { }

static inline int odrp_post_send(struct ib_qp *qp, struct ib_send_wr *list,
				 const struct ib_send_wr **ret_bad)
{
	return ib_post_send(qp, list, ret_bad);
}
#endif /* ODRP_FAULTS */

/*
 * The fault refuses all receives of the list or none: all users of a connection post the
 * same list, so it must not be cut.
 */
static inline int odrp_post_recv(struct ib_qp *qp, const struct ib_recv_wr *list)
{
	if (odrp_fault(ODRP_FAULT_RECV))
		return -ENOMEM;
	return ib_post_recv(qp, list, NULL);
}

/*
 * Wrap an allocation by the module (odrp_alloc*), or a call in which others allocate
 * (odrp_step).  The names tell what the call returns when there is no memory: NULL, an
 * error pointer, or -errno.
 */
#define odrp_alloc(what)	(odrp_fault(ODRP_FAULT_ALLOC) ? NULL : (what))
#define odrp_alloc_ptr(what)	(odrp_fault(ODRP_FAULT_ALLOC) ?		\
				 ERR_PTR(-ENOMEM) : (what))
#define odrp_alloc_int(what)	(odrp_fault(ODRP_FAULT_ALLOC) ?		\
				 -ENOMEM : (what))
#define odrp_step(what)		(odrp_fault(ODRP_FAULT_STEP) ?		\
				 -ENOMEM : (what))

#endif /* _ODRP_FAULT_H */
