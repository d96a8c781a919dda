/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tracing wrapper. */
#include "trace.h"

#include <errno.h>
#include <stdlib.h>

#include "wrap.h"

struct trace_nic {
	struct far_wrap wrap;
	far_trace_fn *fn;
	void *arg;
	uint32_t nr_qsets;	/* queue sets made in all; atomic */
};

struct trace_qset {
	struct far_wrap_qset wrap;
	uint32_t nr;
};

static void event_emit(struct far_qset *qset, struct far_trace_event *event)
{
	struct trace_nic *mine = (struct trace_nic *)qset->nic;

	event->at = qset->nic->ops->now(qset->nic);
	event->qset = ((struct trace_qset *)qset)->nr;
	mine->fn(mine->arg, event);
}

static void trace_close(struct far_nic *nic)
{
	struct far_nic *inner = far_wrap_inner(nic);

	inner->ops->close(inner);
	free(nic);
}

static int trace_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
			  struct far_qset **ret_qset)
{
	struct trace_nic *mine = (struct trace_nic *)nic;
	struct far_nic *inner = far_wrap_inner(nic);
	struct trace_qset *qset = calloc(1, sizeof(*qset));
	int err;

	if (!qset)
		return -ENOMEM;
	err = inner->ops->qset_new(inner, attr, &qset->wrap.inner);
	if (err) {
		free(qset);
		return err;
	}
	qset->wrap.qset.nic = nic;
	qset->nr = __atomic_fetch_add(&mine->nr_qsets, 1, __ATOMIC_RELAXED);
	*ret_qset = &qset->wrap.qset;
	return 0;
}

static void trace_qset_free(struct far_qset *qset)
{
	struct far_qset *inner = far_wrap_inner_qset(qset);

	inner->nic->ops->qset_free(inner);
	free(qset);
}

static int trace_connect(struct far_qset *qset, unsigned idx,
			 const struct far_peer *peer)
{
	struct far_qset *inner = far_wrap_inner_qset(qset);
	struct far_trace_event event = {
		.kind = FAR_TRACE_CONNECT,
		.peer = idx,
		.err = inner->nic->ops->connect(inner, idx, peer),
	};

	event_emit(qset, &event);
	return event.err;
}

static int trace_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr,
		      unsigned nr)
{
	struct far_qset *inner = far_wrap_inner_qset(qset);
	int err = inner->nic->ops->post(inner, idx, wr, nr);
	unsigned i;

	for (i = 0; i < nr; i++) {
		struct far_trace_event event = {
			.kind = FAR_TRACE_POST,
			.peer = idx,
			.err = err,
			.op = wr[i].op,
			.flags = wr[i].flags,
			.id = wr[i].id,
			.remote = wr[i].remote,
			.len = wr[i].len,
			.arg = { wr[i].arg[0], wr[i].arg[1] },
		};

		event_emit(qset, &event);
	}
	return err;
}

static int trace_poll(struct far_qset *qset, struct far_wc *wc, unsigned max)
{
	struct far_qset *inner = far_wrap_inner_qset(qset);
	int nr = inner->nic->ops->poll(inner, wc, max);
	int i;

	for (i = 0; i < nr; i++) {
		struct far_trace_event event = {
			.kind = FAR_TRACE_DONE,
			.peer = wc[i].peer,
			.err = wc[i].status,
			.op = wc[i].op,
			.id = wc[i].id,
			.len = wc[i].len,
		};

		event_emit(qset, &event);
	}
	return nr;
}

int far_trace_new(struct far_nic *inner, far_trace_fn *fn, void *arg,
		  struct far_nic **ret_nic)
{
	struct trace_nic *mine = calloc(1, sizeof(*mine));

	if (!mine)
		return -ENOMEM;
	far_wrap_init(&mine->wrap, inner, "trace", "tells of each operation of another "
		      "back end");
	mine->fn = fn;
	mine->arg = arg;
	mine->wrap.ops.close = trace_close;
	mine->wrap.ops.qset_new = trace_qset_new;
	mine->wrap.ops.qset_free = trace_qset_free;
	mine->wrap.ops.connect = trace_connect;
	mine->wrap.ops.post = trace_post;
	mine->wrap.ops.poll = trace_poll;
	*ret_nic = &mine->wrap.nic;
	return 0;
}
