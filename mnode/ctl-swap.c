// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrpctl swap: the devices of odrp.ko, through sysfs.
 */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <unistd.h>
#include "odrpctl.h"

#define CONTROL		"/sys/class/odrp-control"
#define MAX_DEVICES	256
#define DEV_WAIT_MS	5000

struct swap_args {
	const char *word[3];
	unsigned int nr_words;
	const char *queues, *depth, *src, *timeout;
	int priority;
	bool no_swapon, json;
};

static int complain(const char *what, int err)
{
	fprintf(stderr, "odrpctl swap: %s: %s\n", what, strerror(err));
	return EXIT_TROUBLE;
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		r = -errno;
	close(fd);
	return r;
}

/* ---- devices -------------------------------------------------------------------- */

static bool exists(unsigned int id)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/block/odrp%u", id);
	return !access(path, F_OK);
}

/* "odrp3", "/dev/odrp3" or "3". */
static int device_id(const char *name, unsigned int *ret_id)
{
	unsigned long id;
	char *end;

	if (!strncmp(name, "/dev/", 5))
		name += 5;
	if (!strncmp(name, "odrp", 4))
		name += 4;
	if (*name < '0' || *name > '9')
		return -EINVAL;
	id = strtoul(name, &end, 10);
	if (*end || id >= MAX_DEVICES)
		return -EINVAL;
	*ret_id = id;
	return 0;
}

static int wait_for(const char *path)
{
	int ms;

	for (ms = 0; ms < DEV_WAIT_MS; ms += 10) {
		if (!access(path, R_OK | W_OK))
			return 0;
		usleep(10000);
	}
	return -ENOENT;
}

static int run_mkswap(const char *dev)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		if (null >= 0)
			dup2(null, STDOUT_FILENO);
		execlp("mkswap", "mkswap", dev, (char *)NULL);
		fprintf(stderr, "odrpctl swap: mkswap: %s\n", strerror(errno));
		_exit(127);
	}
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

/* ---- add -------------------------------------------------------------------------- */

static int swap_on(const char *dev, int priority)
{
	int flags = 0, r;

	r = wait_for(dev);
	if (r)
		return complain(dev, -r);
	r = run_mkswap(dev);
	if (r)
		return complain("mkswap failed", -r);
	if (priority >= 0)
		flags = SWAP_FLAG_PREFER | (priority & SWAP_FLAG_PRIO_MASK);
	if (swapon(dev, flags))
		return complain("swapon", errno);
	return EXIT_OK;
}

/* The number is chosen here, so that it is known which device is ours. */
static int add_with_id(const struct swap_args *a, unsigned int id)
{
	char addr[64], text[512];
	const char *colon = strchr(a->word[1], ':');
	size_t len = colon ? (size_t)(colon - a->word[1]) : strlen(a->word[1]);

	if (len >= sizeof(addr))
		return -EINVAL;
	memcpy(addr, a->word[1], len);
	addr[len] = 0;
	snprintf(text, sizeof(text),
		 "id=%u addr=%s size=%s%s%s%s%s%s%s%s%s%s%s", id, addr,
		 a->word[2],
		 colon ? " port=" : "", colon ? colon + 1 : "",
		 a->queues ? " queues=" : "", a->queues ? a->queues : "",
		 a->depth ? " depth=" : "", a->depth ? a->depth : "",
		 a->src ? " src=" : "", a->src ? a->src : "",
		 a->timeout ? " timeout_ms=" : "",
		 a->timeout ? a->timeout : "");
	return write_file(CONTROL "/hot_add", text);
}

static int swap_add(const struct swap_args *a)
{
	unsigned int id = 0;
	char dev[32];
	int r;

	if (a->nr_words != 3) {
		fprintf(stderr, "odrpctl swap add: expected ADDRESS[:PORT] and "
			"SIZE\n");
		return EXIT_USAGE;
	}
	do {
		while (id < MAX_DEVICES && exists(id))
			id++;
		r = id < MAX_DEVICES ? add_with_id(a, id) : -ENOSPC;
	} while (r == -EEXIST && ++id < MAX_DEVICES);
	if (r == -ENOENT)
		fprintf(stderr, "odrpctl swap: " CONTROL " is not there; is "
			"the module odrp loaded?\n");
	else if (r == -EINVAL)
		fprintf(stderr, "odrpctl swap: the module says why in the "
			"kernel log\n");
	if (r)
		return complain("hot_add", -r);
	snprintf(dev, sizeof(dev), "/dev/odrp%u", id);
	puts(dev);
	return a->no_swapon ? EXIT_OK : swap_on(dev, a->priority);
}

/* ---- remove ----------------------------------------------------------------------- */

static int swap_remove(const struct swap_args *a)
{
	char text[32];
	unsigned int id;
	int r;

	if (a->nr_words != 2 || device_id(a->word[1], &id)) {
		fprintf(stderr, "odrpctl swap remove: expected a device, such "
			"as odrp0\n");
		return EXIT_USAGE;
	}
	snprintf(text, sizeof(text), "/dev/odrp%u", id);
	/* EINVAL: not in use as swap space. */
	if (swapoff(text) && errno != EINVAL)
		return complain("swapoff", errno);
	snprintf(text, sizeof(text), "%u", id);
	r = write_file(CONTROL "/hot_remove", text);
	return r ? complain("hot_remove", -r) : EXIT_OK;
}

/* ---- status ----------------------------------------------------------------------- */

static int read_file(const char *dir, const char *name, char *buf, size_t len)
{
	char path[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, len - 1);
	close(fd);
	if (n < 0)
		return -EIO;
	buf[n] = 0;
	buf[strcspn(buf, "\n")] = 0;
	return 0;
}

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
		if (!read_file(dir, names[i]->d_name, text, sizeof(text)))
			json_object_object_add(obj, names[i]->d_name,
					       json_object_new_string(text));
		free(names[i]);
	}
	free(names);
	return obj;
}

static void print_device(struct json_object *obj)
{
	json_object_object_foreach(obj, name, value)
		printf("  %-24s %s\n", name, json_object_get_string(value));
}

static int swap_status(const struct swap_args *a)
{
	struct json_object *all = json_object_new_object(), *obj;
	char name[32];
	unsigned int id;

	for (id = 0; id < MAX_DEVICES; id++) {
		obj = exists(id) ? read_device(id) : NULL;
		if (!obj)
			continue;
		snprintf(name, sizeof(name), "odrp%u", id);
		json_object_object_add(all, name, obj);
		if (a->json)
			continue;
		puts(name);
		print_device(obj);
	}
	if (a->json)
		puts(json_object_to_json_string_ext(all,
						    JSON_C_TO_STRING_PLAIN));
	else if (!json_object_object_length(all))
		puts("no devices");
	json_object_put(all);
	return EXIT_OK;
}

/* ---- the command -------------------------------------------------------------------- */

enum { KEY_NO_SWAPON = 0x100, KEY_SRC, KEY_TIMEOUT };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct swap_args *a = state->input;
	char *end;

	switch (key) {
	case 'q':
		a->queues = arg;
		return 0;
	case 'd':
		a->depth = arg;
		return 0;
	case 'p':
		a->priority = strtol(arg, &end, 10);
		if (*end || end == arg || a->priority < 0 ||
		    a->priority > SWAP_FLAG_PRIO_MASK)
			argp_error(state, "priority '%s': expected 0 to %d",
				   arg, SWAP_FLAG_PRIO_MASK);
		return 0;
	case 'j':
		a->json = true;
		return 0;
	case KEY_NO_SWAPON:
		a->no_swapon = true;
		return 0;
	case KEY_SRC:
		a->src = arg;
		return 0;
	case KEY_TIMEOUT:
		a->timeout = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (a->nr_words == 3)
			argp_error(state, "%s: not expected", arg);
		a->word[a->nr_words++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->nr_words)
			argp_error(state, "expected add, remove or status");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "queues", 'q', "N", 0, "add: queues to the memory node" },
	{ "depth", 'd', "N", 0, "add: requests on their way per connection" },
	{ "src", KEY_SRC, "ADDRESS", 0, "add: our address" },
	{ "timeout-ms", KEY_TIMEOUT, "MS", 0,
	  "add: after how long a request fails" },
	{ "priority", 'p', "N", 0, "add: of the swap space" },
	{ "no-swapon", KEY_NO_SWAPON, NULL, 0,
	  "add: only the device, no mkswap and swapon" },
	{ "json", 'j', NULL, 0, "status: as JSON" },
	{ NULL }
};

static const struct argp argp = {
	.options = options, .parser = parse,
	.args_doc = "add ADDRESS[:PORT] SIZE\nremove DEVICE\nstatus",
	.doc = "Swap devices on memory nodes. The module odrp must be loaded.",
};

int swap_main(int argc, char **argv)
{
	struct swap_args a = { .priority = -1 };
	static char name[] = "odrpctl swap";

	argv[0] = name;
	argp_err_exit_status = EXIT_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (!strcmp(a.word[0], "add"))
		return swap_add(&a);
	if (!strcmp(a.word[0], "remove"))
		return swap_remove(&a);
	if (!strcmp(a.word[0], "status"))
		return swap_status(&a);
	fprintf(stderr, "odrpctl swap: '%s': expected add, remove or status\n",
		a.word[0]);
	return EXIT_USAGE;
}
