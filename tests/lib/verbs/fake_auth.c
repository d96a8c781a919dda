/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory nodes that ask who is there: one client is known, with one secret. */
#include <core/wqe.h>
#include <errno.h>
#include <odrp/wire.h>
#include <string.h>

#include "../../../userspace/auth/shake.h"
#include "fake_priv.h"

#define HANDLE	UINT64_C(0x1122334455667788)

/* A memory node. Its counter is that of the last request. */
static struct node {
	struct auth_answer answer;
	struct auth_ends ends;
	uint32_t counter;
} nodes[2];

/* One handshake at a time, which is what the back end has; NULL: none. */
static struct node *shaking;

static size_t hello_take(struct fake_qp *qp, const void *bytes, size_t len, uint8_t *to)
{
	struct sockaddr_in *from = (struct sockaddr_in *)rdma_get_local_addr(qp->id);
	const struct odrp_auth_hello *hello = bytes;
	struct node *node = &nodes[hello->mnode_addr[15] - 1];

	node->ends = (struct auth_ends){
		.cnode_ip = from->sin_addr.s_addr, .cnode_qpn = qp->qp.qp_num,
		.mnode_qpn = FAKE_PEER_QPN,
	};
	memcpy(&node->ends.mnode_ip, hello->mnode_addr + 12, sizeof(__be32));
	if (auth_answer_hello(&node->answer, bytes, len, &node->ends))
		return 0;
	shaking = node;
	memcpy(to, &node->answer.challenge, sizeof(node->answer.challenge));
	return sizeof(node->answer.challenge);
}

static size_t response_take(const void *bytes, size_t len, uint8_t *to)
{
	char why[SECRET_WHY_MAX];
	struct odrp_auth_done done;
	struct auth_answer *answer = &shaking->answer;
	struct secrets secrets;
	uint64_t session;

	shaking = NULL;
	if (strcmp((const char *)answer->hello.cnode, fake.key_name) ||
	    secret_read(fake.key_dir, fake.key_name, &secrets, why) ||
	    auth_answer_response(answer, bytes, len, &secrets, &session) || session)
		return 0;
	fake.handshakes++;
	auth_answer_done(answer, ODRP_WIRE_OK, HANDLE, &done);
	memcpy(to, &done, sizeof(done));
	return sizeof(done);
}

size_t fake_auth_message(struct fake_qp *qp, const void *bytes, size_t len,
			 uint8_t ret_answer[192])
{
	return shaking ? response_take(bytes, len, ret_answer) :
	       hello_take(qp, bytes, len, ret_answer);
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
	struct odrp_auth_bound bound = auth_bound(&nodes[node].ends, qpn);
	struct odrp_auth_far req;

	memcpy(&req, priv, sizeof(req));
	if (be64_to_cpu(req.handle) != HANDLE ||
	    auth_check_far(&nodes[node].answer.key, bound, &req))
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

size_t fake_auth_seal(unsigned node, bool accepted, void *priv, size_t len)
{
	struct odrp_auth_bound bound = auth_bound(&nodes[node].ends,
						  accepted ? FAKE_PEER_QPN : 0);

	if (!fake.key_dir)
		return len;
	bound.what = accepted ? ODRP_AUTH_REP : ODRP_AUTH_REJ;
	bound.counter = cpu_to_be64(nodes[node].counter);
	auth_sign_answer(&nodes[node].answer.key, bound, priv, len,
			 (uint8_t *)priv + len);
	return len + ODRP_AUTH_MAC;
}
