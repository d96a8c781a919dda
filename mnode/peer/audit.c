// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lines about refusals; see audit.h. */
#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <odrp/auth.h>
#include "../log.h"
#include "audit.h"

static bool audit_has_room(const struct audit *audit, __be32 ip)
{
	unsigned int i, nr = 0;

	for (i = 0; i < audit->nr; i++)
		nr += audit->ip[i] == ip;
	return audit->nr < AUDIT_LINES && nr < AUDIT_LINES_EACH;
}

/* A name that nobody has proved may be any bytes. */
static void name_clean(const char *name, char ret_name[ODRP_AUTH_NAME + 1])
{
	unsigned int i;

	for (i = 0; i < ODRP_AUTH_NAME && name[i]; i++)
		ret_name[i] = isgraph((unsigned char)name[i]) && name[i] != '\'' ?
			      name[i] : '?';
	ret_name[i] = '\0';
}

void audit_refused(struct audit *audit, const struct audit_peer *peer, const char *why)
{
	const struct in_addr in = { .s_addr = peer->ip };
	char ip[INET_ADDRSTRLEN], name[ODRP_AUTH_NAME + 1] = "";

	if (!audit_has_room(audit, peer->ip)) {
		audit->hidden++;
		return;
	}
	audit->ip[audit->nr++] = peer->ip;
	inet_ntop(AF_INET, &in, ip, sizeof(ip));
	if (peer->name)
		name_clean(peer->name, name);
	if (!*name)
		log_notice("refused: %s: %s", ip, why);
	else if (peer->proved)
		log_notice("refused: %s at %s: %s", name, ip, why);
	else
		log_notice("refused: %s, by the name '%s' that it has not proved: %s", ip,
			   name, why);
}

void audit_tick(struct audit *audit, uint32_t elapsed_ms)
{
	audit->ms += elapsed_ms;
	if (audit->ms < AUDIT_PERIOD_MS)
		return;
	if (audit->hidden)
		log_notice("refused: %" PRIu64 " more in the last %u s, without a line each",
			   audit->hidden, audit->ms / 1000);
	*audit = (struct audit){ .ms = 0 };
}
