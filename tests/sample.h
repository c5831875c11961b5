/* sample.h: lets a test program whose list of cases takes minutes try a part of it in `make check`,
 * spread over the whole list, a smaller one under a sanitizer (sanitized.h), and all of it with
 * --long, which `make check-long` passes (tests/long/whole_lists_long.sh).
 */
#ifndef TINCA_TESTS_SAMPLE_H
#define TINCA_TESTS_SAMPLE_H

#include "sanitized.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static bool sample_is_all;

/* Reads the arguments of `main`. Without a call a sample is a part. */
static inline void sample_begin(int argc, char **argv)
{
    sample_is_all = argc > 1 && strcmp(argv[1], "--long") == 0;
}

/* Returns whether case `i` of a list is tried: every `step`-th, with a sanitizer every
 * `sanitized_step`-th. */
static inline bool sample_has(size_t i, size_t step, size_t sanitized_step)
{
    return sample_is_all || i % (SANITIZED ? sanitized_step : step) == 0;
}

#endif
