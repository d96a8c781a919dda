/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A cost model of a ConnectX-5 class NIC: from a linked program to what it
 * costs.  Pure functions: no clock, no device, no state.  Whatever comes from
 * here is to be called *model* where it is printed.
 *
 * Latency.  The paper (section 6): where WRs patch later WRs, the NIC fetches
 * and executes them one by one.  So each WQE behind the head costs one fetch, a
 * READ or atomic besides its own round trip, a WRITE nothing until somebody
 * WAITs for it.  (BATCH is for NICs that could do better.)  Around this chain is
 * what a one-sided access takes, and once the handling of a request and of its
 * receive entry.
 *
 * Throughput.  Every loop queue is a server of its own; all queues share the
 * link, PCIe and the units of the NIC.  Demands are counted from the program;
 * queueing is mean value analysis (Schweitzer's approximation).
 */
#ifndef WRC_MODEL_H
#define WRC_MODEL_H

#include "../core/prog.h"

/*
 * name, unit, value, fitted, source.  Those that are fitted come out of
 * wrc_model_fit(), rounded.
 */
#define WRC_PARAMS(X)							\
	X(RTT, "ns", 2284.1, true,					\
	  "Fig. 11, one-sided 4 KB 2.9 us, less the page's own time")	\
	X(FETCH, "ns", 386.3, true,					\
	  "Fig. 12, StoreDecision: a CAS and a WRITE, 1.9 us")		\
	X(READ, "ns", 499.4, true,					\
	  "Fig. 12, EndianSwap: seven READs, 6.2 us")			\
	X(ATOMIC, "ns", 1127.4, true,					\
	  "Fig. 12, CalcTTAddr: a FAA and a READ, 2.4 us")		\
	X(RECV, "ns", 268.6, true,					\
	  "Fig. 11, unmapped store 9.4 us: what is left for the request") \
	X(BATCH, "WQEs", 1, false,					\
	  "a fetch brings, where WQEs are patched: paper, section 6")	\
	X(LINK, "Gb/s", 100, false, "paper, section 5.1")		\
	X(MTU, "B", 4096, false, "InfiniBand, largest; assumed")	\
	X(PCIE, "GB/s", 15.754, false,					\
	  "Gen3 x16: 16 lanes * 8 GT/s * 128/130 (ConnectX-5 manual)")	\
	X(DLL, "share", 0.902, false,					\
	  "left by ACK, flow control, SKIP at x16: pcie-bench's model")	\
	X(TLP, "B", 24, false,						\
	  "around a write or a read's request: pcie-bench's model")	\
	X(CPL, "B", 20, false,						\
	  "around a completion with data: pcie-bench's model")		\
	X(MPS, "B", 256, false, "payload of a PCIe packet; usual in servers") \
	X(MRRS, "B", 512, false, "a PCIe read asks for; usual in servers") \
	X(WQE_RATE, "M/s", 45, false,					\
	  "100 Gb/s ConnectX-6, small verbs: SMART, OSDI 2023, sec. 3.1")	\
	X(ATOMIC_RATE, "M/s", 4.5, false,				\
	  "\"an order of magnitude lower\": paper, section 5.3")	\
	X(ATOMIC_SAME, "ns", 386, false,				\
	  "same word, one after another: a PCIe round trip; assumed = FETCH") \
	X(QP_CACHE, "QPs", 704, false,					\
	  "ConnectX-5 READs drop behind it: FLOCK, Fig. 2.2")		\
	X(QP_BYTES, "B", 512, false,					\
	  "fetched, and as many written back, per QP missed; assumed")	\
	X(UMR, "ns", 1127.4, false,					\
	  "changes entries of a key, and is done; not known, assumed = ATOMIC") \
	X(KSM, "ns", 386.3, false,					\
	  "an entry of an indirect key comes over PCIe; assumed = FETCH")

enum wrc_param {
#define WRC_PARAM_ENUM(name, unit, value, fitted, source) WRC_P_ ## name,
	WRC_PARAMS(WRC_PARAM_ENUM)
#undef WRC_PARAM_ENUM
	WRC_NR_PARAMS,
};

struct wrc_params {
	double v[WRC_NR_PARAMS];
};

struct wrc_param_def {
	const char *name, *unit, *source;
	double value;
	bool fitted;
};

extern const struct wrc_param_def wrc_param_defs[WRC_NR_PARAMS];

void wrc_params_init(struct wrc_params *ret_params);

/* ---- what a program is made of ---------------------------------------------- */

/**
 * struct wrc_cost - counts of one request, and the model's times of it
 * @wrs:	that move or change memory, the answer too; all, and those that
 *		run before the answer
 * @controls:	WAIT and SEND_EN; the same
 * @pads:	NOPs
 * @wqe_bytes:	send WQEs fetched, in whole basic blocks
 * @fetches:	dependent WQE fetches before the answer, one after another
 * @copies:	pages moved inside the node
 * @pcie_in, @pcie_out:	bytes over PCIe to the NIC, and from it, with headers
 * @link_in, @link_out:	the same over the wire
 * @hot_atomics:	on a word that all queues share
 * @chain_ns:	from the request's CQE to the answer's WQE
 * @busy_ns:	how long the loop queue is taken by one request
 * @latency_ns:	what the client sees when nobody else is there
 * @slot_ns:	until it may use the slot on any queue: the same, but of a load
 *		whose page comes before its answer
 */
struct wrc_cost {
	unsigned int wrs, wrs_path, controls, controls_path, pads;
	unsigned int waits, send_ens, atomics, hot_atomics, sges, recv_sges;
	unsigned int wqe_bytes, fetches, copies, words, request_bytes;
	double pcie_in, pcie_out, link_in, link_out;
	double chain_ns, busy_ns, latency_ns, slot_ns;
};

void wrc_model_cost(const struct wrc_prog *prog, const struct wrc_params *p,
		    struct wrc_cost *ret_cost);
/* A 4 KB READ by the client, for comparison. */
void wrc_model_onesided(const struct wrc_params *p, struct wrc_cost *ret_cost);
/*
 * The same by an indirect key, whose entry comes from memory each time; or a
 * WRITE.
 */
void wrc_model_keyed(bool read, const struct wrc_params *p,
		     struct wrc_cost *ret_cost);
/* What one WR of that opcode adds to a chain that waits for READs and atomics. */
double wrc_model_step_ns(__u8 op, const struct wrc_params *p);

/* ---- many requests ------------------------------------------------------------ */

enum wrc_station {
	WRC_ST_QUEUE,		/* the request's own loop queue */
	WRC_ST_LINK_IN,
	WRC_ST_LINK_OUT,
	WRC_ST_PCIE_IN,
	WRC_ST_PCIE_OUT,
	WRC_ST_WQE,
	WRC_ST_ATOMIC,
	WRC_ST_HOT,		/* the word all queues of a CNode count in */
	WRC_NR_STATIONS,
};

const char *wrc_station_name(enum wrc_station station);

/**
 * struct wrc_load - so many CNodes and queues of each, with so many requests
 * outstanding in each queue
 * @mops:	requests per us
 * @latency_ns:	of each, with its waiting
 * @use:	share of time a station is busy
 * @first:	the busiest one
 */
struct wrc_load {
	double mops, latency_ns;
	double use[WRC_NR_STATIONS];
	enum wrc_station first;
};

/* ns of each station that one request takes; queues: QP contexts compete. */
void wrc_model_demand(const struct wrc_cost *cost, const struct wrc_params *p,
		      unsigned int queues, double ret_ns[WRC_NR_STATIONS]);
void wrc_model_load(const struct wrc_cost *cost, const struct wrc_params *p,
		    unsigned int cnodes, unsigned int queues,
		    unsigned int window, struct wrc_load *ret_load);
/*
 * The whole node: as many requests, and CNodes, as could ever help, with QP
 * contexts in the NIC.
 */
double wrc_model_saturation(const struct wrc_cost *cost,
			    const struct wrc_params *p,
			    enum wrc_station *ret_first);

/* ---- against the paper ---------------------------------------------------------- */

/**
 * struct wrc_obs - a number of the paper, and the model's
 * @fitted:	the parameters were chosen for it
 */
struct wrc_obs {
	const char *name, *unit, *where;
	double paper, model;
	bool fitted;
};

#define WRC_NR_OBS 13

/* What the paper measured of a program, in us; 0: it does not say. */
double wrc_model_paper_us(enum odrp_wire_chain chain, enum wrc_variant variant);

/* 0 or -errno of wrc_any_build(). */
int wrc_model_observe(const struct wrc_params *p,
		      struct wrc_obs ret_obs[WRC_NR_OBS]);
/* Chooses the fitted parameters.  -EDOM: they cannot be told apart. */
int wrc_model_fit(struct wrc_params *params);

#endif /* WRC_MODEL_H */
