/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of mem: files, maps, registrations, queue sets. */
#ifndef FAR_NIC_MEM_PRIV_H
#define FAR_NIC_MEM_PRIV_H

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include <odrp/far.h>

#include "bell.h"
#include "mem.h"

#define MEM_PAGE	4096u
#define MEM_CLIENTS	65536u
#define MEM_OWNERS	4096u		/* clients below this have an entry in the tail */
#define MEM_MAGIC	UINT64_C(0x3230656d2d726166)	/* "far-me02", little endian */

enum { MEM_RUNS = 0, MEM_STOPPED = 1 };

/* The process that has claimed a client number. All members are atomic. */
struct mem_owner {
	uint32_t pid;		/* 0: none, or not known */
	uint32_t ns;		/* inode number of the process's pid namespace */
	uint64_t start;		/* when the process began, clock ticks after the boot */
};

_Static_assert(sizeof(struct mem_owner) == 16, "two words");

/* Data of mem in the file, behind the space. Host order. */
struct mem_tail {
	uint64_t magic;
	uint64_t size;		/* of the space: the file's length less the tail */
	uint64_t state;		/* MEM_RUNS, MEM_STOPPED: atomic */
	uint64_t reserved[MEM_PAGE / 8 - 3];
	struct mem_owner owner[MEM_OWNERS];
};

#define MEM_TAIL	sizeof(struct mem_tail)

_Static_assert(MEM_TAIL == MEM_PAGE * 17, "a page, and the owners");

/* A mapped file. */
struct mem_map {
	int fd;			/* its file description holds the locks of claims */
	uint8_t *base;		/* address of offset 0 */
	uint64_t size;		/* of the space */
	struct mem_tail *tail;
	char name[ODRP_FAR_NAME_MAX + FAR_MEM_NODE_MAX + 2];	/* SPACE@NODE */
};

/* A registration of the local memory [start, end). */
struct mem_mr {
	uint32_t key;		/* 0: the entry is free. Atomic, as start and end are */
	uint32_t uses;		/* how often the entry was taken */
	uintptr_t start, end;
};

#define MEM_MR_BITS	6	/* bits of an index within a chunk */
#define MEM_MR_CHUNK	(1u << MEM_MR_BITS)
#define MEM_MR_CHUNKS	1024u

/*
 * Registrations, in chunks that never move, so that readers need no lock. A key has the
 * entry's index plus 1 in the lower 16 bits, and the low bits of uses above.
 */
struct mem_mrs {
	pthread_mutex_t lock;	/* protects nr, nr_free and changes of entries */
	struct mem_mr *chunk[MEM_MR_CHUNKS];
	uint32_t nr;		/* entries that have ever been taken */
	uint32_t nr_free;	/* how many of them are free */
};

struct mem_nic {
	struct far_nic nic;
	char dir[PATH_MAX];
	int dir_is_default;
	struct mem_mrs mrs;
};

static inline struct mem_nic *mem_nic_of(struct far_nic *nic)
{
	return (struct mem_nic *)nic;
}

/* mem_mr.c */
int mem_mrs_init(struct mem_mrs *mrs);
void mem_mrs_fini(struct mem_mrs *mrs);
int mem_mr_reg(struct far_nic *nic, void *addr, size_t len, uint32_t *ret_lkey);
void mem_mr_dereg(struct far_nic *nic, uint32_t lkey);
/* True if the entry is of this key and contains [addr, addr + len). Any thread. */
static inline int mem_mr_has(const struct mem_mr *mr, uint32_t key, const void *addr,
			     size_t len)
{
	uintptr_t at = (uintptr_t)addr, end;

	if (__atomic_load_n(&mr->key, __ATOMIC_ACQUIRE) != key)
		return 0;
	end = __atomic_load_n(&mr->end, __ATOMIC_RELAXED);
	return at >= __atomic_load_n(&mr->start, __ATOMIC_RELAXED) && at <= end &&
	       len <= end - at;
}
/* The same for the entry that the key names; puts that into *last. */
int mem_mr_find(const struct mem_mrs *mrs, uint32_t key, const void *addr, size_t len,
		const struct mem_mr **last);
/* *last is the entry of an earlier call, or NULL: entries never move. */
static inline int mem_mr_holds(const struct mem_mrs *mrs, uint32_t key, const void *addr,
			       size_t len, const struct mem_mr **last)
{
	return (*last && mem_mr_has(*last, key, addr, len)) ||
	       mem_mr_find(mrs, key, addr, len, last);
}

/* mem_file.c: the errors are those of far_nic_host_ops. */
/* Opens the directory. -ENOENT: it is missing; -EACCES: another user may control it. */
int mem_dir_open(const struct mem_nic *mem, int *ret_fd);
int mem_file_name(const char *node, const char *space, char *ret_name, size_t size);
int mem_file_map(const struct mem_nic *mem, const char *name, int prot,
		 struct mem_map **ret_map);
void mem_file_unmap(struct mem_map *map);
/* True if the file has been deleted, or its tail says that the memory node has stopped. */
int mem_file_gone(const struct mem_map *map);
static inline int mem_map_stopped(const struct mem_map *map)
{
	return __atomic_load_n(&map->tail->state, __ATOMIC_ACQUIRE) != MEM_RUNS;
}
extern const struct far_nic_host_ops mem_host_ops;

/* mem_peer.c */
int mem_attach(struct far_nic *nic, const char *node, const char *space,
	       unsigned rights, struct far_peer *ret_peer);
void mem_detach(struct far_nic *nic, struct far_peer *peer);
int mem_claim(struct far_nic *nic, struct far_peer *peer, unsigned client);
void mem_unclaim(struct far_nic *nic, struct far_peer *peer, unsigned client);
int mem_fence(struct far_nic *nic, struct far_peer *peer, unsigned client);

/* Memory that operations of a queue access: of a space, or another end's window. */
struct mem_target {
	uint8_t *base;
	uint64_t size;
	const uint64_t *state;	/* MEM_RUNS, MEM_STOPPED: atomic */
	unsigned rights;	/* FAR_ATTACH_* */
};

/* An attachment: far_peer.priv. */
struct mem_peer {
	struct mem_target target;
	struct mem_map *map;
	uint64_t claimed[MEM_CLIENTS / 64];	/* a bit per client; atomic */
	uint32_t looked[MEM_OWNERS];	/* ms: last check of the client's process; atomic */
};

/*
 * mem_owner.c: make this process the owner; remove the owner; whether the owner is a
 * process that has ended.
 */
void mem_owner_set(struct mem_owner *owner);
void mem_owner_clear(struct mem_owner *owner);
int mem_owner_ended(const struct mem_owner *owner);

/* mem_window.c: windows, which are files without a name. */
int mem_window_new(struct far_nic *nic, uint64_t size, const struct far_common *common,
		   struct far_window *ret_window);
void mem_window_free(struct far_nic *nic, struct far_window *window);
/* Descriptors of the own and of the common memory, and how many these are. */
unsigned mem_window_fds(const struct far_window *window, int *ret_fd);
/* Maps another process' window by both, the second of which may be -1. -EPROTO, -ENOMEM. */
int mem_window_map(const int *fd, uint8_t **ret_base, uint64_t *ret_size);

/*
 * A connection in memory that both ends share: for each direction, what the receiver and
 * the sender of WRITE_IMMs tell each other. All members are atomic. The other end may write
 * anything at any time.
 */
#define MEM_RECVS	256u	/* RECVs of one end at a time */

struct mem_way {
	uint32_t posted;	/* number of RECVs ever posted; the receiver counts */
	uint32_t taken;		/* number of RECVs that WRITE_IMMs have taken; the sender counts */
	uint32_t asleep;	/* the receiver waits: send a byte */
	uint32_t reserved[13];
	uint32_t imm[MEM_RECVS];
};

struct mem_wire {
	struct mem_way way[2];	/* to the caller, to the end that was called */
};

#define MEM_WIRE_SIZE	4096u

_Static_assert(sizeof(struct mem_wire) <= MEM_WIRE_SIZE, "one page");

enum mem_watch_kind { MEM_WATCH_LISTENER, MEM_WATCH_PENDING, MEM_WATCH_SOCKET,
		      MEM_WATCH_PROCESS, MEM_WATCH_BELL };

/* An epoll entry refers to one. */
struct mem_watch {
	enum mem_watch_kind kind;
	int fd;
	void *owner;		/* struct far_listener, struct mem_pending, struct far_link */
};

/* One end of a connection. */
struct far_link {
	struct mem_target target;	/* the other end's window */
	struct far_end end;
	struct mem_wire *wire;
	struct mem_way *in, *out;	/* WRITE_IMMs to this end, and from it */
	struct mem_watch sock, process;	/* fd -1: none */
	uint64_t state;			/* of target: atomic */
	/* RECVs in the order of posting: [recv_done, recv_posted) wait */
	uint32_t recv_posted, recv_done;
	uint64_t recv_id[MEM_RECVS];
	uint32_t sent;			/* WRITE_IMMs, all */
	struct far_link *next;		/* in mem_calls */
};

/* A queue set receives with this: mem_link.c. */
struct mem_calls {
	int epoll;
	struct far_bell *ringer;	/* the queue set's */
	struct mem_watch bell;		/* the queue set's eventfd */
	struct far_link *links;
	unsigned polls;			/* since the descriptors were looked at */
};

/* The queue set's; makes it. -ENOMEM, -EMFILE. */
int mem_calls_get(struct far_qset *qset, struct mem_calls **ret_calls);
void mem_calls_free(struct mem_calls *calls);
int mem_calls_watch(struct mem_calls *calls, struct mem_watch *watch);
void mem_calls_forget(struct mem_calls *calls, struct mem_watch *watch);
/* Handles events of descriptors. */
void mem_calls_look(struct mem_calls *calls);
/* Takes completions of RECVs. */
unsigned mem_calls_take(struct mem_calls *calls, struct far_wc *wc, unsigned max);
/* Sleeps until there may be a completion, an event, or `until`. 0 or -ETIME. */
int mem_calls_sleep(struct mem_calls *calls, uint64_t until);
int mem_link_recv(struct mem_calls *calls, unsigned idx, const struct far_wr *wr,
		  unsigned nr);
/* True if the other end has a RECV; hands an immediate to that RECV. */
int mem_link_has_recv(const struct far_link *link);
void mem_link_imm(struct far_link *link, uint32_t imm);
int mem_calls_add(struct mem_calls *calls, struct far_link *link);
void mem_calls_remove(struct mem_calls *calls, struct far_link *link);

/* mem_call.c */
extern const struct far_nic_call_ops mem_call_ops;
void mem_listener_accept(struct far_listener *listener);
void mem_pending_read(struct mem_watch *watch);

/* mem_qset.c */
int mem_qset_link(struct far_qset *qset, unsigned idx, struct far_link *link);
void mem_qset_unlink(struct far_qset *qset, unsigned idx);
struct far_bell *mem_qset_bell(struct far_qset *qset);
struct mem_calls **mem_qset_calls(struct far_qset *qset);
int mem_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
		 struct far_qset **ret_qset);
void mem_qset_free(struct far_qset *qset);
int mem_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer);
int mem_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr);
int mem_poll(struct far_qset *qset, struct far_wc *wc, unsigned max);
int mem_wait(struct far_qset *qset, uint64_t until);
void mem_wake(struct far_qset *qset);
int mem_fd_arm(struct far_qset *qset);
void mem_fd_disarm(struct far_qset *qset);
void mem_qset_stats(struct far_qset *qset, struct far_qset_stats *ret_stats);

/*
 * Operations take effect in the order of posting. mem_order() keeps two operations in
 * order; it costs nothing on x86, whose processors reorder only a READ behind a WRITE.
 * Between these two, and before the completion of a WRITE, all stores must be visible:
 * mem_drain(). ThreadSanitizer does not support fences, so mem_drain() is an atomic
 * operation on a variable of the thread there.
 */
static inline void mem_order(void)
{
#ifndef __SANITIZE_THREAD__
	__atomic_thread_fence(__ATOMIC_ACQ_REL);
#endif
}

static inline void mem_drain(int *dirty)
{
#ifdef __SANITIZE_THREAD__
	__atomic_exchange_n(dirty, 0, __ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*dirty = 0;
#endif
}

/* An operation in its queue. */
struct mem_wqe {
	_Alignas(64) struct far_wr wr;
	_Alignas(64) uint8_t data[FAR_NIC_MAX_INLINE];	/* of an inline WRITE */
};

/* State that the operations of one queue set share. */
struct mem_runner {
	const struct mem_mrs *mrs;
	const struct mem_mr *last;	/* of mem_mr_holds() */
	int dirty;			/* a WRITE may not be visible to all yet */
};

/*
 * mem_exec.c: executes one operation, of a WRITE_IMM the WRITE. 0, -EFAULT, -EACCES,
 * -EHOSTDOWN.
 */
int mem_exec(struct mem_runner *runner, const struct mem_target *target,
	     const struct mem_wqe *wqe);

#endif
