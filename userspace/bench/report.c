// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The results of a benchmark as JSON and as a table: see report.h.
 */
#include "report.h"

#include <errno.h>
#include <inttypes.h>

#include "json.h"

/* Numbers that both forms print. */
struct derived {
	double seconds, mops;
	double verbs, round_trips, wire_bytes, payload_bytes, written_bytes, doorbells;
	double attempts_per_op, attempts_per_batch, first_try, combined, cache_hit;
	double cache_direct;
};

static double ratio(double a, double b)
{
	return b ? a / b : 0;
}

static void derive(const struct report *report, struct derived *d)
{
	const struct window *last = &report->run->last;
	const struct far_stats *s = &last->stats;
	struct window_brief brief = window_brief(last);
	double ops = (double)last->ops;

	d->seconds = (double)last->ns / 1e9;
	d->mops = brief.mops;
	d->verbs = ratio((double)(s->reads + s->writes + s->cas + s->faa), ops);
	d->round_trips = ratio((double)s->round_trips, ops);
	d->wire_bytes = ratio((double)s->wire_bytes, ops);
	d->payload_bytes = ratio((double)s->payload_bytes, ops);
	d->written_bytes = ratio((double)last->written, ops);
	d->doorbells = ratio((double)s->doorbells, ops);
	d->attempts_per_op = brief.attempts;
	d->attempts_per_batch = ratio((double)s->cas, (double)s->batches);
	d->first_try = ratio((double)s->retry_hist[0], (double)s->ops);
	d->combined = ratio((double)s->combined, ops);
	d->cache_hit = ratio((double)s->cache_hits,
			     (double)(s->cache_hits + s->cache_misses));
	d->cache_direct = ratio((double)(s->cache_hits - last->partial),
				(double)(s->cache_hits + s->cache_misses));
}

static void put_string(struct json_object *o, const char *name, const char *value)
{
	json_object_object_add(o, name, json_object_new_string(value ? value : ""));
}

static void put_count(struct json_object *o, const char *name, uint64_t value)
{
	json_object_object_add(o, name, json_object_new_uint64(value));
}

static void put_number(struct json_object *o, const char *name, double value)
{
	json_object_object_add(o, name, bench_json_number(value));
}

static void put_us(struct json_object *o, const char *name, uint64_t ns)
{
	put_number(o, name, (double)ns / 1000);
}

static void put_load(struct json_object *o, const struct run_conf *conf)
{
	put_string(o, "index", conf->index->name);
	put_string(o, "workload", conf->mix->name);
	put_count(o, "keys", conf->keys);
	put_number(o, "theta", conf->theta);
	put_string(o, "key_type", ycsb_key_type_name(conf->data.key_type));
	put_count(o, "key_size", conf->data.key_size);
	put_count(o, "value_size", conf->data.value_size);
	put_number(o, "rate", conf->rate);
	put_number(o, "warm_ms", (double)conf->warm_ns / 1e6);
	put_count(o, "seed", conf->seed);
}

static void put_place(struct json_object *o, const struct report *report)
{
	const struct run_conf *conf = report->conf;

	put_string(o, "nic", report->nic);
	put_string(o, "variant", report->variant);
	put_string(o, "without", report->without);
	put_string(o, "tier", report->is_model ? "model" : "measured");
	put_count(o, "cns", report->cns);
	put_count(o, "mns", report->mns);
	put_count(o, "threads", conf->threads_max);
	put_count(o, "threads_min", conf->threads_min);
	put_number(o, "change_ms", (double)conf->change_ns / 1e6);
	put_count(o, "tasks", conf->tasks);
	if (report->cache_bytes)
		put_count(o, "cache_bytes", report->cache_bytes);
}

static void put_latency(struct json_object *o, const struct far_hist *h)
{
	put_us(o, "mean_us", h->count ? h->sum / h->count : 0);
	put_us(o, "p50_us", far_hist_permille(h, 500));
	put_us(o, "p99_us", far_hist_permille(h, 990));
	put_us(o, "p999_us", far_hist_permille(h, 999));
	put_us(o, "max_us", h->count ? h->max : 0);
}

static void put_retries(struct json_object *o, const struct far_stats *s)
{
	struct json_object *list = json_object_new_array();
	unsigned i;

	for (i = 0; i < FAR_STATS_RETRIES; i++)
		json_object_array_add(list, json_object_new_uint64(s->retry_hist[i]));
	json_object_object_add(o, "retry_histogram", list);
}

static void put_memory(struct json_object *o, const struct index_memory *memory)
{
	put_count(o, "keys_there", memory->keys);
	put_count(o, "leaf_bytes", memory->leaf_bytes);
	put_count(o, "leaf_room", memory->leaf_room);
	put_count(o, "node_bytes", memory->node_bytes);
	put_count(o, "node_room", memory->node_room);
	put_count(o, "cache_classic", memory->cache_classic);
	put_count(o, "cache_keyed", memory->cache_keyed);
	put_count(o, "cache_all", memory->cache_all);
}

/* Whether the last window is the steady state, and what it was compared with. */
static void put_windows(struct json_object *o, const struct run_result *run)
{
	json_object_object_add(o, "steady", json_object_new_boolean(run->steady));
	put_count(o, "windows", run->nr_windows);
	if (run->nr_windows < 2)
		return;
	put_number(o, "before_mops", run->before.mops);
	put_number(o, "before_attempts_per_op", run->before.attempts);
	put_number(o, "before_p50_us", run->before.p50_us);
}

static struct json_object *report_object(const struct report *report)
{
	struct json_object *o = json_object_new_object();
	const struct run_result *run = report->run;
	struct derived d;

	if (!o)
		return NULL;
	derive(report, &d);
	put_load(o, report->conf);
	put_place(o, report);
	put_windows(o, run);
	put_count(o, "ops", run->last.ops);
	put_number(o, "seconds", d.seconds);
	put_number(o, "mops", d.mops);
	if (report->plain_mops > 0) {
		put_number(o, "plain_mops", report->plain_mops);
		put_number(o, "of_plain", report->of_plain);
	}
	if (report->memory)
		put_memory(o, report->memory);
	put_latency(o, &run->last.latency);
	put_us(o, "longest_wait_us", run->last.longest_wait_ns);
	put_number(o, "fairness", run->fairness);
	put_number(o, "little", run->little);
	put_number(o, "verbs_per_op", d.verbs);
	put_number(o, "doorbells_per_op", d.doorbells);
	put_number(o, "round_trips_per_op", d.round_trips);
	put_number(o, "wire_bytes_per_op", d.wire_bytes);
	put_number(o, "payload_bytes_per_op", d.payload_bytes);
	put_number(o, "written_bytes_per_op", d.written_bytes);
	put_number(o, "attempts_per_op", d.attempts_per_op);
	put_number(o, "attempts_per_batch", d.attempts_per_batch);
	put_number(o, "first_try", d.first_try);
	put_retries(o, &run->last.stats);
	put_number(o, "combined_per_op", d.combined);
	put_number(o, "cache_hit", d.cache_hit);
	put_number(o, "cache_direct", d.cache_direct);
	put_count(o, "service_verbs", run->last.stats.service);
	put_count(o, "reconnects", run->last.stats.reconnects);
	put_count(o, "errors", run->errors);
	return o;
}

int report_json(const struct report *report, const char *path)
{
	struct json_object *o = report_object(report);
	int err = o ? bench_json_write(o, path) : -ENOMEM;

	json_object_put(o);
	return err;
}

static void table_memory(const struct index_memory *memory, FILE *out)
{
	fprintf(out, "  memory          %10.1f bytes per key; leaves in %.3f times their bytes,"
		" inner nodes in %.3f\n",
		ratio((double)(memory->leaf_room + memory->node_room), (double)memory->keys),
		ratio((double)memory->leaf_room, (double)memory->leaf_bytes),
		ratio((double)memory->node_room, (double)memory->node_bytes));
	if (memory->cache_all)
		fprintf(out, "  cache of all    %10.1f bytes per key; with keys %.1f, with ART's "
			"four types too %.1f\n",
			ratio((double)memory->cache_all, (double)memory->keys),
			ratio((double)memory->cache_keyed, (double)memory->keys),
			ratio((double)memory->cache_classic, (double)memory->keys));
}

static void table_windows(const struct report *report, FILE *out)
{
	const struct run_result *run = report->run;

	if (run->nr_windows < 2) {
		fprintf(out, "  one window               which may be steady or not\n");
		return;
	}
	fprintf(out, "  the window before %8.3f Mop/s, %.3f attempts, %.1f us p50: %s\n",
		run->before.mops, run->before.attempts, run->before.p50_us,
		run->steady ? "steady" : "UNSTEADY, these figures are not to be used");
}

void report_table(const struct report *report, FILE *out)
{
	const struct run_result *run = report->run;
	const struct run_conf *conf = report->conf;
	const struct window *last = &run->last;
	const struct far_hist *h = &last->latency;
	struct derived d;

	derive(report, &d);
	fprintf(out, "%s, %s, %s: %s\n", conf->index->name, conf->mix->name, report->nic,
		report->is_model ? "model (virtual time)" : "measured");
	fprintf(out, "  compute nodes: %u, threads: %u, tasks: %u, memory nodes: %u; %" PRIu64
		" keys, theta %g\n", report->cns, conf->threads_max, conf->tasks,
		report->mns, conf->keys, conf->theta);
	if (!last->ops)
		fprintf(out, "  nothing was completed in that time: give it more, by --ms\n");
	if (d.mops < 0.01)
		fprintf(out, "  throughput      %10.0f op/s    ", d.mops * 1e6);
	else
		fprintf(out, "  throughput      %10.3f Mop/s   ", d.mops);
	fprintf(out, "(%" PRIu64 " in %g s)\n", last->ops, d.seconds);
	if (report->plain_mops > 0)
		fprintf(out, "  plain loop      %10.3f Mop/s of the same verbs alone; the"
			" index has %.2f of that\n", report->plain_mops,
			report->of_plain);
	table_windows(report, out);
	fprintf(out, "  latency         %10.1f us p50, %.1f p99, %.1f p99.9, %.1f max\n",
		(double)far_hist_permille(h, 500) / 1000,
		(double)far_hist_permille(h, 990) / 1000,
		(double)far_hist_permille(h, 999) / 1000,
		h->count ? (double)h->max / 1000 : 0);
	fprintf(out, "  longest wait    %10.1f us, of an operation under way at the end\n",
		(double)last->longest_wait_ns / 1000);
	fprintf(out, "  per operation   %10.2f verbs, %.2f round trips, %.0f bytes on the"
		" wire, %.2f doorbells\n", d.verbs, d.round_trips, d.wire_bytes,
		d.doorbells);
	fprintf(out, "  attempts        %10.3f per operation", d.attempts_per_op);
	if (last->stats.batches && last->stats.cas)
		fprintf(out, ", %.3f per batch", d.attempts_per_batch);
	fprintf(out, ", %.1f %% at the first\n", 100 * d.first_try);
	fprintf(out, "  combined        %10.3f per operation; cache hits %.1f %%,"
		" %.1f %% with no other node\n",
		d.combined, 100 * d.cache_hit, 100 * d.cache_direct);
	if (report->memory)
		table_memory(report->memory, out);
	fprintf(out, "  fairness        %10.3f least of mean; errors %" PRIu64 "\n",
		run->fairness, run->errors);
}
