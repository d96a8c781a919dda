// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What odrp-hwcheck --save keeps of a card, and what the agent makes of it: chains
 * with fences and keys where the report says so and is of this card; else, whatever
 * the file is, a sentence, and nothing is known.
 */
#include <errno.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sides.h"
#include <manager.h>
#include <hwcheck/check.h>
#include <nic/verdict.h>

static char dir[64], path[128];
static struct nic_mlx5_opts ways;

static int setup(void **state)
{
	fake_init();
	ways = (struct nic_mlx5_opts){ .port = 1, .strict = true };
	snprintf(dir, sizeof(dir), "/tmp/odrp-verdict-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fake0.json", dir);
	snprintf(ways.report, sizeof(ways.report), "%s/", dir);
	return 0;
}

/* Nothing else was left there. */
static int teardown(void **state)
{
	fake_fini();
	if (remove(path))
		assert_int_equal(errno, ENOENT);
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

/* A connection manager whom nobody calls. */
static int cm_open(const char *device, uint8_t port, void **ret_cm,
		   int *ret_fd)
{
	*ret_cm = dir;
	*ret_fd = -1;
	return 0;
}

static void cm_close(void *arg)
{
}

static int cm_listen(void *arg, uint16_t port)
{
	return 0;
}

static const struct nic_cm quiet_cm = {
	.open = cm_open, .close = cm_close, .listen = cm_listen,
};

static struct nic *open_nic(void)
{
	char why[NIC_MLX5_WHY_MAX];
	struct nic *nic;

	if (nic_mlx5_open(&ways, &fake_devx, &quiet_cm, &nic, why))
		fail_msg("%s", why);
	return nic;
}

/* Opened with that report; the sentence has that in it. */
static void expect(bool fences, bool keys, const char *words)
{
	struct nic *nic = open_nic();

	if (!strstr(nic->node->known, words))
		fail_msg("expected '%s' in: %s", words, nic->node->known);
	assert_int_equal(nic->node->keeps_fences, fences);
	assert_int_equal(nic->node->keeps_keys, keys);
	assert_int_equal(nic->node->unfit, !!strstr(words, "not enough for chains"));
	nic->ops->close(nic);
}

static void expect_nothing(const char *words)
{
	expect(false, false, words);
}

static void save(struct json_object *report)
{
	char why[NIC_MLX5_WHY_MAX];

	if (check_save(report, path, why))
		fail_msg("%s", why);
}

static struct json_object *describe(void)
{
	char why[NIC_MLX5_WHY_MAX];
	struct json_object *report;
	struct wrc_mlx5 dev;

	assert_int_equal(wrc_mlx5_probe(&fake_devx, "", &dev, why), 0);
	assert_int_equal(check_describe(&dev, &ways, VERDICT_PER_MKEY, &report), 0);
	wrc_mlx5_close(&dev);
	return report;
}

/* The report of a card that was found as it should be. */
static struct json_object *good(void)
{
	const struct check check = {
		true, true, true, true, true, true, true, true, NULL,
	};
	struct json_object *report = describe();

	assert_true(check_judge(&check, report));
	return report;
}

static void save_good(void)
{
	struct json_object *report = good();

	save(report);
	json_object_put(report);
}

static char *content(size_t *ret_len)
{
	FILE *f = fopen(path, "r");
	char *buf = malloc(1 << 20);

	assert_non_null(f);
	assert_non_null(buf);
	*ret_len = fread(buf, 1, (1 << 20) - 1, f);
	buf[*ret_len] = 0;
	fclose(f);
	return buf;
}

static void put(const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* ---- from the card to the agent ------------------------------------------------ */

/* All that odrp-hwcheck does, kept. */
static bool check_card(void)
{
	struct check check = { .ordered = true };
	struct json_object *report;
	bool whole;

	sides_open(true);
	assert_int_equal(check_describe(nic_mlx5_device(card.nic), &ways,
					VERDICT_PER_MKEY, &report), 0);
	assert_int_equal(check_programs(&card, &soft, report, &check), 0);
	assert_int_equal(check_questions(&card, &soft, report, &check), 0);
	whole = check_judge(&check, report);
	check_enough(report, whole);
	save(report);
	json_object_put(report);
	side_close(&soft);
	side_close(&card);
	return whole;
}

/* Is there a umem of all pages? */
static bool is_shared(size_t len)
{
	const struct fake_umem *u = fake.umems;

	while (u && u->len != len)
		u = u->next;
	return u;
}

static void expect_agent(bool waits, bool nic_translates)
{
	struct nic *nic = open_nic();
	char why[CONF_WHY_MAX] = "";
	struct manager m;
	struct conf conf;

	conf_init(&conf);
	conf.pool = 8 << 20;
	if (manager_init(&m, &conf, nic, why))
		fail_msg("%s", why);
	assert_int_equal(m.waits, waits);
	assert_int_equal(m.nic_translates, nic_translates);
	/* What takes long for sessions with keys has been done. */
	assert_int_equal(is_shared(conf.pool), nic_translates);
	manager_fini(&m);
	nic->ops->close(nic);
}

static void known(void **state)
{
	expect_nothing("nothing is known of fake0: no report of odrp-hwcheck");
	expect_agent(true, false);
	assert_true(check_card());
	expect(true, true, "fake0.json: order=fence may be set, translate=nic "
	       "may be set");
	expect_agent(false, true);
	/* Nothing of it is believed when the card is compared again. */
	assert_int_equal(side_mlx5_open(&ways, &fake_devx, &card,
					(char[NIC_MLX5_WHY_MAX]){ 0 }), 0);
	assert_false(card.nic->node->keeps_fences || card.nic->node->keeps_keys);
	side_close(&card);
	*ways.report = 0;
	expect_agent(true, false);
}

/* Without fences it is as it should be, and the rest holds. */
static void knows_no_fences(void **state)
{
	struct check check = { .fences = true, .ordered = true };
	struct json_object *report = good();

	sides_open(true);
	sides_bend()->ring = sides_ring_unfenced;
	check.programs = check.keyed = true;
	assert_int_equal(check_questions(&card, &soft, report, &check), 0);
	sides_unbend();
	side_close(&soft);
	side_close(&card);
	assert_true(check_judge(&check, report));
	save(report);
	json_object_put(report);
	expect(false, true, "order=fence may not be set, translate=nic may be");
	expect_agent(true, true);
}

/* One on which something else differs is not believed in anything. */
static void differs(void **state)
{
	save_good();
	expect_agent(false, true);
	fake.stale_entries = true;
	assert_false(check_card());
	expect_nothing("order=fence may not be set, translate=nic may not be "
		       "set; it is not enough for chains");
	expect_agent(true, false);
}

static void told_apart(void **state)
{
	struct json_object *report = good();

	json_object_object_add(report, "order_fence",
			       json_object_new_boolean(false));
	save(report);
	expect(false, true, "order=fence may not be set, translate=nic may be");
	json_object_object_add(report, "order_fence",
			       json_object_new_boolean(true));
	json_object_object_add(report, "translate_nic",
			       json_object_new_boolean(false));
	save(report);
	expect(true, false, "order=fence may be set, translate=nic may not be");
	expect_agent(false, false);
	json_object_put(report);
}

/* One that could not be compared. */
static void not_compared(void **state)
{
	struct json_object *report = describe();

	save_good();
	save(report);
	json_object_put(report);
	expect_nothing("order=fence may not be set, translate=nic may not be");
}

/* ---- of another one --------------------------------------------------------------- */

static void change(const char *key, struct json_object *value)
{
	struct json_object *report = good();

	json_object_object_add(report, key, value);
	save(report);
	json_object_put(report);
}

#define WORD(s) json_object_new_string(s)

static void of_another(void **state)
{
	change("guid", WORD("0200:00ff:fe00:ab02"));
	expect_nothing("is for node GUID 0200:00ff:fe00:ab02, but fake0 has "
		       "0200:00ff:fe00:ab01: run odrp-hwcheck --save again");
	change("firmware", WORD("16.35.2000"));
	expect_nothing("is for firmware 16.35.2000, but fake0 has 0.0.fake: run");
	change("firmware", WORD("0.0.fak"));
	expect_nothing("is for firmware 0.0.fak, but");
	change("firmware", json_object_new_string_len("0.0.fake\0", 9));
	expect_nothing("is for firmware 0.0.fake, but");
	change("version", WORD("0.0.9"));
	expect_nothing("is for ODRP 0.0.9, but fake0 has ");
	change("strict", json_object_new_boolean(false));
	expect_nothing("is for strict=no, but fake0 has strict=yes: run");
	change("device", WORD("mlx5_7"));
	expect(true, true, "fake0, by ");
}

static void expect_refused(const char *words)
{
	char why[NIC_MLX5_WHY_MAX];
	struct nic *nic;

	assert_int_equal(nic_mlx5_open(&ways, &fake_devx, &quiet_cm, &nic, why),
			 -EOPNOTSUPP);
	if (!strstr(why, words))
		fail_msg("expected '%s' in: %s", words, why);
}

/* A card whose writes come in any order is not used at all; where nobody has said how
 * they come, it is used as one that nobody has checked. */
static void unordered(void **state)
{
	change("pci_wr_ordering", WORD("force_relax"));
	expect_refused("fake0 has PCI_WR_ORDERING=force_relax, by ");
	*ways.report = 0;
	expect_agent(true, false);
	snprintf(ways.report, sizeof(ways.report), "%s/", dir);
	change("pci_wr_ordering", WORD("unknown"));
	expect_nothing("it does not say what PCI_WR_ORDERING is; run");
	change("pci_wr_ordering", WORD("per_mkey "));
	expect_nothing("it does not say what PCI_WR_ORDERING is; run");
	change("pci_wr_ordering", WORD("per_mkey"));
	expect(true, true, "fake0");
}

/* The card has changed, and the report has not. */
static void card_changes(void **state)
{
	save_good();
	fake.firmware = "0.1.fake";
	expect_nothing("is for firmware 0.0.fake, but fake0 has 0.1.fake");
	fake.firmware = "0.0.fake";
	fake.guid[7]++;
	expect_nothing("is for node GUID 0200:00ff:fe00:ab01, but fake0 has "
		       "0200:00ff:fe00:ab02");
	fake.guid[7]--;
	fake_cap(0, 0x99, 1, 1);
	ways.strict = false;
	expect_nothing("is for strict=yes, but fake0 has strict=no");
	ways.strict = true;
	expect(true, true, "fake0");
	memset(fake.guid, 0, sizeof(fake.guid));
	save_good();
	expect_nothing("nothing is known of fake0: it has no node GUID");
}

/* Other types, and none. */
static void other_types(void **state)
{
	static const char *const words[] = {
		"guid", "firmware", "version", "pci_wr_ordering",
	};
	static const char *const bools[] = {
		"strict", "order_fence", "translate_nic",
	};
	char said[80];

	for (int i = 0; i < 4; i++) {
		snprintf(said, sizeof(said), "%s is missing, or not of type string; "
			 "run odrp-hwcheck --save again", words[i]);
		change(words[i], NULL);
		expect_nothing(said);
		change(words[i], json_object_new_int(1));
		expect_nothing(said);
	}
	for (int i = 0; i < 3; i++) {
		snprintf(said, sizeof(said), "%s is missing, or not of type boolean",
			 bools[i]);
		change(bools[i], NULL);
		expect_nothing(said);
		change(bools[i], WORD("true"));
		expect_nothing(said);
		change(bools[i], json_object_new_int(1));
		expect_nothing(said);
	}
}

/* What is in it can be shown. */
static void unseemly(void **state)
{
	char word[1000];

	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = 0;
	memcpy(word, "a\n<0>\033[1m\xff", 10);
	change("firmware", WORD(word));
	expect_nothing("is for firmware a?<0>?[1m?xxxx");
}

/* ---- no report ------------------------------------------------------------------- */

static void no_report(void **state)
{
	static const char *const texts[] = {
		"", "\n", "{", "[]", "null", "true", "\"x\"", "{}x", "x",
		"{\"guid\":\"", "\xff\xfe", "[{}]", "{}{}",
	};
	char deep[200];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put(texts[i], strlen(texts[i]));
		expect_nothing("is not one JSON object; run odrp-hwcheck");
	}
	put("{\0}", 3);
	expect_nothing("is not one JSON object");
	memset(deep, '[', sizeof(deep));
	put(deep, sizeof(deep));
	expect_nothing("is not one JSON object");
	put("{}", 2);
	expect_nothing("guid is missing");
}

static struct verdict read_it(void)
{
	const struct verdict_card us = {
		"fake0", "0200:00ff:fe00:ab01", fake.firmware, true,
	};
	struct verdict v;

	verdict_read(path, &us, &v);
	return v;
}

/* Cut off at any place; the last byte is the end of its line. */
static void cut_off(void **state)
{
	struct verdict v;
	size_t len;
	char *text;

	save_good();
	text = content(&len);
	assert_int_equal(text[len - 1], '\n');
	for (size_t i = 0; i < len - 1; i++) {
		put(text, i);
		v = read_it();
		assert_false(v.fences || v.keys);
		assert_non_null(strstr(v.text, "is not one JSON object"));
	}
	put(text, len - 1);
	v = read_it();
	assert_true(v.fences && v.keys);
	free(text);
}

/* Any byte another one: what is said is not judged here, but something is. */
static void spoilt(void **state)
{
	size_t len;
	char *text;

	save_good();
	text = content(&len);
	for (size_t i = 0; i < 4 * len; i++) {
		char was = text[i / 4];

		text[i / 4] = (const char[]){ 0, '"', '{', '\xff' }[i % 4];
		put(text, len);
		assert_true(*read_it().text);
		text[i / 4] = was;
	}
	free(text);
}

/* Files that somebody else may have written, or that are none. */
static void untrusted(void **state)
{
	save_good();
	assert_int_equal(chmod(path, 0664), 0);
	expect_nothing("is ignored: others than the owner may write to it");
	assert_int_equal(chmod(path, 0646), 0);
	expect_nothing("others than the owner may write to it");
	assert_int_equal(chmod(path, 0600), 0);
	expect(true, true, "");
	if (!geteuid()) {
		assert_int_equal(chown(path, 4711, 0), 0);
		expect_nothing("belongs neither to root nor to this user");
		assert_int_equal(chown(path, 0, 4711), 0);
		expect(true, true, "");
	}
	assert_int_equal(truncate(path, VERDICT_FILE_MAX + 1), 0);
	expect_nothing("is larger than 16 MB");
	assert_int_equal(truncate(path, VERDICT_FILE_MAX), 0);
	expect_nothing("is not one JSON object");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_nothing("is not a regular file");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	expect_nothing("is not a regular file");
	assert_int_equal(rmdir(path), 0);
	expect_nothing("fake0.json: No such file or directory); odrp-hwcheck "
		       "--save makes one");
}

/* ---- keeping it ------------------------------------------------------------------- */

static void expect_mode(const char *name, unsigned int mode)
{
	struct stat st;

	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_mode & 07777, mode);
}

/* Over an older one, which was longer; as all may read it. */
static void saved_over(void **state)
{
	struct json_object *report = good();
	mode_t mask = umask(077);
	const char *want;
	size_t len;
	char *text;

	change("firmware", json_object_new_string_len(dir, sizeof(dir)));
	save(report);
	umask(mask);
	text = content(&len);
	want = json_object_to_json_string_ext(report, JSON_C_TO_STRING_PRETTY);
	assert_int_equal(len, strlen(want) + 1);
	assert_memory_equal(text, want, len - 1);
	expect_mode(path, 0644);
	free(text);
	json_object_put(report);
}

static void makes_dirs(void **state)
{
	char one[80], two[96], file[VERDICT_PATH_MAX], why[NIC_MLX5_WHY_MAX];
	struct json_object *report = good();
	mode_t mask = umask(077);

	snprintf(one, sizeof(one), "%s/one", dir);
	snprintf(two, sizeof(two), "%s/two/", one);
	assert_int_equal(verdict_path(two, "fake0", file), 0);
	assert_non_null(strstr(file, "/one/two/fake0.json"));
	assert_int_equal(check_save(report, file, why), 0);
	umask(mask);
	expect_mode(one, 0755);
	expect_mode(two, 0755);
	snprintf(ways.report, sizeof(ways.report), "%sfake0.json", two);
	expect(true, true, "two/fake0.json");
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(two), 0);
	assert_int_equal(rmdir(one), 0);
	json_object_put(report);
}

static void expect_not_saved(const char *to, const char *words)
{
	struct json_object *report = good();
	char why[NIC_MLX5_WHY_MAX] = "";

	assert_true(check_save(report, to, why) < 0);
	if (!strstr(why, words) || strncmp(why, to, strcspn(to, "x")))
		fail_msg("expected '%s' in: %s", words, why);
	json_object_put(report);
}

/* Then what was there is as it was, and nothing is left beside it. */
static void not_saved(void **state)
{
	const struct rlimit none = { 100, RLIM_INFINITY };
	struct rlimit was;
	char other[600];

	save_good();
	snprintf(other, sizeof(other), "%s/below", path);
	expect_not_saved(other, "/below: cannot be saved: Not a directory");
	expect_not_saved("/proc/odrp/fake0.json", "cannot be saved: No such");
	for (size_t i = 0; i < sizeof(other) - 1; i++)
		other[i] = "/x"[i & 1];
	memcpy(other, "/proc", 5);
	other[sizeof(other) - 1] = 0;
	expect_not_saved(other, "File name too long");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	expect_not_saved(path, "fake0.json: cannot be saved: File too large");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	expect(true, true, "");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_not_saved(path, "the file there is not a regular file");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	expect_not_saved(path, "the file there is not a regular file");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(known),
		T(knows_no_fences),
		T(differs),
		T(told_apart),
		T(not_compared),
		T(of_another),
		T(unordered),
		T(card_changes),
		T(other_types),
		T(unseemly),
		T(no_report),
		T(cut_off),
		T(spoilt),
		T(untrusted),
		T(saved_over),
		T(makes_dirs),
		T(not_saved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
