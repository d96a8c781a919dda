// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Programs as text: instructions and relocations by name. */
#include "dis.h"

const char *wrc_word_name(__u8 kind)
{
	switch (kind) {
	case WRC_WORD_INDEX:
		return "index";
	case WRC_WORD_ENABLE:
		return "enable";
	case WRC_WORD_WAIT:
		return "wait";
	case WRC_WORD_DBR:
		return "dbr";
	case WRC_WORD_ANSWER:
		return "answer";
	case WRC_WORD_PAGE:
		return "page";
	case WRC_WORD_END:
		return "end";
	case WRC_WORD_NEXT:
		return "next";
	default:
		return "unknown";
	}
}

static const char *const space_names[WRC_NR_SPACES] = {
	[WRC_SP_NONE] = "nowhere", [WRC_SP_FIELD] = "field",
	[WRC_SP_REG] = "reg",	   [WRC_SP_DBR] = "dbr.rcv",
	[WRC_SP_BUF] = "buf",	   [WRC_SP_TT] = "tt[?]",
	[WRC_SP_HEAD] = "head",	   [WRC_SP_TAIL] = "tail",
	[WRC_SP_SLOT] = "slot[?]", [WRC_SP_POOL] = "page[?]",
	[WRC_SP_PEER] = "peer[?]",     [WRC_SP_CELL] = "cell",
	[WRC_SP_RECV] = "recv.addr",   [WRC_SP_EMPTY] = "tt[0]",
	[WRC_SP_KEYMAP] = "keymap[?]",
	[WRC_SP_TURN] = "row",	       [WRC_SP_CHOICE] = "choice[?]",
};

static const char *reg_name(__u8 reg)
{
	switch (reg) {
	case WRC_REG_SLOT:
		return "reg.slot";
	case WRC_REG_PAGE:
		return "reg.page";
	case WRC_REG_TT:
		return "reg.tt";
	case WRC_REG_POST:
		return "reg.post";
	default:
		return "reg.trash";
	}
}

static void show_field(struct wrc_text *t, const struct wrc_prog *prog,
		       __u8 insn, __u8 field, __u8 sge)
{
	wrc_dis_label(t, prog, insn);
	wrc_text_add(t, ".%s", wrc_fielddef((enum wrc_field)field)->name);
	if (sge)
		wrc_text_add(t, "%u", sge);
}

static void show_ref(struct wrc_text *t, const struct wrc_prog *prog,
		     struct wrc_ref ref)
{
	if (ref.delta)
		wrc_text_add(t, ref.delta > 0 ? "next " : "last ");
	if (ref.space == WRC_SP_FIELD)
		show_field(t, prog, ref.at, ref.field, ref.sge);
	else if (ref.space == WRC_SP_REG)
		wrc_text_add(t, "%s", reg_name(ref.at));
	else
		wrc_text_add(t, "%s", space_names[ref.space]);
	if (ref.space == WRC_SP_CELL || ref.space == WRC_SP_TURN)
		wrc_text_add(t, "%u", ref.at);
	if (ref.off)
		wrc_text_add(t, "+%u", ref.off);
}

static void show_local(struct wrc_text *t, const struct wrc_prog *prog,
		       const struct wrc_insn *insn)
{
	unsigned int i;

	if ((insn->nr_sge == 8 || insn->nr_sge == 4) && insn->sge[0].len == 1 &&
	    insn->sge[0].at.off == insn->nr_sge - 1) {
		show_ref(t, prog, insn->sge[insn->nr_sge - 1].at);
		wrc_text_add(t, "[%u] reversed", insn->nr_sge);
		return;
	}
	for (i = 0; i < insn->nr_sge; i++) {
		wrc_text_add(t, i ? ", " : "");
		show_ref(t, prog, insn->sge[i].at);
		wrc_text_add(t, "[%u]", insn->sge[i].len);
	}
	if (!insn->nr_sge)
		wrc_text_add(t, "nothing");
}

static void show_control(struct wrc_text *t, const struct wrc_prog *prog,
			 const struct wrc_insn *insn)
{
	if (insn->op == WRC_WQE_WAIT) {
		wrc_text_add(t, " for ");
		wrc_dis_label(t, prog, insn->target);
	} else if (insn->target == WRC_NEXT_HEAD) {
		wrc_text_add(t, " through the next head");
	} else {
		wrc_text_add(t, " through ");
		wrc_dis_label(t, prog, insn->target);
	}
}

void wrc_dis_insn(struct wrc_text *t, const struct wrc_prog *prog,
		  unsigned int insn)
{
	const struct wrc_insn *i = &prog->insn[insn];
	const struct wrc_opdef *def = wrc_opdef(i->op);
	bool atomic = (def->flags & WRC_OP_ATOMIC) == WRC_OP_ATOMIC;

	if (i->flags & WRC_I_ANSWER)
		wrc_text_add(t, "%s|", wrc_opdef(i->quiet)->name);
	wrc_text_add(t, "%s%s", i->flags & WRC_I_MAYBE ? "nop|" : "",
		     def->name);
	if (i->flags & WRC_I_SIGNALED)
		wrc_text_add(t, " ce");
	if (i->flags & WRC_I_FENCE)
		wrc_text_add(t, " fence");
	if (i->op == WRC_WQE_WAIT || i->op == WRC_WQE_SEND_EN)
		show_control(t, prog, i);
	if (i->op == WRC_WQE_NOP)
		wrc_text_add(t, " %u", i->nr_bb * WRC_WQE_BB);
	if (def->flags & WRC_OP_REMOTE) {
		wrc_text_add(t, atomic			     ? " at " :
				def->flags & WRC_OP_RREAD ? " from " : " to ");
		show_ref(t, prog, i->remote);
	}
	if (i->remote.space == WRC_SP_CELL && i->op == WRC_WQE_MASKED_FA)
		wrc_text_add(t, " add its step");
	else if (i->op == WRC_WQE_FA)
		wrc_text_add(t, " add %llu", (unsigned long long)i->swap);
	else if (i->op == WRC_WQE_CS)
		wrc_text_add(t, " swap if %llu", (unsigned long long)i->compare);
	else if (i->op == WRC_WQE_MASKED_FA)
		wrc_text_add(t, " add %llu in the ring",
			     (unsigned long long)i->swap);
	else if (i->op == WRC_WQE_UMR)
		wrc_text_add(t, i->flags & WRC_I_EXCHANGE ?
			     " own page to the slot's key" :
			     " nothing to the slot's key");
	else if (i->flags & WRC_I_EXCHANGE)
		wrc_text_add(t, " swap own page");
	else if (i->op == WRC_WQE_MASKED_CS && !i->compare_mask)
		wrc_text_add(t, " swap 0x%llx", (unsigned long long)i->swap);
	if (def->flags & (WRC_OP_GATHER | WRC_OP_SCATTER)) {
		wrc_text_add(t, atomic			       ? " old to " :
				def->flags & WRC_OP_GATHER ? " from " : " to ");
		show_local(t, prog, i);
	}
}

void wrc_dis_patch(struct wrc_text *t, const struct wrc_prog *prog,
		   const struct wrc_patch *patch)
{
	wrc_dis_label(t, prog, patch->source);
	wrc_text_add(t, "[%u..%u] -> ", patch->off,
		     patch->off + patch->width - 1);
	if (patch->delta)
		wrc_text_add(t, patch->delta > 0 ? "next " : "last ");
	show_field(t, prog, patch->insn, patch->field, patch->sge);
	if (patch->field_off || patch->width !=
	    wrc_fielddef((enum wrc_field)patch->field)->width)
		wrc_text_add(t, "+%u[%u]", patch->field_off, patch->width);
}
