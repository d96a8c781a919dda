/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An mlx5 device as chains use it: completion queues and queue pairs made by
 * firmware commands, in the caller's memory, all on one UAR page, because
 * WAIT and SEND_EN reach only queues of the same one.
 *
 * One thread, but for questions.  Everything is 0 or -errno; what the firmware said is in
 * wrc_mlx5_last_error().
 */
#ifndef WRC_MLX5_DEV_H
#define WRC_MLX5_DEV_H

#include "../core/wqe.h"
#include "devx.h"

/*
 * What has been asked of the device. refused: commands that the firmware did not like;
 * indirect: keys that lead to others, not among keys.
 */
#define WRC_MLX5_COUNTERS(X)						\
	X(commands) X(refused) X(cqs) X(qps) X(keys) X(indirect) X(doorbells)

struct wrc_mlx5_stats {
#define WRC_MLX5_COUNTER_FIELD(name) __u64 name;
	WRC_MLX5_COUNTERS(WRC_MLX5_COUNTER_FIELD)
#undef WRC_MLX5_COUNTER_FIELD
};

/**
 * struct wrc_mlx5 - an open device
 * @port, @gid_index: the one that is used
 * @link:	that port
 * @roce:	its RoCE address, on Ethernet
 */
struct wrc_mlx5 {
	const struct wrc_mlx5_devx *devx;
	void *ctx;
	struct wrc_mlx5_caps caps;
	__u8 port;
	__u16 gid_index;
	struct wrc_mlx5_port link;
	struct wrc_mlx5_roce roce;
	void *uar;
	__u32 uar_page, eqn;
	struct wrc_mlx5_stats stats;
	char last_error[WRC_MLX5_WHY_MAX];
};

/**
 * struct wrc_mlx5_question - a query of an object in three steps: ask and answer are for
 *	the device's thread; between them any other thread calls wrc_mlx5_question_run(),
 *	which waits for the firmware and uses nothing but the question and the object
 */
struct wrc_mlx5_question {
	const struct wrc_mlx5_devx *devx;
	void *obj;
	struct wrc_mlx5_cmd cmd;
	__u8 out[WRC_MLX5_IN_MAX];
	int err;
};

void wrc_mlx5_question_run(struct wrc_mlx5_question *q);

/**
 * struct wrc_mlx5_cq - completion queue
 * @mem:	entries, then the doorbell record
 * @next:	entries polled
 */
struct wrc_mlx5_cq {
	struct wrc_mlx5 *dev;
	void *obj, *umem;
	void *mem;
	struct wrc_cqe *buf;
	__be32 *dbr;
	__u32 cqn, next;
	__u8 log_size;
};

/**
 * struct wrc_mlx5_qp_mem - a queue pair's memory, the caller's
 * @end:	of the memory in which @rq or @sq (the first one) and @dbr lie,
 *		in this order
 * @rq:		NULL: none; else the send queue begins where it ends
 */
struct wrc_mlx5_qp_mem {
	void *rq, *sq;
	struct wrc_dbr *dbr;
	const void *end;
};

struct wrc_mlx5_qp {
	struct wrc_mlx5 *dev;
	void *obj, *umem;
	struct wrc_dbr *dbr;
	__u32 qpn;
};

/**
 * struct wrc_mlx5_maker - makes indirect keys in a domain: a queue pair there,
 *	whose UMRs clear them
 * @mem:	send queue and record
 * @next:	BBs written
 */
struct wrc_mlx5_maker {
	struct wrc_mlx5 *dev;
	__u32 pdn;
	struct wrc_mlx5_cq cq;
	struct wrc_mlx5_qp qp;
	void *mem;
	__u16 next;
};

/**
 * struct wrc_mlx5_ksm - indirect key of pieces of 4 KB
 */
struct wrc_mlx5_ksm {
	struct wrc_mlx5 *dev;
	void *obj;
	__u32 key;
};

/**
 * struct wrc_mlx5_share - memory that is pinned once, for keys of several domains
 */
struct wrc_mlx5_share {
	struct wrc_mlx5 *dev;
	void *umem;
	__u32 id;
	__u64 len, iova;
};

/* The device and what it can do, nothing else; for a probe.  why: a sentence. */
int wrc_mlx5_probe(const struct wrc_mlx5_devx *devx, const char *name,
		   struct wrc_mlx5 *ret_dev, char why[WRC_MLX5_WHY_MAX]);
/*
 * Makes a probed device ready.  -EOPNOTSUPP: it lacks something that chains
 * need, in words in why; -ENETDOWN: the port is down.
 */
int wrc_mlx5_start(struct wrc_mlx5 *dev, __u8 port, __u16 gid_index,
		   char why[WRC_MLX5_WHY_MAX]);
/* After all that was made on it is gone.  Of a probed one, too. */
void wrc_mlx5_close(struct wrc_mlx5 *dev);

/* An entry of the port's RoCE address table. */
int wrc_mlx5_roce_query(struct wrc_mlx5 *dev, __u16 index,
			struct wrc_mlx5_roce *ret_roce);
/* The UDP source port between two queue pairs, or 0: RoCE v1 has none. */
__u16 wrc_mlx5_udp_sport(const struct wrc_mlx5 *dev,
			 const struct wrc_mlx5_roce *roce, __u32 from,
			 __u32 to);

/* How many sets of counters the device gives us, at most max; for a probe. */
int wrc_mlx5_count_counters(struct wrc_mlx5 *dev, unsigned int max,
			    unsigned int *ret_n);

/*
 * A second doorbell page, for a probe: what is made and rung between two
 * swaps is on it.
 */
struct wrc_mlx5_uar {
	void *uar;
	__u32 page;
};

int wrc_mlx5_uar_init(struct wrc_mlx5 *dev, struct wrc_mlx5_uar *ret_uar);
void wrc_mlx5_uar_fini(struct wrc_mlx5 *dev, struct wrc_mlx5_uar *uar);
void wrc_mlx5_uar_swap(struct wrc_mlx5 *dev, struct wrc_mlx5_uar *uar);

/* What the firmware has last refused, for people; "" if nothing. */
const char *wrc_mlx5_last_error(const struct wrc_mlx5 *dev);

#define WRC_MLX5_GUID_MAX 20
/* What the device is known by: its node GUID, as "xxxx:xxxx:xxxx:xxxx"; "" if it
 * has none. */
void wrc_mlx5_guid(const struct wrc_mlx5 *dev, char ret_text[WRC_MLX5_GUID_MAX]);

/* log_size: of the entries.  Overrun is ignored. */
int wrc_mlx5_cq_init(struct wrc_mlx5 *dev, __u8 log_size,
		     struct wrc_mlx5_cq *ret_cq);
void wrc_mlx5_cq_fini(struct wrc_mlx5_cq *cq);
/* -EAGAIN: none. */
int wrc_mlx5_cq_poll(struct wrc_mlx5_cq *cq, struct wrc_cqe *ret_cqe);
int wrc_mlx5_cq_query(struct wrc_mlx5_cq *cq,
		      struct wrc_mlx5_cq_info *ret_info);
/* The same in three steps; see struct wrc_mlx5_question. */
void wrc_mlx5_cq_ask(const struct wrc_mlx5_cq *cq, struct wrc_mlx5_question *ret_q);
int wrc_mlx5_cq_answer(struct wrc_mlx5 *dev, const struct wrc_mlx5_question *q,
		       struct wrc_mlx5_cq_info *ret_info);

/*
 * attr: pdn, CQs, sizes and cd_*; all else comes from mem and dev.  -EINVAL:
 * mem is not laid out as a queue pair can have it; -ERANGE: more, or larger,
 * entries than the device has.
 */
int wrc_mlx5_qp_init(struct wrc_mlx5 *dev, const struct wrc_mlx5_qp_attr *attr,
		     const struct wrc_mlx5_qp_mem *mem,
		     struct wrc_mlx5_qp *ret_qp);
/* -errno: it is still there, may run, and its memory has to stay. */
int wrc_mlx5_qp_fini(struct wrc_mlx5_qp *qp);
/* RESET, INIT, RTR, RTS. */
int wrc_mlx5_qp_connect(struct wrc_mlx5_qp *qp,
			const struct wrc_mlx5_conn *conn);
/* The same to a queue pair of this device. */
int wrc_mlx5_qp_loop(struct wrc_mlx5_qp *qp, __u32 dest_qpn, __u8 access);
int wrc_mlx5_qp_error(struct wrc_mlx5_qp *qp);
int wrc_mlx5_qp_query(struct wrc_mlx5_qp *qp,
		      struct wrc_mlx5_qp_info *ret_info);
/* The same in three steps; see struct wrc_mlx5_question. */
void wrc_mlx5_qp_ask(const struct wrc_mlx5_qp *qp, struct wrc_mlx5_question *ret_q);
int wrc_mlx5_qp_answer(struct wrc_mlx5 *dev, const struct wrc_mlx5_question *q,
		       struct wrc_mlx5_qp_info *ret_info);
/* BBs before pi may run: record, then register. */
void wrc_mlx5_qp_ring(struct wrc_mlx5_qp *qp, __u16 pi);

/* -EOPNOTSUPP: the device lacks something that indirect keys need; wrc_mlx5_last_error()
 * has the words. */
int wrc_mlx5_maker_init(struct wrc_mlx5 *dev, __u32 pdn,
			struct wrc_mlx5_maker *ret_maker);
/* Its keys may outlive it.  -errno: its queue pair is still there. */
int wrc_mlx5_maker_fini(struct wrc_mlx5_maker *maker);
/*
 * A key in the maker's domain whose entries are all 0, open to peers.  Waits for
 * the device.  attr->entries: groups of four, from 24 to 2^16, or -EINVAL; -ERANGE:
 * more than the device has.  After any other error the maker may be of no use any
 * more.
 */
int wrc_mlx5_ksm_init(struct wrc_mlx5_maker *maker,
		      const struct wrc_mlx5_ksm_attr *attr,
		      struct wrc_mlx5_ksm *ret_ksm);
/* -errno: it is still there. */
int wrc_mlx5_ksm_fini(struct wrc_mlx5_ksm *ksm);

/*
 * Pins the memory, which takes long for much of it.  iova: of its first byte, for all
 * keys; a multiple of any page that the memory may consist of.
 */
int wrc_mlx5_share_init(struct wrc_mlx5 *dev, void *va, __u64 len, __u64 iova,
			struct wrc_mlx5_share *ret_share);
/* After its keys.  -errno: it is still pinned. */
int wrc_mlx5_share_fini(struct wrc_mlx5_share *share);
/* One command: a key in that domain, for reading and writing by this side alone.  The
 * device's destroy() ends it. */
int wrc_mlx5_share_key(const struct wrc_mlx5_share *share, __u32 pdn, __u8 variant,
		       void **ret_obj, __u32 *ret_key);

#endif /* WRC_MLX5_DEV_H */
