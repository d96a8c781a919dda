// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Images: made from a program and an example's numbers; `wrc image`. */
#include <err.h>
#include <stdarg.h>
#include <stdlib.h>
#include "paper/paper.h"
#include "wrc.h"

const char *const wrc_chain_purposes[ODRP_WIRE_NR_CHAINS] = {
	[ODRP_WIRE_LOAD] = "the page of a slot goes to the client",
	[ODRP_WIRE_MAPPED_STORE] = "a page replaces that of a slot",
	[ODRP_WIRE_UNMAPPED_STORE] = "a free page becomes that of a slot",
	[ODRP_WIRE_INVALIDATE] = "the page of a slot becomes free",
};

int wrc_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vwarnx(fmt, ap);
	va_end(ap);
	return 2;
}

void wrc_print_json(struct json_object *obj)
{
	puts(json_object_to_json_string_ext(obj, JSON_C_TO_STRING_PRETTY |
						 JSON_C_TO_STRING_SPACED |
						 JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(obj);
}

int wrc_chain_of(const char *name)
{
	struct wrc_prog prog;

	for (int i = 0; i < ODRP_WIRE_NR_CHAINS; i++)
		if (!wrc_any_build(i, NULL, &prog) && !strcmp(prog.name, name))
			return i;
	wrc_fail("no program '%s'; `wrc list` names them", name);
	return -1;
}

/* Numbers that are easy to tell apart in a listing. */
static const struct wrc_bind example = {
	.client_qpn = 0x11, .client_rcqn = 0x21, .client_scqn = 0x23,
	.loop_qpn = 0x12, .loop_scqn = 0x22,
	.arena_iova = 0x10000000, .arena_key = 0xa00,
	.buf_iova = 0x20000000, .buf_key = 0xb00,
	.tt_len = 0x10000, .tt_key = 0xc00,
	.free_head = 0x30000000, .free_tail = 0x30000040,
	.free_ring = 0x30010000, .log_free_ring = 16, .free_key = 0xd00,
	.pool_key = 0xe00, .pool_len = 0x2000000,
	.table_key = 0xf00, .table_iova = 4 * WRC_TABLE_ALIGN,
};

/* Translation in the NIC: what a client's domain has of the arena is another key. */
#define KEYMAP_KEY 0x1000
#define ARENA_RKEY 0x1100

/* Page exchange: an instance's first page. */
static __u64 example_pages[1024];

int wrc_image_make(const struct wrc_cmd *cmd, struct wrc_image *ret_image)
{
	struct wrc_opts opts = wrc_cmd_opts(cmd);
	struct wrc_image *im = ret_image;
	int chain, err;

	memset(im, 0, sizeof(*im));
	chain = wrc_chain_of(cmd->prog);
	if (chain < 0)
		return 2;
	if (!wrc_variant_has(opts.variant, chain))
		return wrc_fail("%s: no chain, the client does that alone by its keys",
				cmd->prog);
	err = wrc_any_build(chain, &opts, &im->prog);
	if (!err)
		err = wrc_geom_init(&im->prog, cmd->depth, &im->geom);
	if (err)
		return wrc_fail("%s with %u instances: %s", cmd->prog,
				cmd->depth, strerror(-err));
	im->bind = example;
	im->bind.fence_orders = cmd->order == WRC_ORDER_FENCE;
	if (wrc_is_keyed(&im->prog)) {
		im->bind.keymap_key = KEYMAP_KEY;
		im->bind.arena_rkey = ARENA_RKEY;
	}
	if (wrc_has_register(&im->prog)) {
		for (__u32 i = 0; i < im->geom.depth; i++)
			example_pages[i] = WRC_POOL_IOVA +
					   (__u64)(i + 1) * ODRP_WIRE_PAGE_SIZE;
		im->bind.pages = example_pages;
	}
	im->arena = calloc(1, im->geom.arena_len);
	im->table = malloc(im->geom.table_len + 1);
	if (!im->arena || !im->table) {
		wrc_image_free(im);
		return wrc_fail("no memory");
	}
	if (im->prog.node)
		wrc_table_fill(&im->prog, &im->geom, im->bind.table_iova,
			       im->table);
	im->bind.table = im->prog.node ? im->table : NULL;
	err = wrc_image_write(&im->prog, &im->geom, &im->bind, im->arena);
	if (!err)
		return 0;
	wrc_image_free(im);
	return wrc_fail("%s: %s", cmd->prog, strerror(-err));
}

void wrc_image_free(struct wrc_image *image)
{
	free(image->arena);
	free(image->table);
	image->arena = image->table = NULL;
}

int wrc_cmd_image(const struct wrc_cmd *cmd)
{
	struct wrc_image im;
	int status;

	if (cmd->recycle)
		return wrc_fail("images of recycle=node would need their table; try show or dis");
	if (cmd->variant || cmd->order)
		return wrc_fail("images are ours only; try show or dis");
	status = wrc_image_make(cmd, &im);
	if (status)
		return status;
	status = wrc_image_save(&im, cmd->output);
	wrc_image_free(&im);
	return status;
}
