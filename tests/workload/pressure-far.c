/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Several processes that write, verify and free pages in random order for a
 * time, and are replaced by fresh ones now and then, so that swap slots are
 * freed in bulk and reused by others.  Every byte that is read is verified.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "options.h"

const char *argp_program_version = "pressure-far 1";

#define MAX_PROCS	64
#define FREE_RUN	32	/* pages freed at once, at most */

struct options {
	uint64_t bytes;
	uint64_t procs;
	uint64_t seconds;
	uint64_t rounds;	/* per life; one round: as many steps as pages */
	uint64_t lives;		/* with rounds: how many per process */
	uint64_t seed;
	bool huge;
	bool compressible;
};

struct worker {
	uint8_t *mem;
	uint32_t *version;	/* per page; 0: zeros */
	uint64_t nr_pages;
	uint64_t seed;
	uint64_t random;
	uint64_t written, verified, freed;
};

/* What a worker tells its parent when it ends well. */
struct tally {
	uint64_t written, verified, freed;
};

struct slot {
	pid_t pid;
	int pipe;
	uint64_t lives;
};

static const struct option_row rows[] = {
	{ "size", 's', "BYTES", "memory of all processes together (64M)",
	  OPTION_NUMBER, offsetof(struct options, bytes), 1 << 20, 1ull << 40 },
	{ "processes", 'n', "N", "how many (4)",
	  OPTION_NUMBER, offsetof(struct options, procs), 1, MAX_PROCS },
	{ "seconds", 't', "N", "go on for that long (20)",
	  OPTION_NUMBER, offsetof(struct options, seconds), 1, 1000000 },
	{ "rounds", 'k', "N", "rounds in the life of a process (3)",
	  OPTION_NUMBER, offsetof(struct options, rounds), 1, 1000000 },
	{ "lives", 'l', "N", "instead of --seconds: lives of each process",
	  OPTION_NUMBER, offsetof(struct options, lives), 1, 1000000 },
	{ "seed", 'r', "N", "which pages, which order (1)",
	  OPTION_NUMBER, offsetof(struct options, seed), 0, UINT64_MAX },
	{ "huge", 'H', NULL, "let the kernel use huge pages",
	  OPTION_FLAG, offsetof(struct options, huge) },
	{ "compressible", 'c', NULL, "pages that an eighth tells all of",
	  OPTION_FLAG, offsetof(struct options, compressible) },
};

static const char doc[] =
	"Write, verify and free pages in several processes under memory "
	"pressure."
	"\vPrints: pressure-far processes=N lives=N written=PAGES "
	"verified=PAGES freed=PAGES seconds=T. Exit status 1 with the details "
	"if a page was wrong, 3 if a process was killed by a signal. SIGUSR1 to "
	"all of them is the end of the time.";

static volatile sig_atomic_t told_to_end;

static void end_it(int sig)
{
	told_to_end = 1;
}

static uint8_t *page_of(const struct worker *w, uint64_t idx)
{
	return w->mem + idx * PAGE_BYTES;
}

static void verify_page(struct worker *w, uint64_t idx)
{
	if (page_verify(page_of(w, idx), w->seed, idx, w->version[idx]) >= 0) {
		page_explain(page_of(w, idx), w->seed, idx, w->version[idx],
			     w->nr_pages);
		_exit(EXIT_FAILURE);
	}
	w->verified++;
}

static void write_page(struct worker *w, uint64_t idx)
{
	page_stamp(page_of(w, idx), w->seed, idx, ++w->version[idx]);
	w->written++;
}

/* Frees a run of pages, by either of the two ways memory is given back. */
static void free_pages(struct worker *w, uint64_t idx)
{
	uint64_t n = 1 + next_below(&w->random, FREE_RUN), i;
	bool unmap = next_below(&w->random, 2);
	int err;

	if (n > w->nr_pages - idx)
		n = w->nr_pages - idx;
	if (unmap)	/* a fresh mapping over the old one unmaps it */
		err = mmap(page_of(w, idx), n * PAGE_BYTES,
			   PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			   MAP_FIXED, -1, 0) == MAP_FAILED;
	else
		err = madvise(page_of(w, idx), n * PAGE_BYTES, MADV_DONTNEED);
	if (err) {
		perror("pressure-far: free");
		_exit(2);
	}
	for (i = idx; i < idx + n; i++)
		w->version[i] = 0;
	w->freed += n;
}

static void one_step(struct worker *w)
{
	uint64_t idx = next_below(&w->random, w->nr_pages);
	uint64_t dice = next_below(&w->random, 100);

	if (dice < 2) {
		free_pages(w, idx);
	} else if (dice < 45) {
		verify_page(w, idx);
		write_page(w, idx);
	} else {
		verify_page(w, idx);
	}
}

static void live(struct worker *w, uint64_t rounds, double deadline)
{
	uint64_t i, round;

	for (i = 0; i < w->nr_pages; i++)
		write_page(w, i);
	for (round = 0; round < rounds; round++)
		for (i = 0; i < w->nr_pages; i++) {
			if (told_to_end ||
			    (deadline && !(i % 64) && now_s() > deadline))
				goto out;
			one_step(w);
		}
out:
	for (i = 0; i < w->nr_pages; i++)
		verify_page(w, i);
}

static void work(const struct options *o, uint64_t seed, double deadline,
		 int pipe_fd)
{
	struct worker w = { .seed = seed, .random = ~seed };
	struct tally t;

	w.nr_pages = o->bytes / o->procs / PAGE_BYTES;
	w.mem = o->huge ? map_huge(w.nr_pages) : map_pages(w.nr_pages);
	w.version = calloc(w.nr_pages, sizeof(*w.version));
	if (!w.mem || !w.version) {
		perror("pressure-far: memory");
		_exit(2);
	}
	live(&w, o->rounds, deadline);
	t = (struct tally){ w.written, w.verified, w.freed };
	if (write(pipe_fd, &t, sizeof(t)) != sizeof(t))
		_exit(2);
	_exit(EXIT_SUCCESS);
}

static int start_worker(const struct options *o, struct slot *s, uint64_t seed,
			double deadline)
{
	int fds[2];

	if (pipe(fds))
		return -errno;
	s->pid = fork();
	if (s->pid < 0)
		return -errno;
	if (!s->pid) {
		close(fds[0]);
		work(o, seed, deadline, fds[1]);
	}
	close(fds[1]);
	s->pipe = fds[0];
	s->lives++;
	return 0;
}

/* Exit status for the whole if this worker ended badly, else 0. */
static int judge(const struct slot *s, int status, struct tally *total)
{
	struct tally t;

	if (WIFSIGNALED(status)) {
		fprintf(stderr, "pressure-far: process %d was killed: %s\n",
			(int)s->pid, strsignal(WTERMSIG(status)));
		return 3;
	}
	if (WEXITSTATUS(status))
		return WEXITSTATUS(status);
	if (read(s->pipe, &t, sizeof(t)) != sizeof(t)) {
		fprintf(stderr, "pressure-far: process %d left no tally\n",
			(int)s->pid);
		return 2;
	}
	total->written += t.written;
	total->verified += t.verified;
	total->freed += t.freed;
	return 0;
}

static bool may_live_again(const struct options *o, const struct slot *s,
			   double deadline)
{
	if (told_to_end)
		return false;
	return o->lives ? s->lives < o->lives : now_s() < deadline;
}

static int run(const struct options *o, struct slot *slots, double deadline,
	       struct tally *total, uint64_t *ret_lives)
{
	uint64_t running = 0, next_seed = o->seed << 20, i;
	int bad = 0, status;
	pid_t pid;

	for (i = 0; i < o->procs; i++, running++)
		if (start_worker(o, &slots[i], next_seed++, deadline))
			return 2;
	while (running) {
		pid = wait(&status);
		for (i = 0; i < o->procs && slots[i].pid != pid; i++)
			;
		if (pid < 0 || i == o->procs)
			return 2;
		running--;
		status = judge(&slots[i], status, total);
		close(slots[i].pipe);
		(*ret_lives)++;
		/* The others end by themselves: their findings count, too. */
		bad = bad ? bad : status;
		if (bad || !may_live_again(o, &slots[i], deadline))
			continue;
		if (start_worker(o, &slots[i], next_seed++, deadline))
			return 2;
		running++;
	}
	return bad;
}

int main(int argc, char **argv)
{
	struct options o = {
		.bytes = 64 << 20, .procs = 4, .seconds = 20, .rounds = 3,
		.seed = 1,
	};
	struct sigaction on_usr1 = {
		.sa_handler = end_it, .sa_flags = SA_RESTART,
	};
	struct slot slots[MAX_PROCS] = { 0 };
	struct tally total = { 0 };
	double start, deadline = 0;
	uint64_t lives = 0;
	int ret;

	options_parse(rows, sizeof(rows) / sizeof(rows[0]), doc, argc, argv, &o);
	if (o.compressible)
		pages_compressible();
	sigaction(SIGUSR1, &on_usr1, NULL);
	start = now_s();
	if (!o.lives)
		deadline = start + (double)o.seconds;
	ret = run(&o, slots, deadline, &total, &lives);
	printf("pressure-far processes=%" PRIu64 " lives=%" PRIu64
	       " written=%" PRIu64 " verified=%" PRIu64 " freed=%" PRIu64
	       " seconds=%.1f\n", o.procs, lives, total.written, total.verified,
	       total.freed, now_s() - start);
	return ret;
}
