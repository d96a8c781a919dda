// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrpctl mnode against what status_command() says: each key that it prints is
 * there.  And an agent that hangs up, and sessions that are none.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <ctl/agent.h>
#include <ctl/mnode-top.h>
#include <ctl/odrpctl.h>
#include <report/status.h>
#include "bed/agent.h"

static struct bed bed;

/* What the next answer is; NULL: the agent hangs up, before it is asked. */
static const char *answer;
/* And the one after it, if it is another. */
static const char *next_answer;
static int listener, conn = -1;
static char path[] = "ctl-mnode-XXXXXX";

/* What was said on standard output and standard error. */
static char said[16384];

/* ---- in the middle ------------------------------------------------------------- */

int __real_connect(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t len);

/* The agent is at work between connect() and what follows it. */
int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	int r = __real_connect(fd, addr, len);

	assert_int_equal(r, 0);
	if (conn >= 0)
		close(conn);
	conn = accept(listener, NULL, NULL);
	assert_true(conn >= 0);
	if (answer) {
		assert_int_equal(write(conn, answer, strlen(answer)),
				 strlen(answer));
		shutdown(conn, SHUT_WR);
	} else {
		close(conn);
		conn = -1;
	}
	if (next_answer)
		answer = next_answer;
	return r;
}

/* Keys that were asked for and not there. */
static char missing[256];

json_bool __real_json_object_object_get_ex(const struct json_object *obj,
					   const char *key,
					   struct json_object **value);
json_bool __wrap_json_object_object_get_ex(const struct json_object *obj,
					   const char *key,
					   struct json_object **value);

json_bool __wrap_json_object_object_get_ex(const struct json_object *obj,
					   const char *key,
					   struct json_object **value)
{
	json_bool there = __real_json_object_object_get_ex(obj, key, value);
	size_t len = strlen(missing);

	if (!there && strcmp(key, "error"))
		snprintf(missing + len, sizeof(missing) - len, " %s", key);
	return there;
}

/* ---- running it ----------------------------------------------------------------- */

static void listen_here(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	assert_int_equal(close(mkstemp(path)), 0);
	unlink(path);
	memcpy(addr.sun_path, path, sizeof(path));
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	assert_int_equal(listen(listener, 1), 0);
}

static int mnode_with(char *const words[], const char *text)
{
	static char mnode[] = "mnode", control[] = "--control";
	char *argv[16] = { mnode, control, path };
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), argc = 3, r;
	FILE *f = tmpfile();

	assert_non_null(f);
	while (*words)
		argv[argc++] = *words++;
	answer = text;
	missing[0] = 0;
	fflush(stdout);
	dup2(fileno(f), STDOUT_FILENO);
	dup2(fileno(f), STDERR_FILENO);
	r = mnode_main(argc, argv);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	rewind(f);
	said[fread(said, 1, sizeof(said) - 1, f)] = 0;
	fclose(f);
	if (conn >= 0)
		close(conn);
	conn = -1;
	return r;
}

/* id: of evict, else NULL. */
static int mnode(const char *command, const char *id, const char *text)
{
	char words[3][64] = { "--" };
	char *const argv[] = { words[0], words[1], id ? words[2] : NULL, NULL };

	snprintf(words[1], sizeof(words[1]), "%s", command);
	snprintf(words[2], sizeof(words[2]), "%s", id ? id : "");
	next_answer = NULL;
	return mnode_with(argv, text);
}

/* Two looks, of which the second is at another answer. */
static int top(bool json, const char *first, const char *second)
{
	char words[4][16] = { "top", "--interval=0.1", "--count=1", "--json" };
	char *const argv[] = { words[0], words[1], words[2],
			       json ? words[3] : NULL, NULL };
	int r;

	next_answer = second;
	r = mnode_with(argv, first);
	next_answer = NULL;
	return r;
}

/* The agent's object, of a compute node with pages. An answer that takes turns is asked for
 * until it is there. */
static struct json_object *object_of(const char *command)
{
	struct json_object *req = json_object_new_object(), *obj;

	json_object_object_add(req, "command", json_object_new_string(command));
	while (!(obj = status_command(&bed.m, req, 1000000000))) {
		assert_true(check_runs(&bed.m));
		manager_work(&bed.m);
	}
	json_object_put(req);
	return obj;
}

/* What is there already has another value from now on. */
static void change(struct json_object *obj, const char *key,
		   struct json_object *value)
{
	struct json_object *old;

	assert_true(__real_json_object_object_get_ex(obj, key, &old));
	assert_int_equal(json_object_object_add(obj, key, value), 0);
}

static struct json_object *first_session(struct json_object *obj)
{
	struct json_object *list;

	assert_true(__real_json_object_object_get_ex(obj, "sessions", &list));
	assert_int_equal(json_object_array_length(list), 1);
	return json_object_array_get_idx(list, 0);
}

static int show(const char *command, struct json_object *obj)
{
	char *line;
	int r;

	assert_true(asprintf(&line, "%s\n", json_object_to_json_string(obj)) >
		    0);
	r = mnode(command, NULL, line);
	free(line);
	json_object_put(obj);
	if (missing[0])
		fail_msg("odrpctl mnode %s prints what the agent does not say:%s",
			 command, missing);
	return r;
}

/* ---- tests ---------------------------------------------------------------------- */

static int open_bed(void **state)
{
	static uint8_t page[ODRP_WIRE_PAGE_SIZE];
	struct bed_options o;

	bed_options(&o);
	bed_open(&bed, &o, 1);
	bed_connect(&bed, 0, 64, 1, 7);
	assert_int_equal(cnode_do(bed.nodes[0].cnode, 0,
				  ODRP_WIRE_UNMAPPED_STORE, 3, page), 0);
	return 0;
}

static int close_bed(void **state)
{
	bed_close(&bed);
	return 0;
}

/* The number behind a label. */
static uint64_t behind(const char *label)
{
	const char *at = strstr(said, label);

	if (!at)
		fail_msg("no '%s' in:\n%s", label, said);
	return strtoull(at + strlen(label), NULL, 10);
}

static void test_status(void **state)
{
	struct json_object *obj = object_of("status"), *value;
	uint64_t aside;

	assert_true(__real_json_object_object_get_ex(obj, "pages_stock",
						     &value));
	aside = json_object_get_uint64(value);
	assert_true(aside > 0);
	assert_int_equal(show("status", obj), EXIT_OK);
	assert_int_equal(behind("\n  set aside"), aside);
	assert_int_equal(behind("\n  mapped"), 1);
	assert_null(strstr(said, "INSECURE"));
	assert_non_null(strstr(said, " no\n"));
}

/* What is shown only when something is amiss. */
static void test_status_amiss(void **state)
{
	struct json_object *obj = object_of("status");

	change(obj, "pages_withheld", json_object_new_int(7));
	change(obj, "draining", json_object_new_boolean(true));
	change(first_session(obj), "unstopped", json_object_new_int(2));
	assert_int_equal(show("status", obj), EXIT_OK);
	assert_int_equal(behind("\n  withheld"), 7);
	assert_non_null(strstr(said, "destroys 2 of its chains"));
	assert_non_null(strstr(said, " yes\n"));
}

static void test_others(void **state)
{
	struct json_object *obj = object_of("check");

	assert_int_equal(show("sessions", object_of("sessions")), EXIT_OK);
	change(obj, "withheld", json_object_new_int(1));
	change(obj, "exact", json_object_new_boolean(false));
	change(obj, "ok", json_object_new_boolean(false));
	assert_int_equal(show("check", obj), EXIT_NOT_OK);
	assert_non_null(strstr(said, "0 lost"));
	assert_int_equal(show("check", object_of("check")), EXIT_OK);
	assert_non_null(strstr(said, "exactly one place"));
	assert_int_equal(show("metrics", object_of("metrics")), EXIT_OK);
	assert_non_null(strstr(said, "# TYPE odrp_mnode_uptime_seconds gauge\n"));
}

static void test_clients(void **state)
{
	struct json_object *obj = object_of("clients"), *list, *c;

	assert_true(__real_json_object_object_get_ex(obj, "clients", &list));
	assert_int_equal(json_object_array_length(list), 1);
	c = json_object_array_get_idx(list, 0);
	change(c, "used", json_object_new_int(4711));
	change(c, "lease", json_object_new_int(5));
	change(c, "max_pages", json_object_new_int(77));
	assert_int_equal(show("clients", obj), EXIT_OK);
	assert_non_null(strstr(said, "\nnode0 "));
	assert_non_null(strstr(said, " 4711 "));
	assert_non_null(strstr(said, " 5/77 "));
	/* One session of sixteen, and its admin connection and four for its queue. */
	assert_non_null(strstr(said, " 1/16 "));
	assert_non_null(strstr(said, " 5 "));
	assert_non_null(strstr(said, " - "));
}

/* A limit that the NIC does not hold is not shown as one. */
static void test_bandwidth(void **state)
{
	struct json_object *obj, *list, *c;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		obj = object_of("clients");
		assert_true(__real_json_object_object_get_ex(obj, "clients", &list));
		c = json_object_array_get_idx(list, 0);
		change(c, "max_bandwidth", json_object_new_int(64 << 20));
		change(c, "bandwidth_holds", json_object_new_int(i));
		assert_int_equal(show("clients", obj), EXIT_OK);
		assert_non_null(strstr(said, i ? " 64.0 MB " : " not held "));
	}
}

static void test_hangs_up(void **state)
{
	static const char *const ends[] = { NULL, "", "{\"ok\": true" };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(mnode("status", NULL, ends[i]), EXIT_TROUBLE);
		assert_non_null(strstr(said, "hung up"));
		assert_non_null(strstr(said, path));
	}
}

static void test_evict(void **state)
{
	static const char *const bad[] = {
		"-1", "+1", " 1", "", "1x", "0x1", "18446744073709551616",
	};
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (mnode("evict", bad[i], NULL) != EXIT_USAGE ||
		    !strstr(said, bad[i]))
			fail_msg("evict '%s': %s", bad[i], said);
	}
	assert_int_equal(mnode("evict", "18446744073709551615",
			       "{\"ok\": true}\n"), EXIT_OK);
}

/* Each request that is wrong is told what was wrong, and what was expected. */
static void test_commands(void **state)
{
	static const struct {
		const char *req, *error;
	} wrong[] = {
		{ "[]", "expected an object with \"command\", a string" },
		{ "{\"command\":1}", "expected an object with \"command\", a string" },
		{ "{\"command\":\"frob\"}", "command 'frob': expected status, check, "
		  "sessions, clients, metrics, evict, revoke, drain, undrain, "
		  "delete-space or lost" },
		{ "{\"command\":\"\"}", "command '': expected status, check, "
		  "sessions, clients, metrics, evict, revoke, drain, undrain, "
		  "delete-space or lost" },
		{ "{\"command\":\"evict\"}",
		  "evict: expected \"session\", the number of a session" },
		{ "{\"command\":\"evict\",\"session\":\"1\"}",
		  "evict: session=\"1\": expected the number of a session" },
		{ "{\"command\":\"evict\",\"session\":99}",
		  "no live session has number 99" },
		{ "{\"command\":\"revoke\",\"name\":\"\"}", "revoke: name=\"\": expected "
		  "a compute node's name, as its file of secrets had it" },
		{ "{\"command\":\"revoke\",\"session\":1}", "revoke: expected \"name\", "
		  "a compute node's name, as its file of secrets had it" },
		{ "{\"command\":\"delete-space\",\"space\":7}",
		  "delete-space: space=7: expected the name of a space" },
		{ "{\"command\":\"delete-space\",\"space\":\"kv\"}",
		  "no space has the name 'kv'" },
	};
	struct json_object *req, *obj;
	unsigned int i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		req = json_tokener_parse(wrong[i].req);
		obj = status_command(&bed.m, req, 0);
		assert_string_equal(agent_str(obj, "error"), wrong[i].error);
		json_object_put(obj);
		json_object_put(req);
	}
}

/* Commands without an answer of their own. */
static void test_drain(void **state)
{
	json_object_put(object_of("drain"));
	assert_true(bed.m.draining);
	json_object_put(object_of("undrain"));
	assert_false(bed.m.draining);
}

static char *line_of(struct json_object *obj)
{
	char *line;

	assert_true(asprintf(&line, "%s\n", json_object_to_json_string(obj)) > 0);
	return line;
}

/* A session, as chains or as keys find its pages. */
static struct json_object *sessions_of(bool keyed, uint64_t loads, uint64_t stores)
{
	struct json_object *obj = object_of("status"), *chains, *use;
	struct json_object *s = first_session(obj);

	change(s, "keyed", json_object_new_boolean(keyed));
	change(s, "used", json_object_new_int(640));
	change(s, "lease", json_object_new_int(1024));
	assert_true(__real_json_object_object_get_ex(s, "use", &use));
	change(use, "used", json_object_new_int(512));
	change(use, "held", json_object_new_int(1024));
	assert_true(__real_json_object_object_get_ex(s, "chains", &chains));
	change(chains, "load", json_object_new_uint64(loads));
	change(chains, "unmapped_store", json_object_new_uint64(stores));
	return obj;
}

static struct json_object *use_of(struct json_object *obj)
{
	struct json_object *use;

	assert_true(__real_json_object_object_get_ex(obj, "use", &use));
	return use;
}

static void use_set(struct json_object *obj, uint64_t used_s, uint64_t held_s, uint64_t peak)
{
	change(use_of(obj), "used_page_s", json_object_new_uint64(used_s));
	change(use_of(obj), "held_page_s", json_object_new_uint64(held_s));
	change(use_of(obj), "peak_used", json_object_new_uint64(peak));
	change(use_of(obj), "peak_held", json_object_new_uint64(1024));
}

/* The average is that of the time between two looks. */
static void test_top_use(void **state)
{
	struct json_object *from = sessions_of(false, 0, 0), *to = sessions_of(false, 0, 0);
	char line[MNODE_TOP_LINE];

	use_set(from, 900, 1000, 512);
	use_set(to, 1000, 1400, 512);
	assert_true(mnode_top_use_line(use_of(from), use_of(to), line));
	assert_string_equal(line, "used / held: 25.0 % by time; at the peak 50.0 %, "
			    "2.0 of 4.0 MB");
	/* No time has passed; an agent that does not count. */
	assert_false(mnode_top_use_line(use_of(to), use_of(to), line));
	assert_false(mnode_top_use_line(NULL, NULL, line));
	/* The largest numbers fit a terminal. */
	use_set(to, 1400, 1500, 1u << 28);
	change(use_of(to), "peak_held", json_object_new_int64(1u << 28));
	assert_true(mnode_top_use_line(use_of(from), use_of(to), line));
	assert_true(strlen(line) <= 80);
	json_object_put(from);
	json_object_put(to);
}

/* What a column says; it ends where its title does. */
static void column(const char *title, const char *line, const char *value)
{
	char head[MNODE_TOP_LINE];
	const char *at;
	size_t end, len = strlen(value);

	mnode_top_head(head);
	at = strstr(head, title);
	assert_non_null(at);
	end = at - head + strlen(title);
	if (strlen(line) < end || memcmp(line + end - len, value, len) ||
	    line[end - len - 1] != ' ')
		fail_msg("%s is not %s: %s", title, value, line);
}

static void test_top_line(void **state)
{
	struct json_object *from = sessions_of(false, 100, 7), *to;
	char line[MNODE_TOP_LINE];

	to = sessions_of(false, 500, 7);
	mnode_top_line(first_session(from), first_session(to), 2000000000, line);
	column("ID", line, "1");
	column("LOAD/S", line, "200");
	column("MAPD/S", line, "0");
	column("UNMP/S", line, "0");
	column("USED MB", line, "2.0");
	column("HELD MB", line, "4.0");
	assert_non_null(strstr(line, " live "));
	/* A counter that has begun anew; and no time. */
	mnode_top_line(first_session(to), first_session(from), 2000000000, line);
	column("LOAD/S", line, "0");
	mnode_top_line(first_session(from), first_session(to), 0, line);
	column("LOAD/S", line, "0");
	/* The largest numbers fit a terminal. */
	change(first_session(to), "silent_ms", json_object_new_int64(89999999));
	change(use_of(first_session(to)), "used", json_object_new_int64(1u << 28));
	mnode_top_line(first_session(from), first_session(to), 2000000000, line);
	column("USED MB", line, "1048576");
	column("SILENT", line, "90M");
	assert_true(strlen(line) <= 80);
	mnode_top_head(line);
	assert_true(strlen(line) <= 80);
	mnode_top_space_head(line);
	assert_true(strlen(line) <= 80);
	json_object_put(to);
	/* What is not counted is not 0. */
	to = sessions_of(true, 500, 47);
	mnode_top_line(first_session(from), first_session(to), 2000000000, line);
	column("LOAD/S", line, "keys");
	column("MAPD/S", line, "keys");
	column("UNMP/S", line, "20");
	json_object_put(to);
	json_object_put(from);
}

static void test_top_json(void **state)
{
	struct json_object *from = sessions_of(true, 0, 0);
	struct json_object *to = sessions_of(true, 0, 10), *obj;

	use_set(first_session(from), 100, 200, 512);
	use_set(first_session(to), 200, 400, 512);
	obj = mnode_top_json(first_session(from), first_session(to), 500000000);
	change(obj, "peer", NULL);
	change(obj, "silent_ms", NULL);
	change(obj, "want_pages", NULL);
	assert_string_equal(json_object_to_json_string_ext(obj,
						JSON_C_TO_STRING_PLAIN),
		"{\"peer\":null,\"state\":\"live\",\"loads_per_s\":null,"
		"\"mapped_stores_per_s\":null,\"unmapped_stores_per_s\":20.0,"
		"\"invalidates_per_s\":0.0,\"used_pages\":640,"
		"\"lease_pages\":1024,\"want_pages\":null,\"silent_ms\":null,"
		"\"kept_pages\":512,\"held_pages\":1024,\"used_percent\":50.0}");
	json_object_put(obj);
	json_object_put(to);
	json_object_put(from);
}

/* Between two looks sessions come and go. */
static void test_top(void **state)
{
	static const char none[] = "{\"sessions\":[]}\n";
	struct json_object *obj = sessions_of(false, 100, 7);
	char *some = line_of(obj);

	assert_int_equal(top(false, some, some), EXIT_OK);
	assert_non_null(strstr(said, " live "));
	if (missing[0])
		fail_msg("top prints what the agent does not say:%s", missing);
	assert_int_equal(top(false, none, some), EXIT_OK);
	assert_non_null(strstr(said, " live "));
	assert_int_equal(top(false, some, none), EXIT_OK);
	assert_non_null(strstr(said, "no compute nodes\n"));
	assert_int_equal(top(true, some, none), EXIT_OK);
	assert_string_equal(said, "{}\n");
	assert_int_equal(top(true, none, some), EXIT_OK);
	assert_memory_equal(said, "{\"1\":{\"peer\":", 13);
	free(some);
	json_object_put(obj);
}

static void test_top_trouble(void **state)
{
	static const char none[] = "{\"sessions\":[]}\n";
	static const char *const bad[] = {
		"{}\n", "nothing\n", "[]\n", "{\"sessions\":1}\n",
		"{\"error\":\"no\"}\n",
	};
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(top(false, bad[i], NULL), EXIT_TROUBLE);
		assert_non_null(strstr(said, "has no sessions"));
		assert_int_equal(top(false, none, bad[i]), EXIT_TROUBLE);
		assert_non_null(strstr(said, "has no sessions"));
	}
	assert_int_equal(top(false, NULL, NULL), EXIT_TROUBLE);
	assert_non_null(strstr(said, "hung up"));
	assert_int_equal(top(true, none, ""), EXIT_TROUBLE);
	assert_non_null(strstr(said, "hung up"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_status_amiss),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_clients),
		cmocka_unit_test(test_bandwidth),
		cmocka_unit_test(test_hangs_up),
		cmocka_unit_test(test_evict),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_top_use),
		cmocka_unit_test(test_top_line),
		cmocka_unit_test(test_top_json),
		cmocka_unit_test(test_top),
		cmocka_unit_test(test_top_trouble),
	};
	int r;

	listen_here();
	r = cmocka_run_group_tests(tests, open_bed, close_bed);
	close(listener);
	unlink(path);
	return r;
}
