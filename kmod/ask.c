// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Asking for pages at once; see ask.h. */
#include "odrp.h"

/*
 * odrp_ask_now() - have heartbeats follow each other quickly, until there are pages again
 *
 * While the session is lost, they begin when it has been resumed, and stores wait for them.
 * Does nothing if the memory node does not answer quickly, or has denied more.  Any context.
 */
void odrp_ask_now(struct odrp_dev *dev)
{
	struct odrp_beat *b = &dev->sess.beat;

	if (odrp_sess_asks(&dev->sess) && odrp_ask_begin(&dev->ask) && READ_ONCE(b->on))
		mod_delayed_work(odrp_wq, &b->work, 0);
}
