/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of kmod/ on the way of a bio need of the kernel, in user space: the
 * names, and behaviour as far as these files rely on it.  Headers in linux/ and rdma/
 * lead here.  Nothing sleeps: a work item is queued, and the test runs it, or looks.
 *
 * Locks and atomics are steps (tests/shim/shim.h), so weave.h can try all orders.
 */
#ifndef _SHIM_KERNEL_H
#define _SHIM_KERNEL_H

#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/types.h>
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <asm/barrier.h>
#include <asm/byteorder.h>

/* ---- the language ------------------------------------------------------------- */

#undef static_assert
#define static_assert(c)	_Static_assert(c, #c)
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define BIT(n)			(1ul << (n))
#define likely(x)		(x)
#define unlikely(x)		(x)
#define min_t(t, a, b)		((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define max_t(t, a, b)		((t)(a) > (t)(b) ? (t)(a) : (t)(b))
#define container_of(p, t, m)	((t *)((char *)(p) - offsetof(t, m)))
#define upper_32_bits(x)	((u32)((u64)(x) >> 32))
#define lower_32_bits(x)	((u32)(x))
#define ilog2(x)		(31 - __builtin_clz(x))
#define DIV_ROUND_UP_ULL(x, n)	(((u64)(x) + (n) - 1) / (n))
#define WARN_ON_ONCE(c)		((c) ? (abort(), true) : false)
#define __aligned(n)		__attribute__((aligned(n)))
#define __percpu
#define ____cacheline_aligned_in_smp
#define __printf(a, b)		__attribute__((format(printf, a, b)))

#define PAGE_SIZE		4096ul
#define SECTOR_SHIFT		9

#define ERR_PTR(err)		((void *)(intptr_t)(err))
#define PTR_ERR(p)		((long)(intptr_t)(p))
#define IS_ERR(p)		((uintptr_t)(p) >= (uintptr_t)-4095)
#define IS_ERR_OR_NULL(p)	(!(p) || IS_ERR(p))

static inline u64 hash_64(u64 v, unsigned int bits)
{
	return v & ((1ull << bits) - 1);
}

/* ---- atomics, bits, barriers ---------------------------------------------------- */

struct shim_atomic {
	int	v;
};

#define atomic_t	struct shim_atomic

#define SHIM_RMW(name, op)						\
static inline int name(int n, atomic_t *a)				\
{									\
	shim_step();							\
	return op(&a->v, n, __ATOMIC_SEQ_CST);				\
}
SHIM_RMW(shim_add, __atomic_add_fetch)
SHIM_RMW(shim_sub, __atomic_sub_fetch)
SHIM_RMW(shim_or, __atomic_or_fetch)
SHIM_RMW(shim_and, __atomic_and_fetch)
SHIM_RMW(shim_xchg, __atomic_exchange_n)

#define atomic_set(a, n)		((void)shim_xchg(n, a))
#define atomic_dec_and_test(a)		(!shim_sub(1, a))
#define atomic_inc(a)			((void)shim_add(1, a))
#define atomic_inc_return(a)		shim_add(1, a)
#define atomic_dec(a)			((void)shim_sub(1, a))
#define atomic_sub(n, a)		((void)shim_sub(n, a))
#define atomic_add(n, a)		((void)shim_add(n, a))
#define atomic_or(n, a)			((void)shim_or(n, a))
#define atomic_andnot(n, a)		((void)shim_and(~(n), a))
#define atomic_xchg(a, n)		shim_xchg(n, a)
#define atomic_read_acquire(a)		atomic_read(a)
#define atomic_set_release(a, n)	atomic_set(a, n)
#define atomic64_dec_return(a)		(atomic64_dec(a), (a)->v)

static inline int atomic_read(const atomic_t *a)
{
	shim_step();
	return a->v;
}

static inline bool atomic_try_cmpxchg(atomic_t *a, int *old, int new)
{
	shim_step();
	return __atomic_compare_exchange_n(&a->v, old, new, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

#define smp_mb()			shim_step()
#define rmb()				do { } while (0)
#define smp_mb__before_atomic()		do { } while (0)
#define smp_mb__after_atomic()		do { } while (0)

#define atomic64_set(a, n)		((void)atomic64_xchg(a, n))

static inline bool test_bit(u64 nr, const unsigned long *map)
{
	return map[nr / 64] >> (nr % 64) & 1;
}

static inline bool test_and_set_bit(u64 nr, unsigned long *map)
{
	shim_step();
	return __atomic_fetch_or(&map[nr / 64], BIT(nr % 64), __ATOMIC_SEQ_CST) >>
	       (nr % 64) & 1;
}

static inline bool test_and_clear_bit(u64 nr, unsigned long *map)
{
	shim_step();
	return __atomic_fetch_and(&map[nr / 64], ~BIT(nr % 64),
				  __ATOMIC_SEQ_CST) >> (nr % 64) & 1;
}

#define clear_bit(nr, map)	((void)test_and_clear_bit(nr, map))
#define set_bit(nr, map)	((void)test_and_set_bit(nr, map))

static inline u64 find_next_bit(const unsigned long *map, u64 nr, u64 from)
{
	while (from < nr && !test_bit(from, map))
		from++;
	return from < nr ? from : nr;
}

#define find_first_bit(map, nr)	find_next_bit(map, nr, 0)
#define BIT_WORD(nr)		((nr) / 64)

static inline u64 find_first_zero_bit(const unsigned long *map, u64 nr)
{
	u64 i = 0;

	while (i < nr && test_bit(i, map))
		i++;
	return i;
}

/* ---- one CPU ---------------------------------------------------------------------- */

#define this_cpu_inc(x)			((void)((x)++))
#define this_cpu_add(x, n)		((void)((x) += (n)))
#define this_cpu_ptr(p)			(p)
#define per_cpu_ptr(p, cpu)		((void)(cpu), (p))
#define alloc_percpu(t)			((t *)calloc(1, sizeof(t)))
#define free_percpu(p)			free(p)
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < 1; (cpu)++)
#define cpumask_first(m)		0
#define cpumask_next(n, m)		((n) + 1)
#define nr_cpu_ids			1
#define raw_smp_processor_id()		0
#define local_irq_save(flags)		((void)((flags) = 0))
#define local_irq_restore(flags)	((void)(flags))

/* ---- locks and waiting ---------------------------------------------------------- */

/* @held, and its opposite for who waits for that. */
struct shim_spinlock {
	bool	held;
	bool	free;
};

#define spinlock_t	struct shim_spinlock

/* What waits for a flag: weave_wait(), where there are threads. */
extern void (*shim_wait_hook)(const bool *flag);
void shim_lock(spinlock_t *l);
void shim_unlock(spinlock_t *l);

#define spin_lock_init(l)		(*(l) = (spinlock_t){ .free = true })
#define spin_lock_bh(l)			shim_lock(l)
#define spin_unlock_bh(l)		shim_unlock(l)
#define spin_lock(l)			shim_lock(l)
#define spin_unlock(l)			shim_unlock(l)
#define lockdep_assert_held(l)		((l)->held ? (void)0 : abort())

struct mutex {
	bool	held;
};

#define mutex_init(m)			(*(m) = (struct mutex){ })
/* Nobody is there to give one up. */
#define mutex_lock(m)			((m)->held ? abort() : (void)((m)->held = true))
#define mutex_unlock(m)			((void)((m)->held = false))

struct shim_waitqueue {
	unsigned int	wakes;
};

#define wait_queue_head_t	struct shim_waitqueue

#define init_waitqueue_head(w)		((w)->wakes = 0)
#define wake_up(w)			((void)(w)->wakes++)
#define wake_up_all(w)			((void)(w)->wakes++)
#define wait_event(w, cond)		((cond) ? (void)0 : abort())
#define wait_event_timeout(w, cond, t)	((cond) ? (void)0 : (void)(jiffies += (t)))

struct completion {
	bool	done;
};

#define init_completion(c)		((void)((c)->done = false))
#define complete(c)			((void)((c)->done = true))

/* Nobody completes it meanwhile: either it has been, or the time is over. */
static inline unsigned long wait_for_completion_timeout(struct completion *c,
							unsigned long t);

/* ---- work items ------------------------------------------------------------------- */

struct workqueue_struct;
struct work_struct;
typedef void (*work_func_t)(struct work_struct *w);

/* @queued: how often, of which it would run once */
struct work_struct {
	work_func_t	fn;
	unsigned int	queued;
};

/* @delay: of the last time that it was queued, or had its time changed */
struct delayed_work {
	struct work_struct	work;
	unsigned long		delay;
};

static inline void shim_flush(struct work_struct *w)
{
	bool queued = w->queued;

	w->queued = 0;
	if (queued)
		w->fn(w);
}

#define to_delayed_work(w)		container_of(w, struct delayed_work, work)
#define INIT_WORK(w, f)			(*(w) = (struct work_struct){ .fn = (f) })
#define INIT_DELAYED_WORK(w, f)		INIT_WORK(&(w)->work, f)
#define queue_work(wq, w)		((void)(w)->queued++)
#define queue_delayed_work(wq, w, t) \
	((void)((w)->work.queued || ((w)->delay = (t), 1)), (void)(w)->work.queued++)
#define mod_delayed_work(wq, w, t)	((void)((w)->delay = (t)), (void)(w)->work.queued++)
#define flush_delayed_work(w)		shim_flush(&(w)->work)
#define cancel_delayed_work(w)		((void)((w)->work.queued = 0))
#define cancel_work_sync(w)		((void)((w)->queued = 0))
#define cancel_delayed_work_sync(w)	((void)((w)->work.queued = 0))

#define alloc_workqueue(name, flags, most, ...) ((struct workqueue_struct *)&jiffies)
#define destroy_workqueue(wq)		((void)(wq))

/* ---- time -------------------------------------------------------------------------- */

extern unsigned long jiffies;
#define HZ				1000
#define NSEC_PER_MSEC			1000000ull
#define msecs_to_jiffies(ms)		((unsigned long)(ms))
#define jiffies_to_msecs(j)		((unsigned int)(j))
#define time_after(a, b)		((long)((b) - (a)) < 0)
#define time_before(a, b)		time_after(b, a)
#define msleep(ms)			((void)(jiffies += (ms)))
#define usleep_range(min, max)		((void)(jiffies += (max) / 1000))

static inline unsigned long wait_for_completion_timeout(struct completion *c,
							unsigned long t)
{
	if (!c->done)
		jiffies += t;
	return c->done;
}

static inline u64 ktime_get_ns(void)
{
	return jiffies * 1000000ull;
}

/* ---- the log ------------------------------------------------------------------------ */

struct ratelimit_state {
	int	unused;
};

struct va_format {
	const char	*fmt;
	va_list		*va;
};

extern unsigned int shim_log_lines;
#define __ratelimit(r)			1
#define ratelimit_state_init(r, t, n)	((void)(r))
#define KBUILD_MODNAME			"odrp"
#define KERN_ERR			"3"
#define KERN_WARNING			"4"
#define printk(fmt, ...)		shim_print(fmt, ##__VA_ARGS__)
#define pr_err(fmt, ...)		shim_print(fmt, ##__VA_ARGS__)
#define pr_err_ratelimited(fmt, ...)	shim_print(fmt, ##__VA_ARGS__)
#define pr_info(fmt, ...)		shim_print(fmt, ##__VA_ARGS__)
#define pr_notice(fmt, ...)		shim_print(fmt, ##__VA_ARGS__)
#define pr_warn(fmt, ...)		shim_print(fmt, ##__VA_ARGS__)
#define pr_warn_ratelimited(fmt, ...)	shim_print(fmt, ##__VA_ARGS__)

static inline void shim_print(const char *fmt, ...)
{
	(void)fmt;
	shim_log_lines++;
}

/* ---- memory ------------------------------------------------------------------------ */

struct list_head {
	struct list_head *next, *prev;
};

struct page {
	char	bytes[PAGE_SIZE];
};

#define GFP_KERNEL			0
#define __GFP_NORETRY			0
#define __GFP_NOWARN			0
#define vfree(p)			free(p)
#define kzalloc(n, gfp)			calloc(1, n)
#define alloc_page(gfp)			((struct page *)calloc(1, PAGE_SIZE))
#define __free_page(p)			free(p)
#define get_zeroed_page(gfp)		((unsigned long)calloc(1, PAGE_SIZE))
#define free_page(p)			free((void *)(p))
#define is_vmalloc_addr(p)		false
#define vmalloc_to_page(p)		((struct page *)(p))
#define virt_to_page(p)			((struct page *)((uintptr_t)(p) & -PAGE_SIZE))
#define offset_in_page(p)		((uintptr_t)(p) & (PAGE_SIZE - 1))
#define get_random_bytes_wait(p, n)	getentropy(p, n)
#define memzero_explicit(p, n)		explicit_bzero(p, n)
#define cond_resched()			do { } while (0)
#define kfree(p)			free(p)
#define page_address(p)			((void *)(p)->bytes)
#define memcpy_to_page(p, off, from, n)	((void)memcpy((p)->bytes + (off), from, n))
#define memcpy_from_page(to, p, off, n)	((void)memcpy(to, (p)->bytes + (off), n))
#define memalloc_noio_save()		0u
#define memalloc_noio_restore(n)	((void)(n))
#define memalloc_noreclaim_save()	0u
#define memalloc_noreclaim_restore(n)	((void)(n))

extern struct page shim_zero_page;
#define ZERO_PAGE(addr)			(&shim_zero_page)

/* ---- bios ---------------------------------------------------------------------------- */

struct gendisk;
struct block_device;
struct attribute_group;
struct dentry;

enum { BLK_STS_OK, BLK_STS_NOSPC, BLK_STS_IOERR };
enum { REQ_OP_READ, REQ_OP_WRITE };
#define REQ_SYNC			0u
#define BIO_CHAIN			1u

struct bvec_iter {
	u64		bi_sector;
	unsigned int	bi_size;
	unsigned int	done;
};

struct bio_vec {
	struct page	*bv_page;
	unsigned int	bv_offset, bv_len;
};

struct bio_set;

/* @pages: one for each block; @ended: how often it has; @pool: where it comes from */
struct bio {
	struct bio	*bi_next;
	unsigned int	op, flags;
	int		bi_status;
	struct bvec_iter bi_iter;
	struct page	*pages;
	int		remaining;
	unsigned int	ended;
	void		(*bi_end_io)(struct bio *bio);
	struct bio_set	*pool;
};

#define bi_opf				op

struct bio_list {
	struct bio	*head, *tail;
};

#define bio_op(bio)			((bio)->op)
#define bio_flagged(bio, f)		((bio)->flags & (f))
#define bio_set_flag(bio, f)		((void)((bio)->flags |= (f)))
#define bio_inc_remaining(bio)		(bio_set_flag(bio, BIO_CHAIN), \
					 (void)(bio)->remaining++)
#define bio_list_empty(l)		(!(l)->head)
#define bio_list_init(l)		((void)((l)->head = (l)->tail = NULL))

static inline void bio_endio(struct bio *bio)
{
	if ((bio->flags & BIO_CHAIN) && --bio->remaining)
		return;
	bio->ended++;
	if (bio->bi_end_io)
		bio->bi_end_io(bio);
}

static inline struct bio_vec bio_iter_iovec(struct bio *bio,
					    struct bvec_iter iter)
{
	return (struct bio_vec){
		.bv_page = &bio->pages[iter.done / PAGE_SIZE],
		.bv_offset = iter.done % PAGE_SIZE,
		.bv_len = PAGE_SIZE - iter.done % PAGE_SIZE,
	};
}

static inline void bio_advance_iter(struct bio *bio, struct bvec_iter *iter,
				    unsigned int bytes)
{
	(void)bio;
	iter->bi_sector += bytes >> SECTOR_SHIFT;
	iter->bi_size -= bytes;
	iter->done += bytes;
}

static inline void bio_list_merge(struct bio_list *l, struct bio_list *more)
{
	if (!more->head)
		return;
	if (l->tail)
		l->tail->bi_next = more->head;
	else
		l->head = more->head;
	l->tail = more->tail;
}

static inline void bio_list_add(struct bio_list *l, struct bio *bio)
{
	struct bio_list one = { bio, bio };

	bio->bi_next = NULL;
	bio_list_merge(l, &one);
}

static inline struct bio *bio_list_pop(struct bio_list *l)
{
	struct bio *bio = l->head;

	if (!bio)
		return NULL;
	l->head = bio->bi_next;
	if (!l->head)
		l->tail = NULL;
	bio->bi_next = NULL;
	return bio;
}

#define bio_list_peek(l)		((l)->head)
#define bio_list_for_each(bio, l)	for (bio = (l)->head; bio; bio = (bio)->bi_next)

static inline unsigned int bio_list_size(const struct bio_list *l)
{
	const struct bio *bio;
	unsigned int n = 0;

	bio_list_for_each(bio, l)
		n++;
	return n;
}

/* ---- a pool of bios, which has no more than @left ------------------------------------ */

struct bio_set {
	unsigned int	left, pad;
};

/* The one flag that counts here: may the caller be made to wait? */
#define GFP_NOIO			1
#define GFP_NOWAIT			0

static inline int bioset_init(struct bio_set *bs, unsigned int nr,
			      unsigned int pad, int flags)
{
	*bs = (struct bio_set){ .left = nr, .pad = pad };
	return 0;
}

/* A caller that may sleep for a twin would sleep for ever here: the test ends. */
static inline struct bio *odrp_compat_bio_clone(struct bio *src, int gfp,
						struct bio_set *bs)
{
	struct bio *bio;

	if (!bs->left) {
		if (gfp & GFP_NOIO)
			abort();
		return NULL;
	}
	bs->left--;
	bio = (struct bio *)((char *)calloc(1, bs->pad + sizeof(*bio)) + bs->pad);
	*bio = *src;
	bio->flags = bio->ended = 0;
	bio->bi_end_io = NULL;
	bio->remaining = 1;
	bio->pool = bs;
	return bio;
}

static inline void bio_put(struct bio *bio)
{
	bio->pool->left++;
	free((char *)bio - bio->pool->pad);
}

struct odrp_compat_bdev {
	struct block_device *bdev;
};

static inline void odrp_compat_bio_copy(struct bio *bio,
					struct block_device *bdev,
					struct bio *src)
{
	(void)bdev;
	*bio = *src;
	bio->flags = bio->ended = 0;
}

#define bio_uninit(bio)			((void)(bio))
#define blk_status_to_errno(s)		((s) ? -EIO : 0)

struct blk_plug {
	int	unused;
};

#define blk_start_plug(p)		((void)(p))
#define blk_finish_plug(p)		((void)(p))

/* The disk is the test. */
void submit_bio_noacct(struct bio *bio);

/* ---- lists without locks --------------------------------------------------------------- */

struct llist_node {
	struct llist_node *next;
};

struct llist_head {
	struct llist_node *first;
};

#define init_llist_head(l)		((void)((l)->first = NULL))

/* Return: was it empty? */
static inline bool llist_add(struct llist_node *n, struct llist_head *l)
{
	n->next = l->first;
	l->first = n;
	return !n->next;
}

static inline struct llist_node *llist_del_all(struct llist_head *l)
{
	struct llist_node *n = l->first;

	l->first = NULL;
	return n;
}

static inline struct llist_node *llist_reverse_order(struct llist_node *n)
{
	struct llist_node *next, *out = NULL;

	for (; n; n = next) {
		next = n->next;
		n->next = out;
		out = n;
	}
	return out;
}

static inline void *shim_llist_entry(struct llist_node *n, size_t at)
{
	return n ? (char *)n - at : NULL;
}

#define llist_for_each_entry_safe(p, n, list, m)			\
	for ((p) = shim_llist_entry(list, offsetof(__typeof__(*(p)), m)); \
	     (p) && ((n) = shim_llist_entry((p)->m.next,		\
				offsetof(__typeof__(*(p)), m)), true);	\
	     (p) = (n))

/* ---- verbs: the test is the NIC; an address is where it leads -------------------- */

struct device {
	int	unused;
};

struct ib_device {
	struct device dev;
};

struct ib_pd {
	u32	local_dma_lkey;
};
struct ib_qp;
struct ib_cq;
struct ib_mr {
	u64	iova;
	u32	rkey;
};
struct rdma_cm_id;
struct ib_wc;
struct irq_poll;

typedef int irq_poll_fn(struct irq_poll *iop, int budget);

struct irq_poll {
	irq_poll_fn	*poll;
};

struct ib_cqe {
	void		(*done)(struct ib_cq *cq, struct ib_wc *wc);
};

struct ib_sge {
	u64		addr;
	u32		length, lkey;
};

struct ib_send_wr {
	struct ib_send_wr *next;
	struct ib_cqe	*wr_cqe;
	struct ib_sge	*sg_list;
	int		num_sge;
	unsigned int	opcode, send_flags;
};

struct ib_rdma_wr {
	struct ib_send_wr wr;
	u64		remote_addr;
	u32		rkey;
};

struct ib_recv_wr {
	struct ib_recv_wr *next;
	struct ib_cqe	*wr_cqe;
};

enum ib_wr_opcode { IB_WR_SEND, IB_WR_RDMA_WRITE };
enum ib_wc_status { IB_WC_SUCCESS, IB_WC_WR_FLUSH_ERR };
enum ib_wc_opcode { IB_WC_SEND, IB_WC_RECV_RDMA_WITH_IMM };
enum ib_qp_state { IB_QPS_INIT, IB_QPS_RTR, IB_QPS_RTS, IB_QPS_ERR };
#define IB_SEND_SIGNALED		1u
#define IB_QP_STATE			1

struct ib_qp_attr {
	enum ib_qp_state qp_state;
};

#define IB_WC_WITH_IMM			1u

struct ib_wc {
	struct ib_cqe	*wr_cqe;
	enum ib_wc_status status;
	enum ib_wc_opcode opcode;
	u32		byte_len;
	unsigned int	wc_flags;
	struct {
		__be32	imm_data;
	} ex;
};

int ib_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
		 const struct ib_send_wr **ret_bad);
int ib_post_recv(struct ib_qp *qp, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **ret_bad);
int ib_poll_cq(struct ib_cq *cq, int nr, struct ib_wc *wc);
int ib_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask);
int ib_destroy_qp(struct ib_qp *qp);
void ib_destroy_cq(struct ib_cq *cq);
void ib_dealloc_pd(struct ib_pd *pd);

enum dma_data_direction { DMA_TO_DEVICE, DMA_FROM_DEVICE };

#define ib_dma_map_page(d, page, off, len, dir)	((u64)(uintptr_t)(page) + (off))
#define ib_dma_mapping_error(d, addr)		0
#define ib_dma_unmap_page(d, a, len, dir)	((void)(d))
#define ib_dma_unmap_single(d, a, len, dir)	((void)(d))
#define ib_dma_sync_single_for_cpu(d, a, len, dir) ((void)(d))
#define ib_dma_sync_single_for_device(d, a, len, dir) ((void)(d))
#define ib_wc_status_msg(s)			"status"
#define ib_event_msg(e)				"event"
#define dev_name(d)				((void)(d), "nic")
#define irq_poll_disable(iop)			((void)(iop))

/* ---- modules ------------------------------------------------------------------------- */

extern unsigned int shim_module_refs;
#define THIS_MODULE				NULL
#define __module_get(m)				((void)shim_module_refs++)

#endif /* _SHIM_KERNEL_H */
