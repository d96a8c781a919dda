/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Questions to the memory node's agent, over its control socket, and what is in
 * its answers.
 */
#ifndef CTL_AGENT_H
#define CTL_AGENT_H

#include <stdbool.h>
#include <stdint.h>

struct json_object;

/* The answer is a line, to be freed.  -ECONNRESET, -EPIPE: the agent hung up;
 * -EAGAIN: it takes too long. */
int agent_ask(const char *path, struct json_object *req, char **ret_line);
/* Says what was in the way; an exit status. */
int agent_complain(const char *path, int r);

/* Members of an answer: NULL, 0, "?" and false for one that is not there. */
struct json_object *agent_get(struct json_object *obj, const char *name);
uint64_t agent_num(struct json_object *obj, const char *name);
const char *agent_str(struct json_object *obj, const char *name);
bool agent_yes(struct json_object *obj, const char *name);
/* A live session without its connection is away: it may still come back. */
const char *agent_session_state(struct json_object *s);

#endif /* CTL_AGENT_H */
