// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Spaces of the manager: what they take of the pool is not lent. */
#include <arpa/inet.h>
#include <errno.h>
#include "check.h"

uint64_t manager_spaces(struct manager *m, uint64_t now)
{
	uint64_t had = m->spaces.nr_pages, next;

	if (check_runs(m))
		return now;
	if (manager_health_silent(m))
		return now + FAR_EPOCH_NS;
	next = spaces_step(&m->spaces, now);
	if (m->spaces.nr_pages != had)
		manager_budget(m);
	return next;
}

bool manager_spaces_request(struct manager *m, const struct nic_event *ev)
{
	bool required = m->conf->auth == CONF_AUTH_REQUIRED;
	char ip[INET_ADDRSTRLEN];

	if (!spaces_request(&m->spaces, &m->idents, required, ev))
		return false;
	/* The request may have deleted a space. */
	manager_budget(m);
	manager_tidy_share(m, inet_ntop(AF_INET, &ev->peer_ip, ip, sizeof(ip)));
	return true;
}

void manager_budget(struct manager *m)
{
	uint64_t taken = m->spaces.nr_pages + m->stock.target;

	m->budget = taken < m->pool.pages ? m->pool.pages - taken : 0;
}

int manager_delete_space(struct manager *m, const char *name)
{
	struct space *space = spaces_find(&m->spaces, name);

	if (!space)
		return -ENOENT;
	spaces_delete(&m->spaces, space);
	manager_budget(m);
	return 0;
}
