/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For the fuzz targets: one software NIC, whose only port eats and feeds it. */
#ifndef TEST_FUZZ_BED_H
#define TEST_FUZZ_BED_H

#include "driver.h"
#include "snic/cm/priv.h"
#include "snic/net/priv.h"

struct fuzz_bed {
	struct snic *nic;
	struct snic_port port;
	uint64_t now;
	uint32_t pdn, cqn, qpn;
	_Alignas(64) struct wrc_cqe cq[16];
	_Alignas(64) uint8_t sq[64 * 4];
	_Alignas(64) uint8_t rq[16 * 4];
	_Alignas(64) struct wrc_dbr dbr;
	uint8_t frame[SNIC_FRAME_MAX];
	size_t frame_len;	/* waits to be received; 0: none */
	uint8_t sent[SNIC_FRAME_MAX];	/* the latest frame sent */
	size_t sent_len;
};

/* 10.0.0.2, 02:00:00:00:00:02; with one QP in RESET. */
void fuzz_open(struct fuzz_bed *b);
void fuzz_close(struct fuzz_bed *b);
/* Receives b->frame and lets ns pass. */
void fuzz_step(struct fuzz_bed *b, uint64_t ns);
/* Makes the frame's IP checksum and ICRC right, where it has them. */
void fuzz_fix(uint8_t *frame, size_t len);
/* What must hold of the CM between two calls. */
void fuzz_check_cm(struct fuzz_bed *b);

#endif /* TEST_FUZZ_BED_H */
