// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads /proc/meminfo, and the files of this process's memory groups. The groups are found
 * through /proc/self/cgroup and /proc/self/mountinfo.
 */
#include "memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define UNKNOWN		UINT64_MAX

/* File names and words of one version of memory groups. */
struct version {
	const char *fstype, *option;	/* of the mount; option NULL: any */
	const char *limit, *used;
	const char *cached[2];		/* in memory.stat: bytes that the kernel can reclaim */
};

static const struct version v2 = {
	"cgroup2", NULL, "memory.max", "memory.current",
	{ "inactive_file", "active_file" },
};
static const struct version v1 = {
	"cgroup", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
	{ "total_inactive_file", "total_active_file" },
};

/* The least so far. */
struct least {
	const char *root;
	uint64_t bytes;
	char *limit;		/* of OWN_LIMIT_MAX bytes, or NULL */
};

static void least_note(struct least *least, uint64_t bytes, const char *path)
{
	if (bytes >= least->bytes)
		return;
	least->bytes = bytes;
	if (least->limit)
		snprintf(least->limit, OWN_LIMIT_MAX, "%.255s", path);
}

static FILE *root_open(const struct least *least, const char *path)
{
	char full[2 * PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", least->root, path);
	return fopen(full, "re");
}

/* ---- files of a group ------------------------------------------------------------ */

/* UNKNOWN: there is no such file, or no number in it ("max"). */
static uint64_t number_read(const struct least *least, const char *group,
			    const char *file)
{
	char path[PATH_MAX];
	uint64_t n = UNKNOWN;
	FILE *f;

	snprintf(path, sizeof(path), "%.4000s/%s", group, file);
	f = root_open(least, path);
	if (!f)
		return UNKNOWN;
	if (fscanf(f, "%" SCNu64, &n) != 1)
		n = UNKNOWN;
	fclose(f);
	return n;
}

static uint64_t cached_read(const struct least *least, const char *group,
			    const struct version *v)
{
	char path[PATH_MAX], name[64];
	uint64_t sum = 0, n;
	FILE *f;

	snprintf(path, sizeof(path), "%.4000s/memory.stat", group);
	f = root_open(least, path);
	if (!f)
		return 0;
	while (fscanf(f, "%63s %" SCNu64, name, &n) == 2)
		if (!strcmp(name, v->cached[0]) || !strcmp(name, v->cached[1]))
			sum += n;
	fclose(f);
	return sum;
}

static void group_ask(struct least *least, const char *group, const struct version *v)
{
	uint64_t limit = number_read(least, group, v->limit);
	uint64_t used = number_read(least, group, v->used), cached;
	char path[PATH_MAX];

	if (limit == UNKNOWN || used == UNKNOWN)
		return;
	cached = cached_read(least, group, v);
	used -= cached < used ? cached : used;
	snprintf(path, sizeof(path), "%.4000s/%s", group, v->limit);
	least_note(least, limit > used ? limit - used : 0, path);
}

/* ---- which groups ---------------------------------------------------------------- */

/* Searches a comma-separated list, which may end with a newline, for a word. */
static bool list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (list) {
		if (!strncmp(list, word, len) && strchr(",\n", list[len]))
			return true;
		list = strchr(list, ',');
		list += list != NULL;
	}
	return false;
}

/*
 * Finds the directory where groups of that version are mounted, and the path of the group
 * that this directory shows: in a container, that is the container's own group.
 */
static bool mount_find(const struct least *least, const struct version *v,
		       char root[PATH_MAX], char mount[PATH_MAX])
{
	FILE *f = root_open(least, "/proc/self/mountinfo");
	char line[4 * PATH_MAX], fstype[32], options[PATH_MAX];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		const char *rest = strstr(line, " - ");

		found = rest &&
			sscanf(line, "%*s %*s %*s %4095s %4095s", root, mount) == 2 &&
			sscanf(rest, " - %31s %*s %4095s", fstype, options) == 2 &&
			!strcmp(fstype, v->fstype) &&
			(!v->option || list_has(options, v->option));
	}
	if (f)
		fclose(f);
	return found;
}

/*
 * Returns the path of this process's group from a line of /proc/self/cgroup; NULL: the line
 * is about another version, or not about memory.
 */
static const char *line_path(char *line, const struct version *v)
{
	char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

	if (!path)
		return NULL;
	*path++ = 0;
	path[strcspn(path, "\n")] = 0;
	if (!v->option)
		return list[1] ? NULL : path;
	return list_has(list + 1, v->option) ? path : NULL;
}

/* Asks the group at path, and all above it up to the mount. */
static void groups_ask(struct least *least, const struct version *v, const char *path)
{
	char root[PATH_MAX], mount[PATH_MAX], group[2 * PATH_MAX];
	size_t len, top;

	if (!mount_find(least, v, root, mount))
		return;
	len = strcmp(root, "/") ? strlen(root) : 0;
	if (len && (strncmp(path, root, len) || (path[len] && path[len] != '/')))
		path = "";
	else
		path += len;
	top = strlen(mount);
	snprintf(group, sizeof(group), "%s%s", mount, strcmp(path, "/") ? path : "");
	for (;;) {
		group_ask(least, group, v);
		if (strlen(group) <= top)
			return;
		*strrchr(group, '/') = 0;
	}
}

static void version_ask(struct least *least, const struct version *v)
{
	FILE *f = root_open(least, "/proc/self/cgroup");
	const char *path = NULL;
	char line[PATH_MAX + 64];

	while (f && !path && fgets(line, sizeof(line), f))
		path = line_path(line, v);
	if (f)
		fclose(f);
	if (path)
		groups_ask(least, v, path);
}

/* ---- the machine ----------------------------------------------------------------- */

static void machine_ask(struct least *least)
{
	FILE *f = root_open(least, "/proc/meminfo");
	char line[128];
	uint64_t kb;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kb) == 1)
			least_note(least, kb << 10, "/proc/meminfo");
	if (f)
		fclose(f);
}

uint64_t own_memory_available_at(const char *root, char *ret_limit)
{
	struct least least = { .root = root, .bytes = UNKNOWN, .limit = ret_limit };

	if (ret_limit)
		*ret_limit = 0;
	machine_ask(&least);
	version_ask(&least, &v2);
	version_ask(&least, &v1);
	return least.bytes;
}

uint64_t own_memory_available(char *ret_limit)
{
	return own_memory_available_at("", ret_limit);
}
