/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * In place of kmod/compat.h and kmod/trace.h, whose guards it takes: the way of a bio
 * needs little of the first, and tracepoints do nothing here.  Included before all.
 */
#ifndef _SHIM_KMOD_H
#define _SHIM_KMOD_H

#include "kernel.h"

#define _ODRP_COMPAT_H
#define odrp_acct_start(bio, sectors)		(jiffies)
#define odrp_acct_end(bio, sectors, start)	((void)(start))

#include <crypto/chacha20poly1305.h>
#include <crypto/sha2.h>

#define ODRP_SWAPOFF_SAFE			(!bed_swapoff_unsafe)
extern bool bed_swapoff_unsafe;

#define _ODRP_TRACE_H
#define ODRP_TRACE_SLOT				0
#define ODRP_TRACE_PAGE				0
#define trace_odrp_wait(dev, bio, what)		((void)(dev))
#define trace_odrp_end(dev, bio, err)		((void)(dev))
#define trace_odrp_post(conn, req)		((void)(conn))
#define trace_odrp_done(conn, req)		((void)(conn))
#define trace_odrp_state(dev, from, to)		((void)(dev))

#endif /* _SHIM_KMOD_H */
