/* bench.h: how long an iteration takes, on synthetic batches.
 *
 * A training iteration is forward, loss, backward and update (SGD, rate 0.001, momentum 0.9, weight
 * decay 0.0005); of a network with a discriminator it is that of gan.h, both networks with a step
 * each (Adam, rate 0.0002, beta1 0.5, main loss x 100). An inference is a forward pass alone.
 * Nothing is read from files and nothing is prepared while the clock runs. The batch is drawn once,
 * from the counter-based generator.
 */
#ifndef TINCA_SESSION_MEASURE_BENCH_H
#define TINCA_SESSION_MEASURE_BENCH_H

#include "base/error.h"
#include "engine/devices/device.h"
#include "engine/devices/profile.h"
#include "engine/execution/gan.h"
#include "engine/network/network.h"
#include "engine/plan/plan.h"
#include "session/values/statistics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_settings {
    struct network_request network;
    const char *device;
    size_t threads; /* 0: all cores */
    enum plan_mode mode;
    size_t batch; /* 0: 32 to train, 1 to infer or to train with a discriminator */
    size_t iterations;
    uint64_t seed;
    uint64_t memory_limit; /* to train: see plan.h; 0: none */
    enum device_precision precision;
    bool profile; /* the same iterations once more, with a profile attached, which costs a little;
                     then the limits of the device */
};

/* One of the networks at work: where its time went. */
struct bench_part {
    const struct graph *graph;       /* NULL: there is none */
    const struct plan *plan, *judge; /* judge: of a discriminator, else NULL */
    struct profile *profile;         /* NULL unless asked for */
};

/* Everything that was measured, and what it was measured on. */
struct bench {
    struct network *network;
    struct device *device;
    struct plan *plan;        /* a network alone, or NULL */
    struct gan_plan gan_plan; /* one trained against its discriminator, or {0} */
    struct bench_part main, discriminator;
    enum plan_mode mode;
    enum device_precision precision;
    size_t batch, iterations;
    struct statistics ms_per_image;
    double images_per_second;
    struct memory_forecast memory;
    uint64_t peak_memory_bytes; /* of the process, before the profiled iterations; 0: not known */
    double profiled_seconds;    /* of an iteration with the profile attached */
    bool limits_measured;       /* else limits_error says why not; both only with a profile */
    struct device_limits limits;
    struct error limits_error;
};

/* Refuses, with the largest batch that fits, what the memory that is free would not hold. */
bool bench_run(const struct bench_settings *settings, struct bench *bench, struct error *error);
void bench_free(struct bench *bench);

#endif
