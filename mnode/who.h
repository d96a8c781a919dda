/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who may come: identities, by the names of files in the directory of secrets, and
 * passes, of which a handshake makes one. A pass has the key of that handshake; each
 * connection request names it and is signed by it.
 */
#ifndef MNODE_WHO_H
#define MNODE_WHO_H

#include <nic/nic.h>
#include "../userspace/auth/shake.h"

/* A pass that nobody needs any more is void after that. */
#define WHO_IDLE_MS	(60 * 1000)
/* Of one identity: passes by which nothing has come to be. */
#define WHO_MAX_IDLE	16

/**
 * struct ident - a name that has, or had, a file of secrets
 * @secrets:	none: its file is gone or cannot be used, and the name is let in no more
 */
struct ident {
	struct ident *next;
	char name[ODRP_AUTH_NAME];
	struct secrets secrets;
};

/**
 * struct pass - what a handshake has proved
 * @name:	of the identity
 * @session:	that it takes up, or has made; 0: none yet
 * @spent:	it has made its admin connection, or an attachment
 * @idle_ms:	since its last request
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

struct who {
	struct ident *idents;
	struct pass *passes;
};

/**
 * struct seal - what signs the answer to a request; all zero: nothing does
 * @bound:	with the counter of the request
 */
struct seal {
	bool on;
	struct auth_key key;
	struct odrp_auth_bound bound;
};

/*
 * Reads that directory; one that is not there is empty.  A file that cannot be used costs
 * its own name only: bad() gets the reason.  A name whose file is gone has no secrets any
 * more, whatever the other files are like.  -errno, with a sentence in why: the directory
 * cannot be read, and nothing has changed.  Passes stay as they are.
 */
int who_read(struct who *who, const char *dir, void (*bad)(const char *why),
	     char why[SECRET_WHY_MAX]);
/* Forgets all of it. */
void who_fini(struct who *who);
/* Another one; -EEXIST. */
int who_add(struct who *who, const char *name, const struct secrets *secrets);
/* The name's secrets; NULL: it has none now. */
const struct ident *who_find(const struct who *who, const char *name);
/* The name has secrets, or had some since the agent began. */
bool who_was_known(const struct who *who, const char *name);

/* -ENOMEM, -EIO. */
int who_pass_new(struct who *who, const char *name, const struct auth_key *key,
		 uint64_t session, struct pass **ret_pass);
/* NULL: there is no such pass. */
struct pass *who_pass(const struct who *who, uint64_t handle);
/* Handle 0: no effect. */
void who_drop(struct who *who, uint64_t handle);
/* Those of that identity. */
void who_drop_all(struct who *who, const char *name);
/* Time passes: those that neither a session nor an attachment needs go. */
void who_tick(struct who *who, uint32_t elapsed_ms,
	      bool (*needed)(void *arg, const struct pass *pass), void *arg);

/* Is it a request that names a pass? */
bool who_is_signed(const struct nic_event *ev);
/*
 * Who asks: 0 with his pass, and with what the answer is signed by.  -EPROTO,
 * -EKEYREJECTED: nobody knows who it is; -EALREADY: it has come before.
 */
int who_asks(struct who *who, const struct nic_event *ev, struct pass **ret_pass,
	     struct seal *ret_seal);
/* The same of clients of spaces. */
bool who_is_far(const struct nic_event *ev);
int who_asks_far(struct who *who, const struct nic_event *ev, struct pass **ret_pass,
		 struct seal *ret_seal);
/* Puts the MAC behind len bytes of an answer, which has room for it; returns the new
 * length.  what: ODRP_AUTH_REP, with the queue pair that answers, or ODRP_AUTH_REJ. */
size_t who_seal(const struct seal *seal, enum odrp_auth_what what, uint32_t qpn,
		void *answer, size_t len);

#endif /* MNODE_WHO_H */
