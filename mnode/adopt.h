/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What another agent has left (keep.h), put in order: pages, then sessions.
 */
#ifndef MNODE_ADOPT_H
#define MNODE_ADOPT_H

#include "keep.h"

struct manager;

/*
 * Tables say whose pages are whose: all others are nobody's behind this, and a session
 * whose record or table cannot be right is gone, with a word in the log.  May be
 * interrupted and begun again.  -ENOMEM, or what keep_tables_clear() says.
 */
int adopt_pages(struct keep *k);
/* Those sessions wait to be taken up again.  One that this NIC cannot have is gone.
 * -errno: what it has left is still there. */
int adopt_sessions(struct manager *m);
/* A piece of what they need for that; true: there may be more. */
bool adopt_some(struct manager *m);

#endif /* MNODE_ADOPT_H */
