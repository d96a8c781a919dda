// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Spaces of the manager: what they take of the pool is not lent. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include "check.h"

/*
 * While pages are counted the NIC may be frozen, so that no beat of a client arrives. The
 * clock of the spaces stands still then: that time is nobody's silence.
 */
static bool clock_stands(struct manager *m, uint64_t now)
{
	if (check_runs(m)) {
		if (!m->count_at)
			m->count_at = now;
		return true;
	}
	if (m->count_at)
		m->counted_ns += now - m->count_at;
	m->count_at = 0;
	return false;
}

uint64_t manager_spaces(struct manager *m, uint64_t now)
{
	uint64_t had = m->spaces.nr_pages, stand = spaces_stand(&m->spaces, now), next;

	if (clock_stands(m, now))
		return stand;
	if (manager_health_silent(m))
		return now + FAR_EPOCH_NS;
	next = spaces_step(&m->spaces, now - m->counted_ns);
	if (m->spaces.nr_pages != had)
		manager_budget(m);
	next = next == UINT64_MAX ? next : next + m->counted_ns;
	return next < stand ? next : stand;
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
	uint64_t taken = m->spaces.nr_pages + m->stock.target + m->pool.nr_withheld;

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

int manager_declare_lost(struct manager *m, const char *name, uint64_t node,
			 char why[CONF_WHY_MAX])
{
	struct space *space = spaces_find(&m->spaces, name);

	if (space)
		return spaces_declare_lost(space, node, why);
	snprintf(why, CONF_WHY_MAX, "no space has the name '%.60s'", name);
	return -ENOENT;
}
