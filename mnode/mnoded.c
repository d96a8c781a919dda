// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrp-mnoded: lends a machine's memory to compute nodes, by chains that run on its NIC.
 * This file has arguments, event loop and signals; manager.c does the work.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <unistd.h>
#include <nic/auto.h>
#include <nic/mlx5.h>
#include <nic/soft.h>
#include <nic/verbs.h>
#include <own/own.h>
#include "check.h"
#include "log.h"
#include "manager.h"
#include "report/ctl.h"
#include "report/http.h"
#include "report/metrics.h"
#include "report/status.h"

#define USEC_PER_MSEC	1000ull
#define WORK_USEC	200	/* the time that the NIC may take for a batch */
#define GOODBYE_USEC	(300 * USEC_PER_MSEC)
#define MAX_SETTINGS	64

#define STORE_WAIT_US	5000000	/* how long the start waits for the service manager */
#define EXIT_USAGE	2	/* bad arguments or settings; other failures, and those with
				 * files to keep: EXIT_FAILURE */

const char *argp_program_version = "odrp-mnoded " VERSION;

/**
 * struct args - the command line
 * @settings:	values for conf_keys[], which override the file
 */
struct args {
	const char *config;
	unsigned int nr_settings;
	struct {
		const char *name, *text;
	} settings[MAX_SETTINGS];
};

/**
 * struct daemon - the program
 * @kept, @nr_kept: files of another agent; -1: this file is missing
 * @stored:	the service manager keeps this agent's files for the next agent
 */
struct daemon {
	struct args *args;
	int kept[KEEP_FILES];
	unsigned int nr_kept;
	bool stored;
	struct conf conf;
	struct nic *nic;
	struct manager m;
	struct ctl *ctl;
	struct http *http;		/* NULL: no metrics */
	sd_event *event;
	sd_event_source *tick, *look, *work_now, *work_later, *spaces;
	uint64_t began_ns, ticked_ns;
	uint64_t tick_usec;
	unsigned int notified_sess;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* ---- arguments ----------------------------------------------------------------- */

#define KEY_CONFIG	'c'
#define KEY_SETTING	0x100	/* + index in conf_keys[] */

static error_t parse_arg(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	if (key == KEY_CONFIG) {
		args->config = arg;
	} else if (key >= KEY_SETTING && key < KEY_SETTING + MAX_SETTINGS) {
		if (args->nr_settings == MAX_SETTINGS)
			argp_error(state, "too many options");
		args->settings[args->nr_settings].name =
			conf_keys[key - KEY_SETTING].name;
		args->settings[args->nr_settings++].text = arg;
	} else if (key == ARGP_KEY_ARG) {
		argp_error(state, "%s: expected options only", arg);
	} else {
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void parse_args(int argc, char **argv, struct args *args)
{
	struct argp_option options[MAX_SETTINGS + 2] = {
		{ "config", KEY_CONFIG, "FILE", 0,
		  "settings (" CONF_FILE ", if it is there)" },
	};
	const struct argp argp = {
		.options = options, .parser = parse_arg,
		.doc = "Lends this machine's memory to compute nodes over RDMA."
		       "\vThe same settings may stand in the file as NAME = "
		       "VALUE lines in section [mnode]; the command line has precedence. "
		       "See odrp-mnoded(8) and odrp-mnoded.conf(5).",
	};
	unsigned int i;

	for (i = 0; conf_keys[i].name; i++) {
		options[i + 1].name = conf_keys[i].name;
		options[i + 1].key = KEY_SETTING + i;
		options[i + 1].arg = conf_keys[i].value;
		options[i + 1].doc = conf_keys[i].doc;
	}
	argp_parse(&argp, argc, argv, 0, NULL, args);
}

static bool nic_is_auto(const char *spec)
{
	return !strcmp(spec, "auto") || !strncmp(spec, "auto:", 5);
}

/* Words of auto[:DEVICE[,port=N]]: those of verbs, which every card has. */
static int parse_auto(const char *spec, struct nic_verbs_opts *ret_opts,
		      char why[CONF_WHY_MAX])
{
	char reason[NIC_VERBS_WHY_MAX];
	int r;

	*ret_opts = (struct nic_verbs_opts){ .port = 1 };
	if (!spec[4])
		return 0;
	r = nic_verbs_parse(spec + 5, ret_opts, reason);
	if (r)
		snprintf(why, CONF_WHY_MAX, "nic=%.200s: expected auto, auto:DEVICE or "
			 "auto:DEVICE,port=N with N from 1 to 254", spec);
	return r;
}

/* Checks the syntax of the setting without opening the NIC. */
static int check_nic(const char *spec, char why[CONF_WHY_MAX])
{
	struct nic_soft_opts soft;
	struct nic_mlx5_opts mlx5;
	struct nic_verbs_opts verbs;
	char reason[CONF_WHY_MAX] = "";
	int r;

	if (nic_is_auto(spec))
		return parse_auto(spec, &verbs, why);
	if (!strncmp(spec, "soft:", 5)) {
		r = nic_soft_parse(spec + 5, &soft, reason);
	} else if (!strncmp(spec, "mlx5:", 5)) {
		r = nic_mlx5_parse(spec + 5, &mlx5, reason);
	} else if (!strncmp(spec, "verbs:", 6)) {
		r = nic_verbs_parse(spec + 6, &verbs, reason);
	} else {
		snprintf(why, CONF_WHY_MAX, "nic=%.200s: expected soft:..., "
			 "mlx5:DEVICE..., verbs:DEVICE... or auto", spec);
		return -EINVAL;
	}
	if (r)
		snprintf(why, CONF_WHY_MAX, "nic: %.500s", reason);
	return r;
}

/* -EINVAL, -ENOENT: the operator's settings are wrong. */
static int load_conf(const struct args *args, struct conf *conf,
		     char why[CONF_WHY_MAX])
{
	const char *path = args->config ? args->config : CONF_FILE;
	unsigned int i;
	int r;

	conf_init(conf);
	r = conf_read(conf, path, why);
	if (r && (args->config || r != -ENOENT))
		return r;
	for (i = 0; i < args->nr_settings; i++) {
		r = conf_set(conf, args->settings[i].name,
			     args->settings[i].text, why);
		if (r)
			return r;
	}
	r = conf_check(conf, why);
	return r ? r : check_nic(conf->nic, why);
}

static int open_soft(const char *words, struct nic **ret_nic,
		     char why[CONF_WHY_MAX])
{
	struct nic_soft_opts opts;
	char reason[NIC_SOFT_WHY_MAX];
	int r;

	r = nic_soft_parse(words, &opts, reason);
	if (!r)
		r = nic_soft_open(&opts, ret_nic, reason);
	if (r)
		snprintf(why, CONF_WHY_MAX, "nic: %s", reason);
	return r;
}

static int open_mlx5(const char *words, struct nic **ret_nic,
		     char why[CONF_WHY_MAX])
{
#ifdef HAVE_MLX5
	struct nic_mlx5_opts opts;
	char reason[NIC_MLX5_WHY_MAX];
	int r;

	r = nic_mlx5_parse(words, &opts, reason);
	if (!r)
		r = nic_mlx5_open(&opts, &wrc_mlx5_devx, &nic_cm, ret_nic,
				  reason);
	if (r)
		snprintf(why, CONF_WHY_MAX, "nic: %s", reason);
	return r;
#else
	snprintf(why, CONF_WHY_MAX, "nic=mlx5:%.200s: this odrp-mnoded was "
		 "built without libmlx5 and librdmacm", words);
	return -EOPNOTSUPP;
#endif
}

static int open_verbs(const char *words, struct nic **ret_nic,
		      char why[CONF_WHY_MAX])
{
#ifdef HAVE_VERBS
	struct nic_verbs_opts opts;
	char reason[NIC_VERBS_WHY_MAX];
	int r;

	r = nic_verbs_parse(words, &opts, reason);
	if (!r)
		r = nic_verbs_open(&opts, ret_nic, reason);
	if (r)
		snprintf(why, CONF_WHY_MAX, "nic: %s", reason);
	return r;
#else
	snprintf(why, CONF_WHY_MAX, "nic=verbs:%.200s: this odrp-mnoded was "
		 "built without libibverbs and librdmacm", words);
	return -EOPNOTSUPP;
#endif
}

static int open_auto(const char *spec, struct nic **ret_nic,
		     char why[CONF_WHY_MAX])
{
#ifdef HAVE_VERBS
#ifdef HAVE_MLX5
	const struct wrc_mlx5_devx *devx = &wrc_mlx5_devx;
#else
	const struct wrc_mlx5_devx *devx = NULL;
#endif
	char choice[NIC_AUTO_WHY_MAX];
	struct nic_verbs_opts opts;
	int r;

	r = parse_auto(spec, &opts, why);
	if (r)
		return r;
	r = nic_auto_open(&opts, devx, ret_nic, choice);
	if (r)
		snprintf(why, CONF_WHY_MAX, "nic: %s", choice);
	else
		log_notice("nic: %s", choice);
	return r;
#else
	snprintf(why, CONF_WHY_MAX, "nic=%.200s: this odrp-mnoded was built without "
		 "libibverbs and librdmacm", spec);
	return -EOPNOTSUPP;
#endif
}

/* spec: has passed check_nic(). */
static int open_nic(const char *spec, struct nic **ret_nic,
		    char why[CONF_WHY_MAX])
{
	if (nic_is_auto(spec))
		return open_auto(spec, ret_nic, why);
	if (!strncmp(spec, "soft:", 5))
		return open_soft(spec + 5, ret_nic, why);
	if (!strncmp(spec, "verbs:", 6))
		return open_verbs(spec + 6, ret_nic, why);
	return open_mlx5(spec + 5, ret_nic, why);
}

/* ---- files for the next agent --------------------------------------------------------- */

/* Keeps the first of two files with one name: systemd passes the newer one first.
 * Closes a file that is not used. */
static void kept_take(struct daemon *d, int fd, const char *name)
{
	unsigned int i = 0;

	while (i < KEEP_FILES && strcmp(name, keep_names[i]))
		i++;
	if (i == KEEP_FILES || d->kept[i] >= 0) {
		log_warning("the service manager has a file too many, of name %s", name);
		close(fd);
		return;
	}
	d->kept[i] = fd;
	d->nr_kept++;
}

/* Finds the files that the service manager keeps, by their names. */
static void kept_find(struct daemon *d)
{
	char **names = NULL;
	int n, i;

	for (i = 0; i < KEEP_FILES; i++)
		d->kept[i] = -1;
	n = sd_listen_fds_with_names(true, &names);
	for (i = 0; i < n; i++) {
		kept_take(d, SD_LISTEN_FDS_START + i, names[i]);
		free(names[i]);
	}
	free(names);
}

/* All files, or NULL if one is missing; closes the others then. */
static const int *kept_all(struct daemon *d)
{
	unsigned int i;

	if (d->nr_kept == KEEP_FILES)
		return d->kept;
	for (i = 0; i < KEEP_FILES; i++)
		if (d->kept[i] >= 0)
			close(d->kept[i]);
	return NULL;
}

/*
 * Gives this agent's files to the service manager and removes older ones, before any
 * session can have pages in the files.  Without a service manager nobody keeps them.
 */
static void keep_store(struct daemon *d)
{
	char text[64];
	unsigned int i;
	int r = 1;

	/* The service manager still has the files that it has passed to this agent. */
	d->stored = d->m.keep.adopted;
	if (d->stored)
		return;
	for (i = 0; i < KEEP_FILES && d->nr_kept; i++)
		sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", keep_names[i]);
	for (i = 0; i < KEEP_FILES && r > 0; i++) {
		snprintf(text, sizeof(text), "FDSTORE=1\nFDNAME=%s", keep_names[i]);
		r = sd_pid_notify_with_fds(0, 0, text, &d->m.keep.fd[i], 1);
	}
	/* The service manager may drop messages of a process that has exited: wait for it. */
	if (r > 0)
		r = sd_notify_barrier(0, STORE_WAIT_US);
	d->stored = r > 0;
	if (r < 0)
		log_error("the service manager does not keep the pages: %s", strerror(-r));
	else if (!r)
		log_notice("no service manager that keeps the pages: they go with this "
			   "process");
}

/* ---- event loop ------------------------------------------------------------------ */

static void status_notify(struct daemon *d)
{
	if (d->notified_sess == d->m.nr_sess)
		return;
	d->notified_sess = d->m.nr_sess;
	sd_notifyf(0, "STATUS=%u compute nodes, %" PRIu64 " of %" PRIu64
		   " pages free", d->m.nr_sess, manager_free_pages(&d->m),
		   d->m.pool.pages);
}

static int on_nic(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
	struct daemon *d = arg;

	manager_events(&d->m);
	return 0;
}

/* The NIC has answered: on_post() takes the answer. */
static int on_answer(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
	return 0;
}

static int on_tick(sd_event_source *source, uint64_t usec, void *arg)
{
	struct daemon *d = arg;
	uint64_t now = now_ns();

	manager_tick(&d->m, (now - d->ticked_ns) / 1000000);
	d->ticked_ns = now;
	status_notify(d);
	sd_event_source_set_enabled(d->look, SD_EVENT_ONESHOT);
	sd_event_source_set_time_relative(source, d->tick_usec);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* on_post() answers. */
static int on_look(sd_event_source *source, uint64_t usec, void *arg)
{
	struct daemon *d = arg;

	if (!manager_look(&d->m))
		return 0;
	sd_event_source_set_time_relative(source, ODRP_WIRE_LOOK_MS * USEC_PER_MSEC);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* Runs what is due in spaces, and sets the timer for the next time. */
static void spaces_look(struct daemon *d)
{
	uint64_t next = manager_spaces(&d->m, now_ns());

	if (next == UINT64_MAX) {
		sd_event_source_set_enabled(d->spaces, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time(d->spaces, next / 1000 + 1);
	sd_event_source_set_enabled(d->spaces, SD_EVENT_ONESHOT);
}

/* The pages have been counted: answers those who asked, and those who wait for the end of
 * the count. */
static void count_end(struct daemon *d)
{
	if (!d->m.check || check_runs(&d->m))
		return;
	ctl_again(d->ctl);
	check_end(&d->m);
}

/* Runs after each event: does the pending work of spaces and of the manager. */
static int on_post(sd_event_source *source, void *arg)
{
	struct daemon *d = arg;

	count_end(d);
	spaces_look(d);
	switch (manager_work(&d->m)) {
	case LEND_NOTHING:
		break;
	case LEND_MORE:
		sd_event_source_set_enabled(d->work_now, SD_EVENT_ONESHOT);
		break;
	case LEND_WAIT:
		sd_event_source_set_time_relative(d->work_later, WORK_USEC);
		sd_event_source_set_enabled(d->work_later, SD_EVENT_ONESHOT);
		break;
	}
	return 0;
}

static int on_work_now(sd_event_source *source, void *arg)
{
	return 0;	/* on_post() follows */
}

static int on_work_later(sd_event_source *source, uint64_t usec, void *arg)
{
	return 0;	/* on_post() follows */
}

static int on_spaces(sd_event_source *source, uint64_t usec, void *arg)
{
	return 0;	/* on_post() follows */
}

static int on_goodbye(sd_event_source *source, uint64_t usec, void *arg)
{
	struct daemon *d = arg;

	if (!manager_hangs_up(&d->m))
		return sd_event_exit(d->event, 0);
	sd_event_source_set_time_relative(source, GOODBYE_USEC);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_terminate(sd_event_source *source,
			const struct signalfd_siginfo *si, void *arg)
{
	struct daemon *d = arg;

	sd_notify(0, "STOPPING=1");
	/* The service manager does not say whether it restarts or stops the unit. */
	log_info("ending after a signal; disconnecting %u compute nodes; %s", d->m.nr_sess,
		 d->stored ? "the service manager has all pages and spaces: it keeps them for "
		 "a restart, and drops them if the unit is stopped" :
		 "all pages and spaces are lost");
	if (!d->m.nr_sess)
		return sd_event_exit(d->event, 0);
	if (d->stored)
		manager_pause(&d->m);
	else
		manager_evict_all(&d->m);
	ctl_again(d->ctl);	/* the count that somebody waits for begins anew */
	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	return sd_event_add_time_relative(d->event, NULL, CLOCK_MONOTONIC,
					  GOODBYE_USEC, 0, on_goodbye, d);
}

/* Only log level, clients' shares and secrets can change while chains are armed. */
static int on_reload(sd_event_source *source,
		     const struct signalfd_siginfo *si, void *arg)
{
	struct daemon *d = arg;
	char why[CONF_WHY_MAX];
	struct conf *conf = malloc(sizeof(*conf));

	if (!conf)
		return 0;
	if (load_conf(d->args, conf, why)) {
		log_error("cannot read the settings again: %s", why);
	} else {
		d->conf.log_level = conf->log_level;
		log_init(conf->log_level);
		log_notice("log level read again; other settings than of clients need a "
			   "restart");
		if (manager_set_clients(&d->m, conf, why))
			log_error("cannot change what clients may have: %s", why);
	}
	if (manager_read_keys(&d->m, why))
		log_error("cannot read the secrets again: %s", why);
	else
		log_notice("secrets read again from %s", d->conf.keys);
	free(conf);
	return 0;
}

static struct json_object *on_command(void *arg, struct json_object *req)
{
	struct daemon *d = arg;

	return status_command(&d->m, req, now_ns() - d->began_ns);
}

static int on_metrics(void *arg, char **ret_text, size_t *ret_len)
{
	struct daemon *d = arg;

	return metrics_make(&d->m, now_ns() - d->began_ns, ret_text, ret_len);
}

/* Serves metrics, if a port is set. */
static int serve_metrics(struct daemon *d)
{
	const struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = d->conf.metrics.ip,
		.sin_port = htons(d->conf.metrics.port),
	};
	char ip[INET_ADDRSTRLEN] = "";
	int r;

	if (!addr.sin_port)
		return 0;
	inet_ntop(AF_INET, &addr.sin_addr, ip, sizeof(ip));
	r = http_new(d->event, &addr, on_metrics, d, &d->http);
	if (r)
		log_error("metrics=%s:%u: cannot listen there: %s", ip,
			  d->conf.metrics.port, strerror(-r));
	else
		log_info("metrics at http://%s:%u/metrics", ip,
			 d->conf.metrics.port);
	return r;
}

static void tick_period(struct daemon *d)
{
	uint64_t ms = d->conf.beat_ms;

	if (d->conf.dead_ms / 4 < ms)
		ms = d->conf.dead_ms / 4;
	d->tick_usec = (ms ? ms : 1) * USEC_PER_MSEC;
}

static int add_sources(struct daemon *d)
{
	sd_event *e = d->event;
	int r;

	r = sd_event_add_io(e, NULL, d->nic->event_fd, EPOLLIN, on_nic, d);
	if (r >= 0 && d->nic->node->look_fd >= 0)
		r = sd_event_add_io(e, NULL, d->nic->node->look_fd, EPOLLIN, on_answer, d);
	if (r >= 0)
		r = sd_event_add_time_relative(e, &d->tick, CLOCK_MONOTONIC,
					       d->tick_usec, 0, on_tick, d);
	if (r >= 0)
		r = sd_event_add_time_relative(e, &d->look, CLOCK_MONOTONIC, 0, 1, on_look, d);
	if (r >= 0)
		r = sd_event_add_defer(e, &d->work_now, on_work_now, d);
	if (r >= 0)
		r = sd_event_source_set_enabled(d->work_now, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_time_relative(e, &d->work_later,
					       CLOCK_MONOTONIC, 0, 1,
					       on_work_later, d);
	if (r >= 0)
		r = sd_event_add_time_relative(e, &d->spaces, CLOCK_MONOTONIC, 0, 1,
					       on_spaces, d);
	if (r >= 0)
		r = sd_event_add_post(e, NULL, on_post, d);
	if (r >= 0)
		r = sd_event_add_signal(e, NULL, SIGTERM, on_terminate, d);
	if (r >= 0)
		r = sd_event_add_signal(e, NULL, SIGINT, on_terminate, d);
	if (r >= 0)
		r = sd_event_add_signal(e, NULL, SIGHUP, on_reload, d);
	if (r >= 0)
		r = sd_event_set_watchdog(e, true);
	return r < 0 ? r : 0;
}

static void drop_sources(struct daemon *d)
{
	sd_event_source_unref(d->tick);
	sd_event_source_unref(d->look);
	sd_event_source_unref(d->work_now);
	sd_event_source_unref(d->work_later);
	sd_event_source_unref(d->spaces);
	sd_event_unref(d->event);
}

/* Like sd_event_loop(); also measures the longest turn. */
static int run_turns(struct daemon *d)
{
	uint64_t began, ns;
	int r;

	while (sd_event_get_state(d->event) != SD_EVENT_FINISHED) {
		r = sd_event_prepare(d->event);
		if (!r)
			r = sd_event_wait(d->event, UINT64_MAX);
		if (r < 0)
			return r;
		if (!r)
			continue;
		began = now_ns();
		r = sd_event_dispatch(d->event);
		ns = now_ns() - began;
		if (ns > d->m.longest_turn_ns)
			d->m.longest_turn_ns = ns;
		if (r < 0)
			return r;
	}
	return sd_event_get_exit_code(d->event, &r) < 0 ? 0 : r;
}

static void auth_log(const struct daemon *d)
{
	log_info("auth: %s, secrets in %s", conf_auth_name(&d->conf), d->conf.keys);
	if (d->conf.auth == CONF_AUTH_NONE)
		log_warning("auth=none is insecure: anybody who reaches port %u is let "
			    "in, and may take pages", d->conf.port);
	else if (!d->m.idents.first)
		log_warning("no secret in %s: nobody is let in; odrpctl key new NAME "
			    "makes one, then SIGHUP", d->conf.keys);
}

static int daemon_loop(struct daemon *d)
{
	int r;

	r = sd_event_new(&d->event);
	if (r < 0)
		return r;
	tick_period(d);
	r = add_sources(d);
	if (r) {
		log_error("cannot make the event loop: %s", strerror(-r));
		goto drop;
	}
	r = ctl_new(d->event, d->conf.control, on_command, d, &d->ctl);
	if (r) {
		log_error("control socket %s: %s", d->conf.control,
			  strerror(-r));
		goto drop;
	}
	r = serve_metrics(d);
	if (r)
		goto free_ctl;
	log_info("%" PRIu64 " pages%s to lend, %" PRIu64 " in spaces, reserve of %" PRIu64
		 " for each compute node; port %u, control %s",
		 d->m.pool.pages - d->m.spaces.nr_pages,
		 d->m.pool.page_mem.huge ? " (huge)" : "", d->m.spaces.nr_pages,
		 d->m.slack, d->conf.port, d->conf.control);
	if (d->nic->node->no_chains)
		log_notice("this NIC arms no chains: compute nodes swap to slabs of their own, "
			   "which they read and write by themselves");
	else
		log_info("chains use %s; %s finds pages",
			 d->m.waits ? "WAITs" : "fences",
			 d->m.direct ? "the compute node" :
			 d->m.nic_translates ? "the NIC" : "a chain");
	auth_log(d);
	sd_notify(0, "READY=1");
	d->notified_sess = UINT32_MAX;
	status_notify(d);
	r = run_turns(d);
	http_free(d->http);
free_ctl:
	ctl_free(d->ctl);
drop:
	drop_sources(d);
	return r;
}

/* Call before the NIC's thread begins, which must not receive these signals. */
static void block_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Returns the exit status. */
static int daemon_run(struct daemon *d)
{
	char why[CONF_WHY_MAX];
	int r;

	r = load_conf(d->args, &d->conf, why);
	if (r) {
		log_error("%s", why);
		return !d->nr_kept && (r == -EINVAL || r == -ENOENT) ? EXIT_USAGE :
								       EXIT_FAILURE;
	}
	log_init(d->conf.log_level);
	block_signals();
	r = open_nic(d->conf.nic, &d->nic, why);
	if (r) {
		log_error("%s", why);
		return EXIT_FAILURE;
	}
	d->began_ns = d->ticked_ns = now_ns();
	r = manager_adopt(&d->m, &d->conf, d->nic, kept_all(d), why);
	if (r) {
		log_error("%s", why);
		goto close_nic;
	}
	keep_store(d);
	r = daemon_loop(d);
	manager_fini(&d->m);
close_nic:
	d->nic->ops->close(d->nic);
	return r ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static struct args args;
	static struct daemon d = { .args = &args };

	/* First of all: output must not go into a file that is opened later. */
	own_stdio_hold();
	log_init(LOG_INFO);
	kept_find(&d);
	/* The service manager restarts the agent after EXIT_FAILURE, and not after
	 * EXIT_USAGE. */
	argp_err_exit_status = d.nr_kept ? EXIT_FAILURE : EXIT_USAGE;
	/* Secrets are in memory: no core dump, no ptrace by others. */
	prctl(PR_SET_DUMPABLE, 0);
	parse_args(argc, argv, &args);
	return daemon_run(&d);
}
