// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * far space serve: memory nodes for as long as the command runs. It takes part as a
 * client, too, since it is clients within reach of the memory that advance epochs and
 * fence the dead.
 */
#include "serve.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "../base/why.h"
#include "../core/core.h"
#include "../core/space.h"
#include "../nic/nic.h"

/* Serves until a signal of the set comes. */
static int serve_client(struct far_nic *nic, const char *name,
			const struct far_space_attr *attr, const sigset_t *signals,
			char *why, size_t why_len)
{
	const struct far_conf conf = {
		.space = name, .nodes = attr->nodes, .nr_nodes = attr->nr_nodes,
	};
	struct far_task *task;
	struct far *far;
	int got;
	int err = far_open_nic(nic, &conf, why, why_len, &far);

	if (err)
		return err;
	err = far_enter(far, &task);
	if (err) {
		snprintf(why, why_len, "cannot start a thread: %s", far_strerror(err));
		goto close_far;
	}
	printf("serving space %s\n", name);
	fflush(stdout);
	sigwait(signals, &got);
	far_leave(task);
close_far:
	far_close(far);
	return err;
}

int serve_run(const char *spec, const char *name, const struct far_space_attr *attr,
	      char *why, size_t why_len)
{
	struct far_nic *nic;
	char ignored[200];
	sigset_t signals;
	int err;

	/* Before there are threads: none of them takes the signal. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	err = far_nic_open(spec, why, why_len, &nic);
	if (err)
		return err;
	if (nic->ops->caps & FAR_NIC_CAP_VIRTUAL) {
		err = far_why(why, why_len, -EOPNOTSUPP, "--nic %s: mem, soft or verbs expected: "
			      "nobody reaches a space in virtual time", spec);
		goto close_nic;
	}
	if (!nic->ops->host) {
		err = far_why(why, why_len, -EOPNOTSUPP, "--nic %s: a memory node in this "
			      "process expected: verbs:DEVICE,nodes=1", spec);
		goto close_nic;
	}
	err = far_space_create_on(nic, name, attr, why, why_len);
	if (err)
		goto close_nic;
	err = serve_client(nic, name, attr, &signals, why, why_len);
	far_space_delete_on(nic, name, ignored, sizeof(ignored));
close_nic:
	nic->ops->close(nic);
	return err;
}
