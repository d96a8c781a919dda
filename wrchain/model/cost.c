// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What one request costs: counts, bytes, and the walk along its chain.  See
 * model.h.
 */
#include "../core/opdef.h"
#include "model.h"

#define PAGE ((double)ODRP_WIRE_PAGE_SIZE)
#define GBIT 8.0		/* Gb/s / GBIT = bytes per ns */
#define CQE_BYTES 64

/* InfiniBand: LRH 8, BTH 12, ICRC 4, VCRC 2; and by packet RETH, ImmDt, AETH. */
#define PKT_BYTES 26
#define RETH_BYTES 16
#define IMM_BYTES 4
#define AETH_BYTES 4

#define WRC_PARAM_DEF(name, unit, value, fitted, source)		\
	[WRC_P_ ## name] = { #name, unit, source, value, fitted },

const struct wrc_param_def wrc_param_defs[WRC_NR_PARAMS] = {
	WRC_PARAMS(WRC_PARAM_DEF)
};

void wrc_params_init(struct wrc_params *ret_params)
{
	for (unsigned int i = 0; i < WRC_NR_PARAMS; i++)
		ret_params->v[i] = wrc_param_defs[i].value;
}

static double pcie_rate(const struct wrc_params *p)
{
	return p->v[WRC_P_PCIE] * p->v[WRC_P_DLL];	/* bytes per ns */
}

static double link_rate(const struct wrc_params *p)
{
	return p->v[WRC_P_LINK] / GBIT;
}

static unsigned int pieces(double len, double piece)
{
	unsigned int n = len / piece;

	return n * piece < len ? n + 1 : n;
}

/* ---- bytes -------------------------------------------------------------------- */

/* The NIC reads memory: requests go out, data come in. */
static void pcie_read(struct wrc_cost *c, const struct wrc_params *p,
		      double len)
{
	if (len <= 0)
		return;
	c->pcie_out += pieces(len, p->v[WRC_P_MRRS]) * p->v[WRC_P_TLP];
	c->pcie_in += len + pieces(len, p->v[WRC_P_MPS]) * p->v[WRC_P_CPL];
}

static void pcie_write(struct wrc_cost *c, const struct wrc_params *p,
		       double len)
{
	if (len > 0)
		c->pcie_out += len +
			       pieces(len, p->v[WRC_P_MPS]) * p->v[WRC_P_TLP];
}

static double wire_bytes(const struct wrc_params *p, double len, double extra)
{
	unsigned int n = pieces(len, p->v[WRC_P_MTU]);

	return len + extra + (n ? n : 1) * PKT_BYTES;
}

static unsigned int data_len(const struct wrc_insn *i)
{
	unsigned int j, len = 0;

	for (j = 0; j < i->nr_sge; j++)
		len += i->sge[j].len;
	return len;
}

/* Both ends of a WR are this NIC's, except those of the client queue. */
static void insn_bytes(struct wrc_cost *c, const struct wrc_params *p,
		       const struct wrc_insn *i)
{
	__u8 flags = wrc_opdef(i->op)->flags;
	unsigned int j;

	pcie_read(c, p, i->nr_bb * WRC_WQE_BB);
	if (i->flags & WRC_I_SIGNALED)
		pcie_write(c, p, CQE_BYTES);
	for (j = 0; j < i->nr_sge; j++) {
		if (flags & WRC_OP_GATHER)
			pcie_read(c, p, i->sge[j].len);
		if (flags & WRC_OP_SCATTER)
			pcie_write(c, p, i->sge[j].len);
	}
	if (i->op == WRC_WQE_UMR)
		pcie_write(c, p, sizeof(struct wrc_wqe_xlt));
	if (i->queue == WRC_CLIENT)
		return;
	if (flags & WRC_OP_RREAD)
		pcie_read(c, p, data_len(i));
	if (flags & WRC_OP_RWRITE)
		pcie_write(c, p, data_len(i));
}

/* The request comes: its entry, its pieces, its CQE; and all of the wire. */
static void request_bytes(struct wrc_cost *c, const struct wrc_prog *prog,
			  const struct wrc_params *p, unsigned int answer_len)
{
	unsigned int i;

	pcie_read(c, p, prog->nr_scatter * sizeof(struct wrc_wqe_data));
	for (i = 0; i < prog->nr_scatter; i++)
		pcie_write(c, p, prog->scatter[i].len);
	pcie_write(c, p, CQE_BYTES);
	/* Each message is acknowledged. */
	c->link_in += wire_bytes(p, c->request_bytes, 0) +
		      wire_bytes(p, 0, AETH_BYTES);
	c->link_out += wire_bytes(p, answer_len, RETH_BYTES + IMM_BYTES) +
		       wire_bytes(p, 0, AETH_BYTES);
}

/* ---- counts ------------------------------------------------------------------- */

static bool is_control(const struct wrc_insn *i)
{
	return i->op == WRC_WQE_WAIT || i->op == WRC_WQE_SEND_EN;
}

static bool is_atomic(const struct wrc_insn *i)
{
	return (wrc_opdef(i->op)->flags & WRC_OP_ATOMIC) == WRC_OP_ATOMIC;
}

/* Lets the client queue run. */
static bool lets_go(const struct wrc_prog *prog, unsigned int insn)
{
	const struct wrc_insn *i = &prog->insn[insn];

	return i->op == WRC_WQE_SEND_EN && i->target < prog->nr_insn &&
	       prog->insn[i->target].queue == WRC_CLIENT;
}

/* The SEND_EN that lets the answer go, or a page that comes before it. */
static unsigned int go_of(const struct wrc_prog *prog)
{
	unsigned int i;

	for (i = 0; i < prog->nr_insn; i++)
		if (lets_go(prog, i))
			return i;
	return prog->nr_insn - 1;
}

/* Does the answer wait for it? */
static bool is_on_path(const struct wrc_prog *prog, unsigned int insn,
		       unsigned int go)
{
	return insn <= go || (prog->insn[insn].queue == WRC_CLIENT &&
			      insn <= prog->insn[go].target);
}

static void insn_count(struct wrc_cost *c, const struct wrc_insn *i,
		       bool on_path)
{
	c->wqe_bytes += i->nr_bb * WRC_WQE_BB;
	c->sges += i->nr_sge;
	c->waits += i->op == WRC_WQE_WAIT;
	c->send_ens += i->op == WRC_WQE_SEND_EN;
	if (is_atomic(i)) {
		c->atomics++;
		c->hot_atomics += i->remote.space == WRC_SP_HEAD ||
				  i->remote.space == WRC_SP_TAIL;
	}
	if (is_control(i)) {
		c->controls++;
		c->controls_path += on_path;
	} else if (i->op == WRC_WQE_NOP) {
		c->pads++;
	} else {
		c->wrs++;
		c->wrs_path += on_path;
	}
	if (i->queue == WRC_LOOP && data_len(i) == ODRP_WIRE_PAGE_SIZE)
		c->copies++;
}

/* ---- time --------------------------------------------------------------------- */

static double page_ns(const struct wrc_params *p)
{
	return PAGE / link_rate(p) + PAGE / pcie_rate(p);
}

static double own_ns(const struct wrc_insn *i, const struct wrc_params *p)
{
	__u8 flags = wrc_opdef(i->op)->flags;
	double move = data_len(i) / pcie_rate(p);

	if (is_atomic(i))
		return p->v[WRC_P_ATOMIC];
	if (i->op == WRC_WQE_UMR)
		return p->v[WRC_P_UMR];
	if (flags & WRC_OP_REMOTE)	/* READ or WRITE: there, and known */
		return p->v[WRC_P_READ] + move;
	return 0;
}

double wrc_model_step_ns(__u8 op, const struct wrc_params *p)
{
	struct wrc_insn i = { .op = op };
	__u8 flags = wrc_opdef(op)->flags;

	return p->v[WRC_P_FETCH] +
	       (flags & (WRC_OP_RREAD | WRC_OP_KEY) ? own_ns(&i, p) : 0);
}

/* WQEs that the same SEND_EN lets run can come with one fetch. */
static bool ends_group(const struct wrc_prog *prog, unsigned int insn)
{
	for (unsigned int i = 0; i < insn; i++)
		if (prog->insn[i].op == WRC_WQE_SEND_EN &&
		    prog->insn[i].target == insn)
			return true;
	return false;
}

/*
 * Lets the client queue run from *next to `upto`, from t on; somebody may wait
 * for each of them.
 */
static void run_client(const struct wrc_prog *prog, const struct wrc_params *p,
		       unsigned int *next, unsigned int upto, double t,
		       double *done)
{
	for (; *next <= upto; (*next)++) {
		t += p->v[WRC_P_FETCH];
		/* Until the client has acknowledged it. */
		done[*next] = t + p->v[WRC_P_RTT] +
			      data_len(&prog->insn[*next]) * page_ns(p) / PAGE;
	}
}

/*
 * Along the loop queue, from the moment its head's WAIT is over.  The head has
 * been enabled by the instance before and lies in the NIC.
 */
static void walk(struct wrc_cost *c, const struct wrc_prog *prog,
		 const struct wrc_params *p, unsigned int go)
{
	double answered = 0;

	double done[WRC_MAX_INSN] = { 0 }, t = 0, fetch = p->v[WRC_P_FETCH];
	unsigned int i, left = 0, client = prog->nr_insn;

	while (client && prog->insn[client - 1].queue == WRC_CLIENT)
		client--;
	for (i = prog->nr_head; i < prog->nr_insn; i++) {
		const struct wrc_insn *insn = &prog->insn[i];

		if (insn->queue != WRC_LOOP)
			break;
		if (!left) {
			t += fetch;
			c->fetches += i <= go;
			left = p->v[WRC_P_BATCH] < 1 ? 1 : p->v[WRC_P_BATCH];
		}
		left = ends_group(prog, i) ? 0 : left - 1;
		if (insn->op == WRC_WQE_WAIT && insn->target < prog->nr_insn &&
		    done[insn->target] > t)
			t = done[insn->target];
		done[i] = t + own_ns(insn, p);
		if (wrc_opdef(insn->op)->flags & (WRC_OP_RREAD | WRC_OP_KEY))
			t = done[i];
		if (i == go)
			c->chain_ns = t;
		if (lets_go(prog, i)) {
			run_client(prog, p, &client, insn->target, t, done);
			answered = t;
		}
	}
	c->slot_ns = answered - c->chain_ns;
	/* Under load the next head has to be fetched, too. */
	c->busy_ns = t + prog->nr_head * fetch;
}

void wrc_model_cost(const struct wrc_prog *prog, const struct wrc_params *p,
		    struct wrc_cost *ret_cost)
{
	unsigned int i, answer_len = 0, go = go_of(prog);
	struct wrc_cost *c = ret_cost;

	memset(c, 0, sizeof(*c));
	c->recv_sges = prog->nr_scatter;
	c->words = prog->nr_words;
	c->request_bytes = wrc_msg_len(prog);
	for (i = 0; i < prog->nr_insn; i++) {
		const struct wrc_insn *insn = &prog->insn[i];

		insn_count(c, insn, is_on_path(prog, i, go));
		insn_bytes(c, p, insn);
		if (insn->queue == WRC_CLIENT)
			answer_len += data_len(insn);
	}
	request_bytes(c, prog, p, answer_len);
	walk(c, prog, p, go);
	c->fetches++;				/* the answer's */
	c->latency_ns = p->v[WRC_P_RTT] + p->v[WRC_P_RECV] + c->chain_ns +
			p->v[WRC_P_FETCH];
	if (prog->page || answer_len == ODRP_WIRE_PAGE_SIZE)
		c->latency_ns += page_ns(p);
	c->slot_ns += c->latency_ns;
}

void wrc_model_onesided(const struct wrc_params *p, struct wrc_cost *ret_cost)
{
	struct wrc_cost *c = ret_cost;

	memset(c, 0, sizeof(*c));
	c->wrs = c->wrs_path = 1;
	c->latency_ns = p->v[WRC_P_RTT] + page_ns(p);
	pcie_read(c, p, PAGE);
	c->link_in = wire_bytes(p, 0, RETH_BYTES);
	c->link_out = wire_bytes(p, PAGE, AETH_BYTES);
}

void wrc_model_keyed(bool read, const struct wrc_params *p,
		     struct wrc_cost *ret_cost)
{
	struct wrc_cost *c = ret_cost;

	wrc_model_onesided(p, c);
	c->latency_ns += p->v[WRC_P_KSM];
	pcie_read(c, p, sizeof(struct wrc_wqe_xlt));
	if (!read) {
		c->pcie_in = c->pcie_out = 0;
		pcie_read(c, p, sizeof(struct wrc_wqe_xlt));
		pcie_write(c, p, PAGE);
		c->link_in = wire_bytes(p, PAGE, RETH_BYTES);
		c->link_out = wire_bytes(p, 0, AETH_BYTES);
	}
	c->slot_ns = c->latency_ns;
}
