// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The metrics of the agent, with a compute node, and those of a compute node, with
 * devices that only this test has: the text is of the format, each metric of the
 * tables has numbers, docs/metrics.md lists the tables, and the dashboard asks for
 * nothing else.
 *
 * Usage: test-mnode-metrics [--table]	prints the tables of docs/metrics.md
 *        test-mnode-metrics [--text]	prints the text itself
 */
#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <ctl/swap-dev.h>
#include <ctl/swap-metrics.h>
#include <report/metrics.h>
#include "bed/agent.h"
#include "promtext.h"

static struct bed bed;
static char *agent_text, *swap_text;

static char *path_in_tree(const char *name)
{
	const char *top = getenv("ODRP_TOP");
	char *path;

	assert_true(asprintf(&path, "%s/%s", top ? top : ".", name) > 0);
	return path;
}

static char *read_tree(const char *name)
{
	char *path = path_in_tree(name), *text = NULL;
	FILE *f = fopen(path, "r");
	size_t max = 0;

	if (!f)
		fail_msg("%s: %s", path, strerror(errno));
	assert_true(getdelim(&text, &max, 0, f) > 0);
	fclose(f);
	free(path);
	return text;
}

/* ---- devices, of attributes as their documentation names them ------------------- */

#define NR_DEVICES 2

static char *abi;
static bool some_devices;

bool swap_dev_loaded(void)
{
	return some_devices;
}

bool swap_dev_exists(unsigned int id)
{
	return some_devices && id < NR_DEVICES;
}

/* A text for what is a text, and for each number another. */
int swap_dev_read(unsigned int id, const char *name, char *buf, size_t len)
{
	static const char *const texts[][2] = {
		{ "state", "lost" }, { "server", "10.0.0.1:7489" },
		{ "translate", "nic" }, { "drain", "0" }, { "forced", "0" },
		{ "swapoff_corrupts", "1" }, { "loads", "18446744073709551615" },
		{ "load_p50_ns", "12345" }, { "load_max_ns", "3000000001" },
	};
	char *what;
	size_t i;
	int there;

	assert_true(asprintf(&what, "/sys/block/odrp<N>/odrp/%s\n", name) > 0);
	there = !!strstr(abi, what);
	free(what);
	if (!swap_dev_exists(id) || !there)
		return -ENOENT;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (strcmp(texts[i][0], name))
			continue;
		snprintf(buf, len, "%s", texts[i][1]);
		return 0;
	}
	snprintf(buf, len, "%zu", 100 * id + strlen(name));
	return 0;
}

static char *make_swap_text(void)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	some_devices = true;
	assert_int_equal(swap_metrics_write(f), 0);
	some_devices = false;
	fclose(f);
	return text;
}

static int setup(void **state)
{
	static uint8_t page[ODRP_WIRE_PAGE_SIZE];
	struct bed_options o;
	char why[CONF_WHY_MAX];
	size_t len;

	abi = read_tree("docs/ABI/sysfs-block-odrp");
	bed_options(&o);
	assert_int_equal(conf_space_set(&o.conf, "cache", "size", "4M", why), 0);
	o.conf.pool += 4 << 20;
	bed_open(&bed, &o, 2);
	bed_connect(&bed, 0, 64, 1, 7);
	bed_connect(&bed, 1, 64, 1, 7);
	assert_int_equal(cnode_do(bed.nodes[0].cnode, 0,
				  ODRP_WIRE_UNMAPPED_STORE, 3, page), 0);
	manager_lost(&bed.m, bed.m.sess[1]);
	assert_int_equal(metrics_make(&bed.m, 2500000000, &agent_text, &len), 0);
	assert_int_equal(len, strlen(agent_text));
	swap_text = make_swap_text();
	return 0;
}

static int teardown(void **state)
{
	free(swap_text);
	free(agent_text);
	free(abi);
	bed_close(&bed);
	return 0;
}

/* ---- the tables ------------------------------------------------------------------ */

static bool ends(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

static void check_metric(const struct prom_metric *m)
{
	const char *base = m->type == PROM_COUNTER ? "_total" : "";
	char end[64];
	size_t i;

	if (strncmp(m->name, "odrp_", 5) ||
	    strspn(m->name, "abcdefghijklmnopqrstuvwxyz_") != strlen(m->name))
		fail_msg("%s: expected odrp_... of small letters", m->name);
	if (ends(m->name, "_total") != (m->type == PROM_COUNTER))
		fail_msg("%s: counters end in _total, and nothing else", m->name);
	for (i = 0; i < 2; i++) {
		const char *unit = i ? "bytes" : "seconds";

		snprintf(end, sizeof(end), "_%s%s", unit, base);
		if (ends(m->name, end) != !strcmp(m->unit, unit))
			fail_msg("%s: unit %s", m->name, m->unit);
	}
	if (!ends(m->help, ".") || !isupper(*m->help) == !isdigit(*m->help) ||
	    strstr(m->help, ". "))
		fail_msg("%s: expected one sentence: %s", m->name, m->help);
	assert_non_null(m->from[0].path);
	if (!m->label && m->from[1].path)
		fail_msg("%s: has several sources, and no label", m->name);
}

static void check_table(const struct prom_metric *table)
{
	const struct prom_metric *m, *other;

	for (m = table; m->name; m++) {
		check_metric(m);
		for (other = table; other != m; other++)
			assert_string_not_equal(m->name, other->name);
	}
}

static void test_tables(void **state)
{
	check_table(metrics_table);
	check_table(swap_metrics_table);
}

static char *row_of(const struct prom_metric *m)
{
	const struct prom_source *from;
	char *row = NULL;
	size_t len;
	FILE *f = open_memstream(&row, &len);

	assert_non_null(f);
	fprintf(f, "| `%s` | %s | %s | ", m->name,
		m->type == PROM_COUNTER ? "counter" : "gauge", m->unit);
	if (m->label)
		fprintf(f, "`%s` ", m->label);
	fprintf(f, "| ");
	for (from = m->from; from->path; from++)
		fprintf(f, "%s`%s`", from == m->from ? "" : ", ", from->path);
	fprintf(f, " | %s |\n", m->help);
	fclose(f);
	return row;
}

static unsigned int count_rows(const char *text, const char *prefix)
{
	unsigned int nr = 0;

	while ((text = strstr(text, prefix))) {
		text += strlen(prefix);
		nr++;
	}
	return nr;
}

static unsigned int find_rows(const char *doc, const struct prom_metric *table)
{
	unsigned int nr = 0;

	for (; table->name; table++, nr++) {
		char *row = row_of(table);

		if (!strstr(doc, row))
			fail_msg("docs/metrics.md does not have:\n%s"
				 "(this program with --table prints all)", row);
		free(row);
	}
	return nr;
}

static void test_document(void **state)
{
	char *doc = read_tree("docs/metrics.md");
	unsigned int nr = find_rows(doc, metrics_table) +
			  find_rows(doc, swap_metrics_table);

	assert_int_equal(count_rows(doc, "\n| `odrp_"), nr);
	free(doc);
}

/* ---- the texts ------------------------------------------------------------------- */

static void test_format(void **state)
{
	promtext_check(agent_text);
	promtext_check(swap_text);
}

/* What only an mlx5 card counts. */
static bool of_card(const struct prom_source *from)
{
	return !strcmp(from->path, "nic.commands") ||
	       !strcmp(from->path, "nic.refused");
}

/* A source that leads nowhere has no number. */
static void check_all_there(const char *text, const struct prom_metric *table)
{
	const struct prom_metric *m;
	const struct prom_source *from;

	for (m = table; m->name; m++)
		for (from = m->from; from->path; from++)
			if (!of_card(from) &&
			    !promtext_has(text, m->name, m->label, from->value))
				fail_msg("%s: no number from %s", m->name,
					 from->path);
}

static void test_all_there(void **state)
{
	check_all_there(agent_text, metrics_table);
	check_all_there(swap_text, swap_metrics_table);
	/* Labels that are texts or names of the agent. */
	assert_true(promtext_has(agent_text, "odrp_mnode_chain_requests_total",
				 "chain", "load"));
	assert_true(promtext_has(agent_text, "odrp_mnode_refused_total", "reason",
				 "malformed hello"));
	assert_true(promtext_has(agent_text, "odrp_mnode_info", "version", VERSION));
	assert_true(promtext_has(agent_text, "odrp_mnode_nic_info", "nic", NULL));
}

static double agent(const char *name, const char *label, const char *value)
{
	return promtext_number(agent_text, name, label, value);
}

static void test_agent(void **state)
{
	assert_true(agent("odrp_mnode_uptime_seconds", NULL, NULL) == 2.5);
	assert_true(agent("odrp_mnode_pool_pages", NULL, NULL) == bed.m.pool.pages);
	assert_true(agent("odrp_mnode_pages", "state", "mapped") == 1);
	assert_true(agent("odrp_mnode_pages", "state", "mapped") +
		    agent("odrp_mnode_pages", "state", "free") +
		    agent("odrp_mnode_pages", "state", "register") +
		    agent("odrp_mnode_pages", "state", "space") ==
		    bed.m.pool.pages);
	assert_true(agent("odrp_mnode_sessions", "state", "live") == 1);
	assert_true(agent("odrp_mnode_sessions", "state", "away") == 1);
	assert_true(agent("odrp_mnode_sessions", "state", "dying") == 0);
	assert_true(agent("odrp_mnode_session_state", "session", "1") == 1);
	assert_true(agent("odrp_mnode_session_state", "state", "away") == 1);
	assert_true(agent("odrp_mnode_session_lease_pages", "session", "1") ==
		    bed.m.sess[0]->lease.granted);
	assert_true(agent("odrp_mnode_session_silent_seconds", "session", "2") ==
		    bed.m.sess[1]->silent_ms / 1000.0);
	assert_true(agent("odrp_mnode_chain_requests_total", "chain",
			  "unmapped_store") == 1);
}

static void test_agent_spaces(void **state)
{
	struct space *space = bed.m.spaces.list;

	assert_true(agent("odrp_mnode_space_bytes", "space", "cache") == 4 << 20);
	assert_true(agent("odrp_mnode_space_max_chunks", "space", "cache") ==
		    space->sb.nr_chunks);
	assert_true(agent("odrp_mnode_space_max_clients", "space", "cache") == 256);
	assert_true(agent("odrp_mnode_space_clients", "space", "cache") == 0);
	/* No client has ever been there. */
	assert_int_equal(spaces_epoch_age(space), 0);
}

static double swap(const char *name, const char *label, const char *value)
{
	return promtext_number(swap_text, name, label, value);
}

static void test_swap(void **state)
{
	assert_true(promtext_has(swap_text, "odrp_swap_state", "state", "lost"));
	assert_true(swap("odrp_swap_lease_pages", "device", "odrp0") == 5);
	assert_true(swap("odrp_swap_lease_pages", "device", "odrp1") == 105);
	/* A number keeps all its digits, and a time is in seconds. */
	assert_non_null(strstr(swap_text, "\nodrp_swap_loads_total{device=\"odrp0\"} "
			       "18446744073709551615\n"));
	assert_non_null(strstr(swap_text, "odrp_swap_load_duration_seconds{"
			       "device=\"odrp1\",percentile=\"50\"} 0.000012345\n"));
	assert_non_null(strstr(swap_text, "odrp_swap_load_duration_seconds{"
			       "device=\"odrp1\",percentile=\"100\"} 3.000000001\n"));
}

/* What a label may hold, it holds as it is. */
static void test_escapes(void **state)
{
	static const char odd[] = "a\\n\"b\"\nc\\";
	static const struct prom_metric table[] = {
		{ "odrp_odd", PROM_GAUGE, "1", "A \\ in a\nsentence.", "odd", "",
		  { { "text" } } },
		{ "odrp_none", PROM_GAUGE, "1", "Nothing.", NULL, "",
		  { { "text.more" }, { "numbers" } } },
		{ NULL }
	};
	struct json_object *obj = json_object_new_object();
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	json_object_object_add(obj, "text", json_object_new_string(odd));
	prom_write(f, table, metrics_rows, obj);
	fclose(f);
	promtext_check(text);
	assert_true(promtext_has(text, "odrp_odd", "odd", odd));
	/* What is not there has no head. */
	assert_null(strstr(text, "odrp_none"));
	json_object_put(obj);
	free(text);
}

/* ---- the file -------------------------------------------------------------------- */

static void test_save(void **state)
{
	char dir[] = "metrics-XXXXXX", path[64], command[128], *text = NULL;
	struct stat st;
	size_t max = 0;
	mode_t mask;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/odrp.prom", dir);
	some_devices = true;
	mask = umask(077);
	assert_int_equal(swap_metrics_save(path), 0);
	assert_int_equal(swap_metrics_save(path), 0);
	umask(mask);
	some_devices = false;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_true(getdelim(&text, &max, 0, f) > 0);
	fclose(f);
	assert_string_equal(text, swap_text);
	free(text);
	/* What cannot be replaced stays, and nothing else is left. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(swap_metrics_save(path), -EISDIR);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(swap_metrics_save("/dev/null/none"), -ENOTDIR);
	snprintf(command, sizeof(command), "rmdir %s", dir);
	assert_int_equal(system(command), 0);
}

/* Without the module: a text that says so, and no error, whoever reads it. */
static void test_no_module(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(swap_metrics_write(f), 0);
	fclose(f);
	promtext_check(text);
	assert_true(promtext_number(text, "odrp_swap_module_loaded", NULL, NULL) == 0);
	assert_int_equal(count_rows(text, "\nodrp_swap_"), 1);
	free(text);
	assert_true(swap("odrp_swap_module_loaded", NULL, NULL) == 1);
}

/* A disk that is full. */
static void test_full(void **state)
{
	FILE *f = fopen("/dev/full", "w");

	if (!f)
		skip();
	some_devices = true;
	assert_int_equal(swap_metrics_write(f), -ENOSPC);
	some_devices = false;
	fclose(f);
}

/* ---- the dashboard --------------------------------------------------------------- */

#define LETTERS "abcdefghijklmnopqrstuvwxyz_"

static bool has(const char *name, const char *label, const char *value)
{
	/* Prometheus adds which agent was asked. */
	if (label && (!strcmp(label, "instance") || !strcmp(label, "job")))
		return true;
	return promtext_has(agent_text, name, label, value) ||
	       promtext_has(swap_text, name, label, value);
}

/* No session of this bed is dead. */
static bool may_be_missing(const char *label, const char *value)
{
	return !strcmp(label, "state") && !strcmp(value, "dead");
}

/* Behind the brace: each label, and its value if it is one. */
static void check_matchers(const char *name, const char *at)
{
	char label[64], value[64], op[3];

	while (*at != '}') {
		int len = 0;

		if (sscanf(at, "%63[" LETTERS "]%2[=~!]\"%63[^\"]\"%n", label, op,
			   value, &len) != 3 || !len)
			fail_msg("%s: cannot read {%s", name, at);
		if (!has(name, label, NULL))
			fail_msg("%s has no label %s", name, label);
		if (!strcmp(op, "=") && *value != '$' &&
		    !may_be_missing(label, value) && !has(name, label, value))
			fail_msg("%s has no %s=\"%s\"", name, label, value);
		at += len;
		at += *at == ',';
	}
}

/* The names of a list, up to what ends it. */
static void check_labels(const char *name, const char *at, const char *end)
{
	char label[64];

	while (*at != *end) {
		size_t len = strspn(at, LETTERS);

		assert_true(len && len < sizeof(label));
		memcpy(label, at, len);
		label[len] = 0;
		if (!has(name, label, NULL))
			fail_msg("%s has no label %s", name, label);
		at += len;
		at += strspn(at, ", ");
	}
}

static unsigned int check_query(const char *query, const char *legend)
{
	const char *at = strstr(query, "odrp_"), *by = strstr(query, "by (");
	unsigned int nr = 0;
	char name[128];
	size_t len;

	for (; at; at = strstr(at + len, "odrp_"), nr++) {
		len = strspn(at, LETTERS);
		assert_true(len < sizeof(name));
		memcpy(name, at, len);
		name[len] = 0;
		if (!has(name, NULL, NULL))
			fail_msg("there is no %s, which the dashboard asks for", name);
		if (at[len] == '{')
			check_matchers(name, at + len + 1);
		if (by)
			check_labels(name, by + 4, ")");
		for (legend = legend ? strstr(legend, "{{") : NULL; legend;
		     legend = strstr(legend + 2, "{{"))
			check_labels(name, legend + 2, "}");
	}
	return nr;
}

static unsigned int check_queries(struct json_object *obj)
{
	struct json_object *value, *legend = NULL;
	static const char *const keys[] = { "expr", "query" };
	unsigned int nr = 0;
	size_t i;

	if (json_object_is_type(obj, json_type_array)) {
		for (i = 0; i < json_object_array_length(obj); i++)
			nr += check_queries(json_object_array_get_idx(obj, i));
		return nr;
	}
	if (!json_object_is_type(obj, json_type_object))
		return 0;
	json_object_object_get_ex(obj, "legendFormat", &legend);
	for (i = 0; i < 2; i++)
		if (json_object_object_get_ex(obj, keys[i], &value))
			nr += check_query(json_object_get_string(value),
					  json_object_get_string(legend));
	{
		json_object_object_foreach(obj, key, member) {
			(void)key;
			nr += check_queries(member);
		}
	}
	return nr;
}

static void test_dashboard(void **state)
{
	char *text = read_tree("docs/examples/odrp-dashboard.json");
	struct json_object *obj = json_tokener_parse(text);

	assert_non_null(obj);
	assert_true(check_queries(obj) > 20);
	json_object_put(obj);
	free(text);
}

static void print_table(const struct prom_metric *table)
{
	for (; table->name; table++) {
		char *row = row_of(table);

		fputs(row, stdout);
		free(row);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_document),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_all_there),
		cmocka_unit_test(test_agent),
		cmocka_unit_test(test_agent_spaces),
		cmocka_unit_test(test_swap),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_save),
		cmocka_unit_test(test_no_module),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_dashboard),
	};

	if (argc > 1 && !strcmp(argv[1], "--table")) {
		print_table(metrics_table);
		puts("");
		print_table(swap_metrics_table);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "--text")) {
		setup(NULL);
		printf("%s%s", agent_text, swap_text);
		return 0;
	}
	return cmocka_run_group_tests(tests, setup, teardown);
}
