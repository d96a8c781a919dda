// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Rejects connection requests while the agent starts; see early.h. */
#include "early.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void event_answer(struct early *early, const struct nic_event *ev)
{
	const struct far_host_asker nobody = { .pass = 0 };

	if (ev->type != NIC_REQUEST)
		return;
	far_host_refuse(early->host, ev, &nobody, ODRP_FAR_E_STARTING);
	atomic_fetch_add(&early->nr_told, 1);
}

static void *early_main(void *arg)
{
	struct early *early = arg;
	struct pollfd fd[2] = {
		{ .fd = early->host->dev->event_fd, .events = POLLIN },
		{ .fd = early->stop_fd, .events = POLLIN },
	};
	struct nic_event ev;

	do {
		poll(fd, 2, -1);
		while (!early->host->dev->ops->event(early->host->dev, &ev))
			event_answer(early, &ev);
	} while (!fd[1].revents);
	return NULL;
}

int early_start(struct early *early, struct far_host *host)
{
	int r;

	early->host = NULL;
	atomic_init(&early->nr_told, 0);
	if (host->dev->event_fd < 0)
		return 0;
	early->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (early->stop_fd < 0)
		return -errno;
	early->host = host;
	r = pthread_create(&early->thread, NULL, early_main, early);
	if (!r)
		return 0;
	close(early->stop_fd);
	early->host = NULL;
	return -r;
}

void early_stop(struct early *early)
{
	if (!early->host)
		return;
	eventfd_write(early->stop_fd, 1);
	pthread_join(early->thread, NULL);
	close(early->stop_fd);
	early->host = NULL;
}
