/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sentences for errors that come from the rights and limits of this process: they name the
 * file, the limit and the user, so that an administrator knows what to change.
 */
#ifndef OWN_WORDS_H
#define OWN_WORDS_H

#include <stddef.h>
#include <stdint.h>

enum own_tried {
	OWN_TRIED_REGISTER,	/* to register memory with an RDMA device, which locks it */
	OWN_TRIED_RDMA,		/* to open RDMA devices */
	OWN_TRIED_MEMORY,	/* to allocate memory */
};

/*
 * Writes one sentence into text: why what was tried failed with err, a negative errno.
 * bytes: how much memory was asked for, with OWN_TRIED_MEMORY. Returns err.
 */
int own_words(char *text, size_t len, enum own_tried tried, uint64_t bytes, int err);

#endif
