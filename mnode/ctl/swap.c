// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrpctl swap: devices of odrp.ko.  swap-dev.c has the steps, swap-conf.c the settings,
 * swap-args.c words and options.
 */
#include <dirent.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "keyring.h"
#include "odrpctl.h"
#include "swap-args.h"
#include "swap-dev.h"
#include "swap-metrics.h"
#include "swap-top.h"

static int complain(const char *what, int err)
{
	fprintf(stderr, "odrpctl swap: %s: %s\n", what, strerror(err));
	return EXIT_TROUBLE;
}

static int complain_of(unsigned int id, const char *what, int err)
{
	fprintf(stderr, "odrpctl swap: odrp%u: %s: %s\n", id, what,
		strerror(err));
	return EXIT_TROUBLE;
}

/* Without the module there are no devices. */
static int need_module(void)
{
	if (swap_dev_loaded())
		return EXIT_OK;
	fprintf(stderr, "odrpctl swap: the module odrp is not loaded: "
		"\"modprobe odrp\" loads it\n");
	return EXIT_TROUBLE;
}

/* Parses the only argument, a device. */
static int only_device(const struct swap_args *a, unsigned int *ret_id)
{
	if (a->nr_words == 2 && !swap_dev_id(a->word[1], ret_id))
		return 0;
	fprintf(stderr, "odrpctl swap %s: ", a->word[0]);
	if (a->nr_words > 2)
		fprintf(stderr, "'%s': not expected; ", a->word[2]);
	else if (a->nr_words == 2)
		fprintf(stderr, "'%s': ", a->word[1]);
	fprintf(stderr, "expected one device, odrp0 to odrp%d\n",
		SWAP_DEV_MAX - 1);
	return -EINVAL;
}

/* ---- add -------------------------------------------------------------------------- */

/* Makes a swap space, and swaps it on unless activate=no. */
static int swap_on(unsigned int id, const struct swap_conf *conf)
{
	int r;

	r = swap_dev_mkswap(id, conf->value[SWAP_LABEL],
			    conf->value[SWAP_UUID]);
	if (r)
		return complain_of(id, "mkswap failed", -r);
	/* The device can be used without links by label and UUID. */
	r = swap_dev_tell_udev(id);
	if (r)
		complain_of(id, "udevadm failed", -r);
	if (!swap_conf_activates(conf))
		return EXIT_OK;
	r = swap_dev_on(id, swap_conf_number(conf, SWAP_PRIORITY, -1));
	return r ? complain_of(id, "swapon", -r) : EXIT_OK;
}

/* Gives the secret to the module, which looks for it when the device is added. */
static int load_key(const struct swap_conf *conf)
{
	const char *name = conf->value[SWAP_KEY];
	char why[SECRET_WHY_MAX];

	if (!*name || !keyring_load(SECRET_DIR, name, KEYRING_PROCESS, why))
		return EXIT_OK;
	fprintf(stderr, "odrpctl swap: key=%s: %s\n", name, why);
	return EXIT_TROUBLE;
}

static int add_with_id(const struct swap_conf *conf, unsigned int id)
{
	char line[SWAP_LINE_MAX];

	swap_conf_line(conf, id, line, sizeof(line));
	return swap_dev_add(line);
}

static int complain_add(unsigned int id, int r)
{
	fprintf(stderr, "odrpctl swap: the module says why in the kernel log\n");
	return complain_of(id, "hot_add", -r);
}

/* [ADDRESS]:PORT, or more than one colon: IPv6; a word without brackets is all address. */
static size_t address_len(const char *word)
{
	const char *colon = strchr(word, ':');

	if (*word == '[')
		return strcspn(word, "]") + !!strchr(word, ']');
	if (colon && strchr(colon + 1, ':'))
		return strlen(word);
	return strcspn(word, ":");
}

/* Sets address, port and size from ADDRESS[:PORT] and SIZE. */
static int set_words(struct swap_conf *conf, const struct swap_args *a,
		     char why[SWAP_CONF_WHY_MAX])
{
	size_t len = address_len(a->word[1]);
	char addr[SWAP_VALUE_MAX];
	int r;

	if (len >= sizeof(addr))
		len = sizeof(addr) - 1;
	memcpy(addr, a->word[1], len);
	addr[len] = 0;
	r = swap_conf_set(conf, "address", addr, why);
	if (!r && a->word[1][len])
		r = swap_conf_set(conf, "port", a->word[1] + len + 1, why);
	if (!r)
		r = swap_conf_set(conf, "size", a->word[2], why);
	return r;
}

static int raise_min_free(const struct swap_conf *conf)
{
	int r = swap_dev_min_free(swap_conf_number(conf, SWAP_MIN_FREE, 0));

	return r ? complain("vm.min_free_kbytes", -r) : EXIT_OK;
}

/* Chooses the device number, so that the number of the new device is known. */
static int swap_add(const struct swap_args *a)
{
	struct swap_conf conf = a->conf;
	char why[SWAP_CONF_WHY_MAX];
	unsigned int id = 0;
	int r;

	if (a->nr_words != 3) {
		fprintf(stderr, "odrpctl swap add: expected ADDRESS[:PORT] and "
			"SIZE\n");
		return EXIT_USAGE;
	}
	if (set_words(&conf, a, why) || swap_conf_check(&conf, why)) {
		fprintf(stderr, "odrpctl swap add: %s\n", why);
		return EXIT_USAGE;
	}
	r = need_module();
	if (!r)
		r = raise_min_free(&conf);
	if (!r)
		r = load_key(&conf);
	if (r)
		return r;
	do {
		while (id < SWAP_DEV_MAX && swap_dev_exists(id))
			id++;
		r = id < SWAP_DEV_MAX ? add_with_id(&conf, id) : -ENOSPC;
	} while (r == -EEXIST && ++id < SWAP_DEV_MAX);
	if (r)
		return complain_add(id, r);
	printf("/dev/odrp%u\n", id);
	return a->no_swapon ? EXIT_OK : swap_on(id, &conf);
}

/* ---- remove ----------------------------------------------------------------------- */

static bool attr_is(unsigned int id, const char *name, const char *value)
{
	char text[64];

	return !swap_dev_read(id, name, text, sizeof(text)) &&
	       !strcmp(text, value);
}

/* Has the device lost pages on a kernel that would not report this to programs? */
static bool would_map_wrong_bytes(unsigned int id)
{
	return attr_is(id, "swapoff_corrupts", "1") && swap_dev_used(id) != 0;
}

static void warn_of_wrong_bytes(unsigned int id)
{
	fprintf(stderr, "odrpctl swap: pages in odrp%u are lost, and swapoff "
		"on this kernel would give wrong bytes to programs that need "
		"them: end these programs, or restart the machine; "
		"or use --force\n", id);
}

/* Swapoff on such a kernel tries for ever to read such a page of tmpfs; no signal ends it. */
static void warn_of_files(unsigned int id)
{
	fprintf(stderr, "odrpctl swap: pages in odrp%u are lost: if files in tmpfs (or "
		"shared memory) have such pages, swapoff on this kernel does not end "
		"before they are removed\n", id);
}

/*
 * On such a kernel no swapoff may run while the session dies.  The session is lost for no
 * longer than dead_after_ms.
 */
static void wait_while_lost(unsigned int id)
{
	bool printed = false;

	while ((attr_is(id, "state", "lost") || attr_is(id, "state", "failing")) &&
	       attr_is(id, "swapoff_safe", "0")) {
		if (!printed)
			fprintf(stderr, "odrpctl swap: the session of odrp%u is "
				"lost: waiting until it is live, or dead\n", id);
		printed = true;
		usleep(100 * 1000);
	}
}

/* A dropped device may go by itself when it is swapped off: -ENODEV is no error then. */
static int device_remove(unsigned int id, bool force)
{
	bool there = swap_dev_exists(id);
	int r;

	if (!force)
		wait_while_lost(id);
	if (!force && would_map_wrong_bytes(id)) {
		warn_of_wrong_bytes(id);
		return EXIT_TROUBLE;
	}
	/* The module opens such a device for swapoff only after a forced removal. */
	if (force && would_map_wrong_bytes(id) && attr_is(id, "forced", "0")) {
		r = swap_dev_drop(id);
		if (r)
			return complain_of(id, "hot_remove", -r);
	}
	if (would_map_wrong_bytes(id))
		warn_of_files(id);
	r = swap_dev_off(id);
	if (r == -ENOMEM)
		fprintf(stderr, "odrpctl swap: there is not enough memory for "
			"the pages in odrp%u\n", id);
	if (r)
		return complain_of(id, "swapoff", -r);
	r = swap_dev_remove(id);
	if (r == -ENODEV && there)
		return EXIT_OK;
	if (r == -EBUSY)
		fprintf(stderr, "odrpctl swap: odrp%u is open\n",
			id);
	return r ? complain_of(id, "hot_remove", -r) : EXIT_OK;
}

static int swap_remove(const struct swap_args *a)
{
	unsigned int id;

	if (only_device(a, &id))
		return EXIT_USAGE;
	return need_module() ? EXIT_TROUBLE : device_remove(id, a->force);
}

/* ---- drop ------------------------------------------------------------------------- */

static int swap_drop(const struct swap_args *a)
{
	unsigned int id;
	int r;

	if (only_device(a, &id))
		return EXIT_USAGE;
	if (need_module())
		return EXIT_TROUBLE;
	r = swap_dev_drop(id);
	if (r == -EBUSY)
		fprintf(stderr, "odrpctl swap: odrp%u has already been dropped\n", id);
	if (r)
		return complain_of(id, "hot_remove", -r);
	if (!swap_dev_exists(id))
		return EXIT_OK;
	printf("odrp%u is in use: its I/O fails, and it goes with its last user%s\n", id,
	       swap_dev_is_on(id) > 0 ? " (swapoff)" : "");
	if (would_map_wrong_bytes(id))
		warn_of_wrong_bytes(id);
	return EXIT_OK;
}

/* ---- up and down ------------------------------------------------------------------ */

/*
 * EXIT_USAGE: the file is missing or wrong, so that a retry is useless; EXIT_TROUBLE: it
 * cannot be read.
 */
static int read_settings(const struct swap_args *a, unsigned int id,
			 struct swap_conf *ret_conf)
{
	char path[256], why[SWAP_CONF_WHY_MAX];
	struct swap_conf conf = { 0 };
	int r;

	snprintf(path, sizeof(path), SWAP_CONF_DIR "/odrp%u.conf", id);
	r = swap_conf_read(&conf, a->file ? a->file : path, why);
	if (r) {
		fprintf(stderr, "odrpctl swap up: %s\n", why);
		return r == -ENOENT || r == -EINVAL ? EXIT_USAGE : EXIT_TROUBLE;
	}
	*ret_conf = conf;
	return EXIT_OK;
}

/* Checks an existing device.  1: use it; 0: it has been removed; or -errno. */
static int device_check(unsigned int id, const struct swap_conf *conf)
{
	char state[64], server[64], wanted[96];
	int on, r;

	r = swap_dev_read(id, "state", state, sizeof(state));
	if (!r)
		r = swap_dev_read(id, "server", server, sizeof(server));
	on = r ? r : swap_dev_is_on(id);
	if (on < 0) {
		complain_of(id, "cannot look at it", -on);
		return on;
	}
	swap_conf_server(conf, wanted, sizeof(wanted));
	if (!strcmp(state, "live") && !strcmp(server, wanted))
		return 1;
	if (!strcmp(state, "dead") && !on) {
		fprintf(stderr, "odrpctl swap: odrp%u had lost %s; adding it "
			"again\n", id, server);
		r = swap_dev_remove(id);
		if (r == -ENODEV)
			r = 0;
		if (r)
			complain_of(id, "hot_remove", -r);
		return r;
	}
	fprintf(stderr, "odrpctl swap: odrp%u is there, %s, on %s; expected "
		"none, or one that is live on %s\n", id, state, server,
		wanted);
	return -EEXIST;
}

/* *ret_added: the device is new, so it must be removed if a later step fails. */
static int make_device(unsigned int id, const struct swap_conf *conf,
		       bool *ret_added)
{
	int r;

	/* modprobe has printed why it failed */
	if (swap_dev_load()) {
		fprintf(stderr, "odrpctl swap: \"modprobe odrp\" failed: is "
			"odrp-dkms installed for this kernel?\n");
		return EXIT_TROUBLE;
	}
	if (swap_dev_exists(id)) {
		r = device_check(id, conf);
		if (r)
			return r < 0 ? EXIT_TROUBLE : EXIT_OK;
	}
	if (load_key(conf))
		return EXIT_TROUBLE;
	r = add_with_id(conf, id);
	if (r)
		return complain_add(id, r);
	*ret_added = true;
	return EXIT_OK;
}

/* Does only the steps that are not done yet. */
static int swap_up(const struct swap_args *a)
{
	struct swap_conf conf;
	bool added = false;
	unsigned int id;
	int r;

	if (only_device(a, &id))
		return EXIT_USAGE;
	r = read_settings(a, id, &conf);
	if (r)
		return r;
	r = raise_min_free(&conf);
	if (r)
		return r;
	r = make_device(id, &conf, &added);
	if (r)
		return r;
	if (swap_dev_is_on(id) > 0)
		return EXIT_OK;
	/* Another program may already use a swap space that was made before. */
	if (!added && !swap_conf_activates(&conf))
		return EXIT_OK;
	r = swap_on(id, &conf);
	if (r && added)
		swap_dev_remove(id);
	return r;
}

static int swap_down(const struct swap_args *a)
{
	unsigned int id;

	if (only_device(a, &id))
		return EXIT_USAGE;
	return swap_dev_exists(id) ? device_remove(id, a->force) : EXIT_OK;
}

/* ---- status ----------------------------------------------------------------------- */

static int is_attribute(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static struct json_object *read_device(unsigned int id)
{
	struct json_object *obj;
	struct dirent **names;
	char dir[64], text[4096];
	int i, n;

	snprintf(dir, sizeof(dir), "/sys/block/odrp%u/odrp", id);
	n = scandir(dir, &names, is_attribute, alphasort);
	if (n < 0)
		return NULL;
	obj = json_object_new_object();
	for (i = 0; i < n; i++) {
		if (!swap_dev_read(id, names[i]->d_name, text, sizeof(text)))
			json_object_object_add(obj, names[i]->d_name,
					       json_object_new_string(text));
		free(names[i]);
	}
	free(names);
	return obj;
}

/* Explains a value whose name does not. */
static const char *meaning(const char *name, const char *value)
{
	if (!strcmp(name, "auth") && !strcmp(value, "none"))
		return " (insecure: neither end proves who it is)";
	return "";
}

static void print_device(struct json_object *obj)
{
	json_object_object_foreach(obj, name, value) {
		const char *text = json_object_get_string(value);

		printf("  %-24s %s%s\n", name, text, meaning(name, text));
	}
}

/* Adds a device to the answer.  -ENODEV: there is none. */
static int status_of_device(const struct swap_args *a, unsigned int id,
			    struct json_object *all)
{
	struct json_object *obj = swap_dev_exists(id) ? read_device(id) : NULL;
	char name[32];

	if (!obj)
		return -ENODEV;
	snprintf(name, sizeof(name), "odrp%u", id);
	json_object_object_add(all, name, obj);
	if (!a->json) {
		puts(name);
		print_device(obj);
	}
	return 0;
}

static int swap_status_of(const struct swap_args *a, struct json_object *all)
{
	unsigned int id;
	int r;

	if (only_device(a, &id))
		return EXIT_USAGE;
	if (need_module())
		return EXIT_TROUBLE;
	r = status_of_device(a, id, all);
	if (r)
		return complain_of(id, "status", -r);
	return EXIT_OK;
}

static int swap_status_of_all(const struct swap_args *a,
			       struct json_object *all)
{
	unsigned int id;

	if (need_module())
		return EXIT_TROUBLE;
	for (id = 0; id < SWAP_DEV_MAX; id++)
		status_of_device(a, id, all);
	if (!a->json && !json_object_object_length(all))
		puts("no devices");
	return EXIT_OK;
}

static int swap_status(const struct swap_args *a)
{
	struct json_object *all = json_object_new_object();
	int status;

	if (a->nr_words > 1)
		status = swap_status_of(a, all);
	else
		status = swap_status_of_all(a, all);
	if (a->json && !status)
		puts(json_object_to_json_string_ext(all,
						    JSON_C_TO_STRING_PLAIN));
	json_object_put(all);
	return status;
}

/* Complains if there are words behind the command's name. */
static bool has_more_words(const struct swap_args *a, const char *command)
{
	if (a->nr_words == 1)
		return false;
	fprintf(stderr, "odrpctl swap %s: %s: not expected\n", command, a->word[1]);
	return true;
}

/* ---- metrics ------------------------------------------------------------------------ */

static int swap_show_metrics(const struct swap_args *a)
{
	int r;

	if (has_more_words(a, "metrics"))
		return EXIT_USAGE;
	r = a->output ? swap_metrics_save(a->output) : swap_metrics_write(stdout);
	return r ? complain(a->output ? a->output : "metrics", -r) : EXIT_OK;
}

/* ---- top --------------------------------------------------------------------------- */

static int swap_show_top(const struct swap_args *a)
{
	int r;

	if (has_more_words(a, "top"))
		return EXIT_USAGE;
	if (need_module())
		return EXIT_TROUBLE;
	r = swap_top(a->interval, a->count, a->json);
	return r ? complain("top", -r) : EXIT_OK;
}

/* ---- the command -------------------------------------------------------------------- */

int swap_main(int argc, char **argv)
{
	static int (*const run[SWAP_NR_COMMANDS])(const struct swap_args *) = {
		[SWAP_ADD] = swap_add, [SWAP_REMOVE] = swap_remove,
		[SWAP_DROP] = swap_drop, [SWAP_UP] = swap_up,
		[SWAP_DOWN] = swap_down, [SWAP_STATUS] = swap_status,
		[SWAP_TOP] = swap_show_top,
		[SWAP_METRICS] = swap_show_metrics,
	};
	struct swap_args a;

	swap_args_parse(argc, argv, &a);
	return run[a.command](&a);
}
