// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reads what is known of a card from the report that odrp-hwcheck has saved; see verdict.h. */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "verdict.h"

const char verdict_dir[] = LOCALSTATEDIR "/lib/odrp/hwcheck/";
const char verdict_version[] = VERSION;

#define AGAIN "run odrp-hwcheck --save again"

/* A report under examination. */
struct reading {
	const char *path;
	const struct verdict_card *card;
	char *text;
};

__attribute__((format(printf, 2, 3)))
static bool text_set(const struct reading *rd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(rd->text, VERDICT_TEXT_MAX, fmt, ap);
	va_end(ap);
	return false;
}

static bool report_ignore(const struct reading *rd, const char *why)
{
	return text_set(rd, "%s is ignored: %s", rd->path, why);
}

int verdict_path(const char *where, const char *device,
		 char ret_path[VERDICT_PATH_MAX])
{
	size_t len = strlen(where);
	int n;

	if (len && where[len - 1] == '/')
		n = snprintf(ret_path, VERDICT_PATH_MAX, "%s%s.json", where,
			     device);
	else
		n = snprintf(ret_path, VERDICT_PATH_MAX, "%s", where);
	return n < VERDICT_PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* ---- the file ----------------------------------------------------------------- */

static bool file_is_trusted(const struct reading *rd, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return report_ignore(rd, "it is not a regular file");
	if (st->st_uid && st->st_uid != geteuid())
		return report_ignore(rd, "it belongs neither to root nor to this user");
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return report_ignore(rd, "others than the owner may write to it");
	if (st->st_size > VERDICT_FILE_MAX)
		return report_ignore(rd, "it is larger than 16 MB");
	return true;
}

/* Reads to the end of the file, at most len bytes.  The number of bytes, or -errno. */
static ssize_t read_all(int fd, char *buf, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = read(fd, buf + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += n;
	}
	return done;
}

/* Parses exactly one JSON object.  NULL: the text is something else. */
static struct json_object *report_parse(const char *buf, size_t len)
{
	struct json_tokener *tok = json_tokener_new();
	struct json_object *obj;

	if (!tok)
		return NULL;
	obj = json_tokener_parse_ex(tok, buf, len);
	if (obj && (json_tokener_get_parse_end(tok) != len ||
		    !json_object_is_type(obj, json_type_object))) {
		json_object_put(obj);
		obj = NULL;
	}
	json_tokener_free(tok);
	return obj;
}

static struct json_object *load_fd(const struct reading *rd, int fd)
{
	struct json_object *obj = NULL;
	struct stat st;
	ssize_t len;
	char *buf;

	if (fstat(fd, &st)) {
		report_ignore(rd, strerror(errno));
		return NULL;
	}
	if (!file_is_trusted(rd, &st))
		return NULL;
	buf = malloc(st.st_size + 1);
	len = buf ? read_all(fd, buf, st.st_size) : -ENOMEM;
	if (len < 0) {
		report_ignore(rd, strerror(-len));
	} else {
		obj = report_parse(buf, len);
		if (!obj)
			report_ignore(rd, "it is not one JSON object; " AGAIN);
	}
	free(buf);
	return obj;
}

/* Checks the file that is open, not the path; and does not block on a FIFO. */
static struct json_object *report_load(const struct reading *rd)
{
	int fd = open(rd->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct json_object *obj;

	if (fd < 0) {
		text_set(rd, "nothing is known of %s: no report of odrp-hwcheck "
			 "(%s: %s); odrp-hwcheck --save makes one",
			 rd->card->device, rd->path, strerror(errno));
		return NULL;
	}
	obj = load_fd(rd, fd);
	close(fd);
	return obj;
}

/* ---- whether it is for this card ----------------------------------------------- */

static bool report_get(const struct reading *rd, struct json_object *report,
		       const char *key, enum json_type type, struct json_object **ret)
{
	if (json_object_object_get_ex(report, key, ret) &&
	    json_object_is_type(*ret, type))
		return true;
	return text_set(rd, "%s is ignored: %s is missing, or not of type %s; "
			AGAIN, rd->path, key, json_type_to_name(type));
}

static bool get_bool(const struct reading *rd, struct json_object *report,
		     const char *key, bool *ret)
{
	struct json_object *value;

	if (!report_get(rd, report, key, json_type_boolean, &value))
		return false;
	*ret = json_object_get_boolean(value);
	return true;
}

/* Copies the first 63 bytes of text to buf, with '?' for what is not printable ASCII. */
static const char *text_shown(const char *text, char buf[64])
{
	size_t i;

	for (i = 0; i < 63 && text[i]; i++)
		buf[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	buf[i] = 0;
	return buf;
}

static bool report_matches(const struct reading *rd, struct json_object *report,
			   const char *key, const char *word, const char *ours)
{
	char a[64], b[64];
	struct json_object *value;
	const char *text;

	if (!report_get(rd, report, key, json_type_string, &value))
		return false;
	text = json_object_get_string(value);
	if (json_object_get_string_len(value) == (int)strlen(ours) &&
	    !strcmp(text, ours))
		return true;
	return text_set(rd, "%s is for %s %s, but %s has %s: " AGAIN, rd->path,
			word, text_shown(text, a), rd->card->device, text_shown(ours, b));
}

static bool report_is_of_card(const struct reading *rd, struct json_object *report)
{
	const struct verdict_card *card = rd->card;
	bool strict;

	if (!*card->guid)
		return text_set(rd, "nothing is known of %s: it has no node GUID, "
				"so no report is valid for it", card->device);
	if (!report_matches(rd, report, "guid", "node GUID", card->guid) ||
	    !report_matches(rd, report, "firmware", "firmware", card->firmware) ||
	    !report_matches(rd, report, "version", "ODRP", verdict_version) ||
	    !get_bool(rd, report, "strict", &strict))
		return false;
	if (strict == card->strict)
		return true;
	return text_set(rd, "%s is for strict=%s, but %s has strict=%s: " AGAIN,
			rd->path, strict ? "yes" : "no", card->device,
			card->strict ? "yes" : "no");
}

/* False: nothing else of the report counts. */
static bool take_ordering(const struct reading *rd, struct json_object *report,
			  bool *ret_relaxed)
{
	struct json_object *value;
	const char *text;

	if (!report_get(rd, report, "pci_wr_ordering", json_type_string, &value))
		return false;
	text = json_object_get_string(value);
	if (!strcmp(text, VERDICT_PER_MKEY))
		return true;
	*ret_relaxed = !strcmp(text, VERDICT_FORCE_RELAX);
	if (*ret_relaxed)
		return text_set(rd, "%s has PCI_WR_ORDERING=force_relax, by %s: "
				"its writes come in any order, and chains rely on "
				"theirs; mlxconfig -d DEVICE set "
				"PCI_WR_ORDERING=0, reset the card, and " AGAIN,
				rd->card->device, rd->path);
	return report_ignore(rd, "it does not say what PCI_WR_ORDERING is; run "
			     "odrp-hwcheck --save --wr-ordering=... again");
}

/* The check has come to its end, and chains are not what the card is enough for. */
static bool report_is_unfit(struct json_object *report)
{
	struct json_object *enough, *chains;

	return json_object_object_get_ex(report, "enough", &enough) &&
	       json_object_object_get_ex(enough, "chains", &chains) &&
	       !json_object_get_boolean(chains);
}

static void verdict_take(const struct reading *rd, struct json_object *report,
			 struct verdict *verdict)
{
	bool fences, keys;

	if (!report_is_of_card(rd, report) ||
	    !take_ordering(rd, report, &verdict->relaxed) ||
	    !get_bool(rd, report, "order_fence", &fences) ||
	    !get_bool(rd, report, "translate_nic", &keys))
		return;
	verdict->fences = fences;
	verdict->keys = keys;
	verdict->unfit = report_is_unfit(report);
	text_set(rd, "%s, by %s: order=fence may %sbe set, translate=nic may "
		 "%sbe set%s", rd->card->device, rd->path, fences ? "" : "not ",
		 keys ? "" : "not ", verdict->unfit ? "; it is not enough for chains" : "");
}

void verdict_read(const char *path, const struct verdict_card *card,
		  struct verdict *ret_verdict)
{
	struct verdict verdict = { .text = "" };
	const struct reading rd = { path, card, verdict.text };
	struct json_object *report = report_load(&rd);

	if (report)
		verdict_take(&rd, report, &verdict);
	json_object_put(report);
	*ret_verdict = verdict;
}
