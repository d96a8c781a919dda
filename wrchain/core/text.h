/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text that grows in a buffer of fixed size and is cut when it is full. */
#ifndef WRC_TEXT_H
#define WRC_TEXT_H

#include "port.h"

/* buf is always terminated; len never counts what was cut. */
struct wrc_text {
	char *buf;
	size_t size, len;
};

static inline void wrc_text_init(struct wrc_text *t, char *buf, size_t size)
{
	t->buf = buf;
	t->size = size;
	t->len = 0;
	buf[0] = 0;
}

__attribute__((format(printf, 2, 0)))
static inline void wrc_text_add_va(struct wrc_text *t, const char *fmt,
				   va_list ap)
{
	size_t room = t->size - t->len;
	int n = vsnprintf(t->buf + t->len, room, fmt, ap);

	if (n > 0)
		t->len += (size_t)n < room ? (size_t)n : room - 1;
}

__attribute__((format(printf, 2, 3)))
static inline void wrc_text_add(struct wrc_text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	wrc_text_add_va(t, fmt, ap);
	va_end(ap);
}

#endif /* WRC_TEXT_H */
