/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent's state as JSON, and the commands that come as JSON.
 */
#ifndef MNODE_STATUS_H
#define MNODE_STATUS_H

#include <stdint.h>

struct json_object;
struct manager;

/* wall_ns: time since the agent began.  NULL: out of memory. */
struct json_object *status_make(struct manager *m, uint64_t wall_ns);
/*
 * Executes {"command": NAME, ...} and returns the answer.  If the command failed, the
 * answer is an object with a member "error".  NULL: the pages are being counted, for this
 * command, or for another one while this one would change something; call again when
 * check_runs() is false.
 */
struct json_object *status_command(struct manager *m, struct json_object *obj,
				   uint64_t wall_ns);

#endif /* MNODE_STATUS_H */
