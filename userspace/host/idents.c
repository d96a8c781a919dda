// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Identities and passes; see idents.h. */
#include "idents.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ---- identities ------------------------------------------------------------------ */

static void idents_free(struct ident *list)
{
	struct ident *ident;

	while ((ident = list)) {
		list = ident->next;
		explicit_bzero(ident, sizeof(*ident));
		free(ident);
	}
}

static struct ident *ident_named(const struct idents *idents, const char *name)
{
	struct ident *ident = idents->first;

	while (ident && strcmp(ident->name, name))
		ident = ident->next;
	return ident;
}

const struct ident *idents_find(const struct idents *idents, const char *name)
{
	const struct ident *ident = ident_named(idents, name);

	return ident && ident->secrets.nr ? ident : NULL;
}

bool idents_had(const struct idents *idents, const char *name)
{
	return ident_named(idents, name);
}

int idents_add(struct idents *idents, const char *name, const struct secrets *secrets)
{
	struct ident *ident;

	if (ident_named(idents, name))
		return -EEXIST;
	ident = calloc(1, sizeof(*ident));
	if (!ident)
		return -ENOMEM;
	snprintf(ident->name, sizeof(ident->name), "%s", name);
	ident->secrets = *secrets;
	ident->next = idents->first;
	idents->first = ident;
	return 0;
}

/* Reads the secrets of one file.  If they cannot be used, adds the name without secrets. */
static int ident_read(struct idents *fresh, const char *dir, const char *name,
		      void (*bad)(void *arg, const char *why), void *arg)
{
	struct secrets secrets = { .nr = 0 };
	char why[SECRET_WHY_MAX];
	int r;

	if (name[0] == '.')
		return 0;
	r = secret_read(dir, name, &secrets, why);
	if (r && r != -ENOENT)
		bad(arg, why);
	/* A file with a longer name cannot be an identity. */
	r = strlen(name) < ODRP_AUTH_NAME ? idents_add(fresh, name, &secrets) : 0;
	explicit_bzero(&secrets, sizeof(secrets));
	return r;
}

/* Adds names that have no file any more, without secrets. */
static int idents_keep_names(struct idents *fresh, const struct ident *old)
{
	static const struct secrets none;
	int r = 0;

	for (; old && (!r || r == -EEXIST); old = old->next)
		r = idents_add(fresh, old->name, &none);
	return r == -EEXIST ? 0 : r;
}

static int dir_read(DIR *d, struct idents *fresh, const char *dir,
		    void (*bad)(void *arg, const char *why), void *arg)
{
	struct dirent *entry;
	int r = 0;

	errno = 0;
	while (!r && (entry = readdir(d))) {
		r = ident_read(fresh, dir, entry->d_name, bad, arg);
		errno = 0;
	}
	return r ? r : -errno;
}

int idents_read(struct idents *idents, const char *dir,
		void (*bad)(void *arg, const char *why), void *arg, char why[SECRET_WHY_MAX])
{
	struct idents fresh = { .first = NULL };
	DIR *d = opendir(dir);
	int r = d || errno == ENOENT ? 0 : -errno;

	if (d) {
		r = dir_read(d, &fresh, dir, bad, arg);
		closedir(d);
	}
	if (!r)
		r = idents_keep_names(&fresh, idents->first);
	if (r) {
		snprintf(why, SECRET_WHY_MAX, "%.400s: %s", dir, strerror(-r));
		idents_free(fresh.first);
		return r;
	}
	idents_free(idents->first);
	idents->first = fresh.first;
	return 0;
}

/* ---- passes ---------------------------------------------------------------------- */

static void pass_free(struct pass *pass)
{
	explicit_bzero(pass, sizeof(*pass));
	free(pass);
}

static struct pass **pass_at(struct idents *idents, uint64_t handle)
{
	struct pass **at = &idents->passes;

	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	return at;
}

struct pass *idents_pass(const struct idents *idents, uint64_t handle)
{
	struct pass *pass = idents->passes;

	while (pass && pass->handle != handle)
		pass = pass->next;
	return pass;
}

static void pass_unlink(struct pass **at)
{
	struct pass *pass = *at;

	*at = pass->next;
	pass_free(pass);
}

void idents_drop_pass(struct idents *idents, uint64_t handle)
{
	struct pass **at = pass_at(idents, handle);

	if (*at)
		pass_unlink(at);
}

void idents_drop_passes(struct idents *idents, const char *name)
{
	struct pass **at = &idents->passes;

	while (*at) {
		if (!strcmp((*at)->name, name))
			pass_unlink(at);
		else
			at = &(*at)->next;
	}
}

static bool pass_is_idle(const struct pass *pass)
{
	return !pass->spent;
}

/* The list begins with the newest pass, so this drops the oldest idle ones. */
static void passes_limit_idle(struct idents *idents, const char *name)
{
	struct pass **at = &idents->passes;
	unsigned int nr = 0;

	while (*at) {
		if (pass_is_idle(*at) && !strcmp((*at)->name, name) &&
		    ++nr >= IDENTS_MAX_IDLE)
			pass_unlink(at);
		else
			at = &(*at)->next;
	}
}

int idents_pass_new(struct idents *idents, const char *name, const struct auth_key *key,
		    uint64_t session, struct pass **ret_pass)
{
	struct pass *pass = calloc(1, sizeof(*pass));

	if (!pass)
		return -ENOMEM;
	do {
		if (getrandom(&pass->handle, sizeof(pass->handle), 0) !=
		    sizeof(pass->handle)) {
			free(pass);
			return -EIO;
		}
	} while (!pass->handle || idents_pass(idents, pass->handle));
	passes_limit_idle(idents, name);
	snprintf(pass->name, sizeof(pass->name), "%s", name);
	pass->key = *key;
	pass->session = session;
	pass->next = idents->passes;
	idents->passes = pass;
	*ret_pass = pass;
	return 0;
}

void idents_tick(struct idents *idents, uint32_t elapsed_ms,
		 bool (*needed)(void *arg, const struct pass *pass), void *arg)
{
	struct pass **at = &idents->passes;

	while (*at) {
		bool is_needed = needed(arg, *at);

		(*at)->idle_ms = is_needed ? 0 : (*at)->idle_ms + elapsed_ms;
		/* The pass's session or attachment has ended: passes_limit_idle() counts
		 * the pass again. */
		(*at)->spent &= is_needed;
		if ((*at)->idle_ms > IDENTS_IDLE_MS)
			pass_unlink(at);
		else
			at = &(*at)->next;
	}
}

void idents_fini(struct idents *idents)
{
	idents_free(idents->first);
	idents->first = NULL;
	while (idents->passes)
		pass_unlink(&idents->passes);
}

/* ---- requests -------------------------------------------------------------------- */

static struct odrp_auth_bound event_bound(const struct nic_event *ev)
{
	const struct auth_ends ends = {
		.cnode_ip = ev->peer_ip, .mnode_ip = ev->local_ip,
	};

	return auth_bound(&ends, ev->peer_qpn);
}

static bool event_is(const struct nic_event *ev, size_t len, uint32_t want)
{
	__be32 magic;

	memcpy(&magic, ev->priv, sizeof(magic));
	return ev->priv_len >= len && magic == htobe32(want);
}

bool idents_is_request(const struct nic_event *ev)
{
	return event_is(ev, sizeof(struct odrp_auth_req), ODRP_AUTH_MAGIC);
}

/* Finds the pass that a request names; checks nothing else. */
static int pass_of(struct idents *idents, __be16 version, __be64 handle,
		   struct pass **ret_pass)
{
	struct pass *pass;

	if (be16toh(version) != ODRP_AUTH_VERSION)
		return -EPROTO;
	pass = idents_pass(idents, be64toh(handle));
	if (!pass)
		return -EKEYREJECTED;
	*ret_pass = pass;
	return 0;
}

/* Takes a request whose MAC is right: each counter once.  Returns what signs the answer. */
static int pass_take_request(struct pass *pass, struct odrp_auth_bound bound,
			     uint64_t counter, struct idents_signer *ret_signer)
{
	int r = auth_window_take(&pass->window, counter);

	if (r)
		return r;
	pass->idle_ms = 0;
	bound.counter = htobe64(counter);
	*ret_signer = (struct idents_signer){ .on = true, .key = pass->key, .bound = bound };
	return 0;
}

int idents_check(struct idents *idents, const struct nic_event *ev, struct pass **ret_pass,
		 struct idents_signer *ret_signer)
{
	struct odrp_auth_bound bound = event_bound(ev);
	struct odrp_auth_req req;
	struct pass *pass;
	int r;

	memcpy(&req, ev->priv, sizeof(req));
	r = pass_of(idents, req.version, req.handle, &pass);
	if (!r)
		r = auth_check_req(&pass->key, bound, &req);
	if (!r)
		r = pass_take_request(pass, bound, be64toh(req.counter), ret_signer);
	if (!r)
		*ret_pass = pass;
	return r;
}

bool idents_is_far_request(const struct nic_event *ev)
{
	return event_is(ev, sizeof(struct odrp_auth_far), ODRP_AUTH_FAR_MAGIC);
}

int idents_check_far(struct idents *idents, const struct nic_event *ev, struct pass **ret_pass,
		     struct idents_signer *ret_signer)
{
	struct odrp_auth_bound bound = event_bound(ev);
	struct odrp_auth_far req;
	struct pass *pass;
	int r;

	memcpy(&req, ev->priv, sizeof(req));
	r = pass_of(idents, req.version, req.handle, &pass);
	if (!r)
		r = auth_check_far(&pass->key, bound, &req);
	if (!r)
		r = pass_take_request(pass, bound, be32toh(req.counter), ret_signer);
	if (!r)
		*ret_pass = pass;
	return r;
}

size_t idents_sign(const struct idents_signer *signer, enum odrp_auth_what what, uint32_t qpn,
		   void *answer, size_t len)
{
	struct odrp_auth_bound bound = signer->bound;

	if (!signer->on)
		return len;
	bound.what = what;
	bound.qpn = htobe32(qpn);
	auth_sign_answer(&signer->key, bound, answer, len, (uint8_t *)answer + len);
	return len + ODRP_AUTH_MAC;
}
