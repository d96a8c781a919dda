// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A table of keys and values in far memory, used by one thread without tasks of its
 * own: create a space, open a client, create the table, put, get, delete.
 *
 *	kv [NIC]	"mem" (default) or "mem:dir=PATH": no other back end keeps a space
 *			that a program creates
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <far/far.h>
#include <far/hash.h>
#include <far/space.h>

#define SPACE	"example-kv"

/* Puts a key, reads it back, and deletes it. */
static int use_table(struct far_task *task, struct far_hash *hash)
{
	static const char key[] = "capital of Italy", value[] = "Rome";
	char found[64];
	size_t len;
	int err;

	err = far_hash_put(task, hash, key, strlen(key), value, strlen(value));
	if (err)
		return err;
	err = far_hash_get(task, hash, key, strlen(key), found, sizeof(found), &len);
	if (err)
		return err;
	printf("%s: %.*s\n", key, (int)len, found);
	err = far_hash_delete(task, hash, key, strlen(key));
	if (err)
		return err;
	/* now there is no such key, and that is an answer, not a failure */
	err = far_hash_get(task, hash, key, strlen(key), found, sizeof(found), &len);
	if (err != -ENOENT)
		return err ? err : -EEXIST;
	printf("%s: deleted\n", key);
	return 0;
}

/* Creates the table, or opens it if another client was faster. */
static int run_client(struct far *far)
{
	static const struct far_hash_attr attr = { .expected = 1000 };
	struct far_task *task;
	struct far_hash *hash;
	int err = far_enter(far, &task);

	if (err) {
		fprintf(stderr, "kv: cannot enter: %s\n", far_strerror(err));
		return err;
	}
	err = far_hash_create(task, "facts", &attr, &hash);
	if (err == -EEXIST)
		err = far_hash_open(task, "facts", &hash);
	if (!err) {
		err = use_table(task, hash);
		far_hash_close(hash);
	}
	if (err)
		fprintf(stderr, "kv: %s. %s\n", far_strerror(err), far_strerror_last(task));
	far_leave(task);
	return err;
}

int main(int argc, char **argv)
{
	const struct far_conf conf = { .nic = argc > 1 ? argv[1] : "mem", .space = SPACE };
	const struct far_space_attr attr = { .size = 64 << 20 };
	struct far *far;
	char why[200];
	int err = far_space_create(conf.nic, SPACE, &attr, why, sizeof(why));

	/* -EEXIST: a run that was killed has left it */
	if (err && err != -EEXIST) {
		fprintf(stderr, "kv: %s\n", why);
		return 1;
	}
	err = far_open(&conf, why, sizeof(why), &far);
	if (err) {
		fprintf(stderr, "kv: %s\n", why);
	} else {
		err = run_client(far);
		far_close(far);
	}
	if (far_space_delete(conf.nic, SPACE, why, sizeof(why))) {
		fprintf(stderr, "kv: %s\n", why);
		err = -EIO;
	}
	return err ? 1 : 0;
}
