// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fibers: switches by fcontext, stacks with guard pages, and what sanitizers want to
 * know.
 */
#include "fiber.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef HAVE_VALGRIND
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(start, end)	0
#define VALGRIND_STACK_DEREGISTER(id)		((void)(id))
#endif

#define SANITIZED_FACTOR	4	/* red zones make frames larger */

/* Functions of run-times: null where the program has none. */
#define RUNTIME(result, name, ...)	\
	extern __attribute__((weak, visibility("default"))) result name(__VA_ARGS__)

RUNTIME(struct far_cxx *, __cxa_get_globals, void);
RUNTIME(void, __sanitizer_start_switch_fiber, void **fake, const void *bottom,
	size_t size);
RUNTIME(void, __sanitizer_finish_switch_fiber, void *fake, const void **bottom,
	size_t *size);
RUNTIME(void, __asan_unpoison_memory_region, void const volatile *addr, size_t size);
RUNTIME(void *, __tsan_get_current_fiber, void);
RUNTIME(void *, __tsan_create_fiber, unsigned flags);
RUNTIME(void, __tsan_destroy_fiber, void *fiber);
RUNTIME(void, __tsan_switch_to_fiber, void *fiber, unsigned flags);

void *make_fcontext(void *top, size_t size, void (*run)(struct far_transfer));

/*
 * Stacks begin at different lines of their first page: were they all alike, the hot
 * ends of more than eight would not fit into a first-level cache together.
 */
#define COLOUR_STEP	192u
#define FIBER_ROOM	128u	/* for struct far_fiber, above the stack */
#define COLOURS		(4096u - FIBER_ROOM)

int far_context_watched;

static int is_sanitized(void)
{
	return __sanitizer_start_switch_fiber || __tsan_switch_to_fiber;
}

/* Not instrumented: what it enters in one fiber, it would leave in another. */
__attribute__((no_sanitize_thread))
void far_context_leave(struct far_context *from, struct far_context *to, int ends)
{
	if (__cxa_get_globals)
		from->cxx = *__cxa_get_globals();
	if (__sanitizer_start_switch_fiber)
		__sanitizer_start_switch_fiber(ends ? NULL : &from->fake, to->bottom,
					       to->size);
	if (__tsan_switch_to_fiber) {
		from->tsan = __tsan_get_current_fiber();
		__tsan_switch_to_fiber(to->tsan, 0);
	}
}

void far_context_arrive(struct far_context *self, struct far_context *left)
{
	if (__sanitizer_finish_switch_fiber)
		__sanitizer_finish_switch_fiber(self->fake, &left->bottom, &left->size);
	if (__cxa_get_globals)
		*__cxa_get_globals() = self->cxx;
}

static void fiber_main(struct far_transfer t)
{
	struct far_context *left = t.data;
	struct far_context *self = left->to, *to;
	struct far_fiber *fiber = (struct far_fiber *)self;

	left->sp = t.sp;
	if (far_context_is_watched())
		far_context_arrive(self, left);
	to = fiber->run(fiber->arg);
	self->to = to;
	if (far_context_is_watched())
		far_context_leave(self, to, 1);
	jump_fcontext(to->sp, self);
}

void far_stacks_init(struct far_stacks *stacks, size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE);

	if (is_sanitized())
		size *= SANITIZED_FACTOR;
	size += COLOURS + FIBER_ROOM;
	if (is_sanitized() || __cxa_get_globals)
		__atomic_store_n(&far_context_watched, 1, __ATOMIC_RELAXED);
	*stacks = (struct far_stacks) { .size = (size + page - 1) / page * page };
}

/* The lowest byte of the fiber's stack; the fiber itself lies at the other end. */
static char *stack_bottom(const struct far_stacks *stacks, struct far_fiber *fiber)
{
	size_t page = sysconf(_SC_PAGESIZE);
	uintptr_t end = ((uintptr_t)fiber + page - 1) / page * page;

	return (char *)(end - stacks->size);
}

void far_stacks_fini(struct far_stacks *stacks)
{
	size_t page = sysconf(_SC_PAGESIZE);

	while (stacks->free) {
		struct far_fiber *fiber = stacks->free;

		stacks->free = fiber->next;
		VALGRIND_STACK_DEREGISTER(fiber->valgrind);
		munmap(stack_bottom(stacks, fiber) - page, stacks->size + page);
	}
}

/* Maps a stack with its guard page, and puts a fiber at its top. */
static struct far_fiber *stack_map(struct far_stacks *stacks)
{
	size_t page = sysconf(_SC_PAGESIZE), len = stacks->size + page;
	size_t colour = stacks->nr * COLOUR_STEP % COLOURS;
	struct far_fiber *fiber;
	char *map;

	map = mmap(NULL, len, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	if (mprotect(map, page, PROT_NONE)) {
		munmap(map, len);
		return NULL;
	}
	stacks->nr++;
	fiber = (struct far_fiber *)(map + len - colour - FIBER_ROOM);
	fiber->valgrind = VALGRIND_STACK_REGISTER(map + page, fiber);
	return fiber;
}

_Static_assert(sizeof(struct far_fiber) <= FIBER_ROOM, "the top of a stack has room");
_Static_assert(COLOUR_STEP % 64 == 0 && COLOURS % 64 == 0, "lines are whole");

int far_fiber_new(struct far_stacks *stacks, struct far_context *(*run)(void *arg),
		  void *arg, struct far_fiber **ret_fiber)
{
	struct far_fiber *fiber = stacks->free;
	char *bottom;

	if (fiber)
		stacks->free = fiber->next;
	else
		fiber = stack_map(stacks);
	if (!fiber)
		return -ENOMEM;
	bottom = stack_bottom(stacks, fiber);
	*fiber = (struct far_fiber) {
		.context = { .bottom = bottom, .size = (char *)fiber - bottom },
		.run = run,
		.arg = arg,
		.valgrind = fiber->valgrind,
	};
	fiber->context.sp = make_fcontext(fiber, fiber->context.size, fiber_main);
	if (__tsan_create_fiber)
		fiber->tsan = fiber->context.tsan = __tsan_create_fiber(0);
	*ret_fiber = fiber;
	return 0;
}

void far_fiber_free(struct far_stacks *stacks, struct far_fiber *fiber)
{
	/* Frames that were never left have poisoned what lies around their arrays. */
	if (__asan_unpoison_memory_region)
		__asan_unpoison_memory_region(stack_bottom(stacks, fiber), stacks->size);
	if (__tsan_destroy_fiber)
		__tsan_destroy_fiber(fiber->tsan);
	fiber->next = stacks->free;
	stacks->free = fiber;
}
