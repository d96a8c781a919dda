// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * /sys/kernel/debug/odrp/: how long loads and stores of each queue take, the reserve of
 * pages (reserve.c), the spares (stock.c), and the files of fault.c.
 * ABI: docs/ABI/debugfs-odrp.
 *
 * Without debugfs the functions that make files return an error pointer.  The functions of
 * debugfs accept such a pointer, so this file does not check for it.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include "odrp.h"

static struct dentry *root;

/* Print "lower upper count" of each bucket that is not empty. */
static int times_show(struct seq_file *m, void *unused)
{
	const struct odrp_hist_live *h = m->private;
	unsigned int i;
	u64 n;

	for (i = 0; i < ODRP_HIST_NR; i++) {
		n = atomic64_read(&h->n[i]);
		if (n)
			seq_printf(m, "%llu %llu %llu\n", odrp_hist_lower(i),
				   odrp_hist_upper(i), n);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(times);

/* Print how many connections have both spares. */
static int spares_show(struct seq_file *m, void *unused)
{
	const struct odrp_sess *s = m->private;
	unsigned int n = odrp_conn_has_spare(s->admin), i, c;

	n += s->auth.conn && odrp_conn_has_spare(s->auth.conn);
	for (i = 0; i < s->nr_queues; i++)
		for (c = 0; c < odrp_sess_chains(s); c++)
			n += odrp_conn_has_spare(s->queues[i].conn[c]);
	seq_printf(m, "%u\n", n);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(spares);

/*
 * odrp_debug_add() - make the files of a device
 *
 * The session, queues and times of the device must stay until odrp_debug_del() returns.
 */
void odrp_debug_add(struct odrp_dev *dev)
{
	struct dentry *dir;
	unsigned int i;
	char name[16];

	snprintf(name, sizeof(name), "odrp%d", dev->id);
	dev->debug = debugfs_create_dir(name, root);
	debugfs_create_u32("reserve", 0444, dev->debug, &dev->sess.reserve.nr);
	debugfs_create_file("spares", 0444, dev->debug, &dev->sess,
			    &spares_fops);
	for (i = 0; i < dev->sess.nr_queues; i++) {
		snprintf(name, sizeof(name), "queue%u", i);
		dir = debugfs_create_dir(name, dev->debug);
		debugfs_create_file("load", 0444, dir, &dev->times[i].load,
				    &times_fops);
		debugfs_create_file("store", 0444, dir, &dev->times[i].store,
				    &times_fops);
	}
}

/*
 * odrp_debug_del() - remove the files of a device
 *
 * Waits for tasks within a read.  A task that has a file open keeps the file and a
 * reference to the module, and further reads fail.
 */
void odrp_debug_del(struct odrp_dev *dev)
{
	debugfs_remove_recursive(dev->debug);
	dev->debug = NULL;
}

void odrp_debug_init(void)
{
	root = debugfs_create_dir("odrp", NULL);
	odrp_fault_init(root);
}

void odrp_debug_exit(void)
{
	debugfs_remove_recursive(root);
}
