/* The remaining time of made-up runs: it follows the last minute. */
#include "runs/values/pace.h"

#include "tap.h"

#include <math.h>

/* Adds `count` iterations of `each` seconds. */
static void add(struct pace *pace, double *seconds, uint64_t *iteration, size_t count, double each)
{
    for (size_t i = 0; i < count; i++)
        pace_add(pace, *seconds += each, ++*iteration);
}

static bool is_near(double value, double expected)
{
    return fabs(value - expected) <= 0.02 * expected;
}

static void test_changes(void)
{
    struct pace pace = {0};
    double seconds = 0;
    uint64_t iteration = 0;
    tap_ok(pace_remaining(&pace, 10) < 0, "nothing is known of a run without iterations");
    add(&pace, &seconds, &iteration, 1, 30);
    tap_ok(pace_remaining(&pace, 10) < 0, "nor of one with one, which may have been slow");
    add(&pace, &seconds, &iteration, 3600, 1);
    tap_ok(is_near(pace_remaining(&pace, 1000), 1000), "an hour at a second an iteration");
    add(&pace, &seconds, &iteration, 7000, 0.01);
    tap_ok(is_near(pace_remaining(&pace, 1000), 10), "fast since 70 s: the fast pace counts");
    add(&pace, &seconds, &iteration, 30, 1);
    const double mixed = pace_remaining(&pace, 1000);
    tap_ok(mixed > 15 && mixed < 30, "slow again for 30 s: both halves of the minute count");
}

static void test_parts(void)
{
    struct pace pace = {0};
    double seconds = 0;
    uint64_t iteration = 0;
    for (int epoch = 0; epoch < 20; epoch++) {
        add(&pace, &seconds, &iteration, 100, 0.05);
        seconds += 5; /* a validation and a checkpoint, between two iterations */
    }
    add(&pace, &seconds, &iteration, 1, 0.05);
    tap_ok(is_near(pace_remaining(&pace, 1000), 100), "validations and checkpoints are included");
    pace = (struct pace){0};
    add(&pace, &seconds, &iteration, 5, 300);
    tap_ok(is_near(pace_remaining(&pace, 2), 600), "iterations longer than a minute have a pace");
    const uint64_t before = iteration;
    pace_add(&pace, seconds, iteration - 3);
    tap_ok(pace_remaining(&pace, 2) < 0 && before > 3,
           "an iteration that is computed again begins the measurement again");
}

TEST_CASE(pace_test)
{
    test_changes();
    test_parts();
    return tap_done();
}
