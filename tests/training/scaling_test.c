/* Checks the scaling model (scaling.h) against values that were computed by hand. */
#include "tap.h"

#include "training/bench/scaling.h"

#include <math.h>

/* Two ranks: an iteration of 64 images takes 0.2 s and 12.5 ms for each image; messages of MPI 1 ms
 * a step, 10 ns a byte, and 2 ms for a gather, shared memory a tenth of that. */
static const struct scaling measured = {.ranks = 2,
                                        .hosts = 1,
                                        .batch = 64,
                                        .gradients = 1000,
                                        .gathers = 3,
                                        .one = 1.0,
                                        .share_alone = 0.6,
                                        .share = 0.7,
                                        .link = {1e-3, 1e-8, 2e-3},
                                        .shared = true,
                                        .here = {1e-4, 1e-9, 2e-4}};

static bool is_near(double a, double b)
{
    return fabs(a - b) < 1e-12;
}

TEST_CASE(scaling_test)
{
    struct scaling large = measured;
    large.one = 0;
    const struct scaling_link network = scaling_network(&measured, 5e-4, 8e9);

    tap_ok(is_near(scaling_predict_measured(&measured), 0.7 + 3 * 2e-4 + 2e-4 + 4000 * 1e-9),
           "the measured ranks share memory: one step of each gather, two of the sum, half the "
           "bytes twice");
    tap_ok(is_near(scaling_predict(&measured, 4, &measured.link),
                   0.4 + 2 * 3 * 2e-3 + 4 * 1e-3 + 1.5 * 4000 * 1e-8),
           "four ranks: two steps, three quarters of the bytes twice, 16 images");
    tap_ok(is_near(scaling_predict(&measured, 1, &measured.link), 1.0), "one rank sends nothing");
    tap_ok(is_near(scaling_predict(&measured, 3, &measured.link),
                   0.2 + 0.0125 * 64 / 3 + 2 * 3 * 2e-3 + 4 * 1e-3 + 4.0 / 3 * 4000 * 1e-8),
           "three ranks need two steps");
    tap_ok(is_near(scaling_one(&measured), 1.0), "one process as measured");
    tap_ok(is_near(scaling_one(&large), 1.2), "or twice as long as half the batch");
    tap_ok(is_near(network.latency, 1.5e-3) && is_near(network.gather, 2.5e-3) &&
               is_near(network.seconds_per_byte, 1.1e-8),
           "a network adds its latency and its bytes");
    return tap_done();
}
