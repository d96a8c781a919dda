// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Chooses a NIC among the RDMA devices of this machine; see auto.h. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "auto.h"
#include "node.h"

/**
 * struct choice - the search
 * @list:	all devices, with NULL at the end
 * @not:	the devices that were refused, and why
 */
struct choice {
	const struct nic_verbs_opts *opts;
	const struct wrc_mlx5_devx *devx;
	struct ibv_device **list;
	struct nic *nic;
	char not[NIC_AUTO_WHY_MAX];
};

__attribute__((format(printf, 2, 3)))
static void text_add(char text[NIC_AUTO_WHY_MAX], const char *fmt, ...)
{
	size_t len = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + len, NIC_AUTO_WHY_MAX - len, fmt, ap);
	va_end(ap);
}

static bool choice_wants(const struct choice *c, struct ibv_device *dev)
{
	return !*c->opts->device || !strcmp(c->opts->device, ibv_get_device_name(dev));
}

static int refuse(struct choice *c, int r, const char *kind, const char *name,
		  const char *reason)
{
	text_add(c->not, "%s%s:%s (%s)", *c->not ? ", " : "", kind, name, reason);
	return r;
}

static int try_mlx5(struct choice *c, const char *name)
{
	struct nic_mlx5_opts opts;
	char why[NIC_MLX5_WHY_MAX] = "";
	int r;

	if (!c->devx)
		return refuse(c, -EOPNOTSUPP, "mlx5", name, "built without libmlx5");
	r = nic_mlx5_parse(name, &opts, why);
	opts.port = c->opts->port;
	if (!r)
		r = nic_mlx5_open(&opts, c->devx, &nic_cm, &c->nic, why);
	if (r)
		return refuse(c, r, "mlx5", name, why);
	if (!c->nic->node->unfit)
		return 0;
	c->nic->ops->close(c->nic);
	return refuse(c, -EOPNOTSUPP, "mlx5", name,
		      "by the report of odrp-hwcheck it is not enough for chains");
}

static int try_verbs(struct choice *c, const char *name)
{
	struct nic_verbs_opts opts = *c->opts;
	char why[NIC_VERBS_WHY_MAX] = "";
	int r;

	snprintf(opts.device, sizeof(opts.device), "%s", name);
	r = nic_verbs_open(&opts, &c->nic, why);
	return r ? refuse(c, r, "verbs", name, why) : 0;
}

/* The first device that can be opened so.  -ENODEV: no device is wanted. */
static int try_all(struct choice *c, int (*try)(struct choice *c, const char *name),
		   struct ibv_device ***ret_dev)
{
	struct ibv_device **dev;
	int r = -ENODEV;

	for (dev = c->list; *dev; dev++) {
		if (!choice_wants(c, *dev))
			continue;
		r = try(c, ibv_get_device_name(*dev));
		if (r)
			continue;
		*ret_dev = dev;
		return 0;
	}
	return r;
}

/* Names the devices behind the one that was chosen, which nobody has tried. */
static void untried_add(const struct choice *c, struct ibv_device **dev, char *why)
{
	const char *before = "; not tried: ";

	while (*++dev) {
		if (!choice_wants(c, *dev))
			continue;
		text_add(why, "%s%s", before, ibv_get_device_name(*dev));
		before = ", ";
	}
}

static int choose(struct choice *c, char *why)
{
	struct ibv_device **dev;
	int r;

	r = try_all(c, try_mlx5, &dev);
	if (!r) {
		text_add(why, "auto: mlx5:%s, the first device that runs chains",
			 ibv_get_device_name(*dev));
		if (*c->not)
			text_add(why, "; not %s", c->not);
		untried_add(c, dev, why);
		return 0;
	}
	if (*c->not)
		r = try_all(c, try_verbs, &dev);
	if (!r)
		text_add(why, "auto: verbs:%s, without chains; not %s",
			 ibv_get_device_name(*dev), c->not);
	return r;
}

static void why_none(const struct choice *c, char *why)
{
	if (*c->not)
		text_add(why, "auto: expected an mlx5 card that runs chains, or a device with "
			 "atomics and an active port; not %s", c->not);
	else if (*c->opts->device)
		text_add(why, "auto: %s: no such RDMA device; ibv_devices lists them",
			 c->opts->device);
	else
		text_add(why, "auto: no RDMA device in this machine: expected an mlx5 card, or "
			 "a device with atomics, as ibv_devices lists them; a software NIC "
			 "is taken for nic = soft:... only");
}

int nic_auto_open(const struct nic_verbs_opts *opts, const struct wrc_mlx5_devx *devx,
		  struct nic **ret_nic, char why[NIC_AUTO_WHY_MAX])
{
	static struct ibv_device *none[] = { NULL };
	struct choice c = { .opts = opts, .devx = devx };
	struct ibv_device **list = ibv_get_device_list(NULL);
	int r;

	/* The call fails where the kernel has no RDMA: there is no device then, either. */
	c.list = list ? list : none;
	*why = 0;
	r = choose(&c, why);
	if (r)
		why_none(&c, why);
	else
		*ret_nic = c.nic;
	if (list)
		ibv_free_device_list(list);
	return r;
}
