/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of the software NIC's back end:
 *
 *	soft.c		set-up and end
 *	soft-objects.c	domains, keys, completion queues, queue pairs
 *	soft-conn.c	connections
 *	soft-node.c	what a memory node needs besides
 *	soft-opts.c	the words that configure it
 */
#ifndef NIC_SOFT_PRIV_H
#define NIC_SOFT_PRIV_H

#include "node.h"
#include "soft.h"

struct soft_cq {
	uint32_t cqn;
	uint8_t log_size;
	struct wrc_cqe *buf;
	void (*told)(void *arg);	/* see nic_soft_cq_notify() */
	void *arg;
	/* entries written in all, at the last told(); atomic, stored after the entries */
	uint32_t told_count;
	uint32_t taken;			/* how many of them nic_soft_cq_take() has taken */
	struct soft_cq *next;		/* in the same bucket */
	struct soft_cq *told_next;
};

/* An agent has thousands of completion queues, and looks up hundreds of them at a time. */
#define SOFT_CQ_BUCKETS	16384	/* power of two */

/**
 * struct nic_soft - an open software NIC
 * @rt:		the NIC's thread, and the lock; NULL: the caller steps the NIC
 * @adopted:	the caller owns @snic
 * @frozen:	freeze() has taken the lock, and thaw() releases it
 * @looked, @seen: the answer of look() that seen() has not taken yet
 * @cqs:	by number; protected by the lock
 * @told:	those with told(), the only ones that the NIC's thread looks at
 */
struct nic_soft {
	struct nic nic;
	struct nic_node node;
	struct snic *snic;
	struct snic_rt *rt;
	bool adopted, frozen, looked;
	struct nic_seen seen;
	struct soft_cq *cqs[SOFT_CQ_BUCKETS], *told;
	unsigned int nr_ports;
	struct snic_port *ports[NIC_SOFT_MAX_PORTS];
};

static inline struct nic_soft *soft_of(struct nic *nic)
{
	return (struct nic_soft *)nic;
}

/* Takes the lock: the software NIC makes no step until soft_leave(). */
static inline struct snic *soft_enter(struct nic *nic)
{
	struct nic_soft *s = soft_of(nic);

	if (s->rt && !s->frozen)
		snic_rt_lock(s->rt);
	return s->snic;
}

/* Releases the lock.  Returns r. */
static inline int soft_leave(struct nic *nic, int r)
{
	struct nic_soft *s = soft_of(nic);

	if (s->rt && !s->frozen)
		snic_rt_unlock(s->rt);
	return r;
}

/* soft-objects.c */
int soft_pd_alloc(struct nic *nic, uint32_t *ret_pdn);
void soft_pd_free(struct nic *nic, uint32_t pdn);
int soft_mr_reg(struct nic *nic, uint32_t pdn, void *va, uint64_t len,
		uint64_t iova, unsigned int access, uint32_t *ret_key);
int soft_mr_dereg(struct nic *nic, uint32_t key);
int soft_cq_create(struct nic *nic, uint8_t log_size, uint32_t *ret_cqn);
void soft_cq_destroy(struct nic *nic, uint32_t cqn);
int soft_cq_poll(struct nic *nic, uint32_t cqn, struct wrc_cqe *ret_cqe);
int soft_qp_create(struct nic *nic, const struct nic_qp_attr *attr,
		   uint32_t *ret_qpn);
int soft_qp_destroy(struct nic *nic, uint32_t qpn);
int soft_qp_error(struct nic *nic, uint32_t qpn);
int soft_qp_query(struct nic *nic, uint32_t qpn, struct nic_qp_info *ret_info);
int soft_qp_doorbell(struct nic *nic, uint32_t qpn, uint16_t pi);
/* Converts enum nic_access to the software NIC's flags. */
unsigned int soft_access(unsigned int access);
/* The link to the completion queue; *result is NULL if there is none.  Needs the lock. */
struct soft_cq **soft_cq_find(struct nic *nic, uint32_t cqn);
void soft_cq_free(struct soft_cq *c);
/* Calls told() of each completion queue that has new entries.  Needs the lock. */
void soft_cqs_notify(void *nic);

/* soft-conn.c */
int soft_listen(struct nic *nic, uint16_t port);
int soft_connect(struct nic *nic, __be32 ip, uint16_t port, uint32_t qpn,
		 const void *priv, uint8_t priv_len, uint32_t *ret_id);
int soft_event(struct nic *nic, struct nic_event *ret_event);
int soft_accept(struct nic *nic, uint32_t id, uint32_t qpn, const void *priv,
		uint8_t priv_len);
int soft_reject(struct nic *nic, uint32_t id, const void *priv,
		uint8_t priv_len);
int soft_disconnect(struct nic *nic, uint32_t id);
void soft_release(struct nic *nic, uint32_t id);

/* soft-node.c */
extern const struct nic_node_ops soft_node_ops;

#endif /* NIC_SOFT_PRIV_H */
