// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * /sys/block/odrpN/odrp/: one value per file, and io_stat, a line like that of zram.
 * ABI: docs/ABI/sysfs-block-odrp.
 */
#include <linux/blkdev.h>
#include <linux/device.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include "compat.h"
#include "odrp.h"
#include "secret.h"


static struct odrp_dev *to_odrp(struct device *d)
{
	return dev_to_disk(d)->private_data;
}

static int with_stats(struct device *d, char *buf,
		      int (*show)(const struct odrp_stats *sum, char *buf))
{
	struct odrp_stats *sum = kmalloc(sizeof(*sum), GFP_KERNEL);
	int len;

	if (!sum)
		return -ENOMEM;
	odrp_stats_sum(to_odrp(d), sum);
	len = show(sum, buf);
	kfree(sum);
	return len;
}

#define COUNTER(field)							\
static int emit_##field(const struct odrp_stats *sum, char *buf)	\
{									\
	return sysfs_emit(buf, "%llu\n", sum->field);			\
}									\
static ssize_t field##_show(struct device *d,				\
			    struct device_attribute *attr, char *buf)	\
{									\
	return with_stats(d, buf, emit_##field);			\
}									\
static DEVICE_ATTR_RO(field)

COUNTER(loads);
COUNTER(loads_zero);
COUNTER(stores_mapped);
COUNTER(stores_unmapped);
COUNTER(invalidates);
COUNTER(invalidates_cancelled);
COUNTER(stores_reused);
COUNTER(load_errors);
COUNTER(store_errors);
COUNTER(bytes_in);
COUNTER(bytes_out);
COUNTER(lease_denied);
COUNTER(unknown_ids);
COUNTER(notify_free);
COUNTER(free_overflows);
COUNTER(flushed_age);
COUNTER(flushed_count);
COUNTER(flushed_now);
COUNTER(invalid_io);
COUNTER(waits_credit);
COUNTER(waits_room);
COUNTER(waits_slot);
COUNTER(waits_page);
COUNTER(bounced);
COUNTER(polls);
COUNTER(polls_hit);
COUNTER(doorbells);
COUNTER(beats);
COUNTER(frontswap_loads);
COUNTER(frontswap_stores);
COUNTER(frontswap_passed);
COUNTER(reconnects);
COUNTER(resent);
COUNTER(backing_stores);
COUNTER(backing_loads);
COUNTER(backing_errors);
COUNTER(checksum_errors);
COUNTER(moved);
COUNTER(protect_errors);

/* @percent: 100 shows the longest time. */
static int show_time(struct device *d, bool store, unsigned int percent,
		     char *buf)
{
	struct odrp_hist *h = kmalloc(sizeof(*h), GFP_KERNEL);
	int len;

	if (!h)
		return -ENOMEM;
	odrp_times_sum(to_odrp(d), store, h);
	len = sysfs_emit(buf, "%llu\n", odrp_hist_percentile(h, percent));
	kfree(h);
	return len;
}

#define TIME(name, store, percent)					\
static ssize_t name##_show(struct device *d,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	return show_time(d, store, percent, buf);			\
}									\
static DEVICE_ATTR_RO(name)

TIME(load_p50_ns, false, 50);
TIME(load_p90_ns, false, 90);
TIME(load_p99_ns, false, 99);
TIME(load_max_ns, false, 100);
TIME(store_p50_ns, true, 50);
TIME(store_p90_ns, true, 90);
TIME(store_p99_ns, true, 99);
TIME(store_max_ns, true, 100);

/* Columns are only ever appended. */
static int emit_io_stat(const struct odrp_stats *sum, char *buf)
{
	return sysfs_emit(buf, "%8llu %8llu %8llu %8llu %8llu %8llu %8llu %8llu %8llu\n",
			  sum->load_errors, sum->store_errors, sum->invalid_io,
			  sum->notify_free, sum->loads, sum->stores_mapped,
			  sum->stores_unmapped, sum->invalidates,
			  sum->invalidates_cancelled);
}

static ssize_t io_stat_show(struct device *d, struct device_attribute *attr,
			    char *buf)
{
	return with_stats(d, buf, emit_io_stat);
}
static DEVICE_ATTR_RO(io_stat);

static ssize_t state_show(struct device *d, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%s\n",
			  odrp_state_name(odrp_sess_state(&to_odrp(d)->sess)));
}
static DEVICE_ATTR_RO(state);

static ssize_t server_show(struct device *d, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%pISpc\n", &to_odrp(d)->sess.addr.dst);
}
static DEVICE_ATTR_RO(server);

static ssize_t backend_show(struct device *d, struct device_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%s\n", to_odrp(d)->held ? "frontswap" : "block");
}
static DEVICE_ATTR_RO(backend);

static ssize_t backing_show(struct device *d, struct device_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%s\n", odrp_backing_path(to_odrp(d)));
}
static DEVICE_ATTR_RO(backing);

static ssize_t checksum_show(struct device *d, struct device_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "%s\n", to_odrp(d)->sums ? "crc32c" : "none");
}
static DEVICE_ATTR_RO(checksum);

static ssize_t protect_show(struct device *d, struct device_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%s\n", to_odrp(d)->protect ? "aead" : "none");
}
static DEVICE_ATTR_RO(protect);

static ssize_t translate_show(struct device *d, struct device_attribute *attr,
			      char *buf)
{
	const struct odrp_sess *s = &to_odrp(d)->sess;

	return sysfs_emit(buf, "%s\n", odrp_sess_direct(s) ? "direct" :
				       s->features & ODRP_WIRE_F_KEYED ? "nic" : "chain");
}
static DEVICE_ATTR_RO(translate);

static ssize_t auth_show(struct device *d, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%s\n", to_odrp(d)->sess.auth.on ?
					"hmac-sha256" : "none");
}
static DEVICE_ATTR_RO(auth);

/*
 * Replaces the secret by the one that the writer's keyrings have under the same name, as in
 * hot_add.  The next handshake uses it; the session stays.
 */
static ssize_t key_store(struct device *d, struct device_attribute *attr,
			 const char *buf, size_t count)
{
	struct odrp_dev *dev = to_odrp(d);
	struct odrp_auth *a = &dev->sess.auth;
	u8 secret[ODRP_AUTH_SECRET];
	int err;

	if (!a->on) {
		pr_err("odrp%d: key: the device has none: remove it, and add it with key=\n",
		       dev->id);
		return -EOPNOTSUPP;
	}
	if (!sysfs_streq(buf, a->name)) {
		pr_err("odrp%d: key: '%.*s': expected %s, whose session it is\n",
		       dev->id, (int)min_t(size_t, strcspn(buf, "\n"), 40), buf,
		       a->name);
		return -EINVAL;
	}
	err = odrp_secret_get(a->name, secret);
	if (err)
		return err;
	spin_lock(&a->lock);
	memcpy(a->secret, secret, sizeof(secret));
	spin_unlock(&a->lock);
	memzero_explicit(secret, sizeof(secret));
	return count;
}
static DEVICE_ATTR_WO(key);

static ssize_t lease_show(struct device *d, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%lld\n",
			  (s64)atomic64_read(&to_odrp(d)->lease.limit));
}
static DEVICE_ATTR_RO(lease);

static ssize_t used_show(struct device *d, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%llu\n", odrp_lease_used(&to_odrp(d)->lease));
}
static DEVICE_ATTR_RO(used);

static ssize_t mapped_show(struct device *d, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%lld\n", odrp_dev_mapped(to_odrp(d)));
}
static DEVICE_ATTR_RO(mapped);

static ssize_t free_pending_show(struct device *d,
				 struct device_attribute *attr, char *buf)
{
	s64 n = atomic64_read(&to_odrp(d)->free.pending);

	return sysfs_emit(buf, "%lld\n", max_t(s64, n, 0));
}
static DEVICE_ATTR_RO(free_pending);

static ssize_t queues_show(struct device *d, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%u\n", to_odrp(d)->sess.nr_queues);
}
static DEVICE_ATTR_RO(queues);

static ssize_t depth_show(struct device *d, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%u\n", to_odrp(d)->sess.depth);
}
static DEVICE_ATTR_RO(depth);

static ssize_t drain_show(struct device *d, struct device_attribute *attr,
			  char *buf)
{
	u32 flags = READ_ONCE(to_odrp(d)->sess.ctl.flags);

	return sysfs_emit(buf, "%d\n", !!(flags & ODRP_WIRE_GRANT_DRAIN));
}
static DEVICE_ATTR_RO(drain);

static ssize_t forced_show(struct device *d, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(to_odrp(d)->forced));
}
static DEVICE_ATTR_RO(forced);

static ssize_t swapoff_safe_show(struct device *d,
				 struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", ODRP_SWAPOFF_SAFE);
}
static DEVICE_ATTR_RO(swapoff_safe);

static ssize_t swapoff_corrupts_show(struct device *d,
				     struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", odrp_unreadable_any(to_odrp(d)));
}
static DEVICE_ATTR_RO(swapoff_corrupts);

/* Sets @field to the milliseconds in @buf.  Return: @count, or -EINVAL. */
static ssize_t set_ms(struct odrp_dev *dev, const char *name, unsigned int min,
		      unsigned int *field, const char *buf, size_t count)
{
	unsigned int ms;

	if (kstrtouint(buf, 0, &ms) || ms < min || ms > ODRP_MAX_TIMEOUT_MS) {
		pr_err("odrp%d: %s: '%.*s': expected %u to %u\n", dev->id,
		       name, (int)strcspn(buf, "\n"), buf, min, ODRP_MAX_TIMEOUT_MS);
		return -EINVAL;
	}
	WRITE_ONCE(*field, ms);
	return count;
}

static void check_io_fail(const struct odrp_dev *dev)
{
	if (dev->backing && READ_ONCE(dev->io_fail_ms))
		pr_warn("odrp%d: io_fail_ms=%u: no effect with a backing device\n",
			dev->id, READ_ONCE(dev->io_fail_ms));
}

static void check_patience(const struct odrp_dev *dev)
{
	odrp_sess_check_patience(&dev->sess);
}

static void unchecked(const struct odrp_dev *dev)
{
}

#define MILLISECONDS(name, field, min, check)				\
static ssize_t name##_show(struct device *d,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	return sysfs_emit(buf, "%u\n", READ_ONCE(to_odrp(d)->field));	\
}									\
static ssize_t name##_store(struct device *d,				\
			    struct device_attribute *attr,		\
			    const char *buf, size_t count)		\
{									\
	struct odrp_dev *dev = to_odrp(d);				\
	ssize_t ret = set_ms(dev, #name, min, &dev->field, buf, count);	\
									\
	if (ret > 0)							\
		check(dev);						\
	return ret;							\
}									\
static DEVICE_ATTR_RW(name)

MILLISECONDS(io_timeout_ms, timeout_ms, 1, unchecked);
MILLISECONDS(dead_after_ms, dead_after_ms, 0, check_patience);
MILLISECONDS(io_fail_ms, io_fail_ms, 0, check_io_fail);
MILLISECONDS(reconnect_delay_ms, reconnect_delay_ms, 1, unchecked);

#define A(name)	(&dev_attr_##name.attr)

static struct attribute *attrs[] = {
	A(loads), A(loads_zero), A(stores_mapped), A(stores_unmapped),
	A(invalidates), A(invalidates_cancelled), A(stores_reused),
	A(load_errors), A(store_errors), A(bytes_in), A(bytes_out),
	A(lease_denied), A(moved), A(unknown_ids), A(notify_free), A(free_overflows),
	A(flushed_age), A(flushed_count), A(flushed_now),
	A(invalid_io), A(waits_credit), A(waits_room), A(waits_slot), A(waits_page),
	A(bounced),
	A(polls), A(polls_hit), A(doorbells), A(beats),
	A(frontswap_loads), A(frontswap_stores), A(frontswap_passed),
	A(reconnects), A(resent),
	A(backing_stores), A(backing_loads), A(backing_errors),
	A(checksum_errors), A(protect_errors),
	A(load_p50_ns), A(load_p90_ns), A(load_p99_ns), A(load_max_ns),
	A(store_p50_ns), A(store_p90_ns), A(store_p99_ns), A(store_max_ns),
	A(io_stat),
	A(state), A(server), A(backend), A(backing), A(checksum), A(protect),
	A(translate), A(auth), A(key),
	A(lease), A(used), A(mapped), A(free_pending),
	A(queues), A(depth), A(drain), A(forced), A(swapoff_safe),
	A(swapoff_corrupts),
	A(io_timeout_ms), A(io_fail_ms), A(dead_after_ms), A(reconnect_delay_ms),
	NULL,
};

static const struct attribute_group group = {
	.name	= "odrp",
	.attrs	= attrs,
};

const struct attribute_group *odrp_disk_groups[] = { &group, NULL };
