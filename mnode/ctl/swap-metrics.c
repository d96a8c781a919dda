// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of a compute node's metrics.  Each number is an attribute in
 * /sys/block/odrpN/odrp/, which docs/ABI/sysfs-block-odrp explains.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "swap-dev.h"
#include "swap-metrics.h"

#define SWAP	"odrp_swap_"
#define EACH	"devices"
#define NS	1000000000

static const struct prom_rows swap_metrics_rows[] = {
	{ EACH, { { "device", "name" } } },
	{ NULL }
};

const struct prom_metric swap_metrics_table[] = {
	{ SWAP "module_loaded", PROM_GAUGE, "0 or 1",
	  "1 when the kernel module is loaded; when it is 0 there is no device, and no "
	  "other number of this table.", NULL, "", { { "module_loaded" } } },
	{ SWAP "state", PROM_GAUGE, "1",
	  "Always 1; the label is the state of the session: live, lost, failing or dead.",
	  "state", EACH, { { "state" } } },
	{ SWAP "server_info", PROM_GAUGE, "1",
	  "Always 1; the label is the memory node.", "server", EACH,
	  { { "server" } } },
	{ SWAP "translate_info", PROM_GAUGE, "1",
	  "Always 1; the label says what finds pages on the memory node: chain or nic.",
	  "translate", EACH, { { "translate" } } },
	{ SWAP "draining", PROM_GAUGE, "0 or 1",
	  "1 when the memory node asks this machine to swap off.", NULL, EACH,
	  { { "drain" } } },
	{ SWAP "forced", PROM_GAUGE, "0 or 1",
	  "1 when the device was removed by force while it was open.", NULL, EACH,
	  { { "forced" } } },
	{ SWAP "swapoff_corrupts", PROM_GAUGE, "0 or 1",
	  "1 when swapoff would give wrong bytes to programs.", NULL, EACH,
	  { { "swapoff_corrupts" } } },
	{ SWAP "queues", PROM_GAUGE, "queues", "Queues to the memory node.",
	  NULL, EACH, { { "queues" } } },
	{ SWAP "depth", PROM_GAUGE, "requests",
	  "Requests that may be outstanding on each connection.", NULL, EACH,
	  { { "depth" } } },

	{ SWAP "lease_pages", PROM_GAUGE, "pages",
	  "Pages that the device may use on the memory node.", NULL, EACH,
	  { { "lease" } } },
	{ SWAP "used_pages", PROM_GAUGE, "pages",
	  "Pages in use on the memory node.", NULL, EACH, { { "used" } } },
	{ SWAP "mapped_pages", PROM_GAUGE, "pages",
	  "Pages in use that hold the contents of a slot.", NULL, EACH,
	  { { "mapped" } } },
	{ SWAP "free_pending_pages", PROM_GAUGE, "pages",
	  "Pages in use whose slot was freed and that were not given back yet.",
	  NULL, EACH, { { "free_pending" } } },

	{ SWAP "loads_total", PROM_COUNTER, "pages",
	  "Pages read from the memory node, by chains or by keys.", NULL, EACH,
	  { { "loads" } } },
	{ SWAP "zero_loads_total", PROM_COUNTER, "pages",
	  "Pages read that hold nothing, without a request.", NULL, EACH,
	  { { "loads_zero" } } },
	{ SWAP "stores_total", PROM_COUNTER, "pages",
	  "Pages written to the memory node, by chains or by keys: to a slot that was "
	  "mapped or was not.", "slot", EACH,
	  { { "stores_mapped", "mapped" }, { "stores_unmapped", "unmapped" } } },
	{ SWAP "reused_stores_total", PROM_COUNTER, "pages",
	  "Stores that took the page of another slot that was freed.", NULL, EACH,
	  { { "stores_reused" } } },
	{ SWAP "bounced_stores_total", PROM_COUNTER, "pages",
	  "Stores that were copied before they were sent.", NULL, EACH,
	  { { "bounced" } } },
	{ SWAP "frees_total", PROM_COUNTER, "slots",
	  "Slots freed by the kernel's swap code.", NULL, EACH,
	  { { "notify_free" } } },
	{ SWAP "free_overflows_total", PROM_COUNTER, "slots",
	  "Frees that found the ring of their processor full.", NULL, EACH,
	  { { "free_overflows" } } },
	{ SWAP "invalidates_total", PROM_COUNTER, "pages",
	  "Pages given back to the memory node.", NULL, EACH,
	  { { "invalidates" } } },
	{ SWAP "cancelled_invalidates_total", PROM_COUNTER, "pages",
	  "Pages written to again before they were given back.", NULL, EACH,
	  { { "invalidates_cancelled" } } },
	{ SWAP "flushed_total", PROM_COUNTER, "pages",
	  "Invalidates that were sent, by what made them due.", "reason", EACH,
	  { { "flushed_age", "age" }, { "flushed_count", "count" },
	    { "flushed_now", "now" } } },
	{ SWAP "received_bytes_total", PROM_COUNTER, "bytes",
	  "Bytes of pages received.", NULL, EACH, { { "bytes_in" } } },
	{ SWAP "sent_bytes_total", PROM_COUNTER, "bytes",
	  "Bytes of pages sent.", NULL, EACH, { { "bytes_out" } } },

	{ SWAP "errors_total", PROM_COUNTER, "pages",
	  "Loads and stores that ended with an error.", "operation", EACH,
	  { { "load_errors", "load" }, { "store_errors", "store" } } },
	{ SWAP "lease_denied_total", PROM_COUNTER, "pages",
	  "Stores that failed because the lease was exhausted.", NULL, EACH,
	  { { "lease_denied" } } },
	{ SWAP "checksum_errors_total", PROM_COUNTER, "pages",
	  "Loads that brought other contents than were stored.", NULL, EACH,
	  { { "checksum_errors" } } },
	{ SWAP "protect_errors_total", PROM_COUNTER, "pages",
	  "Loads that brought anything but the page that protect=aead had sealed.",
	  NULL, EACH, { { "protect_errors" } } },
	{ SWAP "unknown_answers_total", PROM_COUNTER, "answers",
	  "Answers that belong to no request.", NULL, EACH, { { "unknown_ids" } } },
	{ SWAP "invalid_io_total", PROM_COUNTER, "bios",
	  "Bios refused because they were not aligned to 4096 bytes.", NULL, EACH,
	  { { "invalid_io" } } },
	{ SWAP "reconnects_total", PROM_COUNTER, "times",
	  "Times that the session was resumed.", NULL, EACH,
	  { { "reconnects" } } },
	{ SWAP "resent_requests_total", PROM_COUNTER, "requests",
	  "Requests sent again after the session was resumed.", NULL, EACH,
	  { { "resent" } } },
	{ SWAP "heartbeats_total", PROM_COUNTER, "heartbeats",
	  "Heartbeats written to the memory node.", NULL, EACH, { { "beats" } } },

	{ SWAP "load_duration_seconds", PROM_GAUGE, "seconds",
	  "Time that a share of the loads since the device was added have not exceeded, "
	  "accurate to 25 %; 100 is the longest, exactly.", "percentile", EACH,
	  { { "load_p50_ns", "50" }, { "load_p90_ns", "90" },
	    { "load_p99_ns", "99" }, { "load_max_ns", "100" } }, NS },
	{ SWAP "store_duration_seconds", PROM_GAUGE, "seconds",
	  "The same for stores.", "percentile", EACH,
	  { { "store_p50_ns", "50" }, { "store_p90_ns", "90" },
	    { "store_p99_ns", "99" }, { "store_max_ns", "100" } }, NS },
	{ SWAP "waits_total", PROM_COUNTER, "times",
	  "Times that a block waited: for a free request (credit), for another request "
	  "on its slot, for a page, or because too many blocks wait (room).", "reason",
	  EACH, { { "waits_credit", "credit" }, { "waits_slot", "slot" },
		  { "waits_page", "page" }, { "waits_room", "room" } } },
	{ SWAP "doorbells_total", PROM_COUNTER, "times",
	  "Posts of one or more requests.", NULL, EACH, { { "doorbells" } } },
	{ SWAP "polls_total", PROM_COUNTER, "loads",
	  "Loads whose submitter polled for them.", NULL, EACH, { { "polls" } } },
	{ SWAP "polls_hit_total", PROM_COUNTER, "loads",
	  "Polls that ended with the load finished.", NULL, EACH,
	  { { "polls_hit" } } },

	{ SWAP "frontswap_pages_total", PROM_COUNTER, "pages",
	  "Loads and stores that came by frontswap, and pages stored so that are read as "
	  "bios (passed).", "operation", EACH,
	  { { "frontswap_loads", "load" }, { "frontswap_stores", "store" },
	    { "frontswap_passed", "passed" } } },
	{ SWAP "backing_pages_total", PROM_COUNTER, "pages",
	  "Pages read from and written to the backing device.", "operation", EACH,
	  { { "backing_loads", "load" }, { "backing_stores", "store" } } },
	{ SWAP "backing_errors_total", PROM_COUNTER, "pages",
	  "Reads and writes that the backing device failed.", NULL, EACH,
	  { { "backing_errors" } } },
	{ NULL }
};

/* Reads all attributes that the table needs; leaves out those that do not exist. */
static struct json_object *device_read(unsigned int id)
{
	struct json_object *obj = json_object_new_object();
	const struct prom_source *from;
	const struct prom_metric *m;
	char text[256];

	snprintf(text, sizeof(text), "odrp%u", id);
	json_object_object_add(obj, "name", json_object_new_string(text));
	for (m = swap_metrics_table; m->name; m++)
		for (from = m->from; *m->per && from->path; from++)
			if (!swap_dev_read(id, from->path, text, sizeof(text)))
				json_object_object_add(obj, from->path,
						json_object_new_string(text));
	return obj;
}

int swap_metrics_write(FILE *f)
{
	struct json_object *obj = json_object_new_object();
	struct json_object *list = json_object_new_array();
	unsigned int id;

	for (id = 0; id < SWAP_DEV_MAX; id++)
		if (swap_dev_exists(id))
			json_object_array_add(list, device_read(id));
	json_object_object_add(obj, "module_loaded",
			       json_object_new_boolean(swap_dev_loaded()));
	json_object_object_add(obj, EACH, list);
	prom_write(f, swap_metrics_table, swap_metrics_rows, obj);
	json_object_put(obj);
	if (fflush(f))
		return -errno;
	return ferror(f) ? -EIO : 0;
}

static int write_to(int fd)
{
	FILE *f = fdopen(fd, "w");
	int r;

	if (!f) {
		r = -errno;
		close(fd);
		return r;
	}
	r = swap_metrics_write(f);
	if (!r && fchmod(fd, 0644))
		r = -errno;
	if (fclose(f) && !r)
		r = -errno;
	return r;
}

int swap_metrics_save(const char *path)
{
	char *temporary;
	int fd, r;

	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0) {
		r = -errno;
		goto free_temporary;
	}
	r = write_to(fd);
	if (!r && rename(temporary, path))
		r = -errno;
	if (r)
		unlink(temporary);
free_temporary:
	free(temporary);
	return r;
}
