/* inspection.h: measurements inside a run: the time of each layer, the matrix products, the arena
 * of the plan, and statistics of the weights.
 *
 * The worker makes an inspection on demand and at the end of a run (training/inspector.c),
 * and never changes it afterwards. It has plain values only, so it outlives its run. The last one
 * is saved in the run's folder as profile.json. Times and FLOPs are sums over the iterations that
 * were measured.
 */
#ifndef TINCA_RUNS_FOLDER_INSPECTION_H
#define TINCA_RUNS_FOLDER_INSPECTION_H

#include "base/error.h"
#include "base/json/json.h"
#include "engine/graph/tensor.h"
#include "engine/plan/plan.h"
#include "engine/profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INSPECTION_NAME_SIZE = NODE_NAME_SIZE + 16, INSPECTION_BINS = 32, INSPECTION_NETWORKS = 2 };

struct inspection_layer {
    char name[NODE_NAME_SIZE], op[32], kernel[PLAN_KERNEL_NAME_SIZE];
    char choice[PLAN_CHOICE_SIZE]; /* why this kernel was chosen, and why faster ones refused */
    struct shape output;           /* shape for one image */
    uint64_t memory_bytes; /* its output for a batch and what it saves for the backward pass; 0: it
                              works in place, in another layer's output */
    double forward_seconds, backward_seconds;
    double forward_flops, backward_flops; /* as graph_flops counts them */
};

/* One array of weights, at the first measured iteration. */
struct inspection_tensor {
    char name[INSPECTION_NAME_SIZE]; /* "conv1.weight" */
    uint64_t count, rank;
    bool learnable;                      /* false: a running statistic */
    double mean, deviation, low, high;   /* statistics of the finite values */
    uint64_t histogram[INSPECTION_BINS]; /* low..high in equal steps */
    double norm;                         /* L2, before the step */
    double gradient_norm;                /* NaN: it has no gradient */
    double update_norm;                  /* norm of the step's change; NaN: not measured */
};

/* A block of the arena: see struct plan_array. */
struct inspection_array {
    char name[NODE_NAME_SIZE];
    enum plan_array_kind kind;
    uint64_t offset, bytes, first, last;
};

/* The memory of one plan. */
struct inspection_arena {
    char name[32];  /* "network", "generator", "discriminator", or "judging": the same, frozen */
    uint64_t steps; /* steps of the forward pass */
    uint64_t times; /* steps of the execution order: see struct plan_array */
    uint64_t bytes;
    uint64_t workspace; /* bytes of its last part, which all steps share */
    struct inspection_array *arrays;
    size_t array_count;
};

struct inspection_network {
    char name[32]; /* "network", or "generator" and "discriminator" */
    struct inspection_layer *layers;
    size_t layer_count;
    struct gemm_row *gemm; /* most seconds first; seconds are summed over threads */
    size_t gemm_count;
    struct inspection_tensor *tensors;
    size_t tensor_count;
};

struct inspection {
    uint64_t iteration;  /* the first one measured, from 1 */
    uint64_t iterations; /* how many were measured */
    uint64_t images;     /* in all of them */
    uint64_t threads;
    bool after_end; /* the iteration was the run's last and was repeated, `iterations` times,
                       without an effect on what the run saved */
    double seconds; /* duration of the training steps, without the wait for data */
    double cost;    /* seconds that the inspection delayed the run */
    /* The reason why the driver refused CUDA graphs, since the run or its last part began; "": it
     * did not refuse any. Then the number of refused graphs and of passes without one, as in struct
     * recording_refusals. */
    char graph_refused[128];
    uint64_t graphs_refused, passes_without_graph;
    size_t network_count, arena_count;
    struct inspection_network networks[INSPECTION_NETWORKS];
    struct inspection_arena arenas[INSPECTION_NETWORKS + 1];
};

void inspection_free(struct inspection *inspection); /* may be NULL */

/* Returns update norm / norm; NaN if one of them is unknown or the norm is 0. */
double inspection_update_ratio(const struct inspection_tensor *tensor);

/* Returns the GFLOP/s of a layer; NaN if it has no FLOPs or took no time. */
double inspection_gflops(const struct inspection_layer *layer);

/* --- profile.json --- */

/* Returns the inspection as JSON; NULL if out of memory. */
struct json *inspection_to_json(const struct inspection *inspection);
struct inspection *inspection_from_json(const struct json_document *document, struct error *error);

/* Adds the part that a session file has: layers and matrix products. */
struct json *inspection_profile(const struct inspection *inspection);

/* Write and read profile.json of a run's folder. Reading returns NULL with error->kind ERROR_NONE
 * if there is none. */
bool inspection_save(const struct inspection *inspection, const char *directory,
                     struct error *error);
struct inspection *inspection_load(const char *directory, struct error *error);

#endif
