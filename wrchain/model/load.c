// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Many requests at once.  A closed network: each request waits in its own loop
 * queue and at the stations that all share, and is sent again when its answer
 * has come.
 */
#include "model.h"

#define ROUNDS 20000
#define SETTLED 1e-9
#define QPS_PER_QUEUE 2		/* client and loop */

const char *wrc_station_name(enum wrc_station station)
{
	static const char *const names[WRC_NR_STATIONS] = {
		[WRC_ST_QUEUE] = "loop queue",
		[WRC_ST_LINK_IN] = "link in",
		[WRC_ST_LINK_OUT] = "link out",
		[WRC_ST_PCIE_IN] = "pcie in",
		[WRC_ST_PCIE_OUT] = "pcie out",
		[WRC_ST_WQE] = "wqe unit",
		[WRC_ST_ATOMIC] = "atomic unit",
		[WRC_ST_HOT] = "ring counter",
	};

	return names[station];
}

/* How likely it is that a QP's context is not in the NIC. */
static double miss(const struct wrc_params *p, double qps)
{
	return qps > p->v[WRC_P_QP_CACHE] ? 1 - p->v[WRC_P_QP_CACHE] / qps : 0;
}

void wrc_model_demand(const struct wrc_cost *cost, const struct wrc_params *p,
		      unsigned int queues, double ret_ns[WRC_NR_STATIONS])
{
	double link = p->v[WRC_P_LINK] / 8;
	double pcie = p->v[WRC_P_PCIE] * p->v[WRC_P_DLL];
	unsigned int qps = cost->busy_ns > 0 ? QPS_PER_QUEUE : 1;
	double misses = qps * miss(p, (double)qps * queues);
	double context = misses * (p->v[WRC_P_QP_BYTES] + p->v[WRC_P_TLP]);

	ret_ns[WRC_ST_QUEUE] = cost->busy_ns + misses * p->v[WRC_P_FETCH];
	ret_ns[WRC_ST_LINK_IN] = cost->link_in / link;
	ret_ns[WRC_ST_LINK_OUT] = cost->link_out / link;
	ret_ns[WRC_ST_PCIE_IN] = (cost->pcie_in + context) / pcie;
	ret_ns[WRC_ST_PCIE_OUT] = (cost->pcie_out + context) / pcie;
	ret_ns[WRC_ST_WQE] = 1e3 * (cost->wrs + cost->controls + cost->pads) /
			     p->v[WRC_P_WQE_RATE];
	ret_ns[WRC_ST_ATOMIC] = 1e3 * cost->atomics / p->v[WRC_P_ATOMIC_RATE];
	ret_ns[WRC_ST_HOT] = cost->hot_atomics * p->v[WRC_P_ATOMIC_SAME];
}

double wrc_model_saturation(const struct wrc_cost *cost,
			    const struct wrc_params *p,
			    enum wrc_station *ret_first)
{
	double ns[WRC_NR_STATIONS];
	unsigned int i, first = WRC_ST_LINK_IN;

	wrc_model_demand(cost, p, 1, ns);
	for (i = WRC_ST_LINK_IN; i < WRC_ST_HOT; i++)
		if (ns[i] > ns[first])
			first = i;
	*ret_first = (enum wrc_station)first;
	return 1e3 / ns[first];
}

/* How many of a station there are: a queue's, a CNode's ring, the NIC's. */
static unsigned int stations(unsigned int i, unsigned int cnodes,
			     unsigned int queues)
{
	return i == WRC_ST_QUEUE ? cnodes * queues :
	       i == WRC_ST_HOT ? cnodes : 1;
}

/* Time in all stations, when so many requests per ns pass. */
static double residence(const double ns[WRC_NR_STATIONS], double rate,
			unsigned int cnodes, unsigned int queues,
			unsigned int window, double *wait)
{
	double all = (double)cnodes * queues * window, sum = 0;
	unsigned int i;

	for (i = 0; i < WRC_NR_STATIONS; i++) {
		unsigned int nr = stations(i, cnodes, queues);
		double others = all / nr, share = rate / nr;

		/* An arriving request sees what the others have there. */
		wait[i] = ns[i] * (1 + share * wait[i] * (others - 1) / others);
		sum += wait[i];
	}
	return sum;
}

void wrc_model_load(const struct wrc_cost *cost, const struct wrc_params *p,
		    unsigned int cnodes, unsigned int queues,
		    unsigned int window, struct wrc_load *ret_load)
{
	double ns[WRC_NR_STATIONS], wait[WRC_NR_STATIONS];
	double all = (double)cnodes * queues * window, rate = 0, think, r = 0;
	double alone = 0;
	unsigned int i, round;

	wrc_model_demand(cost, p, cnodes * queues, ns);
	for (i = 0; i < WRC_NR_STATIONS; i++) {
		wait[i] = ns[i];
		alone += ns[i];
	}
	/*
	 * With nobody else there it is the latency of one, of which stations
	 * are part.  (Negative, if they work for it at the same time: then it is
	 * what they save.)
	 */
	think = cost->latency_ns - alone + ns[WRC_ST_QUEUE] - cost->busy_ns;
	for (round = 0; round < ROUNDS; round++) {
		double next;

		r = residence(ns, rate, cnodes, queues, window, wait);
		next = all / (think + r);
		if (next - rate < SETTLED * next && rate - next < SETTLED * next)
			break;
		rate += (next - rate) / 2;
	}
	ret_load->mops = rate * 1e3;
	ret_load->latency_ns = think + r;
	ret_load->first = WRC_ST_QUEUE;
	for (i = 0; i < WRC_NR_STATIONS; i++) {
		ret_load->use[i] = rate * ns[i] / stations(i, cnodes, queues);
		if (ret_load->use[i] > ret_load->use[ret_load->first])
			ret_load->first = (enum wrc_station)i;
	}
}
