// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory files that outlive the agent; see keep.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <odrp/wire.h>
#include "keep.h"

#define KEEP_AT(t, f, o) _Static_assert(offsetof(struct t, f) == (o), #f)

_Static_assert(sizeof(struct keep_head) == 64, "head");
KEEP_AT(keep_head, magic, 0);
KEEP_AT(keep_head, version, 8);
KEEP_AT(keep_head, nr_records, 12);
KEEP_AT(keep_head, nr_pages, 16);
KEEP_AT(keep_head, table_len, 24);
KEEP_AT(keep_head, next_id, 32);
KEEP_AT(keep_head, generation, 40);
KEEP_AT(keep_head, huge, 44);
KEEP_AT(keep_head, draining, 48);
KEEP_AT(keep_head, resv, 52);
KEEP_AT(keep_head, valid, 60);

_Static_assert(sizeof(struct keep_record) == 128, "record");
KEEP_AT(keep_record, id, 0);
KEEP_AT(keep_record, token, 8);
KEEP_AT(keep_record, nr_slots, 16);
KEEP_AT(keep_record, cap, 24);
KEEP_AT(keep_record, slack, 32);
KEEP_AT(keep_record, granted, 40);
KEEP_AT(keep_record, ceiling, 48);
KEEP_AT(keep_record, claim, 56);
KEEP_AT(keep_record, peer_ip, 64);
KEEP_AT(keep_record, features, 68);
KEEP_AT(keep_record, nr_queues, 72);
KEEP_AT(keep_record, depth, 74);
KEEP_AT(keep_record, instances, 76);
KEEP_AT(keep_record, resv0, 78);
KEEP_AT(keep_record, name, 80);
KEEP_AT(keep_record, dead_ms, 112);
KEEP_AT(keep_record, resv1, 116);
KEEP_AT(keep_record, valid, 124);
_Static_assert(KEEP_OWNERS_OFF % 4096 == 0, "owners begin a page");

_Static_assert(sizeof(struct keep_agent) == 16, "agent");
KEEP_AT(keep_agent, pid, 0);
KEEP_AT(keep_agent, start, 8);
_Static_assert(sizeof(struct keep_head) == KEEP_AGENT_OFF, "agent");

_Static_assert(sizeof(struct keep_space) == 224, "space");
KEEP_AT(keep_space, page, 0);
KEEP_AT(keep_space, nr_pages, 8);
KEEP_AT(keep_space, sb, 16);
KEEP_AT(keep_space, generation, 208);
KEEP_AT(keep_space, resv, 212);
KEEP_AT(keep_space, valid, 220);
_Static_assert(KEEP_SPACES_OFF + KEEP_SPACES * sizeof(struct keep_space) ==
	       KEEP_RECORDS_OFF, "spaces");

_Static_assert(sizeof(struct keep_member) == 8, "member");
KEEP_AT(keep_member, generation, 0);
KEEP_AT(keep_member, state, 4);
KEEP_AT(keep_member, losses, 6);
KEEP_AT(keep_member, resv, 7);

#define PAGE		4096ull
#define END_WAIT_MS	60000		/* for the last agent's process to end */
#define SHRINK_PIECE	(16ul << 20)	/* takes some milliseconds */

const char *const keep_names[KEEP_FILES] = {
	[KEEP_STATE] = "odrp-state",
	[KEEP_PAGES] = "odrp-pages",
	[KEEP_TABLES] = "odrp-tables",
};

/* Orders writes with respect to the end of this process. If it is killed here, the writes
 * before this are done, and none after it. */
static void keep_order(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static size_t members_off(uint64_t nr_pages)
{
	return (KEEP_OWNERS_OFF + nr_pages * sizeof(uint16_t) + 7) / 8 * 8;
}

static size_t state_len(uint64_t nr_pages, uint32_t version)
{
	return version == KEEP_VERSION ? members_off(nr_pages) + KEEP_SPACES * KEEP_MEMBERS *
	       sizeof(struct keep_member) : KEEP_OWNERS_OFF + nr_pages * sizeof(uint16_t);
}

static void set_pointers(struct keep *k, uint64_t nr_pages, uint32_t version)
{
	char *state = k->state.va;

	k->head = k->state.va;
	k->agent = (void *)(state + KEEP_AGENT_OFF);
	k->space = (void *)(state + KEEP_SPACES_OFF);
	k->record = (void *)(state + KEEP_RECORDS_OFF);
	k->owner = (void *)(state + KEEP_OWNERS_OFF);
	k->member = version == KEEP_VERSION ? (void *)(state + members_off(nr_pages)) : NULL;
}

/* Locks the file for this process, whoever else has it open. The lock ends with the
 * process. -EBUSY: another process has the lock. */
static int lock_state(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (!fcntl(fd, F_SETLK, &lock))
		return 0;
	return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
}

/* ---- the process ----------------------------------------------------------------- */

/* When a process began; 0: there is none with that number that this one may see. */
static uint64_t process_start(uint32_t pid)
{
	char path[32], text[1024], *at;
	uint64_t start;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	/* The name in parentheses may have any character; the start is the 20th number behind
	 * the state. */
	at = strrchr(text, ')');
	if (!at || sscanf(at, ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			  "%*s %*s %*s %*s %" SCNu64, &start) != 1)
		return 0;
	return start;
}

/* With @start 0 nobody waits for this process. It has no queue pairs yet. */
static void agent_note(struct keep *k)
{
	uint64_t start = process_start(getpid());

	k->agent->start = 0;
	keep_order();
	k->agent->pid = getpid();
	keep_order();
	k->agent->start = start;
}

/*
 * Waits for the end of the agent's process. The lock of the file ends earlier: a process
 * that ends closes its files one after the other, and a NIC's device is one of them.
 */
static int agent_wait(const struct keep *k)
{
	uint32_t pid = k->agent->pid;
	uint64_t start = k->agent->start;
	struct pollfd end = { .events = POLLIN };
	int r;

	if (!pid || !start || pid == (uint32_t)getpid() || process_start(pid) != start)
		return 0;
	end.fd = syscall(SYS_pidfd_open, pid, 0);
	if (end.fd < 0)
		return errno == ESRCH ? 0 : -errno;
	do {
		r = poll(&end, 1, END_WAIT_MS);
	} while (r < 0 && errno == EINTR);
	close(end.fd);
	return r > 0 ? 0 : -EBUSY;
}

/* ---- creating files -------------------------------------------------------------- */

static uint64_t table_len(uint64_t max_slots)
{
	return (max_slots * sizeof(__be64) + PAGE - 1) / PAGE * PAGE;
}

static void set_head(struct keep *k, uint64_t nr_pages, uint64_t max_slots,
		     uint32_t generation)
{
	k->head->magic = KEEP_MAGIC;
	k->head->version = KEEP_VERSION;
	k->head->nr_records = KEEP_RECORDS;
	k->head->nr_pages = nr_pages;
	k->head->table_len = table_len(max_slots);
	k->head->next_id = 1;
	k->head->generation = generation;
	k->head->huge = k->pages.huge;
	keep_order();
	k->head->valid = KEEP_VALID;
}

static int make_files(struct keep *k, uint64_t nr_pages, uint64_t max_slots,
		      bool populate)
{
	unsigned int flags = MEM_HUGE | (populate ? MEM_POPULATE : 0);
	int r;

	r = mem_file_new(keep_names[KEEP_STATE], state_len(nr_pages, KEEP_VERSION), 0,
			 &k->fd[KEEP_STATE], &k->state);
	if (r)
		return r;
	r = mem_file_new(keep_names[KEEP_PAGES], nr_pages * PAGE, flags,
			 &k->fd[KEEP_PAGES], &k->pages);
	if (r)
		return r;
	r = mem_file_make(keep_names[KEEP_TABLES], KEEP_RECORDS * table_len(max_slots),
			  false, &k->fd[KEEP_TABLES]);
	return r ? r : lock_state(k->fd[KEEP_STATE]);
}

void keep_init(struct keep *k)
{
	unsigned int i;

	*k = (struct keep){ .adopted = false };
	for (i = 0; i < KEEP_FILES; i++)
		k->fd[i] = -1;
}

int keep_new(struct keep *k, uint64_t nr_pages, uint64_t max_slots, bool populate)
{
	uint32_t generation;
	int r;

	keep_init(k);
	if (getrandom(&generation, sizeof(generation), 0) != sizeof(generation))
		return -EIO;
	r = make_files(k, nr_pages, max_slots, populate);
	if (r) {
		keep_close(k);
		return r;
	}
	set_pointers(k, nr_pages, KEEP_VERSION);
	agent_note(k);
	set_head(k, nr_pages, max_slots, generation | 1);
	return 0;
}

void keep_close(struct keep *k)
{
	unsigned int i;

	mem_unmap(&k->state);
	mem_unmap(&k->pages);
	for (i = 0; i < KEEP_FILES; i++)
		if (k->fd[i] >= 0)
			close(k->fd[i]);
	keep_init(k);
}

/* ---- adopting files -------------------------------------------------------------- */

static bool file_has(int fd, uint64_t len)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_size >= 0 && (uint64_t)st.st_size >= len;
}

static bool head_ok(const volatile struct keep_head *h)
{
	return h->magic == KEEP_MAGIC &&
	       h->version >= KEEP_VERSION_1 && h->version <= KEEP_VERSION &&
	       h->valid == KEEP_VALID && h->nr_records == KEEP_RECORDS &&
	       h->nr_pages && h->nr_pages < UINT32_MAX &&
	       h->next_id && h->next_id <= UINT32_MAX &&
	       h->table_len && !(h->table_len % PAGE) &&
	       h->table_len < UINT64_MAX / 2 / KEEP_RECORDS;
}

static int map_state(struct keep *k, int fd)
{
	struct keep_head h;

	if (pread(fd, &h, sizeof(h), 0) != sizeof(h) || !head_ok(&h) ||
	    !file_has(fd, state_len(h.nr_pages, h.version)))
		return -EPROTO;
	return mem_fd_map(fd, 0, state_len(h.nr_pages, h.version), false, &k->state);
}

/* An agent of version 1 drops the files of the later one, so nobody goes back. */
static void state_upgrade(struct keep *k)
{
	if (k->head->version != KEEP_VERSION_1)
		return;
	memset((void *)k->agent, 0, KEEP_RECORDS_OFF - KEEP_AGENT_OFF);
	keep_order();
	k->head->version = KEEP_VERSION_2;
}

int keep_adopt(struct keep *k, const int fd[KEEP_FILES])
{
	const struct keep_head *head;
	int r;

	keep_init(k);
	r = lock_state(fd[KEEP_STATE]);
	if (r)
		return r;
	r = map_state(k, fd[KEEP_STATE]);
	if (r)
		return r;
	head = k->state.va;
	set_pointers(k, head->nr_pages, head->version);
	r = -EPROTO;
	if (!file_has(fd[KEEP_PAGES], k->head->nr_pages * PAGE) ||
	    !file_has(fd[KEEP_TABLES], KEEP_RECORDS * k->head->table_len))
		goto unmap;
	r = mem_fd_map(fd[KEEP_PAGES], 0, k->head->nr_pages * PAGE, k->head->huge,
		       &k->pages);
	if (r)
		goto unmap;
	r = agent_wait(k);
	if (r)
		goto unmap_pages;
	state_upgrade(k);
	agent_note(k);
	memcpy(k->fd, fd, sizeof(k->fd));
	k->adopted = true;
	return 0;

unmap_pages:
	mem_unmap(&k->pages);
unmap:
	mem_unmap(&k->state);
	return r;
}

/* ---- records --------------------------------------------------------------------- */

volatile struct keep_record *keep_record(const struct keep *k, uint16_t owner)
{
	volatile struct keep_record *rec;

	if (!owner || owner > KEEP_RECORDS)
		return NULL;
	rec = &k->record[owner - 1];
	return rec->valid == KEEP_VALID ? rec : NULL;
}

unsigned int keep_sessions(const struct keep *k)
{
	unsigned int owner, nr = 0;

	for (owner = 1; owner <= KEEP_RECORDS; owner++)
		nr += !!keep_record(k, owner);
	return nr;
}

void keep_put(struct keep *k, uint16_t owner, const struct keep_record *rec)
{
	volatile struct keep_record *to = &k->record[owner - 1];
	struct keep_record all = *rec;

	to->valid = 0;
	keep_order();
	all.valid = 0;
	memcpy((void *)to, &all, sizeof(all));
	keep_order();
	to->valid = KEEP_VALID;
}

void keep_lease(struct keep *k, uint16_t owner, uint64_t granted, uint64_t ceiling)
{
	volatile struct keep_record *rec = keep_record(k, owner);

	if (!rec)
		return;
	rec->granted = granted;
	rec->ceiling = ceiling;
}

void keep_dead_ms(struct keep *k, uint16_t owner, uint32_t dead_ms)
{
	volatile struct keep_record *rec = keep_record(k, owner);

	if (rec)
		rec->dead_ms = dead_ms;
}

void keep_drop(struct keep *k, uint16_t owner)
{
	k->record[owner - 1].valid = 0;
	keep_order();
}

volatile struct keep_space *keep_space(const struct keep *k, unsigned int i)
{
	return k->space[i].valid == KEEP_VALID ? &k->space[i] : NULL;
}

unsigned int keep_spaces(const struct keep *k)
{
	unsigned int i, nr = 0;

	for (i = 0; i < KEEP_SPACES; i++)
		nr += !!keep_space(k, i);
	return nr;
}

int keep_space_next(const struct keep *k)
{
	unsigned int i = 0;

	while (i < KEEP_SPACES && keep_space(k, i))
		i++;
	return i < KEEP_SPACES ? (int)i : -ENOSPC;
}

int keep_space_put(struct keep *k, const struct keep_space *rec)
{
	struct keep_space all = *rec;
	int i = keep_space_next(k);

	if (i < 0)
		return i;
	all.valid = 0;
	memcpy((void *)&k->space[i], &all, sizeof(all));
	keep_order();
	k->space[i].valid = KEEP_VALID;
	return i;
}

volatile struct keep_member *keep_member(const struct keep *k, unsigned int i,
					 unsigned int node)
{
	return k->member ? &k->member[i * KEEP_MEMBERS + node] : NULL;
}

void keep_space_drop(struct keep *k, unsigned int i)
{
	k->space[i].valid = 0;
	keep_order();
}

void keep_draining(struct keep *k, bool on)
{
	k->head->draining = on;
}

void keep_next_id(struct keep *k, uint64_t id)
{
	k->head->next_id = id;
}

void keep_own(struct keep *k, uint64_t page, uint16_t owner)
{
	((volatile uint16_t *)k->owner)[page] = owner;
	keep_order();
}

/* ---- tables ---------------------------------------------------------------------- */

uint64_t keep_max_slots(const struct keep *k)
{
	return k->head->table_len / sizeof(__be64);
}

static uint64_t table_off(const struct keep *k, uint16_t owner)
{
	return (owner - 1) * k->head->table_len;
}

int keep_table(struct keep *k, uint16_t owner, size_t len, struct mem *ret_mem)
{
	if (!owner || owner > KEEP_RECORDS || len > k->head->table_len)
		return -EINVAL;
	return mem_fd_map(k->fd[KEEP_TABLES], table_off(k, owner), len, false,
			  ret_mem);
}

static int punch(struct keep *k, uint64_t off, uint64_t len)
{
	return fallocate(k->fd[KEEP_TABLES], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			 off, len) ? -errno : 0;
}

bool keep_table_shrink(struct keep *k, uint16_t owner, struct mem *table)
{
	size_t some = table->mapped < SHRINK_PIECE ? table->mapped : SHRINK_PIECE;

	/* The next session of this owner must find zeros, even if the hole fails. */
	if (some && !keep_record(k, owner) &&
	    punch(k, table_off(k, owner) + table->mapped - some, some))
		memset((char *)table->va + table->mapped - some, 0, some);
	return mem_shrink(table);
}

int keep_tables_clear(struct keep *k)
{
	uint64_t len = k->head->table_len;
	off_t at = 0;
	int r = 0;

	while (!r && (at = lseek(k->fd[KEEP_TABLES], at, SEEK_DATA)) >= 0) {
		if (!keep_record(k, at / len + 1))
			r = punch(k, at / len * len, len);
		at = (at / len + 1) * len;
	}
	return r;
}
