// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who is known, and what each may have: settings and secrets that are read again while
 * sessions go on.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "log.h"
#include "manager.h"

static void limit_share(struct manager *m, struct share *share)
{
	int r = share_set_rate(&m->shares, share);

	if (r)
		log_warning("client %s: max-bandwidth counts for nothing with this NIC: "
			    "%s", share->limits.name, strerror(-r));
}

void manager_limit_queue(struct manager *m, const struct sess *s,
			 const struct queue *q)
{
	/* What a NIC cannot do has been said before. */
	if (!s->share->rate)
		share_set_rate(&m->shares, s->share);
	if (s->share->rate)
		m->nic->node->ops->qp_limit(m->nic, q->client_qpn, s->share->rate);
}

static void limit_all(struct manager *m)
{
	struct share *share;
	struct queue *q;
	unsigned int i, n, c;

	for (share = m->shares.list; share; share = share->next)
		limit_share(m, share);
	if (m->shares.others.max_bandwidth && !m->nic->node->ops->rate_set)
		log_warning("client *: max-bandwidth counts for nothing with this NIC");
	for (i = 0; i < m->nr_sess; i++)
		sess_for_each_queue(m->sess[i], n, c, q)
			manager_limit_queue(m, m->sess[i], q);
}

int manager_set_clients(struct manager *m, const struct conf *conf,
			char why[CONF_WHY_MAX])
{
	uint64_t sum = 0;
	unsigned int i;
	int r;

	for (i = 0; i < conf->nr_clients; i++)
		if (conf->clients[i].guaranteed_pages)
			sum += conf->clients[i].guaranteed_pages + m->slack;
	if (sum > m->budget) {
		snprintf(why, CONF_WHY_MAX, "clients: guaranteed-pages, with %" PRIu64
			 " more for each: %" PRIu64 " in all: expected at most %" PRIu64
			 ", the pages to lend", m->slack, sum, m->budget);
		return -EINVAL;
	}
	r = shares_set(&m->shares, conf);
	if (r)
		snprintf(why, CONF_WHY_MAX, "clients: %s", strerror(-r));
	else
		limit_all(m);
	return r;
}

int manager_read_keys(struct manager *m, char why[CONF_WHY_MAX])
{
	return who_read(&m->who, m->conf->keys, why);
}

unsigned int manager_revoke(struct manager *m, const char *name)
{
	const struct pass *pass;
	unsigned int i, nr = 0;

	for (pass = m->who.passes; pass; pass = pass->next)
		if (!strcmp(pass->name, name))
			spaces_cut_pass(&m->spaces, pass->handle);
	who_drop_all(&m->who, name);
	for (i = 0; i < m->nr_sess; i++) {
		if (!*name || strcmp(m->sess[i]->name, name) ||
		    m->sess[i]->state == SESS_DYING)
			continue;
		manager_kill(m, m->sess[i], WHY_EVICTED);
		nr++;
	}
	return nr;
}
