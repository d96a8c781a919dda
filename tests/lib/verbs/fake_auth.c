/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory nodes that ask who is there: one client is known, with one secret. */
#include <core/wqe.h>
#include <errno.h>
#include <odrp/wire.h>
#include <string.h>

#include "../../../userspace/peer/accept.h"
#include "fake_priv.h"

#define HANDLE	UINT64_C(0x1122334455667788)

/* A memory node. Its counter is that of the last request. */
static struct node {
	struct far_accept accept;
	uint32_t counter;
} nodes[2];

/* One handshake at a time, which is what the back end has; NULL: none. */
static struct node *shaking;

static int name_secrets(void *arg, const char *name, struct secrets *ret_secrets)
{
	char why[SECRET_WHY_MAX];

	return strcmp(name, fake.key_name) ? -ENOENT :
	       secret_read(fake.key_dir, fake.key_name, ret_secrets, why);
}

static int name_admit(void *arg, const char *name, const struct auth_key *key,
		      uint64_t session, unsigned *ret_status, uint64_t *ret_handle)
{
	fake.handshakes++;
	*ret_handle = HANDLE;
	return session ? -EPROTO : 0;
}

static const struct far_accept_ops accept_ops = {
	.secrets = name_secrets, .admit = name_admit,
};

static void shake_begin(struct fake_qp *qp, const struct odrp_auth_hello *hello)
{
	struct sockaddr_in *from = (struct sockaddr_in *)rdma_get_local_addr(qp->id);

	shaking = &nodes[hello->mnode_addr[15] - 1];
	shaking->accept = (struct far_accept){
		.state = FAR_ACCEPT_HELLO,
		.ends = {
			.cnode_ip = from->sin_addr.s_addr, .cnode_qpn = qp->qp.qp_num,
			.mnode_qpn = FAKE_PEER_QPN,
		},
	};
	memcpy(&shaking->accept.ends.mnode_ip, hello->mnode_addr + 12, sizeof(__be32));
}

size_t fake_auth_message(struct fake_qp *qp, const void *bytes, size_t len,
			 uint8_t ret_answer[192])
{
	const void *reply;
	size_t reply_len;
	int err;

	if (!shaking)
		shake_begin(qp, bytes);
	err = far_accept_message(&shaking->accept, &accept_ops, NULL, bytes, len, &reply,
				 &reply_len);
	if (!err)
		memcpy(ret_answer, reply, reply_len);
	if (err || shaking->accept.state == FAR_ACCEPT_DONE)
		shaking = NULL;
	return err ? 0 : reply_len;
}

/* The only space that the tests have. */
static void name_find(const uint8_t *bytes, struct odrp_far_hello *hello)
{
	uint8_t name[ODRP_FAR_NAME_MAX] = "s", is[ODRP_AUTH_SPACE];

	auth_space(name, sizeof(name), is);
	if (!memcmp(is, bytes, sizeof(is)))
		memcpy(hello->name, name, sizeof(name));
}

bool fake_auth_request(unsigned node, uint32_t qpn, const void *priv,
		       struct odrp_far_hello *ret_hello)
{
	struct odrp_auth_bound bound = auth_bound(&nodes[node].accept.ends, qpn);
	struct odrp_auth_far req;

	memcpy(&req, priv, sizeof(req));
	if (be64_to_cpu(req.handle) != HANDLE ||
	    auth_check_far(&nodes[node].accept.answer.key, bound, &req))
		return false;
	nodes[node].counter = be32_to_cpu(req.counter);
	*ret_hello = (struct odrp_far_hello){
		.magic = cpu_to_be32(ODRP_FAR_MAGIC),
		.version = cpu_to_be16(ODRP_FAR_VERSION),
		.role = req.role, .rights = req.rights, .number = req.number,
		.attach = req.attach,
	};
	name_find(req.space, ret_hello);
	return true;
}

size_t fake_auth_sign(unsigned node, bool accepted, void *priv, size_t len)
{
	struct odrp_auth_bound bound = auth_bound(&nodes[node].accept.ends,
						  accepted ? FAKE_PEER_QPN : 0);

	if (!fake.key_dir)
		return len;
	bound.what = accepted ? ODRP_AUTH_REP : ODRP_AUTH_REJ;
	bound.counter = cpu_to_be64(nodes[node].counter);
	auth_sign_answer(&nodes[node].accept.answer.key, bound, priv, len,
			 (uint8_t *)priv + len);
	return len + ODRP_AUTH_MAC;
}
