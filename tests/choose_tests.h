/* choose_tests.h: lets the user of a test program run a part of it: `--list` prints the names of
 * its tests, and names or patterns such as `graph*` run those tests only.
 */
#ifndef TINCA_TESTS_CHOOSE_TESTS_H
#define TINCA_TESTS_CHOOSE_TESTS_H

#include "sanitized.h"
#include "tap.h"

#include "base/clock.h"

#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct named_test {
    const char *name;
    void (*run)(void); /* NULL: not in this build */
};

/* For tests that take long and whose code faster tests run under sanitizers, too. */
#define UNLESS_SANITIZED(test) (SANITIZED ? NULL : (test))

static inline bool test_is_chosen(const char *name, int count, char **patterns)
{
    for (int i = 0; i < count; i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return count == 0;
}

/* Prints the names and returns true if the arguments ask for that, or choose no test; *status is
 * then what the program must return. */
static inline bool tests_listed(const struct named_test *tests, size_t count, int argc, char **argv,
                                int *status)
{
    const bool list = argc > 1 && strcmp(argv[1], "--list") == 0;
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++)
        chosen += test_is_chosen(tests[i].name, argc - 1, argv + 1);
    *status = list ? 0 : 2;
    if (!list && chosen > 0)
        return false;
    for (size_t i = 0; i < count; i++)
        fprintf(list ? stdout : stderr, "%s\n", tests[i].name);
    if (!list)
        fprintf(stderr, "%s: no test has such a name; these are all names\n", argv[0]);
    return true;
}

/* Runs the chosen tests, each with the seconds it takes, or skips each of them with the reason
 * `missing` if that is not NULL. A test for which may_begin (NULL: all may) returns false is not
 * run. Returns what the program must return. */
static inline int tests_run(const struct named_test *tests, size_t count, int argc, char **argv,
                            const char *missing, bool (*may_begin)(const char *name))
{
    for (size_t i = 0; i < count; i++) {
        if (!test_is_chosen(tests[i].name, argc - 1, argv + 1))
            continue;
        if (!tests[i].run) {
            tap_note("%s: not under a sanitizer", tests[i].name);
            continue;
        }
        if (missing) {
            tap_skip("%s: %s", tests[i].name, missing);
            continue;
        }
        const uint64_t start = clock_nanoseconds();
        if (may_begin && !may_begin(tests[i].name))
            continue;
        tests[i].run();
        tap_note("%s: %.1f s", tests[i].name, clock_seconds(start, clock_nanoseconds()));
        fflush(stdout);
    }
    return tap_done();
}

/* Is `main` of a program whose tests always run; `begin` prepares them all. */
static inline int tests_main(const struct named_test *tests, size_t count, int argc, char **argv,
                             void (*begin)(void))
{
    int status;
    if (tests_listed(tests, count, argc, argv, &status))
        return status;
    begin();
    return tests_run(tests, count, argc, argv, NULL, NULL);
}

#endif
