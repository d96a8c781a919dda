/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clients that a memory node of this process lets in; see node_auth.h. */
#include "node_auth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../base/why.h"
#include "../host/signed.h"

#define NS_PER_MS	1000000u
/* No file has this name: idents_read() passes over names that begin with a '.'. */
#define SELF		".self"

/* ---- start and end ---- */

/* Keeps the first reason. */
static void file_bad(void *arg, const char *why)
{
	char *first = arg;

	if (!*first)
		snprintf(first, SECRET_WHY_MAX, "%s", why);
}

static int names_read(struct idents *idents, const char *dir, char *why, size_t len)
{
	char bad[SECRET_WHY_MAX] = "", reason[SECRET_WHY_MAX];
	int err = idents_read(idents, dir, file_bad, bad, reason);

	if (err)
		return far_why(why, len, err, "keys=%s: %s", dir, reason);
	if (*bad)
		return far_why(why, len, -EINVAL, "keys=%s: %s", dir, bad);
	if (!idents->first)
		return far_why(why, len, -ENOENT, "keys=%s: expected a directory with a "
			       "file of a secret for each client", dir);
	return 0;
}

static int self_make(struct far_node_auth *auth)
{
	struct secrets secrets = { .nr = 1 };
	int err = -EIO;

	auth->self = (struct far_key){ .set = true, .name = SELF };
	if (getrandom(secrets.secret[0], ODRP_AUTH_SECRET, 0) == ODRP_AUTH_SECRET)
		err = idents_add(&auth->idents, SELF, &secrets);
	memcpy(auth->self.secret, secrets.secret[0], ODRP_AUTH_SECRET);
	explicit_bzero(&secrets, sizeof(secrets));
	return err;
}

/* No client resumes a session of swap here. */
static bool has_session(void *arg, const char *name, uint64_t id)
{
	return false;
}

static bool is_known(void *arg, __be32 ip)
{
	const struct far_node_auth *auth = arg;
	const struct far_host_attach *attach = auth->host->attaches;

	while (attach && attach->ip != ip)
		attach = attach->next;
	return attach;
}

int far_node_auth_new(struct far_host *host, const char *dir, char *why, size_t len,
		      struct far_node_auth **ret_auth)
{
	struct far_node_auth *auth = calloc(1, sizeof(*auth));
	int err;

	if (!auth)
		return -ENOMEM;
	auth->host = host;
	err = names_read(&auth->idents, dir, why, len);
	if (!err)
		err = self_make(auth);
	if (err)
		goto free_names;
	auth->responder.nic = host->dev;
	auth->responder.idents = &auth->idents;
	auth->responder.session = has_session;
	auth->responder.known = is_known;
	auth->responder.arg = auth;
	err = responder_init(&auth->responder);
	if (err)
		goto free_names;
	*ret_auth = auth;
	return 0;

free_names:
	idents_fini(&auth->idents);
	explicit_bzero(auth, sizeof(*auth));
	free(auth);
	return err;
}

void far_node_auth_free(struct far_node_auth *auth)
{
	responder_fini(&auth->responder);
	idents_fini(&auth->idents);
	explicit_bzero(auth, sizeof(*auth));
	free(auth);
}

/* ---- events ---- */

static void request_serve(struct far_node_auth *auth, const struct nic_event *event)
{
	struct far_host_signed req;

	if (far_host_signed_check(auth->host, &auth->idents, event, &req)) {
		far_host_refuse(auth->host, event, &req.asker, ODRP_FAR_E_AUTH);
		return;
	}
	req.pass->spent |= req.hello.role == ODRP_FAR_ATTACH ||
			   far_host_signed_adopt(auth->host, &auth->idents, &req);
	far_host_serve(auth->host, &req.event, &req.asker);
	explicit_bzero(&req, sizeof(req));
}

void far_node_auth_request(struct far_node_auth *auth, const struct nic_event *event)
{
	const struct far_host_asker nobody = { .pass = 0 };

	if (responder_request(&auth->responder, event))
		return;
	if (idents_is_far_request(event))
		request_serve(auth, event);
	else
		far_host_refuse(auth->host, event, &nobody, ODRP_FAR_E_AUTH);
}

bool far_node_auth_gone(struct far_node_auth *auth, uint32_t conn)
{
	return responder_gone(&auth->responder, conn);
}

static bool pass_needed(void *arg, const struct pass *pass)
{
	return far_host_uses_pass(arg, pass->handle);
}

bool far_node_auth_work(struct far_node_auth *auth, uint64_t now_ns)
{
	uint64_t elapsed_ms = auth->ticked_ns ? (now_ns - auth->ticked_ns) / NS_PER_MS : 0;

	if (!auth->ticked_ns)
		auth->ticked_ns = now_ns;
	if (elapsed_ms) {
		auth->ticked_ns += elapsed_ms * NS_PER_MS;
		responder_tick(&auth->responder, elapsed_ms);
		idents_tick(&auth->idents, elapsed_ms, pass_needed, auth->host);
	}
	return responder_work(&auth->responder);
}
