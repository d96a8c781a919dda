/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of the mlx5 NIC: its objects, by number.
 */
#ifndef NIC_MLX5_PRIV_H
#define NIC_MLX5_PRIV_H

#include <search.h>
#include "mlx5.h"
#include "node.h"
#include "verdict.h"

/* Objects in a search tree; each begins with its number. */

/**
 * struct mlx5_pd - protection domain
 * @maker:	makes indirect keys; valid if @has_maker, set by the first such key
 */
struct mlx5_pd {
	uint32_t pdn;
	void *pd;
	bool has_maker;
	struct wrc_mlx5_maker maker;
};

/**
 * struct mlx5_mr - key
 * @mr:		the registration; NULL: the key is an indirect one, in @ksm
 */
struct mlx5_mr {
	uint32_t key;
	void *mr;
	struct wrc_mlx5_ksm ksm;
};

struct mlx5_cq {
	uint32_t cqn;
	struct wrc_mlx5_cq cq;
};

/**
 * struct mlx5_qp - queue pair
 * @told:	mlx5_qp_error() has stopped it
 */
struct mlx5_qp {
	uint32_t qpn;
	struct wrc_mlx5_qp qp;
	uint32_t pdn, scqn, rcqn;
	uint8_t access;
	bool told;
};

/**
 * struct mlx5_conn - connection
 * @conn:	the connection manager's object
 * @qpn:	its queue pair; 0: none yet
 */
struct mlx5_conn {
	uint32_t id;
	void *conn;
	uint32_t qpn;
	struct mlx5_conn *next;
};

/**
 * struct nic_mlx5 - an open mlx5 NIC
 * @verdict:	what the report of odrp-hwcheck says of this card
 */
struct nic_mlx5 {
	struct nic nic;
	struct nic_node node;
	struct wrc_mlx5 dev;
	struct verdict verdict;
	const struct mlx5_cm *cm;
	void *cm_ctx;
	void *pds, *mrs, *cqs, *qps;	/* roots of search trees */
	struct mlx5_conn *conns;
	uint32_t next_id;
};

static inline struct nic_mlx5 *mlx5_of(struct nic *nic)
{
	return (struct nic_mlx5 *)nic;
}

/* NULL: no object has this number. */
void *mlx5_find(void *const *root, uint32_t number);

/* mlx5-qp.c */
int mlx5_qp_create(struct nic *nic, const struct nic_qp_attr *attr,
		   uint32_t *ret_qpn);
int mlx5_qp_destroy(struct nic *nic, uint32_t qpn);
int mlx5_qp_loop(struct nic *nic, uint32_t qpn, uint32_t to);
int mlx5_qp_error(struct nic *nic, uint32_t qpn);
int mlx5_qp_query(struct nic *nic, uint32_t qpn, struct nic_qp_info *ret_info);
int mlx5_qp_doorbell(struct nic *nic, uint32_t qpn, uint16_t pi);

/* mlx5-conn.c */
int mlx5_listen(struct nic *nic, uint16_t port);
int mlx5_connect(struct nic *nic, __be32 ip, uint16_t port, uint32_t qpn,
		 const void *priv, uint8_t priv_len, uint32_t *ret_id);
int mlx5_event(struct nic *nic, struct nic_event *ret_event);
int mlx5_accept(struct nic *nic, uint32_t id, uint32_t qpn, const void *priv,
		uint8_t priv_len);
int mlx5_reject(struct nic *nic, uint32_t id, const void *priv,
		uint8_t priv_len);
int mlx5_disconnect(struct nic *nic, uint32_t id);
void mlx5_release(struct nic *nic, uint32_t id);

/* mlx5-node.c */
extern const struct nic_node_ops mlx5_node_ops;
/* No effect while a key that the maker has made exists. */
void mlx5_drop_maker(struct mlx5_pd *p);
/*
 * Reads the report of odrp-hwcheck on this card.  where: nic_mlx5_opts.report.
 * -ENAMETOOLONG, with a sentence in why; an unusable report is no error.
 */
int mlx5_learn(struct nic_mlx5 *m, const char *where, char *why);

/* Order objects by number, in search trees of any of the types above. */
int mlx5_compare(const void *a, const void *b);
int mlx5_add(void **root, void *object);

#endif /* NIC_MLX5_PRIV_H */
