/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The module: how its files hang together, and its locks.  Each object has a header:
 * unit.h (a device), sess.h, conn.h, queue.h, req.h, slot.h, free.h, uevent.h.
 *
 * A page's way: blk.c (bios) -> issue.c (bio to blocks, slot state) -> io.c
 * (request, post) -> wire -> poll.c -> done.c (completions, bio end).  Around it:
 * wait.c (bios that wait for a slot), free.c and flush.c (freed slots), sess.c,
 * fail.c, watch.c, sync.c, hangup.c, reconnect.c, lookup.c, dial.c and cm.c
 * (connections), beat.c and grant.c (heartbeat and lease), backing.c and backdev.c (a
 * second copy), sum.c (checksums), protect.c (encryption), unreadable.c (what swapoff
 * must not map), keys.c (rkeys for pages), mem.c (memory by size), plug.c and unplug.c
 * (queue pairs), reserve.c (what is kept for reconnecting), end.c (ids that go),
 * handshake.c, msg.c, sign.c, auth.c and secret.c (who is who), uevent.c (uevents),
 * ctl.c, sysfs.c and debug.c (users).
 *
 * Locks, outermost first:
 *   ctl.c's rwsem		devices that are being made, and RDMA devices that go
 *   ctl.c's mutex		showing and removing devices
 *   odrp_dev.lock (mutex)	openers, removal
 *   odrp_wait.lock (bh)	bios that wait for one slot
 *   odrp_free.lock (bh)	bios that wait for a page
 *   odrp_auth.lock		the secret; nothing within
 *   odrp_protect.lock (bh)	a page to decrypt in; nothing within
 *   odrp_sess.lock (bh)	moves that queue the reconnecting, and going live
 *   odrp_conn.plug_lock	(mutex) the queue pair and events of its connection
 *   odrp_conn.lock (bh)	free requests, numbering and posting, waiting bios
 *   odrp_queue.released_lock (bh)	bios that have been released; nothing within
 * Nothing on the data path takes a mutex, allocates, or holds a lock with
 * interrupts off: ib_post_send() may run the whole transport in the caller.
 */
#ifndef _ODRP_H
#define _ODRP_H

#include "fault.h"
#include "keys.h"
#include "param.h"
#include "unit.h"

#endif /* _ODRP_H */
