/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fuzz target is libFuzzer's LLVMFuzzerTestOneInput() and some inputs to start
 * from.  driver.c mutates those without libFuzzer, for compilers without it and
 * for the ordinary test run:
 *
 *	fuzz-cm [RUNS [SEED]]		prints nothing unless it finds something
 *	fuzz-cm FILE...			runs these inputs once
 *
 * ODRP_NIGHTLY=1 in the environment: 20 times as many.  An input that breaks
 * something is kept as fuzz-input-SEED-RUN in the current directory.
 *
 * With clang: meson setup BUILD -Dc_args=-fsanitize=fuzzer-no-link
 * -Db_sanitize=address,undefined -Db_lundef=false; ninja -C BUILD
 * tests/fuzz/fuzz-cm-libfuzzer.
 */
#ifndef TEST_FUZZ_DRIVER_H
#define TEST_FUZZ_DRIVER_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define FUZZ_MAX_LEN	4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
/* Writes the nth input to start from; 0: there is none. */
size_t fuzz_seed(unsigned int n, uint8_t *buf);

/* What must hold. */
#define FUZZ_ASSERT(c) do { if (!(c)) abort(); } while (0)

#endif /* TEST_FUZZ_DRIVER_H */
