/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Signed requests of clients (odrp/auth.h), for the side of a memory node. */
#ifndef FAR_HOST_SIGNED_H
#define FAR_HOST_SIGNED_H

#include "host.h"
#include "idents.h"

/**
 * struct far_host_signed - a signed request whose MAC is right
 * @asker:	its sender; signs the answer. The first member
 * @pass:	the pass that it names
 * @hello:	what it asks for
 * @event:	the same request as a hello, for far_host_serve()
 */
struct far_host_signed {
	struct far_host_asker asker;
	struct idents_signer signer;
	struct pass *pass;
	struct odrp_far_hello hello;
	struct nic_event event;
};

/*
 * Checks the request that an event carries (idents_is_far_request()). 0, or -errno of
 * idents_check_far(): then *ret_req is the request of nobody, whose answer is not signed.
 * The caller sets ret_req->asker.owner, and wipes *ret_req after use.
 */
int far_host_signed_check(const struct far_host *host, struct idents *idents,
			  const struct nic_event *event, struct far_host_signed *ret_req);
/* Copies what signs the answer to an asker's request, whether that is signed or not. */
void far_host_signed_keep(const struct far_host_asker *asker, struct far_host_signed *ret_req);
/*
 * If a REJ is lost, its REQ is sent again with a used counter. The answer to that is not
 * signed, so the peer makes another handshake. Its attachment then belongs to the later
 * pass of the same name and address. True: this has moved the attachment to req->pass.
 */
bool far_host_signed_adopt(struct far_host *host, const struct idents *idents,
			   const struct far_host_signed *req);

#endif
