// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * /sys/class/odrp-control: hot_add and hot_remove, the set of all devices.
 * ABI: docs/ABI/sysfs-class-odrp-control.
 */
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/idr.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/overflow.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include "compat.h"
#include "odrp.h"
#include "secret.h"

#define DEFAULT_DEPTH		64
/*
 * A session outlives a switch that reboots, and is given up before the memory node
 * forgets it (its dead-ms, by default 90 s).
 */
#define DEFAULT_TIMEOUT_MS	5000
#define DEFAULT_DEAD_AFTER_MS	60000
/* One that has a backing device goes on there. */
#define BACKED_DEAD_AFTER_MS	4000
#define DEFAULT_RECONNECT_MS	100
#define NOT_GIVEN		UINT_MAX
#define MAX_DEVICES		256
#define MAX_KEYS		24	/* of hot_add, or more */

/*
 * Outermost: whoever makes a device reads, and whoever takes an RDMA device away
 * writes, for a device that is being made is not in devs yet.
 */
static DECLARE_RWSEM(making);
static DEFINE_MUTEX(ctl_lock);		/* devs, and showing and removing */
static DEFINE_IDR(devs);		/* NULL: the number is taken */
static struct class *ctl_class;

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

/* The power of two that a K, M, G or T at the end stands for; it is cut off. */
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

/* Bytes, with an optional K, M, G or T. */
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

/* A key is what authenticates; so it says none, or nothing. */
static int parse_auth(const char *val, bool *ret_none)
{
	*ret_none = !strcmp(val, "none");
	if (*ret_none)
		return 0;
	pr_err("hot_add: auth=%s: expected none, or key=NAME instead\n", val);
	return -EINVAL;
}

/* The connections are made from the first network namespace. */
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
	size_t		at;	/* an int of either kind */
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
		return parse_word(key, val, "chain", "nic", &opt->keyed);
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

/* A key that is given twice is a mistake in one of the two places. */
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
	/* Those that there are not are refused, so they do not become more. */
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
		.keyed		= true,
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
 * Who is who: by a key, or by nothing, which the operator has to say.  The log names
 * it again when the device is there (dev.c).
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

/* A number that is nobody's becomes ours. */
static int id_take(const struct odrp_options *opt)
{
	int id;

	if (mutex_lock_interruptible(&ctl_lock))
		return -EINTR;
	id = odrp_alloc_int(idr_alloc(&devs, NULL, max(opt->id, 0),
				      opt->id < 0 ? MAX_DEVICES : opt->id + 1,
				      GFP_KERNEL));
	mutex_unlock(&ctl_lock);
	if (id == -ENOSPC && opt->id >= 0) {
		pr_err("hot_add: id=%d: odrp%d exists\n", opt->id, opt->id);
		return -EEXIST;
	}
	if (id == -ENOSPC)
		pr_err("hot_add: no device number is free (at most %d devices)\n",
		       MAX_DEVICES);
	return id;
}

static void id_give_back(int id)
{
	mutex_lock(&ctl_lock);
	idr_remove(&devs, id);
	mutex_unlock(&ctl_lock);
}

/* Once it can be seen it can be removed. */
static int dev_show(struct odrp_dev *dev, const struct odrp_options *opt)
{
	int err;

	mutex_lock(&ctl_lock);
	err = odrp_dev_show(dev, opt);
	if (!err)
		idr_replace(&devs, dev, dev->id);
	mutex_unlock(&ctl_lock);
	return err;
}

/*
 * With a reference to the module, which becomes the device's.  Making a device takes
 * its time, so ctl_lock is not held for that.
 */
static int dev_add(const struct odrp_options *opt)
{
	struct odrp_dev *dev;
	int id, err;

	id = id_take(opt);
	if (id < 0)
		return id;
	err = odrp_dev_create(opt, id, &dev);
	if (err)
		goto give_id_back;
	err = dev_show(dev, opt);
	if (err)
		goto abandon;
	return 0;

abandon:
	odrp_dev_abandon(dev);
give_id_back:
	id_give_back(id);
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
		err = -ENODEV;	/* it is being unloaded */
		goto free_s;
	}
	if (down_read_killable(&making)) {
		err = -EINTR;
		goto put_module;
	}
	err = dev_add(&opt);
	up_read(&making);
put_module:
	if (err)
		module_put(THIS_MODULE);
free_s:
	memzero_explicit(opt.secret, sizeof(opt.secret));
	kfree(s);
	return err ? err : count;
}

/* Whoever calls this is waited for by odrp_ctl_exit(). */
static void dev_drop(struct odrp_dev *dev)
{
	lockdep_assert_held(&ctl_lock);
	idr_remove(&devs, dev->id);
	odrp_dev_destroy(dev);
	module_put(THIS_MODULE);
}

/*
 * What has been removed by force stays in devs, and its number is taken, until
 * the last close makes the sweep run.  Nothing comes between:
 *   - an open has been counted before the force looks, and then its close comes,
 *     or it is refused, or let in beside another (blk.c:may_open()): the last
 *     close is the last close;
 *   - the last close either comes before the force looks, which then removes the
 *     device as usual, or finds it forced and calls for the sweep;
 *   - the sweep and a hot_remove have ctl_lock, and find out there what is left to
 *     do: a device that another hot_remove has taken is not in devs; one that is
 *     being added is there when it can be seen, and not before;
 *   - reconnecting sees at its next step that the session is dead, and comes to an end
 *     before the device does: odrp_sess_close() waits for it;
 *   - who comes by frontswap goes the way of all bios, and fails there; then the
 *     kernel takes the bios' way, with the same end.  swapoff is done with that
 *     before it closes the device;
 *   - who reads sysfs or the disk's statistics is waited for by del_gendisk(), and
 *     until then all is there to be read: a dead session has its structures.
 */
static void devs_sweep(struct work_struct *w)
{
	struct odrp_dev *dev;
	int id;

	mutex_lock(&ctl_lock);
	idr_for_each_entry(&devs, dev, id) {
		if (READ_ONCE(dev->forced) && !odrp_dev_shut(dev))
			dev_drop(dev);
	}
	mutex_unlock(&ctl_lock);
}

static DECLARE_WORK(sweep_work, devs_sweep);

/*
 * odrp_ctl_sweep() - a device that was removed by force has been closed
 *
 * It takes its time: no queue of ours, on which others wait for memory.
 */
void odrp_ctl_sweep(void)
{
	queue_work(system_long_wq, &sweep_work);
}

/* A number, and maybe "force". */
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

/* Return: 0 also if it goes later, when it has been closed. */
static int dev_remove(unsigned int id, bool force)
{
	struct odrp_dev *dev;
	int err;

	lockdep_assert_held(&ctl_lock);
	dev = idr_find(&devs, id);
	if (!dev) {
		pr_err("hot_remove: %u: no such device\n", id);
		return -ENODEV;
	}
	err = force ? odrp_dev_force(dev) : odrp_dev_shut(dev);
	if (!err)
		dev_drop(dev);
	else if (err == -EBUSY && dev->forced)
		pr_warn_ratelimited("odrp%u: already removed by force: goes with its last user\n",
				    id);
	return err == -EINPROGRESS ? 0 : err;
}

ODRP_CLASS_STORE(hot_remove_store)
{
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
	err = dev_remove(id, force);
	mutex_unlock(&ctl_lock);
	return err ? err : count;
}

/*
 * odrp_ctl_each() - call a function for each device
 *
 * May sleep.  No device is shown or goes meanwhile.
 *
 * Return: 0, or the first error, which ends it.
 */
int odrp_ctl_each(int (*fn)(struct odrp_dev *dev))
{
	struct odrp_dev *dev;
	int id, err = 0;

	mutex_lock(&ctl_lock);
	idr_for_each_entry(&devs, dev, id) {
		err = fn(dev);
		if (err)
			break;
	}
	mutex_unlock(&ctl_lock);
	return err;
}

/*
 * An RDMA device is gone when this returns, and nothing of ours may be left on
 * it but ids that are to end: for those the core waits.  The CM tells only who has
 * an id there, and a session that is lost has none between two attempts, but keeps
 * memory registered.  A device that is just being added is waited for.
 */
static void ibdev_removed(struct ib_device *ibdev, void *data)
{
	struct odrp_dev *dev;
	int id;

	down_write(&making);
	mutex_lock(&ctl_lock);
	idr_for_each_entry(&devs, dev, id) {
		if (READ_ONCE(dev->sess.ibdev) == ibdev)
			odrp_sess_lose_device(&dev->sess);
	}
	mutex_unlock(&ctl_lock);
	up_write(&making);
}

static struct ib_client ib_client = {
	.name	= KBUILD_MODNAME,
	.remove	= ibdev_removed,
};

static CLASS_ATTR_WO(hot_add);
static CLASS_ATTR_WO(hot_remove);

int odrp_ctl_init(void)
{
	int err;

	err = ib_register_client(&ib_client);
	if (err)
		return err;
	ctl_class = odrp_compat_class_create("odrp-control");
	if (IS_ERR(ctl_class)) {
		err = PTR_ERR(ctl_class);
		goto unregister_client;
	}
	err = class_create_file(ctl_class, &class_attr_hot_remove);
	if (err)
		goto destroy_class;
	/* Last: there may be a device from here on. */
	err = class_create_file(ctl_class, &class_attr_hot_add);
	if (err)
		goto remove_remove;
	return 0;

remove_remove:
	class_remove_file(ctl_class, &class_attr_hot_remove);
destroy_class:
	class_destroy(ctl_class);
unregister_client:
	ib_unregister_client(&ib_client);
	return err;
}

/*
 * Each device has a reference to the module, so there is none, and nobody calls
 * for the sweep any more.  One that is under way, with its last device gone, is
 * waited for, and so is whoever writes to the files.
 */
void odrp_ctl_exit(void)
{
	class_remove_file(ctl_class, &class_attr_hot_remove);
	class_remove_file(ctl_class, &class_attr_hot_add);
	cancel_work_sync(&sweep_work);
	idr_destroy(&devs);
	class_destroy(ctl_class);
	ib_unregister_client(&ib_client);
}
