// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `wrc dis` and `wrc check`: what stands in WQE bytes, and whether it may. */
#include <ctype.h>
#include <stdlib.h>
#include "wrc.h"

/* One listing: lines on standard output, or objects in an array. */
struct out {
	struct json_object *lines;
};

static void dis_line(struct out *out, const char *queue, uint32_t bb,
		     const char *label, const char *text)
{
	struct json_object *o;

	if (!out->lines) {
		printf("%-6s %5u  %-7s %s\n", queue, bb, label, text);
		return;
	}
	o = json_object_new_object();
	json_object_object_add(o, "queue", json_object_new_string(queue));
	json_object_object_add(o, "bb", json_object_new_int(bb));
	if (*label)
		json_object_object_add(o, "label",
				       json_object_new_string(label));
	json_object_object_add(o, "text", json_object_new_string(text));
	json_object_array_add(out->lines, o);
}

static void dis_insn(struct out *out, const struct wrc_image *im,
		     const struct wrc_dis_ctx *ctx, unsigned int insn,
		     uint32_t instance)
{
	const struct wrc_insn *i = &im->prog.insn[insn];
	char line[1024], label[32];
	struct wrc_text t;

	wrc_text_init(&t, label, sizeof(label));
	wrc_dis_label(&t, &im->prog, insn);
	wrc_text_add(&t, "@%u", instance);
	wrc_text_init(&t, line, sizeof(line));
	wrc_dis_bytes(&t, ctx,
		      im->arena + wrc_insn_off(&im->prog, &im->geom, insn,
					       instance),
		      i->nr_bb * WRC_WQE_BB, i->op);
	dis_line(out, i->queue == WRC_LOOP ? "loop" : "client",
		 instance * im->prog.bb[i->queue] + i->bb, label, line);
}

static void dis_queue(struct out *out, const struct wrc_image *im,
		      const struct wrc_dis_ctx *ctx, enum wrc_queue queue)
{
	for (uint32_t k = 0; k < im->geom.depth; k++)
		for (unsigned int i = 0; i < im->prog.nr_insn; i++)
			if (im->prog.insn[i].queue == queue)
				dis_insn(out, im, ctx, i, k);
}

static void dis_recv(struct out *out, const struct wrc_image *im,
		     const struct wrc_dis_ctx *ctx, uint32_t instance)
{
	struct wrc_sge sge[WRC_MAX_RECV_SGE];
	uint8_t stride = im->geom.log_rq_stride;
	char line[2048];
	struct wrc_text t;
	int n;

	n = wrc_decode_recv(im->arena + im->geom.client_rq +
				    (instance << stride),
			    (size_t)1 << stride, sge);
	wrc_text_init(&t, line, sizeof(line));
	wrc_text_add(&t, "recv to");
	for (int i = 0; i < n; i++) {
		wrc_text_add(&t, i ? ", " : " ");
		wrc_dis_sge(&t, ctx, &sge[i]);
	}
	if (n < 0)
		wrc_text_add(&t, " (malformed)");
	dis_line(out, "recv", instance, "", line);
}

static void dis_image(struct out *out, const struct wrc_image *im)
{
	struct wrc_dis_ctx ctx = { &im->prog, &im->geom, &im->bind };

	dis_queue(out, im, &ctx, WRC_LOOP);
	dis_queue(out, im, &ctx, WRC_CLIENT);
	for (uint32_t k = 0; k < im->geom.depth; k++)
		dis_recv(out, im, &ctx, k);
}

static bool data_is_text(const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isxdigit(data[i]) && !isspace(data[i]))
			return false;
	return true;
}

/* WQEs without a program: nothing is known but their bytes. */
static int dis_raw(struct out *out, const char *path, uint8_t *data, size_t len)
{
	char line[1024];
	struct wrc_text t;
	size_t at = 0;

	if (data_is_text(data, len) &&
	    wrc_parse_hex((char *)data, data, len, &len))
		return wrc_fail("%s: an odd number of hexadecimal digits",
				path);
	if (!len || len % WRC_WQE_DS)
		return wrc_fail("%s: %zu bytes are no WQEs: not a multiple of 16",
				path, len);
	while (at < len) {
		size_t step;

		wrc_text_init(&t, line, sizeof(line));
		step = wrc_dis_bytes(&t, NULL, data + at, len - at,
				     WRC_OWN_SHAPE);
		dis_line(out, "wqe", at / WRC_WQE_BB, "", line);
		at += step;
	}
	return 0;
}

static int dis_file(struct out *out, const char *path)
{
	struct wrc_image im;
	uint8_t *data;
	size_t len;
	int status;

	status = wrc_read_file(path, &data, &len);
	if (status)
		return status;
	if (len && data[0] == '{') {
		status = wrc_image_load(path, &im);
		if (!status) {
			dis_image(out, &im);
			wrc_image_free(&im);
		}
	} else {
		status = dis_raw(out, path, data, len);
	}
	free(data);
	return status;
}

static int cmd_need_input(const struct wrc_cmd *cmd)
{
	if (cmd->prog || cmd->nr_files)
		return 0;
	return wrc_fail("name a file, or a program with --prog");
}

int wrc_cmd_dis(const struct wrc_cmd *cmd)
{
	struct out out = { cmd->json ? json_object_new_array() : NULL };
	struct wrc_image im;
	int status = cmd_need_input(cmd);

	if (!status && cmd->prog) {
		status = wrc_image_make(cmd, &im);
		if (!status) {
			dis_image(&out, &im);
			wrc_image_free(&im);
		}
	}
	for (int i = 0; !status && i < cmd->nr_files; i++)
		status = dis_file(&out, cmd->files[i]);
	if (out.lines)
		wrc_print_json(out.lines);
	return status;
}

/* Prints the verdict; 0 or 1. */
static int dis_verdict(struct out *out, const char *name,
		       const struct wrc_image *im)
{
	char why[WRC_WHY_MAX] = "";
	struct json_object *o;
	int err;

	err = wrc_image_check(&im->prog, &im->geom, &im->bind, im->arena, why);
	if (!out->lines) {
		printf("%s: %s%s\n", name, err ? "refused: " : "ok", why);
		return err ? 1 : 0;
	}
	o = json_object_new_object();
	json_object_object_add(o, "name", json_object_new_string(name));
	json_object_object_add(o, "ok", json_object_new_boolean(!err));
	if (err)
		json_object_object_add(o, "why", json_object_new_string(why));
	json_object_array_add(out->lines, o);
	return err ? 1 : 0;
}

int wrc_cmd_check(const struct wrc_cmd *cmd)
{
	struct out out = { cmd->json ? json_object_new_array() : NULL };
	struct wrc_image im;
	int status = cmd_need_input(cmd), one;

	if (!status && cmd->prog) {
		status = wrc_image_make(cmd, &im);
		if (!status) {
			status = dis_verdict(&out, cmd->prog, &im);
			wrc_image_free(&im);
		}
	}
	for (int i = 0; i < cmd->nr_files; i++) {
		one = wrc_image_load(cmd->files[i], &im);
		if (!one) {
			one = dis_verdict(&out, cmd->files[i], &im);
			wrc_image_free(&im);
		}
		if (one > status)
			status = one;
	}
	if (out.lines)
		wrc_print_json(out.lines);
	return status;
}
