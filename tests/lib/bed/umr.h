/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For the tests of indirect keys: loopback queue pairs, pages, and a key that leads
 * to them.
 */
#ifndef TEST_BED_UMR_H
#define TEST_BED_UMR_H

#include "end.h"

#define PAGE	4096u
#define PAGES	16
#define ENTRIES	8
#define PEER	(SNIC_REMOTE_READ | SNIC_REMOTE_WRITE)
#define VARIANT	0x5a

/* x asks, y's PD answers; z, of the same PD, writes entries. */
struct umr_bed {
	struct host b;
	struct end x, y, z;
	uint32_t key;		/* indirect, of ENTRIES */
	uint8_t *page;		/* PAGES of them */
	uint8_t *buf;		/* x's, as long */
};

void umr_open(struct umr_bed *u);
void umr_open_cfg(struct umr_bed *u, const struct snic_config *cfg);
void go(struct umr_bed *u, struct end *e);
struct wrc_ksm to_page(struct umr_bed *u, unsigned int i);

/* Entries first .. first + 3 lead to these pages; -1: nowhere. */
void put_map(struct umr_bed *u, struct end *e, uint8_t flags, uint64_t first,
	     const int *pages);
/* The same by z, at once. */
void map(struct umr_bed *u, uint64_t first, const int *pages);

#define PAGES_OF(...) ((const int[WRC_KSM_GROUP]){ __VA_ARGS__ })

/* x to or from buf, by the key. */
void put_access(struct umr_bed *u, uint8_t opcode, uint64_t addr, uint32_t len);
/* x's next WQE is done; or refused as a peer is, and both are done for. */
void expect_access(struct umr_bed *u, bool allowed);
void expect_read(struct umr_bed *u, uint64_t addr, uint32_t len, bool allowed);
void expect_write(struct umr_bed *u, uint64_t addr, uint32_t len, bool allowed);

void all_bytes(const uint8_t *p, uint32_t len, uint8_t is);
void pages_untouched(struct umr_bed *u);
void entry_is(struct umr_bed *u, unsigned int i, struct wrc_ksm want);
void entries_zero(struct umr_bed *u);

#endif /* TEST_BED_UMR_H */
