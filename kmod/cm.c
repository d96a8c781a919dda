// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDMA CM: making a connection, step by step, in the thread that adds the device or
 * resumes the session, and handling the end of the connection.  This file fills in the
 * hello, and has every field of the accept checked (accept.c) before it is used.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include "accept.h"
#include "cm.h"
#include "msg.h"
#include "odrp.h"

#define CM_RETRIES	7	/* 3 bits on the wire; as an RNR count 7 means no limit */

/*
 * If a neighbour answers before the RDMA core has queued the request for its address,
 * the core notices the answer only when the request times out.  So the time-out is short,
 * and the request is repeated.
 */
#define ADDR_TRY_MS	100

/*
 * The RDMA core reports that time-out from a work item that is still running, and a new
 * request with the same id cancels that work item.  Workqueues of older kernels, 5.10
 * among them, take the cancelling for a wait of a memory-reclaiming worker for a worker
 * that may lack memory, and warn (check_flush_dependency()).  So the work item gets this
 * time to end; there is no way to wait for its end.
 */
#define ADDR_REST_MS	20

static const char * const status_names[] = {
	[ODRP_WIRE_OK]		= "ok",
	[ODRP_WIRE_E_MALFORMED]	= "malformed hello",
	[ODRP_WIRE_E_VERSION]	= "other protocol version",
	[ODRP_WIRE_E_SESSION]	= "no such session, or wrong token",
	[ODRP_WIRE_E_RANGE]	= "chain, queue, depth or size out of range",
	[ODRP_WIRE_E_BUSY]	= "queue is connected already, or too many ask at a time",
	[ODRP_WIRE_E_NOMEM]	= "no memory, or no pages to lease",
	[ODRP_WIRE_E_LIMIT]	= "too many sessions, or connections or pages of one name",
	[ODRP_WIRE_E_INTERNAL]	= "internal error",
	[ODRP_WIRE_E_AUTH]	= "not proved who asks: hot_add needs the key= that it knows us by",
	[ODRP_WIRE_E_NO_SWAP]	= "its NIC arms no chains: it serves spaces, and no swap",
};

static const int status_errno[] = {
	[ODRP_WIRE_OK]		= -EPROTO,
	[ODRP_WIRE_E_MALFORMED]	= -EPROTO,
	[ODRP_WIRE_E_VERSION]	= -EPROTONOSUPPORT,
	[ODRP_WIRE_E_SESSION]	= -EACCES,
	[ODRP_WIRE_E_RANGE]	= -ERANGE,
	[ODRP_WIRE_E_BUSY]	= -EBUSY,
	[ODRP_WIRE_E_NOMEM]	= -ENOSPC,
	[ODRP_WIRE_E_LIMIT]	= -EUSERS,
	[ODRP_WIRE_E_INTERNAL]	= -EREMOTEIO,
	[ODRP_WIRE_E_AUTH]	= -ENOKEY,
	[ODRP_WIRE_E_NO_SWAP]	= -EOPNOTSUPP,
};

/* Limit of a step while reconnecting, so that a lost packet costs no more than this. */
#define RECONNECT_STEP_MS	1000

/* Log the error of a step.  Return: @err. */
static int failed(struct odrp_conn *conn, const char *step, int err)
{
	conn_err(conn, "%s: error %d\n", step, err);
	return err;
}

/*
 * Does the REJ of a handshake's connection ask for a second REQ with a cookie?  If so, keep
 * the cookie for that REQ.
 */
static bool is_cookie(struct odrp_conn *conn, const void *data, u8 len)
{
	const struct odrp_auth_cookie *c = data;

	if (!conn->msgs || !data || len < sizeof(*c) ||
	    be32_to_cpu(c->magic) != ODRP_AUTH_MAGIC ||
	    be16_to_cpu(c->version) != ODRP_AUTH_VERSION)
		return false;
	memcpy(conn->sess->auth.initiation.cookie, c->cookie, sizeof(c->cookie));
	return true;
}

/*
 * The error for a REJ.  Anybody on the network can forge a REJ, and some errors end a
 * session for good.  So on a connection with MACs, the status counts only if the REJ has a
 * right MAC.  On other connections the status does not count while reconnecting.  If the
 * status does not count, the error is -ECONNREFUSED, which ends no session.
 */
static int refusal(const struct odrp_conn *conn,
		   const struct odrp_wire_reject *rej, u8 len)
{
	u16 status = be16_to_cpu(rej->status);

	if (odrp_sign_on(conn))
		return odrp_sign_check(conn, ODRP_AUTH_REJ, 0, rej, sizeof(*rej),
				       len) ? -ECONNREFUSED : status_errno[status];
	return conn->sess->reconnect.end ? -ECONNREFUSED : status_errno[status];
}

static int rejected(struct odrp_conn *conn, struct rdma_cm_event *ev)
{
	const struct odrp_wire_reject *rej;
	u16 status, version;
	u8 len = 0;

	rej = rdma_consumer_reject_data(conn->id, ev, &len);
	if (is_cookie(conn, rej, len))
		return -EAGAIN;
	if (!rej || len < sizeof(*rej) ||
	    be32_to_cpu(rej->magic) != ODRP_WIRE_MAGIC) {
		conn_err(conn, "connection refused: %s\n",
			 rdma_reject_msg(conn->id, ev->status));
		return -ECONNREFUSED;
	}
	status = be16_to_cpu(rej->status);
	version = be16_to_cpu(rej->version);
	if (status >= ARRAY_SIZE(status_names)) {
		conn_err(conn, "memory node refuses: status %u\n", status);
		return -ECONNREFUSED;
	}
	if (status == ODRP_WIRE_E_VERSION && version != ODRP_WIRE_VERSION)
		conn_err(conn, "memory node speaks version %u, this module %u\n",
			 version, ODRP_WIRE_VERSION);
	else
		conn_err(conn, "memory node refuses: %s (limit %llu)\n",
			 status_names[status], be64_to_cpu(rej->detail));
	return refusal(conn, rej, len);
}

static void step_done(struct odrp_conn *conn, int status)
{
	conn->cm_status = status;
	complete(&conn->cm_done);
}

static void connected(struct odrp_conn *conn, const struct rdma_conn_param *p)
{
	size_t len = min_t(size_t, p->private_data_len,
			   sizeof(conn->accept.raw));

	memset(conn->accept.raw, 0, sizeof(conn->accept.raw));
	if (p->private_data)
		memcpy(conn->accept.raw, p->private_data, len);
	else
		len = 0;
	conn->accept_len = len;
	conn->peer_qpn = p->qp_num;
	conn->accept_reads = p->initiator_depth;
	conn->established = true;
	step_done(conn, 0);
}

/*
 * Move the queue pair to a state, with the attributes that the connection manager has for
 * the state.  The connection has an id, and its queue pair stays during the call.
 */
static int move_qp(struct odrp_conn *conn, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int err, mask;

	err = rdma_init_qp_attr(conn->id, &attr, &mask);
	if (err)
		return err;
	/* During the handshake the peer may not access any memory. */
	if (conn->msgs)
		attr.qp_access_flags = 0;
	return odrp_step(ib_modify_qp(conn->qp, &attr, mask));
}

/*
 * Move the queue pair of a connection that has been answered to RTS.  INIT is repeated,
 * because only the answer decides which access the peer gets.
 */
static int move_up(struct odrp_conn *conn)
{
	static const enum ib_qp_state way[] = {
		IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS
	};
	unsigned int i;
	int err = 0;

	mutex_lock(&conn->plug_lock);
	if (!conn->qp)		/* the answer came after the time-out */
		err = -ETIMEDOUT;
	for (i = 0; !err && i < ARRAY_SIZE(way); i++)
		err = move_qp(conn, way[i]);
	mutex_unlock(&conn->plug_lock);
	return err;
}

/* Handle a REP.  A REP that is not accepted here is rejected when its id is destroyed. */
static void answered(struct odrp_conn *conn, const struct rdma_conn_param *p)
{
	int err;

	err = move_up(conn);
	if (!err)
		err = odrp_step(rdma_accept(conn->id, NULL));
	if (err)
		step_done(conn, failed(conn, "reading the answer", err));
	else
		connected(conn, p);
}

static void lost(struct odrp_conn *conn, const char *what)
{
	if (conn->established && conn->msgs)
		odrp_msgs_lost(conn);
	else if (conn->established)
		odrp_sess_fail(conn->sess, "%s", what);
	else if (READ_ONCE(conn->qp))
		step_done(conn, failed(conn, what, -ECONNRESET));
	else	/* the connection was given up; the peer has disconnected first */
		step_done(conn, -ECONNRESET);
}

/*
 * An established connection ignores this event.  Since Linux 6.0 the RDMA CM sends the
 * event to each connection when the kernel looks up the peer's link address or the address
 * changes, also if the connection still works.  If the peer really is unreachable, requests
 * and beats time out.
 */
static void conn_unreachable(struct odrp_conn *conn, const struct rdma_cm_event *ev)
{
	if (conn->established)
		return;
	conn_err(conn, "%s (%d)\n", rdma_event_msg(ev->event), ev->status);
	step_done(conn, ev->status < 0 ? ev->status : -EHOSTUNREACH);
}

/* The RDMA CM calls this for one event of an id at a time.  Never destroys the id. */
static int handle(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct odrp_conn *conn = id->context;

	if (!conn)	/* odrp_cm_disconnect() has taken the id */
		return 0;
	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		step_done(conn, 0);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		answered(conn, &ev->param.conn);
		break;
	case RDMA_CM_EVENT_REJECTED:
		step_done(conn, rejected(conn, ev));
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		step_done(conn, ev->status < 0 ? ev->status : -EHOSTUNREACH);
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		conn_unreachable(conn, ev);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		/* card.c is called as well, and waits until the session has left the device. */
		odrp_sess_die(conn->sess, "%s", rdma_event_msg(ev->event));
		step_done(conn, -ENODEV);
		if (conn->msgs)
			odrp_msgs_lost(conn);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		lost(conn, rdma_event_msg(ev->event));
		break;
	default:
		break;
	}
	return 0;
}

/* odrp_cm_step_ms() - time limit of a step that begins now, in ms */
unsigned long odrp_cm_step_ms(const struct odrp_conn *conn)
{
	unsigned long end = conn->sess->reconnect.end;

	if (!end)
		return READ_ONCE(odrp_connect_ms);
	if (!time_before(jiffies, end))
		return 0;
	return min_t(unsigned long, jiffies_to_msecs(end - jiffies),
		     RECONNECT_STEP_MS);
}

static int wait_ms(struct odrp_conn *conn, const char *what, unsigned long ms)
{
	long left;

	left = wait_for_completion_killable_timeout(&conn->cm_done,
						    msecs_to_jiffies(ms));
	if (left < 0)
		return failed(conn, what, -EINTR);
	if (!left) {
		conn_err(conn, "%s: no answer within %lu ms\n", what, ms);
		return -ETIMEDOUT;
	}
	return conn->cm_status;
}

static int wait_step(struct odrp_conn *conn, const char *what)
{
	return wait_ms(conn, what, odrp_cm_step_ms(conn));
}

static int resolve_addr(struct odrp_conn *conn)
{
	struct odrp_addr *a = &conn->sess->addr;
	struct sockaddr *src = a->src.sin_family ? (void *)&a->src : NULL;
	unsigned long end = jiffies + msecs_to_jiffies(odrp_cm_step_ms(conn));
	int err;

	for (;;) {
		reinit_completion(&conn->cm_done);
		err = odrp_step(rdma_resolve_addr(conn->id, src,
						  (struct sockaddr *)&a->dst,
						  ADDR_TRY_MS));
		if (err) {
			conn_err(conn, "no RDMA device has a route to this address: error %d\n",
				 err);
			return err;
		}
		err = wait_step(conn, "resolving the address");
		if (err != -ETIMEDOUT || !time_before(jiffies, end))
			break;
		msleep(ADDR_REST_MS);
	}
	if (err)
		conn_err(conn, "the address does not resolve: error %d\n", err);
	return err;
}

static int resolve(struct odrp_conn *conn)
{
	int err;

	err = resolve_addr(conn);
	if (err)
		return err;
	reinit_completion(&conn->cm_done);
	err = odrp_step(rdma_resolve_route(conn->id, odrp_cm_step_ms(conn)));
	if (err)
		return failed(conn, "resolving the route", err);
	return wait_step(conn, "resolving the route");
}

/* The first connection sets the RDMA device of the session; all others must use the same. */
static int check_device(struct odrp_conn *conn)
{
	struct ib_device *ibdev = conn->id->device;
	struct odrp_sess *s = conn->sess;
	int err;

	if (s->ibdev && s->ibdev != ibdev) {
		conn_err(conn, "the route uses %s now, not %s\n",
			 dev_name(&ibdev->dev), dev_name(&s->ibdev->dev));
		return -EXDEV;
	}
	if (s->ibdev)
		return 0;
	if (!(ibdev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) ||
	    !ibdev->attrs.max_fast_reg_page_list_len ||
	    ibdev->attrs.max_send_sge < ODRP_MAX_SGE) {
		conn_err(conn, "%s lacks fast registration or has less than %d gather entries\n",
			 dev_name(&ibdev->dev), ODRP_MAX_SGE);
		return -EOPNOTSUPP;
	}
	err = odrp_card_take(s, ibdev);
	if (err)
		return failed(conn, "using an RDMA device that is being removed", err);
	s->pd = odrp_alloc_ptr(ib_alloc_pd(ibdev, 0));
	if (IS_ERR(s->pd)) {
		err = PTR_ERR(s->pd);
		s->pd = NULL;
		odrp_card_put(s);
		return failed(conn, "making a protection domain", err);
	}
	return 0;
}

static void fill_hello(const struct odrp_conn *conn, struct odrp_wire_hello *h)
{
	const struct odrp_sess *s = conn->sess;

	memset(h, 0, sizeof(*h));
	h->magic = cpu_to_be32(ODRP_WIRE_MAGIC);
	h->version = cpu_to_be16(ODRP_WIRE_VERSION);
	h->depth = cpu_to_be16(s->depth);
	h->page_shift = ODRP_WIRE_PAGE_SHIFT;
	h->features = cpu_to_be32(s->features);
	/* The first admin connection of a session sends 0 in both. */
	h->session = cpu_to_be64(s->id);
	h->token = cpu_to_be64(s->token);
	if (conn->q) {
		h->role = ODRP_WIRE_IO;
		h->chain = conn->chain;
		h->queue = cpu_to_be16(conn->q->idx);
	} else {
		h->role = ODRP_WIRE_ADMIN;
		h->queue = cpu_to_be16(s->nr_queues);
		h->nr_slots = cpu_to_be64(s->dev->slots.nr);
	}
}

/* Fill in the REQ of a session with a key.  The handle stands for session and token. */
static void fill_req(struct odrp_conn *conn, struct odrp_auth_req *r)
{
	const struct odrp_sess *s = conn->sess;

	memset(r, 0, sizeof(*r));
	r->magic = cpu_to_be32(ODRP_AUTH_MAGIC);
	r->version = cpu_to_be16(ODRP_AUTH_VERSION);
	r->depth = cpu_to_be16(s->depth);
	r->features = cpu_to_be32(s->features);
	if (conn->q) {
		r->role = ODRP_WIRE_IO;
		r->chain = conn->chain;
		r->queue = cpu_to_be16(conn->q->idx);
	} else {
		r->role = ODRP_WIRE_ADMIN;
		r->chain = ODRP_WIRE_PAGE_SHIFT;
		r->queue = cpu_to_be16(s->nr_queues);
		r->nr_slots = cpu_to_be64(s->dev->slots.nr);
	}
	odrp_sign_req(conn, r);
}

/* Private data of a REQ. */
union req_data {
	struct odrp_wire_hello	hello;
	struct odrp_auth_req	req;
	struct odrp_auth_initiation	initiation;
};

static void fill_data(struct odrp_conn *conn, union req_data *d)
{
	if (conn->msgs)
		d->initiation = conn->sess->auth.initiation;
	else if (odrp_sign_on(conn))
		fill_req(conn, &d->req);
	else
		fill_hello(conn, &d->hello);
}

/*
 * How many outstanding READs to ask for.  The CM sets the limit of the queue pair to the
 * number in the reply; READs that are posted beyond the limit wait in the send queue.
 */
static u8 max_reads(const struct odrp_conn *conn)
{
	if (conn->msgs || (conn->q && (!conn->keyed ||
					conn->chain != ODRP_WIRE_LOAD)))
		return 1;
	return clamp(conn->sess->ibdev->attrs.max_qp_init_rd_atom, 1,
		     ODRP_MAX_READS);
}

/* Send the REQ.  The answer completes cm_done. */
static int request(struct odrp_conn *conn)
{
	union req_data data;
	struct rdma_conn_param param = {
		.private_data		= &data,
		.private_data_len	= sizeof(data),
		.responder_resources	= 1,
		.initiator_depth	= max_reads(conn),
		.retry_count		= CM_RETRIES,
		.rnr_retry_count	= CM_RETRIES,
		.qp_num			= conn->qp->qp_num,
	};
	int err;

	BUILD_BUG_ON(sizeof(data) > ODRP_WIRE_REQ_PRIV_MAX);
	fill_data(conn, &data);
	reinit_completion(&conn->cm_done);
	err = odrp_step(rdma_connect(conn->id, &param));
	return err ? failed(conn, "connecting", err) : 0;
}

static int refuse_accept(struct odrp_conn *conn, const struct odrp_bad *bad)
{
	conn_err(conn, "accept: %s is %llu, expected %llu\n", bad->what, bad->is,
		 bad->expected);
	/* A forged accept must not end a session for good: see refusal(). */
	return odrp_sign_on(conn) || !conn->sess->reconnect.end ? -EPROTO :
								  -EBADMSG;
}

/* With a key, check the MAC of an accept before any of its fields is used. */
static int check_signed(struct odrp_conn *conn, size_t len)
{
	int err = 0;

	if (odrp_sign_on(conn))
		err = odrp_sign_check(conn, ODRP_AUTH_REP, conn->peer_qpn,
				      &conn->accept, len, conn->accept_len);
	if (err)
		conn_err(conn, "the accept is not signed by who has the key\n");
	return err;
}

/* Check the admin accept, and copy its fields to the session. */
static int take_admin(struct odrp_conn *conn)
{
	const struct odrp_wire_admin_accept *a = &conn->accept.admin;
	struct odrp_sess *s = conn->sess;
	const struct odrp_admin_terms terms = {
		.queues		= s->nr_queues,
		.depth		= s->depth,
		.nr_slots	= s->dev->slots.nr,
		.session	= s->id,
		.features	= s->features,
	};
	struct odrp_bad bad;
	int err = check_signed(conn, sizeof(*a));

	if (err)
		return err;
	if (odrp_accept_admin(a, conn->accept_len, &terms, &bad))
		return refuse_accept(conn, &bad);
	s->nr_queues = be16_to_cpu(a->max_queues);
	s->depth = be16_to_cpu(a->depth);
	s->id = be64_to_cpu(a->session);
	s->token = be64_to_cpu(a->token);
	s->beat.raddr = be64_to_cpu(a->beat_raddr);
	s->beat.rkey = be32_to_cpu(a->beat_rkey);
	s->sync.rkey = be32_to_cpu(a->tt_rkey);
	s->features = be32_to_cpu(a->features);
	s->keys.rkey = be32_to_cpu(a->keys_rkey);
	s->beat.period_ms = be32_to_cpu(a->beat_ms);
	s->beat.dead_ms = max(be32_to_cpu(a->dead_ms),
			      be32_to_cpu(a->dead_ms_max));
	odrp_beat_forget(s);
	odrp_beat_lease(s, be64_to_cpu(a->lease));
	return 0;
}

/* Check the I/O accept, and take over the credits of the chain. */
static int take_io(struct odrp_conn *conn)
{
	const struct odrp_wire_io_accept *a = &conn->accept.io;
	const struct odrp_io_terms terms = {
		.chain		= conn->chain,
		.queue		= conn->q->idx,
		.depth		= conn->depth,
		.nr_reqs	= conn->nr_reqs,
	};
	struct odrp_bad bad;
	int err = check_signed(conn, sizeof(*a));

	if (err)
		return err;
	if (odrp_accept_io(a, conn->accept_len, &terms, &bad))
		return refuse_accept(conn, &bad);
	if (conn->keyed && conn->chain == ODRP_WIRE_LOAD &&
	    odrp_accept_reads(conn->accept_reads, max_reads(conn), &bad)) {
		err = refuse_accept(conn, &bad);
		/* No MAC covers this field of the REP: ignore a wrong one while reconnecting. */
		return conn->sess->reconnect.end ? -EBADMSG : err;
	}
	conn->depth = be16_to_cpu(a->depth);
	return 0;
}

static int make_id(struct odrp_conn *conn, struct rdma_cm_id **ret_id,
		   struct odrp_end **ret_end)
{
	struct odrp_end *end = odrp_end_new();
	struct rdma_cm_id *id;

	if (!end)
		return -ENOMEM;
	id = odrp_alloc_ptr(rdma_create_id(&init_net, handle, conn,
					   RDMA_PS_TCP, IB_QPT_RC));
	if (IS_ERR(id)) {
		odrp_end_free(end);
		return PTR_ERR(id);
	}
	*ret_id = id;
	*ret_end = end;
	return 0;
}

/*
 * Make a spare id for the next time that the connection breaks.  The spare id has no
 * address, so it gets no event, and it is on no device.
 */
static int stock_id(struct odrp_conn *conn)
{
	struct odrp_spare *spare = &conn->spare;
	struct rdma_cm_id *id;
	struct odrp_end *end;
	int err;

	if (READ_ONCE(spare->id))
		return 0;
	err = make_id(conn, &id, &end);
	if (err)
		return err;
	spin_lock_bh(&conn->lock);
	spare->id = id;
	spare->end = end;
	spin_unlock_bh(&conn->lock);
	return 0;
}

/*
 * odrp_conn_stock() - make a spare queue pair and a spare id for a connection
 *
 * The connection has been up, and may break and be made again during the call.  One caller
 * at a time.  After a failure of the completion queue no spare queue pair is made.
 *
 * Return: 0; else -errno, and a spare that was made is kept.
 */
int odrp_conn_stock(struct odrp_conn *conn)
{
	int err = odrp_plug_stock(conn);

	return err ?: stock_id(conn);
}

/* Give the connection the spare id, or a new one. */
static int take_id(struct odrp_conn *conn)
{
	struct odrp_spare *spare = &conn->spare;

	spin_lock_bh(&conn->lock);
	conn->id = spare->id;
	conn->end = spare->end;
	spare->id = NULL;
	spare->end = NULL;
	spin_unlock_bh(&conn->lock);
	return conn->id ? 0 : make_id(conn, &conn->id, &conn->end);
}

/* Make a queue pair in INIT, and post its receives. */
static int plug(struct odrp_conn *conn)
{
	int err;

	err = odrp_conn_plug(conn);
	if (err)
		return err;
	err = move_qp(conn, IB_QPS_INIT);
	if (err)
		return err;
	return odrp_conn_post_recvs(conn);
}

/*
 * odrp_cm_begin() - send the REQ of one connection
 *
 * Sleeps; the steps before the REQ wait for the network.
 *
 * Return: 0 when QP and CQ are made and the REQ has been sent; else -errno.  In both cases
 * the caller takes down the connection later.
 */
int odrp_cm_begin(struct odrp_conn *conn)
{
	int err;

	err = take_id(conn);
	if (err)
		return failed(conn, "making a connection id", err);
	err = resolve(conn);
	if (err)
		return err;
	err = check_device(conn);
	if (err)
		return err;
	err = rdma_set_ack_timeout(conn->id, odrp_ack_timeout);
	if (err)
		return failed(conn, "setting the time-out of ACKs", err);
	err = plug(conn);
	if (err)
		return failed(conn, "making a queue pair", err);
	return request(conn);
}

/*
 * odrp_cm_finish() - wait for the answer to the REQ of odrp_cm_begin()
 * @until: when the wait ends, in jiffies; an answer that has come before is handled
 *
 * Return: 0 when the connection is established and the fields of its accept are copied;
 * else -errno.  In both cases the caller takes down the connection later.
 */
int odrp_cm_finish(struct odrp_conn *conn, unsigned long until)
{
	long left = until - jiffies;
	int err;

	err = wait_ms(conn, "connecting", jiffies_to_msecs(max(left, 0L)));
	if (err || conn->msgs)
		return err;
	return conn->q ? take_io(conn) : take_admin(conn);
}

/* odrp_cm_connect() - make one connection: odrp_cm_begin() and odrp_cm_finish() */
int odrp_cm_connect(struct odrp_conn *conn)
{
	int err = odrp_cm_begin(conn);

	return err ?: odrp_cm_finish(conn, jiffies +
				     msecs_to_jiffies(odrp_cm_step_ms(conn)));
}

/*
 * odrp_cm_disconnect() - take the id from a connection, and have it destroyed (end.c)
 *
 * The connection gets no event afterwards.
 */
void odrp_cm_disconnect(struct odrp_conn *conn)
{
	struct rdma_cm_id *id = conn->id;

	if (!id)
		return;
	odrp_fault_wait(ODRP_FAULT_HANDLER);
	rdma_lock_handler(id);
	id->context = NULL;
	rdma_unlock_handler(id);
	odrp_end_id(conn->end, conn->sess, id);
	conn->id = NULL;
	conn->end = NULL;
	conn->established = false;
}

/* odrp_cm_drop() - take down a connection that has no request in flight */
void odrp_cm_drop(struct odrp_conn *conn)
{
	odrp_conn_drain(conn);
	odrp_conn_quiesce(conn);
	odrp_conn_halt(conn);
	odrp_conn_unplug(conn);
	odrp_cm_disconnect(conn);
}

/*
 * odrp_cm_mtu_cut() - is the MTU of the local interface below the MTU of the path?
 *
 * Packets larger than the interface's MTU are lost, and rdma_rxe reports no error.  The
 * connection is established, and keeps its id during the call.  The function takes no lock
 * of the network's configuration, because the holder of such a lock may be waiting for
 * memory, which may depend on this device.
 */
bool odrp_cm_mtu_cut(struct odrp_conn *conn)
{
	const struct rdma_route *route = &conn->id->route;
	const struct ib_gid_attr *gid = route->addr.dev_addr.sgid_attr;
	struct net_device *ndev;
	bool cut = false;

	if (!gid || !route->path_rec)
		return false;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(gid);
	if (!IS_ERR(ndev))
		cut = iboe_get_mtu(READ_ONCE(ndev->mtu)) < route->path_rec->mtu;
	rcu_read_unlock();
	return cut;
}

/* odrp_cm_exit() - destroy the spare id: the connection is not made again */
void odrp_cm_exit(struct odrp_conn *conn)
{
	struct odrp_spare *spare = &conn->spare;

	if (!spare->id)
		return;
	rdma_destroy_id(spare->id);
	odrp_end_free(spare->end);
	spare->id = NULL;
	spare->end = NULL;
}
