/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parameters and workqueues of the module (param.c).
 */
#ifndef _ODRP_PARAM_H
#define _ODRP_PARAM_H

struct workqueue_struct;

int odrp_wq_init(void);
void odrp_wq_exit(void);

/*
 * Flags of workqueues whose work memory reclaim may depend on.  WQ_UNBOUND: a real-time
 * task may occupy a processor, so no work is bound to one.
 */
#define ODRP_WQ	(WQ_MEM_RECLAIM | WQ_UNBOUND)

extern struct workqueue_struct *odrp_wq, *odrp_flush_wq, *odrp_stock_wq;
extern unsigned int odrp_poll_us;
extern unsigned int odrp_free_batch;
extern unsigned int odrp_free_delay_ms;
extern unsigned int odrp_move_mbps;
extern unsigned int odrp_ack_timeout;
extern unsigned int odrp_connect_ms;

#endif /* _ODRP_PARAM_H */
