/* sample.h: lets a test whose list of cases takes long try a part of it in `make check`, spread
 * over the whole list, a smaller one under a sanitizer (sanitized.h), and all of it where WHOLE is
 * set in the environment, which `make check-long` does (tests/long/whole_lists_long.sh). Scripts
 * ask whole_list of tests/cli/tap.sh.
 */
#ifndef TINCA_TESTS_SAMPLE_H
#define TINCA_TESTS_SAMPLE_H

#include "sanitized.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Returns whether all cases of a list are tried. */
static inline bool sample_is_whole(void)
{
    const char *whole = getenv("WHOLE");
    return whole && whole[0];
}

/* Returns whether case `i` of a list is tried: every `step`-th, with a sanitizer every
 * `sanitized_step`-th. */
static inline bool sample_has(size_t i, size_t step, size_t sanitized_step)
{
    return sample_is_whole() || i % (SANITIZED ? sanitized_step : step) == 0;
}

#endif
