/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The accepting side of a handshake; see accept.h. */
#include "accept.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <odrp/wire.h>

/* An unknown name gets a random secret, so that an unknown name and a wrong secret fail at
 * the same step. */
static int secrets_find(const struct far_accept *accept, const struct far_accept_ops *ops,
			void *arg, struct secrets *ret_secrets)
{
	int err = ops->secrets(arg, (const char *)accept->answer.hello.cnode, ret_secrets);

	if (err != -ENOENT)
		return err;
	ret_secrets->nr = 1;
	return getrandom(ret_secrets->secret[0], ODRP_AUTH_SECRET, 0) == ODRP_AUTH_SECRET ?
	       0 : -EIO;
}

static int response_take(struct far_accept *accept, const struct far_accept_ops *ops,
			 void *arg, const void *bytes, size_t len)
{
	unsigned status = ODRP_WIRE_OK;
	struct secrets secrets;
	uint64_t session, handle = 0;
	int err = secrets_find(accept, ops, arg, &secrets);

	if (!err)
		err = auth_answer_response(&accept->answer, bytes, len, &secrets, &session);
	explicit_bzero(&secrets, sizeof(secrets));
	if (!err)
		err = ops->admit(arg, (const char *)accept->answer.hello.cnode,
				 &accept->answer.key, session, &status, &handle);
	if (err)
		return err;
	auth_answer_done(&accept->answer, status, handle, &accept->done);
	return 0;
}

int far_accept_message(struct far_accept *accept, const struct far_accept_ops *ops, void *arg,
		       const void *bytes, size_t len, const void **ret_reply,
		       size_t *ret_len)
{
	int err;

	switch (accept->state) {
	case FAR_ACCEPT_HELLO:
		err = auth_answer_hello(&accept->answer, bytes, len, &accept->ends);
		if (err)
			return err;
		*ret_reply = &accept->answer.challenge;
		*ret_len = sizeof(accept->answer.challenge);
		accept->state = FAR_ACCEPT_RESPONSE;
		return 0;
	case FAR_ACCEPT_RESPONSE:
		err = response_take(accept, ops, arg, bytes, len);
		if (err)
			return err;
		*ret_reply = &accept->done;
		*ret_len = sizeof(accept->done);
		accept->state = FAR_ACCEPT_DONE;
		return 0;
	default:
		return -EPROTO;
	}
}
