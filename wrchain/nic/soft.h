/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * nic.h on the software NIC, and the words that configure it.
 *
 * One that runs in a thread of its own (nic_soft_open()) may be called from
 * several threads at once: each call takes the NIC between two of its steps.
 * Only close() is alone, and from freeze() to thaw() only that thread calls.
 */
#ifndef NIC_SOFT_H
#define NIC_SOFT_H

#include <net/if.h>
#include <snic/snic.h>
#include "nic.h"

#define NIC_SOFT_MAX_PORTS	64
#define NIC_SOFT_PATH_MAX	108	/* sun_path */

enum nic_soft_port_kind {
	NIC_SOFT_DGRAM,		/* local and remote are socket paths */
	NIC_SOFT_VHOST,		/* local is the path to listen at */
	NIC_SOFT_STREAM,	/* local is the path to listen at */
	NIC_SOFT_PACKET,	/* local is the interface's name */
	NIC_SOFT_UDP,		/* local and remote are ADDRESS:PORT, and udp; remote
				 * is empty if whoever sends is at an end of his own */
	NIC_SOFT_JOINED,	/* joined: one that is open already */
};

struct nic_soft_port {
	enum nic_soft_port_kind kind;
	struct snic_port *joined;
	char local[NIC_SOFT_PATH_MAX];
	char remote[NIC_SOFT_PATH_MAX];
	struct snic_udp_addr udp[2];	/* local, remote */
};

/**
 * struct nic_soft_opts - what --nic soft:... says
 * @mac_given, @mtu_given:	else they are derived
 */
struct nic_soft_opts {
	struct snic_config nic;
	bool mac_given, mtu_given;
	struct snic_faults faults;
	struct snic_forge forge;
	uint32_t spin_us;
	unsigned int nr_ports;
	struct nic_soft_port ports[NIC_SOFT_MAX_PORTS];
};

#define NIC_SOFT_WHY_MAX 384

/*
 * Parses the words after "soft:".  -EINVAL with a sentence in why that names
 * the word and what was expected.
 */
int nic_soft_parse(const char *words, struct nic_soft_opts *ret_opts,
		   char why[NIC_SOFT_WHY_MAX]);
/* The same, for who adds ports himself: words need not name any. */
int nic_soft_parse_joined(const char *words, struct nic_soft_opts *ret_opts,
			  char why[NIC_SOFT_WHY_MAX]);
/*
 * Opens ports and NIC and starts its thread.  why: as above.  Ports of kind
 * NIC_SOFT_JOINED are the NIC's from here on, also when it fails.
 */
int nic_soft_open(const struct nic_soft_opts *opts, struct nic **ret_nic,
		  char why[NIC_SOFT_WHY_MAX]);
/*
 * Around a software NIC that the caller steps, in the thread that calls the
 * agent; close() leaves it alone.
 */
int nic_soft_adopt(struct snic *snic, const struct snic_config *cfg,
		   struct nic **ret_nic);

struct soft_cq;

/*
 * told() is called whenever the completion queue has got entries; by the NIC's thread,
 * or by one that calls the NIC, and while the NIC is held: it may not call it, nor
 * wait.  Until cq_destroy().  From now on its entries are taken with
 * nic_soft_cq_take(), not with cq_poll().  -ENOENT; -EOPNOTSUPP: the NIC has no thread
 * of its own.
 */
int nic_soft_cq_notify(struct nic *nic, uint32_t cqn, void (*told)(void *arg),
		       void *arg, struct soft_cq **ret_cq);
/*
 * The next entry, if told() has been called for it; without the NIC, which goes on
 * meanwhile.  One caller at a time, who sees to it that no entry is overwritten that he
 * has not taken.
 */
bool nic_soft_cq_take(struct soft_cq *cq, struct wrc_cqe *ret_cqe);
/* qp_doorbell(), which does not wait for the NIC either. */
void nic_soft_ring(struct nic *nic, uint32_t qpn, uint16_t pi);

#endif /* NIC_SOFT_H */
