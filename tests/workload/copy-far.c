/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The baseline "two-sided" of scripts/figures odrp: a memory node whose processor copies each
 * page.  Speaks NBD with one client, so that a stock kernel can swap to it; memory is taken
 * when a page is written for the first time, and given back when it is trimmed.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/nbd.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common.h"

#define MAGIC_SERVER	0x4e42444d41474943ull	/* "NBDMAGIC" */
#define MAGIC_OPTION	0x49484156454f5054ull	/* "IHAVEOPT" */
#define MAGIC_ANSWER	0x0003e889045565a9ull
#define FIXED_NEWSTYLE	1
#define NO_ZEROES	2
#define OPT_EXPORT_NAME	1
#define OPT_ABORT	2
#define ANSWER_UNKNOWN	0x80000001u
#define OPTION_MAX	4096
#define REQUEST_MAX	(32u << 20)

/* page_s is counted from the first write to the last request, at. */
struct store {
	uint64_t nr, held, peak, requests;
	void **page;
	double begin, at, page_s;
};

struct answer {
	__be32 magic, error;
	char handle[8];
} __attribute__((packed));

static bool read_all(int fd, void *buf, size_t len)
{
	ssize_t n = 1;

	while (len && n > 0) {
		n = read(fd, buf, len);
		if (n > 0) {
			buf = (char *)buf + n;
			len -= (size_t)n;
		}
	}
	return !len;
}

static bool write_all(int fd, const void *buf, size_t len)
{
	ssize_t n = 1;

	while (len && n > 0) {
		n = send(fd, buf, len, MSG_NOSIGNAL);
		if (n > 0) {
			buf = (const char *)buf + n;
			len -= (size_t)n;
		}
	}
	return !len;
}

static void store_tick(struct store *s)
{
	double now = now_s();

	if (s->begin > 0)
		s->page_s += (double)s->held * (now - s->at);
	s->at = now;
}

static bool page_write(struct store *s, uint64_t nr, size_t at, const char *from, size_t len)
{
	if (!s->page[nr]) {
		s->page[nr] = calloc(1, PAGE_BYTES);
		if (!s->page[nr])
			return false;
		if (++s->held > s->peak)
			s->peak = s->held;
	}
	memcpy((char *)s->page[nr] + at, from, len);
	return true;
}

static void page_read(const struct store *s, uint64_t nr, size_t at, char *to, size_t len)
{
	if (s->page[nr])
		memcpy(to, (const char *)s->page[nr] + at, len);
	else
		memset(to, 0, len);
}

static void page_trim(struct store *s, uint64_t nr)
{
	s->held -= !!s->page[nr];
	free(s->page[nr]);
	s->page[nr] = NULL;
}

/* Return: an error for the client, or 0. */
static uint32_t copy(struct store *s, uint32_t type, uint64_t from, char *buf, uint32_t len)
{
	size_t at, n;

	for (; len; len -= n, from += n, buf += n) {
		at = from % PAGE_BYTES;
		n = PAGE_BYTES - at < len ? PAGE_BYTES - at : len;
		if (type == NBD_CMD_READ)
			page_read(s, from / PAGE_BYTES, at, buf, n);
		else if (type == NBD_CMD_WRITE && !page_write(s, from / PAGE_BYTES, at, buf, n))
			return ENOSPC;
		else if (type == NBD_CMD_TRIM && n == PAGE_BYTES)
			page_trim(s, from / PAGE_BYTES);
	}
	return 0;
}

/* Return: false when the client has gone. */
static bool serve_one(struct store *s, int fd, char *buf)
{
	struct answer answer = { .magic = htobe32(NBD_REPLY_MAGIC) };
	struct nbd_request req;
	uint32_t type, len;
	uint64_t from;

	if (!read_all(fd, &req, sizeof(req)) || req.magic != htobe32(NBD_REQUEST_MAGIC))
		return false;
	type = be32toh(req.type) & 0xffff;
	from = be64toh(req.from);
	len = be32toh(req.len);
	if (type == NBD_CMD_DISC)
		return false;
	if (type == NBD_CMD_FLUSH)
		len = 0;
	if ((type != NBD_CMD_TRIM && len > REQUEST_MAX) || from > s->nr * PAGE_BYTES ||
	    len > s->nr * PAGE_BYTES - from)
		return false;
	if (type == NBD_CMD_WRITE && !read_all(fd, buf, len))
		return false;
	store_tick(s);
	if (type == NBD_CMD_WRITE && s->begin == 0)
		s->begin = s->at;
	s->requests++;
	answer.error = htobe32(copy(s, type, from, buf, len));
	memcpy(answer.handle, &req.handle, sizeof(answer.handle));
	return write_all(fd, &answer, sizeof(answer)) &&
	       (type != NBD_CMD_READ || write_all(fd, buf, len));
}

/* Answers the option that ends the negotiation. */
static bool export_tell(const struct store *s, int fd, bool zeroes)
{
	struct {
		__be64 size;
		__be16 flags;
		char zeroes[124];
	} __attribute__((packed)) w = {
		.size = htobe64(s->nr * PAGE_BYTES),
		.flags = htobe16(NBD_FLAG_HAS_FLAGS | NBD_FLAG_SEND_FLUSH | NBD_FLAG_SEND_TRIM),
	};

	return write_all(fd, &w, zeroes ? sizeof(w) : sizeof(w) - sizeof(w.zeroes));
}

static bool option_refuse(int fd, __be32 option)
{
	struct {
		__be64 magic;
		__be32 option, answer, len;
	} __attribute__((packed)) w = { htobe64(MAGIC_ANSWER), option, htobe32(ANSWER_UNKNOWN), 0 };

	return write_all(fd, &w, sizeof(w));
}

static bool negotiate(const struct store *s, int fd)
{
	struct {
		__be64 magic, option;
		__be16 flags;
	} __attribute__((packed)) hello = {
		htobe64(MAGIC_SERVER), htobe64(MAGIC_OPTION), htobe16(FIXED_NEWSTYLE | NO_ZEROES),
	};
	struct {
		__be64 magic;
		__be32 option, len;
	} __attribute__((packed)) o;
	char data[OPTION_MAX];
	__be32 flags;

	if (!write_all(fd, &hello, sizeof(hello)) || !read_all(fd, &flags, sizeof(flags)))
		return false;
	while (read_all(fd, &o, sizeof(o)) && o.magic == htobe64(MAGIC_OPTION) &&
	       be32toh(o.len) <= sizeof(data) && read_all(fd, data, be32toh(o.len))) {
		if (o.option == htobe32(OPT_EXPORT_NAME))
			return export_tell(s, fd, !(flags & htobe32(NO_ZEROES)));
		if (o.option == htobe32(OPT_ABORT) || !option_refuse(fd, o.option))
			return false;
	}
	return false;
}

static int listen_on(const char *address, const char *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	unsigned long nr;
	char *end;

	nr = strtoul(port, &end, 10);
	at.sin_port = htons((uint16_t)nr);
	if (*end || !nr || nr > UINT16_MAX || inet_pton(AF_INET, address, &at.sin_addr) != 1) {
		errno = EINVAL;
		return -1;
	}
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 1))
		return -1;
	return fd;
}

static void report(const struct store *s)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	printf("{\"requests\":%" PRIu64 ",\"peak_held\":%" PRIu64 ",\"held_page_s\":%.0f,"
	       "\"seconds\":%.2f,\"cpu_user_s\":%.2f,\"cpu_kernel_s\":%.2f}\n",
	       s->requests, s->peak, s->page_s, s->begin > 0 ? s->at - s->begin : 0,
	       (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec * 1e-6,
	       (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec * 1e-6);
}

int main(int argc, char **argv)
{
	struct store s = { 0 };
	int fd, on = 1;
	char *buf;

	if (argc != 4) {
		fprintf(stderr, "usage: copy-far ADDRESS PORT BYTES\n"
			"Serves one NBD client, and prints what it did as JSON.\n");
		return EXIT_FAILURE;
	}
	s.nr = strtoull(argv[3], NULL, 10) / PAGE_BYTES;
	s.page = calloc(s.nr ? s.nr : 1, sizeof(*s.page));
	buf = malloc(REQUEST_MAX);
	fd = listen_on(argv[1], argv[2]);
	if (!s.page || !buf || fd < 0) {
		perror("copy-far");
		return EXIT_FAILURE;
	}
	fd = accept(fd, NULL, NULL);
	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) ||
	    !negotiate(&s, fd)) {
		fprintf(stderr, "copy-far: no client\n");
		return EXIT_FAILURE;
	}
	while (serve_one(&s, fd, buf))
		;
	report(&s);
	return EXIT_SUCCESS;
}
