/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lines in the log about who was refused, and why. Anybody can cause refusals, so their
 * lines are limited in rate; lines about what the operator does are not.
 */
#ifndef MNODE_AUDIT_H
#define MNODE_AUDIT_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/types.h>

/* In each period: lines in all, and of one address. */
#define AUDIT_PERIOD_MS	10000
#define AUDIT_LINES	32
#define AUDIT_LINES_EACH	4

/**
 * struct audit - the lines of this period
 * @ms:		time since the period began
 * @hidden:	refusals that got no line
 * @nr, @ip:	lines, and the address of each
 */
struct audit {
	uint32_t ms;
	uint64_t hidden;
	unsigned int nr;
	__be32 ip[AUDIT_LINES];
};

/**
 * struct audit_peer - who is refused
 * @name:	NULL: the peer has said none
 * @proved:	the peer has proved the name
 */
struct audit_peer {
	const char *name;
	bool proved;
	__be32 ip;
};

void audit_refused(struct audit *audit, const struct audit_peer *peer, const char *why);
/* Begins the next period in time, and says how many refusals got no line. */
void audit_tick(struct audit *audit, uint32_t elapsed_ms);

#endif /* MNODE_AUDIT_H */
