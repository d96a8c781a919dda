// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `wrc list` and `wrc show`: programs by name. */
#include "paper/paper.h"
#include "wrc.h"

struct numbers {
	unsigned int insns, waits, enables, atomics, sges, bytes;
};

static struct numbers prog_count(const struct wrc_prog *prog)
{
	struct numbers n = { 0 };

	for (unsigned int i = 0; i < prog->nr_insn; i++) {
		const struct wrc_insn *insn = &prog->insn[i];
		__u8 flags = wrc_opdef(insn->op)->flags;

		n.insns++;
		n.waits += insn->op == WRC_WQE_WAIT;
		n.enables += insn->op == WRC_WQE_SEND_EN;
		n.atomics += (flags & WRC_OP_ATOMIC) == WRC_OP_ATOMIC;
		n.sges += insn->nr_sge;
		n.bytes += insn->nr_bb * WRC_WQE_BB;
	}
	return n;
}

static struct json_object *list_entry(const struct wrc_prog *prog,
				      enum wrc_variant variant,
				      const struct numbers *n)
{
	struct json_object *o = json_object_new_object();

#define ADD(name, value) json_object_object_add(o, name, json_object_new_int(value))
	json_object_object_add(o, "name", json_object_new_string(prog->name));
	json_object_object_add(o, "variant", json_object_new_string(
				       wrc_variant_name(variant)));
	json_object_object_add(o, "order", json_object_new_string(
				       wrc_order_name(prog->fences ?
						      WRC_ORDER_FENCE :
						      WRC_ORDER_WAIT)));
	json_object_object_add(o, "purpose", json_object_new_string(
				       wrc_chain_purposes[prog->chain]));
	ADD("wqes", n->insns);
	ADD("loop_bb", prog->bb[WRC_LOOP]);
	ADD("waits", n->waits);
	ADD("send_ens", n->enables);
	ADD("atomics", n->atomics);
	ADD("cqes", prog->cqes);
	ADD("words", prog->nr_words);
	ADD("recv_sges", prog->nr_scatter);
	ADD("request_bytes", wrc_msg_len(prog));
#undef ADD
	return o;
}

int wrc_cmd_list(const struct wrc_cmd *cmd)
{
	struct wrc_opts opts = wrc_cmd_opts(cmd);
	struct json_object *all = cmd->json ? json_object_new_array() : NULL;
	struct wrc_prog prog;

	if (!cmd->json)
		printf("%-15s %4s %4s %4s %4s %6s %5s %7s  %s\n", "program",
		       "wqes", "bbs", "wait", "en", "atomic", "words",
		       "request", "what it does");
	for (int i = 0; i < ODRP_WIRE_NR_CHAINS; i++) {
		struct numbers n;
		int err;

		if (!wrc_variant_has(opts.variant, i))
			continue;
		err = wrc_any_build(i, &opts, &prog);
		if (err)
			return wrc_fail("program %d: %s", i, strerror(-err));
		n = prog_count(&prog);
		if (cmd->json)
			json_object_array_add(all, list_entry(&prog, cmd->variant, &n));
		else
			printf("%-15s %4u %4u %4u %4u %6u %5u %7u  %s\n",
			       prog.name, n.insns,
			       prog.bb[WRC_LOOP] + prog.bb[WRC_CLIENT],
			       n.waits, n.enables, n.atomics, prog.nr_words,
			       wrc_msg_len(&prog),
			       wrc_chain_purposes[i]);
	}
	if (cmd->json)
		wrc_print_json(all);
	return 0;
}

static void insn_label(const struct wrc_prog *prog, unsigned int insn,
		       char *buf,
		       size_t size)
{
	struct wrc_text t;

	wrc_text_init(&t, buf, size);
	wrc_dis_label(&t, prog, insn);
}

static void insn_text(const struct wrc_prog *prog, unsigned int insn,
		      char *buf, size_t size)
{
	struct wrc_text t;

	wrc_text_init(&t, buf, size);
	wrc_dis_insn(&t, prog, insn);
}

static void patch_text(const struct wrc_prog *prog, const struct wrc_patch *p,
		       char *buf, size_t size)
{
	struct wrc_text t;

	wrc_text_init(&t, buf, size);
	wrc_dis_patch(&t, prog, p);
}

static void show_text(const struct wrc_prog *prog, const struct wrc_geom *geom,
		      enum wrc_variant variant,
		      const struct wrc_word_rule *words, int nr_words)
{
	char line[512], label[16];

	printf("%s%s%s%s, %s\n%s; request of %u bytes%s, %u data segments\n",
	       prog->name, variant ? ", " : "",
	       variant ? wrc_variant_name(variant) : "",
	       prog->fences ? ", order=fence" : "",
	       wrc_chain_purposes[prog->chain],
	       prog->strict ? "strict" : "relaxed", prog->req_len,
	       prog->page ? " and a page" : "", prog->nr_scatter);
	printf("\ninstructions (first block, blocks)\n");
	for (unsigned int i = 0; i < prog->nr_insn; i++) {
		insn_label(prog, i, label, sizeof(label));
		insn_text(prog, i, line, sizeof(line));
		printf("  %-4s %3u %2u%s %s\n", label, prog->insn[i].bb,
		       prog->insn[i].nr_bb, wrc_is_head(prog, i) ? " *" : "  ",
		       line);
	}
	printf("  * head: enabled by the instance before, armed by the request before\n");
	printf("\nself-modifications (source[bytes] -> field)\n");
	for (unsigned int i = 0; i < prog->nr_patches; i++) {
		patch_text(prog, &prog->patch[i], line, sizeof(line));
		printf("  %s\n", line);
	}
	for (unsigned int i = 0; i < prog->nr_cells; i++) {
		insn_label(prog, prog->cell[i].insn == WRC_NONE ?
				       WRC_RECV : prog->cell[i].insn,
			   label, sizeof(label));
		printf("%s  cell%-2u %-6s %-7s = %u + r * %u\n",
		       i ? "" : "\ncells after request r\n", i,
		       wrc_word_name(prog->cell[i].kind),
		       prog->cell[i].insn == WRC_NONE ? "" : label,
		       wrc_cell_value(prog, geom, i, 0),
		       wrc_cell_step(prog, i));
	}
	if (wrc_rearms_itself(prog))
		return;
	if (prog->node)
		printf("\nwords of request r\n");
	else
		printf("\nrecycle words of request r, with %u instances\n",
		       geom->depth);
	for (int i = 0; i < nr_words; i++) {
		insn_label(prog, prog->word[i].insn == WRC_NONE ?
				       WRC_RECV : prog->word[i].insn,
			   label, sizeof(label));
		printf("  +%-3u %-6s %s%-7s = ", prog->word[i].off,
		       wrc_word_name(words[i].kind),
		       prog->word[i].delta ? "next " : "",
		       prog->word[i].insn == WRC_NONE ? "" : label);
		if (words[i].kind == WRC_WORD_END)
			printf("0, the upper half of tt_addr\n");
		else if (words[i].kind == WRC_WORD_NEXT)
			printf("%u, or %u for no answer to the next request\n",
			       be16_to_cpu(words[i].base), words[i].step);
		else
			printf(words[i].kind == WRC_WORD_ANSWER ?
				       "%u, or %u for no answer\n" :
				       "%u + r * %u\n",
			       be16_to_cpu(words[i].base), words[i].step);
	}
}

static struct json_object *text_object(const char *key, const char *text)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, key, json_object_new_string(text));
	return o;
}

static struct json_object *words_json(const struct wrc_prog *prog,
				      const struct wrc_word_rule *words, int n)
{
	struct json_object *all = json_object_new_array();
	char label[16];

	for (int i = 0; i < n; i++) {
		struct json_object *o = text_object("kind",
				wrc_word_name(words[i].kind));

		if (prog->word[i].insn != WRC_NONE) {
			insn_label(prog, prog->word[i].insn, label,
				   sizeof(label));
			json_object_object_add(o, "insn",
					       json_object_new_string(label));
			json_object_object_add(o, "next",
				json_object_new_boolean(prog->word[i].delta));
		}
		json_object_object_add(o, "offset",
				json_object_new_int(prog->word[i].off));
		json_object_object_add(o, "base",
				json_object_new_int(be16_to_cpu(words[i].base)));
		json_object_object_add(o, "step",
				json_object_new_int(words[i].step));
		json_object_array_add(all, o);
	}
	return all;
}

static struct json_object *cells_json(const struct wrc_prog *prog,
				      const struct wrc_geom *geom)
{
	struct json_object *all = json_object_new_array();
	char label[16];

	for (unsigned int i = 0; i < prog->nr_cells; i++) {
		struct json_object *o = text_object("kind",
				wrc_word_name(prog->cell[i].kind));

		if (prog->cell[i].insn != WRC_NONE) {
			insn_label(prog, prog->cell[i].insn, label,
				   sizeof(label));
			json_object_object_add(o, "insn",
					       json_object_new_string(label));
		}
		json_object_object_add(o, "base", json_object_new_int64(
					       wrc_cell_value(prog, geom, i,
							      0)));
		json_object_object_add(o, "step", json_object_new_int64(
					       wrc_cell_step(prog, i)));
		json_object_array_add(all, o);
	}
	return all;
}

static void show_json(const struct wrc_prog *prog, const struct wrc_geom *geom,
		      enum wrc_variant variant,
		      const struct wrc_word_rule *words, int nr_words)
{
	struct json_object *insns = json_object_new_array();
	struct json_object *patches = json_object_new_array();
	struct numbers n = prog_count(prog);
	struct json_object *all = list_entry(prog, variant, &n);
	char line[512], label[16];

	for (unsigned int i = 0; i < prog->nr_insn; i++) {
		struct json_object *o;

		insn_label(prog, i, label, sizeof(label));
		insn_text(prog, i, line, sizeof(line));
		o = text_object("label", label);
		json_object_object_add(o, "text", json_object_new_string(line));
		json_object_object_add(o, "bb",
				json_object_new_int(prog->insn[i].bb));
		json_object_object_add(o, "nr_bb",
				json_object_new_int(prog->insn[i].nr_bb));
		json_object_object_add(o, "head",
				json_object_new_boolean(wrc_is_head(prog, i)));
		json_object_array_add(insns, o);
	}
	for (unsigned int i = 0; i < prog->nr_patches; i++) {
		patch_text(prog, &prog->patch[i], line, sizeof(line));
		json_object_array_add(patches, json_object_new_string(line));
	}
	json_object_object_add(all, "strict",
			       json_object_new_boolean(prog->strict));
	json_object_object_add(all, "depth", json_object_new_int(geom->depth));
	json_object_object_add(all, "instructions", insns);
	json_object_object_add(all, "patches", patches);
	json_object_object_add(all, "cells", cells_json(prog, geom));
	json_object_object_add(all, "recycle_words",
			       words_json(prog, words, nr_words));
	wrc_print_json(all);
}

int wrc_cmd_show(const struct wrc_cmd *cmd)
{
	struct wrc_word_rule words[WRC_MAX_WORDS];
	struct wrc_image im;
	int status, n;

	status = wrc_image_make(cmd, &im);
	if (status)
		return status;
	n = wrc_words(&im.prog, &im.geom, words);
	if (n < 0)
		status = wrc_fail("%s: %s", cmd->prog, strerror(-n));
	else if (cmd->json)
		show_json(&im.prog, &im.geom, cmd->variant, words, n);
	else
		show_text(&im.prog, &im.geom, cmd->variant, words, n);
	wrc_image_free(&im);
	return status;
}
