// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The agent's longest turn in each case of an attack, in processor time of its thread: a
 * Markdown table, with the median and the largest of seven runs.
 *
 * The agent is as it is; its events are this program's, but for those of the metrics port,
 * and its NIC is a software NIC that runs between two turns. One turn is what the event loop
 * does for one event: the event, spaces, and a piece of each kind of work.
 *
 *	bench-mnode-turns | scripts/lib/result.py bench-turns --label measured \
 *		--command 'bench-mnode-turns'
 */
#include <arpa/inet.h>
#include <errno.h>
#include <report/http.h>
#include <json-c/json.h>
#include <report/metrics.h>
#include <odrp/far.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <report/status.h>
#include "bed/agent.h"

#define RUNS		7
#define ATTACHES	8
#define QUEUES_EACH	1900		/* 15,200 in all */
#define SESSIONS	16
#define SESSION_QUEUES	8
#define REQUESTS	2000
#define KEYS		200
#define NAME		"one"
#define WAITS		5
#define HALF		200
#define HALF_EACH	4		/* of one address */

static struct bed bed;
static struct nic_ops ops;
static struct nic_event event;
static bool has_event;
static uint32_t next_id;
static uint64_t longest_ns;

/* ---- the NIC's events -------------------------------------------------------------- */

static int event_give(struct nic *nic, struct nic_event *ret_event)
{
	if (!has_event)
		return -EAGAIN;
	*ret_event = event;
	has_event = false;
	return 0;
}

static int conn_accept(struct nic *nic, uint32_t id, uint32_t qpn, const void *priv,
		       uint8_t priv_len)
{
	return 0;
}

static int conn_reject(struct nic *nic, uint32_t id, const void *priv, uint8_t priv_len)
{
	return 0;
}

static int conn_disconnect(struct nic *nic, uint32_t id)
{
	return 0;
}

static void conn_release(struct nic *nic, uint32_t id)
{
}

static void agent_open(enum conf_auth auth)
{
	struct bed_options o;
	char why[CONF_WHY_MAX];

	bed_options(&o);
	o.conf.auth = auth;
	o.conf.max_sessions = SESSIONS;
	o.conf.queues = SESSION_QUEUES;
	o.conf.pool = 64 << 20;
	assert_int_equal(conf_space_set(&o.conf, "a", "size", "4M", why), 0);
	bed_open(&bed, &o, 0);
	ops = *bed.nic->ops;
	ops.event = event_give;
	ops.accept = conn_accept;
	ops.reject = conn_reject;
	ops.disconnect = conn_disconnect;
	ops.release = conn_release;
	bed.nic->ops = &ops;
	next_id = 1000;
}

/* ---- turns --------------------------------------------------------------------------- */

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void turn_ends(uint64_t began)
{
	uint64_t ns = cpu_ns() - began;

	if (ns > longest_ns)
		longest_ns = ns;
}

/* One turn, which also does this; ms of time pass before. */
static enum lend_todo turn(void (*act)(void), unsigned int ms)
{
	enum lend_todo todo;
	uint64_t began;

	bed.now += ms * 1000000ull;
	bed_run_ns(&bed, 20000);
	began = cpu_ns();
	if (act)
		act();
	manager_events(&bed.m);
	if (ms)
		manager_tick(&bed.m, ms);
	manager_spaces(&bed.m, bed.now);
	todo = manager_work(&bed.m);
	turn_ends(began);
	return todo;
}

static bool is_at_rest(enum lend_todo todo)
{
	return todo == LEND_NOTHING && !bed.m.spaces.ending &&
	       !bed.m.spaces.host.leaving && !bed.m.health.due;
}

/* Turns until all is done, or the agent waits for compute nodes. */
static void turns(void)
{
	unsigned int waits = 0;
	enum lend_todo todo;

	do {
		todo = turn(NULL, 0);
		waits = todo == LEND_MORE ? 0 : waits + 1;
	} while (!is_at_rest(todo) && waits < WAITS);
}

static void request(const void *hello, size_t len, uint16_t from)
{
	event = (struct nic_event){
		.type = NIC_REQUEST, .id = next_id++, .peer_ip = htonl(0x0a4d0100 + from),
		.local_ip = htonl(0x0a4d0001), .peer_qpn = 5, .priv_len = len,
	};
	memcpy(event.priv, hello, len);
	has_event = true;
	turn(NULL, 0);
}

/* ---- clients of a space -------------------------------------------------------------- */

static void far_request(enum odrp_far_role role, uint64_t attach, uint32_t number)
{
	struct odrp_far_hello hello = {
		.magic = htonl(ODRP_FAR_MAGIC), .version = htons(ODRP_FAR_VERSION),
		.role = role, .attach = htobe64(attach), .number = htonl(number),
		.rights = role == ODRP_FAR_ATTACH ? ODRP_FAR_READ | ODRP_FAR_WRITE : 0,
		.name = "a",
	};

	/* Each attachment is of another address: one alone may not have all queues. */
	request(&hello, sizeof(hello), attach);
}

static void attach_many(unsigned int nr)
{
	unsigned int i, k;

	for (i = 0; i < nr; i++) {
		far_request(ODRP_FAR_ATTACH, 1 + i, 0);
		for (k = 0; k < QUEUES_EACH; k++)
			far_request(ODRP_FAR_QUEUE, 1 + i, k);
	}
	assert_int_equal(bed.m.spaces.host.nr_queues, nr * QUEUES_EACH);
}

static void space_delete(void)
{
	manager_delete_space(&bed.m, "a");
}

static void name_cut(void)
{
	spaces_cut_name(&bed.m.spaces, NAME);
}

static void run_attach(void)
{
	agent_open(CONF_AUTH_NONE);
	attach_many(1);
}

static void run_delete(void)
{
	agent_open(CONF_AUTH_NONE);
	attach_many(ATTACHES);
	longest_ns = 0;
	turn(space_delete, 0);
	while (bed.m.spaces.ending)
		turn(NULL, 0);
}

static void run_cut(void)
{
	struct far_host_attach *attach;

	agent_open(CONF_AUTH_NONE);
	attach_many(ATTACHES);
	for (attach = bed.m.spaces.host.attaches; attach; attach = attach->next) {
		attach->pass = 1;
		attach->owner = spaces_owner(NAME);
	}
	longest_ns = 0;
	turn(name_cut, 0);
	while (bed.m.spaces.host.leaving)
		turn(NULL, 0);
	assert_int_equal(bed.m.spaces.host.nr_queues, 0);
}

static void run_detach(void)
{
	agent_open(CONF_AUTH_NONE);
	attach_many(1);
	longest_ns = 0;
	far_request(ODRP_FAR_DETACH, 1, 0);
	while (bed.m.spaces.host.leaving)
		turn(NULL, 0);
	assert_int_equal(bed.m.spaces.host.nr_queues, 0);
}

/* ---- compute nodes ------------------------------------------------------------------- */

/* Heartbeats of all sessions. */
static void sessions_beat(void)
{
	unsigned int i;

	for (i = 0; i < bed.m.nr_sess; i++)
		bed.m.sess[i]->beat->beat = htobe64(bed.m.sess[i]->last_beat + 1);
	turn(NULL, 100);
}

/* Connects all chains of a session.  No compute node is there to give pages back, so the
 * session does not wait for that. */
static void sess_connect(struct sess *s)
{
	struct odrp_wire_hello h;
	unsigned int i;

	sess_setup(s, SETUP_EV_SEEN);
	if (s->setup != SETUP_READY)
		sess_setup(s, SETUP_EV_DONE);
	cnode_hello(&h, ODRP_WIRE_IO);
	h.session = htobe64(s->wire_id);
	h.token = htobe64(s->token);
	h.depth = htobe16(s->depth);
	for (i = 0; i < s->nr_queues * ODRP_WIRE_NR_CHAINS; i++) {
		h.queue = htobe16(i / ODRP_WIRE_NR_CHAINS);
		h.chain = i % ODRP_WIRE_NR_CHAINS;
		request(&h, sizeof(h), 1);
		turns();
		if (i % 16 == 0)
			sessions_beat();
	}
	assert_non_null(s->queues[s->nr_queues - 1][ODRP_WIRE_NR_CHAINS - 1]);
}

static void sessions_open(void)
{
	struct odrp_wire_hello h;
	unsigned int i;

	bed_admin_hello(&h, 16384);
	h.queue = htobe16(SESSION_QUEUES);
	h.depth = htobe16(63);
	for (i = 0; i < SESSIONS; i++) {
		request(&h, sizeof(h), 1);
		turns();
	}
	assert_true(bed.m.nr_sess > 4);
	for (i = 0; i < 20; i++)
		sessions_beat();
	for (i = 0; i < bed.m.nr_sess; i++)
		sess_connect(bed.m.sess[i]);
}

static void run_claims(void)
{
	agent_open(CONF_AUTH_NONE);
	sessions_open();
}

static void sessions_end(void)
{
	manager_evict_all(&bed.m);
}

static void run_teardown(void)
{
	agent_open(CONF_AUTH_NONE);
	sessions_open();
	longest_ns = 0;
	assert_true(bed.m.nr_sess > 4);
	turn(sessions_end, 0);
	while (bed.m.nr_sess + bed.m.nr_old)
		turn(NULL, 0);
}

static void count_begin(void)
{
	assert_int_equal(check_begin(&bed.m), 0);
}

static void run_check(void)
{
	struct check_result res;

	agent_open(CONF_AUTH_NONE);
	sessions_open();
	longest_ns = 0;
	turn(count_begin, 0);
	while (check_runs(&bed.m))
		turn(NULL, 0);
	assert_int_equal(check_result(&bed.m, &res), 0);
	assert_true(check_ok(&res));
}

/* ---- requests that prove nothing ------------------------------------------------------- */

static void run_reflect(void)
{
	struct odrp_wire_hello h;
	unsigned int i;

	agent_open(CONF_AUTH_REQUIRED);
	bed_admin_hello(&h, 1024);
	for (i = 0; i < REQUESTS; i++) {
		request(&h, sizeof(h), i);
		if (i % 20 == 0)
			turn(NULL, 100);
	}
}

/* ---- secrets --------------------------------------------------------------------------- */

static char keys[] = "/tmp/bench-turns-XXXXXX";

static void key_path(unsigned int i, char path[64])
{
	snprintf(path, 64, "%s/n%u", keys, i);
}

static void secrets_make(void)
{
	char path[64];
	unsigned int i;
	FILE *f;

	assert_non_null(mkdtemp(keys));
	for (i = 0; i < KEYS; i++) {
		key_path(i, path);
		f = fopen(path, "w");
		assert_non_null(f);
		if (i)
			fprintf(f, "secret = %064x\n", i);
		else
			fprintf(f, "nothing\n");
		fclose(f);
		chmod(path, 0600);
	}
}

static void secrets_drop(void)
{
	char path[64];
	unsigned int i;

	for (i = 0; i < KEYS; i++) {
		key_path(i, path);
		unlink(path);
	}
	rmdir(keys);
	memcpy(keys + sizeof(keys) - 7, "XXXXXX", 6);
}

static void keys_read(void)
{
	char why[CONF_WHY_MAX];

	assert_int_equal(manager_read_keys(&bed.m, why), 0);
}

static void name_revoke(void)
{
	char why[CONF_WHY_MAX];

	assert_true(manager_revoke(&bed.m, "n7", why) >= 0);
}

static void run_badkey(void)
{
	char path[64];

	agent_open(CONF_AUTH_REQUIRED);
	secrets_make();
	snprintf(bed.opts.conf.keys, sizeof(bed.opts.conf.keys), "%s", keys);
	turn(keys_read, 0);
	key_path(7, path);
	unlink(path);
	turn(name_revoke, 0);
	secrets_drop();
}

/* ---- metrics --------------------------------------------------------------------------- */

static void metrics_answer(void)
{
	char *text;
	size_t len;

	assert_int_equal(metrics_make(&bed.m, 0, &text, &len), 0);
	free(text);
}

static void run_slow(void)
{
	unsigned int i;

	agent_open(CONF_AUTH_NONE);
	sessions_open();
	longest_ns = 0;
	for (i = 0; i < 200; i++)
		turn(metrics_answer, 0);
}

/* ---- half requests at the metrics port ------------------------------------------------- */

static sd_event *loop;
static struct http *http;
static uint64_t ahead_usec;

int __wrap_sd_event_now(sd_event *e, clockid_t clock, uint64_t *usec);

/* The clock of the port. */
int __wrap_sd_event_now(sd_event *e, clockid_t clock, uint64_t *usec)
{
	*usec = 1000000000ull + ahead_usec;
	return 0;
}

static int page_make(void *arg, char **ret_text, size_t *ret_len)
{
	return metrics_make(&bed.m, 0, ret_text, ret_len);
}

static void loop_run(void)
{
	assert_true(sd_event_run(loop, 0) >= 0);
}

/* Connects from the address with that number, and sends the text. */
static int client_send(unsigned int from, const char *text)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000002 + from),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	addr.sin_port = htons(http_port(http));
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	return fd;
}

/* A whole request, whose client waits for the first byte of its answer. */
static void page_ask(unsigned int from)
{
	int fd = client_send(from, "GET /metrics HTTP/1.0\r\n\r\n"), i;
	char byte;

	for (i = 0; i < 2 * HALF && recv(fd, &byte, 1, MSG_DONTWAIT) != 1; i++)
		turn(loop_run, 0);
	assert_in_range(i, 1, 2 * HALF - 1);
	close(fd);
}

/* The clients stay; the agent's time for half a request ends once. */
static void run_half(void)
{
	const struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	unsigned int i;
	int fd[HALF];

	agent_open(CONF_AUTH_NONE);
	sessions_open();
	assert_int_equal(sd_event_new(&loop), 0);
	assert_int_equal(http_new(loop, &addr, page_make, NULL, &http), 0);
	longest_ns = 0;
	for (i = 0; i < HALF; i++) {
		fd[i] = client_send(i / HALF_EACH, "GET /metr");
		turn(loop_run, 0);
		if (i % HALF_EACH == 0)
			page_ask(HALF + i);
	}
	ahead_usec += HTTP_ASK_USEC;
	for (i = 0; i < HALF; i++)
		turn(loop_run, 0);
	page_ask(2 * HALF);
	for (i = 0; i < HALF; i++)
		close(fd[i]);
	http_free(http);
	sd_event_unref(loop);
}

/* ---- all -------------------------------------------------------------------------------- */

static const struct {
	const char *name, *what;
	void (*run)(void);
} cases[] = {
	{ "claims", "one name opens all sessions and queues that it gets", run_claims },
	{ "teardown", "all these sessions end", run_teardown },
	{ "check", "`odrpctl mnode check` beside these sessions", run_check },
	{ "badkey", "200 files of secrets are read, one of them bad; a name is revoked",
	  run_badkey },
	{ "reflect", "2,000 requests of peers that prove nothing", run_reflect },
	{ "slow", "metrics are asked for 200 times", run_slow },
	{ "half", "200 half requests at the metrics port, which stay", run_half },
	{ "attach", "a client makes 1,900 queues", run_attach },
	{ "delete", "a space with 15,200 queues is deleted", run_delete },
	{ "detach", "a client with 1,900 queues detaches", run_detach },
	{ "cut", "a name with 15,200 queues is cut", run_cut },
};

#define NR_CASES	(sizeof(cases) / sizeof(cases[0]))

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	uint64_t ns[RUNS];
	unsigned int i, k;

	printf("| case | what happens | longest turn, median of %u | largest |\n"
	       "|---|---|--:|--:|\n", RUNS);
	for (i = 0; i < NR_CASES; i++) {
		if (argc > 1 && strcmp(argv[1], cases[i].name))
			continue;
		for (k = 0; k < RUNS; k++) {
			longest_ns = 0;
			cases[i].run();
			bed_close(&bed);
			ns[k] = longest_ns;
		}
		qsort(ns, RUNS, sizeof(ns[0]), compare);
		printf("| %s | %s | %.2f ms | %.2f ms |\n", cases[i].name, cases[i].what,
		       ns[RUNS / 2] / 1e6, ns[RUNS - 1] / 1e6);
		fflush(stdout);
	}
	return 0;
}
