/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fibers: stacks of their own that one thread of the system switches between, by the
 * fcontext of Boost.Context. What the run-time of C++ keeps per thread of the system
 * (exceptions that are being handled) is switched with the fiber, and the sanitizers
 * are told of each switch, if the program has them: they are found by weak symbols, so
 * the library need not be built for them. Valgrind is told of each stack.
 *
 * A context is a place of execution that can be switched to: a fiber's, or that of
 * whoever called far_context_switch() first. Switches are symmetric: each names the
 * context that goes to sleep and the one that wakes up. Nothing here remembers a
 * "current" fiber, so that fibers can be nested: a fiber of a simulated machine may
 * itself switch between tasks, and whichever stack runs at the moment is saved.
 *
 * A context is resumed by the thread of the system that it slept in.
 */
#ifndef FAR_BASE_FIBER_H
#define FAR_BASE_FIBER_H

#include <stddef.h>
#include <stdint.h>

/* The head of what __cxa_get_globals() returns, by the C++ ABI (Itanium, 2.2.2). */
struct far_cxx {
	void *caught;			/* exceptions, the last one first */
	unsigned int uncaught;
};

struct far_context {
	void *sp;			/* while it sleeps */
	struct far_context *to;		/* what it switched to last */
	/* run-times, the stack it sleeps on, and their own records */
	const void *bottom;
	size_t size;
	void *fake;
	void *tsan;
	struct far_cxx cxx;
};

struct far_fiber {
	struct far_context context;
	struct far_context *(*run)(void *arg);
	void *arg;
	struct far_fiber *next;		/* in the free list */
	/* its own record; its context has the one of whoever put it to sleep */
	void *tsan;
	unsigned valgrind;		/* number of its stack */
};

/*
 * Stacks of one size, each with a guard page below: an overflow is a SIGSEGV, and
 * no other memory is hurt. One thread at a time.
 */
struct far_stacks {
	size_t size;			/* bytes mapped per stack, without the guard page */
	unsigned nr;			/* made since init */
	struct far_fiber *free;
};

/*
 * size is in bytes, and is rounded up to pages; sanitizers get more. Before the first
 * switch of the thread: here it is found out which run-times the program has.
 */
void far_stacks_init(struct far_stacks *stacks, size_t size);
/* All fibers have been freed before. */
void far_stacks_fini(struct far_stacks *stacks);

/*
 * A fiber that calls run(arg) when its context is switched to. What run() returns is
 * the context that goes on then; the fiber is freed by somebody else.
 * -ENOMEM also when the process has too many mappings (vm.max_map_count, two each).
 */
int far_fiber_new(struct far_stacks *stacks, struct far_context *(*run)(void *arg),
		  void *arg, struct far_fiber **ret_fiber);
/* It has ended or sleeps; what sleeps is forgotten, and is not unwound. */
void far_fiber_free(struct far_stacks *stacks, struct far_fiber *fiber);

/* Boost.Context's interface for C since 1.61; it has no header for C. */
struct far_transfer {
	void *sp;	/* of the context that was left */
	void *data;
};

struct far_transfer jump_fcontext(void *const sp, void *data);

/* Whether the program has a run-time that keeps something per thread. */
extern int far_context_watched;

static inline int far_context_is_watched(void)
{
	return __builtin_expect(__atomic_load_n(&far_context_watched, __ATOMIC_RELAXED), 0);
}

/* Saves what run-times have of `from`, which is left for `to`; for good if `ends`. */
void far_context_leave(struct far_context *from, struct far_context *to, int ends);
/* Gives them back what they had of `self`, which runs now. */
void far_context_arrive(struct far_context *self, struct far_context *left);

/*
 * Puts the caller to sleep as `from`, and wakes `to`. Returns when `from` is woken.
 * Inline, for a processor predicts no return well behind a switch: each one less counts.
 */
static inline void far_context_switch(struct far_context *from, struct far_context *to)
{
	struct far_transfer t;
	struct far_context *left;

	from->to = to;
	if (far_context_is_watched())
		far_context_leave(from, to, 0);
	t = jump_fcontext(to->sp, from);
	left = t.data;
	left->sp = t.sp;
	if (far_context_is_watched())
		far_context_arrive(from, left);
}

#endif
