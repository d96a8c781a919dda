/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Second tries: what all structures do when an operation finds its space full or its
 * connection broken.
 */
#ifndef FAR_FORM_RUN_H
#define FAR_FORM_RUN_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

struct far_task;

/*
 * An operation or a creation, at the head of its caller's arguments. once() enters its
 * epoch, tries it and leaves the epoch. When it answers -EIO, unsure says whether something
 * may have changed: then there is no second try. -EINPROGRESS: it goes on when mark, of
 * far_epoch_mark(), is past.
 */
struct form_run {
	struct far_task *task;
	int (*once)(struct form_run *run);
	bool unsure;
	uint64_t mark;			/* with -EINPROGRESS */
};

/*
 * The answer of an operation that has ended with err. -ESTALE says that it has changed
 * nothing: when the verb that publishes its change may have been posted before the client was
 * fenced (unsure), its fate is unknown.
 */
static inline int form_fate(int err, bool unsure)
{
	return err == -ESTALE && unsure ? -EIO : err;
}

/* Goes on after a first try that has answered one of these. */
int form_run_again(struct form_run *run, int err);

/*
 * Tries it; once more when the space was full, after memory was reclaimed; and once more
 * when a connection broke before anything was changed, some times.
 */
static inline int form_run(struct form_run *run)
{
	int err = run->once(run);

	return err == -ENOSPC || err == -EIO || err == -EINPROGRESS ? form_run_again(run, err) :
								      err;
}

#endif
