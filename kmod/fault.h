/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Faults made on purpose, for tests: of the calls of a kind the N-th fails, as
 * debugfs says (fault.c).  They are in a module that was built for that, by make
 * ODRP_FAULTS=1, and in no other: there all of this is what it stands for.
 */
#ifndef _ODRP_FAULT_H
#define _ODRP_FAULT_H

#include <linux/err.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct dentry;
struct odrp_conn;

enum odrp_fault {
	ODRP_FAULT_ALLOC,	/* what is made when connecting: no memory */
	ODRP_FAULT_STEP,	/* a step of the connection manager: the same */
	ODRP_FAULT_POST,	/* a work request to send is refused */
	ODRP_FAULT_RECV,	/* posting receives is refused */
	ODRP_FAULT_STATUS,	/* a completion says that it failed */
	ODRP_FAULT_LOST,	/* the connection is lost, here and now */
	ODRP_FAULT_MAP,		/* the page of a store cannot be mapped */
	ODRP_FAULT_HELD,	/* a connection id that is to go stays */
	ODRP_FAULT_BUSY,	/* resuming waits for others */
	ODRP_FAULT_MUTE,	/* what somebody waits for does not complete */
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

/* All of them or none: a list of receives is shared by those who post it. */
static inline int odrp_post_recv(struct ib_qp *qp, const struct ib_recv_wr *list)
{
	if (odrp_fault(ODRP_FAULT_RECV))
		return -ENOMEM;
	return ib_post_recv(qp, list, NULL);
}

/*
 * Making something that takes memory of ours, or a step that takes others', by what
 * is returned for want of it: NULL, a pointer that is an error, or an error.
 */
#define odrp_alloc(what)	(odrp_fault(ODRP_FAULT_ALLOC) ? NULL : (what))
#define odrp_alloc_ptr(what)	(odrp_fault(ODRP_FAULT_ALLOC) ?		\
				 ERR_PTR(-ENOMEM) : (what))
#define odrp_alloc_int(what)	(odrp_fault(ODRP_FAULT_ALLOC) ?		\
				 -ENOMEM : (what))
#define odrp_step(what)		(odrp_fault(ODRP_FAULT_STEP) ?		\
				 -ENOMEM : (what))

#endif /* _ODRP_FAULT_H */
