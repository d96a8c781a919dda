/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A vhost port and a guest that calls it; what its tests share. */
#ifndef TEST_SNIC_VHOSTBED_H
#define TEST_SNIC_VHOSTBED_H

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include "guest.h"
#include "snic/net/net-priv.h"

#define BIT(n)		(1ull << (n))
#define PLAIN		(BIT(VIRTIO_F_VERSION_1) |		\
			 BIT(VHOST_USER_F_PROTOCOL_FEATURES))
#define MERGE		(PLAIN | BIT(VIRTIO_NET_F_MRG_RXBUF))
#define EVENT		(MERGE | BIT(VIRTIO_RING_F_EVENT_IDX))
#define HEADER		sizeof(struct virtio_net_hdr_mrg_rxbuf)
#define RX		0
#define TX		1

struct bed {
	char dir[64], path[80];
	struct snic_port *port;
	struct guest g;
};

int bed_setup(void **state);
int bed_teardown(void **state);
/* The port looks for a frame: as a busy NIC, or as one that slept. */
int peek(struct bed *b, const void **ret_frame);
int wake(struct bed *b, const void **ret_frame);
/* The guest sets its card up. */
void up(struct bed *b, uint64_t features);
/* Its monitor goes, and calls again. */
void call_again(struct bed *b);
/* The NIC sends a frame: byte i is nr + i. */
int send_frame(struct bed *b, uint32_t len, unsigned int nr);
/* The guest sends one, with descriptor k: header and frame in one. */
void transmit(struct bed *b, unsigned int k, uint32_t len, unsigned int nr);
void is_frame(const void *frame, uint32_t len, unsigned int nr);
/* n receive buffers of len bytes, from descriptor k on. */
void offer_rx(struct bed *b, unsigned int k, unsigned int n, uint32_t len);
unsigned int open_files(void);

#endif /* TEST_SNIC_VHOSTBED_H */
