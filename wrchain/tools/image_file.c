// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Image files: JSON with the program's name, the geometry's depth, the
 * binding, and the arena in hexadecimal.
 */
#include <ctype.h>
#include <stdlib.h>
#include "paper/paper.h"
#include "wrc.h"

#define VERSION 1

struct bind_field {
	const char *name;
	size_t off;
	size_t size;
};

#define FIELD(f)							\
	{ #f, offsetof(struct wrc_bind, f), sizeof(((struct wrc_bind *)0)->f) }

static const struct bind_field bind_fields[] = {
	FIELD(client_qpn), FIELD(client_rcqn), FIELD(loop_qpn),
	FIELD(loop_scqn), FIELD(arena_iova), FIELD(arena_key), FIELD(buf_key),
	FIELD(buf_iova), FIELD(tt_iova), FIELD(tt_len), FIELD(tt_key),
	FIELD(free_key), FIELD(free_head), FIELD(free_tail), FIELD(free_ring),
	FIELD(log_free_ring), FIELD(pool_key), FIELD(pool_len),
};

#define NR_FIELDS (sizeof(bind_fields) / sizeof(bind_fields[0]))

static uint64_t bind_get_field(const struct wrc_bind *bind,
			       const struct bind_field *f)
{
	const uint8_t *p = (const uint8_t *)bind + f->off;

	switch (f->size) {
	case 1:
		return *p;
	case 4:
		return *(const uint32_t *)p;
	default:
		return *(const uint64_t *)p;
	}
}

static void bind_set_field(struct wrc_bind *bind, const struct bind_field *f,
			   uint64_t value)
{
	uint8_t *p = (uint8_t *)bind + f->off;

	switch (f->size) {
	case 1:
		*p = value;
		break;
	case 4:
		*(uint32_t *)p = value;
		break;
	default:
		*(uint64_t *)p = value;
		break;
	}
}

/* 64 bytes a string: a WQE basic block a line. */
static struct json_object *arena_to_json(const uint8_t *arena, uint32_t len)
{
	struct json_object *lines = json_object_new_array();
	char text[2 * WRC_WQE_BB + 1];

	for (uint32_t at = 0; at < len; at += WRC_WQE_BB) {
		for (uint32_t i = 0; i < WRC_WQE_BB; i++)
			snprintf(text + 2 * i, 3, "%02x", arena[at + i]);
		json_object_array_add(lines, json_object_new_string(text));
	}
	return lines;
}

static int json_write(const char *path, struct json_object *obj)
{
	const char *text = json_object_to_json_string_ext(obj,
				JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED);
	FILE *f = fopen(path, "we");
	bool written;

	if (!f)
		return wrc_fail("%s: %s", path, strerror(errno));
	written = fputs(text, f) >= 0 && fputc('\n', f) != EOF;
	if (fclose(f) || !written)
		return wrc_fail("%s: cannot write all of it", path);
	return 0;
}

int wrc_image_save(const struct wrc_image *image, const char *path)
{
	struct json_object *obj = json_object_new_object();
	struct json_object *bind = json_object_new_object();
	int status = 0;

	json_object_object_add(obj, "wrc_image", json_object_new_int(VERSION));
	json_object_object_add(obj, "program",
			       json_object_new_string(image->prog.name));
	json_object_object_add(obj, "strict",
			       json_object_new_boolean(image->prog.strict));
	json_object_object_add(obj, "depth",
			       json_object_new_int(image->geom.depth));
	for (size_t i = 0; i < NR_FIELDS; i++)
		json_object_object_add(bind, bind_fields[i].name,
			json_object_new_uint64(bind_get_field(&image->bind,
							      &bind_fields[i])));
	json_object_object_add(obj, "bind", bind);
	json_object_object_add(obj, "arena",
			       arena_to_json(image->arena,
					     image->geom.arena_len));
	if (!path) {
		wrc_print_json(obj);
		return 0;
	}
	status = json_write(path, obj);
	json_object_put(obj);
	return status;
}

int wrc_read_file(const char *path, uint8_t **ret_data, size_t *ret_len)
{
	FILE *f = fopen(path, "re");
	uint8_t *data = NULL, *more;
	size_t size = 0, len = 0, n;

	if (!f)
		return wrc_fail("%s: %s", path, strerror(errno));
	do {
		size = size ? 2 * size : 65536;
		more = realloc(data, size + 1);
		if (!more)
			break;
		data = more;
		n = fread(data + len, 1, size - len, f);
		len += n;
	} while (n && len == size);
	if (!more || ferror(f)) {
		free(data);
		fclose(f);
		return wrc_fail("%s: cannot read it: expected a file", path);
	}
	fclose(f);
	data[len] = 0;
	*ret_data = data;
	*ret_len = len;
	return 0;
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' :
					   tolower((unsigned char)c) - 'a' + 10;
}

int wrc_parse_hex(const char *text, uint8_t *buf, size_t size, size_t *ret_len)
{
	size_t n = 0;
	bool high = true;

	for (; *text; text++) {
		if (!isxdigit((unsigned char)*text)) {
			if (!high)
				return -EINVAL;
			continue;
		}
		if (n == size)
			return -ENOSPC;
		if (high)
			buf[n] = hex_digit(*text) << 4;
		else
			buf[n++] |= hex_digit(*text);
		high = !high;
	}
	*ret_len = n;
	return high ? 0 : -EINVAL;
}

/* A member of the type wanted, or NULL after saying so. */
static struct json_object *json_member(const char *path,
				       struct json_object *obj,
				       const char *name, enum json_type type)
{
	struct json_object *m;

	if (!json_object_object_get_ex(obj, name, &m) ||
	    !json_object_is_type(m, type)) {
		wrc_fail("%s: '%s' is missing or not a %s", path, name,
			 json_type_to_name(type));
		return NULL;
	}
	return m;
}

static int image_load_bind(const char *path, struct json_object *obj,
			   struct wrc_bind *bind)
{
	struct json_object *members, *m;

	members = json_member(path, obj, "bind", json_type_object);
	if (!members)
		return 2;
	for (size_t i = 0; i < NR_FIELDS; i++) {
		m = json_member(path, members, bind_fields[i].name,
				json_type_int);
		if (!m)
			return 2;
		bind_set_field(bind, &bind_fields[i],
			       json_object_get_uint64(m));
	}
	return 0;
}

static int image_load_arena(const char *path, struct json_object *obj,
			    struct wrc_image *im)
{
	struct json_object *lines;
	size_t at = 0, n;

	lines = json_member(path, obj, "arena", json_type_array);
	if (!lines)
		return 2;
	im->arena = calloc(1, im->geom.arena_len);
	if (!im->arena)
		return wrc_fail("no memory");
	for (size_t i = 0; i < json_object_array_length(lines); i++) {
		const char *text = json_object_get_string(
			json_object_array_get_idx(lines, i));

		if (!text || wrc_parse_hex(text, im->arena + at,
					   im->geom.arena_len - at, &n))
			return wrc_fail("%s: line %zu of the arena is not hexadecimal or too much",
					path, i);
		at += n;
	}
	if (at != im->geom.arena_len)
		return wrc_fail("%s: the arena has %zu bytes instead of %u",
				path, at, im->geom.arena_len);
	return 0;
}

static int image_load_prog(const char *path, struct json_object *obj,
			   struct wrc_image *im)
{
	struct json_object *name, *strict, *depth, *version;
	struct wrc_opts opts;
	int chain, err;

	version = json_member(path, obj, "wrc_image", json_type_int);
	name = json_member(path, obj, "program", json_type_string);
	strict = json_member(path, obj, "strict", json_type_boolean);
	depth = json_member(path, obj, "depth", json_type_int);
	if (!version || !name || !strict || !depth)
		return 2;
	if (json_object_get_int(version) != VERSION)
		return wrc_fail("%s: image version %d, this is %d", path,
				json_object_get_int(version), VERSION);
	chain = wrc_chain_of(json_object_get_string(name));
	if (chain < 0)
		return 2;
	memset(&opts, 0, sizeof(opts));
	opts.strict_index = json_object_get_boolean(strict);
	err = wrc_any_build(chain, &opts, &im->prog);
	if (!err)
		err = wrc_geom_init(&im->prog, json_object_get_int(depth),
				    &im->geom);
	if (err)
		return wrc_fail("%s: %s with %d instances: %s", path,
				im->prog.name, json_object_get_int(depth),
				strerror(-err));
	return 0;
}

int wrc_image_load(const char *path, struct wrc_image *ret_image)
{
	enum json_tokener_error error;
	struct json_object *obj;
	uint8_t *text;
	size_t len;
	int status;

	memset(ret_image, 0, sizeof(*ret_image));
	status = wrc_read_file(path, &text, &len);
	if (status)
		return status;
	obj = json_tokener_parse_verbose((char *)text, &error);
	free(text);
	if (!obj)
		return wrc_fail("%s: not an image: %s", path,
				json_tokener_error_desc(error));
	status = json_object_is_type(obj, json_type_object) ?
			 image_load_prog(path, obj, ret_image) :
			 wrc_fail("%s: not an image", path);
	if (!status)
		status = image_load_bind(path, obj, &ret_image->bind);
	if (!status)
		status = image_load_arena(path, obj, ret_image);
	if (status)
		wrc_image_free(ret_image);
	json_object_put(obj);
	return status;
}
