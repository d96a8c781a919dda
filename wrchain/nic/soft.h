/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * nic.h on the software NIC, and the words that configure it.
 *
 * Several threads may call a NIC that has a thread of its own (nic_soft_open()) at the
 * same time: each call takes place between two of the NIC's steps.  No other call may
 * run beside close(), and from freeze() to thaw() only the thread that has called
 * freeze() may call.
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
	NIC_SOFT_UDP,		/* local and remote are ADDRESS:PORT, as in udp; remote
				 * is empty: each sender to local is an end of its own */
	NIC_SOFT_JOINED,	/* joined is a port that is open already */
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
 * @mac_given:	the MAC address was given; else it is derived from the IP address
 * @mtu_given:	the MTU was given; else it is that of the network interfaces, if any
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
 * Parses the words after "soft:".  On -EINVAL why has a sentence with the word and what
 * was expected.
 */
int nic_soft_parse(const char *words, struct nic_soft_opts *ret_opts,
		   char why[NIC_SOFT_WHY_MAX]);
/* The same, but the words need not name a port: the caller adds ports. */
int nic_soft_parse_joined(const char *words, struct nic_soft_opts *ret_opts,
			  char why[NIC_SOFT_WHY_MAX]);
/*
 * Opens the ports and the NIC, and starts the NIC's thread.  On an error (-errno) why has
 * a sentence.  Takes ownership of ports of kind NIC_SOFT_JOINED, also on an error.
 */
int nic_soft_open(const struct nic_soft_opts *opts, struct nic **ret_nic,
		  char why[NIC_SOFT_WHY_MAX]);
/*
 * Opens the only port, which is NIC_SOFT_UDP with a remote end, and asks there for an IP
 * address; sets it in opts, and the port, which is NIC_SOFT_JOINED afterwards.  On an
 * error (-errno) why has a sentence.
 */
int nic_soft_ask_address(struct nic_soft_opts *opts, unsigned int timeout_ms,
			 char why[NIC_SOFT_WHY_MAX]);
/*
 * Wraps a software NIC that the caller owns and steps, in the thread that calls this
 * table.  close() does not free snic.  -ENOMEM.
 */
int nic_soft_adopt(struct snic *snic, const struct snic_config *cfg,
		   struct nic **ret_nic);

struct soft_cq;

/*
 * Has told() called whenever the completion queue has new entries, until cq_destroy().
 * The NIC's thread calls told(), or a thread that calls the NIC, with the NIC's lock held:
 * told() must neither call the NIC nor wait.  From now on the caller takes new entries
 * with nic_soft_cq_take() instead of cq_poll().  -ENOENT: no such completion queue;
 * -EOPNOTSUPP: the NIC has no thread of its own.
 */
int nic_soft_cq_notify(struct nic *nic, uint32_t cqn, void (*told)(void *arg),
		       void *arg, struct soft_cq **ret_cq);
/*
 * Takes the next entry for which told() has been called; false if there is none.  Does
 * not take the NIC's lock.  Only one thread at a time may call this, and the caller must
 * not post more than the completion queue has room for: entries would be overwritten.
 */
bool nic_soft_cq_take(struct soft_cq *cq, struct wrc_cqe *ret_cqe);
/* The same as qp_doorbell(), but does not wait for the NIC's lock, and reports no error. */
void nic_soft_ring(struct nic *nic, uint32_t qpn, uint16_t pi);
/* snic_rt_note(), snic_rt_push() and snic_helper_new() of a NIC with a thread of its own. */
bool nic_soft_note(struct nic *nic, uint32_t qpn, uint16_t pi);
void nic_soft_push(struct nic *nic);
int nic_soft_helper(struct nic *nic, int wake_fd, struct snic_helper **ret_helper);

#endif /* NIC_SOFT_H */
