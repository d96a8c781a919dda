/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parameters of the module, and workqueues for what waits neither for the network nor
 * for memory (param.c).
 */
#ifndef _ODRP_PARAM_H
#define _ODRP_PARAM_H

struct workqueue_struct;

int odrp_wq_init(void);
void odrp_wq_exit(void);

/*
 * Memory may depend on a workqueue of ours.  None is bound to a processor, for a
 * real-time task may have one for itself.
 */
#define ODRP_WQ	(WQ_MEM_RECLAIM | WQ_UNBOUND)

extern struct workqueue_struct *odrp_wq, *odrp_flush_wq;
extern unsigned int odrp_poll_us;
extern unsigned int odrp_free_batch;
extern unsigned int odrp_free_delay_ms;
extern unsigned int odrp_ack_timeout;
extern unsigned int odrp_connect_ms;

#endif /* _ODRP_PARAM_H */
