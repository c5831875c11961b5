/* bench_pass.h: what a benchmark's profile says of each layer: the time of its passes against the
 * work that they do and the limits of the device (engine/plan/roofline.h).
 */
#ifndef TINCA_SESSION_MEASURE_BENCH_PASS_H
#define TINCA_SESSION_MEASURE_BENCH_PASS_H

#include "engine/plan/roofline.h"
#include "session/measure/bench.h"

#include <stdbool.h>

/* All passes of one direction through a layer in an iteration, or the sum of several such. */
struct bench_pass {
    double seconds;
    struct roofline_work work;
    double attainable;         /* seconds, at the least; NaN: the limits are not measured */
    enum roofline_limit limit; /* NONE: no work, no limits, or a sum */
};

/* Each is false where nothing was executed: a view, a layer that learns nothing, inference. `part`
 * is of `bench` and has a profile. */
bool bench_forward(const struct bench *bench, const struct bench_part *part,
                   const struct plan_step *step, struct bench_pass *pass);
bool bench_backward(const struct bench *bench, const struct bench_part *part,
                    const struct plan_step *step, struct bench_pass *pass);
/* The solver's steps. */
bool bench_update(const struct bench *bench, const struct bench_part *part,
                  struct bench_pass *pass);

/* The median iteration as it ran without a profile, with all work of all networks. */
struct bench_pass bench_whole(const struct bench *bench);

/* Each is NaN where it is not known or there is nothing to divide. The share is of the iteration
 * while it was profiled; the rate of a matrix product is compared with FLOPs a second. In percent.
 */
double bench_pass_gflops(const struct bench_pass *pass);
double bench_pass_share(const struct bench *bench, const struct bench_pass *pass);
double bench_pass_of_attainable(const struct bench_pass *pass);
double bench_pass_of_sgemm(const struct bench *bench, const struct bench_pass *pass);

#endif
