/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parses the answers of memory nodes, which are not trusted. */
#include "hello.h"

#include <core/wqe.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

_Static_assert(FAR_ATTACH_READ == ODRP_FAR_READ && FAR_ATTACH_WRITE == ODRP_FAR_WRITE,
	       "rights");
_Static_assert(FAR_CALL_MAX == ODRP_FAR_CALL_MAX && FAR_HELLO_MAX == ODRP_FAR_ANSWER_MAX &&
	       FAR_SERVICE_MAX <= ODRP_FAR_NAME_MAX, "calls");

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

int far_hello_answer(struct far_regions *regions, const uint8_t *priv, unsigned len,
		     struct far_hello *ret_answer)
{
	const size_t at = sizeof(struct odrp_far_accept) + sizeof(struct odrp_far_region);
	struct odrp_far_answer answer;
	int err = far_regions_parse(regions, priv, len);

	if (err)
		return err;
	if (regions->nr != 1 || len < at + sizeof(answer))
		return -EPROTO;
	memcpy(&answer, priv + at, sizeof(answer));
	if (answer.len > sizeof(answer.data))
		return -EPROTO;
	regions->rights = FAR_ATTACH_READ | FAR_ATTACH_WRITE;
	*ret_answer = (struct far_hello) { .len = answer.len };
	memcpy(ret_answer->data, answer.data, answer.len);
	return 0;
}

void far_hello_caller(const struct odrp_far_hello *request, struct far_regions *ret_regions,
		      struct far_hello *ret_hello)
{
	*ret_regions = (struct far_regions) {
		.nr = 1,
		.rights = FAR_ATTACH_READ | FAR_ATTACH_WRITE,
		.region[0] = { .size = UINT64_C(1) << 40,
			       .rkey = be32_to_cpu(request->number) },
	};
	*ret_hello = (struct far_hello) { .len = request->rights };
	memcpy(ret_hello->data, &request->attach, ODRP_FAR_CALL_MAX);
}

int far_hello_call(const char *service, uint32_t rkey, const struct far_hello *hello,
		   struct odrp_far_hello *ret_request)
{
	if (hello->len > FAR_CALL_MAX)
		return -EINVAL;
	*ret_request = far_hello(ODRP_FAR_CALL, 0);
	ret_request->rights = hello->len;
	memcpy(&ret_request->attach, hello->data, hello->len);
	ret_request->number = cpu_to_be32(rkey);
	return far_hello_name(ret_request, service);
}

size_t far_hello_accept(struct far_hello_accept *accept, uint32_t rkey, uint64_t size,
			const struct far_hello *answer)
{
	*accept = (struct far_hello_accept) {
		.head.magic = cpu_to_be32(ODRP_FAR_MAGIC),
		.head.version = cpu_to_be16(ODRP_FAR_VERSION),
		.head.nr_regions = cpu_to_be16(1),
		.region.size = cpu_to_be64(size),
		.region.rkey = cpu_to_be32(rkey),
		.answer.len = answer->len,
	};
	memcpy(accept->answer.data, answer->data, answer->len);
	return offsetof(struct far_hello_accept, mac);
}

unsigned far_hello_reason(int err)
{
	return ODRP_FAR_E_SERVICE - err;
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
