// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Limits of identities; see shares.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "shares.h"

static uint64_t most_requests(const struct share *share)
{
	return (uint64_t)share->limits.max_requests * SHARE_REQUEST;
}

/* Sets the limits; the share keeps its name. */
static void share_limit(struct share *share, const struct conf_client *limits, bool named)
{
	bool was_limited = share->limits.max_requests;
	char name[CONF_CLIENT_MAX];

	_Static_assert(LEASE_MAX_WEIGHT == 1000, "conf_client_keys[] has it, too");
	memcpy(name, share->limits.name, sizeof(name));
	share->limits = *limits;
	memcpy(share->limits.name, name, sizeof(name));
	share->named = named;
	share->lease.most = limits->max_pages;
	share->lease.least = limits->guaranteed_pages;
	share->lease.weight = limits->weight;
	if (!was_limited || share->requests > most_requests(share))
		share->requests = most_requests(share);
}

static void share_free(const struct shares *shares, struct share *share)
{
	if (share->rate)
		shares->nic->node->ops->rate_free(shares->nic, share->rate);
	free(share);
}

int share_set_rate(const struct shares *shares, struct share *share)
{
	uint64_t most = share->limits.max_bandwidth;

	if (!most && !share->rate)
		return 0;
	if (!shares->nic || !shares->nic->node->ops->rate_set)
		return -EOPNOTSUPP;
	return shares->nic->node->ops->rate_set(shares->nic, most, &share->rate);
}

struct share *shares_find(const struct shares *shares, const char *name)
{
	struct share *share = shares->list;

	while (share && strcmp(share->limits.name, name))
		share = share->next;
	return share;
}

int shares_get(struct shares *shares, const char *name, struct share **ret_share)
{
	struct share *share = shares_find(shares, name);

	if (!share) {
		share = calloc(1, sizeof(*share));
		if (!share)
			return -ENOMEM;
		snprintf(share->limits.name, sizeof(share->limits.name), "%s", name);
		share_limit(share, &shares->others, false);
		share->next = shares->list;
		shares->list = share;
	}
	*ret_share = share;
	return 0;
}

int shares_set(struct shares *shares, const struct conf *conf)
{
	struct share *share;
	unsigned int i;
	int r;

	for (i = 0; i < conf->nr_clients; i++) {
		r = shares_get(shares, conf->clients[i].name, &share);
		if (r)
			return r;
	}
	shares->others = conf->others;
	for (share = shares->list; share; share = share->next)
		share_limit(share, &shares->others, false);
	for (i = 0; i < conf->nr_clients; i++) {
		share = shares_find(shares, conf->clients[i].name);
		share_limit(share, &conf->clients[i], true);
	}
	return 0;
}

void shares_fini(struct shares *shares)
{
	struct share *share;

	while ((share = shares->list)) {
		shares->list = share->next;
		share_free(shares, share);
	}
}

/* A spent allowance is remembered until it would be full again. */
static bool share_is_over(const struct share *share,
			  bool (*needed)(void *arg, const struct share *share), void *arg)
{
	return !share->named && share->requests >= most_requests(share) &&
	       !needed(arg, share);
}

void shares_tidy(struct shares *shares, const char *name,
		 bool (*needed)(void *arg, const struct share *share), void *arg)
{
	struct share **at = &shares->list, *share;

	while ((share = *at) && strcmp(share->limits.name, name))
		at = &share->next;
	if (!share || !share_is_over(share, needed, arg))
		return;
	*at = share->next;
	share_free(shares, share);
}

void shares_tick(struct shares *shares, uint32_t elapsed_ms,
		 bool (*needed)(void *arg, const struct share *share), void *arg)
{
	struct share **at = &shares->list, *share;

	while ((share = *at)) {
		uint64_t most = most_requests(share);

		share->requests += (uint64_t)share->limits.max_requests * elapsed_ms;
		if (share->requests > most)
			share->requests = most;
		if (!share_is_over(share, needed, arg)) {
			at = &share->next;
			continue;
		}
		*at = share->next;
		share_free(shares, share);
	}
}

bool share_take_request(struct share *share)
{
	if (!share->limits.max_requests)
		return true;
	if (share->requests < SHARE_REQUEST)
		return false;
	share->requests -= SHARE_REQUEST;
	return true;
}
