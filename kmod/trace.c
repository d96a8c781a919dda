// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The one file in which the tracepoints of trace.h are made. */
#define CREATE_TRACE_POINTS
#include "trace.h"
