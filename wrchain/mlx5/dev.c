// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The device itself, and how it is asked; see dev.h. */
#include <stdlib.h>
#include "caps.h"
#include "cmd-priv.h"

/* mlx5's numbers for what a command came to, as Linux' device.h has them. */
static const struct {
	__u8 status;
	const char *text;
	int err;
} statuses[] = {
	{ 0x01, "internal error", -EIO },
	{ 0x02, "bad operation", -EOPNOTSUPP },
	{ 0x03, "bad parameter", -EINVAL },
	{ 0x04, "bad system state", -EIO },
	{ 0x05, "bad resource", -EINVAL },
	{ 0x06, "resource busy", -EBUSY },
	{ 0x08, "limits exceeded", -ENOMEM },
	{ 0x09, "bad resource state", -EINVAL },
	{ 0x0a, "bad index", -EINVAL },
	{ 0x0f, "no resources", -EAGAIN },
	{ 0x10, "bad queue pair state", -EINVAL },
	{ 0x30, "bad packet", -EINVAL },
	{ 0x40, "bad size of outstanding CQEs", -EINVAL },
	{ 0x50, "bad input length", -EIO },
	{ 0x51, "bad output length", -EIO },
};

static const struct {
	__u16 opcode;
	const char *name;
} commands[] = {
	{ WRC_MLX5_QUERY_HCA_CAP, "QUERY_HCA_CAP" },
	{ WRC_MLX5_CREATE_MKEY, "CREATE_MKEY" },
	{ WRC_MLX5_CREATE_CQ, "CREATE_CQ" },
	{ WRC_MLX5_QUERY_CQ, "QUERY_CQ" },
	{ WRC_MLX5_CREATE_QP, "CREATE_QP" },
	{ WRC_MLX5_RST2INIT_QP, "RST2INIT_QP" },
	{ WRC_MLX5_INIT2RTR_QP, "INIT2RTR_QP" },
	{ WRC_MLX5_RTR2RTS_QP, "RTR2RTS_QP" },
	{ WRC_MLX5_2ERR_QP, "2ERR_QP" },
	{ WRC_MLX5_2RST_QP, "2RST_QP" },
	{ WRC_MLX5_QUERY_QP, "QUERY_QP" },
	{ WRC_MLX5_QUERY_ROCE_ADDRESS, "QUERY_ROCE_ADDRESS" },
	{ WRC_MLX5_ALLOC_Q_COUNTER, "ALLOC_Q_COUNTER" },
};

static const char *command_name(const struct wrc_mlx5_cmd *cmd)
{
	__u16 opcode = wrc_mlx5_get(cmd->in, WRC_F(create_qp_in, opcode));
	unsigned int i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (commands[i].opcode == opcode)
			return commands[i].name;
	}
	return "command";
}

/* Notes what a command came to, and gives its error. */
static int outcome(struct wrc_mlx5 *dev, const struct wrc_mlx5_cmd *cmd,
		   const __u8 *out, int err)
{
	const char *text = strerror(-err);
	unsigned int i;
	__u8 status;

	dev->stats.commands++;
	status = wrc_mlx5_get(out, WRC_F(query_hca_cap_out, status));
	if (!err && !status)
		return 0;
	dev->stats.refused++;
	for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		if (status != statuses[i].status)
			continue;
		text = statuses[i].text;
		err = statuses[i].err;
	}
	if (!err)
		err = -EIO;
	snprintf(dev->last_error, sizeof(dev->last_error),
		 "%s: %s (status 0x%02x, syndrome 0x%08x)", command_name(cmd),
		 text, status,
		 (unsigned int)wrc_mlx5_get(out, WRC_F(query_hca_cap_out,
						       syndrome)));
	return err;
}

/* A number that came from elsewhere was too large. */
static int unfit(struct wrc_mlx5 *dev, const struct wrc_mlx5_cmd *cmd)
{
	if (cmd->err)
		snprintf(dev->last_error, sizeof(dev->last_error),
			 "%s: a number does not fit its field",
			 command_name(cmd));
	return cmd->err;
}

static int dev_command(struct wrc_mlx5 *dev, const struct wrc_mlx5_cmd *cmd,
		       __u8 *ret_out)
{
	if (unfit(dev, cmd))
		return cmd->err;
	memset(ret_out, 0, cmd->out_len);
	return outcome(dev, cmd, ret_out,
		       dev->devx->command(dev->ctx, cmd->in, cmd->in_len,
					  ret_out, cmd->out_len));
}

int wrc_mlx5_create(struct wrc_mlx5 *dev, const struct wrc_mlx5_cmd *cmd,
		    __u8 *ret_out, void **ret_obj)
{
	if (unfit(dev, cmd))
		return cmd->err;
	memset(ret_out, 0, cmd->out_len);
	return outcome(dev, cmd, ret_out,
		       dev->devx->create(dev->ctx, cmd->in, cmd->in_len,
					 ret_out, cmd->out_len, ret_obj));
}

int wrc_mlx5_modify(struct wrc_mlx5 *dev, void *obj,
		    const struct wrc_mlx5_cmd *cmd)
{
	__u8 out[WRC_MLX5_IN_MAX] = { 0 };

	if (unfit(dev, cmd))
		return cmd->err;
	return outcome(dev, cmd, out,
		       dev->devx->modify(obj, cmd->in, cmd->in_len, out,
					 cmd->out_len));
}

void wrc_mlx5_question_init(const struct wrc_mlx5 *dev, void *obj,
			    struct wrc_mlx5_question *q)
{
	q->devx = dev->devx;
	q->obj = obj;
	memset(q->out, 0, sizeof(q->out));
}

void wrc_mlx5_question_run(struct wrc_mlx5_question *q)
{
	const struct wrc_mlx5_cmd *cmd = &q->cmd;

	q->err = cmd->err ? cmd->err : q->devx->query(q->obj, cmd->in, cmd->in_len,
						      q->out, cmd->out_len);
}

int wrc_mlx5_question_end(struct wrc_mlx5 *dev, const struct wrc_mlx5_question *q)
{
	return unfit(dev, &q->cmd) ? q->cmd.err : outcome(dev, &q->cmd, q->out, q->err);
}

const char *wrc_mlx5_last_error(const struct wrc_mlx5 *dev)
{
	return dev->last_error;
}

void wrc_mlx5_guid(const struct wrc_mlx5 *dev, char ret_text[WRC_MLX5_GUID_MAX])
{
	static const __u8 none[8];
	__u8 g[8];

	dev->devx->guid(dev->ctx, g);
	*ret_text = 0;
	if (memcmp(g, none, sizeof(g)))
		snprintf(ret_text, WRC_MLX5_GUID_MAX,
			 "%02x%02x:%02x%02x:%02x%02x:%02x%02x", g[0], g[1],
			 g[2], g[3], g[4], g[5], g[6], g[7]);
}

/* ---- what it can do --------------------------------------------------------- */

static int query_cap(struct wrc_mlx5 *dev, enum wrc_mlx5_cap_type type,
		     __u8 *out)
{
	struct wrc_mlx5_cmd cmd;
	int err;

	wrc_mlx5_cmd_query_cap(type, &cmd);
	err = dev_command(dev, &cmd, out);
	if (!err)
		wrc_mlx5_parse_cap(type, out, &dev->caps);
	return err;
}

static int query_caps(struct wrc_mlx5 *dev)
{
	__u8 *out = malloc(WRC_MLX5_OUT_MAX);
	int err;

	if (!out)
		return -ENOMEM;
	err = query_cap(dev, WRC_MLX5_CAP_GENERAL, out);
	if (!err && dev->caps.atomic)
		err = query_cap(dev, WRC_MLX5_CAP_ATOMIC, out);
	if (!err && dev->caps.roce)
		err = query_cap(dev, WRC_MLX5_CAP_ROCE, out);
	free(out);
	return err;
}

void wrc_mlx5_no_devx(const char *name, int err, char why[WRC_MLX5_WHY_MAX])
{
	if (err == -EINVAL)
		snprintf(why, WRC_MLX5_WHY_MAX,
			 "%.60s: cannot be opened for DevX: most likely its "
			 "firmware has user contexts switched off; mlxconfig "
			 "-d DEVICE query UCTX_EN should say True(1); if not, "
			 "mlxconfig -d DEVICE set UCTX_EN=1, and reset the card "
			 "(mlxfwreset or a cold boot)", name);
	else
		snprintf(why, WRC_MLX5_WHY_MAX,
			 "%.60s: cannot be opened for DevX, which needs Linux "
			 "4.20 or later and firmware with UCTX_EN=1 "
			 "(mlxconfig): %s", name, strerror(-err));
}

int wrc_mlx5_probe(const struct wrc_mlx5_devx *devx, const char *name,
		   struct wrc_mlx5 *ret_dev, char why[WRC_MLX5_WHY_MAX])
{
	struct wrc_mlx5 dev = { .devx = devx };
	int err;

	why[0] = 0;
	err = devx->open(name, &dev.ctx, why);
	if (err)
		return err;
	err = query_caps(&dev);
	if (err) {
		snprintf(why, WRC_MLX5_WHY_MAX,
			 "%.60s does not tell what it can do: %.160s",
			 devx->name(dev.ctx),
			 *dev.last_error ? dev.last_error : strerror(-err));
		devx->close(dev.ctx);
		return err;
	}
	*ret_dev = dev;
	return 0;
}

/* As many as the device gives, up to max; all go back. */
int wrc_mlx5_count_counters(struct wrc_mlx5 *dev, unsigned int max,
			    unsigned int *ret_n)
{
	__u8 out[WRC_MLX5_IN_MAX];
	struct wrc_mlx5_cmd cmd;
	unsigned int n = 0;
	void **objs;

	objs = calloc(max, sizeof(*objs));
	if (!objs)
		return -ENOMEM;
	wrc_mlx5_cmd_alloc_counter(&cmd);
	while (n < max && !wrc_mlx5_create(dev, &cmd, out, &objs[n]))
		n++;
	*ret_n = n;
	while (n--)
		dev->devx->destroy(objs[n]);
	free(objs);
	return 0;
}

/* ---- start and end -------------------------------------------------------------- */

static int check_caps(struct wrc_mlx5 *dev, char *why)
{
	unsigned int pos = 0;
	const char *lacks = wrc_mlx5_lacks(&dev->caps, &pos);

	if (!lacks)
		return 0;
	snprintf(why, WRC_MLX5_WHY_MAX, "%.60s cannot run chains: %.190s",
		 dev->devx->name(dev->ctx), lacks);
	return -EOPNOTSUPP;
}

int wrc_mlx5_roce_query(struct wrc_mlx5 *dev, __u16 index,
			struct wrc_mlx5_roce *ret_roce)
{
	__u8 out[WRC_MLX5_IN_MAX];
	struct wrc_mlx5_cmd cmd;
	int err;

	wrc_mlx5_cmd_query_roce(dev->port, index, &cmd);
	err = dev_command(dev, &cmd, out);
	if (!err)
		wrc_mlx5_parse_roce(out, ret_roce);
	return err;
}

/* Different for each pair, so that networks spread them. */
__u16 wrc_mlx5_udp_sport(const struct wrc_mlx5 *dev,
			 const struct wrc_mlx5_roce *roce, __u32 from,
			 __u32 to)
{
	if (roce->version != WRC_MLX5_ROCE_V2)
		return 0;
	return dev->caps.udp_sport | ((from ^ to) & 0x3fff);
}

static int check_port(struct wrc_mlx5 *dev, char *why)
{
	const char *name = dev->devx->name(dev->ctx);
	int err;

	if (!dev->port || dev->port > dev->caps.num_ports) {
		snprintf(why, WRC_MLX5_WHY_MAX,
			 "port=%u: expected 1 to %u on %.60s", dev->port,
			 dev->caps.num_ports, name);
		return -EINVAL;
	}
	err = dev->devx->port(dev->ctx, dev->port, dev->gid_index, &dev->link);
	if (!err && dev->link.ethernet)
		err = wrc_mlx5_roce_query(dev, dev->gid_index, &dev->roce);
	if (err) {
		snprintf(why, WRC_MLX5_WHY_MAX,
			 "%.60s: port %u has no address of index %u: %.100s",
			 name, dev->port, dev->gid_index, strerror(-err));
		return err;
	}
	if (!dev->link.active) {
		snprintf(why, WRC_MLX5_WHY_MAX, "%.60s: port %u is down", name,
			 dev->port);
		return -ENETDOWN;
	}
	return 0;
}

int wrc_mlx5_start(struct wrc_mlx5 *dev, __u8 port, __u16 gid_index,
		   char why[WRC_MLX5_WHY_MAX])
{
	int err;

	why[0] = 0;
	dev->port = port;
	dev->gid_index = gid_index;
	err = check_caps(dev, why);
	if (!err)
		err = check_port(dev, why);
	if (err)
		return err;
	err = dev->devx->eqn(dev->ctx, &dev->eqn);
	if (!err)
		err = dev->devx->uar_alloc(dev->ctx, &dev->uar_page,
					   &dev->uar);
	if (err)
		snprintf(why, WRC_MLX5_WHY_MAX,
			 "%.60s gives no event queue or doorbell page: %.100s",
			 dev->devx->name(dev->ctx), strerror(-err));
	return err;
}

void wrc_mlx5_close(struct wrc_mlx5 *dev)
{
	if (dev->uar)
		dev->devx->uar_free(dev->uar);
	dev->devx->close(dev->ctx);
	memset(dev, 0, sizeof(*dev));
}

/* ---- another doorbell page -------------------------------------------------------- */

int wrc_mlx5_uar_init(struct wrc_mlx5 *dev, struct wrc_mlx5_uar *ret_uar)
{
	return dev->devx->uar_alloc(dev->ctx, &ret_uar->page, &ret_uar->uar);
}

void wrc_mlx5_uar_fini(struct wrc_mlx5 *dev, struct wrc_mlx5_uar *uar)
{
	dev->devx->uar_free(uar->uar);
}

void wrc_mlx5_uar_swap(struct wrc_mlx5 *dev, struct wrc_mlx5_uar *uar)
{
	const struct wrc_mlx5_uar was = { dev->uar, dev->uar_page };

	dev->uar = uar->uar;
	dev->uar_page = uar->page;
	*uar = was;
}
