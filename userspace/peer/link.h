/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A call needs these operations of a connection, which a NIC, or a test, supplies. None
 * of them waits for the peer.
 */
#ifndef FAR_PEER_LINK_H
#define FAR_PEER_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/types.h>

enum far_news_kind {
	FAR_NEWS_NONE,		/* nothing has happened */
	FAR_NEWS_ACCEPTED,	/* the peer has accepted the connection request */
	FAR_NEWS_REJECTED,	/* the peer has rejected it */
	FAR_NEWS_MESSAGE,
	FAR_NEWS_BROKEN,	/* no answer, or the connection has ended */
};

/**
 * struct far_news - what has happened to a connection
 * @err:	of FAR_NEWS_BROKEN, as -errno
 * @local_ip, @peer_qpn: of FAR_NEWS_ACCEPTED: our address, the peer's queue pair
 * @len, @bytes: private data, or the message. Not trusted; a transport may append zeros to
 *		private data
 */
struct far_news {
	enum far_news_kind kind;
	int err;
	__be32 local_ip;
	uint32_t peer_qpn;
	size_t len;
	uint8_t bytes[UINT8_MAX];
};

struct far_link;

struct far_link_ops {
	/* Makes a queue pair, which SENDs messages or not, and sets link->qpn. */
	int (*open)(struct far_link *link, bool messages);
	/* Sends the connection request of that queue pair. */
	int (*connect)(struct far_link *link, const void *priv, size_t len);
	int (*send)(struct far_link *link, const void *bytes, size_t len);
	/* Takes the next news of the connection. */
	void (*poll)(struct far_link *link, struct far_news *ret_news);
	/* Ends the connection and destroys the queue pair; no effect if there is none. */
	void (*close)(struct far_link *link);
	/* In ns, of any clock that does not go back. */
	uint64_t (*now)(struct far_link *link);
};

/**
 * struct far_link - one end of a connection to a peer; part of a larger struct
 * @ip:		of the peer, big endian
 * @connect_ns:	how long a call waits for the answer to a connection request
 */
struct far_link {
	const struct far_link_ops *ops;
	__be32 ip;
	uint64_t connect_ns;
	uint32_t qpn;
};

#endif
