// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table of the agent's metrics.  All numbers come from status.c, so that both agree. */
#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "metrics.h"
#include "status.h"

#define MNODE	"odrp_mnode_"
#define NIC	MNODE "nic_"
#define SESSION	MNODE "session_"
#define SPACE	MNODE "space_"

const struct prom_rows metrics_rows[] = {
	{ "sessions", { { "session", "id" }, { "peer", "peer" } } },
	{ "spaces", { { "space", "name" } } },
	{ NULL }
};

const struct prom_metric metrics_table[] = {
	{ MNODE "info", PROM_GAUGE, "1",
	  "Always 1; the label is the version of the agent.",
	  "version", "", { { "version" } } },
	{ MNODE "uptime_seconds", PROM_GAUGE, "seconds",
	  "Time since the agent began.", NULL, "", { { "wall_s" } } },
	{ MNODE "agent_cpu_seconds_total", PROM_COUNTER, "seconds",
	  "Processor time of the agent without its NIC.", NULL, "",
	  { { "agent_cpu_s" } } },
	{ MNODE "longest_turn_seconds", PROM_GAUGE, "seconds",
	  "Longest turn of the agent's event loop since it began; meanwhile it heard "
	  "nobody else.", NULL, "", { { "longest_turn_s" } } },
	{ MNODE "nic_silent", PROM_GAUGE, "0 or 1",
	  "1 while the card does not answer the agent's queries.", NULL, "",
	  { { "nic_silent" } } },
	{ MNODE "draining", PROM_GAUGE, "0 or 1",
	  "1 while the agent asks all compute nodes to leave, or ends.",
	  NULL, "", { { "draining" } } },

	{ MNODE "pool_pages", PROM_GAUGE, "pages",
	  "Pages of 4096 bytes in the pool.", NULL, "", { { "pages_total" } } },
	{ MNODE "pages", PROM_GAUGE, "pages",
	  "Pages of the pool that are free, that hold a slot, that are in page "
	  "registers of stores, or that are spaces; the sum is the pool.", "state", "",
	  { { "pages_free", "free" }, { "pages_mapped", "mapped" },
	    { "pages_armed", "register" }, { "pages_spaces", "space" } } },
	{ MNODE "unlent_pages", PROM_GAUGE, "pages",
	  "Pages that no session has been lent.", NULL, "", { { "pages_pool" } } },
	{ MNODE "kept_pages", PROM_GAUGE, "pages",
	  "Pages whose contents can still be asked for, as heartbeats say.", NULL, "",
	  { { "use.used" } } },
	{ MNODE "held_pages", PROM_GAUGE, "pages",
	  "Pages that nobody else can have: used, in rings, in registers or set aside for "
	  "them, slack, and in slabs; 0 until a session has begun.", NULL, "",
	  { { "use.held" } } },
	{ MNODE "kept_page_time_total", PROM_COUNTER, "pages times seconds",
	  "Kept pages by time, while there are sessions; by that of held pages: the "
	  "utilization.", NULL, "", { { "use.used_page_s" } } },
	{ MNODE "held_page_time_total", PROM_COUNTER, "pages times seconds",
	  "Held pages by time, while there are sessions.", NULL, "",
	  { { "use.held_page_s" } } },
	{ MNODE "stock_pages", PROM_GAUGE, "pages",
	  "Free pages that are set aside for page registers of further stores.",
	  NULL, "", { { "pages_stock" } } },
	{ MNODE "withheld_pages", PROM_GAUGE, "pages",
	  "Pages of sessions that have ended while the NIC did not stop their chains or "
	  "destroy their keys.",
	  NULL, "", { { "pages_withheld" } } },
	{ MNODE "tables_bytes", PROM_GAUGE, "bytes",
	  "Memory of the tables that arm chains again.", NULL, "",
	  { { "table_bytes" } } },
	{ MNODE "lent_pages_total", PROM_COUNTER, "pages",
	  "Pages that the agent has put into free rings.", NULL, "",
	  { { "counters.lent_pages" } } },
	{ MNODE "returned_pages_total", PROM_COUNTER, "pages",
	  "Pages that the agent has taken back from sessions.", NULL, "",
	  { { "counters.returned_pages" } } },
	{ MNODE "scrubbed_pages_total", PROM_COUNTER, "pages",
	  "Pages that the agent has cleared before another compute node got them.",
	  NULL, "", { { "counters.scrubbed_pages" } } },
	{ MNODE "foreign_pages_total", PROM_COUNTER, "entries",
	  "Ring positions and table entries that held something else than a page of "
	  "their session.", NULL, "", { { "counters.foreign_pages" } } },
	{ MNODE "lend_retries_total", PROM_COUNTER, "times",
	  "Times that a store moved a ring's head before the agent did.",
	  NULL, "", { { "counters.lender_retries" } } },
	{ MNODE "lend_failures_total", PROM_COUNTER, "times",
	  "Times that the NIC failed to move a ring's head for the agent.",
	  NULL, "", { { "counters.lender_failures" } } },

	{ MNODE "sessions", PROM_GAUGE, "sessions",
	  "Sessions that are being made (opening), that are connected (live), that may "
	  "be resumed (away), or whose pages are being taken back (dying).", "state", "",
	  { { "session_states.opening", "opening" },
	    { "session_states.live", "live" }, { "session_states.away", "away" },
	    { "session_states.dying", "dying" } } },
	{ MNODE "sessions_opened_total", PROM_COUNTER, "sessions",
	  "Sessions that have begun.", NULL, "", { { "counters.sessions" } } },
	{ MNODE "sessions_adopted", PROM_GAUGE, "sessions",
	  "Sessions that the agent before this one has left.", NULL, "",
	  { { "counters.adopted" } } },
	{ MNODE "sessions_resumed_total", PROM_COUNTER, "times",
	  "Times that a session was resumed.", NULL, "",
	  { { "counters.resumed" } } },
	{ MNODE "sessions_ended_total", PROM_COUNTER, "sessions",
	  "Sessions that have ended: the compute node has left, was silent for dead-ms "
	  "(dead: its pages are lost), or was evicted.", "reason", "",
	  { { "counters.left", "left" }, { "counters.dead", "dead" },
	    { "counters.evicted", "evicted" } } },
	{ MNODE "refused_total", PROM_COUNTER, "hellos",
	  "Hellos that the agent refused.", "reason", "",
	  { { "counters.rejects" } } },
	{ MNODE "broken_connections_total", PROM_COUNTER, "connections",
	  "I/O connections that broke by an error of their chain.", NULL, "",
	  { { "counters.broken_queues" } } },
	{ MNODE "chain_requests_total", PROM_COUNTER, "requests",
	  "Requests that chains have executed, also those of sessions that have ended; "
	  "loads and stores by keys are not among them.", "chain", "",
	  { { "chains" } } },

	{ NIC "info", PROM_GAUGE, "1", "Always 1; the label is the kind of NIC.",
	  "nic", "", { { "nic.name" } } },
	{ NIC "cpu_seconds_total", PROM_COUNTER, "seconds",
	  "Processor time of the software NIC, which stands for hardware; 0 for a card.",
	  NULL, "", { { "nic_cpu_s" } } },
	{ NIC "work_requests_total", PROM_COUNTER, "work requests",
	  "Work requests that the software NIC has executed; umr are those by which "
	  "chains change the keys of compute nodes.", "kind", "",
	  { { "nic.reads", "read" }, { "nic.writes", "write" }, { "nic.sends", "send" },
	    { "nic.atomics", "atomic" }, { "nic.waits", "wait" },
	    { "nic.enables", "enable" }, { "nic.umrs", "umr" },
	    { "nic.nops", "nop" } } },
	{ NIC "received_bytes_total", PROM_COUNTER, "bytes",
	  "Bytes in frames that the software NIC has received.", NULL, "",
	  { { "nic.rx_bytes" } } },
	{ NIC "sent_bytes_total", PROM_COUNTER, "bytes",
	  "Bytes in frames that the software NIC has sent.", NULL, "",
	  { { "nic.tx_bytes" } } },
	{ NIC "dropped_frames_total", PROM_COUNTER, "frames",
	  "Frames that the software NIC has dropped.", "reason", "",
	  { { "nic.rx_bad_icrc", "bad icrc" },
	    { "nic.rx_bad_checksum", "bad checksum" },
	    { "nic.rx_malformed", "malformed" }, { "nic.rx_spoofed", "spoofed" },
	    { "nic.rx_no_place", "no place" }, { "nic.rx_unproved", "unproved" },
	    { "nic.rx_no_qp", "no queue pair" },
	    { "nic.tx_dropped", "not sent" } } },
	{ NIC "retransmits_total", PROM_COUNTER, "packets",
	  "Packets that the software NIC has sent again.", NULL, "",
	  { { "nic.retransmits" } } },
	{ NIC "rnr_naks_total", PROM_COUNTER, "packets",
	  "Requests that found no receive entry, and were told to come again.",
	  NULL, "", { { "nic.rnr_naks" } } },
	{ NIC "queue_pair_errors_total", PROM_COUNTER, "queue pairs",
	  "Queue pairs of the software NIC that went to the error state.", NULL, "",
	  { { "nic.qp_errors" } } },
	{ NIC "commands_total", PROM_COUNTER, "commands",
	  "DevX commands to the mlx5 card.", NULL, "", { { "nic.commands" } } },
	{ NIC "commands_refused_total", PROM_COUNTER, "commands",
	  "DevX commands that the mlx5 card refused.", NULL, "",
	  { { "nic.refused" } } },

	{ SESSION "state", PROM_GAUGE, "1",
	  "Always 1; the label is the state of the session, see " MNODE "sessions.",
	  "state", "sessions", { { "state" } } },
	{ SESSION "slots", PROM_GAUGE, "slots",
	  "Slots of the compute node's swap device.", NULL, "sessions",
	  { { "slots" } } },
	{ SESSION "connections", PROM_GAUGE, "connections",
	  "I/O connections of the session at this time.", NULL, "sessions",
	  { { "connections" } } },
	{ SESSION "keyed", PROM_GAUGE, "0 or 1",
	  "1 if the compute node reads and writes its pages itself, by keys.",
	  NULL, "sessions", { { "keyed" } } },
	{ SESSION "lease_pages", PROM_GAUGE, "pages",
	  "The lease that the compute node was last granted.", NULL, "sessions",
	  { { "lease" } } },
	{ SESSION "lease_ceiling_pages", PROM_GAUGE, "pages",
	  "The largest lease that the compute node may still believe it has.",
	  NULL, "sessions", { { "lease_ceiling" } } },
	{ SESSION "used_pages", PROM_GAUGE, "pages",
	  "Pages that the compute node uses, as its last heartbeat says.",
	  NULL, "sessions", { { "used" } } },
	{ SESSION "kept_pages", PROM_GAUGE, "pages",
	  "Pages whose contents the compute node can still ask for.", NULL, "sessions",
	  { { "use.used" } } },
	{ SESSION "kept_page_time_total", PROM_COUNTER, "pages times seconds",
	  "Those pages by time.", NULL, "sessions", { { "use.used_page_s" } } },
	{ SESSION "held_page_time_total", PROM_COUNTER, "pages times seconds",
	  "Pages that belong to the session, by time.", NULL, "sessions",
	  { { "use.held_page_s" } } },
	{ SESSION "wanted_pages", PROM_GAUGE, "pages",
	  "Pages that the compute node wants, as its last heartbeat says.",
	  NULL, "sessions", { { "want" } } },
	{ SESSION "lent_pages", PROM_GAUGE, "pages",
	  "Pages that belong to the session, wherever they are.", NULL, "sessions",
	  { { "lent" } } },
	{ SESSION "ring_pages", PROM_GAUGE, "pages",
	  "Pages in the session's free ring.", NULL, "sessions", { { "ring" } } },
	{ SESSION "overdrawn", PROM_GAUGE, "0 or 1",
	  "1 if the compute node uses more than it has ever been granted.",
	  NULL, "sessions", { { "overdrawn" } } },
	{ SESSION "unstopped_chains", PROM_GAUGE, "chains",
	  "Chains that are closed and that the NIC neither stops nor destroys.",
	  NULL, "sessions", { { "unstopped" } } },
	{ SESSION "silent_seconds", PROM_GAUGE, "seconds",
	  "Time since the heartbeat of the compute node last changed.",
	  NULL, "sessions", { { "silent_ms" } }, 1000 },
	{ SESSION "heartbeats_total", PROM_COUNTER, "heartbeats",
	  "Heartbeats of the compute node that the agent has seen.", NULL, "sessions",
	  { { "beats" } } },
	{ SESSION "grants_total", PROM_COUNTER, "grants",
	  "Leases that the agent has written to the compute node.", NULL, "sessions",
	  { { "grants" } } },
	{ SESSION "chain_requests_total", PROM_COUNTER, "requests",
	  "Requests that the chains of the session have executed.", "chain",
	  "sessions", { { "chains" } } },

	{ SPACE "bytes", PROM_GAUGE, "bytes",
	  "Memory of the space at this memory node.", NULL, "spaces", { { "size" } } },
	{ SPACE "used_bytes", PROM_GAUGE, "bytes",
	  "Memory of the chunks that clients have claimed.", NULL, "spaces",
	  { { "used" } } },
	{ SPACE "chunks", PROM_GAUGE, "chunks",
	  "Chunks that clients have claimed.", NULL, "spaces", { { "chunks" } } },
	{ SPACE "max_chunks", PROM_GAUGE, "chunks",
	  "Chunks that the space has.", NULL, "spaces", { { "max_chunks" } } },
	{ SPACE "clients", PROM_GAUGE, "clients",
	  "Clients that live, at the arbiter of the space.", NULL, "spaces",
	  { { "clients" } } },
	{ SPACE "max_clients", PROM_GAUGE, "clients",
	  "Clients that there may be at a time.", NULL, "spaces", { { "max_clients" } } },
	{ SPACE "attachments", PROM_GAUGE, "attachments",
	  "Attachments of clients to this memory node.", NULL, "spaces",
	  { { "attached" } } },
	{ SPACE "structures", PROM_GAUGE, "names",
	  "Names in the directory, at the arbiter of the space.", NULL, "spaces",
	  { { "structures" } } },
	{ SPACE "fenced_total", PROM_COUNTER, "clients",
	  "Clients that were taken for dead since the agent began.", NULL, "spaces",
	  { { "fenced" } } },
	{ SPACE "epoch_age_seconds", PROM_GAUGE, "seconds",
	  "Time since the epoch has advanced, 0 without clients; meanwhile no freed "
	  "memory is used again.", NULL, "spaces", { { "epoch_age_ms" } }, 1000 },
	{ NULL }
};

static unsigned int state_of(const char *state, bool attached)
{
	if (!strcmp(state, "opening"))
		return 3;
	return strcmp(state, "live") ? 2 : !attached;
}

/* Adds the number of sessions in each state.  A live session without its connection is
 * "away". */
static void count_states(struct json_object *obj)
{
	static const char *const names[] = { "live", "away", "dying", "opening" };
	struct json_object *states = json_object_new_object();
	struct json_object *list, *s, *state, *attached;
	unsigned int nr[4] = { 0 }, n;
	size_t i;

	if (!json_object_object_get_ex(obj, "sessions", &list))
		list = NULL;
	for (i = 0; list && i < json_object_array_length(list); i++) {
		s = json_object_array_get_idx(list, i);
		if (!json_object_object_get_ex(s, "state", &state) ||
		    !json_object_object_get_ex(s, "attached", &attached))
			continue;
		n = state_of(json_object_get_string(state),
			     json_object_get_boolean(attached));
		nr[n]++;
		json_object_object_add(s, "state",
				       json_object_new_string(names[n]));
	}
	for (i = 0; i < 4; i++)
		json_object_object_add(states, names[i],
				       json_object_new_int(nr[i]));
	json_object_object_add(obj, "session_states", states);
}

int metrics_make(struct manager *m, uint64_t wall_ns, char **ret_text,
		 size_t *ret_len)
{
	struct json_object *obj = status_make(m, wall_ns);
	char *text = NULL;
	size_t len = 0;
	int failed;
	FILE *f;

	f = obj ? open_memstream(&text, &len) : NULL;
	if (!f) {
		json_object_put(obj);
		return -ENOMEM;
	}
	json_object_object_add(obj, "version", json_object_new_string(VERSION));
	count_states(obj);
	prom_write(f, metrics_table, metrics_rows, obj);
	json_object_put(obj);
	failed = ferror(f);
	if (fclose(f) || failed) {
		free(text);
		return -ENOMEM;
	}
	*ret_text = text;
	*ret_len = len;
	return 0;
}
