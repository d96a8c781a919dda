// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The steps of "odrpctl swap", through sysfs, procfs and other programs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <unistd.h>
#include "swap-dev.h"

#define MIN_FREE	"/proc/sys/vm/min_free_kbytes"
#define UDEV_CONTROL	"/run/udev/control"	/* exists while udev runs */
#define WAIT_MS		5000
#define NAME_LEN	32
#define SWAPS_LINE_MAX	512	/* of /proc/swaps */

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

static int read_file(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

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

/* Runs a program without its standard output.  -EIO: it failed. */
static int program_run(const char *const argv[])
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (!pid) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		if (null >= 0)
			dup2(null, STDOUT_FILENO);
		execvp(argv[0], (char *const *)argv);
		fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

static void device_path(unsigned int id, char path[NAME_LEN])
{
	snprintf(path, NAME_LEN, "/dev/odrp%u", id);
}

/* ---- queries ----------------------------------------------------------------------- */

int swap_dev_id(const char *name, unsigned int *ret_id)
{
	unsigned long id;
	char *end;

	if (!strncmp(name, "/dev/", 5))
		name += 5;
	if (!strncmp(name, "odrp", 4))
		name += 4;
	if (*name < '0' || *name > '9' || (*name == '0' && name[1]))
		return -EINVAL;
	id = strtoul(name, &end, 10);
	if (*end || id >= SWAP_DEV_MAX)
		return -EINVAL;
	*ret_id = id;
	return 0;
}

bool swap_dev_loaded(void)
{
	return !access(SWAP_DEV_CONTROL, F_OK);
}

int swap_dev_load(void)
{
	static const char *const modprobe[] = { "modprobe", "odrp", NULL };

	return swap_dev_loaded() ? 0 : program_run(modprobe);
}

bool swap_dev_exists(unsigned int id)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/block/odrp%u", id);
	return !access(path, F_OK);
}

int swap_dev_read(unsigned int id, const char *name, char *buf, size_t len)
{
	char path[512];

	snprintf(path, sizeof(path), "/sys/block/odrp%u/odrp/%s", id, name);
	return read_file(path, buf, len);
}

/* ---- the device -------------------------------------------------------------------- */

int swap_dev_add(const char *line)
{
	return write_file(SWAP_DEV_CONTROL "/hot_add", line);
}

int swap_dev_remove(unsigned int id)
{
	char text[NAME_LEN];
	int ms, r;

	snprintf(text, sizeof(text), "%u", id);
	for (ms = 0; ; ms += 50) {
		r = write_file(SWAP_DEV_CONTROL "/hot_remove", text);
		if (r != -EBUSY || ms >= WAIT_MS)
			return r;
		usleep(50 * 1000);
	}
}

int swap_dev_drop(unsigned int id)
{
	char text[NAME_LEN];

	snprintf(text, sizeof(text), "%u force", id);
	return write_file(SWAP_DEV_CONTROL "/hot_remove", text);
}

/* ---- swap space -------------------------------------------------------------------- */

/* Finds the line of a device in /proc/swaps, which begins with the path and blanks. 1:
 * found; 0: there is none; or -errno. */
static int swaps_line(unsigned int id, char line[SWAPS_LINE_MAX])
{
	FILE *f = fopen("/proc/swaps", "re");
	char path[NAME_LEN];
	size_t len;
	int on = 0;

	if (!f)
		return -errno;
	device_path(id, path);
	len = strlen(path);
	while (!on && fgets(line, SWAPS_LINE_MAX, f))
		on = !strncmp(line, path, len) &&
		     (line[len] == ' ' || line[len] == '\t');
	fclose(f);
	return on;
}

int swap_dev_is_on(unsigned int id)
{
	char line[SWAPS_LINE_MAX];

	return swaps_line(id, line);
}

long swap_dev_used(unsigned int id)
{
	char line[SWAPS_LINE_MAX];
	int on = swaps_line(id, line);
	long kbytes;

	if (on <= 0)
		return on;
	/* columns: file name, type, size, used, priority */
	return sscanf(line, "%*s %*s %*s %ld", &kbytes) == 1 ? kbytes : -EIO;
}

static int device_wait(const char *path)
{
	int ms;

	for (ms = 0; ms < WAIT_MS; ms += 10) {
		if (!access(path, R_OK | W_OK))
			return 0;
		usleep(10 * 1000);
	}
	return -ENOENT;
}

int swap_dev_mkswap(unsigned int id, const char *label, const char *uuid)
{
	char path[NAME_LEN];
	const char *mkswap[7] = { "mkswap", path };
	int n = 2, r;

	if (*label) {
		mkswap[n++] = "-L";
		mkswap[n++] = label;
	}
	if (*uuid) {
		mkswap[n++] = "-U";
		mkswap[n++] = uuid;
	}
	device_path(id, path);
	r = device_wait(path);
	return r ? r : program_run(mkswap);
}

int swap_dev_tell_udev(unsigned int id)
{
	char path[64];
	const char *const trigger[] = { "udevadm", "trigger", "--settle",
					"--action=change", path, NULL };

	if (access(UDEV_CONTROL, F_OK))
		return 0;
	snprintf(path, sizeof(path), "/sys/block/odrp%u", id);
	return program_run(trigger);
}

int swap_dev_on(unsigned int id, int priority)
{
	char path[NAME_LEN];
	int flags = 0;

	device_path(id, path);
	if (priority >= 0)
		flags = SWAP_FLAG_PREFER | (priority & SWAP_FLAG_PRIO_MASK);
	return swapon(path, flags) ? -errno : 0;
}

/*
 * While another swapoff of the area runs, the kernel returns EINVAL at once and still
 * lists the area: try again until it is gone.  How long that takes depends on its
 * contents.
 */
int swap_dev_off(unsigned int id)
{
	char path[NAME_LEN];
	int on;

	device_path(id, path);
	for (;;) {
		on = swap_dev_is_on(id);
		if (on <= 0)
			return on;
		if (!swapoff(path))
			return 0;
		if (errno != EINVAL)
			return -errno;
		usleep(100 * 1000);
	}
}

/* ---- memory ------------------------------------------------------------------------ */

int swap_dev_min_free(long kbytes)
{
	char text[32];
	int r;

	r = read_file(MIN_FREE, text, sizeof(text));
	if (r || strtol(text, NULL, 10) >= kbytes)
		return r;
	snprintf(text, sizeof(text), "%ld", kbytes);
	return write_file(MIN_FREE, text);
}
