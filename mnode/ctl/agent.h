/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends requests to the memory node's agent, over its control socket, and reads members
 * of the answers.
 */
#ifndef CTL_AGENT_H
#define CTL_AGENT_H

#include <stdbool.h>
#include <stdint.h>

struct json_object;

/* The caller frees the answer, which is a line.  -ECONNRESET, -EPIPE: the agent hung up;
 * -EAGAIN: the agent took too long. */
int agent_ask(const char *path, struct json_object *req, char **ret_line);
/* Prints why agent_ask() failed; returns an exit status. */
int agent_complain(const char *path, int r);

/* Members of an answer; NULL, 0, "?" and false stand for a missing member. */
struct json_object *agent_get(struct json_object *obj, const char *name);
uint64_t agent_num(struct json_object *obj, const char *name);
const char *agent_str(struct json_object *obj, const char *name);
bool agent_yes(struct json_object *obj, const char *name);
/* The name of a session's state.  A live session without its connection is "away": it may
 * be resumed. */
const char *agent_session_state(struct json_object *s);

#endif /* CTL_AGENT_H */
