/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared by the files of the mlx5 NIC: its objects, by number.
 */
#ifndef NIC_MLX5_PRIV_H
#define NIC_MLX5_PRIV_H

#include "card.h"
#include "mlx5.h"
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
 * @mr:		the registration; NULL: the key is an indirect one, in @ksm, or one of
 *		shared memory, @again
 * @va, @len, @iova: what is registered
 * @share:	set by mr_share(), if its umem is not NULL
 */
struct mlx5_mr {
	uint32_t key;
	void *mr, *again;
	void *va;
	uint64_t len, iova;
	struct wrc_mlx5_ksm ksm;
	struct wrc_mlx5_share share;
};

struct mlx5_look;	/* mlx5-look.c */

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
 * struct nic_mlx5 - an open mlx5 NIC
 * @verdict:	what the report of odrp-hwcheck says of this card
 * @look:	the thread that asks the card
 */
struct nic_mlx5 {
	struct nic_card card;
	struct wrc_mlx5 dev;
	struct verdict verdict;
	struct mlx5_look *look;
};

static inline struct nic_mlx5 *mlx5_of(struct nic *nic)
{
	return (struct nic_mlx5 *)nic;
}

/* mlx5-qp.c */
int mlx5_qp_create(struct nic *nic, const struct nic_qp_attr *attr,
		   uint32_t *ret_qpn);
int mlx5_qp_destroy(struct nic *nic, uint32_t qpn);
int mlx5_qp_loop(struct nic *nic, uint32_t qpn, uint32_t to);
int mlx5_qp_error(struct nic *nic, uint32_t qpn);
int mlx5_qp_query(struct nic *nic, uint32_t qpn, struct nic_qp_info *ret_info);
/* Reads the queue pair's context and its error entries. */
void mlx5_qp_info(struct nic *nic, const struct mlx5_qp *q,
		  const struct wrc_mlx5_qp_info *hw, struct nic_qp_info *ret_info);
int mlx5_qp_doorbell(struct nic *nic, uint32_t qpn, uint16_t pi);

/* mlx5-conn.c */
int mlx5_connect(struct nic *nic, __be32 ip, uint16_t port, uint32_t qpn,
		 const void *priv, uint8_t priv_len, uint32_t *ret_id);
/* See struct nic_card. */
int mlx5_qp_connect(struct nic_card *card, uint32_t qpn, void *conn,
		    struct nic_cm_accept *accept);

/* mlx5-share.c */
int mlx5_mr_share(struct nic *nic, uint32_t key);
int mlx5_mr_again(struct nic *nic, uint32_t key, uint32_t pdn, uint32_t *ret_key);
/* 0: the memory of the key is not shared any more, or was not. */
int mlx5_unshare(struct mlx5_mr *mr);

/* mlx5-look.c */
/* threaded: a thread waits for the card; else look() does. */
int mlx5_look_new(struct nic_mlx5 *m, bool threaded);
/* The thread ends when it has its answer.  Objects may still be asked about. */
void mlx5_look_stop(struct nic_mlx5 *m);
void mlx5_look_free(struct nic_mlx5 *m);
/* See look() in node.h. */
int mlx5_look(struct nic *nic, const struct nic_look *look);
int mlx5_seen(struct nic *nic, struct nic_seen *ret_seen);
/* Call before the object is destroyed.  False: the card does not answer a question about
 * the object, so the object and its memory have to stay. */
bool mlx5_look_leaves(struct nic_mlx5 *m, const void *obj);

/* mlx5-node.c */
/* Reads the completion queue's context and its error entries. */
void mlx5_cq_info(const struct mlx5_cq *c, const struct wrc_mlx5_cq_info *hw,
		  struct nic_cq_info *ret_info);
extern const struct nic_node_ops mlx5_node_ops;
/* No effect while a key that the maker has made exists. */
void mlx5_drop_maker(struct mlx5_pd *p);
/*
 * Reads the report of odrp-hwcheck on this card.  where: nic_mlx5_opts.report.
 * -ENAMETOOLONG, or -EOPNOTSUPP if it says that the card orders no writes, both with a
 * sentence in why; an unusable report is no error.
 */
int mlx5_learn(struct nic_mlx5 *m, const char *where, char *why);

#endif /* NIC_MLX5_PRIV_H */
