// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Frames made by hand: see frame.h. */
#include <string.h>
#include "frame.h"
#include "host.h"
#include "snic/net/pkt.h"
#include "snic/net/net-priv.h"

#define ETH_HLEN	14
#define UDP		17

void frame_put16(uint8_t *p, uint16_t v)
{
	p[0] = v >> 8;
	p[1] = v & 0xff;
}

uint16_t frame_sum(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;
	size_t i;

	for (i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

uint8_t *frame_eth(uint8_t *frame, const uint8_t *mac, uint8_t from,
		   uint16_t type)
{
	memcpy(frame, mac, 6);
	memcpy(frame + 6, (uint8_t[6]){ 2, 0, 0, 0, 0, from }, 6);
	frame_put16(frame + 12, type);
	return frame + ETH_HLEN;
}

uint8_t *frame_ip(uint8_t *frame, uint8_t from, uint8_t to, uint8_t proto,
		  size_t len)
{
	__be32 src = host_ip(from), dst = host_ip(to);
	uint8_t *p = frame_eth(frame, (uint8_t[6]){ 2, 0, 0, 0, 0, to }, from,
			       SNIC_ETHERTYPE_IP);

	memset(p, 0, 20);
	p[0] = 0x45;
	frame_put16(p + 2, 20 + len);
	p[8] = 64;
	p[9] = proto;
	memcpy(p + 12, &src, 4);
	memcpy(p + 16, &dst, 4);
	frame_put16(p + 10, frame_sum(p, 20));
	return p + 20;
}

uint8_t *frame_udp(uint8_t *frame, uint8_t from, uint8_t to, size_t len)
{
	uint8_t *udp = frame_ip(frame, from, to, UDP, 8 + len);

	frame_put16(udp, 0xc000);
	frame_put16(udp + 2, SNIC_ROCE_PORT);
	frame_put16(udp + 4, 8 + len);
	frame_put16(udp + 6, 0);
	return udp + 8;
}

size_t frame_roce(uint8_t *frame, uint8_t from, uint8_t to, const void *bth,
		  size_t len)
{
	uint8_t *p = frame_udp(frame, from, to, len + SNIC_ICRC_LEN);

	memmove(p, bth, len);
	frame_fix(frame, SNIC_NET_HLEN + len + SNIC_ICRC_LEN);
	return SNIC_NET_HLEN + len + SNIC_ICRC_LEN;
}

void frame_fix(uint8_t *frame, size_t len)
{
	uint8_t *ip = frame + ETH_HLEN, *udp = ip + 20;
	struct iovec iov;
	size_t n;

	if (len < SNIC_NET_HLEN || frame[12] != 8 || frame[13] != 0)
		return;
	frame_put16(ip + 10, 0);
	frame_put16(ip + 10, frame_sum(ip, 20));
	n = udp[4] << 8 | udp[5];
	if (n < 8 + 12 + SNIC_ICRC_LEN || udp + n > frame + len)
		return;
	iov = (struct iovec){ udp + 8, n - 8 - SNIC_ICRC_LEN };
	snic_icrc_put(udp + n - SNIC_ICRC_LEN, snic_icrc(ip, udp, &iov, 1));
}
