/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For the tests of the connection manager: two hosts, a listener on the second, and a
 * tap that loses chosen messages.
 */
#ifndef TEST_BED_CM_H
#define TEST_BED_CM_H

#include "host.h"
#include "snic/cm/cm-priv.h"

#define PORT	7489

struct cmbed {
	struct snic_vt vt;
	struct host a, b;		/* a connects, b listens */
	uint32_t listener;
	/* The nth message (from 0) with this attribute is lost if bit n is
	 * set; from the 64th on, as the 64th. */
	uint16_t lose_attr;
	uint64_t lose_mask;
	unsigned int seen;
};

struct pair {
	uint32_t qa, qb, ia, ib;
};

void cmbed_open(struct cmbed *t);
/* The first one, after it was closed. */
void cmbed_open_a(struct cmbed *t, const struct snic_config *cfg);
void cmbed_close(struct cmbed *t);
void cmbed_lose(struct cmbed *t, uint16_t attr, uint64_t mask);
void cmbed_run(struct cmbed *t, uint64_t ns);
/* The next event of a station, within ns; its type is `type`. */
void expect(struct cmbed *t, struct host *s, uint64_t ns,
	    enum snic_cm_event_type type, struct snic_cm_event *ret_ev);
/* The next event, whatever it is; false: none within ns. */
bool next_event(struct cmbed *t, struct host *s, uint64_t ns,
		struct snic_cm_event *ret_ev);
void expect_none(struct host *s);
enum snic_qp_state qp_state(struct host *s, uint32_t qpn);

uint32_t connect_a(struct cmbed *t, uint32_t qpn, const void *priv,
		   uint8_t priv_len);
int accept_b(struct cmbed *t, uint32_t id, uint32_t qpn, const void *priv,
	     uint8_t priv_len);
void establish(struct cmbed *t, struct pair *ret_pair);
/* Releases the ids, destroys the QPs, and waits until nothing is left. */
void tear_down(struct cmbed *t, struct pair *p);
void expect_no_connections(struct cmbed *t);

/* The MAD of a frame, or NULL: it has none. */
const uint8_t *mad_of(const uint8_t *frame, size_t len);
/* The latest MAD that a station sent, parsed; asserts its attribute. */
void last_sent(struct host *s, uint16_t attr, struct snic_cm_msg *ret_msg);
/* A MAD from 10.0.0.host, MAC 02:00:00:00:00:host, as if from the wire. */
void inject_mad(struct host *to, uint8_t host, const uint8_t *mad,
		size_t len);
void inject(struct host *to, uint8_t host, const struct snic_cm_msg *msg);
/* A REQ from a.  priv belongs to the message. */
struct snic_cm_msg make_req(uint8_t from, uint8_t to, uint32_t comm_id,
			    uint32_t qpn, uint8_t *priv);

#endif /* TEST_BED_CM_H */
