/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Clients that are held up. See nap.h. */
#include "nap.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "nic/wrap.h"

struct nap_nic {
	struct far_wrap wrap;
	struct far_qset *bed;		/* of inner; nothing is posted to it */
	struct far_qset *watched;	/* NULL: the next that posts */
	int armed;
	atomic_int cut;
	uint64_t count;
	uint64_t at;			/* 0: nothing is to be done */
	int always;			/* something is, before each list */
	void (*fn)(void *arg);
	void *arg;
};

static void nap_close(struct far_nic *nic)
{
	struct far_nic *inner = far_wrap_inner(nic);

	inner->ops->qset_free(((struct nap_nic *)nic)->bed);
	inner->ops->close(inner);
	free(nic);
}

static int nap_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
			struct far_qset **ret_qset)
{
	struct far_nic *inner = far_wrap_inner(nic);
	struct far_wrap_qset *qset = calloc(1, sizeof(*qset));
	int err;

	if (!qset)
		return -ENOMEM;
	err = inner->ops->qset_new(inner, attr, &qset->inner);
	if (err) {
		free(qset);
		return err;
	}
	qset->qset.nic = nic;
	*ret_qset = &qset->qset;
	return 0;
}

static void nap_qset_free(struct far_qset *qset)
{
	struct far_qset *inner = far_wrap_inner_qset(qset);

	inner->nic->ops->qset_free(inner);
	free(qset);
}

static int nap_poll(struct far_qset *qset, struct far_wc *wc, unsigned max)
{
	struct far_qset *inner = far_wrap_inner_qset(qset);

	return inner->nic->ops->poll(inner, wc, max);
}

static int nap_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr,
		    unsigned nr)
{
	struct nap_nic *nap = (struct nap_nic *)qset->nic;
	struct far_qset *inner = far_wrap_inner_qset(qset);
	unsigned before = 0;
	int err;

	if (nap->armed && !nap->watched)
		nap->watched = qset;
	if (qset == nap->watched && nap->cut)
		return -ENOTCONN;
	if (qset == nap->watched && nap->always)
		nap->fn(nap->arg);
	if (qset == nap->watched && nap->count < nap->at && nap->at <= nap->count + nr) {
		before = nap->at - nap->count - 1;
		err = inner->nic->ops->post(inner, idx, wr, before);
		if (err)
			return err;
		nap->at = 0;
		nap->fn(nap->arg);
	}
	if (qset == nap->watched)
		nap->count += nr;
	err = inner->nic->ops->post(inner, idx, wr + before, nr - before);
	/* a list is posted as a whole or not at all */
	assert(!err || !before || err == -ENOTCONN);
	return err;
}

struct far_nic *nap_new(struct far_nic *inner)
{
	const struct far_qset_attr attr = { .nr_peers = 1, .depth = 1 };
	struct nap_nic *nap = calloc(1, sizeof(*nap));

	if (!nap)
		return NULL;
	if (inner->ops->qset_new(inner, &attr, &nap->bed)) {
		free(nap);
		return NULL;
	}
	far_wrap_init(&nap->wrap, inner, "nap", "holds a client up");
	nap->wrap.ops.close = nap_close;
	nap->wrap.ops.qset_new = nap_qset_new;
	nap->wrap.ops.qset_free = nap_qset_free;
	nap->wrap.ops.post = nap_post;
	nap->wrap.ops.poll = nap_poll;
	return &nap->wrap.nic;
}

void nap_at(struct far_nic *nic, uint64_t n, void (*fn)(void *arg), void *arg)
{
	struct nap_nic *nap = (struct nap_nic *)nic;

	nap->watched = NULL;
	nap->armed = 1;
	nap->count = 0;
	nap->at = n;
	nap->always = 0;
	nap->fn = fn;
	nap->arg = arg;
}

void nap_cut(struct far_nic *nic, int cut)
{
	((struct nap_nic *)nic)->cut = cut;
}

void nap_always(struct far_nic *nic, void (*fn)(void *arg), void *arg)
{
	nap_at(nic, 0, fn, arg);
	((struct nap_nic *)nic)->always = fn != NULL;
}

uint64_t nap_count(const struct far_nic *nic)
{
	return ((const struct nap_nic *)nic)->count;
}

void nap_sleep(struct far_nic *nic, uint64_t ns)
{
	struct far_qset *bed = ((struct nap_nic *)nic)->bed;
	const struct far_nic_ops *ops = bed->nic->ops;
	uint64_t until = ops->now(bed->nic) + ns;

	while (!ops->wait(bed, until))
		;
}
