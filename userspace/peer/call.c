/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls: the events and actions of the table in call_state.c; see call.h. */
#include "call.h"

#include <errno.h>
#include <string.h>

void far_call_begin(struct far_call *call, struct far_link *link, const struct far_key *key,
		    struct far_passes *passes, const struct odrp_far_hello *hello)
{
	*call = (struct far_call){
		.link = link, .key = key, .passes = passes, .hello = *hello,
		.state = FAR_CALL_SEEKING,
	};
}

bool far_call_is_over(const struct far_call *call)
{
	return call->state == FAR_CALL_DONE || call->state == FAR_CALL_FAILED;
}

/* Closes the link. A handshake that is not done has failed: another call may try. */
static void call_close(struct far_call *call)
{
	call->link->ops->close(call->link);
	if (call->shaking)
		far_passes_put(call->passes, NULL);
	call->shaking = false;
}

void far_call_end(struct far_call *call)
{
	if (call->link && !far_call_is_over(call))
		call_close(call);
	explicit_bzero(call, sizeof(*call));
}

/* ---- actions ---- */

/* Sends a connection request on a queue pair of the link. */
static int call_connect(struct far_call *call, const void *priv, size_t len)
{
	call->until = call->link->ops->now(call->link) + call->link->connect_ns;
	return call->link->ops->connect(call->link, priv, len);
}

static int request_send(struct far_call *call)
{
	struct odrp_auth_far req;
	int err = call->link->ops->open(call->link, false);

	if (err)
		return err;
	if (!call->key)
		return call_connect(call, &call->hello, sizeof(call->hello));
	far_pass_sign(&call->pass, &call->hello, call->link->qpn, &req);
	return call_connect(call, &req, sizeof(req));
}

static int initiation_send(struct far_call *call)
{
	int err = call->link->ops->open(call->link, true);

	return err ? err : call_connect(call, &call->initiation, sizeof(call->initiation));
}

static int initiation_begin(struct far_call *call)
{
	int err = auth_initiate(NULL, &call->initiation);

	call->initiations = 1;
	return err ? err : initiation_send(call);
}

/* The cookie is in the initiation. */
static int initiation_repeat(struct far_call *call)
{
	call->link->ops->close(call->link);
	return call->initiations++ < FAR_CALL_INITIATIONS ? initiation_send(call) :
	       -ECONNREFUSED;
}

static int message_send(struct far_call *call, const void *bytes, size_t len)
{
	call->until = call->link->ops->now(call->link) + FAR_CALL_MESSAGE_NS;
	return call->link->ops->send(call->link, bytes, len);
}

static int hello_send(struct far_call *call)
{
	int err;

	call->pass.ends = (struct auth_ends){
		.cnode_ip = call->news.local_ip, .mnode_ip = call->link->ip,
		.cnode_qpn = call->link->qpn, .mnode_qpn = call->news.peer_qpn,
	};
	err = auth_ask_hello(&call->ask, call->key->name, &call->pass.ends);
	return err ? err : message_send(call, &call->ask.hello, sizeof(call->ask.hello));
}

static int pass_keep(struct far_call *call)
{
	call->link->ops->close(call->link);
	call->pass.key = call->ask.key;
	call->pass.counter = 0;
	call->shaking = false;
	explicit_bzero(&call->ask, sizeof(call->ask));
	return far_passes_put(call->passes, &call->pass);
}

static int call_retry(struct far_call *call)
{
	call_close(call);
	return ++call->tries < FAR_CALL_TRIES ? 0 : -ECONNREFUSED;
}

static int call_act(struct far_call *call, enum far_call_action action)
{
	switch (action) {
	case FAR_CALL_DO_NEVER:
		call->err = -EPROTO;
		call_close(call);
		return 0;
	case FAR_CALL_DO_REQUEST:
		return request_send(call);
	case FAR_CALL_DO_INITIATE:
		return initiation_begin(call);
	case FAR_CALL_DO_REPEAT:
		return initiation_repeat(call);
	case FAR_CALL_DO_GREET:
		return hello_send(call);
	case FAR_CALL_DO_PROVE:
		return message_send(call, &call->ask.response, sizeof(call->ask.response));
	case FAR_CALL_DO_KEEP:
		return pass_keep(call);
	case FAR_CALL_DO_FORGET:
		far_passes_drop(call->passes, &call->pass);
		return call_retry(call);
	case FAR_CALL_DO_RETRY:
		return call_retry(call);
	case FAR_CALL_DO_CLOSE:
		call_close(call);
		return 0;
	default:
		return 0;
	}
}

/* The only function that changes a call's state. */
static void call_event(struct far_call *call, enum far_call_event event)
{
	const struct far_call_cell cell = far_call_cell(call->state, event);
	int err;

	call->state = cell.next;
	err = call_act(call, cell.action);
	if (!err)
		return;
	call->err = err;
	call_event(call, FAR_CALL_EV_STUCK);
}

/* ---- events ---- */

/* Finds an event; if there is one, sets call->err to what the call fails with. */
static bool pass_find(struct far_call *call, enum far_call_event *ret_event)
{
	int err = call->key ? far_passes_get(call->passes, call->link->ip, &call->pass) : 0;

	call->shaking = err == -ENOENT;
	*ret_event = err ? FAR_CALL_EV_NO_PASS : FAR_CALL_EV_PASS;
	return err != -EAGAIN;
}

static enum far_call_event initiation_rejected(struct far_call *call)
{
	const struct far_news *news = &call->news;
	uint8_t cookie[ODRP_AUTH_MAC];

	if (auth_is_cookie(news->bytes, news->len, cookie)) {
		auth_initiate(cookie, &call->initiation);
		return FAR_CALL_EV_COOKIE;
	}
	call->err = far_hello_refusal(news->bytes, news->len);
	return call->err == -EINPROGRESS ? FAR_CALL_EV_ANSWERED : FAR_CALL_EV_REFUSED;
}

/* With a pass, an answer that is not signed is ignored. */
static enum far_call_event request_answered(struct far_call *call, bool accepted)
{
	const struct far_news *news = &call->news;

	if (call->key && far_pass_check(&call->pass, accepted, call->hello.role,
					news->peer_qpn, news->bytes, news->len))
		return FAR_CALL_EV_FORGED;
	call->err = accepted ? 0 : far_hello_refusal(news->bytes, news->len);
	if (accepted)
		return FAR_CALL_EV_ACCEPTED;
	return call->err == -ECONNREFUSED ? FAR_CALL_EV_REFUSED : FAR_CALL_EV_ANSWERED;
}

static enum far_call_event message_check(struct far_call *call)
{
	const struct far_news *news = &call->news;

	if (call->state == FAR_CALL_GREETED)
		call->err = auth_ask_response(&call->ask, news->bytes, news->len,
					      call->key->secret, &call->pass.ends, 0);
	else
		call->err = auth_ask_done(&call->ask, news->bytes, news->len,
					  &call->pass.handle);
	return call->err ? FAR_CALL_EV_FORGED : FAR_CALL_EV_MESSAGE;
}

static bool news_find(struct far_call *call, enum far_call_event *ret_event)
{
	bool messages = far_call_awaits_message(call);

	call->link->ops->poll(call->link, &call->news);
	switch (call->news.kind) {
	case FAR_NEWS_ACCEPTED:
		*ret_event = call->state == FAR_CALL_ASKED ? request_answered(call, true) :
			     FAR_CALL_EV_ACCEPTED;
		return true;
	case FAR_NEWS_REJECTED:
		*ret_event = call->state == FAR_CALL_ASKED ? request_answered(call, false) :
			     initiation_rejected(call);
		return true;
	case FAR_NEWS_MESSAGE:
		*ret_event = messages ? message_check(call) : FAR_CALL_EV_MESSAGE;
		return true;
	case FAR_NEWS_BROKEN:
		/* A memory node that does not know the name ends the handshake. */
		call->err = messages ? -EKEYREJECTED : call->news.err;
		*ret_event = FAR_CALL_EV_BROKEN;
		return true;
	case FAR_NEWS_NONE:
		break;
	}
	call->late = call->link->ops->now(call->link) > call->until;
	call->err = messages ? -EKEYREJECTED : -ETIMEDOUT;
	*ret_event = FAR_CALL_EV_LATE;
	return call->late;
}

int far_call_step(struct far_call *call)
{
	enum far_call_event event;

	while (!far_call_is_over(call)) {
		if (call->state == FAR_CALL_SEEKING ? !pass_find(call, &event) :
		    !news_find(call, &event))
			return -EAGAIN;
		call_event(call, event);
	}
	return call->err;
}
