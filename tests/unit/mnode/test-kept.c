// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Spaces that outlive their agent: it is killed, whatever it was doing, and another one
 * goes on with the spaces that it has left.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <adopt.h>
#include "bed/agent.h"
#include "killed.h"
#include "../../lib/child.h"
#include "../../../userspace/space/geometry.h"

#define SPACE_LEN	(4u << 20)
#define MARK		UINT64_C(0x6d61726b6d61726b)

static struct bed bed;
static struct conf conf;	/* of world_open() */

static struct space *space_of(const char *name)
{
	return spaces_find(&bed.m.spaces, name);
}

static uint64_t *word_of(struct space *space, uint64_t off)
{
	return (uint64_t *)(space->host.base + off);
}

static struct far_client_entry *entry_of(struct space *space, unsigned int number)
{
	return (void *)word_of(space, far_client_entry_off(&space->sb, number));
}

/* The last word of the space: a chunk's. */
static uint64_t *last_word(struct space *space)
{
	return word_of(space, space->sb.size - 8);
}

static void set(const char *space, const char *key, const char *value)
{
	char why[CONF_WHY_MAX];

	assert_int_equal(conf_space_set(&bed.opts.conf, space, key, value, why), 0);
}

/* Every page is in exactly one place. */
static void check(void)
{
	struct check_result res;
	unsigned int i;

	assert_int_equal(check_pages(&bed.m, &res), 0);
	for (i = 0; i < res.nr_problems; i++)
		print_message("%s\n", res.problems[i]);
	assert_true(check_ok(&res));
	assert_int_equal(res.spaces, bed.m.spaces.nr_pages);
}

/* An agent with spaces "a" and "b". */
static void world_open(void)
{
	struct bed_options o;
	char why[CONF_WHY_MAX];

	bed_options(&o);
	assert_int_equal(conf_space_set(&o.conf, "a", "size", "4M", why), 0);
	assert_int_equal(conf_space_set(&o.conf, "a", "clients", "8", why), 0);
	assert_int_equal(conf_space_set(&o.conf, "b", "size", "4M", why), 0);
	o.conf.pool += 4 * SPACE_LEN;
	bed_open(&bed, &o, 1);
	conf = bed.opts.conf;
}

static void restart(void)
{
	int fd[KEEP_FILES];

	bed_copy_kept(&bed, fd);
	bed_restart(&bed, fd);
	bed_settle(&bed);
}

/* The NIC is the same: nobody has told it that the agent of before is gone. */
static void agent_fini(struct manager *m)
{
	unsigned int i;

	if (m)
		manager_fini(m);
	for (i = 1; i < 10000; i++)
		snic_cm_unlisten(bed.host.nic, i);
}

/* An agent with these settings ends with that error and sentence, and the next one, with the
 * settings of before, finds what it would have found. */
static void restart_refused(int err, const char *sentence)
{
	static struct manager other;
	char why[CONF_WHY_MAX] = "";
	int fd[KEEP_FILES], again[KEEP_FILES];
	unsigned int i;

	bed_copy_kept(&bed, fd);
	for (i = 0; i < KEEP_FILES; i++)
		again[i] = fcntl(fd[i], F_DUPFD_CLOEXEC, 0);
	agent_fini(&bed.m);
	assert_int_equal(manager_adopt(&other, &bed.opts.conf, bed.nic, fd, why), err);
	if (!strstr(why, sentence))
		fail_msg("%s: expected: %s", why, sentence);
	agent_fini(NULL);
	bed.opts.conf = conf;
	assert_int_equal(manager_init(&bed.m, &bed.opts.conf, bed.nic, why), 0);
	bed_restart(&bed, again);
	bed_settle(&bed);
	assert_true(*last_word(space_of("a")) == MARK);
	assert_true(*last_word(space_of("b")) == MARK);
	check();
}

/* ---- contents -------------------------------------------------------------------- */

static void test_contents(void **state)
{
	struct far_sb sb;
	uint64_t life, page;

	world_open();
	*last_word(space_of("a")) = MARK;
	sb = space_of("a")->sb;
	life = space_of("a")->host.life;
	page = space_of("a")->page;
	restart();
	assert_true(bed.m.keep.adopted);
	assert_memory_equal(&space_of("a")->sb, &sb, sizeof(sb));
	assert_memory_equal(&space_of("a")->host.sb, &sb, sizeof(sb));
	assert_true(space_of("a")->host.life == life);
	assert_int_equal(space_of("a")->page, page);
	assert_true(*last_word(space_of("a")) == MARK);
	assert_false(space_of("a")->host.closed);
	assert_non_null(space_of("b"));
	assert_int_equal(bed.m.spaces.nr_pages, 2 * SPACE_LEN / ODRP_WIRE_PAGE_SIZE);
	check();
	/* And the agent behind the next one. */
	restart();
	assert_true(*last_word(space_of("a")) == MARK);
	check();
	bed_close(&bed);
}

/* Each client of before is fenced, and memory is reclaimed without it. */
static void test_clients(void **state)
{
	struct far_client_entry *entry;
	const struct far_epoch_line *line;
	int fd[KEEP_FILES];
	unsigned int n;

	world_open();
	for (n = 1; n <= 3; n++) {
		entry = entry_of(space_of("a"), n);
		entry->claim = far_claim(6 + n, n < 3);
		entry->fenced = 5 + n;
		entry->epoch = 1;
	}
	bed_copy_kept(&bed, fd);
	bed_restart(&bed, fd);
	assert_int_equal(space_of("a")->living, 2);
	assert_int_equal(entry_of(space_of("a"), 1)->fenced, 6);
	bed_pass(&bed, 100);
	assert_int_equal(entry_of(space_of("a"), 1)->fenced, 7);
	assert_int_equal(entry_of(space_of("a"), 2)->fenced, 8);
	/* It had left. */
	assert_int_equal(entry_of(space_of("a"), 3)->fenced, 8);
	assert_int_equal(space_of("a")->fenced, 2);
	line = (const void *)word_of(space_of("a"), FAR_SB_EPOCH);
	assert_int_equal(line->deaths, 2);
	assert_int_equal(line->clients, 0);
	bed_close(&bed);
}

/* Clients may write anything; the superblock is the agent's. */
static void test_superblock(void **state)
{
	struct far_sb sb;

	world_open();
	sb = space_of("a")->sb;
	memset(space_of("a")->host.base, 0xff, sizeof(sb));
	restart();
	assert_memory_equal(space_of("a")->host.base, &sb, sizeof(sb));
	assert_memory_equal(&space_of("a")->host.sb, &sb, sizeof(sb));
	bed_close(&bed);
}

/* The agent ends by itself: what the next one gets is the same. */
static void test_ended(void **state)
{
	int fd[KEEP_FILES];
	unsigned int i;

	world_open();
	*last_word(space_of("a")) = MARK;
	for (i = 0; i < KEEP_FILES; i++)
		fd[i] = fcntl(bed.m.keep.fd[i], F_DUPFD_CLOEXEC, 0);
	bed_restart(&bed, fd);
	assert_true(*last_word(space_of("a")) == MARK);
	check();
	bed_close(&bed);
}

static void test_beside_session(void **state)
{
	world_open();
	*last_word(space_of("a")) = MARK;
	bed_connect(&bed, 0, 300, 1, 7);
	restart();
	assert_int_equal(bed.m.nr_sess, 1);
	assert_true(*last_word(space_of("a")) == MARK);
	check();
	bed_close(&bed);
}

static void test_deleted(void **state)
{
	world_open();
	*last_word(space_of("a")) = MARK;
	*last_word(space_of("b")) = MARK;
	assert_int_equal(manager_delete_space(&bed.m, "a"), 0);
	restart();
	assert_true(*last_word(space_of("b")) == MARK);
	assert_false(*last_word(space_of("a")));
	check();
	bed_close(&bed);
}

/* ---- the agent's own writes ------------------------------------------------------ */

int __real_keep_space_put(struct keep *k, const struct keep_space *rec);
int __wrap_keep_space_put(struct keep *k, const struct keep_space *rec);
void __real_keep_space_drop(struct keep *k, unsigned int i);
void __wrap_keep_space_drop(struct keep *k, unsigned int i);

/* Also between its bytes: what a record has of them does not count before the last ones. */
int __wrap_keep_space_put(struct keep *k, const struct keep_space *rec)
{
	unsigned int i = 0;

	killed_write();
	while (keep_space(k, i))
		i++;
	memset((void *)&k->space[i], 0xee, offsetof(struct keep_space, valid));
	killed_write();
	return __real_keep_space_put(k, rec);
}

void __wrap_keep_space_drop(struct keep *k, unsigned int i)
{
	killed_write();
	__real_keep_space_drop(k, i);
	killed_write();
}

/* Is the space there from before, or made anew?  Nothing else can be. */
static bool space_is_kept(const char *name)
{
	uint64_t word = *last_word(space_of(name));

	assert_true(!word || word == MARK);
	return word;
}

/* True: there was such a write.  kept: bit n: n spaces were kept. */
static bool killed_at(unsigned int n, unsigned int *kept)
{
	bool killed;

	world_open();
	*last_word(space_of("a")) = MARK;
	*last_word(space_of("b")) = MARK;
	killed_begin(&bed, n);
	/* A space goes, and comes again with the next agent, which is killed, too. */
	assert_int_equal(manager_delete_space(&bed.m, "a"), 0);
	bed_settle(&bed);
	restart();
	killed = killed_end(&bed);
	if (killed) {
		check();
		assert_true(space_is_kept("b"));
		*kept |= 1u << space_is_kept("a");
		assert_int_equal(keep_spaces(&bed.m.keep), 2);
	}
	bed_close(&bed);
	return killed;
}

/* Pages in a row are one like the other. */
static void test_each_write(void **state)
{
	unsigned int n, kept = 0;

	for (n = 1; killed_at(n, &kept); n += n < 5 ? 1 : 311)
		;
	assert_true(n > 1000);
	assert_int_equal(kept, 3);
}

/* Around the records: each write. */
static void test_each_record(void **state)
{
	unsigned int pages = SPACE_LEN / ODRP_WIRE_PAGE_SIZE, n, kept = 0;

	/* The record goes, the pages go, the pages are taken, the record comes. */
	for (n = 2 * pages; n < 2 * pages + 5; n++)
		killed_at(n, &kept);
	assert_int_equal(kept, 1);
}

/* ---- numbers that nobody has written --------------------------------------------- */

#define RECORD_AT(field) offsetof(struct keep_space, field)
#define SB_AT(field) (RECORD_AT(sb) + offsetof(struct far_sb, field))

static const struct {
	size_t off;
	uint64_t value;
} damage[] = {
	{ RECORD_AT(page), 0 }, { RECORD_AT(page), UINT64_MAX },
	{ RECORD_AT(nr_pages), UINT64_MAX }, { RECORD_AT(nr_pages), 1 },
	{ SB_AT(magic), 0 }, { SB_AT(size), UINT64_MAX }, { SB_AT(client_off), 8 },
	{ SB_AT(checksum), 1 },
};

static void test_damaged(void **state)
{
	unsigned int i;

	for (i = 0; i < sizeof(damage) / sizeof(damage[0]); i++) {
		world_open();
		*last_word(space_of("a")) = MARK;
		*last_word(space_of("b")) = MARK;
		memcpy((char *)keep_space(&bed.m.keep, space_of("a")->kept) + damage[i].off,
		       &damage[i].value, sizeof(damage[i].value));
		restart();
		if (*last_word(space_of("a")))
			fail_msg("damage %u is not noticed", i);
		assert_true(*last_word(space_of("b")) == MARK);
		check();
		bed_close(&bed);
	}
}

/* Two records of the same pages, or of one name. */
static void test_twice(void **state)
{
	volatile struct keep_space *a, *b;

	world_open();
	*last_word(space_of("a")) = MARK;
	a = keep_space(&bed.m.keep, space_of("a")->kept);
	b = keep_space(&bed.m.keep, space_of("b")->kept);
	memcpy((void *)b->sb, (void *)a->sb, sizeof(b->sb));
	restart();
	assert_true(*last_word(space_of("a")) == MARK);
	assert_non_null(space_of("b"));
	b = keep_space(&bed.m.keep, space_of("b")->kept);
	b->page = space_of("a")->page;
	restart();
	assert_true(*last_word(space_of("a")) == MARK);
	assert_int_not_equal(space_of("a")->page, space_of("b")->page);
	check();
	bed_close(&bed);
}

/* ---- settings -------------------------------------------------------------------- */

static void test_settings(void **state)
{
	world_open();
	*last_word(space_of("a")) = MARK;
	*last_word(space_of("b")) = MARK;
	set("a", "size", "8M");
	restart_refused(-EINVAL, "space a is kept with size = 4194304, and the settings say "
			"8388608");
	set("a", "clients", "9");
	restart_refused(-EINVAL, "space a is kept with clients = 8, and the settings say 9");
	set("a", "chunk", "64K");
	restart_refused(-EINVAL, "space a is kept with chunk = 131072, and the settings say "
			"65536");
	set("a", "nodes", "10.77.0.1,10.77.0.2");
	set("a", "node", "0");
	restart_refused(-EINVAL, "space a is kept with nodes = 0, and the settings say 2");
	snprintf(bed.opts.conf.spaces[0].name, sizeof(bed.opts.conf.spaces[0].name), "c");
	restart_refused(-EINVAL, "space a is kept, and the settings have no section for it");
	bed.opts.conf.nr_spaces = 0;
	restart_refused(-EINVAL, "the settings have no section for it");
	/* Settings that may change do. */
	set("a", "chunk", "128K");
	set("a", "deletable", "yes");
	set("a", "readers", "node0");
	bed.opts.conf.pool *= 2;
	restart();
	assert_true(*last_word(space_of("a")) == MARK);
	assert_true(space_of("a")->host.deletable);
	assert_string_equal(space_of("a")->conf->readers, "node0");
	bed_close(&bed);
}

/* An agent drops no space of another layout version: each start is refused. */
static void test_layout_version(void **state)
{
	static struct manager other;
	char why[CONF_WHY_MAX];
	int fd[KEEP_FILES], again[KEEP_FILES];
	unsigned int i;
	struct far_sb *sb;

	world_open();
	sb = (struct far_sb *)keep_space(&bed.m.keep, space_of("a")->kept)->sb;
	sb->version--;
	bed_copy_kept(&bed, fd);
	for (i = 0; i < KEEP_FILES; i++)
		again[i] = fcntl(fd[i], F_DUPFD_CLOEXEC, 0);
	agent_fini(&bed.m);
	for (i = 0; i < 2; i++) {
		assert_int_equal(manager_adopt(&other, &bed.opts.conf, bed.nic, i ? again : fd,
					       why), -EINVAL);
		assert_non_null(strstr(why, "space a is kept in layout version 3, and this "
				       "agent has 4"));
		agent_fini(NULL);
	}
	bed.opts.conf = conf;
	assert_int_equal(manager_init(&bed.m, &bed.opts.conf, bed.nic, why), 0);
	bed_close(&bed);
}

/* A space more; and one for which there is no room. */
static void test_new_space(void **state)
{
	world_open();
	*last_word(space_of("a")) = MARK;
	set("c", "size", "4M");
	restart();
	assert_true(*last_word(space_of("a")) == MARK);
	assert_non_null(space_of("c"));
	*last_word(space_of("c")) = MARK;
	set("d", "size", "64M");
	restart();
	assert_null(space_of("d"));
	assert_true(*last_word(space_of("a")) == MARK);
	assert_true(*last_word(space_of("c")) == MARK);
	assert_int_equal(keep_spaces(&bed.m.keep), 3);
	check();
	bed_close(&bed);
}

/* A space of a set begins anew, since the other members' parts do. */
static void test_set(void **state)
{
	struct bed_options o;
	char why[CONF_WHY_MAX];

	bed_options(&o);
	assert_int_equal(conf_space_set(&o.conf, "a", "size", "4M", why), 0);
	assert_int_equal(conf_space_set(&o.conf, "a", "nodes", "10.77.0.1,10.77.0.2", why), 0);
	assert_int_equal(conf_space_set(&o.conf, "a", "node", "1", why), 0);
	o.conf.pool += SPACE_LEN;
	bed_open(&bed, &o, 1);
	assert_int_equal(keep_spaces(&bed.m.keep), 0);
	*last_word(space_of("a")) = MARK;
	restart();
	assert_false(bed.m.keep.adopted);
	assert_true(space_of("a")->host.closed);
	assert_false(*last_word(space_of("a")));
	bed_close(&bed);
}

/* ---- other versions -------------------------------------------------------------- */

/* The first bytes of a state file of version 1, with a pool of 1024 pages and tables of
 * 4096 bytes; up to the records of sessions the rest is zero. */
static const uint8_t head_1[64] = {
	0x4f, 0x44, 0x52, 0x4b, 0x50, 0x45, 0x45, 0x50, 1, 0, 0, 0, 0, 4, 0, 0,
	0, 4, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0,
	2, 0, 0, 0, 0, 0, 0, 0, 0x21, 0x43, 0x65, 0x87, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x74, 0x70, 0x65, 0x6b,
};

/* It has left a session, and spaces that nobody has recorded. */
static void test_version_1(void **state)
{
	int fd[KEEP_FILES];
	uint8_t head[KEEP_RECORDS_OFF] = { 0 };

	world_open();
	bed_connect(&bed, 0, 300, 1, 7);
	*last_word(space_of("a")) = MARK;
	bed_copy_kept(&bed, fd);
	/* The image is what a head of version 1 is, but for sizes and numbers. */
	assert_int_equal(pread(fd[KEEP_STATE], head, 64, 0), 64);
	memcpy(head, head_1, 16);
	memcpy(head + 60, head_1 + 60, 4);
	assert_int_equal(pwrite(fd[KEEP_STATE], head, sizeof(head), 0), sizeof(head));
	bed_restart(&bed, fd);
	bed_settle(&bed);
	assert_true(bed.m.keep.adopted);
	assert_int_equal(bed.m.nr_sess, 1);
	assert_false(*last_word(space_of("a")));
	assert_int_equal(keep_spaces(&bed.m.keep), 2);
	*last_word(space_of("a")) = MARK;
	/* From now on they are of the later version. */
	restart();
	assert_int_equal(bed.m.keep.head->version, KEEP_VERSION_2);
	assert_true(*last_word(space_of("a")) == MARK);
	assert_int_equal(bed.m.nr_sess, 1);
	check();
	bed_close(&bed);
}

/* Files that are nothing but that image. */
static void test_image_1(void **state)
{
	const uint64_t len[KEEP_FILES] = {
		[KEEP_STATE] = KEEP_OWNERS_OFF + 2048, [KEEP_PAGES] = 4 << 20,
		[KEEP_TABLES] = KEEP_RECORDS * 4096ull,
	};
	int fd[KEEP_FILES];
	unsigned int i;
	struct keep k;

	for (i = 0; i < KEEP_FILES; i++) {
		fd[i] = memfd_create("image", MFD_CLOEXEC);
		assert_int_equal(ftruncate(fd[i], len[i]), 0);
	}
	assert_int_equal(pwrite(fd[KEEP_STATE], head_1, 64, 0), 64);
	assert_int_equal(keep_adopt(&k, fd), 0);
	assert_int_equal(k.head->nr_pages, 1024);
	assert_int_equal(k.head->next_id, 2);
	assert_int_equal(k.head->version, KEEP_VERSION_2);
	assert_int_equal(adopt_pages(&k), 0);
	assert_int_equal(keep_spaces(&k), 0);
	keep_close(&k);
}

/* ---- the process of before ------------------------------------------------------- */

static int end_pipe[2];
static unsigned int nr_polls;
static int poll_result;

int __real_poll(struct pollfd *fds, nfds_t nr, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t nr, int ms);

/* The other process ends when somebody waits for it. */
int __wrap_poll(struct pollfd *fds, nfds_t nr, int ms)
{
	nr_polls++;
	if (!poll_result)
		return 0;
	assert_int_equal(write(end_pipe[1], "", 1), 1);
	return __real_poll(fds, nr, ms);
}

/* A process that has adopted the files, closed them, and not ended yet. */
static pid_t other_begin(const int fd[KEEP_FILES])
{
	int ready[2];
	struct keep k;
	char c;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end_pipe), 0);
	pid = child_fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (keep_adopt(&k, fd))
			_exit(1);
		keep_close(&k);
		if (write(ready[1], "", 1) != 1 || read(end_pipe[0], &c, 1) != 1)
			_exit(2);
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static void other_end(pid_t pid, bool end)
{
	int status;

	if (end)
		assert_int_equal(write(end_pipe[1], "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(end_pipe[0]);
	close(end_pipe[1]);
}

static void test_waits(void **state)
{
	int fd[KEEP_FILES];
	struct keep k;
	pid_t pid;

	world_open();
	bed.m.keep.agent->pid = 0;
	bed_copy_kept(&bed, fd);
	pid = other_begin(fd);
	nr_polls = 0;
	/* It does not end. */
	poll_result = 0;
	assert_int_equal(keep_adopt(&k, fd), -EBUSY);
	assert_int_equal(nr_polls, 1);
	/* It ends meanwhile. */
	poll_result = 1;
	assert_int_equal(keep_adopt(&k, fd), 0);
	assert_int_equal(nr_polls, 2);
	other_end(pid, false);
	assert_int_equal(k.agent->pid, getpid());
	keep_close(&k);
	bed_close(&bed);
}

/* Another process has the number now, or nobody. */
static void test_waits_for_nobody(void **state)
{
	int fd[KEEP_FILES];
	struct keep k;
	pid_t pid;

	world_open();
	/* A parent may have begun within the same tick of the clock as this process. */
	bed.m.keep.agent->pid = getppid();
	bed.m.keep.agent->start++;
	bed_copy_kept(&bed, fd);
	nr_polls = 0;
	assert_int_equal(keep_adopt(&k, fd), 0);
	keep_close(&k);
	bed.m.keep.agent->pid = 0;
	bed_copy_kept(&bed, fd);
	pid = other_begin(fd);
	other_end(pid, true);
	assert_int_equal(keep_adopt(&k, fd), 0);
	keep_close(&k);
	assert_int_equal(nr_polls, 0);
	bed_close(&bed);
}

/* ---- an agent that cannot begin -------------------------------------------------- */

static unsigned int fail_at, nr_published;

int __real_far_host_publish(struct far_host *host, struct far_host_space *space);
int __wrap_far_host_publish(struct far_host *host, struct far_host_space *space);

int __wrap_far_host_publish(struct far_host *host, struct far_host_space *space)
{
	return ++nr_published == fail_at ? -ENOMEM :
	       __real_far_host_publish(host, space);
}

static void test_cannot_open(void **state)
{
	unsigned int n;

	world_open();
	*last_word(space_of("a")) = MARK;
	*last_word(space_of("b")) = MARK;
	for (n = 1; n <= 2; n++) {
		nr_published = 0;
		fail_at = n;
		restart_refused(-ENOMEM, "cannot open space");
	}
	fail_at = 0;
	bed_close(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_clients),
		cmocka_unit_test(test_superblock),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_beside_session),
		cmocka_unit_test(test_deleted),
		cmocka_unit_test(test_each_write),
		cmocka_unit_test(test_each_record),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_layout_version),
		cmocka_unit_test(test_new_space),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_version_1),
		cmocka_unit_test(test_image_1),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_waits_for_nobody),
		cmocka_unit_test(test_cannot_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
