/* budget.h: the time that a test program for a real GPU takes: once it is over, nothing more
 * begins, and what is left out is counted. BUDGET=600 in the environment sets the seconds.
 */
#ifndef TINCA_TESTS_CUDA_BUDGET_H
#define TINCA_TESTS_CUDA_BUDGET_H

#include "tap.h"

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static struct {
    uint64_t began;
    double seconds;
    size_t left; /* cases or tests that were left out */
} budget = {.seconds = 120};

/* Begins the program's time. Returns false if BUDGET is no number of seconds. */
static inline bool budget_begin(void)
{
    const char *text = getenv("BUDGET");
    char *end = NULL;
    budget.began = clock_nanoseconds();
    if (text)
        budget.seconds = strtod(text, &end);
    return !text || (end > text && *end == '\0' && budget.seconds >= 0);
}

/* Returns the seconds that are left; 0 if the time is over. */
static inline double budget_rest(void)
{
    const double rest = budget.seconds - clock_seconds(budget.began, clock_nanoseconds());
    return rest > 0 ? rest : 0;
}

/* Returns whether a test may begin; counts and skips it if the time is over. */
static inline bool budget_allows(const char *name)
{
    if (budget_rest() > 0)
        return true;
    budget.left++;
    tap_skip("%s: left out, because %.0f s are over (BUDGET)", name, budget.seconds);
    return false;
}

/* Says how much was left out, if anything was. */
static inline void budget_report(const char *what)
{
    if (budget.left > 0)
        tap_note("%zu %s in all are left out, because %.0f s were over (BUDGET)", budget.left, what,
                 budget.seconds);
}

#endif
