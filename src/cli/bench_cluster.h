/* bench_cluster.h: tinca bench --cluster: how a training iteration scales over processes, measured
 * and by the model of session/measure/scaling.h. */
#ifndef TINCA_CLI_BENCH_CLUSTER_H
#define TINCA_CLI_BENCH_CLUSTER_H

#include "session/config/config.h"
#include "session/measure/bench.h"

/* Measures with all ranks of the launcher, and prints the result on rank 0. `ranks` is the value of
 * --ranks. Returns the exit status. */
int bench_cluster_run(const struct run_config *config, struct bench_settings *settings,
                      size_t ranks, bool as_json);

#endif
