/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Devices of odrp.ko on this machine, one step per function.  Functions that return int
 * return 0 or -errno, unless said otherwise.  Only modprobe, mkswap and udevadm print
 * messages.
 */
#ifndef CTL_SWAP_DEV_H
#define CTL_SWAP_DEV_H

#include <stdbool.h>
#include <stddef.h>

#define SWAP_DEV_CONTROL	"/sys/class/odrp-control"
#define SWAP_DEV_MAX		256

/* name: "odrp3", "/dev/odrp3" or "3".  -EINVAL. */
int swap_dev_id(const char *name, unsigned int *ret_id);
bool swap_dev_loaded(void);
/* Loads the module, if it is not loaded. */
int swap_dev_load(void);
bool swap_dev_exists(unsigned int id);
/* Reads one line of /sys/block/odrpN/odrp/NAME. */
int swap_dev_read(unsigned int id, const char *name, char *buf, size_t len);

/* line: see swap_conf_line(). */
int swap_dev_add(const char *line);
/* Removes the device.  Retries -EBUSY for some seconds: programs such as udev may look at
 * a device that was just closed. */
int swap_dev_remove(unsigned int id);
/* Removes the device even if it is in use: then all its I/O fails, and the device goes
 * when it is closed. */
int swap_dev_drop(unsigned int id);

/* Is the device used as swap space?  1, 0 or -errno. */
int swap_dev_is_on(unsigned int id);
/* Kilobytes that are swapped out to the device; 0 if it is not swapped on; or -errno. */
long swap_dev_used(unsigned int id);
/* label "": no label; uuid "": a new one. */
int swap_dev_mkswap(unsigned int id, const char *label, const char *uuid);
/*
 * Has udev look at the device and waits for that: then the links by label and UUID exist.
 * udev notices what mkswap wrote only if it already watches the device, which udev begins
 * some time after the device was added.  Returns 0 without udev.
 */
int swap_dev_tell_udev(unsigned int id);
/* priority -1: the kernel chooses. */
int swap_dev_on(unsigned int id, int priority);
/* Swaps off; returns 0 if the device was not swapped on.  If another process swaps the
 * device off, waits until that has ended. */
int swap_dev_off(unsigned int id);

/* Raises vm.min_free_kbytes to this value; never lowers it. */
int swap_dev_min_free(long kbytes);

#endif /* CTL_SWAP_DEV_H */
