/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ways of datagrams: the address handles of a queue set, by host. A host is found by its
 * address of IPv4, which RoCE v2 has as a GID.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "real.h"
#include "verbs_priv.h"

#define MOST_WAYS	4096u			/* hosts; datagrams to others are lost */
#define AGAIN_NS	UINT64_C(1000000000)	/* until a host without way is looked for again */
#define HOPS		64u

struct verbs_way {
	struct verbs_way *next;		/* in its bucket */
	uint32_t ip;
	struct ibv_ah *ah;		/* NULL: there is none, as of failed_ns */
	uint64_t failed_ns;
};

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

/* ---- ourselves ---- */

/* True if datagrams of ours can come from this address; *ret_ip gets it. */
static bool gid_fits(const struct verbs_nic *verbs, const struct ibv_gid_entry *gid,
		     uint32_t *ret_ip)
{
	const struct sockaddr_in *from = (const struct sockaddr_in *)&verbs->from;
	in_addr_t ip;

	memcpy(&ip, gid->gid.raw + sizeof(mapped), sizeof(ip));
	*ret_ip = ntohl(ip);
	return gid->gid_type == IBV_GID_TYPE_ROCE_V2 &&
	       !memcmp(gid->gid.raw, mapped, sizeof(mapped)) &&
	       (!verbs->from.ss_family ||
		(verbs->from.ss_family == AF_INET && from->sin_addr.s_addr == ip));
}

/* Looks for an address at a port. */
static bool port_fits(struct verbs_ways *ways, uint8_t port)
{
	struct verbs_nic *verbs = ways->verbs;
	struct ibv_gid_entry gid;
	struct ibv_port_attr attr;
	int i;

	if (ibv_query_port(verbs->ctx, port, &attr) || attr.state != IBV_PORT_ACTIVE)
		return false;
	for (i = 0; i < attr.gid_tbl_len && i <= UINT8_MAX; i++) {
		if (ibv_query_gid_ex(verbs->ctx, port, i, &gid, 0) ||
		    !gid_fits(verbs, &gid, &ways->ip))
			continue;
		ways->port = port;
		ways->gid_index = i;
		ways->packet = 128u << attr.active_mtu;
		return true;
	}
	return false;
}

int verbs_ways_init(struct verbs_nic *verbs, struct verbs_ways *ways)
{
	unsigned port;

	*ways = (struct verbs_ways) { .verbs = verbs };
	for (port = 1; port <= verbs->attr.phys_port_cnt; port++)
		if (port_fits(ways, port))
			break;
	if (!ways->port)
		return -EAFNOSUPPORT;
	/* The way to ourselves, which datagrams to nobody take. */
	return verbs_ways_find(ways, ways->ip) ? 0 : -EHOSTUNREACH;
}

void verbs_ways_fini(struct verbs_ways *ways)
{
	struct verbs_way *way;
	unsigned i;

	for (i = 0; i < VERBS_WAYS; i++)
		while ((way = ways->bucket[i])) {
			ways->bucket[i] = way->next;
			if (way->ah)
				ibv_destroy_ah(way->ah);
			free(way);
		}
}

/* ---- others ---- */

static struct verbs_way *way_get(struct verbs_ways *ways, uint32_t ip)
{
	struct verbs_way **bucket = &ways->bucket[(ip ^ ip >> 8) % VERBS_WAYS], *way = *bucket;

	while (way && way->ip != ip)
		way = way->next;
	if (way || ways->nr == MOST_WAYS)
		return way;
	way = calloc(1, sizeof(*way));
	if (!way)
		return NULL;
	way->ip = ip;
	way->next = *bucket;
	*bucket = way;
	ways->nr++;
	return way;
}

static struct ibv_ah *ah_make(const struct verbs_ways *ways, uint32_t ip)
{
	struct ibv_ah_attr attr = {
		.grh = { .sgid_index = ways->gid_index, .hop_limit = HOPS },
		.is_global = 1, .port_num = ways->port,
	};
	in_addr_t be = htonl(ip);

	memcpy(attr.grh.dgid.raw, mapped, sizeof(mapped));
	memcpy(attr.grh.dgid.raw + sizeof(mapped), &be, sizeof(be));
	return ibv_create_ah(ways->verbs->pd, &attr);
}

struct ibv_ah *verbs_ways_find(struct verbs_ways *ways, uint32_t ip)
{
	struct verbs_way *way = way_get(ways, ip);
	uint64_t now;

	if (!way || way->ah)
		return way ? way->ah : NULL;
	now = far_real_now(NULL);
	if (way->failed_ns && now - way->failed_ns < AGAIN_NS)
		return NULL;
	way->ah = ah_make(ways, ip);
	way->failed_ns = far_real_now(NULL);
	return way->ah;
}
