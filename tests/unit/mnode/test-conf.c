// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Settings: the words of --nic, single settings, the INI file, and what is said of
 * them in the sample and the manual.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <sys/stat.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <cmocka.h>
#include <conf.h>
#include <wrc.h>
#include <nic/soft.h>
#include "bed/agent.h"

static char why[CONF_WHY_MAX];

/* ---- --nic soft: ---------------------------------------------------------------- */

static void is_forge(const struct snic_forge *f)
{
	assert_true(f->imm == 0.5 && f->data == 1);
	assert_true(f->length == 0.25 && f->target == 0.125);
	assert_true(f->replay == 0.75 && f->late == 0.3);
	assert_true(f->opcode == 0.1 && f->hello == 0.2);
	assert_int_equal(f->most, 9);
	assert_int_equal(f->after, 3);
}

static void test_nic_all_words(void **state)
{
	struct nic_soft_opts o;

	assert_int_equal(nic_soft_parse("ip=10.77.0.1/16,mac=52:54:00:77:00:01,"
		"mtu=1500,dgram=/a/b:/c/d,dgram=x:y,packet=eth0,fetch=early,"
		"strict=0,loss=0.01,reorder=0.5,duplicate=1,corrupt=0,"
		"delay_us=7,seed=42,spin_us=0,forge_imm=0.5,forge_data=1,"
		"forge_length=0.25,forge_target=0.125,forge_replay=0.75,"
		"forge_opcode=0.1,forge_late=0.3,forge_hello=0.2,forge_max=9,"
		"forge_after=3", &o, why), 0);
	assert_int_equal(o.nic.ip, htonl(0x0a4d0001));
	assert_int_equal(o.nic.prefix_len, 16);
	assert_memory_equal(o.nic.mac, "\x52\x54\x00\x77\x00\x01", 6);
	assert_int_equal(o.nic.mtu, 1500);
	assert_int_equal(o.nr_ports, 3);
	assert_string_equal(o.ports[0].local, "/a/b");
	assert_string_equal(o.ports[0].remote, "/c/d");
	assert_string_equal(o.ports[1].remote, "y");
	assert_int_equal(o.ports[2].kind, NIC_SOFT_PACKET);
	assert_string_equal(o.ports[2].local, "eth0");
	assert_int_equal(o.nic.fetch, SNIC_FETCH_EARLY);
	assert_true(o.nic.relaxed_index && o.nic.relaxed_qpn);
	assert_true(o.faults.loss == 0.01 && o.faults.reorder == 0.5);
	assert_true(o.faults.duplicate == 1 && o.faults.corrupt == 0);
	assert_int_equal(o.faults.delay_ns, 7000);
	is_forge(&o.forge);
	assert_int_equal(o.nic.seed, 42);
	assert_int_equal(o.spin_us, 0);
}

/* A cable to one other end, or a port for all who send there. */
static void test_nic_udp(void **state)
{
	struct nic_soft_opts o;

	assert_int_equal(nic_soft_parse("ip=10.77.0.1,udp=192.0.2.1:7,"
					"udp=0.0.0.0:0:192.0.2.2:8", &o, why), 0);
	assert_int_equal(o.nr_ports, 2);
	assert_int_equal(o.ports[0].kind, NIC_SOFT_UDP);
	assert_int_equal(o.ports[0].udp[0].port, 7);
	assert_string_equal(o.ports[0].remote, "");
	assert_int_equal(o.ports[1].udp[0].port, 0);
	assert_int_equal(o.ports[1].udp[1].ip, htonl(0xc0000202));
	assert_int_equal(o.ports[1].udp[1].port, 8);
	assert_int_equal(nic_soft_parse("ip=10.77.0.1,udp=0.0.0.0:0:localhost:8", &o, why), 0);
	assert_int_equal(o.ports[0].udp[1].ip, htonl(INADDR_LOOPBACK));
	assert_string_equal(o.ports[0].remote, "localhost:8");
}

static void test_nic_defaults(void **state)
{
	struct nic_soft_opts o;

	assert_int_equal(nic_soft_parse("ip=10.77.0.1,dgram=a:b", &o, why), 0);
	assert_int_equal(o.nic.prefix_len, 24);
	assert_int_equal(o.nic.mtu, 4500);
	assert_false(o.mtu_given);
	assert_memory_equal(o.nic.mac, "\x02\x4f\x0a\x4d\x00\x01", 6);
	assert_false(o.nic.relaxed_index);
	assert_int_equal(o.nic.fetch, SNIC_FETCH_LATE);
}

/* Words, and what the complaint has to name. */
static const char *const bad_nics[][2] = {
	{ "", "ip=" },
	{ "ip=10.77.0.1/24", "port" },
	{ "dgram=a:b", "ip=" },
	{ "ip=10.77.0/24,dgram=a:b", "ip=10.77.0/24" },
	{ "ip=10.77.0.1/33,dgram=a:b", "ip=10.77.0.1/33" },
	{ "ip=10.77.0.1/0,dgram=a:b", "/0" },
	{ "ip=10.77.0.1/x,dgram=a:b", "/x" },
	{ "ip=0.0.0.0/24,dgram=a:b", "0.0.0.0" },
	{ "ip=10.77.0.1/24,dgram=a", "LOCAL:REMOTE" },
	{ "ip=10.77.0.1/24,dgram=:b", "LOCAL:REMOTE" },
	{ "ip=10.77.0.1/24,dgram=a:", "LOCAL:REMOTE" },
	{ "ip=10.77.0.1/24,stream=a:b", "without a colon" },
	{ "ip=10.77.0.1/24,udp=192.0.2.1:1:192.0.2.2", "ADDRESS:PORT:ADDRESS" },
	{ "ip=10.77.0.1/24,udp=192.0.2.1", "udp=192.0.2.1:" },
	{ "ip=10.77.0.1/24,udp=192.0.2.1:0", "udp=192.0.2.1:0:" },
	{ "ip=10.77.0.1/24,udp=192.0.2.1:1:192.0.2.2:0", "192.0.2.2:0" },
	{ "ip=10.77.0.1/24,udp=192.0.2.1:1:192.0.2.2:65536", "65536" },
	{ "ip=10.77.0.1/24,udp=192.0.2:1:192.0.2.2:2", "udp=192.0.2:1" },
	{ "ip=10.77.0.1/24,udp=192.0.2.1:1:0.0.0.0:2", "0.0.0.0" },
	{ "ip=10.77.0.1/24,udp=192.0.2.1:1:192.0.2.2:2:3", "2:3" },
	{ "ip=10.77.0.1/24,udp=192.0.2.1:1:no-such-host.invalid:2", "no IPv4 address" },
	{ "ip=10.77.0.1/24,packet=averyveryverylongname", "packet=" },
	{ "ip=10.77.0.1/24,mac=1:2:3", "mac=1:2:3" },
	{ "ip=10.77.0.1/24,mac=01:00:00:00:00:00", "unicast" },
	{ "ip=10.77.0.1/24,mac=52:54:00:77:00:01:", "mac=" },
	{ "mtu=575,ip=10.77.0.1,dgram=a:b", "576" },
	{ "mtu=65536,ip=10.77.0.1,dgram=a:b", "65535" },
	{ "mtu=-1,ip=10.77.0.1,dgram=a:b", "mtu=-1" },
	{ "loss=1.1,ip=10.77.0.1,dgram=a:b", "loss=1.1" },
	{ "loss=nan,ip=10.77.0.1,dgram=a:b", "probability" },
	{ "loss=x,ip=10.77.0.1,dgram=a:b", "loss=x" },
	{ "forge_imm=2,ip=10.77.0.1,dgram=a:b", "forge_imm=2" },
	{ "forge_=0,ip=10.77.0.1,dgram=a:b", "forge_hello" },
	{ "forge_max=x,ip=10.77.0.1,dgram=a:b", "forge_max=x" },
	{ "strict=2,ip=10.77.0.1,dgram=a:b", "0 or 1" },
	{ "fetch=now,ip=10.77.0.1,dgram=a:b", "late or early" },
	{ "seed=99999999999999999999,ip=10.77.0.1,dgram=a:b", "seed=" },
	{ "colour=red,ip=10.77.0.1,dgram=a:b", "colour" },
	{ "ip", "KEY=VALUE" },
	{ "ip=,dgram=a:b", "KEY=VALUE" },
	{ "=x", "KEY=VALUE" },
	{ "ip=10.77.0.1,,dgram=a:b", "KEY=VALUE" },
	{ "ip=10.77.0.1,dgram=a:b,", "comma" },
};

static void test_nic_bad(void **state)
{
	struct nic_soft_opts o;
	unsigned int i;

	for (i = 0; i < sizeof(bad_nics) / sizeof(bad_nics[0]); i++) {
		why[0] = 0;
		if (nic_soft_parse(bad_nics[i][0], &o, why) != -EINVAL ||
		    !strstr(why, bad_nics[i][1]))
			fail_msg("'%s': %s", bad_nics[i][0], why);
	}
}

static void test_nic_long(void **state)
{
	struct nic_soft_opts o;
	char words[4096];
	unsigned int i;
	int n;

	n = snprintf(words, sizeof(words), "ip=10.77.0.1,dgram=");
	memset(words + n, 'a', 1000);
	words[n + 1000] = 0;
	assert_int_equal(nic_soft_parse(words, &o, why), -EINVAL);
	memset(words + n, 'a', 150);
	memcpy(words + n + 150, ":b", 3);
	assert_int_equal(nic_soft_parse(words, &o, why), -EINVAL);
	n = snprintf(words, sizeof(words), "ip=10.77.0.1");
	for (i = 0; i <= NIC_SOFT_MAX_PORTS; i++)
		n += snprintf(words + n, sizeof(words) - n, ",dgram=a:b");
	assert_int_equal(nic_soft_parse(words, &o, why), -EINVAL);
	assert_non_null(strstr(why, "more than"));
	words[n - strlen(",dgram=a:b")] = 0;
	assert_int_equal(nic_soft_parse(words, &o, why), 0);
}

/* ---- settings -------------------------------------------------------------------- */

static void test_sizes(void **state)
{
	struct conf c;

	conf_init(&c);
	assert_int_equal(conf_set(&c, "pool", "64M", why), 0);
	assert_int_equal(c.pool, 64 << 20);
	assert_int_equal(conf_set(&c, "pool", "1048576k", why), 0);
	assert_int_equal(c.pool, 1 << 30);
	assert_int_equal(conf_set(&c, "pool", "1020G", why), 0);
	assert_int_equal(c.pool, 1020ull << 30);
	assert_int_equal(conf_set(&c, "pool", "285212672", why), 0);
	assert_int_equal(c.pool, 272 << 20);
}

static const char *const bad_settings[][2] = {
	{ "pool", "64MB" }, { "pool", "1T" }, { "pool", "1000001" },
	{ "pool", "4K" }, { "pool", "" }, { "pool", "-1G" }, { "pool", "G" },
	{ "pool", "99999999999999999999" }, { "pool", "18446744073709551615K" },
	{ "depth", "48" }, { "depth", "2" }, { "depth", "2048" },
	{ "depth", "x" }, { "queues", "0" }, { "queues", "129" },
	{ "port", "0" }, { "port", "65536" }, { "port", "80x" },
	{ "beat-ms", "1" }, { "dead-ms", "0" }, { "max-sessions", "0" },
	{ "max-slots", "0" }, { "populate", "maybe" }, { "log-level", "loud" },
	{ "control", "" }, { "reserve", "-1" }, { "reserve", "0" },
	{ "store-pages", "-1" },
	{ "depth", "1024" },
	{ "max-slots", "536870913" },
	{ "order", "fences" }, { "order", "" }, { "order", "auto|wait" },
	{ "scrub", "maybe" }, { "translate", "nobody" }, { "translate", "ni" },
};

static void test_bad_settings(void **state)
{
	struct conf c, before;
	unsigned int i;

	conf_init(&c);
	before = c;
	for (i = 0; i < sizeof(bad_settings) / sizeof(bad_settings[0]); i++) {
		why[0] = 0;
		if (conf_set(&c, bad_settings[i][0], bad_settings[i][1],
			     why) != -EINVAL ||
		    !strstr(why, bad_settings[i][0]) ||
		    !strstr(why, bad_settings[i][1]) ||
		    !strstr(why, "expected"))
			fail_msg("%s=%s: %s", bad_settings[i][0],
				 bad_settings[i][1], why);
	}
	assert_memory_equal(&c, &before, sizeof(c));
	assert_int_equal(conf_set(&c, "colour", "red", why), -ENOENT);
}

static void test_good_settings(void **state)
{
	struct conf c;

	conf_init(&c);
	assert_int_equal(conf_set(&c, "depth", "512", why), 0);
	assert_int_equal(c.depth, 512);
	assert_int_equal(conf_set(&c, "max-pages", "77", why), 0);
	assert_int_equal(c.max_pages, 77);
	assert_int_equal(conf_set(&c, "populate", "No", why), 0);
	assert_false(c.populate);
	assert_int_equal(c.order, CONF_ORDER_AUTO);
	assert_int_equal(conf_set(&c, "order", "fence", why), 0);
	assert_int_equal(c.order, CONF_ORDER_FENCE);
	assert_int_equal(conf_set(&c, "order", "wait", why), 0);
	assert_int_equal(c.order, CONF_ORDER_WAIT);
	assert_int_equal(conf_set(&c, "order", "auto", why), 0);
	assert_int_equal(c.order, CONF_ORDER_AUTO);
	assert_int_equal(c.translate, CONF_TRANSLATE_AUTO);
	assert_int_equal(conf_set(&c, "translate", "nic", why), 0);
	assert_int_equal(c.translate, CONF_TRANSLATE_NIC);
	assert_int_equal(conf_set(&c, "translate", "chain", why), 0);
	assert_int_equal(c.translate, CONF_TRANSLATE_CHAIN);
	assert_int_equal(c.scrub, CONF_SCRUB_AUTO);
	assert_int_equal(conf_set(&c, "scrub", "yes", why), 0);
	assert_int_equal(c.scrub, CONF_SCRUB_YES);
	assert_int_equal(conf_set(&c, "scrub", "no", why), 0);
	assert_int_equal(c.scrub, CONF_SCRUB_NO);
	assert_int_equal(conf_set(&c, "log-level", "debug", why), 0);
	assert_int_equal(c.log_level, LOG_DEBUG);
	assert_int_equal(conf_check(&c, why), -EINVAL);	/* no NIC */
	assert_int_equal(conf_set(&c, "nic", "soft:ip=1.2.3.4,dgram=a:b",
				  why), 0);
	assert_int_equal(conf_check(&c, why), 0);
	c.dead_ms = c.beat_ms;
	assert_int_equal(conf_check(&c, why), -EINVAL);
	conf_init(&c);
	memcpy(c.nic, "x", 2);
	c.reserve = c.pool / 4096;
	assert_int_equal(conf_check(&c, why), -EINVAL);
	c.reserve = 100;
	c.store_pages = c.pool / 4096 - 100;
	assert_int_equal(conf_check(&c, why), -EINVAL);
	assert_non_null(strstr(why, "store-pages"));
	c.store_pages--;
	assert_int_equal(conf_check(&c, why), 0);
	c.store_pages = 7;
	assert_int_equal(conf_check(&c, why), -EINVAL);
}

/* ---- file ------------------------------------------------------------------------- */

static int read_text(struct conf *c, const char *text)
{
	char path[] = "test-conf-XXXXXX";
	int fd = mkstemp(path), r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	conf_init(c);
	why[0] = 0;
	r = conf_read(c, path, why);
	unlink(path);
	return r;
}

static void test_file(void **state)
{
	struct conf c;

	assert_int_equal(read_text(&c, "; comment\n[mnode]\npool = 32M\n"
				   "# more\nqueues=2\n"), 0);
	assert_int_equal(c.pool, 32 << 20);
	assert_int_equal(c.queues, 2);
	assert_int_equal(read_text(&c, "port = 99\n[mnode]\n"), -EINVAL);
	assert_non_null(strstr(why, ":1: port: in no section: expected [mnode]"));
	assert_int_equal(read_text(&c, ""), 0);
	assert_int_equal(read_text(&c, "[mnode]\n\npool = much\n"), -EINVAL);
	assert_non_null(strstr(why, ":3:"));
	assert_non_null(strstr(why, "much"));
	assert_int_equal(read_text(&c, "[mnode]\ncolour = red\n"), -EINVAL);
	assert_non_null(strstr(why, "colour"));
	assert_int_equal(read_text(&c, "[disk]\npool = 1G\n"), -EINVAL);
	assert_non_null(strstr(why, "[disk]"));
	assert_int_equal(read_text(&c, "[mnode]\npool\n"), -EINVAL);
	assert_non_null(strstr(why, ":2:"));
	assert_int_equal(conf_read(&c, "there-is-no-such-file", why), -ENOENT);
	assert_int_equal(conf_read(&c, "/", why), -EINVAL);
	assert_string_equal(why, "/: cannot be read: expected a file");
	assert_int_equal(conf_read(&c, "/dev/zero", why), -EINVAL);
	assert_int_equal(mkfifo("test-conf-fifo", 0600), 0);
	assert_int_equal(conf_read(&c, "test-conf-fifo", why), 0);
	unlink("test-conf-fifo");
}

static void test_spaces(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "[space]\nsize = 4M\n", "section [space]: expected [mnode], [space NAME] or" },
		{ "[space a]\nsize = 4M\n[space b/]\n[mnode]\n",
		  ":3: section [space b/]: expected a name" },
		{ "[space ]\nsize = 4M\n", "section [space ]: expected a name" },
		{ "[space a/b]\nsize = 4M\n", "section [space a/b]: expected a name" },
		{ "[space .a]\nsize = 4M\n", "section [space .a]: expected a name" },
		{ "[space aaaaaaaaaabbbbbbbbbbccccccccccddddddd]\nsize = 4M\n",
		  "expected a name of 1 to 36" },
		{ "[space a]\nsize = 4095K\n", "size=4095K: expected a size" },
		{ "[space a]\nsize = 4M\nchunk = 3M\n", "chunk=3M: expected 64K, 128K" },
		{ "[space a]\nchunk = 64M\n", "chunk=64M: expected 64K, 128K" },
		{ "[space a]\nclients = 4095\n", "clients=4095: expected a number from 1" },
		{ "[space a]\ndead-ms = 0\n", "dead-ms=0: expected a number from 50" },
		{ "[space a]\ndeletable = maybe\n", "deletable=maybe: expected yes or no" },
		{ "[space a]\nnodes = 10.0.0.1,10.0.0\n", "'10.0.0': expected up to 255" },
		{ "[space a]\nnodes = 10.0.0.1,,10.0.0.2\n", "'': expected up to 255" },
		{ "[space a]\nnodes = 10.0.0.1, 10.0.0.1\n", "'10.0.0.1': expected up to" },
		{ "[space a]\nnodes = 10.0.0.1 10.0.0.2\n", "nodes=10.0.0.1 10.0.0.2: " },
		{ "[space a]\nnode = 255\n", "node=255: expected a number from 0 to 254" },
		{ "[space a]\nreaders = b, .x\n", "readers=b, .x: '.x' is no name" },
		{ "[space a]\nwriters = ,a\n", "writers=,a: '' is no name" },
		{ "[space a]\npool = 1G\n", "pool: no such setting of a space" },
		{ "[client a/b]\nweight = 1\n", "section [client a/b]: expected *, or a name" },
		{ "[client ]\n", "section [client ]: expected *, or a name" },
		{ "[client a]\nweight = 0\n", "weight=0: expected a number from 1 to 1000" },
		{ "[client a]\npages = 1\n", "pages: no such setting of a client" },
	};
	static const struct {
		const char *text, *says;
	} bad_whole[] = {
		{ "[space a]\nclients = 1\n", "space a: expected its size" },
		{ "[space a]\n", "space a: expected its size" },
		{ "[space a]\nsize = 4M\nnode = 0\n", "space a: node=0: expected nodes" },
		{ "[space a]\nsize = 4M\nnodes = 10.0.0.1\n",
		  "space a: expected node, which of the 1 nodes" },
		{ "[space a]\nsize = 4M\nnodes = 10.0.0.1,10.0.0.2\nnode = 2\n",
		  "node=2: expected a number from 0 to 1" },
		{ "[space a]\nsize = 4M\nnodes = 10.0.0.1,10.0.0.2\nnode = 1\n",
		  "space a: nodes=...: expected node-keys as well, or auth=none" },
		{ "[space a]\nsize = 4M\nnodes = 10.0.0.1,10.0.0.2\nnode = 1\n"
		  "node-keys = a, b\n", "node-keys=a, b: expected a name for each of the "
		  "nodes but the first: 1" },
		{ "[space a]\nsize = 4M\nnode-keys = a\n", "node-keys=a: expected a name" },
		{ "[space a]\nsize = 4M\nnodes = 10.0.0.1,10.0.0.2\nnode = 1\n"
		  "node-keys = abcdefghijklmnopqrstuvwxyz123456\n",
		  "node-keys=abcdefghijklmnopqrstuvwxyz123456: expected names of 1 to 31" },
		{ "[space a]\nsize = 4M\nnodes = 10.0.0.1,10.0.0.2,10.0.0.3\nnode = 1\n"
		  "node-keys = ,b\n", "node-keys=,b: expected names of 1 to 31" },
		{ "[space a]\nsize = 4M\nnodes = 10.0.0.1,10.0.0.2\nnode = 1\n"
		  "lost-ms = 30000\n", "space a: lost-ms: expected node-keys" },
		{ "[client a]\nmax-pages = 7\nguaranteed-pages = 8\n",
		  "client a: guaranteed-pages=8: expected at most max-pages=7" },
		{ "[client *]\nguaranteed-pages = 8\n",
		  "client *: guaranteed-pages=8: expected a section for each" },
		{ "[space a]\nsize = 16M\n", "size=16384K: expected at most 16128K" },
		{ "[space a]\nsize = 8M\n[space b]\nsize = 8M\n",
		  "space b: size=8192K: expected at most 7936K" },
	};
	char text[512];
	struct conf c;
	unsigned int i;

	assert_int_equal(read_text(&c, "[space a]\nsize = 8M\n"
				   "[mnode]\npool = 64M\n[space B.c-d_9]\nsize=4M\n"
				   "dead-ms = 70\nchunk = 2M\n[space a]\nclients = 4\n"), 0);
	assert_int_equal(c.nr_spaces, 2);
	assert_string_equal(c.spaces[0].name, "a");
	assert_int_equal(c.spaces[0].size, 8 << 20);
	assert_int_equal(c.spaces[0].clients, 4);
	assert_int_equal(c.spaces[0].dead_ms, 1000);
	assert_int_equal(c.spaces[0].chunk, 0);
	assert_string_equal(c.spaces[1].name, "B.c-d_9");
	assert_int_equal(c.spaces[1].chunk, 2 << 20);
	assert_int_equal(c.spaces[1].dead_ms, 70);
	assert_int_equal(read_text(&c, "[space a]\nsize=4M\nnode = 1\n"
				   "nodes = 10.0.0.1 ,  10.0.0.9\n"), 0);
	assert_int_equal(c.spaces[0].nr_nodes, 2);
	assert_int_equal(c.spaces[0].node, 1);
	assert_int_equal(c.spaces[0].nodes[1], htonl(0x0a000009));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (read_text(&c, bad[i].text) != -EINVAL || !strstr(why, bad[i].says))
			fail_msg("%s: %s", bad[i].text, why);
	}
	for (i = 0; i < sizeof(bad_whole) / sizeof(bad_whole[0]); i++) {
		snprintf(text, sizeof(text), "[mnode]\nnic = soft:ip=10.0.0.1\n"
			 "pool = 16M\n%s", bad_whole[i].text);
		assert_int_equal(read_text(&c, text), 0);
		if (conf_check(&c, why) != -EINVAL || !strstr(why, bad_whole[i].says))
			fail_msg("%s: %s", text, why);
	}
	conf_init(&c);
	for (i = 0; i < CONF_MAX_SPACES; i++) {
		snprintf(text, sizeof(text), "s%u", i);
		assert_int_equal(conf_space_set(&c, text, "size", "4M", why), 0);
	}
	assert_int_equal(conf_space_set(&c, "more", "size", "4M", why), -EINVAL);
	assert_non_null(strstr(why, "at most 16 spaces"));
}

static void test_clients(void **state)
{
	char text[64];
	struct conf c;
	unsigned int i;

	assert_int_equal(read_text(&c, "[client a]\nweight = 7\n"
				   "[client *]\nmax-sessions = 3\nmax-connections = 65\n"
				   "[client 10.0.0.1]\nguaranteed-pages = 5\n"
				   "[client a]\nmax-pages = 9\nmax-requests = 6\n"
				   "max-bandwidth = 64M\n"), 0);
	assert_int_equal(c.nr_clients, 2);
	assert_string_equal(c.clients[0].name, "a");
	assert_int_equal(c.clients[0].max_pages, 9);
	assert_int_equal(c.clients[0].weight, 7);
	assert_int_equal(c.clients[0].max_requests, 6);
	assert_int_equal(c.clients[0].max_bandwidth, 64 << 20);
	assert_int_equal(c.clients[0].max_sessions, 16);
	assert_string_equal(c.clients[1].name, "10.0.0.1");
	assert_int_equal(c.clients[1].guaranteed_pages, 5);
	assert_int_equal(c.clients[1].weight, 1);
	assert_int_equal(c.others.max_sessions, 3);
	assert_int_equal(c.others.max_connections, 65);
	conf_init(&c);
	for (i = 0; i < CONF_MAX_CLIENTS; i++) {
		snprintf(text, sizeof(text), "c%u", i);
		assert_int_equal(conf_client_set(&c, text, "weight", "2", why), 0);
	}
	assert_int_equal(conf_client_set(&c, "more", "weight", "2", why), -EINVAL);
	assert_non_null(strstr(why, "at most 256 clients"));
}

/* A memory node of many virtual machines: lines that go on. */
static void test_file_continued(void **state)
{
	char text[4096], want[4096];
	int n = snprintf(text, sizeof(text), "[mnode]\nnic = soft:ip=10.77.0.1\n");
	int m = snprintf(want, sizeof(want), "soft:ip=10.77.0.1");
	struct conf c;

	while (n < 3000) {
		n += snprintf(text + n, sizeof(text) - n, "\tdgram=/a:/b\n");
		m += snprintf(want + m, sizeof(want) - m, ",dgram=/a:/b");
	}
	snprintf(text + n, sizeof(text) - n, "queues = 3\n");
	assert_int_equal(read_text(&c, text), 0);
	assert_string_equal(c.nic, want);
	assert_int_equal(c.queues, 3);
}

/* A line that would be lost, or that takes another's place, is refused by its number. */
static void test_file_lines(void **state)
{
	static const char *const bad[][2] = {
		{ "[mnode]\npool = 1G\npool = 2G\n", ":3: pool: given twice" },
		{ "[mnode]\nnic = soft:ip=10.0.0.1\nnic = soft:\n", ":3: nic: given twice" },
		{ "[mnode]\npool = 1G\n[space a]\nsize = 4M\n[mnode]\n pool = 1G\n",
		  ":6: pool: given twice" },
		{ "[space a]\nsize = 4M\n[client a]\nweight = 1\nweight = 2\n",
		  ":5: weight: given twice" },
		{ "[mnode]\npool = 1G\n\t64M\n", ":3: pool: goes on in an indented line" },
		{ "[mnode\npool = 1G\n", ":1: section [mnode: expected a ']'" },
		{ "[mnode]\nqueues = 2\n[space a\nsize = 4M\n",
		  ":3: section [space a: expected a ']'" },
	};
	struct conf c;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (read_text(&c, bad[i][0]) != -EINVAL || !strstr(why, bad[i][1]))
			fail_msg("'%s': %s", bad[i][0], why);
	assert_int_equal(read_text(&c, "[space a]\nsize = 4M\n[space b]\nsize = 4M\n"), 0);
}

/* Not cut off in silence. */
static void test_file_long_line(void **state)
{
	char text[1024];
	struct conf c;
	int n = snprintf(text, sizeof(text), "[mnode]\nnic = soft:");

	memset(text + n, 'x', 900);
	text[n + 900] = 0;
	assert_int_equal(read_text(&c, text), -EINVAL);
	assert_non_null(strstr(why, "expected"));
}

/* ---- what is said of it -------------------------------------------------------------- */

/* A file of the tree. */
static FILE *open_file(const char *name)
{
	const char *top = getenv("ODRP_TOP");
	char path[512];
	FILE *f;

	assert_non_null(top);
	snprintf(path, sizeof(path), "%s/%s", top, name);
	f = fopen(path, "re");
	if (!f)
		fail_msg("%s: %s", path, strerror(errno));
	return f;
}

static void test_sample(void **state)
{
	char line[512], text[8192] = "", word[32];
	const struct conf_key *key;
	FILE *f = open_file("mnode/mnoded.conf");
	struct conf c, as_is;
	size_t n = 0;

	while (fgets(line, sizeof(line), f)) {
		bool setting = sscanf(line, "#%31[a-z-] = ", word) == 1 &&
			       strchr(line, '=');

		n += snprintf(text + n, sizeof(text) - n, "%s",
			      line + (setting || !strncmp(line, "#\t", 2)));
		assert_true(n < sizeof(text));
	}
	fclose(f);
	if (read_text(&c, text))
		fail_msg("%s", why);
	for (key = conf_keys; key->name; key++) {
		snprintf(line, sizeof(line), "\n%s = ", key->name);
		if (!strstr(text, line) == !!key->doc)
			fail_msg("mnoded.conf has %s %s", key->doc ? "no" : "a",
				 key->name);
	}
	assert_int_equal(c.reserve, lease_default_slack(c.pool / 4096));
	assert_int_equal(c.store_pages,
			 stock_default_target(c.pool / 4096, UINT64_MAX));
	assert_int_equal(c.metadata, c.pool / 2);
	conf_init(&as_is);
	as_is.metadata = c.metadata;
	as_is.reserve = c.reserve;
	as_is.store_pages = c.store_pages;
	memcpy(as_is.nic, c.nic, sizeof(c.nic));
	assert_int_equal(c.metrics.ip, htonl(INADDR_LOOPBACK));
	assert_int_equal(c.metrics.port, 9489);
	as_is.metrics = c.metrics;
	assert_string_equal(c.keys, "/etc/odrp/keys.d");
	memcpy(as_is.keys, c.keys, sizeof(c.keys));
	assert_memory_equal(&c, &as_is, sizeof(c));
}

/* A setting's paragraph, which becomes one line; to be freed. */
static char *paragraph(const char *manual, const char *setting)
{
	char name[64], *text, *at;
	const char *begin;

	snprintf(name, sizeof(name), "\n.B %s\n", setting);
	begin = strstr(manual, name);
	if (!begin)
		fail_msg("the manual has no %s", setting);
	begin += strlen(name);
	text = strndup(begin, strstr(begin, "\n.TP") - begin);
	assert_non_null(text);
	while ((at = strchr(text, '\n')))
		*at = ' ';
	return text;
}

static void test_manual(void **state)
{
	FILE *f = open_file("docs/man/odrp-mnoded.conf.5");
	static char manual[65536];
	const struct conf_key *key;

	manual[fread(manual, 1, sizeof(manual) - 1, f)] = 0;
	fclose(f);
	for (key = conf_keys; key->name; key++) {
		char *text = paragraph(manual, key->name);
		char range[64];

		/* A number: neither text, of which max is room, nor a size. */
		snprintf(range, sizeof(range), "%lu to %lu",
			 (unsigned long)key->min, (unsigned long)key->max);
		if (!strcmp(key->name, "store-pages"))
			memcpy(range, "8", 1);	/* conf_check() */
		if (key->max && !strchr(key->value, '|') &&
		    strcmp(key->value, "SIZE") && strcmp(key->value, "PATH") &&
		    strcmp(key->value, "NIC") && strcmp(key->value, "DIR") && !strstr(text, range))
			fail_msg("%s: the manual does not say %s", key->name,
				 range);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nic_all_words),
		cmocka_unit_test(test_nic_udp),
		cmocka_unit_test(test_nic_defaults),
		cmocka_unit_test(test_nic_bad),
		cmocka_unit_test(test_nic_long),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_bad_settings),
		cmocka_unit_test(test_good_settings),
		cmocka_unit_test(test_spaces),
		cmocka_unit_test(test_clients),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_file_continued),
		cmocka_unit_test(test_file_lines),
		cmocka_unit_test(test_file_long_line),
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_manual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
