/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The module: the parts of its files, and its locks.  Each object has a header:
 * unit.h (a device), sess.h, conn.h, queue.h, req.h, slot.h, free.h, uevent.h.
 *
 * The path of a page: blk.c (bios) -> issue.c (bio to blocks, slot state) -> io.c
 * (request, post) -> wire -> poll.c -> done.c (completions, end of the bio).
 *
 * Other files, by subject:
 *   bios that wait		wait.c (for a slot), room.c (writers)
 *   slots, freed slots		slot.c, free.c, flush.c
 *   direct slabs		place.c, slabs.c
 *   pages without a bio	frontswap.c
 *   fields of the protocol	accept.c
 *   session and connections	sess.c, fail.c, state.c, watch.c, sync.c, hangup.c,
 *				reconnect.c, lookup.c, dial.c, cm.c
 *   heartbeat and lease	beat.c, grant.c
 *   second copy		backing.c, backdev.c
 *   contents of pages		sum.c (checksums), protect.c (encryption),
 *				unreadable.c (pages that swapoff must not map)
 *   rkeys of pages		keys.c
 *   memory by size		mem.c
 *   queue pairs		plug.c, unplug.c
 *   means of reconnecting	stock.c, reserve.c
 *   end of RDMA objects	end.c (connection ids), card.c (RDMA devices)
 *   authentication		handshake.c, msg.c, sign.c, auth.c, secret.c
 *   user interface		ctl.c, sysfs.c, debug.c, param.c, uevent.c
 *   measurement		stats.c, hist.c, trace.c
 *   sleep of the machine	pm.c
 *   faults for tests		fault.c
 *
 * Locks, outermost first, with what they guard:
 *   ctl.c's mutex		the set of devices; see ctl.c for what a holder may do
 *   odrp_dev.lock (mutex)	openers, removal
 *   odrp_slabs.lock (mutex)	the slabs that a device holds
 *   odrp_conn.plug_lock	(mutex) the queue pair, against events of its connection
 *   frontswap.c's mutex	the number of devices that use frontswap
 *   odrp_wait.lock (bh)	bios that wait for one slot
 *   odrp_free.lock (bh)	bios that wait for a page
 *   odrp_auth.lock		the secret; no lock is taken within
 *   odrp_protect.lock (bh)	a page to decrypt in; no lock is taken within
 *   card.c's lock		RDMA devices, and the sessions that use them
 *   odrp_sess.lock (bh)	changes of state that queue the reconnecting or go live
 *   odrp_conn.lock (bh)	free requests, numbering and posting, waiting bios
 *   odrp_queue.released_lock (bh)	released bios; no lock is taken within
 *   odrp_uevents.lock		uevents to send; no lock is taken within
 *   end.c's lock		ids to destroy; no lock is taken within
 *
 * The data path takes no mutex.  It allocates nothing that it cannot do without, except
 * twins, whose mempool it never waits for (backing.c).  It holds no lock with interrupts
 * off, because ib_post_send() may run the whole transport in the caller.
 */
#ifndef _ODRP_H
#define _ODRP_H

#include "fault.h"
#include "keys.h"
#include "param.h"
#include "unit.h"

#endif /* _ODRP_H */
