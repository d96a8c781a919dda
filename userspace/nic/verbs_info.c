/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reports what the RDMA devices of this host can do; queries the devices, or tries. */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nic.h"
#include "verbs_info.h"

static const char *atomics_name(enum ibv_atomic_cap cap)
{
	switch (cap) {
	case IBV_ATOMIC_HCA:
		return "device";
	case IBV_ATOMIC_GLOB:
		return "host";
	default:
		return "none";
	}
}

static const char *gid_type_name(uint32_t type)
{
	switch (type) {
	case IBV_GID_TYPE_IB:
		return "InfiniBand";
	case IBV_GID_TYPE_ROCE_V1:
		return "RoCE v1";
	case IBV_GID_TYPE_ROCE_V2:
		return "RoCE v2";
	default:
		return "unknown";
	}
}

static const char *link_name(uint8_t link)
{
	switch (link) {
	case IBV_LINK_LAYER_ETHERNET:
		return "Ethernet";
	case IBV_LINK_LAYER_INFINIBAND:
		return "InfiniBand";
	default:
		return "unknown";
	}
}

/* Tries to make a thread domain: 0, or the (positive) errno. */
static int td_try(struct ibv_context *ctx)
{
	struct ibv_td_init_attr none = { .comp_mask = 0 };
	struct ibv_td *td;

	errno = 0;
	td = ibv_alloc_td(ctx, &none);
	if (!td)
		return errno ? errno : EOPNOTSUPP;
	ibv_dealloc_td(td);
	return 0;
}

static int inline_of(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t want)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
			.max_recv_sge = 1, .max_inline_data = want,
		},
	};
	struct ibv_qp *qp;

	errno = 0;
	qp = ibv_create_qp(pd, &attr);
	if (!qp)
		return errno ? -errno : -EIO;
	ibv_destroy_qp(qp);
	return attr.cap.max_inline_data;
}

/* Most inline data, or -errno. No attribute of a device has this: try a queue pair. */
static int inline_try(struct ibv_context *ctx)
{
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = pd ? ibv_create_cq(ctx, 1, NULL, NULL, 0) : NULL;
	int len = errno ? -errno : -EIO;

	if (cq) {
		len = inline_of(pd, cq, FAR_NIC_MAX_INLINE);
		if (len < 0)
			len = inline_of(pd, cq, 0);
		ibv_destroy_cq(cq);
	}
	if (pd)
		ibv_dealloc_pd(pd);
	return len;
}

/* The GIDs of all ports of a device. */
struct gid_table {
	struct ibv_gid_entry *entry;
	ssize_t nr;
};

/* The kernel answers with all GIDs of the device, or with none if there is less room. */
static void gid_table_read(struct ibv_context *ctx, unsigned nr_ports,
			   struct gid_table *ret_table)
{
	struct ibv_port_attr attr;
	size_t room = 0;
	unsigned i;

	for (i = 1; i <= nr_ports; i++)
		if (!ibv_query_port(ctx, i, &attr))
			room += attr.gid_tbl_len;
	ret_table->nr = 0;
	ret_table->entry = calloc(room, sizeof(*ret_table->entry));
	if (ret_table->entry)
		ret_table->nr = ibv_query_gid_table(ctx, ret_table->entry, room, 0);
}

/* gid has room for all GIDs of the table. */
static void gids_fill(const struct gid_table *table, struct far_verbs_port *port)
{
	ssize_t i;

	for (i = 0; i < table->nr; i++) {
		const struct ibv_gid_entry *entry = &table->entry[i];
		struct far_verbs_gid *gid = &port->gid[port->nr_gids];

		if (entry->port_num != port->number)
			continue;
		gid->index = entry->gid_index;
		gid->type = gid_type_name(entry->gid_type);
		inet_ntop(AF_INET6, entry->gid.raw, gid->gid, sizeof(gid->gid));
		port->nr_gids++;
	}
}

static int port_report(struct ibv_context *ctx, unsigned number,
		       const struct gid_table *table, const struct far_verbs_reporter *to)
{
	struct far_verbs_port port = { .number = number };
	struct ibv_port_attr attr;
	int err;

	if (ibv_query_port(ctx, number, &attr))
		return 0;
	port.state = ibv_port_state_str(attr.state);
	port.link = link_name(attr.link_layer);
	port.mtu = 128u << attr.active_mtu;
	port.max_message = attr.max_msg_sz;
	if (table->nr > 0)
		port.gid = calloc(table->nr, sizeof(*port.gid));
	if (port.gid)
		gids_fill(table, &port);
	err = to->port(to->arg, &port);
	free(port.gid);
	return err;
}

static int ports_report(struct ibv_context *ctx, unsigned nr,
			const struct far_verbs_reporter *to)
{
	struct gid_table table;
	unsigned i;
	int err = 0;

	gid_table_read(ctx, nr, &table);
	for (i = 1; i <= nr && !err; i++)
		err = port_report(ctx, i, &table, to);
	free(table.entry);
	return err;
}

static int device_report(struct ibv_context *ctx, const struct far_verbs_reporter *to)
{
	struct far_verbs_device device = { .name = ibv_get_device_name(ctx->device) };
	struct ibv_device_attr attr;
	int err;

	if (ibv_query_device(ctx, &attr))
		return 0;
	snprintf(device.firmware, sizeof(device.firmware), "%s", attr.fw_ver);
	device.atomics = atomics_name(attr.atomic_cap);
	device.thread_domains = td_try(ctx);
	device.max_inline = inline_try(ctx);
	device.max_sge = attr.max_sge;
	device.max_queue = attr.max_qp_wr;
	device.max_queues = attr.max_qp;
	device.max_reads = attr.max_qp_init_rd_atom;
	device.nr_ports = attr.phys_port_cnt;
	err = to->device(to->arg, &device);
	return err ? err : ports_report(ctx, attr.phys_port_cnt, to);
}

int far_verbs_report(const struct far_verbs_reporter *to)
{
	int nr = 0, i, err = 0;
	struct ibv_device **list = ibv_get_device_list(&nr);
	struct ibv_context *ctx;

	if (!list)
		return 0;
	for (i = 0; i < nr && !err; i++) {
		ctx = ibv_open_device(list[i]);
		if (!ctx)
			continue;
		err = device_report(ctx, to);
		ibv_close_device(ctx);
	}
	ibv_free_device_list(list);
	return err;
}
