/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* odrpctl mnode top: rates of each session's chains, from two answers of the agent. */
#ifndef CTL_MNODE_TOP_H
#define CTL_MNODE_TOP_H

#include <stdbool.h>
#include <stdint.h>

struct json_object;

/* A line is made for 80 columns; only a name or number that is odd takes more. */
#define MNODE_TOP_LINE 160

void mnode_top_head(char line[MNODE_TOP_LINE]);
/* from, to: the same session in two answers; ns: time between them. */
void mnode_top_line(struct json_object *from, struct json_object *to, uint64_t ns,
		    char line[MNODE_TOP_LINE]);
/* Utilization of all, from the use in both answers. False: there is none to print. */
bool mnode_top_use_line(struct json_object *from, struct json_object *to,
			char line[MNODE_TOP_LINE]);
void mnode_top_space_head(char line[MNODE_TOP_LINE]);
/* space: an entry of the agent's list of spaces. */
void mnode_top_space_line(struct json_object *space, char line[MNODE_TOP_LINE]);
struct json_object *mnode_top_json(struct json_object *from,
				   struct json_object *to, uint64_t ns);

/* Runs until count is reached, see top_run(); returns an exit status. */
int mnode_top(const char *control, double seconds, unsigned long count, bool json);

#endif /* CTL_MNODE_TOP_H */
