// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Spaces: each has a protection domain and a key of its own. */
#include <errno.h>
#include <string.h>

#include "../space/format.h"
#include "host.h"

#define NAME_CHARS	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" \
			"0123456789-_."

bool far_host_name_ok(const char *name)
{
	size_t len = strlen(name);

	return len && len <= ODRP_FAR_NAME_MAX && name[0] != '.' &&
	       strspn(name, NAME_CHARS) == len;
}

struct far_host_space *far_host_space_find(const struct far_host *host,
					   const char *name)
{
	struct far_host_space *space = host->spaces;

	while (space && strcmp(space->name, name))
		space = space->next;
	return space;
}

/* Copies and checks the superblock. Clients may write to the original: use the copy. */
static void sb_read(struct far_host_space *space)
{
	memset(&space->sb, 0, sizeof(space->sb));
	space->tally = (struct far_tally){ .at = 0 };
	if (space->size >= sizeof(space->sb))
		memcpy(&space->sb, space->base, sizeof(space->sb));
	if (far_sb_check(&space->sb, space->size, NULL, 0))
		space->sb.magic = 0;
}

int far_host_publish(struct far_host *host, struct far_host_space *space)
{
	struct nic *dev = host->dev;
	int err;

	if (far_host_space_find(host, space->name))
		return -EEXIST;
	err = dev->ops->pd_alloc(dev, &space->pdn);
	if (err)
		return err;
	err = dev->ops->mr_reg(dev, space->pdn, space->base, space->size,
			       0, NIC_ALL, &space->key);
	if (err) {
		dev->ops->pd_free(dev, space->pdn);
		return err;
	}
	sb_read(space);
	space->published = true;
	space->ended = 0;
	space->next = host->spaces;
	host->spaces = space;
	return 0;
}

static void attaches_cut(struct far_host *host, const struct far_host_space *space)
{
	struct far_host_attach *attach = host->attaches, *next;

	for (; attach; attach = next) {
		next = attach->next;
		if (attach->space == space)
			far_host_cut(host, attach);
	}
}

int far_host_close(struct far_host *host, struct far_host_space *space)
{
	space->closed = true;
	attaches_cut(host, space);
	return far_host_settle(host, space);
}

void far_host_open(struct far_host_space *space)
{
	sb_read(space);
	space->closed = false;
}

static void space_unlist(struct far_host *host, const struct far_host_space *space)
{
	struct far_host_space **at = &host->spaces;

	while (*at && *at != space)
		at = &(*at)->next;
	if (*at)
		*at = space->next;
}

/* The space has no queue pairs any more. */
static void space_unpublish(struct far_host *host, struct far_host_space *space)
{
	struct nic *dev = host->dev;

	if (!space->published)
		return;
	dev->ops->mr_dereg(dev, space->key);
	dev->ops->pd_free(dev, space->pdn);
	space->published = false;
}

int far_host_remove(struct far_host *host, struct far_host_space *space)
{
	attaches_cut(host, space);
	space_unlist(host, space);
	if (far_host_leaving(host, space))
		return -EBUSY;
	space_unpublish(host, space);
	return far_host_settle(host, space);
}
