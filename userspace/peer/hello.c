/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests to memory nodes; see hello.h. */
#include "hello.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define ERRNO_MAX	4095	/* of Linux */

struct odrp_far_hello far_hello(enum odrp_far_role role, uint64_t attach)
{
	return (struct odrp_far_hello) {
		.magic = htobe32(ODRP_FAR_MAGIC),
		.version = htobe16(ODRP_FAR_VERSION),
		.role = role,
		.attach = htobe64(attach),
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

int far_hello_status(unsigned status)
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
	case ODRP_FAR_E_PART:
	case ODRP_FAR_E_AUTH:
		return -ENOKEY;
	default:
		return status > ODRP_FAR_E_SERVICE && status <= ODRP_FAR_E_SERVICE + ERRNO_MAX ?
		       ODRP_FAR_E_SERVICE - (int)status : -EPROTO;
	}
}

int far_hello_refusal(const uint8_t *priv, size_t len)
{
	struct odrp_far_reject rej;

	if (len < sizeof(rej))
		return -ECONNREFUSED;
	memcpy(&rej, priv, sizeof(rej));
	if (be32toh(rej.magic) != ODRP_FAR_MAGIC)
		return -ECONNREFUSED;
	return far_hello_status(be16toh(rej.status));
}
