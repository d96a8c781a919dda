// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * /sys/class/odrp-control: hot_add and hot_remove, and the set of all devices.
 * ABI: docs/ABI/sysfs-class-odrp-control.
 *
 * One mutex guards the set.  Its holders wait neither for the network nor for the RDMA
 * core nor for I/O: a device is made, shown and taken down without the mutex.  Meanwhile
 * the number of the device is reserved.  A work item takes a device down, so the removal
 * goes on when the task that has asked for it is killed.
 */
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/idr.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/overflow.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include "compat.h"
#include "odrp.h"
#include "secret.h"

#define DEFAULT_DEPTH		64
/*
 * By default a session survives the reboot of a switch, and is given up before the memory
 * node drops it (after the memory node's dead-ms, by default 90 s).
 */
#define DEFAULT_TIMEOUT_MS	5000
#define DEFAULT_DEAD_AFTER_MS	60000
/* With a backing device the session is given up sooner: the backing device serves the I/O. */
#define BACKED_DEAD_AFTER_MS	4000
#define DEFAULT_RECONNECT_MS	100
#define NOT_GIVEN		UINT_MAX
#define MAX_DEVICES		256
/* How long hot_add waits for the number of a device that goes. */
#define NUMBER_WAIT	HZ
#define MAX_KEYS		24	/* at least as many as hot_add has */

static DEFINE_MUTEX(ctl_lock);		/* guards devs, and shown and leaving of each */
static DEFINE_IDR(devs);		/* NULL: a reserved number without a device */
static struct workqueue_struct *leave_wq;
static struct class *ctl_class;

/*
 * struct odrp_leave - the removal of a device; allocated when the device is added
 * @users:	references: one of the device, one of each task that waits for @done
 * @work:	takes the device down
 * @done:	completed when the device is freed and its number is free
 */
struct odrp_leave {
	refcount_t		users;
	struct odrp_dev		*dev;
	struct work_struct	work;
	struct completion	done;
};

static int parse_u64(const char *key, const char *val, u64 min, u64 max,
		     u64 *ret)
{
	u64 v;

	if (kstrtou64(val, 0, &v) || v < min || v > max) {
		pr_err("hot_add: %s=%s: expected %llu to %llu\n", key, val,
		       min, max);
		return -EINVAL;
	}
	*ret = v;
	return 0;
}

/* Cut off a K, M, G or T at the end.  Return: log2 of the unit; 0 without one. */
static unsigned int cut_unit(char *val)
{
	static const char units[] = "kmgt";
	size_t len = strlen(val);
	const char *unit;

	unit = len ? strchr(units, tolower(val[len - 1])) : NULL;
	if (!unit)
		return 0;
	val[len - 1] = '\0';
	return 10 * (unit - units + 1);
}

/* Parse a size in bytes with an optional K, M, G or T.  Changes @val. */
static int parse_size(char *val, u64 *ret)
{
	char unit[2] = { *val ? val[strlen(val) - 1] : '\0' };
	unsigned int shift = cut_unit(val);
	u64 v;

	if (kstrtou64(val, 0, &v) || check_shl_overflow(v, shift, &v) ||
	    v < ODRP_BLOCK || v % ODRP_BLOCK ||
	    v / ODRP_BLOCK > ODRP_MAX_SLOTS) {
		pr_err("hot_add: size=%s%s: expected a multiple of %u (K, M, G, T), at most %llu\n",
		       val, shift ? unit : "", ODRP_BLOCK,
		       ODRP_MAX_SLOTS * ODRP_BLOCK);
		return -EINVAL;
	}
	*ret = v;
	return 0;
}

static int parse_ipv4(const char *key, const char *val, struct sockaddr_in *ret)
{
	const char *end;

	if (strchr(val, ':')) {
		pr_err("hot_add: %s=%s: IPv6: expected an IPv4 address\n", key,
		       val);
		return -EINVAL;
	}
	if (!in4_pton(val, -1, (u8 *)&ret->sin_addr.s_addr, -1, &end) || *end) {
		pr_err("hot_add: %s=%s: expected an IPv4 address\n", key, val);
		return -EINVAL;
	}
	ret->sin_family = AF_INET;
	return 0;
}

static int parse_word(const char *key, const char *val, const char *off,
		      const char *on, bool *ret_on)
{
	if (strcmp(val, on) && strcmp(val, off)) {
		pr_err("hot_add: %s=%s: expected %s or %s\n", key, val, off, on);
		return -EINVAL;
	}
	*ret_on = !strcmp(val, on);
	return 0;
}

static int parse_protect(const char *val, bool *ret_on)
{
	if (!strcmp(val, "aead") && !ODRP_HAVE_AEAD) {
		pr_err("hot_add: protect=aead: no CRYPTO_LIB_CHACHA20POLY1305: expected none\n");
		return -EOPNOTSUPP;
	}
	return parse_word("protect", val, "none", "aead", ret_on);
}

/* key= turns authentication on, so the only value of auth= is none. */
static int parse_auth(const char *val, bool *ret_none)
{
	*ret_none = !strcmp(val, "none");
	if (*ret_none)
		return 0;
	pr_err("hot_add: auth=%s: expected none, or key=NAME instead\n", val);
	return -EINVAL;
}

/* All connections are made in the initial network namespace. */
static int check_caller_net(void)
{
	if (net_eq(current->nsproxy->net_ns, &init_net))
		return 0;
	pr_err("hot_add: written from another network namespace: expected the initial one\n");
	return -EOPNOTSUPP;
}

#define AT(field)	offsetof(struct odrp_options, field)

static const struct {
	const char	*key;
	unsigned int	min, max;
	size_t		at;	/* offset of an int or unsigned int in the options */
} numbers[] = {
	{ "queues", 1, ODRP_MAX_QUEUES, AT(queues) },
	{ "depth", 1, ODRP_MAX_DEPTH, AT(depth) },
	{ "timeout_ms", 1, ODRP_MAX_TIMEOUT_MS, AT(timeout_ms) },
	{ "dead_after_ms", 0, ODRP_MAX_TIMEOUT_MS, AT(dead_after_ms) },
	{ "io_fail_ms", 0, ODRP_MAX_TIMEOUT_MS, AT(io_fail_ms) },
	{ "reconnect_delay_ms", 1, ODRP_MAX_TIMEOUT_MS, AT(reconnect_delay_ms) },
	{ "id", 0, MAX_DEVICES - 1, AT(id) },
};

static int parse_pair(char *key, char *val, struct odrp_options *opt)
{
	unsigned int i;
	u64 v;
	int err;

	if (!strcmp(key, "addr"))
		return parse_ipv4(key, val, &opt->addr.dst);
	if (!strcmp(key, "src"))
		return parse_ipv4(key, val, &opt->addr.src);
	if (!strcmp(key, "size"))
		return parse_size(val, &opt->size);
	if (!strcmp(key, "port")) {
		err = parse_u64(key, val, 1, 65535, &v);
		if (!err)
			opt->addr.dst.sin_port = htons(v);
		return err;
	}
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (strcmp(key, numbers[i].key))
			continue;
		err = parse_u64(key, val, numbers[i].min, numbers[i].max, &v);
		if (!err)
			*(unsigned int *)((char *)opt + numbers[i].at) = v;
		return err;
	}
	if (!strcmp(key, "backing")) {
		opt->backing = strcmp(val, "none") ? val : NULL;
		return 0;
	}
	if (!strcmp(key, "backend"))
		return parse_word(key, val, "block", "frontswap", &opt->frontswap);
	if (!strcmp(key, "checksum"))
		return parse_word(key, val, "none", "crc32c", &opt->checksum);
	if (!strcmp(key, "protect"))
		return parse_protect(val, &opt->protect);
	if (!strcmp(key, "translate"))
		return parse_word(key, val, "chain", "nic", &opt->direct);
	if (!strcmp(key, "auth"))
		return parse_auth(val, &opt->no_auth);
	if (!strcmp(key, "key")) {
		opt->key = val;
		return 0;
	}
	pr_err("hot_add: unknown key '%s': expected %s\n", key,
	       "addr, src, port, size, queues, depth, timeout_ms, dead_after_ms, "
	       "io_fail_ms, reconnect_delay_ms, backend, backing, checksum, protect, "
	       "translate, key, auth or id");
	return -EINVAL;
}

/* Refuse a key that is given twice, because one of its values must be a mistake. */
static int check_once(const char *key, const char **seen, unsigned int *nr_seen)
{
	unsigned int i;

	for (i = 0; i < *nr_seen; i++) {
		if (strcmp(key, seen[i]))
			continue;
		pr_err("hot_add: %s= is given twice: expected each key once\n",
		       key);
		return -EINVAL;
	}
	/* parse_pair() refuses unknown keys, so seen[] is never too short. */
	if (*nr_seen < MAX_KEYS)
		seen[(*nr_seen)++] = key;
	return 0;
}

static int parse_options(char *s, struct odrp_options *opt)
{
	const char *seen[MAX_KEYS];
	unsigned int nr_seen = 0;
	char *word, *val;
	int err;

	*opt = (struct odrp_options) {
		.id		= -1,
		.queues		= min_t(unsigned int, num_online_cpus(), 4),
		.depth		= DEFAULT_DEPTH,
		.timeout_ms	= DEFAULT_TIMEOUT_MS,
		.dead_after_ms	= NOT_GIVEN,
		.reconnect_delay_ms = DEFAULT_RECONNECT_MS,
		.direct		= true,
	};
	opt->addr.dst.sin_port = htons(ODRP_WIRE_PORT);

	while ((word = strsep(&s, " \t\n"))) {
		if (!*word)
			continue;
		val = strchr(word, '=');
		if (!val) {
			pr_err("hot_add: '%s': expected key=value\n", word);
			return -EINVAL;
		}
		*val++ = '\0';
		err = check_once(word, seen, &nr_seen);
		if (!err)
			err = parse_pair(word, val, opt);
		if (err)
			return err;
	}
	if (!opt->addr.dst.sin_family) {
		pr_err("hot_add: addr= is missing: expected the memory node's IPv4 address\n");
		return -EINVAL;
	}
	if (!opt->size) {
		pr_err("hot_add: size= is missing: expected the size of the device in bytes\n");
		return -EINVAL;
	}
	if (opt->protect && opt->checksum) {
		pr_err("hot_add: protect=aead and checksum=crc32c: expected one of them\n");
		return -EINVAL;
	}
	if (opt->dead_after_ms == NOT_GIVEN)
		opt->dead_after_ms = opt->backing ? BACKED_DEAD_AFTER_MS :
						    DEFAULT_DEAD_AFTER_MS;
	if (opt->io_fail_ms && opt->backing) {
		pr_err("hot_add: io_fail_ms=%u and backing=%s: expected one of them\n",
		       opt->io_fail_ms, opt->backing);
		return -EINVAL;
	}
	return 0;
}

/*
 * The operator has to give a key, or to turn off authentication.  dev.c logs a device
 * without authentication when it is added.
 */
static int check_auth(struct odrp_options *opt)
{
	if (opt->key && opt->no_auth) {
		pr_err("hot_add: auth=none and key=%s: expected one of them\n",
		       opt->key);
		return -EINVAL;
	}
	if (opt->key)
		return odrp_secret_get(opt->key, opt->secret);
	if (opt->no_auth)
		return 0;
	pr_err("hot_add: key= is missing: expected %s\n",
	       "our name at the memory node, or auth=none, which is insecure");
	return -EINVAL;
}

static void id_give_back(int id)
{
	mutex_lock(&ctl_lock);
	idr_remove(&devs, id);
	mutex_unlock(&ctl_lock);
}

static void leave_put(struct odrp_leave *l)
{
	if (refcount_dec_and_test(&l->users))
		kfree(l);
}

/* The removal that is taking this device down, with a reference; NULL: there is none. */
static struct odrp_leave *leave_get(unsigned int id)
{
	struct odrp_dev *dev = idr_find(&devs, id);

	lockdep_assert_held(&ctl_lock);
	if (!dev || !dev->leaving)
		return NULL;
	refcount_inc(&dev->leave->users);
	return dev->leave;
}

/*
 * Wait for the end of a removal, for @most jiffies.  Drops the reference.
 *
 * Return: 0, -EINTR: killed, or -EEXIST: it has not ended.
 */
static int leave_wait(struct odrp_leave *l, unsigned long most)
{
	long left = wait_for_completion_killable_timeout(&l->done, most);

	leave_put(l);
	return left < 0 ? -EINTR : left ? 0 : -EEXIST;
}

/*
 * Reserve a device number, or get the removal that still has it.  Nobody waits under the
 * mutex for memory that only a device can free: its removal needs the mutex.
 */
static int id_try(const struct odrp_options *opt, struct odrp_leave **ret_leave)
{
	int id;

	*ret_leave = NULL;
	if (mutex_lock_interruptible(&ctl_lock))
		return -EINTR;
	id = odrp_alloc_int(idr_alloc(&devs, NULL, max(opt->id, 0),
				      opt->id < 0 ? MAX_DEVICES : opt->id + 1,
				      GFP_NOIO));
	if (id == -ENOSPC && opt->id >= 0)
		*ret_leave = leave_get(opt->id);
	mutex_unlock(&ctl_lock);
	return id;
}

/*
 * Reserve a device number.  Return: the number, or -errno.
 *
 * The files of a device that is taken down go a moment before its number is free.  Who adds
 * another one when the files have gone waits for the number; not long, since a removal may
 * wait for others.
 */
static int id_take(const struct odrp_options *opt)
{
	struct odrp_leave *leave;
	int id = id_try(opt, &leave);

	if (leave) {
		if (leave_wait(leave, NUMBER_WAIT) == -EINTR)
			return -EINTR;
		id = id_try(opt, &leave);
		if (leave)
			leave_put(leave);
	}
	if (id == -ENOSPC && opt->id >= 0) {
		pr_err("hot_add: id=%d: odrp%d exists\n", opt->id, opt->id);
		return -EEXIST;
	}
	if (id == -ENOSPC)
		pr_err("hot_add: no device number is free (at most %d devices)\n",
		       MAX_DEVICES);
	return id;
}

/*
 * Take a device down.  A task that has waited for the end may unload the module at once:
 * the unloading destroys the workqueue, and so waits for the end of this function.
 */
static void leave_work(struct work_struct *w)
{
	struct odrp_leave *l = container_of(w, struct odrp_leave, work);
	struct odrp_dev *dev = l->dev;

	odrp_dev_destroy(dev);
	id_give_back(dev->id);
	odrp_dev_free(dev);
	module_put(THIS_MODULE);
	complete_all(&l->done);
	leave_put(l);
}

static int leave_add(struct odrp_dev *dev)
{
	struct odrp_leave *l = odrp_alloc(kzalloc(sizeof(*l), GFP_KERNEL));

	if (!l)
		return -ENOMEM;
	refcount_set(&l->users, 1);
	l->dev = dev;
	INIT_WORK(&l->work, leave_work);
	init_completion(&l->done);
	dev->leave = l;
	return 0;
}

/* Queue the work item that takes down a device.  The device has been shut. */
static void dev_leave(struct odrp_dev *dev)
{
	lockdep_assert_held(&ctl_lock);
	dev->leaving = true;
	queue_work(leave_wq, &dev->leave->work);
}

/*
 * Put a device into the set, before anybody can use it: from then on pm.c asks the device
 * whether the machine may sleep.
 */
static void dev_list(struct odrp_dev *dev)
{
	mutex_lock(&ctl_lock);
	idr_replace(&devs, dev, dev->id);
	mutex_unlock(&ctl_lock);
}

static void dev_set_shown(struct odrp_dev *dev)
{
	mutex_lock(&ctl_lock);
	dev->shown = true;
	mutex_unlock(&ctl_lock);
}

/* Add a device.  The caller has a reference to the module; on success the device gets it. */
static int dev_add(const struct odrp_options *opt)
{
	struct odrp_dev *dev;
	int id, err;

	id = id_take(opt);
	if (id < 0)
		return id;
	err = odrp_dev_create(opt, id, &dev);
	if (err) {
		id_give_back(id);
		return err;
	}
	err = leave_add(dev);
	if (!err) {
		dev_list(dev);
		err = odrp_dev_show(dev, opt);
	}
	if (err)
		goto abandon;
	dev_set_shown(dev);
	return 0;

abandon:
	id_give_back(id);
	kfree(dev->leave);
	odrp_dev_abandon(dev);
	return err;
}

ODRP_CLASS_STORE(hot_add_store)
{
	struct odrp_options opt;
	char *s;
	int err;

	err = check_caller_net();
	if (err)
		return err;
	s = odrp_alloc(kstrndup(buf, count, GFP_KERNEL));
	if (!s)
		return -ENOMEM;
	err = parse_options(s, &opt);
	if (!err)
		err = check_auth(&opt);
	if (err)
		goto free_s;
	if (!try_module_get(THIS_MODULE)) {
		err = -ENODEV;	/* the module is being unloaded */
		goto free_s;
	}
	err = dev_add(&opt);
	if (err)
		module_put(THIS_MODULE);
free_s:
	memzero_explicit(opt.secret, sizeof(opt.secret));
	kfree(s);
	return err ? err : count;
}

/*
 * Take down the devices that were removed by force and have no user left.
 *
 * Such a device stays in devs, and its number stays reserved, until the last close of its
 * disk queues this work item.  These cases cannot break that:
 *   - Opens.  An open was counted before odrp_dev_force() looked, and its close will come;
 *     or it is refused; or it is admitted beside another user (blk.c:may_open()).  So
 *     openers is 0 only after the last close.
 *   - The last close.  If it comes before odrp_dev_force() looks, the device is removed as
 *     usual.  Otherwise the close finds the device forced, and queues the work item.
 *   - Other removals.  This function and hot_remove hold ctl_lock when they look at a
 *     device.  A device that another hot_remove is taking down is leaving.  A device that
 *     is being added cannot be removed before it is shown.
 *   - Reconnecting.  Its next step sees that the session is dead, and ends.
 *     odrp_sess_close() waits for that end before the device is freed.
 *   - frontswap.  A page of frontswap becomes a bio as any other, which fails.  Then the
 *     kernel sends a bio to the disk, which fails as well.  swapoff has finished with
 *     frontswap before it closes the disk.
 *   - Readers of sysfs or of the disk's statistics.  del_gendisk() waits for them, and
 *     until then all that they read exists: a dead session keeps its structures.
 */
static void devs_sweep(struct work_struct *w)
{
	struct odrp_dev *dev;
	int id;

	mutex_lock(&ctl_lock);
	idr_for_each_entry(&devs, dev, id) {
		if (READ_ONCE(dev->forced) && !dev->leaving && !odrp_dev_shut(dev))
			dev_leave(dev);
	}
	mutex_unlock(&ctl_lock);
}

static DECLARE_WORK(sweep_work, devs_sweep);

/*
 * odrp_ctl_sweep() - have devices taken down that were removed by force and are closed now
 *
 * Does not sleep; the caller may hold locks of the block layer.
 */
void odrp_ctl_sweep(void)
{
	queue_work(leave_wq, &sweep_work);
}

/* Parse a device number and an optional "force".  Changes @s. */
static int parse_remove(char *s, unsigned int *ret_id, bool *ret_force)
{
	char *id, *how;

	s = strim(s);
	id = strsep(&s, " \t");
	if (kstrtouint(id, 10, ret_id)) {
		pr_err("hot_remove: '%s': expected a device number, N of /dev/odrpN\n",
		       id);
		return -EINVAL;
	}
	how = s ? skip_spaces(s) : NULL;
	*ret_force = how && !strcmp(how, "force");
	if (how && !*ret_force) {
		pr_err("hot_remove: %u: '%s': expected nothing, or force\n",
		       *ret_id, how);
		return -EINVAL;
	}
	return 0;
}

/*
 * Begin the removal of a device.
 * @ret_leave: gets the removal to wait for, with a reference that the caller drops; stays
 *	as it is if the removal waits for the last close
 *
 * Return: 0 or -errno.
 */
static int dev_remove(unsigned int id, bool force, struct odrp_leave **ret_leave)
{
	struct odrp_dev *dev;
	int err;

	lockdep_assert_held(&ctl_lock);
	dev = idr_find(&devs, id);
	if (!dev) {
		pr_err("hot_remove: %u: no such device\n", id);
		return -ENODEV;
	}
	if (!dev->shown) {
		pr_err("hot_remove: %u: the device is still being added\n", id);
		return -EBUSY;
	}
	err = 0;
	if (!dev->leaving)
		err = force ? odrp_dev_force(dev) : odrp_dev_shut(dev);
	if (!err) {
		refcount_inc(&dev->leave->users);
		*ret_leave = dev->leave;
		if (!dev->leaving)
			dev_leave(dev);
	} else if (err == -EBUSY && dev->forced) {
		pr_warn_ratelimited("odrp%u: already removed by force: goes with its last user\n",
				    id);
	}
	return err == -EINPROGRESS ? 0 : err;
}

ODRP_CLASS_STORE(hot_remove_store)
{
	struct odrp_leave *leave = NULL;
	unsigned int id;
	bool force;
	char *s;
	int err;

	s = odrp_alloc(kstrndup(buf, count, GFP_KERNEL));
	if (!s)
		return -ENOMEM;
	err = parse_remove(s, &id, &force);
	kfree(s);
	if (err)
		return err;
	if (mutex_lock_interruptible(&ctl_lock))
		return -EINTR;
	err = dev_remove(id, force, &leave);
	mutex_unlock(&ctl_lock);
	if (leave)
		err = leave_wait(leave, MAX_SCHEDULE_TIMEOUT);
	return err ? err : count;
}

/*
 * odrp_ctl_each() - call a function for each device that is not being removed
 * @fn: called with ctl_lock held, so no removal begins meanwhile; may sleep, but must not
 *	wait for the network or for the RDMA core
 *
 * Return: 0, or the first error of @fn, after which no other device is visited.
 */
int odrp_ctl_each(int (*fn)(struct odrp_dev *dev))
{
	struct odrp_dev *dev;
	int id, err = 0;

	mutex_lock(&ctl_lock);
	idr_for_each_entry(&devs, dev, id) {
		err = dev->leaving ? 0 : fn(dev);
		if (err)
			break;
	}
	mutex_unlock(&ctl_lock);
	return err;
}

static CLASS_ATTR_WO(hot_add);
static CLASS_ATTR_WO(hot_remove);

int odrp_ctl_init(void)
{
	int err;

	leave_wq = alloc_workqueue("odrp_leave", WQ_UNBOUND, 0);
	if (!leave_wq)
		return -ENOMEM;
	ctl_class = odrp_compat_class_create("odrp-control");
	if (IS_ERR(ctl_class)) {
		err = PTR_ERR(ctl_class);
		goto destroy_wq;
	}
	err = class_create_file(ctl_class, &class_attr_hot_remove);
	if (err)
		goto destroy_class;
	/* Last: from here on users can add devices. */
	err = class_create_file(ctl_class, &class_attr_hot_add);
	if (err)
		goto remove_remove;
	return 0;

remove_remove:
	class_remove_file(ctl_class, &class_attr_hot_remove);
destroy_class:
	class_destroy(ctl_class);
destroy_wq:
	destroy_workqueue(leave_wq);
	return err;
}

/*
 * Each device has a reference to the module, so no device is left, and nobody queues the
 * sweep any more.  Removing the files waits for their writers.  Destroying the workqueue
 * waits for a sweep and for the work item that has taken down the last device.
 */
void odrp_ctl_exit(void)
{
	class_remove_file(ctl_class, &class_attr_hot_remove);
	class_remove_file(ctl_class, &class_attr_hot_add);
	destroy_workqueue(leave_wq);
	idr_destroy(&devs);
	class_destroy(ctl_class);
}
