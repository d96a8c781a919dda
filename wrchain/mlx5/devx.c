// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The functions of devx.h on upstream libibverbs and libmlx5.  Nothing of it
 * was run on hardware.
 */
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <time.h>
#include "devx.h"

/* Doorbell stores that are not combined, where the kernel has that (5.8). */
#define UAR_NC	MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC
#define UAR_BF	MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF

struct device {
	struct ibv_context *verbs;
	struct ibv_device_attr attr;
};

/* What failed without saying why. */
static int error(void)
{
	return errno ? -errno : -EIO;
}

static int status(int r)
{
	return r > 0 ? -r : r < 0 ? error() : 0;
}

/* ---- the device ------------------------------------------------------------- */

static struct ibv_device *device_find(struct ibv_device **list,
				      const char *name)
{
	for (; *list; list++) {
		if (*name ? !strcmp(ibv_get_device_name(*list), name) :
			    mlx5dv_is_supported(*list))
			return *list;
	}
	return NULL;
}

static int open_one(struct ibv_device *dev, struct device *ret_dev, char *why)
{
	struct mlx5dv_context_attr attr = {
		.flags = MLX5DV_CONTEXT_FLAGS_DEVX,
	};
	const char *name = ibv_get_device_name(dev);
	int r;

	if (!mlx5dv_is_supported(dev)) {
		snprintf(why, WRC_MLX5_WHY_MAX, "%s is not an mlx5 device",
			 name);
		return -EOPNOTSUPP;
	}
	errno = 0;
	ret_dev->verbs = mlx5dv_open_device(dev, &attr);
	if (!ret_dev->verbs) {
		r = error();
		wrc_mlx5_no_devx(name, r, why);
		return r == -ENODEV ? -EOPNOTSUPP : r;
	}
	r = status(ibv_query_device(ret_dev->verbs, &ret_dev->attr));
	if (r) {
		snprintf(why, WRC_MLX5_WHY_MAX, "%s: cannot be queried: %s",
			 name, strerror(-r));
		ibv_close_device(ret_dev->verbs);
	}
	return r;
}

static void why_none(const char *name, char *why)
{
	if (*name)
		snprintf(why, WRC_MLX5_WHY_MAX,
			 "%s: no such RDMA device; ibv_devices lists them",
			 name);
	else
		snprintf(why, WRC_MLX5_WHY_MAX,
			 "there is no mlx5 device in this machine");
}

static int dev_open(const char *name, void **ret_ctx,
		    char why[WRC_MLX5_WHY_MAX])
{
	struct ibv_device **list, *dev;
	struct device *d;
	int r;

	d = calloc(1, sizeof(*d));
	if (!d) {
		snprintf(why, WRC_MLX5_WHY_MAX, "out of memory");
		return -ENOMEM;
	}
	errno = 0;
	list = ibv_get_device_list(NULL);
	dev = list ? device_find(list, name) : NULL;
	if (!dev) {
		why_none(name, why);
		r = -ENODEV;
	} else {
		r = open_one(dev, d, why);
	}
	if (list)
		ibv_free_device_list(list);
	if (r)
		free(d);
	else
		*ret_ctx = d;
	return r;
}

static void dev_close(void *ctx)
{
	struct device *d = ctx;

	ibv_close_device(d->verbs);
	free(d);
}

static const char *dev_name(void *ctx)
{
	return ibv_get_device_name(((struct device *)ctx)->verbs->device);
}

static const char *dev_firmware(void *ctx)
{
	return ((struct device *)ctx)->attr.fw_ver;
}

static void dev_guid(void *ctx, __u8 ret_guid[8])
{
	memcpy(ret_guid, &((struct device *)ctx)->attr.node_guid, 8);
}

static struct ibv_context *verbs(void *ctx)
{
	return ((struct device *)ctx)->verbs;
}

static int dev_port(void *ctx, __u8 port, __u16 gid_index,
		    struct wrc_mlx5_port *ret_port)
{
	struct ibv_port_attr attr;
	union ibv_gid gid;
	int r;

	r = status(ibv_query_port(verbs(ctx), port, &attr));
	if (!r)
		r = status(ibv_query_gid(verbs(ctx), port, gid_index, &gid));
	if (r)
		return r;
	ret_port->active = attr.state == IBV_PORT_ACTIVE;
	ret_port->ethernet = attr.link_layer == IBV_LINK_LAYER_ETHERNET;
	ret_port->mtu = attr.active_mtu;
	ret_port->lid = attr.lid;
	memcpy(ret_port->gid, gid.raw, sizeof(ret_port->gid));
	return 0;
}

/* ---- commands ------------------------------------------------------------------ */

static int dev_command(void *ctx, const void *in, size_t in_len, void *out,
		       size_t out_len)
{
	return status(mlx5dv_devx_general_cmd(verbs(ctx), in, in_len, out,
					      out_len));
}

static int dev_create(void *ctx, const void *in, size_t in_len, void *out,
		      size_t out_len, void **ret_obj)
{
	struct mlx5dv_devx_obj *obj;

	errno = 0;
	obj = mlx5dv_devx_obj_create(verbs(ctx), in, in_len, out, out_len);
	if (!obj)
		return error();
	*ret_obj = obj;
	return 0;
}

static int dev_modify(void *obj, const void *in, size_t in_len, void *out,
		      size_t out_len)
{
	return status(mlx5dv_devx_obj_modify(obj, in, in_len, out, out_len));
}

static int dev_query(void *obj, const void *in, size_t in_len, void *out,
		     size_t out_len)
{
	return status(mlx5dv_devx_obj_query(obj, in, in_len, out, out_len));
}

static int dev_destroy(void *obj)
{
	return status(mlx5dv_devx_obj_destroy(obj));
}

/* ---- memory --------------------------------------------------------------------- */

static int dev_umem_reg(void *ctx, void *va, size_t len, __u32 *ret_id,
			void **ret_umem)
{
	struct mlx5dv_devx_umem *umem;

	errno = 0;
	umem = mlx5dv_devx_umem_reg(verbs(ctx), va, len,
				    IBV_ACCESS_LOCAL_WRITE);
	if (!umem)
		return error();
	*ret_id = umem->umem_id;
	*ret_umem = umem;
	return 0;
}

static int dev_umem_dereg(void *umem)
{
	return status(mlx5dv_devx_umem_dereg(umem));
}

static int dev_pd_alloc(void *ctx, __u32 *ret_pdn, void **ret_pd)
{
	struct mlx5dv_pd out = { 0 };
	struct mlx5dv_obj obj = { .pd = { .out = &out } };
	struct ibv_pd *pd;
	int r;

	errno = 0;
	pd = ibv_alloc_pd(verbs(ctx));
	if (!pd)
		return error();
	obj.pd.in = pd;
	r = status(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD));
	if (r) {
		ibv_dealloc_pd(pd);
		return r;
	}
	*ret_pdn = out.pdn;
	*ret_pd = pd;
	return 0;
}

static int dev_pd_free(void *pd)
{
	return status(ibv_dealloc_pd(pd));
}

/* Never IBV_ACCESS_RELAXED_ORDERING: chains rely on the order of writes. */
static unsigned int verbs_access(unsigned int access)
{
	return (access & WRC_MLX5_MR_LOCAL_WRITE ?
		IBV_ACCESS_LOCAL_WRITE : 0) |
	       (access & WRC_MLX5_MR_REMOTE_READ ?
		IBV_ACCESS_REMOTE_READ : 0) |
	       (access & WRC_MLX5_MR_REMOTE_WRITE ?
		IBV_ACCESS_REMOTE_WRITE : 0) |
	       (access & WRC_MLX5_MR_REMOTE_ATOMIC ?
		IBV_ACCESS_REMOTE_ATOMIC : 0);
}

static int dev_mr_reg(void *pd, void *va, __u64 len, __u64 iova,
		      unsigned int access, __u32 *ret_key, void **ret_mr)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_mr_iova2(pd, va, len, iova, verbs_access(access));
	if (!mr)
		return error();
	if (mr->lkey != mr->rkey) {
		ibv_dereg_mr(mr);
		return -EOPNOTSUPP;
	}
	*ret_key = mr->lkey;
	*ret_mr = mr;
	return 0;
}

static int dev_mr_dereg(void *mr)
{
	return status(ibv_dereg_mr(mr));
}

/* ---- doorbell ---------------------------------------------------------------------- */

static int dev_uar_alloc(void *ctx, __u32 *ret_page, void **ret_uar)
{
	struct mlx5dv_devx_uar *uar;

	errno = 0;
	uar = mlx5dv_devx_alloc_uar(verbs(ctx), UAR_NC);
	if (!uar)
		uar = mlx5dv_devx_alloc_uar(verbs(ctx), UAR_BF);
	if (!uar)
		return error();
	*ret_page = uar->page_id;
	*ret_uar = uar;
	return 0;
}

static void dev_uar_free(void *uar)
{
	mlx5dv_devx_free_uar(uar);
}

/* Stores of this CPU, to memory and to the register, in order and now. */
static void store_fence(void)
{
#if defined(__x86_64__)
	__asm__ volatile("sfence" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dsb st" ::: "memory");
#else
	__sync_synchronize();
#endif
}

static void dev_ring(void *uar, const __u8 ctrl[8])
{
	volatile __u64 *reg = ((struct mlx5dv_devx_uar *)uar)->reg_addr;
	__u64 value;

	memcpy(&value, ctrl, sizeof(value));
	store_fence();
	*reg = value;
	store_fence();
}

static void dev_pause(void *ctx)
{
	const struct timespec ts = { .tv_nsec = 10000 };

	nanosleep(&ts, NULL);
}

static int dev_eqn(void *ctx, __u32 *ret_eqn)
{
	return status(mlx5dv_devx_query_eqn(verbs(ctx), 0, ret_eqn));
}

/* ---- addresses ------------------------------------------------------------------------- */

/* libmlx5 resolves it for its own address handles; so one is made. */
static int dev_resolve(void *pd, const struct wrc_mlx5_path *path,
		       __u8 ret_mac[6])
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = path->port,
		.sl = path->sl,
		.grh = {
			.sgid_index = path->sgid_index,
			.hop_limit = path->hop_limit,
			.traffic_class = path->traffic_class,
			.flow_label = path->flow_label,
		},
	};
	struct mlx5dv_ah out = { 0 };
	struct mlx5dv_obj obj = { .ah = { .out = &out } };
	struct ibv_ah *ah;
	int r;

	memcpy(attr.grh.dgid.raw, path->dgid, sizeof(attr.grh.dgid.raw));
	errno = 0;
	ah = ibv_create_ah(pd, &attr);
	if (!ah)
		return error();
	obj.ah.in = ah;
	r = status(mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH));
	if (!r)
		memcpy(ret_mac, out.av->rmac, 6);
	ibv_destroy_ah(ah);
	return r;
}

const struct wrc_mlx5_devx wrc_mlx5_devx = {
	.open = dev_open,
	.close = dev_close,
	.name = dev_name,
	.firmware = dev_firmware,
	.guid = dev_guid,
	.port = dev_port,
	.command = dev_command,
	.create = dev_create,
	.modify = dev_modify,
	.query = dev_query,
	.destroy = dev_destroy,
	.umem_reg = dev_umem_reg,
	.umem_dereg = dev_umem_dereg,
	.pd_alloc = dev_pd_alloc,
	.pd_free = dev_pd_free,
	.mr_reg = dev_mr_reg,
	.mr_dereg = dev_mr_dereg,
	.uar_alloc = dev_uar_alloc,
	.uar_free = dev_uar_free,
	.ring = dev_ring,
	.pause = dev_pause,
	.eqn = dev_eqn,
	.resolve = dev_resolve,
};
