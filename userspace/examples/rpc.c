// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A server that counts words, and a client whose threads ask it:
 *
 *	far-example-rpc mem serve	until its input ends
 *	far-example-rpc mem ask TEXT
 *	far-example-rpc mem		both, in one process
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <far/far.h>
#include <far/rpc.h>

#define SERVICE		"example-words"
#define THREADS		4
#define SECOND		UINT64_C(1000000000)

enum { COUNT_WORDS, HANDLERS };

/* Runs in a thread of the server. */
static int count_words(void *arg, const void *request, size_t len, void *response,
		       size_t *ret_len)
{
	const char *text = request;
	uint64_t words = 0;
	int inside = 0;
	size_t i;

	(void)arg;
	for (i = 0; i < len; i++) {
		words += !inside && text[i] != ' ';
		inside = text[i] != ' ';
	}
	memcpy(response, &words, sizeof(words));
	*ret_len = sizeof(words);
	return 0;
}

static far_rpc_fn *const handlers[HANDLERS] = { count_words };

static struct far_rpc_server *serve(const char *nic)
{
	struct far_rpc_server_attr attr = {
		.nic = nic, .service = SERVICE, .handlers = handlers, .nr_handlers = HANDLERS,
	};
	struct far_rpc_server *server;
	char why[200] = "";
	int err = far_rpc_serve(&attr, why, sizeof(why), &server);

	if (err) {
		fprintf(stderr, "%s: %s\n", nic, why);
		exit(1);
	}
	return server;
}

struct asker {
	struct far_rpc *rpc;
	const char *text;
	uint64_t words;
	int err;
};

static void *ask_run(void *arg)
{
	struct asker *asker = arg;
	struct far_rpc_thread *thread;
	struct far_rpc_reply reply;

	asker->err = far_rpc_join(asker->rpc, &thread);
	if (asker->err)
		return NULL;
	asker->err = far_rpc_call(thread, COUNT_WORDS, asker->text, strlen(asker->text),
				  10 * SECOND, &asker->words, sizeof(asker->words), &reply);
	far_rpc_leave(thread);
	return NULL;
}

/* All threads ask over one queue pair: their requests may travel as one message. */
static int ask(const char *nic, const char *text)
{
	struct far_rpc_attr attr = { .nic = nic, .service = SERVICE };
	struct asker asker[THREADS];
	pthread_t thread[THREADS];
	struct far_rpc *rpc;
	char why[200] = "";
	int i, err = far_rpc_connect(&attr, why, sizeof(why), &rpc);

	if (err) {
		fprintf(stderr, "%s: %s\n", nic, why);
		return 1;
	}
	for (i = 0; i < THREADS; i++) {
		asker[i] = (struct asker) { rpc, text, 0, 0 };
		pthread_create(&thread[i], NULL, ask_run, &asker[i]);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		if (asker[i].err)
			err = asker[i].err;
		else
			printf("thread %d: %llu words\n", i, (unsigned long long)asker[i].words);
	}
	if (err)
		fprintf(stderr, "%s%s\n", far_strerror(err), far_rpc_may_have_run(err) ?
			"; the request may have run" : "");
	far_rpc_close(rpc);
	return err != 0;
}

int main(int argc, char **argv)
{
	struct far_rpc_server *server = NULL;
	const char *nic = argc > 1 ? argv[1] : "mem";
	const char *what = argc > 2 ? argv[2] : "";
	int status = 0;

	if (strcmp(what, "ask"))
		server = serve(nic);
	if (!strcmp(what, "serve"))
		while (getchar() != EOF)
			;
	else
		status = ask(nic, argc > 3 ? argv[3] : "far memory is near enough");
	if (server)
		far_rpc_stop(server);
	return status;
}
