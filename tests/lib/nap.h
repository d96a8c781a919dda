/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A back end over another one, whose client can be held up before the n-th operation
 * that one of its threads posts: what it had read by then is old when it goes on.
 */
#ifndef TESTS_LIB_NAP_H
#define TESTS_LIB_NAP_H

#include <stdint.h>

struct far_nic;

/* close() closes inner, too. NULL: no memory. */
struct far_nic *nap_new(struct far_nic *inner);
/*
 * For the thread that posts next: fn(arg) is called before its n-th operation
 * from now on is posted, those before it in the same list are posted already. 0: not
 * at all. Operations are counted anew.
 */
void nap_at(struct far_nic *nic, uint64_t n, void (*fn)(void *arg), void *arg);
/*
 * Whether that thread is cut off: its next lists are not posted, as if no connection could be
 * made.
 */
void nap_cut(struct far_nic *nic, int cut);
/* The same before each list that the thread posts from now on, until fn is NULL. */
void nap_always(struct far_nic *nic, void (*fn)(void *arg), void *arg);
/* Operations that thread has posted since nap_at(). */
uint64_t nap_count(const struct far_nic *nic);
/* For fn: others run meanwhile, also in virtual time. By one thread at a time. */
void nap_sleep(struct far_nic *nic, uint64_t ns);

#endif
