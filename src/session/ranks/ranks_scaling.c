/* Measures before a run how long this many processes and one take. Two iterations of each are no
 * turns (turns.h), so that they give a hint and no verdict. */
#include "engine/devices/rank_device.h"
#include "session/config/settings.h"
#include "session/ranks/ranks_internal.h"

#include <stdio.h>

enum { COMPARED_ITERATIONS = 2 };

bool ranks_measure_scaling(struct cluster *cluster, const struct run_config *config,
                           struct scaling *scaling)
{
    struct error error;
    char device[DEVICE_NAME_SIZE];
    if (!rank_device_choose(cluster, machine_settings(config).device, device, &error))
        return false;
    struct bench_settings settings = bench_settings_of(config);
    settings.device = device;
    settings.iterations = COMPARED_ITERATIONS;
    settings.batch = training_settings(config).batch;
    settings.cluster = cluster;
    return scaling_compare(&settings, scaling, &error);
}

void ranks_compare_with_one(struct cluster *cluster, const struct run_config *config, char *text,
                            size_t size)
{
    struct scaling scaling;
    struct ranks_command compare = {.order = RANKS_COMPARE};
    struct run_config copy = *config;
    size_t threads;
    text[0] = '\0';
    if (!cluster || !cluster_broadcast(cluster, &compare, sizeof compare) ||
        !cluster_broadcast(cluster, &copy, sizeof copy) ||
        !ranks_measure_scaling(cluster, &copy, &scaling))
        return;
    const double one = scaling_fastest_one(&scaling, &threads);
    if (one == 0 || scaling.together < one)
        return;
    snprintf(
        text, size,
        "an iteration of %zu images took %.3g ms in %zu processes and %.3g ms in one process "
        "with %zu thread%s: not comparable: measured at different times; tinca bench --cluster "
        "takes turns and says whether data parallelism pays here",
        scaling.batch, 1e3 * scaling.together, scaling.ranks, 1e3 * one, threads,
        threads == 1 ? "" : "s");
}
