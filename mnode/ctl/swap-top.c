// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* odrpctl swap top; see swap-top.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "swap-dev.h"
#include "swap-top.h"
#include "top.h"

/* attributes whose sum is the count; ends with NULL */
static const char *const counters[SWAP_NR_COUNTS][3] = {
	[SWAP_LOADS]	  = { "loads" },
	[SWAP_STORES]	  = { "stores_mapped", "stores_unmapped" },
	[SWAP_FREES]	  = { "notify_free" },
	[SWAP_ERRORS]	  = { "load_errors", "store_errors" },
	[SWAP_RECONNECTS] = { "reconnects" },
};

/* ---- samples ---------------------------------------------------------------------- */

/* Adds a number to *sum. */
static int add_number(unsigned int id, const char *name, uint64_t *sum)
{
	char text[64];
	int r = swap_dev_read(id, name, text, sizeof(text));

	if (!r)
		*sum += strtoull(text, NULL, 10);
	return r;
}

/* Reads a time in ns; returns microseconds. */
static int read_time(unsigned int id, const char *name, double *ret_us)
{
	char text[64], rest;
	uint64_t ns;
	int r = swap_dev_read(id, name, text, sizeof(text));

	if (r)
		return r;
	if (sscanf(text, "%" SCNu64 "%c", &ns, &rest) != 1)
		return -EIO;
	*ret_us = ns / 1000.0;
	return 0;
}

int swap_sample_read(unsigned int id, struct swap_sample *ret_sample)
{
	struct swap_sample s = { .ns = top_now_ns() };
	int r = swap_dev_read(id, "state", s.state, sizeof(s.state)), i, k;

	for (i = 0; !r && i < SWAP_NR_COUNTS; i++)
		for (k = 0; !r && counters[i][k]; k++)
			r = add_number(id, counters[i][k], &s.count[i]);
	if (!r)
		r = add_number(id, "used", &s.used);
	if (!r)
		r = add_number(id, "lease", &s.lease);
	if (!r)
		r = read_time(id, "load_p50_ns", &s.load_us[0]);
	if (!r)
		r = read_time(id, "load_p99_ns", &s.load_us[1]);
	if (!r)
		r = read_time(id, "store_p50_ns", &s.store_us[0]);
	if (!r)
		r = read_time(id, "store_p99_ns", &s.store_us[1]);
	s.there = !r;
	*ret_sample = s;
	return r;
}

/* ---- output ----------------------------------------------------------------------- */

double swap_rate(const struct swap_sample *from, const struct swap_sample *to,
		 enum swap_count which)
{
	return top_rate(from->count[which], to->count[which],
			to->ns > from->ns ? to->ns - from->ns : 0);
}

void swap_top_head(char line[SWAP_TOP_LINE])
{
	snprintf(line, SWAP_TOP_LINE, "%-6s %-7s %6s %6s %6s %5s %5s %5s %5s %7s %7s %4s",
		 "DEVICE", "STATE", "LOAD/S", "STOR/S", "FREE/S", "LD US", "99 %",
		 "ST US", "99 %", "USED MB", "LEASED", "ERRS");
}

void swap_top_line(unsigned int id, const struct swap_sample *from,
		   const struct swap_sample *to, char line[SWAP_TOP_LINE])
{
	char name[16], rate[3][TOP_TEXT], us[4][TOP_TEXT], used[TOP_TEXT], lease[TOP_TEXT];

	snprintf(name, sizeof(name), "odrp%u", id);
	snprintf(line, SWAP_TOP_LINE,
		 "%-6s %-7s %6s %6s %6s %5s %5s %5s %5s %7s %7s %4" PRIu64, name, to->state,
		 top_count_text(swap_rate(from, to, SWAP_LOADS), rate[0]),
		 top_count_text(swap_rate(from, to, SWAP_STORES), rate[1]),
		 top_count_text(swap_rate(from, to, SWAP_FREES), rate[2]),
		 top_us_text(to->load_us[0], us[0]), top_us_text(to->load_us[1], us[1]),
		 top_us_text(to->store_us[0], us[2]), top_us_text(to->store_us[1], us[3]),
		 top_mb_text(to->used / 256.0, used), top_mb_text(to->lease / 256.0, lease),
		 to->count[SWAP_ERRORS]);
}

static void add_double(struct json_object *obj, const char *name, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.1f", value);
	json_object_object_add(obj, name,
			       json_object_new_double_s(value, text));
}

static void add_int(struct json_object *obj, const char *name, uint64_t value)
{
	json_object_object_add(obj, name, json_object_new_int64(value));
}

struct json_object *swap_top_json(const struct swap_sample *from,
				  const struct swap_sample *to)
{
	struct json_object *obj = json_object_new_object();

	json_object_object_add(obj, "state", json_object_new_string(to->state));
	add_double(obj, "loads_per_s", swap_rate(from, to, SWAP_LOADS));
	add_double(obj, "stores_per_s", swap_rate(from, to, SWAP_STORES));
	add_double(obj, "frees_per_s", swap_rate(from, to, SWAP_FREES));
	add_double(obj, "load_p50_us", to->load_us[0]);
	add_double(obj, "load_p99_us", to->load_us[1]);
	add_double(obj, "store_p50_us", to->store_us[0]);
	add_double(obj, "store_p99_us", to->store_us[1]);
	add_int(obj, "used_pages", to->used);
	add_int(obj, "lease_pages", to->lease);
	add_int(obj, "errors", to->count[SWAP_ERRORS]);
	add_int(obj, "reconnects", to->count[SWAP_RECONNECTS]);
	return obj;
}

/* ---- the loop --------------------------------------------------------------------- */

/**
 * struct devices - all devices
 * @samples:	two samples of each device
 */
struct devices {
	bool json;
	struct swap_sample samples[2][SWAP_DEV_MAX];
};

static int devices_look(void *arg, unsigned int place)
{
	struct devices *d = arg;
	struct swap_sample *samples = d->samples[place];
	unsigned int id;

	for (id = 0; id < SWAP_DEV_MAX; id++) {
		samples[id].there = false;
		if (swap_dev_exists(id))
			swap_sample_read(id, &samples[id]);
	}
	return 0;
}

/* A new device is compared with itself. */
static const struct swap_sample *sample_before(const struct swap_sample *from,
					       const struct swap_sample *to)
{
	return from->there ? from : to;
}

static void print_json(const struct swap_sample *from,
		       const struct swap_sample *to)
{
	struct json_object *all = json_object_new_object();
	unsigned int id;
	char name[16];

	for (id = 0; id < SWAP_DEV_MAX; id++) {
		if (!to[id].there)
			continue;
		snprintf(name, sizeof(name), "odrp%u", id);
		json_object_object_add(all, name, swap_top_json(
				sample_before(&from[id], &to[id]), &to[id]));
	}
	puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PLAIN));
	json_object_put(all);
}

static void print_sample(const struct swap_sample *from, const struct swap_sample *to)
{
	char line[SWAP_TOP_LINE];
	unsigned int id, n = 0;

	top_clear();
	swap_top_head(line);
	puts(line);
	for (id = 0; id < SWAP_DEV_MAX; id++) {
		if (!to[id].there)
			continue;
		swap_top_line(id, sample_before(&from[id], &to[id]), &to[id], line);
		puts(line);
		n++;
	}
	if (!n)
		puts("no devices");
}

static void devices_print(void *arg, unsigned int to)
{
	struct devices *d = arg;

	(d->json ? print_json : print_sample)(d->samples[!to], d->samples[to]);
}

int swap_top(double seconds, unsigned long count, bool json)
{
	struct devices *d = calloc(1, sizeof(*d));
	const struct top top = { devices_look, devices_print, d };
	int r;

	if (!d)
		return -ENOMEM;
	d->json = json;
	r = top_run(&top, seconds, count);
	free(d);
	return r;
}
