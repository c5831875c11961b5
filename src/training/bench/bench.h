/* bench.h: measures how long an iteration takes, on synthetic batches.
 *
 * A training iteration is forward pass, loss, backward pass and update, with SGD (rate 0.001,
 * momentum 0.9, weight decay 0.0005). A network with a discriminator trains as in gan.h, with one
 * step of both networks and Adam (rate 0.0002, beta1 0.5, main loss x 100). An inference is a
 * forward pass alone. The batch is drawn once, from the counter-based generator; nothing is read
 * from files and nothing is prepared while the time is measured.
 */
#ifndef TINCA_TRAINING_BENCH_BENCH_H
#define TINCA_TRAINING_BENCH_BENCH_H

#include "base/error.h"
#include "engine/cluster/cluster.h"
#include "engine/devices/device.h"
#include "engine/execution/gan.h"
#include "engine/network/network.h"
#include "engine/plan/plan.h"
#include "engine/profile/profile.h"
#include "models/measure/energy_meter.h"
#include "runs/settings/config.h"
#include "runs/values/statistics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_settings {
    struct network_request network;
    const char *device; /* with a cluster, that of this rank (rank_device.h) */
    size_t threads;     /* 0: all cores */
    enum plan_mode mode;
    bool infers_int8;  /* infer, whatever `mode` says, if int8 is chosen or the network quantized */
    size_t batch;      /* 0: 32 to train, 1 to infer or to train with a discriminator */
    size_t iterations; /* 0: 10 to train, 50 to infer */
    uint64_t seed;
    bool strict_device;    /* see plan.h */
    uint64_t memory_limit; /* limit for training, see plan.h; 0: none */
    enum device_precision precision;
    bool precision_chosen;   /* else a quantized network infers in int8 where the device can */
    size_t image_blocks;     /* see plan.h */
    struct cluster *cluster; /* the processes that share the batch, which all call bench_run at the
                                same time; NULL: there are no others */
    bool profile; /* afterwards repeat the iterations with a profile attached, which costs a little
                     time */
    bool limits;  /* and measure the limits of the device, which costs a second */
};

/* One of the networks and the time that it took. */
struct bench_part {
    const struct graph *graph; /* NULL: there is no such network */
    const struct plan *plan;
    const struct plan *frozen_discriminator; /* the second plan of a discriminator, or NULL */
    struct profile *profile;                 /* NULL unless bench_settings.profile */
};

/* The results, and the plans and networks that were measured. */
struct bench {
    struct network *network;
    struct device *device;
    struct plan *plan;        /* plan of a network without a discriminator, or NULL */
    struct gan_plan gan_plan; /* plans of a network with a discriminator, or {0} */
    struct bench_part main, discriminator;
    enum plan_mode mode;
    enum device_precision precision;
    bool assumed_ranges; /* the network was quantized for this bench */
    size_t batch;        /* images that this process computes in an iteration */
    size_t iterations, warm_up;
    double waited_ms; /* of an iteration: waiting for other ranks, in sums and gathers; a mean */
    struct statistics ms_per_image; /* on the device; without the copies of an inference's batch */
    /* The time of an inference's batch as its user sees it, from its images in the host's memory to
     * the answer there. */
    struct statistics latency_ms;
    double images_per_second;
    struct energy energy; /* of all timed iterations */
    struct memory_forecast memory;
    uint64_t peak_memory_bytes;  /* peak memory of the process, without profile; 0: unknown */
    char recording_refusal[128]; /* why the GPU launches each kernel by itself; "": it does not, or
                                    there is no GPU (execution.h) */
    uint64_t refused_recordings; /* CUDA graphs that it refused ... */
    uint64_t unrecorded_passes;  /* ... and passes of full batches that ran without a graph; those
                                    of the profile do not count */
    double profiled_seconds;     /* duration of an iteration with the profile attached */
    bool limits_measured;        /* with bench_settings.limits; if false, limits_error says why */
    struct device_limits limits;
    struct error limits_error;
};

/* Returns settings that train what `config` says, on the usual batch if it gives none. */
struct bench_settings bench_settings_of(const struct run_config *config);

/* Runs the benchmark. Returns false with an error; if the free memory does not suffice, the error
 * names the largest batch that fits. */
bool bench_run(const struct bench_settings *settings, struct bench *bench, struct error *error);
void bench_free(struct bench *bench);

#endif
