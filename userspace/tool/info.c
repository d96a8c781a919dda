// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* far info: back ends, whether they work here, and why not; RDMA devices. */
#include "far.h"

#include <argp.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "../base/pages.h"
#include "../nic/nic.h"
#include "../nic/sim/sim.h"
#include "../nic/verbs_info.h"

/* Whether it works; why: the reason if it does not. */
static int backend_try(const struct far_nic_ops *ops, char *why, size_t len)
{
	struct far_nic *nic;
	int err = ops->open("", why, len, &nic);

	if (err && !why[0])
		snprintf(why, len, "%s", strerror(-err));
	if (!err)
		ops->close(nic);
	return !err;
}

/* ---- text ---- */

static int print_device(void *arg, const struct far_verbs_device *device)
{
	printf("  device %s: firmware %s, atomics of the %s, ", device->name,
	       device->firmware[0] ? device->firmware : "unknown", device->atomics);
	if (device->thread_domains)
		printf("no thread domains (%s)\n", strerror(device->thread_domains));
	else
		printf("thread domains\n");
	printf("    inline up to %d bytes, %d sge, queues of %d, %d queue pairs, "
	       "%d READs under way\n", device->max_inline > 0 ? device->max_inline : 0,
	       device->max_sge, device->max_queue, device->max_queues, device->max_reads);
	return 0;
}

static int print_port(void *arg, const struct far_verbs_port *port)
{
	unsigned i;

	printf("    port %u: %s, %s, MTU %u, messages up to %llu bytes\n", port->number,
	       port->state, port->link, port->mtu, (unsigned long long)port->max_message);
	for (i = 0; i < port->nr_gids; i++)
		printf("      GID %u: %s, %s\n", port->gid[i].index, port->gid[i].gid,
		       port->gid[i].type);
	return 0;
}

static void print_devices(void)
{
	const struct far_verbs_reporter to = { .device = print_device, .port = print_port };

	far_verbs_report(&to);
}

static void print_profiles(void)
{
	const char *name;
	size_t i;

	printf("  profiles:");
	for (i = 0; (name = far_sim_profile_name(i)); i++)
		printf(" %s", name);
	printf("\n");
}

static void print_backend(const struct far_nic_ops *ops)
{
	char why[256] = "";
	int works = backend_try(ops, why, sizeof(why));

	printf("%s: %s\n", ops->name, ops->summary);
	printf(works ? "  works here\n" : "  does not work here: %s\n", why);
	if (!strcmp(ops->name, "verbs"))
		print_devices();
	if (!strcmp(ops->name, "sim"))
		print_profiles();
}

static void print_atlas(void)
{
	const struct far_sim_fault *fault;

	printf("\nfaults that sim injects, and what survives them:\n");
	for (fault = far_sim_atlas; fault->name; fault++)
		printf("  %-8s %s\n", fault->name, fault->survivable);
}

static void print_pages(void)
{
	struct far_pages_info info;

	if (far_pages_info(&info)) {
		printf("\nhuge pages: this system has none of 2 MB\n");
		return;
	}
	printf("\nhuge pages of 2 MB, for buffers and spaces from that size on: "
	       "%" PRIu64 " of %" PRIu64 " free; transparent ones: %s\n", info.free,
	       info.total, info.transparent[0] ? info.transparent : "none");
}

/* ---- JSON ---- */

static void put_text(json_object *to, const char *name, const char *text)
{
	json_object_object_add(to, name, json_object_new_string(text));
}

static void put_number(json_object *to, const char *name, int64_t number)
{
	json_object_object_add(to, name, json_object_new_int64(number));
}

static int json_device(void *arg, const struct far_verbs_device *device)
{
	json_object *to = json_object_new_object();

	put_text(to, "name", device->name);
	put_text(to, "firmware", device->firmware);
	put_text(to, "atomics", device->atomics);
	json_object_object_add(to, "thread_domains",
			       json_object_new_boolean(!device->thread_domains));
	put_number(to, "max_inline", device->max_inline > 0 ? device->max_inline : 0);
	put_number(to, "max_sge", device->max_sge);
	put_number(to, "max_queue", device->max_queue);
	put_number(to, "max_queue_pairs", device->max_queues);
	put_number(to, "max_reads", device->max_reads);
	json_object_object_add(to, "ports", json_object_new_array());
	json_object_array_add(arg, to);
	return 0;
}

/* Into the last device. */
static int json_port(void *arg, const struct far_verbs_port *port)
{
	json_object *device = json_object_array_get_idx(arg, json_object_array_length(arg) - 1);
	json_object *to = json_object_new_object(), *gids = json_object_new_array(), *gid;
	unsigned i;

	put_number(to, "number", port->number);
	put_text(to, "state", port->state);
	put_text(to, "link", port->link);
	put_number(to, "mtu", port->mtu);
	put_number(to, "max_message", port->max_message);
	for (i = 0; i < port->nr_gids; i++) {
		gid = json_object_new_object();
		put_number(gid, "index", port->gid[i].index);
		put_text(gid, "gid", port->gid[i].gid);
		put_text(gid, "type", port->gid[i].type);
		json_object_array_add(gids, gid);
	}
	json_object_object_add(to, "gids", gids);
	json_object_array_add(json_object_object_get(device, "ports"), to);
	return 0;
}

static json_object *json_backend(const struct far_nic_ops *ops)
{
	json_object *to = json_object_new_object();
	char why[256] = "";
	int works = backend_try(ops, why, sizeof(why));

	put_text(to, "name", ops->name);
	put_text(to, "summary", ops->summary);
	json_object_object_add(to, "works", json_object_new_boolean(works));
	if (!works)
		put_text(to, "why", why);
	return to;
}

static json_object *json_pages(void)
{
	json_object *to = json_object_new_object();
	struct far_pages_info info = { .free = 0 };

	(void)far_pages_info(&info);	/* none, then */
	put_number(to, "free", info.free);
	put_number(to, "total", info.total);
	put_text(to, "transparent", info.transparent);
	return to;
}

static void print_json(void)
{
	json_object *all = json_object_new_object(), *backends = json_object_new_array();
	json_object *devices = json_object_new_array();
	const struct far_verbs_reporter to = {
		.device = json_device, .port = json_port, .arg = devices,
	};
	unsigned i;

	for (i = 0; far_nic_all[i]; i++)
		json_object_array_add(backends, json_backend(far_nic_all[i]));
	far_verbs_report(&to);
	json_object_object_add(all, "backends", backends);
	json_object_object_add(all, "devices", devices);
	json_object_object_add(all, "huge_pages", json_pages());
	printf("%s\n", json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY));
	json_object_put(all);
}

/* ---- the command ---- */

enum { KEY_JSON = 256 };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	if (key != KEY_JSON)
		return ARGP_ERR_UNKNOWN;
	*(int *)state->input = 1;
	return 0;
}

int far_info(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "json", KEY_JSON, NULL, 0, "as JSON", 0 },
		{ NULL, 0, NULL, 0, NULL, 0 },
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Lists the back ends for --nic, whether they work here, and the "
		       "RDMA devices of this host.",
	};
	int json = 0;
	unsigned i;

	argp_parse(&argp, argc, argv, 0, NULL, &json);
	if (json) {
		print_json();
		return 0;
	}
	for (i = 0; far_nic_all[i]; i++)
		print_backend(far_nic_all[i]);
	print_atlas();
	print_pages();
	return 0;
}
