/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The control socket. Each request and each answer is one line of JSON. serve.h limits
 * what clients can use up.
 */
#ifndef MNODE_CTL_H
#define MNODE_CTL_H

#include <stdint.h>
#include <systemd/sd-event.h>

struct json_object;
struct ctl;

/*
 * fn: returns the answer to a request; NULL: it is not known yet, and ctl_again() asks for
 * it again. ctl.c releases both objects. Replaces a socket at the path on which nobody
 * listens, and creates its directory if only that is missing. -EADDRINUSE: a process
 * listens on it; -EEXIST: the path is not a socket.
 */
int ctl_new(sd_event *event, const char *path,
	    struct json_object *(*fn)(void *arg, struct json_object *req),
	    void *arg, struct ctl **ret_ctl);
/* Asks fn again for the answers that it did not know. */
void ctl_again(struct ctl *ctl);
/* Also removes the socket, and its directory if ctl_new() created it. NULL is allowed. */
void ctl_free(struct ctl *ctl);

#endif /* MNODE_CTL_H */
