/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * <far/space.h> over a back end that is open already: nic stays the caller's.
 */
#ifndef FAR_CORE_SPACE_H
#define FAR_CORE_SPACE_H

#include <far/space.h>

#include "../nic/nic.h"

int far_space_create_on(struct far_nic *nic, const char *name,
			const struct far_space_attr *attr, char *why, size_t why_len);
int far_space_delete_on(struct far_nic *nic, const char *name, char *why,
			size_t why_len);
int far_space_list_on(struct far_nic *nic,
		      int (*each)(void *arg, const struct far_space_info *info),
		      void *arg, char *why, size_t why_len);

/* The same of spaces at a memory node that is out of reach; name: or NULL, all of them. */
int far_space_list_at(struct far_nic *nic, const char *node, const char *name,
		      int (*each)(void *arg, const struct far_space_info *info),
		      void *arg, char *why, size_t why_len);
int far_space_delete_at(struct far_nic *nic, const char *node, const char *name,
			char *why, size_t why_len);
/* What an error of attach(), look() or erase() means. */
const char *far_node_words(int err);

/* A name of the directory, and what it is. */
struct far_space_entry {
	const char *name;
	const char *type;	/* "hash", ...; "unknown" */
	unsigned version;
};

/* Calls each() per name in the directory; what it returns but 0 ends it. */
int far_space_names_on(struct far_nic *nic, const char *name,
		       int (*each)(void *arg, const struct far_space_entry *entry),
		       void *arg, char *why, size_t why_len);
/*
 * The addresses of the nodes of a space, in their order in the set, of which there are
 * at most FAR_MAX_NODES; the caller frees each. -ENOENT; -EPROTO: a node is missing.
 */
int far_space_nodes_on(struct far_nic *nic, const char *name, char **ret_node,
		       unsigned *ret_nr, char *why, size_t why_len);

#endif
