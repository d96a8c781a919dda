/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names, secrets, and signed requests; see pass.h. */
#include "pass.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/why.h"

#define PATH_LEN	4096

int far_key_read(const char *text, struct far_key *ret_key, char *why, size_t len)
{
	char dir[PATH_LEN] = SECRET_DIR, reason[SECRET_WHY_MAX];
	const char *slash = text ? strrchr(text, '/') : NULL;
	const char *name = slash ? slash + 1 : text;
	struct secrets secrets;
	int err;

	if (!text || !*text || (slash && slash - text >= PATH_LEN - 2))
		return far_why(why, len, -EINVAL, "key=: expected a name, or the path of a "
			       "file of secrets");
	if (slash) {
		memcpy(dir, text, slash - text + 1);
		dir[slash - text + 1] = 0;
	}
	err = secret_read(dir, name, &secrets, reason);
	if (err)
		return far_why(why, len, err, "key=%s: %s", text, reason);
	*ret_key = (struct far_key){ .set = true };
	snprintf(ret_key->name, sizeof(ret_key->name), "%s", name);
	memcpy(ret_key->secret, secrets.secret[0], sizeof(ret_key->secret));
	explicit_bzero(&secrets, sizeof(secrets));
	return 0;
}

void far_pass_sign(const struct far_pass *pass, const struct odrp_far_hello *hello,
		   uint32_t qpn, struct odrp_auth_far *ret_req)
{
	*ret_req = (struct odrp_auth_far){
		.magic = htobe32(ODRP_AUTH_FAR_MAGIC),
		.version = htobe16(ODRP_AUTH_VERSION),
		.role = hello->role,
		.rights = hello->rights,
		.number = hello->number,
		.counter = htobe32(pass->counter),
		.attach = hello->attach,
		.handle = htobe64(pass->handle),
	};
	if (hello->name[0])
		auth_space(hello->name, sizeof(hello->name), ret_req->space);
	auth_sign_far(&pass->key, auth_bound(&pass->ends, qpn), ret_req);
}

/* Length of the answer in front of its MAC; 0: the private data are too short. */
static size_t answer_len(bool accepted, enum odrp_far_role role, const uint8_t *priv,
			 size_t len)
{
	struct odrp_far_accept accept;
	struct odrp_far_reject rej;

	_Static_assert(sizeof(accept) == sizeof(rej), "heads");
	if (len < sizeof(accept))
		return 0;
	memcpy(&accept, priv, sizeof(accept));
	memcpy(&rej, priv, sizeof(rej));
	if (accepted)
		return sizeof(accept) + be16toh(accept.nr_regions) *
		       sizeof(struct odrp_far_region) +
		       (role == ODRP_FAR_CALL ? sizeof(struct odrp_far_answer) : 0);
	if (rej.status)
		return sizeof(rej);
	return sizeof(rej) + (role == ODRP_FAR_LOOK ? sizeof(struct odrp_far_info) :
			      role == ODRP_FAR_JOIN ? sizeof(struct odrp_far_member) : 0);
}

int far_pass_check(const struct far_pass *pass, bool accepted, enum odrp_far_role role,
		   uint32_t qpn, const uint8_t *priv, size_t len)
{
	struct odrp_auth_bound bound = auth_bound(&pass->ends, accepted ? qpn : 0);
	size_t body = answer_len(accepted, role, priv, len);

	bound.what = accepted ? ODRP_AUTH_REP : ODRP_AUTH_REJ;
	bound.counter = htobe64(pass->counter);
	if (!body || len < body + ODRP_AUTH_MAC)
		return -EKEYREJECTED;
	return auth_check_answer(&pass->key, bound, priv, body, priv + body);
}

/* ---- passes ---- */

void far_passes_init(struct far_passes *passes)
{
	*passes = (struct far_passes){ .list = NULL };
	pthread_mutex_init(&passes->lock, NULL);
}

static void pass_free(struct far_pass *pass)
{
	explicit_bzero(pass, sizeof(*pass));
	free(pass);
}

static struct far_pass **pass_at(struct far_passes *passes, __be32 ip)
{
	struct far_pass **at = &passes->list;

	while (*at && (*at)->ends.mnode_ip != ip)
		at = &(*at)->next;
	return at;
}

static void pass_remove(struct far_pass **at)
{
	struct far_pass *pass = *at;

	*at = pass->next;
	pass_free(pass);
}

void far_passes_fini(struct far_passes *passes)
{
	while (passes->list)
		pass_remove(&passes->list);
	pthread_mutex_destroy(&passes->lock);
}

int far_passes_get(struct far_passes *passes, __be32 ip, struct far_pass *ret_pass)
{
	struct far_pass *pass;
	int err = 0;

	pthread_mutex_lock(&passes->lock);
	pass = *pass_at(passes, ip);
	if (pass) {
		pass->counter++;
		*ret_pass = *pass;
	} else {
		err = passes->shaking ? -EAGAIN : -ENOENT;
		passes->shaking = true;
	}
	pthread_mutex_unlock(&passes->lock);
	return err;
}

int far_passes_put(struct far_passes *passes, const struct far_pass *made)
{
	struct far_pass *pass = made ? malloc(sizeof(*pass)) : NULL;

	if (pass)
		*pass = *made;
	pthread_mutex_lock(&passes->lock);
	passes->shaking = false;
	if (pass) {
		pass->next = passes->list;
		passes->list = pass;
	}
	pthread_mutex_unlock(&passes->lock);
	return pass || !made ? 0 : -ENOMEM;
}

void far_passes_drop(struct far_passes *passes, const struct far_pass *pass)
{
	struct far_pass **at;

	pthread_mutex_lock(&passes->lock);
	at = pass_at(passes, pass->ends.mnode_ip);
	if (*at && (*at)->handle == pass->handle)
		pass_remove(at);
	pthread_mutex_unlock(&passes->lock);
}
