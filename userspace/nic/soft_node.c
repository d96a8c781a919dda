/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The software NIC of a memory node of this process. */
#include <arpa/inet.h>
#include <stdio.h>

#include "../base/why.h"
#include "soft_priv.h"

static int dev_open(const struct nic_soft_opts *like, __be32 ip, struct snic_port *port,
		    char *why, size_t why_len, struct nic **ret_dev)
{
	struct nic_soft_opts opts;
	char words[64], reason[NIC_SOFT_WHY_MAX], addr[INET_ADDRSTRLEN];
	int err;

	inet_ntop(AF_INET, &ip, addr, sizeof(addr));
	snprintf(words, sizeof(words), "ip=%s/%u,mtu=%u,spin_us=%u", addr,
		 like->nic.prefix_len, like->nic.mtu, like->spin_us);
	err = nic_soft_parse_joined(words, &opts, reason);
	if (err) {
		port->ops->close(port);
		return far_why(why, why_len, err, "soft: memory node %s: %s", addr, reason);
	}
	opts.nic.seed = like->nic.seed + be32_to_cpu(ip);
	opts.nr_ports = 1;
	opts.ports[0] = (struct nic_soft_port) {
		.kind = NIC_SOFT_JOINED, .joined = port,
	};
	err = nic_soft_open(&opts, ret_dev, reason);
	return err ? far_why(why, why_len, err, "soft: memory node %s: %s", addr, reason) : 0;
}

int soft_node_new(const struct nic_soft_opts *like, __be32 ip, struct snic_port *port,
		  const char *keys, char *why, size_t why_len, struct far_node **ret_node)
{
	struct nic *dev;
	int err = dev_open(like, ip, port, why, why_len, &dev);

	return err ? err : far_node_new(dev, ip, keys, why, why_len, ret_node);
}
