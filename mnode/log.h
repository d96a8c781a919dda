/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes log messages to standard error. If the journal reads it, each line begins with
 * the level in the form that the journal understands.
 */
#ifndef MNODE_LOG_H
#define MNODE_LOG_H

#include <stdbool.h>
#include <syslog.h>

void log_init(int level);
__attribute__((format(printf, 2, 3)))
void log_line(int level, const char *fmt, ...);

/* True the first time for each bit @what: for a line that is to be logged once. */
bool log_first(unsigned int *logged, unsigned int what);

#define log_error(...)		log_line(LOG_ERR, __VA_ARGS__)
#define log_warning(...)	log_line(LOG_WARNING, __VA_ARGS__)
#define log_notice(...)		log_line(LOG_NOTICE, __VA_ARGS__)
#define log_info(...)		log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...)		log_line(LOG_DEBUG, __VA_ARGS__)

#endif /* MNODE_LOG_H */
