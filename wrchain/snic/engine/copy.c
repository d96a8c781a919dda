// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Copies bytes.  Other threads read rings, doorbell records and completion
 * entries while this NIC writes them, and patch rings while this NIC fetches
 * WQEs.  So each aligned word of 8 bytes of the source is loaded whole, and each
 * of the destination is stored whole, if the two addresses are equal modulo 4:
 * a packet's data may lie 4 bytes beside words.
 */
#include "engine-priv.h"

/* A word, and its halves in the order of their addresses. */
union word {
	uint64_t whole;
	uint32_t half[2];
};

static size_t copy_pairs(uint8_t *d, const uint8_t *s, size_t len)
{
	size_t i = 0;

	/* Unrolled for pages: fewer loop instructions per pair. */
	for (; i + 32 <= len; i += 32) {
		snic_copy_pair(d + i, s + i);
		snic_copy_pair(d + i + 16, s + i + 16);
	}
	for (; i + 16 <= len; i += 16)
		snic_copy_pair(d + i, s + i);
	return i;
}

static union word load8(const uint8_t *s)
{
	return (union word) {
		.whole = __atomic_load_n((const uint64_t *)s, __ATOMIC_RELAXED),
	};
}

static uint32_t load4(const uint8_t *s)
{
	return __atomic_load_n((const uint32_t *)s, __ATOMIC_RELAXED);
}

static void store8(uint8_t *d, union word v)
{
	__atomic_store_n((uint64_t *)d, v.whole, __ATOMIC_RELAXED);
}

static void store4(uint8_t *d, uint32_t v)
{
	__atomic_store_n((uint32_t *)d, v, __ATOMIC_RELAXED);
}

static void copy8(uint8_t *d, const uint8_t *s)
{
	store8(d, load8(s));
}

static void copy4(uint8_t *d, const uint8_t *s)
{
	store4(d, load4(s));
}

static void copy1(uint8_t *d, const uint8_t *s)
{
	__atomic_store_n(d, __atomic_load_n(s, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
}

/*
 * Copies whole words of either side; one side is aligned to 8, the other to 4.
 * len: 8 at least.  Returns how much was copied; less than 8 bytes are left.
 */
static size_t copy_shifted(uint8_t *d, const uint8_t *s, size_t len)
{
	union word in, out;
	size_t i = 0;

	if ((uintptr_t)d & 7) {
		in = load8(s);
		store4(d, in.half[0]);
		out.half[0] = in.half[1];
		i = 4;
	} else {
		out.half[0] = load4(s);
	}
	/* d + i is aligned to 8, and out has the first half of what goes there. */
	for (; len - i >= 12; i += 8) {
		in = load8(s + i + 4);
		out.half[1] = in.half[0];
		store8(d + i, out);
		out.half[0] = in.half[1];
	}
	if (len - i < 8) {
		store4(d + i, out.half[0]);
		return i + 4;
	}
	out.half[1] = load4(s + i + 4);
	store8(d + i, out);
	return i + 8;
}

/* Both sides have the same alignment modulo 4, with by8 modulo 8. */
static void copy_words(uint8_t *d, const uint8_t *s, size_t len, bool by8)
{
	size_t i = 0;

	while (i < len && ((uintptr_t)(d + i) & 3)) {
		copy1(d + i, s + i);
		i++;
	}
	if (by8) {
		if (len - i >= 4 && ((uintptr_t)(d + i) & 7)) {
			copy4(d + i, s + i);
			i += 4;
		}
		if (!((uintptr_t)(d + i) & 7)) {
			i += copy_pairs(d + i, s + i, len - i);
			for (; len - i >= 8; i += 8)
				copy8(d + i, s + i);
		}
	} else if (len - i >= 8) {
		i += copy_shifted(d + i, s + i, len - i);
	}
	for (; len - i >= 4; i += 4)
		copy4(d + i, s + i);
	for (; i < len; i++)
		copy1(d + i, s + i);
}

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
typedef uint16_t word2 __attribute__((aligned(1), may_alias));
typedef uint32_t word4 __attribute__((aligned(1), may_alias));
typedef uint64_t word8 __attribute__((aligned(1), may_alias));

/* A field that a request scatters over a ring: one load and one store, which is
 * atomic when it is aligned. */
static bool copy_field(void *dst, const void *src, size_t len)
{
	switch (len) {
	case 1:
		*(volatile uint8_t *)dst = *(const volatile uint8_t *)src;
		return true;
	case 2:
		*(volatile word2 *)dst = *(const volatile word2 *)src;
		return true;
	case 4:
		*(volatile word4 *)dst = *(const volatile word4 *)src;
		return true;
	case 8:
		*(volatile word8 *)dst = *(const volatile word8 *)src;
		return true;
	default:
		return false;
	}
}
#else
static bool copy_field(void *dst, const void *src, size_t len)
{
	return false;
}
#endif

static void copy_other(void *dst, const void *src, size_t len)
{
	uintptr_t skew = (uintptr_t)dst ^ (uintptr_t)src;

	if (!(skew & 3))
		copy_words(dst, src, len, !(skew & 7));
	else if (len == 1)
		copy1(dst, src);
	else if (len)
		memmove(dst, src, len);
}

void snic_copy(void *dst, const void *src, size_t len)
{
	if (!copy_field(dst, src, len))
		copy_other(dst, src, len);
}

void snic_sges_gather(const struct snic_sge *sges, unsigned int nr,
		      uint64_t off, void *dst, size_t len)
{
	uint8_t *d = dst;
	unsigned int i;

	for (i = 0; i < nr && len; i++) {
		size_t n;

		if (off >= sges[i].len) {
			off -= sges[i].len;
			continue;
		}
		n = sges[i].len - off;
		if (n > len)
			n = len;
		snic_copy(d, sges[i].ptr + off, n);
		d += n;
		len -= n;
		off = 0;
	}
}

void snic_sges_scatter(const struct snic_sge *sges, unsigned int nr,
		       uint64_t off, const void *src, size_t len)
{
	const struct snic_sge *end = sges + nr;
	const uint8_t *s = src;

	for (; sges != end && off >= sges->len; sges++)
		off -= sges->len;
	for (; sges != end && len; sges++) {
		size_t n = sges->len - off;

		if (n > len)
			n = len;
		if (!copy_field(sges->ptr + off, s, n))
			copy_other(sges->ptr + off, s, n);
		s += n;
		len -= n;
		off = 0;
	}
}
