// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The page for Prometheus: what it answers, and that clients who are slow, many or
 * hostile hold up neither the loop nor each other for ever.  The loop runs by
 * hand, and its clock is the test's.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include <report/http.h>

#define ROUNDS 2000	/* of the loop, each 1 ms if there is nothing to do */

static sd_event *event;
static struct http *http;
static char answer[1 << 16];

/* The page. */
static unsigned int nr_made;
static size_t page_len = 20;
static int make_fails;

/* What http.c sees the clock say: it stands still, but for this. */
#define BEGAN_USEC 1000000000ull
static uint64_t ahead_usec;

int __wrap_sd_event_now(sd_event *e, clockid_t clock, uint64_t *usec);

int __wrap_sd_event_now(sd_event *e, clockid_t clock, uint64_t *usec)
{
	*usec = BEGAN_USEC + ahead_usec;
	return 0;
}

static int make_page(void *arg, char **ret_text, size_t *ret_len)
{
	char *text;

	nr_made++;
	if (make_fails)
		return make_fails;
	text = malloc(page_len);
	assert_non_null(text);
	memset(text, 'x', page_len);
	*ret_text = text;
	*ret_len = page_len;
	return 0;
}

static int setup(void **state)
{
	const struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	nr_made = 0;
	make_fails = 0;
	page_len = 20;
	ahead_usec = 0;
	assert_int_equal(sd_event_new(&event), 0);
	assert_int_equal(http_new(event, &addr, make_page, NULL, &http), 0);
	return 0;
}

static int teardown(void **state)
{
	http_free(http);
	sd_event_unref(event);
	return 0;
}

/* ---- clients --------------------------------------------------------------------- */

/* From the address number n of this host. */
static int dial_from(unsigned int n)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(http_port(http)),
	}, own = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK + n),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0), small = 4096;

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static int dial(void)
{
	return dial_from(0);
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL),
			 strlen(text));
}

static void turn(unsigned int rounds)
{
	while (rounds--)
		assert_true(sd_event_run(event, 1000) >= 0);
}

/* Turns until the other end has hung up; what came is in answer[], 0 at the end. */
static bool hears_all(int fd)
{
	unsigned int rounds;
	size_t got = 0;
	ssize_t n;

	answer[0] = 0;
	for (rounds = 0; rounds < ROUNDS; rounds++) {
		turn(1);
		n = recv(fd, answer + got, sizeof(answer) - 1 - got,
			 MSG_DONTWAIT);
		if (!n || (n < 0 && errno == ECONNRESET))
			return true;
		if (n < 0)
			continue;
		got += n;
		answer[got] = 0;
		if (got == sizeof(answer) - 1)
			got = 0;
	}
	return false;
}

#define GET "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"

/* The status that comes before the connection ends; 0: none. */
static int status_heard(int fd)
{
	int status = 0;

	assert_true(hears_all(fd));
	close(fd);
	return sscanf(answer, "HTTP/1.1 %d", &status) == 1 ? status : 0;
}

static int status_of(const char *request)
{
	int fd = dial();

	say(fd, request);
	return status_heard(fd);
}

/* The same of the page, by a connection that there is already. */
static int status_of_fd(int fd)
{
	send(fd, GET, strlen(GET), MSG_NOSIGNAL);
	return status_heard(fd);
}

static bool is_gone(int fd)
{
	char c;
	ssize_t n = recv(fd, &c, 1, MSG_DONTWAIT | MSG_PEEK);

	return !n || (n < 0 && errno == ECONNRESET);
}

/* ---- tests ----------------------------------------------------------------------- */

static void test_answers(void **state)
{
	static const struct {
		const char *request;
		int status;
	} others[] = {
		{ "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 404 },
		{ "GET /metrics/ HTTP/1.1\r\nHost: x\r\n\r\n", 404 },
		{ "GET /metricsx HTTP/1.0\r\n\r\n", 404 },
		{ "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", 404 },
		{ "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
		  405 },
		{ "HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 405 },
		{ "DELETE /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 405 },
		{ "COLOUR /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 405 },
	};
	size_t i;

	assert_int_equal(status_of(GET), 200);
	assert_non_null(strstr(answer, "Content-Type: text/plain; version=0.0.4;"));
	assert_non_null(strstr(answer, "Content-Length: 20\r\n"));
	assert_non_null(strstr(answer, "\r\n\r\nxxxxxxxxxxxxxxxxxxxx"));
	assert_int_equal(status_of("GET /metrics?a=b HTTP/1.0\r\n\r\n"), 200);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (status_of(others[i].request) != others[i].status)
			fail_msg("expected %d: %s%s", others[i].status,
				 others[i].request, answer);
}

static void test_nonsense(void **state)
{
	static char long_head[100000];
	static const char *const requests[] = {
		"\r\n\r\n\r\n\r\n\r\nhello\r\n\r\n", "GET\r\n\r\n", "\001\002\003\r\n\r\n",
	};
	size_t i;
	int fd;

	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		assert_int_not_equal(status_of(requests[i]), 200);
	memset(long_head, 'a', sizeof(long_head) - 1);
	memcpy(long_head, "GET /metrics HTTP/1.1\r\n", 23);
	fd = dial();
	send(fd, long_head, sizeof(long_head) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	assert_true(hears_all(fd));
	close(fd);
	assert_int_equal(status_of(GET), 200);
}

/* Many who ask cost no more than one, for a while. */
static void test_made_seldom(void **state)
{
	unsigned int i;

	for (i = 0; i < 20; i++)
		assert_int_equal(status_of(GET), 200);
	ahead_usec = HTTP_PAGE_USEC - 1;
	assert_int_equal(status_of(GET), 200);
	assert_int_equal(nr_made, 1);
	ahead_usec = HTTP_PAGE_USEC;
	assert_int_equal(status_of(GET), 200);
	assert_int_equal(nr_made, 2);
}

static void test_out_of_memory(void **state)
{
	make_fails = -ENOMEM;
	assert_int_equal(status_of(GET), 503);
	make_fails = 0;
	assert_int_equal(status_of(GET), 200);
}

/* One address has as many silent clients as it may. The server hangs up on its next one,
 * serves other addresses, and drops the silent ones after a second. */
static void test_silent(void **state)
{
	int silent[HTTP_CLIENTS_EACH], other, i;

	for (i = 0; i < HTTP_CLIENTS_EACH; i++)
		silent[i] = dial();
	turn(20);
	assert_int_equal(status_of_fd(dial()), 0);
	assert_int_equal(status_of_fd(dial_from(1)), 200);
	for (i = 0; i < HTTP_CLIENTS_EACH; i++)
		assert_false(is_gone(silent[i]));
	ahead_usec = HTTP_ASK_USEC;
	/* One of them says a little, which gains it nothing. */
	say(silent[0], "G");
	other = dial_from(1);
	turn(20);
	for (i = 0; i < HTTP_CLIENTS_EACH; i++) {
		assert_true(is_gone(silent[i]));
		close(silent[i]);
	}
	close(other);
	assert_int_equal(status_of(GET), 200);
}

/* Half requests from more addresses than there are places: the oldest makes room. */
static void test_many_silent(void **state)
{
	int silent[HTTP_CLIENTS], i;

	for (i = 0; i < HTTP_CLIENTS; i++) {
		silent[i] = dial_from(1 + i / HTTP_CLIENTS_EACH);
		say(silent[i], "GET /metr");
		turn(2);
	}
	assert_int_equal(status_of(GET), 200);
	assert_true(is_gone(silent[0]));
	assert_false(is_gone(silent[1]));
	for (i = 0; i < HTTP_CLIENTS; i++)
		close(silent[i]);
}

/* Those who have gone cost nothing, however many they were. */
static void test_gone_at_once(void **state)
{
	const struct linger reset = { .l_onoff = 1 };
	int fd, i;

	for (i = 0; i < 500; i++) {
		fd = dial();
		if (i % 2)
			say(fd, "GET /metr");
		if (i % 3)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		if (i % 5 == 0)
			turn(1);
		close(fd);
	}
	turn(50);
	assert_int_equal(status_of(GET), 200);
}

/* And who does not read a page that no socket holds. */
static void test_does_not_read(void **state)
{
	int fd, i, nr = 0;

	page_len = 64 << 20;
	fd = dial();
	say(fd, GET);
	turn(100);
	assert_int_equal(nr_made, 1);
	page_len = 20;
	ahead_usec = HTTP_PAGE_USEC;
	assert_int_equal(status_of(GET), 200);
	ahead_usec = HTTP_ANSWER_USEC;
	assert_int_equal(status_of(GET), 200);
	/* What was on its way comes, and then the end, before the end of the page. */
	for (i = 0; i < ROUNDS; i++) {
		ssize_t n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);

		turn(1);
		if (!n || (n < 0 && errno != EAGAIN))
			break;
		nr += n > 0 ? n : 0;
	}
	assert_true(i < ROUNDS);
	assert_true(nr < 64 << 20);
	close(fd);
}

/* Clients that never read their page hold all places: newcomers wait for a second. */
static void test_none_reads(void **state)
{
	int fd[HTTP_CLIENTS], i;

	page_len = 16 << 20;
	for (i = 0; i < HTTP_CLIENTS; i++) {
		fd[i] = dial_from(1 + i / HTTP_CLIENTS_EACH);
		say(fd[i], GET);
		turn(10);
	}
	assert_int_equal(nr_made, 1);
	page_len = 20;
	ahead_usec = HTTP_ASK_USEC - 1;
	assert_int_equal(status_of(GET), 0);
	ahead_usec = HTTP_ASK_USEC;
	assert_int_equal(status_of(GET), 200);
	for (i = 0; i < HTTP_CLIENTS; i++)
		close(fd[i]);
}

/* Requests that come byte by byte; and more behind one does not take its answer away. */
static void test_pieces(void **state)
{
	static char more[100000];
	int fd = dial();
	size_t i;

	for (i = 0; i < strlen(GET); i++) {
		assert_int_equal(send(fd, &GET[i], 1, MSG_NOSIGNAL), 1);
		turn(1);
	}
	assert_int_equal(status_heard(fd), 200);
	fd = dial();
	say(fd, GET);
	send(fd, more, sizeof(more), MSG_NOSIGNAL | MSG_DONTWAIT);
	turn(10);
	assert_true(recv(fd, answer, 12, 0) == 12 && !memcmp(answer, "HTTP/1.1 200", 12));
	close(fd);
}

/* The server goes while clients are there. */
static void test_ends(void **state)
{
	int fd = dial();

	say(fd, "GET /met");
	turn(20);
	http_free(http);
	http = NULL;
	assert_true(is_gone(fd));
	close(fd);
}

static void test_taken(void **state)
{
	const struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(http_port(http)),
	}, foreign = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(0xc0000201),	/* of nobody */
	};
	struct http *other;

	assert_int_equal(http_new(event, &addr, make_page, NULL, &other),
			 -EADDRINUSE);
	assert_int_equal(http_new(event, &foreign, make_page, NULL, &other),
			 -EADDRNOTAVAIL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nonsense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_made_seldom, setup, teardown),
		cmocka_unit_test_setup_teardown(test_out_of_memory, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_does_not_read, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_none_reads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gone_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_taken, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
