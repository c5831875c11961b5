#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_formats(void)
{
    char out[64];
    tap_ok(strcmp(text_count(60965224, out, sizeof out), "60,965,224") == 0, "count: %s", out);
    tap_ok(strcmp(text_count(999, out, sizeof out), "999") == 0, "count: %s", out);
    tap_ok(strcmp(text_count(0, out, sizeof out), "0") == 0, "count: %s", out);
    tap_ok(strcmp(text_bytes(512, out, sizeof out), "512 B") == 0, "bytes: %s", out);
    tap_ok(strcmp(text_bytes(1536 * 1024, out, sizeof out), "1.50 MiB") == 0, "bytes: %s", out);
    tap_ok(strcmp(text_si(41.6e6, out, sizeof out), "41.6 M") == 0, "si: %s", out);
    tap_ok(strcmp(text_duration(187, out, sizeof out), "3:07 min") == 0, "duration: %s", out);
    tap_ok(strcmp(text_duration(9669, out, sizeof out), "2:41:09 h") == 0, "duration: %s", out);
    tap_ok(strcmp(text_duration(-1, out, sizeof out), "-") == 0, "no duration: %s", out);
}

/* A duration is rounded before its unit is chosen. */
static void test_rounded_durations(void)
{
    static const struct {
        double seconds;
        const char *tenths, *whole;
    } cases[] = {{0, "0.0 s", "0 s"},
                 {0.96, "1.0 s", "1 s"},
                 {3.74, "3.7 s", "4 s"},
                 {9.94, "9.9 s", "10 s"},
                 {9.96, "10 s", "10 s"},
                 {59.4, "59 s", "59 s"},
                 {59.7, "1:00 min", "1:00 min"},
                 {119.9, "2:00 min", "2:00 min"},
                 {3599.6, "1:00:00 h", "1:00:00 h"},
                 {7199.5, "2:00:00 h", "2:00:00 h"}};
    char out[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tap_ok(strcmp(text_duration(cases[i].seconds, out, sizeof out), cases[i].tenths) == 0,
               "%g s: %s", cases[i].seconds, out);
        tap_ok(strcmp(text_whole_duration(cases[i].seconds, out, sizeof out), cases[i].whole) == 0,
               "%g s without tenths: %s", cases[i].seconds, out);
    }
}

static void test_parsing(void)
{
    size_t count;
    double number;
    static const char *const bad_counts[] = {"",   "-1",  " 1",
                                             "1x", "1.5", "99999999999999999999999"};
    tap_ok(text_to_size("128", &count) && count == 128, "128 is a count");
    for (size_t i = 0; i < sizeof bad_counts / sizeof *bad_counts; i++)
        tap_ok(!text_to_size(bad_counts[i], &count), "\"%s\" is no count", bad_counts[i]);
    static const char *const bad_numbers[] = {"", "x", "1e999", "nan", "inf", " 1", "1 "};
    tap_ok(text_to_double("1e-3", &number) && number == 1e-3, "1e-3 is a number");
    for (size_t i = 0; i < sizeof bad_numbers / sizeof *bad_numbers; i++)
        tap_ok(!text_to_double(bad_numbers[i], &number), "\"%s\" is no number", bad_numbers[i]);
}

static void test_growing(void)
{
    struct text text = {0};
    for (int i = 0; i < 1000; i++)
        text_append(&text, "%d,", i);
    tap_ok(!text.failed && text.length == strlen(text.data) && text.length == 3890,
           "a text of a thousand pieces has %zu characters", text.length);
    text_free(&text);
}

static void test_errors(void)
{
    struct error error = {0};
    char line[600];
    tap_ok(!error_set(&error, ERROR_INPUT, "a.json", "fix it", "line %d", 3), "error_set is false");
    tap_ok(strcmp(error_format(&error, line, sizeof line), "a.json: line 3: fix it") == 0, "%s",
           line);
    error_set(&error, ERROR_INPUT, "b.json", error.advice, "%s", error.why);
    tap_ok(strcmp(error_format(&error, line, sizeof line), "b.json: line 3: fix it") == 0,
           "an error can be wrapped in itself");
    error_set(&error, ERROR_INPUT, "a\nb\033", NULL, "x");
    tap_ok(strcmp(error_format(&error, line, sizeof line), "a?b?: x") == 0,
           "control characters do not reach the terminal");
    size_t *items = NULL, capacity = 0;
    tap_ok(!memory_grow(&items, &capacity, SIZE_MAX / 4, sizeof *items, "a test", &error) &&
               error.kind == ERROR_MEMORY && !items,
           "an array that cannot be is an error");
    tap_ok(!memory_new(SIZE_MAX / 2, 16, "a test", &error), "so is a block");
    tap_ok(!memory_new_aligned(SIZE_MAX / 2, 16, "a test", &error), "and an aligned one");
}

static void test_sizes(void)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},
                {"800000000", 800000000},
                {"600M", 600u << 20},
                {"600m", 600u << 20},
                {"600Mi", 600u << 20},
                {"1.5GiB", 3u << 29},
                {"1.50 GiB", 3u << 29},
                {"16 B", 16},
                {"2KB", 2000},
                {"2K", 2048},
                {"3T", (uint64_t)3 << 40}};
    static const char *const bad[] = {"",      "M",   "1x",       "-1M", "1MM",
                                      "1.2.3", "1 2", "9999999T", "1e6"};
    uint64_t bytes;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        tap_ok(text_to_bytes(good[i].text, &bytes) && bytes == good[i].bytes, "\"%s\" is a size",
               good[i].text);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        tap_ok(!text_to_bytes(bad[i], &bytes), "\"%s\" is no size", bad[i]);
}

static void test_durations(void)
{
    static const struct {
        const char *text;
        double seconds;
    } good[] = {{"90", 90},     {"90s", 90},       {"45m", 2700},    {"8h", 28800},
                {"1.5h", 5400}, {"1d12h", 129600}, {"1h2m3s", 3723}, {"0", 0}};
    static const char *const bad[] = {"",     "h",    "1x",    "-1h",   "-1",
                                      "1m1h", "1h1h", "1h 1m", "1..5h", "1h1"};
    double seconds;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        tap_ok(text_to_seconds(good[i].text, &seconds) && seconds == good[i].seconds,
               "\"%s\" is a duration", good[i].text);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        tap_ok(!text_to_seconds(bad[i], &seconds), "\"%s\" is no duration", bad[i]);
}

static bool reads(double value, int digits, const char *expected)
{
    char text[32];
    return strcmp(text_number(value, digits, text, sizeof text), expected) == 0;
}

static void test_numbers(void)
{
    tap_ok(reads(0.123456, 4, "0.1235") && reads(-2, 6, "-2") && reads(1e-7, 2, "1e-07"),
           "numbers have as many digits as are asked for");
    tap_ok(reads((double)NAN, 4, "NaN") && reads(-(double)NAN, 4, "NaN"), "NaN has no sign");
    tap_ok(reads((double)INFINITY, 4, "inf") && reads(-(double)INFINITY, 4, "-inf"),
           "infinity has one");
    tap_ok(strcmp(TEXT_NUMBER(2.5, 3), "2.5") == 0, "the macro has its own buffer");
}

TEST_CASE(text_test)
{
    test_numbers();
    test_durations();
    test_sizes();

    test_formats();
    test_rounded_durations();
    test_parsing();
    test_growing();
    test_errors();
    return tap_done();
}
