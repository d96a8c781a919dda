/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames made by hand: from and to are the numbers of hosts (host.h). */
#ifndef TEST_BED_FRAME_H
#define TEST_BED_FRAME_H

#include <stddef.h>
#include <stdint.h>

void frame_put16(uint8_t *p, uint16_t v);
/* The Internet checksum. */
uint16_t frame_sum(const uint8_t *p, size_t len);
/* Ethernet from a host to any MAC; returns what is behind it. */
uint8_t *frame_eth(uint8_t *frame, const uint8_t *mac, uint8_t from,
		   uint16_t type);
/* Ethernet and IPv4 around len bytes; returns where those begin. */
uint8_t *frame_ip(uint8_t *frame, uint8_t from, uint8_t to, uint8_t proto,
		  size_t len);
/* All in front of a BTH, around len bytes, which the ICRC counts among. */
uint8_t *frame_udp(uint8_t *frame, uint8_t from, uint8_t to, size_t len);
/* A RoCEv2 frame around BTH and payload, with a right ICRC; returns its length. */
size_t frame_roce(uint8_t *frame, uint8_t from, uint8_t to, const void *bth,
		  size_t len);
/* Makes IP checksum and ICRC right, where it has them. */
void frame_fix(uint8_t *frame, size_t len);

#endif /* TEST_BED_FRAME_H */
