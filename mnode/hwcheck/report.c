// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Prints the report of odrp-hwcheck for people. */
#include <string.h>
#include "check.h"

static struct json_object *report_get(struct json_object *obj, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(obj, key, &value);
	return value;
}

static const char *text_of(struct json_object *obj, const char *key)
{
	struct json_object *value = report_get(obj, key);

	return value ? json_object_get_string(value) : NULL;
}

static void print_caps(struct json_object *caps, FILE *f)
{
	unsigned int column = 0;

	json_object_object_foreach(caps, key, value) {
		column += strlen(key) + 6;
		if (column > 66)
			column = strlen(key) + 6;
		fprintf(f, "%s%s %s", column == strlen(key) + 6 ? "\n  " : ", ",
			key,
			json_object_is_type(value, json_type_boolean) ?
			json_object_get_boolean(value) ? "yes" : "no" :
			json_object_get_string(value));
	}
	fputs("\n", f);
}

static void print_lacks(struct json_object *lacks, FILE *f)
{
	size_t i, n = json_object_array_length(lacks);

	if (n)
		fputs("It cannot run chains:\n", f);
	for (i = 0; i < n; i++)
		fprintf(f, "  * %s\n", json_object_get_string(
				json_object_array_get_idx(lacks, i)));
}

/* A difference with fences is no fault of a card that does not keep them.  Translation in
 * the NIC is judged apart. */
static const char *program_verdict(struct json_object *o, bool fences)
{
	const char *order = text_of(o, "order"), *stores = text_of(o, "stores");

	if (!text_of(o, "difference"))
		return text_of(o, "skipped") ? "skipped" : "same";
	if (stores && !strcmp(stores, "keyed"))
		return "differs";
	return fences || !order || strcmp(order, "fence") ? "DIFFERENT" :
							    "differs";
}

static void print_program(struct json_object *o, bool fences, FILE *f)
{
	const char *difference = text_of(o, "difference");
	const char *skipped = text_of(o, "skipped");

	fprintf(f, "  %-9s %s; %s requests", program_verdict(o, fences),
		text_of(o, "program"), text_of(o, "requests"));
	if (text_of(o, "software"))
		fprintf(f, "; %s", text_of(o, "software"));
	if (text_of(o, "card") && strcmp(text_of(o, "card"), text_of(o, "software")))
		fprintf(f, " (card: %s)", text_of(o, "card"));
	fputs("\n", f);
	if (difference || skipped)
		fprintf(f, "            %s\n",
			difference ? difference : skipped);
}

static void print_programs(struct json_object *list, bool fences, FILE *f)
{
	size_t i, n = json_object_array_length(list);

	fputs("\nPrograms, on the software NIC and on the card:\n", f);
	for (i = 0; i < n; i++)
		print_program(json_object_array_get_idx(list, i), fences, f);
}

static bool probe_differs(struct json_object *obj)
{
	struct json_object *same = report_get(obj, "same");

	return same && !json_object_get_boolean(same);
}

static void print_probes(struct json_object *list, FILE *f)
{
	size_t i, n = json_object_array_length(list);

	fputs("\nQuestions to the card:\n", f);
	for (i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		const char *soft = text_of(o, "software");
		const char *card = text_of(o, "card");

		fprintf(f, "  %s%s: %s\n", probe_differs(o) ? "DIFFERENT " : "",
			text_of(o, "id"), text_of(o, "question"));
		fprintf(f, "    card:         %s\n", card);
		if (soft && !strcmp(soft, card))
			fputs("    software NIC: the same\n", f);
		else if (soft)
			fprintf(f, "    software NIC: %s\n", soft);
	}
}

static void print_enough(struct json_object *enough, FILE *f)
{
	static const struct {
		const char *key, *words;
	} lines[] = {
		{ "chains", "chains        nic = mlx5:DEVICE" },
		{ "keys", "keys          nic = mlx5:DEVICE, translate = nic" },
		{ "direct", "direct slabs  nic = verbs:DEVICE" },
		{ "spaces", "spaces        nic = verbs:DEVICE" },
	};
	unsigned int i;

	fputs("\nEnough for:\n", f);
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		fprintf(f, "  %-4s %s\n",
			json_object_get_boolean(report_get(enough, lines[i].key)) ? "yes" : "no",
			lines[i].words);
}

void check_print(struct json_object *report, FILE *f)
{
	fprintf(f, "%s, firmware %s\n", text_of(report, "device"),
		text_of(report, "firmware"));
	fputs("capabilities:", f);
	print_caps(report_get(report, "capabilities"), f);
	print_lacks(report_get(report, "lacks"), f);
	if (report_get(report, "programs"))
		print_programs(report_get(report, "programs"),
			       json_object_get_boolean(report_get(report,
								  "fences")),
			       f);
	if (report_get(report, "probes"))
		print_probes(report_get(report, "probes"), f);
	if (text_of(report, "error"))
		fprintf(f, "\n%s\n", text_of(report, "error"));
	if (text_of(report, "fence_verdict"))
		fprintf(f, "\n%s\n", text_of(report, "fence_verdict"));
	if (text_of(report, "translate_verdict"))
		fprintf(f, "\n%s\n", text_of(report, "translate_verdict"));
	if (report_get(report, "enough"))
		print_enough(report_get(report, "enough"), f);
	fprintf(f, "\n%s\n", text_of(report, "result"));
}
