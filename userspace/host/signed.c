/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Signed requests; see signed.h. */
#include "signed.h"

#include <string.h>

static size_t asker_sign(const struct far_host_asker *asker, bool accepted, uint32_t qpn,
			 void *answer, size_t len)
{
	const struct far_host_signed *req = (const struct far_host_signed *)asker;

	return idents_sign(&req->signer, accepted ? ODRP_AUTH_REP : ODRP_AUTH_REJ, qpn,
			   answer, len);
}

/* Puts the name of the space with this digest into hello. Zeros: the hello names none. */
static void hello_name_space(const struct far_host *host, const uint8_t *digest,
			     struct odrp_far_hello *hello)
{
	static const uint8_t none[ODRP_AUTH_SPACE];
	uint8_t name[ODRP_FAR_NAME_MAX], its[ODRP_AUTH_SPACE];
	const struct far_host_space *space;

	if (!memcmp(digest, none, sizeof(none)))
		return;
	/* a name that no space has, for an unknown digest */
	hello->name[0] = '.';
	for (space = host->spaces; space; space = space->next) {
		memset(name, 0, sizeof(name));
		memcpy(name, space->name, strlen(space->name));
		auth_space(name, sizeof(name), its);
		if (!memcmp(its, digest, sizeof(its)))
			memcpy(hello->name, name, sizeof(name));
	}
	if (hello->role == ODRP_FAR_CALL && host->service)
		host->service(host->arg, digest, hello->name);
}

int far_host_signed_check(const struct far_host *host, struct idents *idents,
			  const struct nic_event *event, struct far_host_signed *ret_req)
{
	struct odrp_auth_far req;
	int err;

	*ret_req = (struct far_host_signed){ .asker.sign = asker_sign, .event = *event };
	memcpy(&req, event->priv, sizeof(req));
	err = idents_check_far(idents, event, &ret_req->pass, &ret_req->signer);
	if (err)
		return err;
	ret_req->asker.pass = ret_req->pass->handle;
	ret_req->hello = (struct odrp_far_hello){
		.magic = cpu_to_be32(ODRP_FAR_MAGIC),
		.version = cpu_to_be16(ODRP_FAR_VERSION),
		.role = req.role, .rights = req.rights, .number = req.number,
		.attach = req.attach,
	};
	hello_name_space(host, req.space, &ret_req->hello);
	memcpy(ret_req->event.priv, &ret_req->hello, sizeof(ret_req->hello));
	return 0;
}

void far_host_signed_keep(const struct far_host_asker *asker, struct far_host_signed *ret_req)
{
	if (asker->pass)
		*ret_req = *(const struct far_host_signed *)asker;
	else
		*ret_req = (struct far_host_signed){ .asker = *asker };
}

bool far_host_signed_adopt(struct far_host *host, const struct idents *idents,
			   const struct far_host_signed *req)
{
	struct far_host_attach *attach =
		far_host_find(host, be64_to_cpu(req->hello.attach));
	const struct pass *old = attach ? idents_pass(idents, attach->pass) : NULL;

	if (!old || attach->ip != req->event.peer_ip || strcmp(old->name, req->pass->name))
		return false;
	attach->pass = req->pass->handle;
	return true;
}
