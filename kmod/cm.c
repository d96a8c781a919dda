// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * RDMA CM: making a connection, step by step, from the thread that adds the
 * device, and hearing of its end.  Fills the hello and checks every field of
 * what comes back before anybody uses it.
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

#define CM_RETRIES	7	/* 3 bits on the wire; RNR 7 is for ever */

/*
 * A neighbour that answers before the core has queued our request for its
 * address is noticed only when that request times out.  So let it, soon and
 * repeatedly.
 */
#define ADDR_TRY_MS	100

/*
 * We are told of that by a work item that is not at its end yet, and asking again
 * with the same id cancels it.  Work queues of older kernels, 5.10's among them,
 * take that for waiting, by one who reclaims memory for one who may have none, and
 * warn (check_flush_dependency()).  So it is given time to end; nothing says that
 * it has.
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
};

/* While reconnecting no step takes longer, so that a lost packet costs no more. */
#define RECONNECT_STEP_MS	1000

/* A step that has not said itself why. */
static int failed(struct odrp_conn *conn, const char *step, int err)
{
	conn_err(conn, "%s: error %d\n", step, err);
	return err;
}

/* To a knock: once more, with a cookie. */
static bool is_cookie(struct odrp_conn *conn, const void *data, u8 len)
{
	const struct odrp_auth_cookie *c = data;

	if (!conn->msgs || !data || len < sizeof(*c) ||
	    be32_to_cpu(c->magic) != ODRP_AUTH_MAGIC ||
	    be16_to_cpu(c->version) != ODRP_AUTH_VERSION)
		return false;
	memcpy(conn->sess->auth.knock.cookie, c->cookie, sizeof(c->cookie));
	return true;
}

/*
 * Anybody can refuse a connection in the memory node's name.  So when there is a key
 * only what is signed by it is told from a memory node that is away, and while
 * reconnecting the rest is not even without a key: else a forged REJ would be the end of
 * a session.
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
 * To a state, with what the connection manager has for it.  The connection has an id,
 * and a queue pair that nobody takes away meanwhile.
 */
static int move_qp(struct odrp_conn *conn, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int err, mask;

	err = rdma_init_qp_attr(conn->id, &attr, &mask);
	if (err)
		return err;
	/* Who has not proved himself writes nowhere. */
	if (conn->msgs)
		attr.qp_access_flags = 0;
	return odrp_step(ib_modify_qp(conn->qp, &attr, mask));
}

/*
 * The way of a queue pair to a connection that has been answered: once more to where
 * it is, for only now it is known what the peer may do.
 */
static int move_up(struct odrp_conn *conn)
{
	static const enum ib_qp_state way[] = {
		IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS
	};
	unsigned int i;
	int err = 0;

	mutex_lock(&conn->plug_lock);
	if (!conn->qp)		/* the answer came too late */
		err = -ETIMEDOUT;
	for (i = 0; !err && i < ARRAY_SIZE(way); i++)
		err = move_qp(conn, way[i]);
	mutex_unlock(&conn->plug_lock);
	return err;
}

/* What is not taken is refused when its id goes. */
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
		odrp_sess_fail(conn->sess, "connection lost: %s", what);
	else if (READ_ONCE(conn->qp))
		step_done(conn, failed(conn, what, -ECONNRESET));
	else	/* given up, and the memory node was first to say so */
		step_done(conn, -ECONNRESET);
}

/*
 * A connection that stands is told that it is unreachable when the peer's link address is
 * being looked for, or is another one (RDMA CM, since Linux 6.0): of each connection, and
 * also when nothing has changed.  Should nothing arrive there any more then requests and
 * beats have their time-outs.
 */
static void conn_unreachable(struct odrp_conn *conn, const struct rdma_cm_event *ev)
{
	if (conn->established)
		return;
	conn_err(conn, "%s (%d)\n", rdma_event_msg(ev->event), ev->status);
	step_done(conn, ev->status < 0 ? ev->status : -EHOSTUNREACH);
}

/* Called one at a time per id; never destroys the id itself. */
static int handle(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct odrp_conn *conn = id->context;

	if (!conn)	/* abandoned */
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
		/* ctl.c hears of it, too, and waits until nothing is left. */
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

/* How long a step may take from now on. */
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

/* The first connection decides for the device; the others have to follow. */
static int check_device(struct odrp_conn *conn)
{
	struct ib_device *ibdev = conn->id->device;
	struct odrp_sess *s = conn->sess;

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
	s->pd = odrp_alloc_ptr(ib_alloc_pd(ibdev, 0));
	if (IS_ERR(s->pd)) {
		int err = PTR_ERR(s->pd);

		s->pd = NULL;
		return failed(conn, "making a protection domain", err);
	}
	s->ibdev = ibdev;
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
	/* Admin, first of all: 0. */
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

/* The same with a key: the handle says whose session it is, and which. */
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
	struct odrp_auth_knock	knock;
};

static void fill_data(struct odrp_conn *conn, union req_data *d)
{
	if (conn->msgs)
		d->knock = conn->sess->auth.knock;
	else if (odrp_sign_on(conn))
		fill_req(conn, &d->req);
	else
		fill_hello(conn, &d->hello);
}

/*
 * How many READs of ours to ask for.  Those that are posted beyond it wait in the
 * send queue: the CM gives the queue pair what the reply says.
 */
static u8 max_reads(const struct odrp_conn *conn)
{
	if (conn->msgs || (conn->q && (!conn->keyed ||
					conn->chain != ODRP_WIRE_LOAD)))
		return 1;
	return clamp(conn->sess->ibdev->attrs.max_qp_init_rd_atom, 1,
		     ODRP_MAX_READS);
}

/* Ask for it; the answer completes cm_done. */
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

static int say_bad(struct odrp_conn *conn, const struct odrp_bad *bad)
{
	if (bad->what)
		conn_err(conn, "accept: %s is %llu, expected %llu\n", bad->what,
			 bad->is, bad->expected);
	else
		conn_err(conn, "accept: word %llu has unknown kind %llu\n",
			 bad->expected, bad->is);
	/* As refusal() has it. */
	return odrp_sign_on(conn) || !conn->sess->reconnect.end ? -EPROTO :
								  -EBADMSG;
}

/* With a key nothing of an accept is looked at that its MAC does not cover. */
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

/* The admin accept: what was granted becomes the session's. */
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
		return say_bad(conn, &bad);
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
	s->beat.dead_ms = be32_to_cpu(a->dead_ms);
	odrp_beat_forget(s);
	atomic64_set(&s->dev->lease.limit,
		     min_t(u64, be64_to_cpu(a->lease), s->dev->slots.nr));
	return 0;
}

/* An I/O accept: credits, and how to re-arm the chain. */
static int take_io(struct odrp_conn *conn)
{
	const struct odrp_wire_io_accept *a = &conn->accept.io;
	const struct odrp_io_terms terms = {
		.chain		= conn->chain,
		.queue		= conn->q->idx,
		.depth		= conn->depth,
		.nr_reqs	= conn->nr_reqs,
		.keyed		= conn->keyed,
	};
	struct odrp_bad bad;
	int err = check_signed(conn, sizeof(*a) +
				     a->nr_words * sizeof(a->words[0]));

	if (err)
		return err;
	if (odrp_accept_io(a, conn->accept_len, &terms, &conn->words, &bad))
		return say_bad(conn, &bad);
	if (conn->keyed && conn->chain == ODRP_WIRE_LOAD &&
	    odrp_accept_reads(conn->accept_reads, max_reads(conn), &bad)) {
		err = say_bad(conn, &bad);
		/* Of the REP itself, which no MAC covers: anybody's on the path. */
		return conn->sess->reconnect.end ? -EBADMSG : err;
	}
	conn->depth = be16_to_cpu(a->depth);
	conn->next_req_len = be16_to_cpu(a->req_len);
	conn->next_tail_len = be16_to_cpu(a->tail_len);
	return 0;
}

/*
 * Have an id for the next time.  It knows no address, so nothing happens to it, and
 * it is on no device.
 */
static int stock_id(struct odrp_conn *conn)
{
	struct odrp_spare *spare = &conn->spare;
	struct rdma_cm_id *id;

	if (spare->id)
		return 0;
	spare->end = odrp_end_new();
	if (!spare->end)
		return -ENOMEM;
	id = odrp_alloc_ptr(rdma_create_id(&init_net, handle, conn,
					   RDMA_PS_TCP, IB_QPT_RC));
	if (IS_ERR(id)) {
		odrp_end_free(spare->end);
		spare->end = NULL;
		return PTR_ERR(id);
	}
	spare->id = id;
	return 0;
}

/*
 * odrp_conn_stock() - have a spare of what a broken connection takes with it
 *
 * The connection is up.
 *
 * Return: 0 if there is one now, else -errno; what could be made stays.
 */
int odrp_conn_stock(struct odrp_conn *conn)
{
	int err = odrp_plug_stock(conn);

	return err ?: stock_id(conn);
}

static int take_id(struct odrp_conn *conn)
{
	struct odrp_spare *spare = &conn->spare;
	int err;

	err = stock_id(conn);
	if (err)
		return err;
	conn->id = spare->id;
	conn->end = spare->end;
	spare->id = NULL;
	spare->end = NULL;
	return 0;
}

/* A queue pair that can be connected, with its receives. */
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
 * odrp_cm_begin() - ask for one connection
 *
 * Return: 0 with QP and CQ made, and the request under way.  Else -errno; the caller
 * disposes of the connection either way.
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
 * odrp_cm_finish() - wait for the answer to odrp_cm_begin()
 * @until: jiffies; what has come by then counts
 *
 * Return: 0 with the connection established, and its accept taken over.  Else -errno;
 * the caller disposes of the connection either way.
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

/* The connection has no id any more, and hears of no event. */
void odrp_cm_disconnect(struct odrp_conn *conn)
{
	struct rdma_cm_id *id = conn->id;

	if (!id)
		return;
	rdma_lock_handler(id);
	id->context = NULL;
	rdma_unlock_handler(id);
	odrp_end_id(conn->end, conn->sess, id);
	conn->id = NULL;
	conn->end = NULL;
	conn->established = false;
}

/* odrp_cm_drop() - take away a connection that carries nothing of a bio */
void odrp_cm_drop(struct odrp_conn *conn)
{
	odrp_conn_drain(conn);
	odrp_conn_quiesce(conn);
	odrp_conn_halt(conn);
	odrp_conn_unplug(conn);
	odrp_cm_disconnect(conn);
}

/*
 * odrp_cm_mtu_cut() - is the MTU of our interface less than what the path was made for?
 *
 * What does not fit any more is lost, and rdma_rxe tells nobody.  The connection
 * stands: nobody lets go of its id meanwhile.  Takes no lock: who has that of the
 * network's configuration may be waiting for memory, and so for us.
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

/* There is no next time. */
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
