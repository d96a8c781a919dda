/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections between programs, through the fault wrapper: their queues are its own. */
#include <errno.h>
#include <stdlib.h>

#include "fault_priv.h"

struct far_link {
	struct far_link *inner;
	struct far_qset *send;
	unsigned idx;
};

static int link_new(const struct far_end *end, struct far_link **ret_link)
{
	struct far_link *link = calloc(1, sizeof(*link));

	if (!link)
		return -ENOMEM;
	link->send = end->send;
	link->idx = end->idx;
	*ret_link = link;
	return 0;
}

/* Inner has connected, or failed with err: the queue starts, or the link is freed. */
static int link_start(struct far_nic *nic, struct far_link *link, int err,
		      struct far_link **ret_link)
{
	if (err)
		goto free_link;
	err = fault_queue_start(link->send, link->idx);
	if (err)
		goto hang_up;
	((struct fault_qset *)link->send)->queue[link->idx].linked = 1;
	*ret_link = link;
	return 0;

hang_up:
	far_wrap_call_ops.hangup(nic, link->inner);
free_link:
	free(link);
	return err;
}

static int call_accept(struct far_nic *nic, struct far_caller *caller,
		       const struct far_end *end, const struct far_window *window,
		       const struct far_hello *answer, struct far_link **ret_link)
{
	struct far_link *link;
	int err = link_new(end, &link);

	if (err) {
		far_wrap_call_ops.reject(nic, caller, err);
		return err;
	}
	err = far_wrap_call_ops.accept(nic, caller, end, window, answer, &link->inner);
	return link_start(nic, link, err, ret_link);
}

static int call_call(struct far_nic *nic, const char *node, const char *service,
		     const struct far_end *end, const struct far_window *window,
		     const struct far_hello *hello, uint64_t until,
		     struct far_hello *ret_answer, struct far_link **ret_link)
{
	struct far_link *link;
	int err = link_new(end, &link);

	if (err)
		return err;
	err = far_wrap_call_ops.call(nic, node, service, end, window, hello, until, ret_answer,
				     &link->inner);
	return link_start(nic, link, err, ret_link);
}

static void call_hangup(struct far_nic *nic, struct far_link *link)
{
	((struct fault_qset *)link->send)->queue[link->idx].linked = 0;
	fault_queue_stop(link->send, link->idx);
	far_wrap_call_ops.hangup(nic, link->inner);
	free(link);
}

void fault_call_init(struct far_nic_call_ops *ops)
{
	*ops = far_wrap_call_ops;
	ops->accept = call_accept;
	ops->call = call_call;
	ops->hangup = call_hangup;
}
