/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the mlx5 back end asks of libibverbs and libmlx5, as a table of
 * functions: devx.c has the real ones, tests have others.
 *
 * All return 0 or -errno.  -EREMOTEIO: the firmware refused a command; its
 * answer, with status and syndrome, is in out.
 */
#ifndef WRC_MLX5_DEVX_H
#define WRC_MLX5_DEVX_H

#include "cmd.h"

enum wrc_mlx5_access {
	WRC_MLX5_MR_LOCAL_WRITE		= 1 << 0,
	WRC_MLX5_MR_REMOTE_READ		= 1 << 1,
	WRC_MLX5_MR_REMOTE_WRITE	= 1 << 2,
	WRC_MLX5_MR_REMOTE_ATOMIC	= 1 << 3,
};

/**
 * struct wrc_mlx5_port - a port and one of its addresses
 * @mtu:	enum ibv_mtu
 * @gid:	that of the index asked for
 */
struct wrc_mlx5_port {
	bool active, ethernet;
	__u8 mtu;
	__u16 lid;
	__u8 gid[16];
};

#define WRC_MLX5_WHY_MAX 384

struct wrc_mlx5_devx {
	/* Only the thread that opened the device may call these functions. */
	bool one_thread;
	/*
	 * The device of that name; of an empty one, the first mlx5 device.
	 * -ENODEV: there is none; -EOPNOTSUPP: it is not for this.  Both with
	 * a sentence in why.
	 */
	int (*open)(const char *name, void **ret_ctx,
		    char why[WRC_MLX5_WHY_MAX]);
	void (*close)(void *ctx);
	const char *(*name)(void *ctx);
	/* Firmware version; a text. */
	const char *(*firmware)(void *ctx);
	/* The node's GUID, as it is written; zeros: it has none. */
	void (*guid)(void *ctx, __u8 ret_guid[8]);
	int (*port)(void *ctx, __u8 port, __u16 gid_index,
		    struct wrc_mlx5_port *ret_port);

	/* Commands that make no object. */
	int (*command)(void *ctx, const void *in, size_t in_len, void *out,
		       size_t out_len);
	int (*create)(void *ctx, const void *in, size_t in_len, void *out,
		      size_t out_len, void **ret_obj);
	int (*modify)(void *obj, const void *in, size_t in_len, void *out,
		      size_t out_len);
	int (*query)(void *obj, const void *in, size_t in_len, void *out,
		     size_t out_len);
	int (*destroy)(void *obj);

	/* Memory for rings and records. */
	int (*umem_reg)(void *ctx, void *va, size_t len, __u32 *ret_id,
			void **ret_umem);
	int (*umem_dereg)(void *umem);

	int (*pd_alloc)(void *ctx, __u32 *ret_pdn, void **ret_pd);
	int (*pd_free)(void *pd);
	/* One key for both directions.  access: enum wrc_mlx5_access. */
	int (*mr_reg)(void *pd, void *va, __u64 len, __u64 iova,
		      unsigned int access, __u32 *ret_key, void **ret_mr);
	int (*mr_dereg)(void *mr);

	int (*uar_alloc)(void *ctx, __u32 *ret_page, void **ret_uar);
	void (*uar_free)(void *uar);
	/* The first 8 bytes of a WQE to the doorbell register.  All that was
	 * written before is visible to the device before. */
	void (*ring)(void *uar, const __u8 ctrl[8]);
	/* The device may get on; microseconds. */
	void (*pause)(void *ctx);
	int (*eqn)(void *ctx, __u32 *ret_eqn);

	/* RoCE: the Ethernet address behind path->dgid. */
	int (*resolve)(void *pd, const struct wrc_mlx5_path *path,
		       __u8 ret_mac[6]);
};

/*
 * The sentence for a device that cannot be opened for DevX; err: of the open, -errno.
 * Linux says -EINVAL if the firmware has no user contexts (log_max_uctx is 0), which is
 * what the setting UCTX_EN gives it.
 */
void wrc_mlx5_no_devx(const char *name, int err, char why[WRC_MLX5_WHY_MAX]);

/* libibverbs and libmlx5. */
extern const struct wrc_mlx5_devx wrc_mlx5_devx;

#endif /* WRC_MLX5_DEVX_H */
