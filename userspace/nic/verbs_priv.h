/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of verbs:
 *
 *	verbs.c		configuration, the device, a memory node, registrations, the table
 *	verbs_cm.c	connections: the thread that takes events and ends connections
 *	verbs_link.c	outgoing connections: the link of a call, and the call
 *	verbs_call.c	outgoing connections: address, queue pair, kinds of calls, for attach.c
 *	verbs_doorbell.c	a queue set's doorbell and completion queue
 *	verbs_queue.c	one queue of a set: connecting, posting, completions
 *	verbs_qset.c	queue sets: posting, polling, waiting
 *	verbs_datagram.c	datagrams: the queue pair of a queue set of them, and its RECVs
 *	verbs_way.c	ways of datagrams to other hosts
 *	verbs_wire.c	connections between programs, and their windows
 *	verbs_listen.c	services, and calls of them
 */
#ifndef FAR_NIC_VERBS_PRIV_H
#define FAR_NIC_VERBS_PRIV_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "../peer/link.h"
#include "../peer/pass.h"
#include "attach.h"
#include "conf.h"
#include "hello.h"
#include "node.h"
#include "ring.h"
#include "service.h"
#include "verbs.h"

/* Converts a library's result, 0 or other than 0 with errno, to 0 or -errno. */
int verbs_errno(int r);

/* ---- connections (verbs_cm.c) ---- */

enum verbs_conn_state {
	VERBS_CONN_IDLE,
	VERBS_CONN_PENDING,	/* a step is under way; an event will end it */
	VERBS_CONN_READY,	/* the last step has succeeded */
	VERBS_CONN_REFUSED,	/* the peer has rejected the request; see priv */
	VERBS_CONN_FAILED,	/* no route, or no answer */
	VERBS_CONN_OVER,	/* an established connection has ended */
	VERBS_CONN_GONE,	/* id and queue pair are destroyed */
};

/*
 * Only the back end's thread destroys ids and their queue pairs, because this thread
 * handles events: no event of an id that is destroyed can be in work.
 */
struct verbs_conn {
	struct verbs_conn *next;	/* in verbs_nic.ending */
	struct rdma_cm_id *id;
	enum verbs_conn_state state;	/* under verbs_nic.lock */
	uint32_t peer_qpn;		/* from the accept */
	uint8_t priv_len;
	uint8_t priv[UINT8_MAX];	/* private data of the accept or reject */
};

struct verbs_mr {
	struct verbs_mr *next;
	struct ibv_mr *mr;
};

struct verbs_nic {
	struct far_nodes nodes;
	struct far_nic_ops ops;		/* far_verbs_ops, and what a memory node adds */
	struct ibv_context *ctx;	/* librdmacm owns it */
	struct ibv_device_attr attr;
	uint32_t max_msg;		/* most bytes of a message, for all ports that are up */
	struct ibv_pd *pd;
	struct ibv_cq *cq;		/* for queue pairs on which nothing is posted */
	struct rdma_event_channel *channel;
	int kick;			/* eventfd: ending is not empty, or stop is set */
	pthread_t thread;
	bool stop;			/* atomic */
	pthread_mutex_t lock;		/* protects states of connections, ending, mrs */
	pthread_cond_t told;		/* the state of a connection has changed */
	struct verbs_conn *ending;	/* connections for the thread to end */
	struct verbs_mr *mrs;
	uint32_t queues;		/* next number of a queue; atomic */
	struct far_key key;		/* our name and secret, if set */
	char keys[FAR_CONF_WORD_MAX + 1];	/* names that our memory node lets in; "": all */
	struct far_passes passes;
	struct sockaddr_storage from;	/* our address; family 0: the route decides */
	uint32_t spin_us;
	uint8_t timeout;
	bool serves;			/* a memory node in this process, on the same device */
	struct verbs_server *server;	/* NULL: no service has been offered yet */
};

static inline struct verbs_nic *verbs_nic_of(struct far_nic *nic)
{
	return (struct verbs_nic *)nic;
}

static inline const char *verbs_name(const struct verbs_nic *verbs)
{
	return ibv_get_device_name(verbs->ctx->device);
}

int verbs_cm_start(struct verbs_nic *verbs);
/* Stops the thread. The caller has ended all connections before. */
void verbs_cm_stop(struct verbs_nic *verbs);
int verbs_conn_new(struct verbs_nic *verbs, struct verbs_conn **ret_conn);
/*
 * verbs_conn_expect() is called before a step that an event ends; verbs_conn_wait() waits
 * for that event, at most until now() is `until`. 0; -EHOSTUNREACH: the step failed, or took
 * too long.
 */
void verbs_conn_expect(struct verbs_nic *verbs, struct verbs_conn *conn);
int verbs_conn_wait(struct verbs_nic *verbs, struct verbs_conn *conn, uint64_t until);
enum verbs_conn_state verbs_conn_state(struct verbs_nic *verbs, struct verbs_conn *conn);
/* Ends and frees a connection and its queue pair, and informs the peer. conn may be NULL. */
void verbs_conn_end(struct verbs_nic *verbs, struct verbs_conn *conn);

/* ---- outgoing connections (verbs_call.c) ---- */

/* Attributes of a connection's queue pair. */
struct verbs_qp_conf {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_cq *recv_cq;	/* NULL: cq */
	unsigned depth;
	unsigned nr_recvs;	/* 0: none are posted */
	bool datagrams;		/* not reliable, and without connection */
	uint32_t *ret_inline;	/* gets the most bytes of inline data; may be NULL */
	uint64_t until;		/* when now() is that, no answer is awaited any more; 0: default */
};

struct verbs_addr {
	struct sockaddr_storage sa;
};

/*
 * Connects, and waits for the answer. 0: accepted; (*ret_conn)->priv has the private data.
 * -EHOSTUNREACH: no answer, or the route goes by another device; -ECONNREFUSED: rejected,
 * but not by a memory node that serves spaces, or the signature of the answer is wrong;
 * -EPROTO: the answer is malformed; -ENOENT, -ESTALE, ...: rejected with this status.
 */
int verbs_call(struct verbs_nic *verbs, const struct verbs_addr *addr,
	       const struct odrp_far_hello *hello, const struct verbs_qp_conf *conf,
	       struct verbs_conn **ret_conn);
/* Finds address and route. */
int verbs_resolve(struct verbs_nic *verbs, struct verbs_conn *conn,
		  const struct verbs_addr *addr);
/*
 * Makes a queue pair: librdmacm's for the connection's id, or, if id is NULL, the caller's own.
 */
int verbs_qp_new(struct rdma_cm_id *id, const struct verbs_qp_conf *conf,
		 struct ibv_qp **ret_qp);
/* Finds the address of a node elsewhere. -EHOSTUNREACH, -EINVAL: as for far_attach_ops. */
int verbs_node_resolve(const char *node, struct verbs_addr *ret_addr);
/*
 * Makes a call, and waits for its end: the result is that of far_call_step(). *ret_conn: the
 * connection; NULL: the request was rejected.
 */
int verbs_call_run(struct verbs_nic *verbs, const struct verbs_addr *addr,
		   const struct odrp_far_hello *hello, const struct verbs_qp_conf *conf,
		   struct verbs_conn **ret_conn, struct far_news *ret_answer);

/* An attachment: far_peer.priv. */
struct verbs_peer {
	struct far_attach attach;
	struct verbs_addr addr;
	struct verbs_conn *conn;
};

extern const struct far_attach_ops verbs_links;

/* ---- doorbells (verbs_doorbell.c) ---- */

/* A thread domain, its parent domain, and a completion queue under it. */
struct verbs_doorbell {
	struct ibv_td *td;		/* NULL: the doorbell is shared */
	struct ibv_pd *pd;		/* the parent domain; without td: verbs_nic.pd */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;		/* NULL: not made yet */
};

int verbs_doorbell_open(struct verbs_nic *verbs, enum far_doorbell doorbell,
			struct verbs_doorbell *db);
/* Makes the completion queue. -ENOMEM: the device has no room. */
int verbs_doorbell_cq(struct verbs_nic *verbs, uint64_t nr_cqe, struct verbs_doorbell *db);
void verbs_doorbell_close(struct verbs_doorbell *db);

/* ---- queues (verbs_queue.c) ---- */

struct verbs_queue {
	const struct far_regions *regions;	/* of the peer */
	struct verbs_wire *wire;	/* NULL: the peer is a memory node */
	struct verbs_datagram *datagram;	/* NULL: a connection */
	struct verbs_wire *recv;	/* whose RECVs have this number; NULL: none */
	struct verbs_conn *conn;	/* NULL: none */
	struct ibv_qp *qp;
	struct far_ring ring;
	uint8_t *copies;		/* copies of inline data longer than max_inline: */
	struct ibv_mr *copies_mr;	/* FAR_NIC_MAX_INLINE bytes per place; NULL: none */
	uint32_t max_inline;		/* most inline data that the device takes */
	uint32_t number;		/* of the queue, for the memory node */
	uint32_t qpn;			/* of the last queue pair, for messages */
	uint16_t serial;		/* serial number of the queue pair in the queue set */
	bool connected;
};

/*
 * wr_id of a work request: whether it is a RECV (1 bit), serial number of the queue pair (15
 * bits), index of the queue (16 bits), place in the ring (32 bits). The serial number tells
 * entries of destroyed queue pairs from those of the present one.
 */
#define VERBS_WR_RECV	(UINT64_C(1) << 63)
#define VERBS_SERIALS	0x8000u

static inline uint64_t verbs_wr_id(uint16_t serial, uint16_t idx, uint32_t at)
{
	return (uint64_t)serial << 48 | (uint64_t)idx << 32 | at;
}

int verbs_queue_init(struct verbs_nic *verbs, struct verbs_queue *queue, unsigned depth);
void verbs_queue_fini(struct verbs_nic *verbs, struct verbs_queue *queue);
/* Destroys the queue pair and cancels operations that are not done. */
void verbs_queue_reset(struct verbs_nic *verbs, struct verbs_queue *queue);
/* Connects a queue that was reset. -EHOSTDOWN, -ESTALE, ... */
int verbs_queue_connect(struct verbs_nic *verbs, struct verbs_queue *queue,
			const struct verbs_doorbell *db, unsigned depth,
			struct verbs_peer *peer, uint16_t serial);
/*
 * Posts nr operations by one call of the provider. The queue is connected and has room for
 * them. wr and sge are scratch memory for nr elements. If the provider refuses, the
 * connection breaks, and all outstanding operations fail.
 */
void verbs_queue_post(struct verbs_queue *queue, uint16_t idx, const struct far_wr *from,
		      unsigned nr, struct ibv_send_wr *wr, struct ibv_sge *sge);
/* Has the queue post over the wire, until unlink(). Nothing is under way. -ENOMEM. */
int verbs_queue_link(struct verbs_nic *verbs, struct verbs_queue *queue,
		     struct verbs_wire *wire, uint16_t serial);
void verbs_queue_unlink(struct verbs_queue *queue);
/* Has the queue post datagrams, until fini(). -ENOMEM. */
int verbs_queue_open(struct verbs_nic *verbs, struct verbs_queue *queue, unsigned depth,
		     struct verbs_datagram *datagram, uint16_t serial);
/* Records an entry of the completion queue in the ring. */
void verbs_queue_note(struct verbs_nic *verbs, struct verbs_queue *queue,
		      const struct ibv_wc *wc);

/* ---- datagrams (verbs_way.c, verbs_datagram.c) ---- */

/*
 * An address of datagrams: an IPv4 address of a port of RoCE v2 (32 bits), zeros (8 bits), and
 * the number of a queue pair (24 bits).
 */
#define VERBS_QPN_BITS	24u

static inline uint64_t verbs_address(uint32_t ip, uint32_t qpn)
{
	return (uint64_t)ip << 32 | qpn;
}

#define VERBS_WAYS	256u	/* buckets */

struct verbs_way;

/**
 * struct verbs_ways - where datagrams of a queue set come from, and ways to other hosts
 * @port:	of the device
 * @gid_index:	of @ip there
 * @ip:		in host order
 * @packet:	bytes of the longest datagram
 */
struct verbs_ways {
	struct verbs_nic *verbs;
	uint8_t port, gid_index;
	uint32_t ip, packet;
	struct verbs_way *bucket[VERBS_WAYS];
	unsigned nr;
};

/* -EAFNOSUPPORT: no port of RoCE v2 that is up has an IPv4 address, or not the one that we
 * were given. */
int verbs_ways_init(struct verbs_nic *verbs, struct verbs_ways *ways);
void verbs_ways_fini(struct verbs_ways *ways);
/* NULL: there is none. The first call for a host asks the network, and takes its time. */
struct ibv_ah *verbs_ways_find(struct verbs_ways *ways, uint32_t ip);

#define VERBS_GRH	40u	/* bytes in front of what a datagram's RECV gets */

/**
 * struct verbs_datagram - the queue pair of a queue set of datagrams
 * @ring:	RECVs
 * @memory:	of each record of @ring
 * @grh:	heads of datagrams, which nobody reads: one for all RECVs
 * @serial:	of @qp, in the queue set
 * @hurt:	@qp has stopped, and verbs_datagram_heal() has not been called since
 * @deaf:	RECVs have failed
 */
struct verbs_datagram {
	struct verbs_ways ways;
	struct ibv_qp *qp;
	uint32_t max_inline;
	struct far_ring ring;
	struct ibv_sge *memory;
	unsigned nr_recvs;
	uint8_t grh[VERBS_GRH];
	struct ibv_mr *grh_mr;
	uint16_t serial;
	bool hurt, deaf;
};

/* Makes the queue pair, for depth SENDs and recvs RECVs. -EAFNOSUPPORT. */
int verbs_datagram_new(struct verbs_nic *verbs, const struct verbs_doorbell *db, unsigned depth,
		       unsigned recvs, struct verbs_datagram **ret_datagram);
void verbs_datagram_free(struct verbs_datagram *datagram);
/* Names the destination of a SEND. A datagram to nobody goes, too, and is lost. */
void verbs_datagram_name(struct verbs_datagram *datagram, uint64_t address,
			 struct ibv_send_wr *wr);
/* Posts RECVs. -EAGAIN, -ENOTCONN, -EINVAL: into memory that is not registered. */
int verbs_datagram_recv(struct verbs_datagram *datagram, const struct far_wr *wr, unsigned nr);
/*
 * Records an entry of the completion queue of a RECV, or of a SEND that was not sent because
 * the queue pair has stopped: false of another SEND.
 */
bool verbs_datagram_note(struct verbs_datagram *datagram, const struct ibv_wc *wc);
/*
 * A queue pair that a datagram has stopped, since it was longer than its RECV, starts again,
 * with the RECVs that were posted. halt() is first; then the caller takes all entries of the
 * completion queue, and calls heal() with a new serial number.
 */
void verbs_datagram_halt(struct verbs_datagram *datagram);
void verbs_datagram_heal(struct verbs_datagram *datagram, uint16_t serial);

/* ---- connections between programs (verbs_wire.c, verbs_listen.c) ---- */

/* A connection of a caller, and its queue pair, if there is one. */
struct verbs_guest {
	struct far_guest g;
	struct ibv_qp *qp;
};

/**
 * struct verbs_wire - one end of a connection between programs: the table's struct far_link
 * @conn:	of who has called; else NULL
 * @guest:	of who has accepted
 * @qp:		the one of conn or guest
 * @regions:	the other end's window
 * @ring:	RECVs; of the thread that uses end.recv
 * @recv_serial: serial number of the queue pair in the queue set end.recv
 * @deaf:	RECVs have failed
 */
struct verbs_wire {
	struct verbs_nic *verbs;
	struct far_end end;
	struct verbs_conn *conn;
	struct verbs_guest guest;
	struct ibv_qp *qp;
	uint32_t max_inline;
	struct far_regions regions;
	struct far_ring ring;
	uint16_t recv_serial;
	bool deaf;
};

extern const struct far_nic_call_ops verbs_call_ops;

uint32_t verbs_window_key(const struct far_window *window);
/* Attributes of the queue pair of a wire with these queue sets and this window. */
int verbs_wire_conf(const struct far_end *end, const struct far_window *window,
		    struct verbs_wire *wire, struct verbs_qp_conf *ret_conf);
/* Makes a wire without queue pair and connection. -ENOMEM. */
int verbs_wire_new(struct verbs_nic *verbs, const struct far_end *end,
		   struct verbs_wire **ret_wire);
/* Gives the wire its numbers in the queue sets, which the calling thread uses. -EISCONN. */
int verbs_wire_bind(struct verbs_wire *wire);
/* Ends and frees a wire that has no numbers. */
void verbs_wire_free(struct verbs_wire *wire);
/* Ends a wire, and frees its numbers. */
void verbs_wire_hangup(struct far_nic *nic, struct far_link *link);
/* True if the connection has ended. */
bool verbs_wire_over(const struct verbs_wire *wire);
/* Posts RECVs. -EAGAIN, -ENOTCONN. */
int verbs_wire_recv(struct verbs_wire *wire, const struct far_wr *wr, unsigned nr);
/* Records an entry of the completion queue of a RECV. */
void verbs_wire_note(struct verbs_wire *wire, const struct ibv_wc *wc);

/*
 * Makes what answers calls. Callers must prove a name of verbs->keys, unless that is "".
 * -errno, with a sentence in why.
 */
int verbs_server_new(struct verbs_nic *verbs, char *why, size_t len);
void verbs_server_free(struct verbs_server *server);
/* Ends a guest's connection, and destroys its queue pair, if there are such. */
void verbs_guest_end(struct verbs_nic *verbs, struct verbs_guest *guest);
int verbs_service_listen(struct far_qset *qset, const char *name,
			 struct far_listener **ret_listener);
void verbs_service_unlisten(struct far_nic *nic, struct far_listener *listener);
int verbs_service_take(struct far_nic *nic, struct far_listener *listener,
		       struct far_caller *ret_caller);
int verbs_service_accept(struct far_nic *nic, struct far_caller *caller,
			 const struct far_end *end, const struct far_window *window,
			 const struct far_hello *answer, struct far_link **ret_link);
void verbs_service_reject(struct far_nic *nic, struct far_caller *caller, int status);

/* ---- registrations (verbs.c) ---- */

/* Registers local memory in a domain, until mr_dereg(). */
int verbs_mr_new(struct verbs_nic *verbs, struct ibv_pd *pd, void *addr, size_t len,
		 uint32_t *ret_lkey);
/* True if the local memory of all operations is registered. Any thread. */
bool verbs_mrs_hold(struct verbs_nic *verbs, const struct far_wr *wr, unsigned nr);

/* ---- queue sets (verbs_qset.c) ---- */

int verbs_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
		   struct far_qset **ret_qset);
void verbs_qset_free(struct far_qset *qset);
unsigned verbs_qset_depth(const struct far_qset *qset);
/* Finds the completion queue of wires, and makes it on the first call. Any thread. */
int verbs_qset_wire_cq(struct far_qset *qset, struct ibv_cq **ret_cq);
/* Gives a wire its number idx, for operations or for RECVs. -EISCONN, -EINVAL, -ENOMEM. */
int verbs_qset_link(struct far_qset *qset, unsigned idx, struct verbs_wire *wire);
int verbs_qset_hear(struct far_qset *qset, unsigned idx, struct verbs_wire *wire);
/* Frees the numbers of a wire whose queue pair is gone. */
void verbs_qset_unlink(struct far_qset *qset, unsigned idx);
void verbs_qset_unhear(struct far_qset *qset, unsigned idx);
int verbs_qset_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer);
int verbs_qset_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr);
int verbs_qset_poll(struct far_qset *qset, struct far_wc *wc, unsigned max);
int verbs_qset_wait(struct far_qset *qset, uint64_t until);
void verbs_qset_wake(struct far_qset *qset);
int verbs_qset_fd_arm(struct far_qset *qset);
void verbs_qset_fd_disarm(struct far_qset *qset);
uint64_t verbs_qset_address(struct far_qset *qset);
void verbs_qset_stats(struct far_qset *qset, struct far_qset_stats *ret_stats);
void verbs_qset_explain(struct far_qset *qset, const struct far_wc *wc, char *text,
			size_t len);

#endif
