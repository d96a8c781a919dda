/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An mlx5 device for tests: takes the back end's commands, checks every field
 * of each against offsets of its own, refuses bits that it does not know, and
 * lets the software NIC do what they mean.  So chains armed on it run.
 *
 * What is wrong fails the test at once.  Whatever the firmware of a device
 * would refuse is refused as it would be: -EREMOTEIO, status and syndrome.
 */
#ifndef TEST_MLX5_FAKE_H
#define TEST_MLX5_FAKE_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "mlx5/dev.h"
#include "snic/snic.h"

#define FAKE_UAR_PAGE	0x00a11ce	/* of the first one */
#define FAKE_UARS	2
/* The peer of queue pairs that a connection manager connects on accepting. */
#define FAKE_BY_CM	0xfffffe
#define FAKE_COUNTERS	5
#define FAKE_EQN	0x17
#define FAKE_SYNDROME	0x5eed5eed

struct fake_obj {
	enum { FAKE_CQ, FAKE_QP, FAKE_COUNTER, FAKE_MKEY } kind;
	uint32_t number;
	unsigned int state;	/* of a QP, as the hardware numbers them */
	/* of its connection */
	bool loopback;
	uint32_t dest_qpn;
	unsigned int access, mtu;
	struct wrc_dbr *dbr;
	unsigned int uar;	/* which */
	bool cd_master, cd_slave_send;
	uint8_t *rq, *rq_copy;
	size_t rq_len;
	uint8_t init[272], rtr[272], rts[272];
	struct fake_obj *next;
};

struct fake_umem {
	uint32_t id;
	uint8_t *va;
	size_t len;
	struct fake_umem *next;
};

/**
 * struct fake - the device
 * @caps:	what it says of itself: general, atomic and RoCE
 * @guid, @firmware: what it is known by
 * @refuse:	the opcode of the next command to refuse, with @status
 * @fail_in:	counts down; the call that finds 1 fails with -ENOMEM
 * @bbs_too_far: how many BBs the context of a queue pair that failed counts
 *		which have not been executed
 * @stale_entries: a queue pair's receive entries are read once, at the first
 *		doorbell of anybody, and never again
 * @pinned:	bytes that have ever been registered, by umems and regions
 * @stale_key, @stale_addr: what is in each entry of a new indirect key
 * @still:	nothing moves while somebody waits
 * @no_stop, @no_destroy: queue pairs are not stopped (2ERR and 2RST are refused); they
 *		are not destroyed, and so no completion queue is
 * @gone:	domains and keys are not destroyed, says -EIO, but by closing
 * @main:	thread of the test, the only one that touches the software NIC: queries of
 *		other threads are handed to it, and wait for fake_serve()
 * @held:	they wait there
 * @early_waits: completion queues have one entry more than they should
 */
struct fake {
	struct snic *snic;
	bool adopted;
	uint64_t now;
	uint8_t caps[5][256];
	struct wrc_mlx5_port port;
	uint8_t mac[6];
	uint8_t guid[8];
	const char *firmware;
	uint8_t roce_version;
	unsigned int refuse, status;
	unsigned int fail_in, calls;
	unsigned int bbs_too_far;
	bool stale_entries, early_waits, still, gone;
	bool no_stop, no_destroy, held;
	pthread_t main;
	uint64_t pinned;
	uint32_t stale_key;
	uint64_t stale_addr;
	unsigned int opened, pds, mrs, counters;
	bool uars[FAKE_UARS];
	struct fake_obj *objs;
	struct fake_umem *umems;
	uint32_t next_umem;
	unsigned int rings;
};

extern struct fake fake;
extern const struct wrc_mlx5_devx fake_devx;

/* A ConnectX-6-like device on Ethernet, whose NIC checks WQE indices. */
void fake_init(void);
/* The same on a NIC that is somebody else's. */
void fake_adopt(struct snic *snic);
/* Does what other threads have asked for, until the descriptor is readable. */
void fake_serve(int fd);
/* All that is asked of other threads fails from now on, or until fake_adopt(). */
void fake_give_up(void);
/* Everything must have been given back. */
void fake_fini(void);
/* Bits of a capability: type as in QUERY_HCA_CAP. */
void fake_cap(unsigned int type, unsigned int off, unsigned int bits,
	      uint64_t value);
struct fake_obj *fake_qp(uint32_t qpn);
/* under.c: another thread asks the next card, which needs fake_serve(). */
extern bool under_threads;
/* Lets the NIC run until nothing moves. */
void fake_run(void);
/* Bits of a mailbox. */
uint64_t fake_bits(const uint8_t *box, unsigned int off, unsigned int bits);

#endif /* TEST_MLX5_FAKE_H */
