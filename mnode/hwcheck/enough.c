// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Concludes what a card is enough for: chains, keys, direct slabs, spaces. */
#include "check.h"

static bool report_has(struct json_object *obj, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(obj, key, &value) && json_object_get_boolean(value);
}

static bool report_lacks(struct json_object *report)
{
	struct json_object *lacks;

	return !json_object_object_get_ex(report, "lacks", &lacks) ||
	       json_object_array_length(lacks);
}

static void enough_add(struct json_object *enough, const char *key, bool is_enough)
{
	json_object_object_add(enough, key, json_object_new_boolean(is_enough));
}

void check_enough(struct json_object *report, bool same)
{
	struct json_object *enough = json_object_new_object(), *caps = NULL;
	bool chains = same && !report_lacks(report), rc;

	json_object_object_get_ex(report, "capabilities", &caps);
	rc = report_has(caps, "rc");
	enough_add(enough, "chains", chains);
	enough_add(enough, "keys", chains && report_has(report, "translate_nic"));
	enough_add(enough, "direct", rc);
	enough_add(enough, "spaces", rc && report_has(caps, "atomic"));
	json_object_object_add(report, "enough", enough);
}
