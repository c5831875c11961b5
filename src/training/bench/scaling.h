/* scaling.h: the time of a training iteration in several processes, measured and by a model.
 *
 * The model for N ranks that share a batch of B images has three parts, log2 N being rounded up:
 *
 *   - compute: forward and backward pass and update of B / N images, a fixed time and one for each
 *   - gathers of the statistics of batch norms and of the losses: each log2 N x gather
 *   - the sum of the gradients: 2 log2 N x latency + 2 (N - 1) / N x bytes x seconds_per_byte
 *
 * The last part is the cost of a reduce-scatter and an all-gather of Thakur, Rabenseifner, Gropp,
 * "Optimization of Collective Communication Operations in MPICH", 2005. It counts nothing as
 * overlapped: by default the gradients are added after the backward pass (--bucket).
 *
 * All parameters are measured, with MPI's collectives and iterations on synthetic batches. Ranks of
 * one host exchange through memory that they share; its parameters are measured as well, and
 * predict the measured iteration, while those of MPI predict other clusters. Times are seconds.
 */
#ifndef TINCA_TRAINING_BENCH_SCALING_H
#define TINCA_TRAINING_BENCH_SCALING_H

#include "base/error.h"
#include "engine/cluster/cluster.h"
#include "models/measure/turns.h"
#include "training/bench/bench.h"

#include <stdbool.h>
#include <stddef.h>

/* The cost of messages between ranks. */
struct scaling_link {
    double latency;          /* of a step of a sum */
    double seconds_per_byte; /* for the bytes that a rank sends, additions included */
    double gather;           /* a step of a gather of a few bytes */
};

/* The measurements. Only rank 0 has all of them; the values of other ranks are undefined. */
struct scaling {
    char network[NETWORK_SHORT_NAME];
    enum technique technique;
    size_t ranks, hosts, threads; /* threads: of rank 0 */
    size_t batch;                 /* images of all ranks */
    size_t gradients;             /* values that are added in an iteration */
    size_t gathers;               /* gathers of an iteration */
    double one;   /* an iteration of the whole batch in one process; 0: it does not fit */
    double whole; /* the same with `whole_threads` threads; 0: it does not fit, or has as many
                     threads as `one` */
    size_t whole_threads; /* threads of all ranks on rank 0's host, at most one for each of their
                             cores */
    double share_alone;   /* an iteration of B / N images in one process, the others idle */
    double share;         /* the same in all ranks at once, without messages: the slowest */
    double together;      /* an iteration of all ranks: the slowest */
    struct scaling_link link; /* of MPI */
    bool shared;              /* the measured ranks exchange through memory that they share */
    struct scaling_link here; /* of the shared memory or the MPI between the measured ranks */
    /* turns, in ms, of iterations of all ranks and of the faster of `one` and `whole`; blocks 0:
     * none were taken, or the batch does not fit into one process */
    struct turns turns;
};

/* Measures iterations in a few rounds, of which the shortest count, for the model; and blocks of
 * turns, for the verdict about all ranks and one process. All ranks call it with equal settings,
 * whose batch is that of all ranks; the settings' cluster has two ranks or more. Returns false with
 * an error. */
bool scaling_measure(const struct bench_settings *settings, struct scaling *scaling,
                     struct error *error);

/* Measures only `together`, `whole` and `one`, once, as scaling_measure does: without turns these
 * allow no verdict. */
bool scaling_compare(const struct bench_settings *settings, struct scaling *scaling,
                     struct error *error);

/* Returns the predicted time of an iteration of the measured ranks, which does not use `together`.
 */
double scaling_predict_measured(const struct scaling *scaling);

/* Returns the predicted time of an iteration if each of `ranks` ranks has a host like that of rank
 * 0, and messages cost `link`. */
double scaling_predict(const struct scaling *scaling, size_t ranks,
                       const struct scaling_link *link);

/* Returns the shorter of the times `one` and `whole`, and sets *threads to its threads. Returns 0
 * if the batch fits neither way. A small network may be faster with few threads. */
double scaling_fastest_one(const struct scaling *scaling, size_t *threads);

/* Returns the time of an iteration of the whole batch in one process: measured, or predicted if it
 * does not fit. */
double scaling_one(const struct scaling *scaling);

/* Returns the cost of messages between hosts: the measured cost within one host, which is that of
 * software and memory, plus the network's latency in seconds and its bits per second. */
struct scaling_link scaling_network(const struct scaling *scaling, double latency,
                                    double bits_per_second);

#endif
