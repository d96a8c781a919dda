/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a sender of datagrams proves that it receives at its address.  It is asked
 * by an ARP request that comes from a MAC which only this NIC can compute: a
 * hash, under the NIC's secret, of the sender's address and the time.  Each
 * station answers ARP requests, and names that MAC in its answer.  A question
 * takes no memory, is no longer than the frame that it answers, and is not
 * repeated.  No question is answered by a question, so that two NICs that do not
 * know each other are silent again at once.
 */
#include <arpa/inet.h>
#include <string.h>
#include "net-priv.h"

/* Answers to questions of this period and of the one before are accepted. */
#define PERIOD_NS	(4ull * 1000000000)

static uint64_t rotl(uint64_t v, unsigned int n)
{
	return v << n | v >> (64 - n);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] = rotl(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] = rotl(v[2], 32);
}

/* SipHash-2-4 (Aumasson, Bernstein 2012) of words. */
static uint64_t siphash(const uint64_t key[2], const uint64_t *words, unsigned int n)
{
	uint64_t v[4] = {
		key[0] ^ 0x736f6d6570736575ull, key[1] ^ 0x646f72616e646f6dull,
		key[0] ^ 0x6c7967656e657261ull, key[1] ^ 0x7465646279746573ull,
	};
	unsigned int i;

	for (i = 0; i <= n; i++) {
		uint64_t m = i < n ? words[i] : (uint64_t)(8 * n) << 56;

		v[3] ^= m;
		sip_round(v);
		sip_round(v);
		v[0] ^= m;
	}
	v[2] ^= 0xff;
	for (i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The MAC that asks a sender in a period: 46 bits that it cannot guess. */
static void question_mac(struct snic *nic, const struct snic_udp_addr *peer,
			 uint64_t period, uint8_t ret_mac[SNIC_ETH_ALEN])
{
	const uint64_t words[2] = { (uint64_t)peer->ip << 16 | peer->port, period };
	uint64_t hash = siphash(snic_net_of(nic)->secret, words, 2);

	memcpy(ret_mac, &hash, SNIC_ETH_ALEN);
	ret_mac[0] = (ret_mac[0] & 0xfc) | 2;	/* of one station, locally chosen */
}

__be32 snic_proof_address(struct snic *nic, const struct snic_udp_addr *peer,
			  unsigned int n)
{
	/* No period is one of the last. */
	const uint64_t words[2] = {
		(uint64_t)peer->ip << 16 | peer->port, UINT64_MAX - n,
	};
	uint64_t hash = siphash(snic_net_of(nic)->secret, words, 2);

	return htonl(0x64400000 | (hash & 0x3fffff));
}

/* Is this a question of another NIC?  Stations that ask for an address do so by broadcast. */
static bool is_question(const uint8_t *frame, const struct snic_arp_packet *a)
{
	static const uint8_t none[4];

	return a->oper == SNIC_ARP_REQUEST && !snic_mac_is_group(frame) &&
	       !memcmp(a->spa, none, sizeof(none));
}

static unsigned int frame_type(const uint8_t *frame)
{
	return frame[12] << 8 | frame[13];
}

bool snic_proof_ok(struct snic *nic, const struct snic_udp_addr *peer,
		   const uint8_t *frame, size_t len)
{
	uint64_t period = snic_now(nic) / PERIOD_NS;
	struct snic_arp_packet a;
	uint8_t mac[SNIC_ETH_ALEN];
	unsigned int i;

	if (frame_type(frame) != SNIC_ETHERTYPE_ARP ||
	    snic_arp_parse(frame + SNIC_ETH_HLEN, len - SNIC_ETH_HLEN, &a) ||
	    a.oper != SNIC_ARP_REPLY)
		return false;
	for (i = 0; i < 2; i++) {
		question_mac(nic, peer, period - i, mac);
		if (!memcmp(frame, mac, sizeof(mac)))
			return true;
	}
	return false;
}

bool snic_proof_worth(const uint8_t *frame, size_t len, __be32 *ret_ip)
{
	struct snic_arp_packet a;

	if (len < SNIC_ARP_LEN)
		return false;
	switch (frame_type(frame)) {
	case SNIC_ETHERTYPE_ARP:
		if (snic_arp_parse(frame + SNIC_ETH_HLEN, len - SNIC_ETH_HLEN, &a) ||
		    is_question(frame, &a))
			return false;
		memcpy(ret_ip, a.spa, sizeof(a.spa));
		return true;
	case SNIC_ETHERTYPE_IP:
		memcpy(ret_ip, frame + SNIC_ETH_HLEN + 12, sizeof(*ret_ip));
		return true;
	}
	return false;
}

void snic_proof_ask(struct snic *nic, const struct snic_udp_addr *peer,
		    const uint8_t *mac, __be32 ip, uint8_t ret_frame[SNIC_ARP_LEN])
{
	uint8_t from[SNIC_ETH_ALEN];

	question_mac(nic, peer, snic_now(nic) / PERIOD_NS, from);
	snic_arp_put(ret_frame, &(struct snic_arp_fields) {
		.oper = SNIC_ARP_REQUEST, .to = mac, .mac = from, .target_ip = ip,
	});
}
