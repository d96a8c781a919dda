/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions of a wrapper that pass calls on unchanged. */
#include "wrap.h"

static int wrap_mr_reg(struct far_nic *nic, void *addr, size_t len, uint32_t *ret_lkey)
{
	struct far_nic *inner = far_wrap_inner(nic);

	return inner->ops->mr_reg(inner, addr, len, ret_lkey);
}

static void wrap_mr_dereg(struct far_nic *nic, uint32_t lkey)
{
	struct far_nic *inner = far_wrap_inner(nic);

	inner->ops->mr_dereg(inner, lkey);
}

static int wrap_attach(struct far_nic *nic, const char *node, const char *space,
		       unsigned rights, struct far_peer *ret_peer)
{
	struct far_nic *inner = far_wrap_inner(nic);

	return inner->ops->attach(inner, node, space, rights, ret_peer);
}

static void wrap_detach(struct far_nic *nic, struct far_peer *peer)
{
	struct far_nic *inner = far_wrap_inner(nic);

	inner->ops->detach(inner, peer);
}

static int wrap_claim(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	struct far_nic *inner = far_wrap_inner(nic);

	return inner->ops->claim(inner, peer, client);
}

static void wrap_unclaim(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	struct far_nic *inner = far_wrap_inner(nic);

	inner->ops->unclaim(inner, peer, client);
}

static int wrap_fence(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	struct far_nic *inner = far_wrap_inner(nic);

	return inner->ops->fence(inner, peer, client);
}

static void wrap_cut(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	struct far_nic *inner = far_wrap_inner(nic);

	inner->ops->cut(inner, peer, client);
}

static int wrap_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer)
{
	struct far_qset *inner = far_wrap_inner_qset(qset);

	return inner->nic->ops->connect(inner, idx, peer);
}

static uint64_t wrap_now(struct far_nic *nic)
{
	struct far_nic *inner = far_wrap_inner(nic);

	return inner->ops->now(inner);
}

static void wrap_spend(struct far_nic *nic, uint64_t ns)
{
	struct far_nic *inner = far_wrap_inner(nic);

	inner->ops->spend(inner, ns);
}

static int wrap_wait(struct far_qset *qset, uint64_t until)
{
	struct far_qset *inner = far_wrap_inner_qset(qset);

	return inner->nic->ops->wait(inner, until);
}

static void wrap_wake(struct far_qset *qset)
{
	struct far_qset *inner = far_wrap_inner_qset(qset);

	inner->nic->ops->wake(inner);
}

static int wrap_fd_arm(struct far_qset *qset)
{
	struct far_qset *inner = far_wrap_inner_qset(qset);

	return inner->nic->ops->fd_arm(inner);
}

static void wrap_fd_disarm(struct far_qset *qset)
{
	struct far_qset *inner = far_wrap_inner_qset(qset);

	inner->nic->ops->fd_disarm(inner);
}

static int wrap_thread_start(struct far_nic *nic, void (*run)(void *arg), void *arg,
			     struct far_nic_thread **ret_thread)
{
	struct far_nic *inner = far_wrap_inner(nic);

	return inner->ops->thread_start(inner, run, arg, ret_thread);
}

static void wrap_thread_join(struct far_nic *nic, struct far_nic_thread *thread)
{
	struct far_nic *inner = far_wrap_inner(nic);

	inner->ops->thread_join(inner, thread);
}

static void wrap_stats(struct far_qset *qset, struct far_qset_stats *ret_stats)
{
	struct far_qset *inner = far_wrap_inner_qset(qset);

	inner->nic->ops->stats(inner, ret_stats);
}

static void wrap_explain(struct far_qset *qset, const struct far_wc *wc, char *text,
			 size_t len)
{
	struct far_qset *inner = far_wrap_inner_qset(qset);

	inner->nic->ops->explain(inner, wc, text, len);
}

static int host_create(struct far_nic *nic, const char *node, const char *space,
		       uint64_t size, unsigned mode, struct far_host_map *ret_map)
{
	struct far_nic *inner = far_wrap_inner(nic);

	return inner->ops->host->create(inner, node, space, size, mode, ret_map);
}

static int host_publish(struct far_nic *nic, struct far_host_map *map)
{
	struct far_nic *inner = far_wrap_inner(nic);

	return inner->ops->host->publish(inner, map);
}

static int host_map(struct far_nic *nic, const char *node, const char *space,
		    struct far_host_map *ret_map)
{
	struct far_nic *inner = far_wrap_inner(nic);

	return inner->ops->host->map(inner, node, space, ret_map);
}

static void host_unmap(struct far_nic *nic, struct far_host_map *map)
{
	struct far_nic *inner = far_wrap_inner(nic);

	inner->ops->host->unmap(inner, map);
}

static int host_remove(struct far_nic *nic, const char *node, const char *space)
{
	struct far_nic *inner = far_wrap_inner(nic);

	return inner->ops->host->remove(inner, node, space);
}

static int host_list(struct far_nic *nic,
		     int (*each)(void *arg, const char *node, const char *space),
		     void *arg)
{
	struct far_nic *inner = far_wrap_inner(nic);

	return inner->ops->host->list(inner, each, arg);
}

static const struct far_nic_host_ops wrap_host_ops = {
	.create = host_create,
	.publish = host_publish,
	.map = host_map,
	.unmap = host_unmap,
	.remove = host_remove,
	.list = host_list,
};

/* The queue sets that inner has made. */
static struct far_end end_inner(const struct far_end *end)
{
	struct far_end inner = *end;

	inner.send = far_wrap_inner_qset(end->send);
	inner.recv = far_wrap_inner_qset(end->recv);
	return inner;
}

static int call_common_new(struct far_nic *nic, uint64_t size, struct far_common *ret_common)
{
	struct far_nic *inner = far_wrap_inner(nic);

	return inner->ops->call->common_new(inner, size, ret_common);
}

static void call_common_free(struct far_nic *nic, struct far_common *common)
{
	struct far_nic *inner = far_wrap_inner(nic);

	inner->ops->call->common_free(inner, common);
}

static int call_window_new(struct far_nic *nic, uint64_t size, const struct far_common *common,
			   struct far_window *ret_window)
{
	struct far_nic *inner = far_wrap_inner(nic);

	return inner->ops->call->window_new(inner, size, common, ret_window);
}

static void call_window_free(struct far_nic *nic, struct far_window *window)
{
	struct far_nic *inner = far_wrap_inner(nic);

	inner->ops->call->window_free(inner, window);
}

static int call_window_reg(struct far_nic *nic, const struct far_window *window, void *addr,
			   size_t len, uint32_t *ret_lkey)
{
	struct far_nic *inner = far_wrap_inner(nic);

	if (!inner->ops->call->window_reg)
		return inner->ops->mr_reg(inner, addr, len, ret_lkey);
	return inner->ops->call->window_reg(inner, window, addr, len, ret_lkey);
}

static int call_listen(struct far_qset *qset, const char *service,
		       struct far_listener **ret_listener)
{
	struct far_qset *inner = far_wrap_inner_qset(qset);

	return inner->nic->ops->call->listen(inner, service, ret_listener);
}

static void call_unlisten(struct far_nic *nic, struct far_listener *listener)
{
	struct far_nic *inner = far_wrap_inner(nic);

	inner->ops->call->unlisten(inner, listener);
}

static int call_take(struct far_nic *nic, struct far_listener *listener,
		     struct far_caller *ret_caller)
{
	struct far_nic *inner = far_wrap_inner(nic);

	return inner->ops->call->take(inner, listener, ret_caller);
}

static int call_accept(struct far_nic *nic, struct far_caller *caller,
		       const struct far_end *end, const struct far_window *window,
		       const struct far_hello *answer, struct far_link **ret_link)
{
	struct far_nic *inner = far_wrap_inner(nic);
	struct far_end ends = end_inner(end);

	return inner->ops->call->accept(inner, caller, &ends, window, answer, ret_link);
}

static void call_reject(struct far_nic *nic, struct far_caller *caller, int status)
{
	struct far_nic *inner = far_wrap_inner(nic);

	inner->ops->call->reject(inner, caller, status);
}

static int call_call(struct far_nic *nic, const char *node, const char *service,
		     const struct far_end *end, const struct far_window *window,
		     const struct far_hello *hello, uint64_t until,
		     struct far_hello *ret_answer, struct far_link **ret_link)
{
	struct far_nic *inner = far_wrap_inner(nic);
	struct far_end ends = end_inner(end);

	return inner->ops->call->call(inner, node, service, &ends, window, hello, until,
				      ret_answer, ret_link);
}

static void call_hangup(struct far_nic *nic, struct far_link *link)
{
	struct far_nic *inner = far_wrap_inner(nic);

	inner->ops->call->hangup(inner, link);
}

const struct far_nic_call_ops far_wrap_call_ops = {
	.common_new = call_common_new,
	.common_free = call_common_free,
	.window_new = call_window_new,
	.window_free = call_window_free,
	.window_reg = call_window_reg,
	.listen = call_listen,
	.unlisten = call_unlisten,
	.take = call_take,
	.accept = call_accept,
	.reject = call_reject,
	.call = call_call,
	.hangup = call_hangup,
};

/*
 * Each wrapper adds its own close() and functions of queue sets that are not here. Wrappers
 * have neither open(), look() nor erase().
 */
static const struct far_nic_ops wrap_ops = {
	.mr_reg = wrap_mr_reg,
	.mr_dereg = wrap_mr_dereg,
	.attach = wrap_attach,
	.detach = wrap_detach,
	.claim = wrap_claim,
	.unclaim = wrap_unclaim,
	.fence = wrap_fence,
	.connect = wrap_connect,
	.now = wrap_now,
	.spend = wrap_spend,
	.wait = wrap_wait,
	.wake = wrap_wake,
	.thread_start = wrap_thread_start,
	.thread_join = wrap_thread_join,
	.stats = wrap_stats,
};

void far_wrap_init(struct far_wrap *wrap, struct far_nic *inner, const char *name,
		   const char *summary)
{
	wrap->inner = inner;
	wrap->ops = wrap_ops;
	wrap->ops.name = name;
	wrap->ops.summary = summary;
	wrap->ops.caps = inner->ops->caps;
	if (inner->ops->explain)
		wrap->ops.explain = wrap_explain;
	if (inner->ops->cut)
		wrap->ops.cut = wrap_cut;
	if (inner->ops->fd_arm) {
		wrap->ops.fd_arm = wrap_fd_arm;
		wrap->ops.fd_disarm = wrap_fd_disarm;
	}
	if (inner->ops->call)
		wrap->ops.call = &far_wrap_call_ops;
	if (inner->ops->host)
		wrap->ops.host = &wrap_host_ops;
	wrap->nic.ops = &wrap->ops;
}
