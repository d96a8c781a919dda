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
#include <http.h>

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

static int dial(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(http_port(http)),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0), small = 4096;

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
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

/* The status of a request, after which the connection has ended. */
static int status_of(const char *request)
{
	int fd = dial(), status = 0;

	say(fd, request);
	assert_true(hears_all(fd));
	close(fd);
	return sscanf(answer, "HTTP/1.1 %d", &status) == 1 ? status : 0;
}

#define GET "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"

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

/* All places are taken by clients who say nothing: others wait until these have
 * had their time. */
static void test_silent(void **state)
{
	int silent[HTTP_CLIENTS], other, i;

	for (i = 0; i < HTTP_CLIENTS; i++)
		silent[i] = dial();
	turn(20);
	other = dial();
	say(other, GET);
	turn(50);
	assert_int_equal(nr_made, 0);
	for (i = 0; i < HTTP_CLIENTS; i++)
		assert_false(is_gone(silent[i]));
	ahead_usec = HTTP_CLIENT_USEC;
	/* One of them says a little, which gains it nothing. */
	say(silent[0], "G");
	assert_true(hears_all(other));
	assert_non_null(strstr(answer, "200 OK"));
	for (i = 0; i < HTTP_CLIENTS; i++) {
		assert_true(is_gone(silent[i]));
		close(silent[i]);
	}
	close(other);
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
	ahead_usec = HTTP_CLIENT_USEC;
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

/*
 * Clients that vanish at any point are gone when their time is over, at the latest:
 * the library does not see at once that one has hung up behind half a request.
 */
static void test_vanish(void **state)
{
	int fd, awake = dial();
	size_t len;

	turn(2);
	/* No more than there are places. */
	for (len = 0; len < strlen(GET); len += 6) {
		fd = dial();
		assert_int_equal(send(fd, GET, len, MSG_NOSIGNAL), len);
		if (len & 4)
			turn(2);
		close(fd);
		turn(1);
	}
	ahead_usec = HTTP_CLIENT_USEC;
	say(awake, "G");
	assert_int_equal(status_of(GET), 200);
	assert_true(is_gone(awake));
	close(awake);
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
		cmocka_unit_test_setup_teardown(test_vanish, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_taken, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
