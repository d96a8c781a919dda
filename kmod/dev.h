/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A device from its options to its removal, and the memory that the device takes.
 */
#ifndef _ODRP_DEV_H
#define _ODRP_DEV_H

#include <linux/gfp.h>
#include <linux/in.h>
#include <linux/types.h>
#include <odrp/auth.h>

struct odrp_dev;

struct odrp_addr {
	struct sockaddr_in	dst;
	struct sockaddr_in	src;	/* sin_family 0: any address */
};

struct odrp_options {
	int			id;	/* -1: the lowest free number */
	struct odrp_addr	addr;
	u64			size;	/* in bytes */
	unsigned int		queues;
	unsigned int		depth;
	unsigned int		timeout_ms;
	unsigned int		reconnect_delay_ms;
	unsigned int		dead_after_ms;
	unsigned int		io_fail_ms;	/* 0: requests fail only with the session */
	bool			frontswap;
	const char		*backing;	/* NULL: none */
	bool			checksum;
	bool			protect;
	bool			direct;	/* offer ODRP_WIRE_F_DIRECT and ODRP_WIRE_F_KEYED */
	const char		*key;	/* the compute node's name; NULL: auth=none */
	bool			no_auth;	/* auth=none was given */
	u8			secret[ODRP_AUTH_SECRET];	/* the secret of key */
};

/* dev.c: a device from add to remove */
int odrp_dev_create(const struct odrp_options *opt, int id,
		    struct odrp_dev **ret_dev);
int odrp_dev_show(struct odrp_dev *dev, const struct odrp_options *opt);
void odrp_dev_abandon(struct odrp_dev *dev);
int odrp_dev_shut(struct odrp_dev *dev);
int odrp_dev_force(struct odrp_dev *dev);
void odrp_dev_destroy(struct odrp_dev *dev);
void odrp_dev_free(struct odrp_dev *dev);

/* mem.c: memory whose size depends on options of the user */
#define ODRP_GFP_CHOSEN		(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN)

void *odrp_table_alloc(u64 nr, size_t size);
unsigned long *odrp_bitmap_alloc(u64 nr);
u64 odrp_mem_needed(const struct odrp_options *opt, unsigned int queues,
		    unsigned int depth);
int odrp_mem_check(int id, const struct odrp_options *opt, u64 needed);

#endif /* _ODRP_DEV_H */
