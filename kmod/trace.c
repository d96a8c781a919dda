// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Defines the tracepoints that trace.h declares. */
#define CREATE_TRACE_POINTS
#include "trace.h"
