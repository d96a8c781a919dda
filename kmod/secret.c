// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads a secret from a keyring: a key of type logon, which only the kernel can read, in the
 * keyrings of the current task.  The secret is copied, because the thread that resumes a
 * session has other keyrings, or none, and may not wait.
 */
#include <linux/capability.h>
#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/key.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/string.h>
#include <keys/user-type.h>
#include "secret.h"

#define PREFIX	"odrp:"

static int check_name(const char *name)
{
	size_t len = strlen(name), i;

	for (i = 0; i < len; i++)
		if (!isalnum(name[i]) && !strchr("-_.", name[i]))
			break;
	if (len && len < ODRP_AUTH_NAME && i == len && name[0] != '.')
		return 0;
	pr_err("key=%.40s: expected 1 to %d letters, digits, '-', '_' and '.', not '.' first\n",
	       name, ODRP_AUTH_NAME - 1);
	return -EINVAL;
}

static int copy(struct key *key, const char *name, u8 *ret_secret)
{
	const struct user_key_payload *p;
	int err = 0;

	down_read(&key->sem);
	p = user_key_payload_locked(key);
	if (!p) {
		pr_err("key=%s: the key logon " PREFIX "%s has been revoked\n",
		       name, name);
		err = -EKEYREVOKED;
	} else if (p->datalen != ODRP_AUTH_SECRET) {
		pr_err("key=%s: the key logon " PREFIX "%s has %u bytes: expected %d\n",
		       name, name, p->datalen, ODRP_AUTH_SECRET);
		err = -EINVAL;
	} else {
		memcpy(ret_secret, p->data, ODRP_AUTH_SECRET);
	}
	up_read(&key->sem);
	return err;
}

/*
 * odrp_secret_get() - get the secret of a name
 *
 * Called by the task that writes to sysfs; may sleep.  Searches the keyrings of that task,
 * and asks no program for a missing key.  Also waits until the kernel has random numbers,
 * so that nonces can be made from then on.
 *
 * Return: 0; else -errno, and the log says why.  The caller wipes the secret.
 */
int odrp_secret_get(const char *name, u8 ret_secret[ODRP_AUTH_SECRET])
{
	char description[sizeof(PREFIX) + ODRP_AUTH_NAME];
	struct key *key;
	int err;

	err = check_name(name);
	if (err)
		return err;
	if (!capable(CAP_SYS_ADMIN)) {
		pr_err("key=%s: expected CAP_SYS_ADMIN\n", name);
		return -EPERM;
	}
	err = wait_for_random_bytes();
	if (err)
		return err;
	snprintf(description, sizeof(description), PREFIX "%s", name);
	key = request_key(&key_type_logon, description, NULL);
	if (IS_ERR(key)) {
		pr_err("key=%s: no key logon %s in the keyrings of who writes: error %ld\n",
		       name, description, PTR_ERR(key));
		return PTR_ERR(key);
	}
	err = copy(key, name, ret_secret);
	key_put(key);
	return err;
}
