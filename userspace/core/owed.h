/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a client owes: words of far memory with its name that a task could not give back,
 * since the answers of its last verbs were lost. The client lives, so nobody else would
 * take them over, and all would wait for them. The client's service gives them back as
 * soon as it can reach them, and as no verb of that task may come any more (loose.h): a CAS
 * that finds nothing to give back says nothing before. When the client ends, they are a dead
 * owner's.
 */
#ifndef FAR_CORE_OWED_H
#define FAR_CORE_OWED_H

#include <far/far.h>

struct far_client;

/*
 * A CAS of the word at addr is due, until its answer comes. Whatever has happened to it by
 * then, `from` is there only as long as it is owed: either no other task of this client
 * ever writes that word, or tasks do so between far_lock_enter() and far_lock_leave() of a
 * lock at addr, and leave no such word behind.
 */
void far_owe(struct far_task *task, uint64_t addr, uint64_t from, uint64_t to);

/* For the service: pays what it can. For its end: forgets the rest. */
void far_owed_pay(struct far_task *task, struct far_client *client);
void far_owed_forget(struct far_client *client);

#endif
