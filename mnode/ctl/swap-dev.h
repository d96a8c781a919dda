/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The devices of odrp.ko on this machine, one step per function.  All return
 * 0 or -errno and print nothing, but for what modprobe, mkswap and udevadm say.
 */
#ifndef CTL_SWAP_DEV_H
#define CTL_SWAP_DEV_H

#include <stdbool.h>
#include <stddef.h>

#define SWAP_DEV_CONTROL	"/sys/class/odrp-control"
#define SWAP_DEV_MAX		256

/* "odrp3", "/dev/odrp3" or "3". */
int swap_dev_id(const char *name, unsigned int *ret_id);
bool swap_dev_loaded(void);
/* Loads the module if it is not there. */
int swap_dev_load(void);
bool swap_dev_exists(unsigned int id);
/* One line of a file in /sys/block/odrpN/odrp/. */
int swap_dev_read(unsigned int id, const char *name, char *buf, size_t len);

/* line: see swap_conf_line(). */
int swap_dev_add(const char *line);
/* Waits a little for those that look at a device that was just closed. */
int swap_dev_remove(unsigned int id);
/* Also if it is in use: then it fails all I/O, and goes when it is closed. */
int swap_dev_drop(unsigned int id);

/* Is it used as swap space?  1, 0 or -errno. */
int swap_dev_is_on(unsigned int id);
/* Kilobytes that have been swapped out to it; 0 also if it is not on. */
long swap_dev_used(unsigned int id);
/* label, uuid: "": none, and one that is new. */
int swap_dev_mkswap(unsigned int id, const char *label, const char *uuid);
/*
 * Has udev look at the device and waits until it has: after that the links by label and
 * UUID are there.  udev itself sees what mkswap wrote only if it watched the device by
 * then, which it begins some time after the device was added.  0 also without udev.
 */
int swap_dev_tell_udev(unsigned int id);
/* priority: -1: the kernel's choice. */
int swap_dev_on(unsigned int id, int priority);
/* 0 also if it was not on.  If somebody else is turning it off, waits for the
 * end of that. */
int swap_dev_off(unsigned int id);

/* Raises vm.min_free_kbytes to this; never lowers it. */
int swap_dev_min_free(long kbytes);

#endif /* CTL_SWAP_DEV_H */
