/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control socket: a line of JSON in, a line of JSON out.  serve.h bounds what its
 * clients take.
 */
#ifndef MNODE_CTL_H
#define MNODE_CTL_H

#include <stdint.h>
#include <systemd/sd-event.h>

struct json_object;
struct ctl;

/*
 * fn: the caller's answer to a request; not NULL.  Replaces a socket that
 * nobody listens on.  -EADDRINUSE: somebody does.
 */
int ctl_new(sd_event *event, const char *path,
	    struct json_object *(*fn)(void *arg, struct json_object *req),
	    void *arg, struct ctl **ret_ctl);
/* Also removes the socket's name.  NULL is allowed. */
void ctl_free(struct ctl *ctl);

#endif /* MNODE_CTL_H */
