/* tap.h: prints TAP for automake's test driver.
 *
 * (Debian's cmocka prints skipped tests as "not ok ... # SKIP", which the driver counts as
 * failures.) A test program is a main() that calls tap_ok() for each test and ends with `return
 * tap_done();`. Not thread safe: call from one thread.
 */
#ifndef TINCA_TESTS_TAP_H
#define TINCA_TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int tap_count, tap_failures;

/* Prints the result of a test. The name, a printf format, says what holds when it passes. Returns
 * `passed`. */
__attribute__((format(printf, 2, 3), unused)) static bool tap_ok(bool passed, const char *name, ...)
{
    va_list arguments;
    printf("%sok %d - ", passed ? "" : "not ", ++tap_count);
    va_start(arguments, name);
    vprintf(name, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
    tap_failures += !passed;
    return passed;
}

__attribute__((format(printf, 1, 2), unused)) static void tap_skip(const char *why, ...)
{
    va_list arguments;
    printf("ok %d # SKIP ", ++tap_count);
    va_start(arguments, why);
    vprintf(why, arguments);
    va_end(arguments);
    putchar('\n');
}

/* Prints a comment, which is shown in the log only. */
__attribute__((format(printf, 1, 2), unused)) static void tap_note(const char *text, ...)
{
    va_list arguments;
    printf("# ");
    va_start(arguments, text);
    vprintf(text, arguments);
    va_end(arguments);
    putchar('\n');
}

static inline int tap_done(void)
{
    printf("1..%d\n", tap_count);
    return tap_failures ? 1 : 0;
}

#endif
