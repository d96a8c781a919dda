/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes requests to memory nodes, and checks their answers, which are not trusted. */
#include "hello.h"

#include <core/wqe.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

_Static_assert(FAR_ATTACH_READ == ODRP_FAR_READ && FAR_ATTACH_WRITE == ODRP_FAR_WRITE,
	       "rights");

struct odrp_far_hello far_hello(enum odrp_far_role role, uint64_t attach)
{
	return (struct odrp_far_hello) {
		.magic = cpu_to_be32(ODRP_FAR_MAGIC),
		.version = cpu_to_be16(ODRP_FAR_VERSION),
		.role = role,
		.attach = cpu_to_be64(attach),
	};
}

int far_hello_name(struct odrp_far_hello *hello, const char *space)
{
	size_t len = strlen(space);

	if (!len || len > sizeof(hello->name))
		return -ENOENT;
	memcpy(hello->name, space, len);
	return 0;
}

static int status_errno(unsigned status)
{
	switch (status) {
	case ODRP_FAR_OK:
		return 0;
	case ODRP_FAR_E_VERSION:
		return -EPROTONOSUPPORT;
	case ODRP_FAR_E_SPACE:
		return -ENOENT;
	case ODRP_FAR_E_ATTACH:
		return -ESTALE;
	case ODRP_FAR_E_BUSY:
		return -EBUSY;
	case ODRP_FAR_E_NOMEM:
		return -ENOMEM;
	case ODRP_FAR_E_LIMIT:
		return -EUSERS;
	case ODRP_FAR_E_RIGHTS:
		return -EACCES;
	case ODRP_FAR_E_INCOMPLETE:
		return -EAGAIN;
	case ODRP_FAR_E_STARTING:
		return -EINPROGRESS;
	case ODRP_FAR_E_AUTH:
		return -ENOKEY;
	default:
		return -EPROTO;
	}
}

int far_hello_refusal(const uint8_t *priv, unsigned len)
{
	struct odrp_far_reject rej;

	if (len < sizeof(rej))
		return -ECONNREFUSED;
	memcpy(&rej, priv, sizeof(rej));
	if (be32_to_cpu(rej.magic) != ODRP_FAR_MAGIC)
		return -ECONNREFUSED;
	return status_errno(be16_to_cpu(rej.status));
}

#define AGAIN_MS	100

bool far_hello_again(int err, unsigned *tries)
{
	if (err != -EINPROGRESS || ++*tries >= FAR_HELLO_TRIES)
		return false;
	poll(NULL, 0, AGAIN_MS);
	return true;
}

int far_hello_info(const uint8_t *priv, unsigned len, struct far_nic_space *ret_space)
{
	struct odrp_far_info info;

	if (len < sizeof(struct odrp_far_reject) + sizeof(info))
		return -EPROTO;
	memcpy(&info, priv + sizeof(struct odrp_far_reject), sizeof(info));
	*ret_space = (struct far_nic_space) {
		.size = be64_to_cpu(info.size), .used = be64_to_cpu(info.used),
		.clients = be32_to_cpu(info.clients),
		.structures = be32_to_cpu(info.names),
		.nr_nodes = be16_to_cpu(info.nr_nodes),
	};
	memcpy(ret_space->name, info.name, sizeof(info.name));
	return 0;
}

int far_regions_parse(struct far_regions *regions, const uint8_t *priv, unsigned len)
{
	struct odrp_far_region region[ODRP_FAR_MAX_REGIONS];
	struct odrp_far_accept accept;
	unsigned i;

	if (len < sizeof(accept))
		return -EPROTO;
	memcpy(&accept, priv, sizeof(accept));
	regions->nr = be16_to_cpu(accept.nr_regions);
	if (be32_to_cpu(accept.magic) != ODRP_FAR_MAGIC ||
	    be16_to_cpu(accept.version) != ODRP_FAR_VERSION || !regions->nr ||
	    regions->nr > ODRP_FAR_MAX_REGIONS ||
	    len < sizeof(accept) + regions->nr * sizeof(region[0]))
		return -EPROTO;
	memcpy(region, priv + sizeof(accept), regions->nr * sizeof(region[0]));
	for (i = 0; i < regions->nr; i++) {
		struct far_region *to = &regions->region[i];

		to->start = be64_to_cpu(region[i].start);
		to->size = be64_to_cpu(region[i].size);
		to->addr = be64_to_cpu(region[i].addr);
		to->rkey = be32_to_cpu(region[i].rkey);
		to->place = be32_to_cpu(region[i].place);
		if (!to->size || to->size >> 40 || to->start >> 40 ||
		    to->place > FAR_PLACE_SOC)
			return -EPROTO;
	}
	return 0;
}

void far_regions_copy(const struct far_regions *regions, struct far_peer *ret_peer)
{
	ret_peer->nr_regions = regions->nr;
	memcpy(ret_peer->region, regions->region,
	       regions->nr * sizeof(regions->region[0]));
}

const struct far_region *far_regions_of(const struct far_regions *regions, uint64_t off)
{
	unsigned i;

	for (i = 0; i < regions->nr; i++)
		if (off >= regions->region[i].start &&
		    off - regions->region[i].start < regions->region[i].size)
			return &regions->region[i];
	return &regions->region[0];
}

static bool regions_hold(const struct far_regions *regions, uint64_t off, uint32_t len)
{
	const struct far_region *region = far_regions_of(regions, off);

	return off >= region->start && off - region->start <= region->size &&
	       len <= region->size - (off - region->start);
}

int far_regions_refused(const struct far_regions *regions, uint8_t op, uint64_t off,
			uint32_t len)
{
	unsigned right = op == FAR_NIC_READ ? FAR_ATTACH_READ : FAR_ATTACH_WRITE;

	if (!(regions->rights & right))
		return -EACCES;
	return regions_hold(regions, off, len) ? -EACCES : -EFAULT;
}
