/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What soft has beside the suite: its configuration, and memory nodes elsewhere. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nic/soft.h>
#include <odrp/far.h>

#include "../../../lib/child.h"
#include "../../../lib/port.h"
#include "../../../../userspace/nic/soft_priv.h"
#include "bed.h"
#include "refused.h"

#define SIZE	65536u

/* ---- configuration ---- */

static void test_conf_bad(void **state)
{
	static const struct refused bad[] = {
		{ "soft:nodes=33", "nodes=33: expected a number of memory nodes" },
		{ "soft:nodes=-1", "nodes=-1: expected" },
		{ "soft:nodes", "nodes=: expected" },
		{ "soft:nodes=1x", "nodes=1x: expected" },
		{ "soft:nodes=0", "no port: expected a memory node" },
		{ "soft:ip=10.77.0.300", "ip=10.77.0.300: expected an IPv4 address" },
		{ "soft:ip=10.77.0.254/24", "expected an address with 1 more" },
		{ "soft:ip=10.77.0.1/32", "expected an address with 1 more" },
		{ "soft:udp=127.0.0.1", "udp=127.0.0.1: expected ADDRESS:PORT" },
		{ "soft:dgram=a", "dgram=a: expected LOCAL:REMOTE" },
		{ "soft:,nodes=1", "an empty word" },
		{ "soft:nods=1", "nods: unknown; expected" },
		{ "soft:loss=2", "loss=2: expected a probability" },
		{ "soft:connect_ms=99", "connect_ms=99: expected milliseconds" },
		{ "soft:connect_ms=60001", "connect_ms=60001: expected" },
		{ "soft:connect_ms", "connect_ms=: expected" },
		{ "soft:packet=no-such-if", "packet=no-such-if: no such network" },
	};

	(void)state;
	expect_refused(bad, sizeof(bad) / sizeof(bad[0]));
}

static struct far_nic *nic_open(const char *spec)
{
	struct far_nic *nic;
	char why[512];

	if (far_nic_open(spec, why, sizeof(why), &nic))
		fail_msg("%s: %s", spec, why);
	assert_string_equal(why, "");
	return nic;
}

/* By number, by address, and "" for the only one. */
static void test_names(void **state)
{
	struct far_nic *one = nic_open("soft:"), *two = nic_open("soft:nodes=2");
	struct far_host_map map;
	struct far_peer peer;

	assert_int_equal(one->ops->attach(one, "10.77.0", "s", FAR_ATTACH_READ, &peer),
			 -EINVAL);
	assert_int_equal(one->ops->attach(one, "1", "s", FAR_ATTACH_READ, &peer),
			 -EHOSTUNREACH);
	assert_int_equal(one->ops->host->map(one, "", "s", &map), -ENOENT);
	assert_int_equal(one->ops->host->map(one, "0", "s", &map), -ENOENT);
	assert_int_equal(one->ops->host->map(one, "10.77.0.2", "s", &map), -ENOENT);
	assert_int_equal(one->ops->host->map(one, "1", "s", &map), -EHOSTUNREACH);
	assert_int_equal(one->ops->host->map(one, "10.77.0.3", "s", &map), -EHOSTUNREACH);
	assert_int_equal(two->ops->host->map(two, "", "s", &map), -EHOSTUNREACH);
	assert_int_equal(two->ops->host->map(two, "1", "s", &map), -ENOENT);
	assert_int_equal(two->ops->host->map(two, "10.77.0.3", "s", &map), -ENOENT);
	one->ops->close(one);
	two->ops->close(two);
}

/* ---- a wrong key ---- */

/* 0, or what a READ of that peer fails with. */
static int peer_read(struct far_nic *nic, struct far_qset *qset, struct far_peer *peer,
		     void *local, uint32_t lkey)
{
	const struct far_wr wr = {
		.op = FAR_NIC_READ, .local = local, .len = 8, .lkey = lkey,
		.flags = FAR_WR_SIGNALED,
	};
	struct far_wc wc;

	assert_int_equal(nic->ops->connect(qset, 0, peer), 0);
	assert_int_equal(nic->ops->post(qset, 0, &wr, 1), 0);
	while (!nic->ops->poll(qset, &wc, 1))
		nic->ops->wait(qset, UINT64_MAX);
	return wc.status;
}

/* That of another space, one that was, none: refused, and the right one works on. */
static void test_wrong_key(void **state)
{
	struct far_qset_attr attr = { .nr_peers = 1, .depth = 4, .group = FAR_NIC_OWN };
	struct far_nic *nic = nic_open("soft:nodes=1");
	struct far_host_map mine, other;
	struct far_peer peer, another;
	static uint64_t local[1];
	struct far_qset *qset;
	uint32_t lkey, right, wrong[3];
	unsigned i;

	assert_int_equal(nic->ops->host->create(nic, "", "s", SIZE, 0600, &mine), 0);
	assert_int_equal(nic->ops->host->publish(nic, &mine), 0);
	assert_int_equal(nic->ops->host->create(nic, "", "t", SIZE, 0600, &other), 0);
	assert_int_equal(nic->ops->host->publish(nic, &other), 0);
	assert_int_equal(nic->ops->attach(nic, "", "s", FAR_ATTACH_READ, &peer), 0);
	assert_int_equal(nic->ops->attach(nic, "", "t", FAR_ATTACH_READ, &another), 0);
	assert_int_equal(nic->ops->mr_reg(nic, local, sizeof(local), &lkey), 0);
	assert_int_equal(nic->ops->qset_new(nic, &attr, &qset), 0);
	right = peer.region[0].rkey;
	wrong[0] = another.region[0].rkey;
	wrong[1] = right ^ 1;
	wrong[2] = 0;
	for (i = 0; i < 3; i++) {
		struct far_region *region =
			((struct soft_peer *)peer.priv)->attach.regions.region;

		region->rkey = wrong[i];
		assert_int_equal(peer_read(nic, qset, &peer, local, lkey), -EACCES);
		region->rkey = right;
		assert_int_equal(peer_read(nic, qset, &peer, local, lkey), 0);
	}
	nic->ops->qset_free(qset);
	nic->ops->mr_dereg(nic, lkey);
	nic->ops->detach(nic, &another);
	nic->ops->detach(nic, &peer);
	nic->ops->host->unmap(nic, &mine);
	nic->ops->host->unmap(nic, &other);
	nic->ops->close(nic);
}

/* ---- two processes ---- */

/* Its ends; the client's side is a process. */
struct link {
	const char *name;
	int lives;
	bool lossy;
	char ours[160], its[160];	/* specs */
};

static int client_op(struct far_qset *qset, struct far_wr *wr)
{
	const struct far_nic_ops *ops = qset->nic->ops;
	struct far_wc wc;

	if (ops->post(qset, 0, wr, 1))
		return -1;
	while (!ops->poll(qset, &wc, 1))
		ops->wait(qset, UINT64_MAX);
	return wc.status;
}

/*
 * Is it what a READ that the memory node refuses ends with? From then on the queue pair of the
 * memory node is in error, where the standard has it drop what comes (as mlx5 and rdma_rxe do):
 * when the NAK is lost, a client that asks again hears nothing until it gives up.
 */
static bool client_refused(const struct link *link, int status)
{
	return status == -EFAULT ||
	       (link->lossy && (status == -ETIMEDOUT || status == -EHOSTDOWN));
}

/* On a bad wire all four packets of a question may be lost: it is asked again. */
static int client_asks(const struct link *link, struct far_nic *nic, struct far_peer *peer,
		       int (*ask)(struct far_nic *, struct far_peer *, unsigned), unsigned client)
{
	unsigned tries = link->lossy ? 5 : 1;
	int err = -ETIMEDOUT;

	while (err == -ETIMEDOUT && tries--)
		err = ask(nic, peer, client);
	return err;
}

/* Gives a claim back. That may be lost, too, and nobody hears of it. */
static int client_unclaims(const struct link *link, struct far_nic *nic,
			   struct far_peer *peer, unsigned client)
{
	unsigned tries = link->lossy ? 5 : 1;
	int err = -EBUSY;

	while (err == -EBUSY && tries--) {
		nic->ops->unclaim(nic, peer, client);
		err = client_asks(link, nic, peer, nic->ops->fence, client);
	}
	return err;
}

/* Adds 1 to a word, copies another one to its side, and claims client 5. */
static int client_work(const struct link *link)
{
	struct far_qset_attr attr = { .nr_peers = 1, .depth = 4, .group = FAR_NIC_OWN };
	static uint64_t local[2];
	struct far_qset *qset;
	struct far_peer peer;
	struct far_nic *nic;
	struct far_wr wr;
	char why[512];
	uint32_t lkey;

	if (far_nic_open(link->its, why, sizeof(why), &nic) ||
	    nic->ops->attach(nic, "10.77.0.2", "t", FAR_ATTACH_READ, &peer) != -ENOENT ||
	    nic->ops->attach(nic, "10.77.0.2", "s", FAR_ATTACH_READ | FAR_ATTACH_WRITE,
			     &peer) ||
	    peer.nr_regions != 1 || peer.region[0].size != SIZE ||
	    nic->ops->mr_reg(nic, local, sizeof(local), &lkey) ||
	    nic->ops->qset_new(nic, &attr, &qset) ||
	    nic->ops->connect(qset, 0, &peer))
		return 1;
	wr = (struct far_wr) {
		.op = FAR_NIC_FAA, .remote = 64, .local = local, .len = 8, .lkey = lkey,
		.arg[0] = 1, .flags = FAR_WR_SIGNALED,
	};
	if (client_op(qset, &wr) || local[0] != 41)
		return 2;
	wr.op = FAR_NIC_WRITE;
	wr.remote = 128;
	if (client_op(qset, &wr))
		return 3;
	wr.op = FAR_NIC_READ;
	wr.remote = SIZE;
	if (!client_refused(link, client_op(qset, &wr)))
		return 4;
	if (nic->ops->connect(qset, 0, &peer))
		return 5;
	wr.remote = 64;
	if (client_op(qset, &wr) || local[0] != 42)
		return 6;
	if (client_asks(link, nic, &peer, nic->ops->claim, 6) ||
	    client_asks(link, nic, &peer, nic->ops->claim, 5) ||
	    client_asks(link, nic, &peer, nic->ops->fence, 5) != -EBUSY ||
	    client_asks(link, nic, &peer, nic->ops->fence, 7))
		return 7;
	return client_unclaims(link, nic, &peer, 6) ? 8 : 0;
}

/* Does its work when told to, says how it went, and lives until it is killed. */
static pid_t client_start(const struct link *link, int *ret_fd)
{
	int fd[2];
	pid_t pid;
	uint8_t said;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	pid = child_fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(fd[0]);
		if (read(fd[1], &said, 1) != 1)
			_exit(1);
		said = client_work(link);
		if (write(fd[1], &said, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(fd[1]);
	*ret_fd = fd[0];
	return pid;
}

/* One life of the client, with what it does and its end. */
static void client_live(const struct link *link, struct far_nic *nic, uint64_t *memory,
			pid_t pid, int fd)
{
	struct far_peer peer;
	uint8_t said = 0xff;

	__atomic_store_n(&memory[8], 41, __ATOMIC_RELAXED);
	assert_int_equal(write(fd, "", 1), 1);
	assert_int_equal(read(fd, &said, 1), 1);
	if (said)
		fail_msg("%s: the client's step %u", link->name, said);
	assert_int_equal(__atomic_load_n(&memory[8], __ATOMIC_RELAXED), 42);
	assert_int_equal(__atomic_load_n(&memory[16], __ATOMIC_RELAXED), 41);
	assert_int_equal(nic->ops->attach(nic, "", "s", FAR_ATTACH_READ | FAR_ATTACH_WRITE,
					  &peer), 0);
	assert_int_equal(nic->ops->fence(nic, &peer, 5), -EBUSY);
	assert_int_equal(nic->ops->claim(nic, &peer, 5), -EBUSY);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(fd);
	/* Nobody has said goodbye: the memory node finds out. */
	while (nic->ops->fence(nic, &peer, 5) == -EBUSY)
		usleep(1000);
	assert_int_equal(nic->ops->claim(nic, &peer, 5), 0);
	nic->ops->detach(nic, &peer);
}

/* A second life has the address and the queue pair numbers of the first. */
static void two_processes(const struct link *link)
{
	struct far_host_map map;
	struct far_nic *nic;
	pid_t pid[2];
	int fd[2], i;

	for (i = 0; i < link->lives; i++)
		pid[i] = client_start(link, &fd[i]);
	nic = nic_open(link->ours);
	assert_int_equal(nic->ops->host->create(nic, "", "s", SIZE, 0600, &map), 0);
	assert_int_equal(nic->ops->host->publish(nic, &map), 0);
	for (i = 0; i < link->lives; i++)
		client_live(link, nic, map.addr, pid[i], fd[i]);
	nic->ops->host->unmap(nic, &map);
	nic->ops->close(nic);
}

static void test_dgram(void **state)
{
	struct link link = { .name = "dgram", .lives = 2 };
	char dir[] = "/tmp/far-soft-XXXXXX", path[64];

	assert_non_null(mkdtemp(dir));
	snprintf(link.ours, sizeof(link.ours), "soft:nodes=1,dgram=%s/a:%s/b", dir, dir);
	snprintf(link.its, sizeof(link.its), "soft:ip=10.77.0.9/24,dgram=%s/b:%s/a", dir,
		 dir);
	two_processes(&link);
	snprintf(path, sizeof(path), "%s/b", dir);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

static void test_udp(void **state)
{
	struct link link = { .name = "udp", .lives = 1 };
	uint16_t a = free_port(SOCK_DGRAM), b = free_port(SOCK_DGRAM);

	snprintf(link.ours, sizeof(link.ours),
		 "soft:nodes=1,udp=127.0.0.1:%u:127.0.0.1:%u", a, b);
	snprintf(link.its, sizeof(link.its),
		 "soft:ip=10.77.0.9/24,udp=127.0.0.1:%u:127.0.0.1:%u", b, a);
	two_processes(&link);
}

/* A wire that loses, repeats and reorders frames costs time, and nothing else. */
static void test_bad_wire(void **state)
{
	struct link link = { .name = "udp with faults", .lives = 1, .lossy = true };
	uint16_t a = free_port(SOCK_DGRAM), b = free_port(SOCK_DGRAM);

	snprintf(link.ours, sizeof(link.ours),
		 "soft:nodes=1,udp=127.0.0.1:%u:127.0.0.1:%u", a, b);
	snprintf(link.its, sizeof(link.its), "soft:ip=10.77.0.9/24,loss=0.1,"
		 "duplicate=0.1,reorder=0.1,udp=127.0.0.1:%u:127.0.0.1:%u", b, a);
	two_processes(&link);
}

/* ---- several clients at one port ---- */

#define ADDERS	8u

/* Says which step of an adder failed: its parent sees only that it ended. */
static bool adder_failed(const char *step, int err)
{
	if (err)
		fprintf(stderr, "adder: %s: %d\n", step, err);
	return err;
}

/* Adds 1 to a word when it is told to, and says from which address, until nobody tells it. */
static int adder_work(const char *spec, int fd)
{
	struct far_qset_attr attr = { .nr_peers = 1, .depth = 4, .group = FAR_NIC_OWN };
	static uint64_t local[1];
	struct far_qset *qset;
	struct far_peer peer;
	struct far_nic *nic;
	struct far_wr wr;
	char why[512];
	uint32_t lkey;
	uint8_t said;

	if (read(fd, &said, 1) != 1 ||
	    adder_failed("open", far_nic_open(spec, why, sizeof(why), &nic)) ||
	    adder_failed("attach", nic->ops->attach(nic, "10.77.0.2", "s",
			 FAR_ATTACH_READ | FAR_ATTACH_WRITE, &peer)) ||
	    nic->ops->mr_reg(nic, local, sizeof(local), &lkey) ||
	    nic->ops->qset_new(nic, &attr, &qset) ||
	    adder_failed("connect", nic->ops->connect(qset, 0, &peer)))
		return 1;
	wr = (struct far_wr) {
		.op = FAR_NIC_FAA, .remote = 64, .local = local, .len = 8, .lkey = lkey,
		.arg[0] = 1, .flags = FAR_WR_SIGNALED,
	};
	do
		if (adder_failed("add", client_op(qset, &wr)) ||
		    write(fd, &soft_nic_of(nic)->ip, sizeof(__be32)) != sizeof(__be32))
			return 2;
	while (read(fd, &said, 1) == 1);
	return 0;
}

static pid_t adder_start(const char *spec, int *ret_fd)
{
	int fd[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	pid = child_fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(fd[0]);
		_exit(adder_work(spec, fd[1]));
	}
	close(fd[1]);
	*ret_fd = fd[0];
	return pid;
}

/* All add, at the same time, and no two from one address. */
static void adders_add(const int fd[ADDERS], __be32 ret_ip[ADDERS])
{
	unsigned i, k;

	for (i = 0; i < ADDERS; i++)
		assert_int_equal(write(fd[i], "", 1), 1);
	for (i = 0; i < ADDERS; i++) {
		assert_int_equal(read(fd[i], &ret_ip[i], sizeof(__be32)), sizeof(__be32));
		for (k = 0; k < i; k++)
			assert_int_not_equal(ret_ip[i], ret_ip[k]);
	}
}

/* Whoever comes with the address of a client that is there is not heard. */
static void pretender_fails(uint16_t port)
{
	struct far_peer peer;
	struct far_nic *nic;
	char spec[160];

	snprintf(spec, sizeof(spec), "soft:ip=10.77.0.10/24,connect_ms=300,"
		 "udp=127.0.0.1:0:127.0.0.1:%u", port);
	nic = nic_open(spec);
	assert_int_equal(nic->ops->attach(nic, "10.77.0.2", "s", FAR_ATTACH_READ, &peer),
			 -EHOSTUNREACH);
	nic->ops->close(nic);
}

/* named: the client has its address by a table of numbers; else the memory node gives it one. */
static void adder_spec(bool named, unsigned i, uint16_t from, uint16_t to, char spec[160])
{
	char ip[32];

	snprintf(ip, sizeof(ip), "ip=10.77.0.%u/24,", 10 + i);
	snprintf(spec, 160, "soft:%sudp=127.0.0.1:%u:127.0.0.1:%u", named ? ip : "", from, to);
}

/* The first one dies. The other, which is the same again, has its place from now on. */
static void adder_restarts(pid_t *pid, int *fd, pid_t again, int again_fd)
{
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
	close(*fd);
	*pid = again;
	*fd = again_fd;
}

/*
 * One of them is started again while the memory node still takes it for alive, and is heard within
 * the time that a client waits, in which no peer counts as silent: it has its address by its
 * number, and sends from another port; or from the same one, and is given the same address for it.
 */
static void several_add(bool named)
{
	uint16_t port = free_port(SOCK_DGRAM), from = named ? 0 : free_port(SOCK_DGRAM);
	__be32 before[ADDERS], ip[ADDERS];
	pid_t pid[ADDERS], again;
	int fd[ADDERS], again_fd, status;
	struct far_host_map map;
	struct far_nic *nic;
	char spec[160];
	unsigned i;

	for (i = 0; i < ADDERS; i++) {
		adder_spec(named, i, i ? 0 : from, port, spec);
		pid[i] = adder_start(spec, &fd[i]);
	}
	adder_spec(named, 0, from, port, spec);
	again = adder_start(spec, &again_fd);
	snprintf(spec, sizeof(spec), "soft:nodes=1,udp=127.0.0.1:%u", port);
	nic = nic_open(spec);
	assert_int_equal(nic->ops->host->create(nic, "", "s", SIZE, 0600, &map), 0);
	assert_int_equal(nic->ops->host->publish(nic, &map), 0);
	adders_add(fd, before);
	adder_restarts(&pid[0], &fd[0], again, again_fd);
	adders_add(fd, ip);
	assert_memory_equal(ip, before, sizeof(ip));
	if (named)
		pretender_fails(port);
	adders_add(fd, ip);
	assert_int_equal(((uint64_t *)map.addr)[8], 3 * ADDERS);
	/* Those that were started later have the ends of the earlier ones, too. */
	for (i = 0; i < ADDERS; i++)
		close(fd[i]);
	for (i = 0; i < ADDERS; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	nic->ops->host->unmap(nic, &map);
	nic->ops->close(nic);
}

static void test_udp_several(void **state)
{
	several_add(true);
}

static void test_udp_addresses(void **state)
{
	several_add(false);
}

/* A memory node that gives no address, or that is not there: the sentence says what to do. */
static void test_udp_no_address(void **state)
{
	uint16_t port = free_port(SOCK_DGRAM);
	struct far_peer peer;
	struct far_nic *nic;
	char spec[160], why[256];

	snprintf(spec, sizeof(spec), "soft:connect_ms=300,udp=127.0.0.1:0:127.0.0.1:%u",
		 port);
	assert_int_equal(far_nic_open(spec, why, sizeof(why), &nic), -ETIMEDOUT);
	assert_non_null(strstr(why, "or ip=ADDRESS/PREFIX here"));
	snprintf(spec, sizeof(spec), "soft:ip=10.77.0.2/24,udp=127.0.0.1:0:127.0.0.1:%u", port);
	nic = nic_open(spec);
	assert_int_equal(nic->ops->attach(nic, "10.77.0.2", "s", FAR_ATTACH_READ, &peer),
			 -EADDRNOTAVAIL);
	nic->ops->close(nic);
}

/* ---- hellos that no client of ours says ---- */

/* A NIC with a queue pair, at the other end of a cable to a memory node. */
struct stranger {
	struct nic *nic;
	uint32_t pdn, cqn;
};

static void stranger_open(struct stranger *s, const char *words)
{
	struct nic_soft_opts opts;
	char why[NIC_SOFT_WHY_MAX];

	if (nic_soft_parse(words, &opts, why) || nic_soft_open(&opts, &s->nic, why))
		fail_msg("%s", why);
	assert_int_equal(s->nic->ops->pd_alloc(s->nic, &s->pdn), 0);
	assert_int_equal(s->nic->ops->cq_create(s->nic, 0, &s->cqn), 0);
}

/* The status of the REJ that a hello of len bytes gets; -1: it was accepted. */
static int stranger_ask(struct stranger *s, const void *hello, uint8_t len)
{
	uint8_t *mem = aligned_alloc(4096, 4096);
	struct nic_qp_attr attr = {
		.pdn = s->pdn, .scqn = s->cqn, .rcqn = s->cqn, .mem = mem,
		.mem_len = 4096, .sq = mem, .dbr = (struct wrc_dbr *)(mem + 2048),
	};
	struct pollfd fd = { .fd = s->nic->event_fd, .events = POLLIN };
	struct odrp_far_reject rej;
	struct nic_event event;
	uint32_t qpn, id;

	memset(mem, 0, 4096);
	assert_int_equal(s->nic->ops->qp_create(s->nic, &attr, &qpn), 0);
	assert_int_equal(s->nic->ops->connect(s->nic, inet_addr("10.77.0.2"),
					      ODRP_FAR_PORT, qpn, hello, len, &id), 0);
	while (s->nic->ops->event(s->nic, &event))
		poll(&fd, 1, -1);
	assert_int_equal(s->nic->ops->qp_destroy(s->nic, qpn), 0);
	s->nic->ops->release(s->nic, id);
	free(mem);
	if (event.type == NIC_ESTABLISHED)
		return -1;
	assert_int_equal(event.reason, NIC_REJECTED);
	memcpy(&rej, event.priv, sizeof(rej));
	assert_int_equal(be32_to_cpu(rej.magic), ODRP_FAR_MAGIC);
	assert_int_equal(be16_to_cpu(rej.version), ODRP_FAR_VERSION);
	return be16_to_cpu(rej.status);
}

static struct odrp_far_hello hello_of(unsigned role, uint64_t attach)
{
	return (struct odrp_far_hello) {
		.magic = cpu_to_be32(ODRP_FAR_MAGIC),
		.version = cpu_to_be16(ODRP_FAR_VERSION),
		.role = role, .attach = cpu_to_be64(attach),
	};
}

static void strange_hellos(struct stranger *s)
{
	static const uint8_t no_roles[] = { 0, ODRP_FAR_CALL + 1, 255 };
	struct odrp_far_hello hello = hello_of(ODRP_FAR_ATTACH, 7), bad = hello;
	unsigned role;

	memset(bad.name, 'x', sizeof(bad.name));
	assert_int_equal(stranger_ask(s, &bad, sizeof(bad)), ODRP_FAR_E_SPACE);
	hello.name[0] = 's';
	bad = hello;
	bad.magic ^= 1;
	assert_int_equal(stranger_ask(s, &bad, sizeof(bad)), ODRP_FAR_E_MALFORMED);
	bad = hello;
	bad.version ^= 1;
	assert_int_equal(stranger_ask(s, &bad, sizeof(bad)), ODRP_FAR_E_VERSION);
	bad = hello;
	bad.rights = 4;
	assert_int_equal(stranger_ask(s, &bad, sizeof(bad)), ODRP_FAR_E_MALFORMED);
	bad = hello;
	bad.attach = 0;
	assert_int_equal(stranger_ask(s, &bad, sizeof(bad)), ODRP_FAR_E_MALFORMED);
	bad.attach = hello.attach;
	for (role = 0; role < sizeof(no_roles); role++) {
		bad.role = no_roles[role];
		assert_int_equal(stranger_ask(s, &bad, sizeof(bad)),
				 ODRP_FAR_E_MALFORMED);
	}
	/* A memory node offers no service. */
	bad.role = ODRP_FAR_CALL;
	assert_int_equal(stranger_ask(s, &bad, sizeof(bad)), ODRP_FAR_E_SPACE);
	bad.rights = ODRP_FAR_CALL_MAX + 1;
	assert_int_equal(stranger_ask(s, &bad, sizeof(bad)), ODRP_FAR_E_MALFORMED);
	/* What a stranger knows nothing of. */
	for (role = ODRP_FAR_QUEUE; role <= ODRP_FAR_FENCE; role++) {
		bad = hello_of(role, 9);
		assert_int_equal(stranger_ask(s, &bad, sizeof(bad)), ODRP_FAR_E_ATTACH);
	}
	bad = hello_of(ODRP_FAR_CLAIM, 9);
	bad.number = cpu_to_be32(ODRP_FAR_MAX_CLIENTS);
	assert_int_equal(stranger_ask(s, &bad, sizeof(bad)), ODRP_FAR_E_MALFORMED);
	assert_int_equal(stranger_ask(s, &hello, sizeof(hello)), -1);
}

static void test_strangers(void **state)
{
	char dir[] = "/tmp/far-soft-XXXXXX", words[160];
	struct far_host_map map;
	struct far_nic *nic;
	struct stranger s;

	assert_non_null(mkdtemp(dir));
	snprintf(words, sizeof(words), "soft:nodes=1,dgram=%s/a:%s/b", dir, dir);
	nic = nic_open(words);
	assert_int_equal(nic->ops->host->create(nic, "", "s", SIZE, 0600, &map), 0);
	assert_int_equal(nic->ops->host->publish(nic, &map), 0);
	snprintf(words, sizeof(words), "ip=10.77.0.9/24,dgram=%s/b:%s/a", dir, dir);
	stranger_open(&s, words);
	strange_hellos(&s);
	s.nic->ops->close(s.nic);
	nic->ops->host->unmap(nic, &map);
	nic->ops->close(nic);
	assert_int_equal(rmdir(dir), 0);
}

/* ---- a memory node of another version, and one without spaces ---- */

/* Refuses nr connections by its own version. */
static void refuse_all(struct nic *nic, unsigned nr)
{
	const struct odrp_far_reject rej = {
		.magic = cpu_to_be32(ODRP_FAR_MAGIC),
		.version = cpu_to_be16(ODRP_FAR_VERSION + 1),
		.status = cpu_to_be16(ODRP_FAR_E_VERSION),
	};
	struct pollfd fd = { .fd = nic->event_fd, .events = POLLIN };
	struct nic_event event;

	while (nr) {
		while (nic->ops->event(nic, &event))
			poll(&fd, 1, -1);
		if (event.type != NIC_REQUEST)
			continue;
		nic->ops->reject(nic, event.id, &rej, sizeof(rej));
		nic->ops->release(nic, event.id);
		nr--;
	}
}

static void *ask_other(void *arg)
{
	struct far_nic *nic = arg;
	struct far_nic_space space;
	struct far_peer peer;
	long wrong = 0;

	wrong += nic->ops->attach(nic, "10.77.0.2", "s", FAR_ATTACH_READ, &peer) !=
		 -EPROTONOSUPPORT;
	wrong += nic->ops->look(nic, "10.77.0.2", "s", 0, &space) != -EPROTONOSUPPORT;
	return (void *)wrong;
}

static void test_others(void **state)
{
	char dir[] = "/tmp/far-soft-XXXXXX", words[160];
	struct far_nic_space space;
	struct far_peer peer;
	struct far_nic *nic;
	struct stranger s;
	pthread_t thread;
	void *wrong;

	assert_non_null(mkdtemp(dir));
	snprintf(words, sizeof(words), "soft:ip=10.77.0.9/24,dgram=%s/a:%s/b", dir, dir);
	nic = nic_open(words);
	snprintf(words, sizeof(words), "ip=10.77.0.2/24,dgram=%s/b:%s/a", dir, dir);
	stranger_open(&s, words);
	assert_int_equal(nic->ops->attach(nic, "10.77.0.2", "s", FAR_ATTACH_READ, &peer),
			 -ECONNREFUSED);
	assert_int_equal(nic->ops->look(nic, "10.77.0.2", NULL, 0, &space),
			 -ECONNREFUSED);
	assert_int_equal(s.nic->ops->listen(s.nic, ODRP_FAR_PORT), 0);
	assert_int_equal(pthread_create(&thread, NULL, ask_other, nic), 0);
	refuse_all(s.nic, 2);
	assert_int_equal(pthread_join(thread, &wrong), 0);
	assert_null(wrong);
	s.nic->ops->close(s.nic);
	nic->ops->close(nic);
	assert_int_equal(rmdir(dir), 0);
}

/* ---- a memory node that is gone ---- */

static int add_timeout(void *arg, const char *name, uint64_t value)
{
	if (!strcmp(name, "cm_timeouts"))
		*(uint64_t *)arg += value;
	return 0;
}

/* A node with a known address is given up by connect_ms, before the connection manager does. */
static void test_gone(void **state)
{
	char dir[] = "/tmp/far-soft-XXXXXX", words[160];
	uint64_t timeouts = 0;
	const struct nic_reporter reporter = { .number = add_timeout, .arg = &timeouts };
	struct far_peer peer;
	struct far_nic *nic;
	struct stranger s;
	struct nic *dev;

	assert_non_null(mkdtemp(dir));
	snprintf(words, sizeof(words), "soft:ip=10.77.0.9/24,connect_ms=300,"
		 "dgram=%s/a:%s/b", dir, dir);
	nic = nic_open(words);
	snprintf(words, sizeof(words), "ip=10.77.0.2/24,dgram=%s/b:%s/a", dir, dir);
	stranger_open(&s, words);
	assert_int_equal(nic->ops->attach(nic, "10.77.0.2", "s", FAR_ATTACH_READ, &peer),
			 -ECONNREFUSED);
	s.nic->ops->close(s.nic);
	assert_int_equal(nic->ops->attach(nic, "10.77.0.2", "s", FAR_ATTACH_READ, &peer),
			 -EHOSTUNREACH);
	dev = soft_nic_of(nic)->dev;
	assert_int_equal(dev->ops->report(dev, &reporter), 0);
	assert_int_equal(timeouts, 0);
	nic->ops->close(nic);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conf_bad),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_wrong_key),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_dgram),
		cmocka_unit_test(test_udp),
		cmocka_unit_test(test_udp_several),
		cmocka_unit_test(test_udp_addresses),
		cmocka_unit_test(test_udp_no_address),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_bad_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
