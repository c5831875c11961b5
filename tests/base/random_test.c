/* Compares Philox with the known answers of its authors' library (Random123, kat_vectors), and
 * checks the properties that the program relies on. */
#include "base/random.h"
#include "tap.h"

#include <math.h>
#include <string.h>

static void test_known_answers(void)
{
    /* philox4x32, 10 rounds: all counters and keys zero */
    struct random_block zero = random_philox(0, (enum random_purpose)0, 0, 0);
    const uint32_t expected[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    tap_ok(memcmp(zero.word, expected, sizeof expected) == 0, "philox of zeros");
    /* all bits set */
    struct random_block ones =
        random_philox(UINT64_MAX, (enum random_purpose)0xffffffffu, 0xffffffffu, UINT64_MAX);
    const uint32_t expected_ones[] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    tap_ok(memcmp(ones.word, expected_ones, sizeof expected_ones) == 0, "philox of ones");
}

static void test_gaussian(void)
{
    static float values[100001], again[100001];
    random_fill_gaussian(7, RANDOM_TEST, 1, 0, 2, 3, values, 100001);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < 100001; i++) {
        sum += values[i];
        squares += (double)values[i] * values[i];
    }
    double mean = sum / 100001, variance = squares / 100001 - mean * mean;
    tap_ok(fabs(mean - 2) < 0.04, "gaussian mean %g is about 2", mean);
    tap_ok(fabs(sqrt(variance) - 3) < 0.04, "gaussian deviation %g is about 3", sqrt(variance));
    random_fill_gaussian(7, RANDOM_TEST, 1, 0, 2, 3, again, 40000);
    random_fill_gaussian(7, RANDOM_TEST, 1, 40000, 2, 3, again + 40000, 60001);
    tap_ok(memcmp(values, again, sizeof values) == 0, "filled in pieces gives the same bits");
    random_fill_gaussian(8, RANDOM_TEST, 1, 0, 2, 3, again, 100001);
    tap_ok(memcmp(values, again, sizeof values) != 0, "a different seed gives different values");
}

static void test_stream(void)
{
    struct random_stream stream = random_stream_at(3, RANDOM_TEST, 0, 0);
    size_t counts[7] = {0};
    bool in_range = true;
    for (size_t i = 0; i < 70000; i++) {
        uint32_t value = random_next_below(&stream, 7);
        in_range = in_range && value < 7;
        counts[value % 7]++;
    }
    bool even = true;
    for (size_t i = 0; i < 7; i++)
        even = even && counts[i] > 9600 && counts[i] < 10400;
    tap_ok(in_range && even, "draws below 7 stay below 7 and are evenly spread");
    struct random_stream units = random_stream_at(3, RANDOM_TEST, 1, 0);
    bool unit = true;
    for (size_t i = 0; i < 10000; i++) {
        float value = random_next_unit(&units);
        unit = unit && value >= 0 && value < 1;
    }
    tap_ok(unit, "unit draws lie in [0, 1)");
}

static void test_permutation(void)
{
    enum { COUNT = 1000 };
    uint32_t a[COUNT], b[COUNT];
    bool seen[COUNT] = {false};
    random_permutation(5, RANDOM_ORDER, 0, a, COUNT);
    random_permutation(5, RANDOM_ORDER, 1, b, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        seen[a[i]] = true;
    bool complete = true;
    for (size_t i = 0; i < COUNT; i++)
        complete = complete && seen[i];
    tap_ok(complete, "a permutation has every number");
    tap_ok(memcmp(a, b, sizeof a) != 0, "another epoch has another order");
}

TEST_CASE(random_test)
{
    test_known_answers();
    test_gaussian();
    test_stream();
    test_permutation();
    return tap_done();
}
