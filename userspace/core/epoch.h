/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Epochs: when memory that was unlinked may be used again.
 *
 * An operation of a structure runs between far_epoch_enter() and far_epoch_exit(). What
 * it finds by following pointers in between is not reused before it exits. An address
 * that was kept from an earlier operation is a hint, and no more.
 *
 * The rules are those of the design: there is one epoch word E per space set, which
 * the arbiter advances. A client publishes the E that it has READ once everything that
 * it had begun before that READ returned has completed. A block's tag is the E that
 * was read after the verb that unlinked it was acknowledged; it is free again when the
 * entries of all living clients exceed the tag.
 */
#ifndef FAR_CORE_EPOCH_H
#define FAR_CORE_EPOCH_H

#include <stdbool.h>

#include <far/far.h>

#include "../space/layout.h"

/*
 * Enter may be nested. It costs no verb; it waits while the client's entry is not
 * published yet, as long as an operation may take: -ETIME. -ESTALE: the client was fenced.
 * Exit wants all that the task has
 * appended to be acknowledged, by far_sync().
 */
int far_epoch_enter(struct far_task *task);
void far_epoch_exit(struct far_task *task);

/*
 * Gives back a block that was reachable, after the verb that unlinked it was
 * acknowledged; size as for far_block_alloc(). Inside of an epoch. Costs no verb. Exactly
 * one client retires a block: the one whose CAS unlinked it. -ENOMEM: nothing was
 * retired.
 */
int far_retire(struct far_task *task, uint64_t addr, uint64_t size);

/*
 * The newest E that this client knows. It exceeds the tag of each block that
 * far_block_alloc() gives, whoever retired it; and it stays below the E that any living
 * client has published plus FAR_EPOCH_LEAD.
 */
uint64_t far_epoch_known(const struct far_task *task);

/*
 * When all operations that are inside of an epoch now, of any client, have left it, with
 * what they have posted: not before far_epoch_is_past() says so of this mark. wait():
 * outside of an epoch, until it does. -ETIME: the operation is late, or another client lives
 * and stands still.
 */
uint64_t far_epoch_mark(const struct far_task *task);
bool far_epoch_is_past(const struct far_task *task, uint64_t mark);
int far_epoch_wait(struct far_task *task, uint64_t mark);

/*
 * Waits until what this client had retired before the call is free, what dead clients had
 * in hand, too, and other clients had time to free theirs, and to give back empty chunks.
 * What to do when far_block_alloc() says -ENOSPC: leave the epoch, call this, and try once more.
 * -EAGAIN: another client stands in the way: at once, if it has done so for two seconds;
 * or the caller itself, at once: the task is inside of an epoch. -ETIME: the operation is
 * late.
 */
int far_reclaim(struct far_task *task);

#endif
