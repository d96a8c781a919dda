/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * "far bench index": YCSB's workloads on an index, on any back end.
 */
#ifndef FAR_BENCH_INDEX_H
#define FAR_BENCH_INDEX_H

/* argv[0] is what a usage message begins with. An exit status. */
int bench_index_main(int argc, char **argv);

#endif
