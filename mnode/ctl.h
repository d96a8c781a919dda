/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control socket: a line of JSON in, a line of JSON out.
 */
#ifndef MNODE_CTL_H
#define MNODE_CTL_H

#include <stdint.h>
#include <systemd/sd-event.h>

struct json_object;
struct ctl;

/* The caller's answer to a request; not NULL. */
typedef struct json_object *(*ctl_fn)(void *arg, struct json_object *req);

/* Replaces a socket that nobody listens on.  -EADDRINUSE: somebody does. */
int ctl_new(sd_event *event, const char *path, ctl_fn fn, void *arg,
	    struct ctl **ret_ctl);
/* Also removes the socket's name.  NULL is allowed. */
void ctl_free(struct ctl *ctl);

#endif /* MNODE_CTL_H */
