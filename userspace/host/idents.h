/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Identities and passes.  Identities are named by files in the directory of secrets.  A
 * handshake makes a pass, which has the key of that handshake.  Each connection request
 * names a pass and is signed by its key.
 */
#ifndef FAR_HOST_IDENTS_H
#define FAR_HOST_IDENTS_H

#include <nic/nic.h>
#include "../auth/shake.h"

/* a pass that nothing needs expires after this time */
#define IDENTS_IDLE_MS	(60 * 1000)
/* most passes of one identity that have made no session and no attachment */
#define IDENTS_MAX_IDLE	16

/**
 * struct ident - a name that has or had a file of secrets
 * @secrets:	empty: the file is gone or unusable, and the name is not admitted any more
 */
struct ident {
	struct ident *next;
	char name[ODRP_AUTH_NAME];
	struct secrets secrets;
};

/**
 * struct pass - what a handshake has proved
 * @handle:	number by which requests name the pass; not 0
 * @window:	counters of requests that have been taken
 * @name:	of the identity
 * @session:	that the peer resumes or has opened; 0: none yet
 * @spent:	has made an admin connection or an attachment
 * @idle_ms:	time since it was last needed or used
 */
struct pass {
	struct pass *next;
	uint64_t handle;
	struct auth_key key;
	struct auth_window window;
	char name[ODRP_AUTH_NAME];
	uint64_t session;
	bool spent;
	uint32_t idle_ms;
};

struct idents {
	struct ident *first;
	struct pass *passes;
};

/**
 * struct idents_signer - signs the answer to a request; all zero: the answer is not signed
 * @bound:	has the counter of the request
 */
struct idents_signer {
	bool on;
	struct auth_key key;
	struct odrp_auth_bound bound;
};

/*
 * Reads the directory of secrets; a missing directory counts as empty.  A file that
 * cannot be used disables its own name only: bad() gets the reason.  A name whose file is
 * gone loses its secrets.  -errno, with a sentence in why: the directory cannot be read,
 * and nothing has changed.  Passes stay as they are.
 */
int idents_read(struct idents *idents, const char *dir,
		void (*bad)(void *arg, const char *why), void *arg, char why[SECRET_WHY_MAX]);
/* Wipes and frees all identities and passes. */
void idents_fini(struct idents *idents);
/* Adds an identity.  -EEXIST: the name is there already; -ENOMEM. */
int idents_add(struct idents *idents, const char *name, const struct secrets *secrets);
/* The identity of that name; NULL: the name has no secrets now. */
const struct ident *idents_find(const struct idents *idents, const char *name);
/* True if the name has secrets, or had some before. */
bool idents_had(const struct idents *idents, const char *name);

/* Makes a pass.  -ENOMEM, -EIO. */
int idents_pass_new(struct idents *idents, const char *name, const struct auth_key *key,
		    uint64_t session, struct pass **ret_pass);
/* NULL: there is no such pass. */
struct pass *idents_pass(const struct idents *idents, uint64_t handle);
/* Drops a pass; handle 0 has no effect. */
void idents_drop_pass(struct idents *idents, uint64_t handle);
/* Drops all passes of that identity. */
void idents_drop_passes(struct idents *idents, const char *name);
/* Drops passes that needed() has denied, and that have not been used, for IDENTS_IDLE_MS. */
void idents_tick(struct idents *idents, uint32_t elapsed_ms,
		 bool (*needed)(void *arg, const struct pass *pass), void *arg);

/* Does the event carry a request that names a pass? */
bool idents_is_request(const struct nic_event *ev);
/*
 * Checks a signed request.  0: returns its pass and what signs the answer.  -EPROTO,
 * -EKEYREJECTED: the sender is unknown; -EALREADY, -ERANGE: the counter was used before,
 * or is too old.
 */
int idents_check(struct idents *idents, const struct nic_event *ev, struct pass **ret_pass,
		 struct idents_signer *ret_signer);
/* The same for clients of spaces. */
bool idents_is_far_request(const struct nic_event *ev);
int idents_check_far(struct idents *idents, const struct nic_event *ev, struct pass **ret_pass,
		     struct idents_signer *ret_signer);
/* Appends the MAC to an answer of len bytes, if the signer is on; the buffer has room for
 * it.  Returns the new length.  what: ODRP_AUTH_REP, with the queue pair that answers, or
 * ODRP_AUTH_REJ. */
size_t idents_sign(const struct idents_signer *signer, enum odrp_auth_what what, uint32_t qpn,
		   void *answer, size_t len);

#endif /* FAR_HOST_IDENTS_H */
