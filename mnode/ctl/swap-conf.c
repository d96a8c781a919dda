// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of a swap device's settings, their checks, and the INI file.  The module
 * checks the settings again; these checks give better messages.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <odrp/auth.h>
#include <odrp/wire.h>
#include "../conf-ini.h"
#include "swap-conf.h"

struct key {
	const char *name;
	const char *pair;		/* name for hot_add; NULL: hot_add does not have this
					 * setting */
	int (*check)(const struct key *key, const char *text, char *why);
	long min, max;
};

__attribute__((format(printf, 2, 3)))
static int complain(char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, SWAP_CONF_WHY_MAX, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int check_address(const struct key *key, const char *text, char *why)
{
	struct in_addr addr;

	const char *colon = strchr(text, ':');

	if (colon && strchr(colon + 1, ':'))
		return complain(why, "%s=%s: IPv6: expected an IPv4 address, "
				"the module connects by no other", key->name,
				text);
	if (colon)
		return complain(why, "%s=%s: expected an IPv4 address alone: the "
				"port has a setting of its own, port", key->name,
				text);
	if (inet_pton(AF_INET, text, &addr) != 1)
		return complain(why, "%s=%s: expected an IPv4 address",
				key->name, text);
	return 0;
}

/* The module would read a number with a leading zero as octal, people as decimal. */
static bool has_leading_zero(const char *text)
{
	return text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

static int check_number(const struct key *key, const char *text, char *why)
{
	char *end = NULL;
	long n = -1;

	if (has_leading_zero(text))
		return complain(why, "%s=%s: expected a number without zeros in "
				"front, from %ld to %ld", key->name, text,
				key->min, key->max);
	errno = 0;
	if (*text >= '0' && *text <= '9')
		n = strtol(text, &end, 10);
	if (!end || *end || errno || n < key->min || n > key->max)
		return complain(why, "%s=%s: expected a number from %ld to %ld",
				key->name, text, key->min, key->max);
	return 0;
}

/* Accepts bytes, or a number with K, M, G or T, in whole pages. */
static int check_size(const struct key *key, const char *text, char *why)
{
	static const char units[] = "KMGT";
	unsigned long long n = 0;
	unsigned int shift = 0;
	const char *unit;
	char *end = NULL;

	if (has_leading_zero(text))
		return complain(why, "%s=%s: expected a size without zeros in "
				"front", key->name, text);
	errno = 0;
	if (*text >= '0' && *text <= '9')
		n = strtoull(text, &end, 10);
	if (end && *end) {
		unit = strchr(units, *end & ~0x20);
		if (!unit || end[1])
			goto bad;
		shift = 10 * (unit - units + 1);
	}
	if (errno || !n || n > ~0ull >> shift ||
	    (n << shift) % ODRP_WIRE_PAGE_SIZE)
		goto bad;
	return 0;
bad:
	return complain(why, "%s=%s: expected a size in bytes or with K, M, G "
			"or T, a multiple of 4K", key->name, text);
}

static int check_backend(const struct key *key, const char *text, char *why)
{
	if (strcmp(text, "block") && strcmp(text, "frontswap"))
		return complain(why, "%s=%s: expected block or frontswap",
				key->name, text);
	return 0;
}

static int check_checksum(const struct key *key, const char *text, char *why)
{
	if (strcmp(text, "none") && strcmp(text, "crc32c"))
		return complain(why, "%s=%s: expected none or crc32c",
				key->name, text);
	return 0;
}

static int check_protect(const struct key *key, const char *text, char *why)
{
	if (strcmp(text, "none") && strcmp(text, "aead"))
		return complain(why, "%s=%s: expected none or aead",
				key->name, text);
	return 0;
}

static int check_translate(const struct key *key, const char *text, char *why)
{
	if (strcmp(text, "nic") && strcmp(text, "chain"))
		return complain(why, "%s=%s: expected nic or chain",
				key->name, text);
	return 0;
}

/* Accepts a name of a compute node, which is also the name of a file. */
static int check_name(const struct key *key, const char *text, char *why)
{
	size_t len = strlen(text);

	if (!len || len >= ODRP_AUTH_NAME || *text == '.' ||
	    strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789"
			 "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.") != len)
		return complain(why, "%s=%s: expected 1 to %d letters, digits, '-', "
				"'_' and '.', not '.' first", key->name, text,
				ODRP_AUTH_NAME - 1);
	return 0;
}

static int check_auth(const struct key *key, const char *text, char *why)
{
	if (strcmp(text, "none"))
		return complain(why, "%s=%s: expected none, or key instead",
				key->name, text);
	return 0;
}

/* Accepts absolute paths that are one word in the line for hot_add. */
static int check_path(const struct key *key, const char *text, char *why)
{
	if (*text != '/' || strpbrk(text, " \t\n"))
		return complain(why, "%s=%s: expected an absolute path without "
				"blanks", key->name, text);
	return 0;
}

/*
 * The label must fit the header of a swap space, and needs no escapes in names of links
 * and units and in fstab.
 */
static int check_label(const struct key *key, const char *text, char *why)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.";
	size_t len = strlen(text);

	if (!len || len > SWAP_LABEL_MAX || strspn(text, plain) != len)
		return complain(why, "%s=%s: expected 1 to %d letters, digits, '-', "
				"'_' and '.'", key->name, text, SWAP_LABEL_MAX);
	return 0;
}

static int check_uuid(const struct key *key, const char *text, char *why)
{
	static const char like[] = "01234567-0123-0123-0123-0123456789ab";
	static const char digits[] = "0123456789abcdefABCDEF";
	size_t i;

	for (i = 0; i < sizeof(like) - 1; i++) {
		if (!text[i] || !strchr(like[i] == '-' ? "-" : digits, text[i]))
			break;
	}
	if (like[i] || text[i])
		return complain(why, "%s=%s: expected a UUID such as %s",
				key->name, text, like);
	if (strspn(text, "0-") == i)
		return complain(why, "%s=%s: expected a UUID that is not all zeros: "
				"that one stands for none", key->name, text);
	return 0;
}

static int check_activate(const struct key *key, const char *text, char *why)
{
	if (strcmp(text, "yes") && strcmp(text, "no"))
		return complain(why, "%s=%s: expected yes or no", key->name,
				text);
	return 0;
}

static const struct key keys[SWAP_NR_KEYS] = {
	[SWAP_ADDRESS]	  = { "address", "addr", check_address },
	[SWAP_PORT]	  = { "port", "port", check_number, 1, 65535 },
	[SWAP_SIZE]	  = { "size", "size", check_size },
	[SWAP_SRC]	  = { "src", "src", check_address },
	[SWAP_QUEUES]	  = { "queues", "queues", check_number, 1, 64 },
	[SWAP_DEPTH]	  = { "depth", "depth", check_number, 1, 1024 },
	[SWAP_TIMEOUT_MS] = { "timeout-ms", "timeout_ms", check_number, 1,
			      600000 },
	[SWAP_DEAD_AFTER_MS] = { "dead-after-ms", "dead_after_ms",
				 check_number, 0, 600000 },
	[SWAP_IO_FAIL_MS] = { "io-fail-ms", "io_fail_ms", check_number, 0, 600000 },
	[SWAP_RECONNECT_MS] = { "reconnect-delay-ms", "reconnect_delay_ms",
				check_number, 1, 600000 },
	[SWAP_BACKEND]	  = { "backend", "backend", check_backend },
	[SWAP_BACKING]	  = { "backing", "backing", check_path },
	[SWAP_CHECKSUM]	  = { "checksum", "checksum", check_checksum },
	[SWAP_PROTECT]	  = { "protect", "protect", check_protect },
	[SWAP_TRANSLATE]  = { "translate", "translate", check_translate },
	[SWAP_KEY]	  = { "key", "key", check_name },
	[SWAP_AUTH]	  = { "auth", "auth", check_auth },
	[SWAP_LABEL]	  = { "label", NULL, check_label },
	[SWAP_UUID]	  = { "uuid", NULL, check_uuid },
	[SWAP_ACTIVATE]	  = { "activate", NULL, check_activate },
	[SWAP_PRIORITY]	  = { "priority", NULL, check_number, 0, 32767 },
	[SWAP_MIN_FREE]	  = { "min-free-kbytes", NULL, check_number, 1,
			      16 << 20 },
};

int swap_conf_set(struct swap_conf *conf, const char *name, const char *text,
		  char why[SWAP_CONF_WHY_MAX])
{
	unsigned int i;
	int r;

	for (i = 0; i < SWAP_NR_KEYS; i++) {
		if (strcmp(keys[i].name, name))
			continue;
		if (strlen(text) >= SWAP_VALUE_MAX)
			return complain(why, "%s: longer than %d characters",
					name, SWAP_VALUE_MAX - 1);
		r = keys[i].check(&keys[i], text, why);
		if (!r)
			memcpy(conf->value[i], text, strlen(text) + 1);
		return r;
	}
	complain(why, "%.100s: no such setting; expected one of odrp-swap.conf(5)", name);
	return -ENOENT;
}

static int on_line(void *arg, const char *section, const char *name,
		   const char *value, char why[CONF_INI_WHY_MAX])
{
	if (!strcmp(section, "swap"))
		return name ? swap_conf_set(arg, name, value, why) : 0;
	if (*section)
		return complain(why, "section [%.100s]: expected [swap]", section);
	return complain(why, "%.100s: in no section: expected [swap] in a line above",
			name);
}

int swap_conf_read(struct swap_conf *conf, const char *path,
		   char why[SWAP_CONF_WHY_MAX])
{
	char reason[SWAP_CONF_WHY_MAX];
	int r;

	_Static_assert(SWAP_CONF_WHY_MAX >= CONF_INI_WHY_MAX, "room for what is wrong");
	r = conf_ini_read(path, NULL, on_line, conf, why);
	if (r)
		return r;
	r = swap_conf_check(conf, reason);
	if (r)
		complain(why, "%.200s: %.250s", path, reason);
	return r;
}

int swap_conf_check(const struct swap_conf *conf, char why[SWAP_CONF_WHY_MAX])
{
	if (!*conf->value[SWAP_ADDRESS])
		return complain(why, "address is missing: expected the memory "
				"node's IPv4 address");
	if (!*conf->value[SWAP_SIZE])
		return complain(why, "size is missing: expected the size of "
				"the device");
	if (*conf->value[SWAP_KEY] && *conf->value[SWAP_AUTH])
		return complain(why, "auth=none and key=%s: expected one of them",
				conf->value[SWAP_KEY]);
	if (!*conf->value[SWAP_KEY] && !*conf->value[SWAP_AUTH])
		return complain(why, "key is missing: expected our name at the memory "
				"node, or auth=none, which is insecure");
	if (!swap_conf_activates(conf) && *conf->value[SWAP_PRIORITY])
		return complain(why, "priority=%s: not expected with activate=no: "
				"what swaps it on gives the priority",
				conf->value[SWAP_PRIORITY]);
	return 0;
}

bool swap_conf_activates(const struct swap_conf *conf)
{
	return strcmp(conf->value[SWAP_ACTIVATE], "no");
}

long swap_conf_number(const struct swap_conf *conf, enum swap_key key,
		      long otherwise)
{
	const char *text = conf->value[key];

	return *text ? strtol(text, NULL, 10) : otherwise;
}

void swap_conf_server(const struct swap_conf *conf, char *buf, size_t len)
{
	snprintf(buf, len, "%s:%ld", conf->value[SWAP_ADDRESS],
		 swap_conf_number(conf, SWAP_PORT, ODRP_WIRE_PORT));
}

void swap_conf_line(const struct swap_conf *conf, unsigned int id, char *buf,
		    size_t len)
{
	unsigned int i;
	size_t at;

	at = snprintf(buf, len, "id=%u", id);
	for (i = 0; i < SWAP_NR_KEYS && at < len; i++) {
		if (keys[i].pair && *conf->value[i])
			at += snprintf(buf + at, len - at, " %s=%s",
				       keys[i].pair, conf->value[i]);
	}
}
