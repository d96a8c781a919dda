/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Common to the NICs on hardware: objects by number, connections on the RDMA
 * connection manager (cm.h), and functions of nic.h and node.h that are the same.
 */
#ifndef NIC_CARD_H
#define NIC_CARD_H

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include "cm.h"
#include "node.h"

/**
 * struct nic_conn - connection
 * @conn:	the connection manager's object
 * @qpn:	its queue pair; 0: none yet
 */
struct nic_conn {
	uint32_t id;
	void *conn;
	uint32_t qpn;
	struct nic_conn *next;
};

/**
 * struct nic_card - the head of such a NIC
 * @pds, @mrs, @cqs, @qps: roots of search trees (tsearch); each object begins with its
 *		number, a uint32_t
 * @cm_ctx:	the open connection manager; NULL: there are no connections
 * @conns:	all of them
 * @qp_connect:	connects a queue pair with the attributes of a connection; fills in how many
 *		READs and atomics each side may have outstanding
 */
struct nic_card {
	struct nic nic;
	struct nic_node node;
	void *pds, *mrs, *cqs, *qps;
	const struct nic_cm *cm;
	void *cm_ctx;
	struct nic_conn *conns;
	uint32_t next_id;
	int (*qp_connect)(struct nic_card *card, uint32_t qpn, void *conn,
			  struct nic_cm_accept *accept);
};

/* ---- objects ---------------------------------------------------------------------- */

static inline int numbers_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* NULL: no object has this number. */
static inline void *numbers_find(void *const *root, uint32_t number)
{
	void *node = tfind(&number, root, numbers_compare);

	return node ? *(void **)node : NULL;
}

/* Adds an object that was made.  -EEXIST: another object has the number; -ENOMEM. */
static inline int numbers_add(void **root, void *object, uint32_t *ret_number)
{
	void *node = tsearch(object, root, numbers_compare);

	if (!node)
		return -ENOMEM;
	if (*(void **)node != object)
		return -EEXIST;
	*ret_number = *(uint32_t *)object;
	return 0;
}

static inline void numbers_drop(void **root, const void *object)
{
	tdelete(object, root, numbers_compare);
}

/*
 * Releases all connections, and destroys all objects that are left: queue pairs first, then
 * what queue pairs use.  What cannot be destroyed is only forgotten here: the kernel frees
 * the objects of a device that is gone when its file is closed.
 */
void nic_card_empty(struct nic_card *card);

/* ---- connections ------------------------------------------------------------------ */

int nic_card_open_cm(struct nic_card *card, const struct nic_cm *cm, const char *device,
		     uint8_t port);
/* Adds a connection that cm->connect() has begun.  NULL: out of memory. */
struct nic_conn *nic_card_add_conn(struct nic_card *card, void *conn);
/* The connection manager's object of a connection.  NULL: there is none with this number. */
void *nic_card_conn(const struct nic_card *card, uint32_t id);
/* The queue pair is destroyed: another one may get its number. */
void nic_card_forget_qp(struct nic_card *card, uint32_t qpn);

/* ---- functions of nic.h and node.h ------------------------------------------------- */

int nic_card_listen(struct nic *nic, uint16_t port);
int nic_card_event(struct nic *nic, struct nic_event *ret_event);
int nic_card_accept(struct nic *nic, uint32_t id, uint32_t qpn, const void *priv,
		    uint8_t priv_len);
int nic_card_reject(struct nic *nic, uint32_t id, const void *priv, uint8_t priv_len);
int nic_card_disconnect(struct nic *nic, uint32_t id);
void nic_card_release(struct nic *nic, uint32_t id);
/* A card needs no processor. */
uint64_t nic_card_cpu_ns(struct nic *nic);
/* A card cannot be stopped between two steps. */
int nic_card_freeze(struct nic *nic);
void nic_card_thaw(struct nic *nic);

#endif /* NIC_CARD_H */
