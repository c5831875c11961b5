/* tap.h: prints TAP for automake's test driver.
 *
 * (Debian's cmocka prints skipped tests as "not ok ... # SKIP", which the driver counts as
 * failures.) The tests of a folder are one program, and each file is a case of it (cases.c):
 *
 *     TEST_CASE(text_test)
 *     {
 *         tap_ok(1 + 1 == 2, "numbers are added");
 *         return tap_done();
 *     }
 *
 * Not thread safe: call from one thread.
 */
#ifndef TINCA_TESTS_TAP_H
#define TINCA_TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* A case of a test program. It returns the program's exit status; argv[0] is the case's name. */
struct test_case {
    const char *name;
    int (*run)(int argc, char **argv);
    struct test_case *next;
};

/* Adds a case to the program's, before main begins. The program keeps the object. */
void test_case_add(struct test_case *added);

/* Begins the function of a case, which has the name of its file. */
#define TEST_CASE(file)                                                                            \
    static int run_##file(int argc, char **argv);                                                  \
    __attribute__((constructor)) static void add_case(void)                                        \
    {                                                                                              \
        static struct test_case added = {#file, run_##file, NULL};                                 \
        test_case_add(&added);                                                                     \
    }                                                                                              \
    static int run_##file(__attribute__((unused)) int argc, __attribute__((unused)) char **argv)

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
