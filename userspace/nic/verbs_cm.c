/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections of the RDMA connection manager. One thread takes all events and records
 * them in the connections; this thread also ends connections for verbs_conn_end().
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <own/own.h>

#include "real.h"
#include "verbs_priv.h"

/* Most time of a step. The connection manager itself would try for a minute. */
#define STEP_NS		UINT64_C(15000000000)

int verbs_errno(int r)
{
	return r ? (errno ? -errno : -EIO) : 0;
}

/* ---- events ---- */

static void conn_told(struct verbs_nic *verbs, struct verbs_conn *conn,
		      enum verbs_conn_state state)
{
	conn->state = state;
	pthread_cond_broadcast(&verbs->told);
}

/* The caller holds the lock. */
static void priv_take(struct verbs_conn *conn, const struct rdma_cm_event *event)
{
	conn->peer_qpn = event->param.conn.qp_num;
	conn->priv_len = event->param.conn.private_data_len;
	if (!event->param.conn.private_data)
		conn->priv_len = 0;
	if (conn->priv_len)
		memcpy(conn->priv, event->param.conn.private_data, conn->priv_len);
}

/* The caller holds the lock. */
static void event_note(struct verbs_nic *verbs, const struct rdma_cm_event *event)
{
	struct verbs_conn *conn = event->id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		conn_told(verbs, conn, VERBS_CONN_READY);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		priv_take(conn, event);
		conn_told(verbs, conn, VERBS_CONN_READY);
		break;
	case RDMA_CM_EVENT_REJECTED:
		priv_take(conn, event);
		conn_told(verbs, conn, VERBS_CONN_REFUSED);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		conn_told(verbs, conn, VERBS_CONN_FAILED);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		conn_told(verbs, conn, VERBS_CONN_OVER);
		break;
	default:
		break;
	}
}

/*
 * Records and acknowledges an event. If the peer has disconnected, disconnects, too, which
 * flushes the outstanding operations of our queue pair.
 */
static void event_take(struct verbs_nic *verbs, struct rdma_cm_event *event)
{
	bool left = event->event == RDMA_CM_EVENT_DISCONNECTED ||
		    event->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
	struct rdma_cm_id *id = event->id;

	pthread_mutex_lock(&verbs->lock);
	event_note(verbs, event);
	pthread_mutex_unlock(&verbs->lock);
	rdma_ack_cm_event(event);
	if (left)
		rdma_disconnect(id);
}

static void events_take(struct verbs_nic *verbs)
{
	struct rdma_cm_event *event;

	while (!rdma_get_cm_event(verbs->channel, &event))
		event_take(verbs, event);
}

/* ---- ending connections ---- */

static struct verbs_conn *ending_take(struct verbs_nic *verbs)
{
	struct verbs_conn *conn;

	pthread_mutex_lock(&verbs->lock);
	conn = verbs->ending;
	if (conn)
		verbs->ending = conn->next;
	pthread_mutex_unlock(&verbs->lock);
	return conn;
}

static void conn_destroy(struct verbs_nic *verbs, struct verbs_conn *conn)
{
	if (conn->id->qp) {
		rdma_disconnect(conn->id);
		rdma_destroy_qp(conn->id);
	}
	rdma_destroy_id(conn->id);
	pthread_mutex_lock(&verbs->lock);
	conn_told(verbs, conn, VERBS_CONN_GONE);
	pthread_mutex_unlock(&verbs->lock);
}

static void *cm_main(void *arg)
{
	struct verbs_nic *verbs = arg;
	struct pollfd fd[2] = {
		{ .fd = verbs->channel->fd, .events = POLLIN },
		{ .fd = verbs->kick, .events = POLLIN },
	};
	struct verbs_conn *conn;
	eventfd_t count;

	while (!__atomic_load_n(&verbs->stop, __ATOMIC_ACQUIRE)) {
		poll(fd, 2, -1);
		if (fd[1].revents)
			eventfd_read(verbs->kick, &count);
		events_take(verbs);
		while ((conn = ending_take(verbs)))
			conn_destroy(verbs, conn);
	}
	return NULL;
}

/* ---- calls by other threads ---- */

int verbs_conn_new(struct verbs_nic *verbs, struct verbs_conn **ret_conn)
{
	struct verbs_conn *conn = calloc(1, sizeof(*conn));
	int err;

	if (!conn)
		return -ENOMEM;
	errno = 0;
	err = verbs_errno(rdma_create_id(verbs->channel, &conn->id, conn, RDMA_PS_TCP));
	if (err) {
		free(conn);
		return err;
	}
	*ret_conn = conn;
	return 0;
}

void verbs_conn_expect(struct verbs_nic *verbs, struct verbs_conn *conn)
{
	pthread_mutex_lock(&verbs->lock);
	conn->state = VERBS_CONN_PENDING;
	pthread_mutex_unlock(&verbs->lock);
}

int verbs_conn_wait(struct verbs_nic *verbs, struct verbs_conn *conn, uint64_t until)
{
	uint64_t most = far_real_now(NULL) + STEP_NS, end = until < most ? until : most;
	struct timespec ts = { .tv_sec = end / 1000000000, .tv_nsec = end % 1000000000 };
	enum verbs_conn_state state;
	int r = 0;

	pthread_mutex_lock(&verbs->lock);
	while (conn->state == VERBS_CONN_PENDING && !r)
		r = pthread_cond_timedwait(&verbs->told, &verbs->lock, &ts);
	state = conn->state;
	pthread_mutex_unlock(&verbs->lock);
	return state == VERBS_CONN_READY ? 0 : -EHOSTUNREACH;
}

enum verbs_conn_state verbs_conn_state(struct verbs_nic *verbs, struct verbs_conn *conn)
{
	enum verbs_conn_state state;

	pthread_mutex_lock(&verbs->lock);
	state = conn->state;
	pthread_mutex_unlock(&verbs->lock);
	return state;
}

void verbs_conn_end(struct verbs_nic *verbs, struct verbs_conn *conn)
{
	if (!conn)
		return;
	pthread_mutex_lock(&verbs->lock);
	conn->next = verbs->ending;
	verbs->ending = conn;
	eventfd_write(verbs->kick, 1);
	while (conn->state != VERBS_CONN_GONE)
		pthread_cond_wait(&verbs->told, &verbs->lock);
	pthread_mutex_unlock(&verbs->lock);
	free(conn);
}

/* ---- start and end ---- */

static int channel_open(struct verbs_nic *verbs)
{
	int flags, err = 0;

	errno = 0;
	verbs->channel = rdma_create_event_channel();
	if (!verbs->channel)
		return verbs_errno(-1);
	flags = fcntl(verbs->channel->fd, F_GETFL);
	if (flags < 0 || fcntl(verbs->channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		err = -errno;
	if (!err)
		err = own_fd_lend(verbs->channel->fd);
	if (err)
		rdma_destroy_event_channel(verbs->channel);
	return err;
}

static void channel_close(struct verbs_nic *verbs)
{
	own_fd_forget(verbs->channel->fd);
	rdma_destroy_event_channel(verbs->channel);
}

static void told_init(struct verbs_nic *verbs)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&verbs->told, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&verbs->lock, NULL);
}

static void told_fini(struct verbs_nic *verbs)
{
	pthread_mutex_destroy(&verbs->lock);
	pthread_cond_destroy(&verbs->told);
}

int verbs_cm_start(struct verbs_nic *verbs)
{
	int err = channel_open(verbs);

	if (err)
		return err;
	verbs->kick = own_fd(eventfd(0, EFD_NONBLOCK));
	if (verbs->kick < 0) {
		err = verbs->kick;
		goto destroy_channel;
	}
	told_init(verbs);
	err = own_thread_start(&verbs->thread, cm_main, verbs);
	if (err)
		goto fini_told;
	return 0;

fini_told:
	told_fini(verbs);
	own_fd_close(verbs->kick);
destroy_channel:
	channel_close(verbs);
	return err;
}

void verbs_cm_stop(struct verbs_nic *verbs)
{
	__atomic_store_n(&verbs->stop, true, __ATOMIC_RELEASE);
	eventfd_write(verbs->kick, 1);
	pthread_join(verbs->thread, NULL);
	told_fini(verbs);
	own_fd_close(verbs->kick);
	channel_close(verbs);
}
