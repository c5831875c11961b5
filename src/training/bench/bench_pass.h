/* bench_pass.h: derives from a benchmark's profile, for each layer, the time of its passes, the
 * work that they do, and the time that the device's limits allow (engine/plan/roofline.h).
 */
#ifndef TINCA_TRAINING_BENCH_BENCH_PASS_H
#define TINCA_TRAINING_BENCH_BENCH_PASS_H

#include "engine/plan/roofline.h"
#include "training/bench/bench.h"

#include <stdbool.h>

/* All passes of one direction through a layer in one iteration, or a sum of such passes. */
struct bench_pass {
    double seconds;
    struct roofline_work work;
    /* The shortest time by the roofline, in seconds. NaN: the limits are unknown, as for integers,
     * since the peak is measured in float32. */
    double attainable;
    enum roofline_limit limit; /* NONE: no work, unknown limits, or a sum */
};

/* Fill *pass for one layer. `part` is a part of `bench` with a profile. Return false if nothing was
 * executed: a view, a layer without gradient, inference. */
bool bench_forward(const struct bench *bench, const struct bench_part *part,
                   const struct plan_step *step, struct bench_pass *pass);
bool bench_backward(const struct bench *bench, const struct bench_part *part,
                    const struct plan_step *step, struct bench_pass *pass);

/* Fills *pass with the solver's updates of one network. Returns false for inference. */
bool bench_update(const struct bench *bench, const struct bench_part *part,
                  struct bench_pass *pass);

/* Returns whether some pass computes with integers of 8 bits. */
bool bench_has_int8(const struct bench *bench);

/* Returns the median iteration without profile, with the work of all networks. */
struct bench_pass bench_whole(const struct bench *bench);

/* Return a figure of a pass, or NaN if it is unknown. */
double bench_pass_gflops(const struct bench_pass *pass);        /* 10^9 FLOPs per second */
double bench_pass_of_attainable(const struct bench_pass *pass); /* percent of the roofline */

/* Returns the percentage of the profiled iteration's time. */
double bench_pass_share(const struct bench *bench, const struct bench_pass *pass);

/* Returns the FLOPs per second as a percentage of those of a matrix product. */
double bench_pass_of_sgemm(const struct bench *bench, const struct bench_pass *pass);

#endif
