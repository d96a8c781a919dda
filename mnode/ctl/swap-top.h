/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* odrpctl swap top: rates of the swap devices, from two samples of their counters. */
#ifndef CTL_SWAP_TOP_H
#define CTL_SWAP_TOP_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum swap_count {
	SWAP_LOADS,
	SWAP_STORES,		/* mapped and unmapped */
	SWAP_FREES,		/* slots that the kernel's swap code has freed */
	SWAP_ERRORS,		/* loads and stores that failed */
	SWAP_RECONNECTS,
	SWAP_NR_COUNTS,
};

/**
 * struct swap_sample - the state of a device at one time
 * @there:	the device exists; else the other fields have no meaning
 * @ns:		time of the sample, CLOCK_MONOTONIC
 * @used, @lease: pages
 * @load_us, @store_us: 50th and 99th percentile since the device was added, microseconds
 */
struct swap_sample {
	bool there;
	uint64_t ns;
	char state[16];
	uint64_t count[SWAP_NR_COUNTS];
	uint64_t used, lease;
	double load_us[2], store_us[2];
};

/* 0, or -errno if the device has gone: then the sample says so. */
int swap_sample_read(unsigned int id, struct swap_sample *ret_sample);

/* Per second between two samples; 0 if the counter was reset. */
double swap_rate(const struct swap_sample *from, const struct swap_sample *to,
		 enum swap_count which);

#define SWAP_TOP_LINE 160

void swap_top_head(char line[SWAP_TOP_LINE]);
void swap_top_line(unsigned int id, const struct swap_sample *from,
		   const struct swap_sample *to, char line[SWAP_TOP_LINE]);
struct json_object *swap_top_json(const struct swap_sample *from,
				  const struct swap_sample *to);

/*
 * Prints every `seconds`, `count` times; count 0: until writing fails.  0 or -errno of
 * writing.
 */
int swap_top(double seconds, unsigned long count, bool json);

#endif /* CTL_SWAP_TOP_H */
