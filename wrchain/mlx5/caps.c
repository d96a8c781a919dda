// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a device lacks; see caps.h. */
#include "caps.h"
#include "../core/keymap.h"

#define MIN_LOG_SQ	12	/* BBs: the longest chain, 64 times */
#define MIN_LOG_CQ	8
#define MIN_WQE_SQ	1024	/* bytes; the longest is a NOP of 960 */
#define MIN_WQE_RQ	512
#define MIN_LOG_MSG	13	/* a request with its page */

static bool has_rc(const struct wrc_mlx5_caps *c)
{
	return c->rc;
}

static bool has_cd(const struct wrc_mlx5_caps *c)
{
	return c->cd;
}

static bool has_cq_oi(const struct wrc_mlx5_caps *c)
{
	return c->cq_oi;
}

static bool has_atomic(const struct wrc_mlx5_caps *c)
{
	return c->atomic;
}

/* What is not there at all is told once. */
static bool has_masked_fa(const struct wrc_mlx5_caps *c)
{
	return !c->atomic || c->atomic_ops & WRC_MLX5_ATOMIC_MASKED_FA;
}

static bool has_masked_cs(const struct wrc_mlx5_caps *c)
{
	return !c->atomic || c->atomic_ops & WRC_MLX5_ATOMIC_MASKED_CS;
}

static bool has_size_8(const struct wrc_mlx5_caps *c)
{
	return !c->atomic || c->atomic_sizes & WRC_MLX5_ATOMIC_SIZE_8;
}

static bool is_host_endian(const struct wrc_mlx5_caps *c)
{
	return !c->atomic || c->atomic_mode == 1 || c->atomic_mode_1;
}

static bool is_switched(const struct wrc_mlx5_caps *c)
{
	return !c->atomic || c->atomic_mode == 1 || !c->atomic_mode_1;
}

static bool fits_sq(const struct wrc_mlx5_caps *c)
{
	return c->log_max_qp_sz >= MIN_LOG_SQ;
}

static bool fits_cq(const struct wrc_mlx5_caps *c)
{
	return c->log_max_cq_sz >= MIN_LOG_CQ;
}

static bool fits_wqe(const struct wrc_mlx5_caps *c)
{
	return c->max_wqe_sq >= MIN_WQE_SQ && c->max_wqe_rq >= MIN_WQE_RQ;
}

static bool fits_msg(const struct wrc_mlx5_caps *c)
{
	return c->log_max_msg >= MIN_LOG_MSG;
}

static bool has_ksm(const struct wrc_mlx5_caps *c)
{
	return c->ksm;
}

static bool has_umr_ksm(const struct wrc_mlx5_caps *c)
{
	return c->umr_ksm;
}

static bool has_indirection(const struct wrc_mlx5_caps *c)
{
	return c->max_indirection;
}

static bool fits_ksm(const struct wrc_mlx5_caps *c)
{
	return 1ull << c->log_max_ksm >= WRC_KEY_ENTRIES;
}

struct need {
	bool (*ok)(const struct wrc_mlx5_caps *caps);
	const char *lacks;
};

static const struct need needs[] = {
	{ has_rc,
	  "it has no RC queue pairs (capability rc)" },
	{ has_cd,
	  "it has no cross-channel queues, so that nothing can wait for"
	  " or enable work requests (capability cd)" },
	{ has_cq_oi,
	  "its completion queues cannot ignore overrun, and nobody "
	  "polls those of a chain (capability cq_oi)" },
	{ has_atomic,
	  "it has no atomic operations (capability atomic)" },
	{ has_masked_fa,
	  "it has no masked fetch-and-add, which walks around the ring "
	  "of free pages (atomic_operations bit 3)" },
	{ has_masked_cs,
	  "it has no masked compare-and-swap, which takes pages out of "
	  "where they are (atomic_operations bit 2)" },
	{ has_size_8,
	  "its queue pairs have no atomic operations of 8 bytes "
	  "(atomic_size_qp bit 3)" },
	{ is_host_endian,
	  "its atomic operations are big endian and cannot be switched "
	  "(atomic_req_8B_endianness_mode)" },
	{ is_switched,
	  "its atomic operations are big endian; the kernel's driver "
	  "would have switched them to the host's order, a newer one "
	  "will (atomic_req_8B_endianness_mode is 0)" },
	{ fits_sq,
	  "its queues have less than 4096 basic blocks (log_max_qp_sz)" },
	{ fits_cq,
	  "its completion queues have less than 256 entries "
	  "(log_max_cq_sz)" },
	{ fits_wqe,
	  "its work requests are too short: 1024 bytes are needed "
	  "to send and 512 to receive (max_wqe_sz_sq, max_wqe_sz_rq)" },
	{ fits_msg,
	  "its messages are shorter than 8 KB (log_max_msg)" },
};

/*
 * Not needed: umr_extended_translation_offset, since the offsets of WRC_KEY_ENTRIES
 * entries have 16 bits; and what umr_modify_entity_size_disabled and
 * umr_modify_atomic_disabled forbid, since a UMR changes nothing of the key's
 * context but that it is free.
 */
static const struct need key_needs[] = {
	{ has_ksm,
	  "it has no indirect keys with entries of one size (capability "
	  "fixed_buffer_size)" },
	{ has_umr_ksm,
	  "its UMRs cannot change indirect keys (capability "
	  "umr_indirect_mkey_disabled)" },
	{ has_indirection,
	  "its keys cannot lead to others (max_indirection is 0)" },
	{ fits_ksm,
	  "its indirect keys have less than 32768 entries "
	  "(log_max_klm_list_size)" },
};

WRC_ASSERT(WRC_KEY_ENTRIES == 32768 && WRC_KEY_ENTRIES <= 1 << 16);

static const char *next(const struct need *list, unsigned int nr,
			const struct wrc_mlx5_caps *caps, unsigned int *pos)
{
	unsigned int i;

	for (i = *pos; i < nr; i++) {
		if (list[i].ok(caps))
			continue;
		*pos = i + 1;
		return list[i].lacks;
	}
	*pos = i;
	return NULL;
}

const char *wrc_mlx5_lacks(const struct wrc_mlx5_caps *caps,
			   unsigned int *pos)
{
	return next(needs, sizeof(needs) / sizeof(needs[0]), caps, pos);
}

const char *wrc_mlx5_lacks_keys(const struct wrc_mlx5_caps *caps,
				unsigned int *pos)
{
	return next(key_needs, sizeof(key_needs) / sizeof(key_needs[0]), caps,
		    pos);
}
