/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For the fuzz targets: one host whose port leads to the target. */
#ifndef TEST_FUZZ_BED_H
#define TEST_FUZZ_BED_H

#include "bed/frame.h"
#include "bed/host.h"
#include "driver.h"
#include "snic/cm/cm-priv.h"
#include "snic/net/net-priv.h"

/* 10.0.0.2; with one QP in RESET. */
struct fuzz_bed {
	struct host host;
	uint32_t qpn;
};

void fuzz_open(struct fuzz_bed *b);
void fuzz_close(struct fuzz_bed *b);
/* Lets ns pass, after the frame has arrived. */
void fuzz_receive(struct fuzz_bed *b, const uint8_t *frame, size_t len,
		  uint64_t ns);
/* What must hold of the CM between two calls. */
void fuzz_check_cm(struct fuzz_bed *b);

#endif /* TEST_FUZZ_BED_H */
