/* internal.h: the structures that the files of an execution share. Internal to engine/execution.
 *
 * An execution is a pair: a memory, that of the host or of a device, and a communicator, by which
 * it shares each batch with others: NCCL among GPUs, MPI among processes that compute in host
 * memory, or none. A memory computes the passes of one micro-batch (passes.c) and has their
 * results; a communicator calls its memory, and combines the results of all. Neither depends on
 * another one: execution.c calls the communicator's function, where it has one, or else the
 * memory's.
 */
#ifndef TINCA_ENGINE_EXECUTION_INTERNAL_H
#define TINCA_ENGINE_EXECUTION_INTERNAL_H

#include "base/threads/pool.h"
#include "engine/execution/execution.h"

struct memory_device;     /* private to memory_device.c */
struct communicator_nccl; /* private to communicator_nccl.c */
struct communicator_mpi;  /* private to communicator_mpi.c */
struct host_fallback;     /* private to host_fallback.c */

/* A chain of steps as the threads see it. */
struct execution_chain {
    const struct execution *execution;
    size_t first, end;            /* its steps */
    size_t row_blocks, row_pairs; /* of an image */
    bool is_job;                  /* else its steps run one by one */
    /* the first of chains that follow each other: how many they are, and the step after them */
    size_t sequence_jobs, sequence_end;
};

/* Values that are computed from the weights, and recomputed once the weights have changed. */
struct derived_weights {
    char *prepared;            /* prepared memory of the kernels; NULL: none */
    uint64_t prepared_version; /* version of the weights that it was prepared from */
    float *rounded;            /* the weights, rounded to their grid (rounding.c); or NULL */
    uint64_t rounded_version;  /* version of the weights that were rounded; 0: none */
};

struct execution {
    const struct execution_memory *memory;
    const struct execution_communicator *communicator; /* NULL: this process and device alone */
    const struct plan *plan;
    struct device *device;
    struct weights *weights;
    struct solver_settings solver;
    struct gradient_clipping clipping;
    const struct parameter_groups *groups; /* NULL: one group with all weights */
    uint64_t solver_step;
    char *block; /* one allocation for the device arrays that follow; NULL in host memory */
    size_t block_used;
    char *arena;
    struct derived_weights derived;
    float *gradients; /* gradients of the parameters, laid out as the learnable weights;
                         with several processes, those of each subtree (batch_subtrees.h) */
    float *state[2];
    struct kernel_site *sites;      /* by step: the plan's, with the size of the bound batch */
    struct kernel_call *calls;      /* in execution order; values, labels and iteration change */
    struct execution_chain *chains; /* by their first step (chains.c) */
    struct pool_job *jobs;          /* of chains; a sequence begins at its first step */
    bool *runs;              /* by step: it has a kernel, whose inputs and labels the batch has */
    float **values;          /* by node: its output in the forward pass */
    float **backward_values; /* by node: its output in the backward pass */
    struct execution_batch batch; /* the bound batch, in device memory */
    struct profile *profile;
    uint64_t call_start;            /* host: when the measured call began (clock_nanoseconds) */
    struct host_fallback *fallback; /* NULL: every node runs on the device */
    struct memory_device *on_device;
    struct communicator_nccl *nccl;
    struct communicator_mpi *mpi;
    struct execution *rank0; /* other GPUs of this process: the execution of the first; else NULL */
};

/* --- memory_host.c, memory_device.c --- */

/* Functions named as in execution.h do the same for one micro-batch; NULL, where that is allowed,
 * means that there is nothing to do. */
struct execution_memory {
    /* Allocates the block of device memory from which arena and gradients are taken. May be NULL.
     */
    bool (*reserve)(struct execution *execution, struct error *error);
    /* Allocates the rest, once arena, gradients and calls are set up. May be NULL. */
    bool (*create)(struct execution *execution, struct error *error);
    /* Frees what was allocated, also if reserve or create has failed. */
    void (*free)(struct execution *execution);

    void (*bind)(struct execution *execution, const struct execution_batch *batch);
    void (*forward)(struct execution *execution, uint64_t iteration);
    void (*backward)(struct execution *execution);
    void (*update)(struct execution *execution, float learning_rate);
    /* Is NULL if the passes and the update are called one after the other, as with a profile. */
    float (*iterate)(struct execution *execution, uint64_t iteration, float learning_rate);
    void (*wait)(struct execution *execution); /* may be NULL */
    const float *(*output)(const struct execution *execution);
    const float *(*gradients)(const struct execution *execution);
    float *(*solver_state)(struct execution *execution, size_t which);
    bool (*fetch)(struct execution *execution, struct error *error); /* may be NULL */
    void (*touch)(struct execution *execution);
    void (*mix_gradients)(struct execution *execution, const float *more, float scale);

    /* Returns the values of a loss in host memory, for each image of the micro-batch or, if the
     * device gathers them, of all. */
    const float *(*losses)(const struct execution *execution, size_t loss);
    /* Returns whether values[0..count) in device memory are all finite. */
    bool (*all_finite)(const struct execution *execution, const float *values, size_t count);
    /* Waits until it is known whether the last update was skipped. May be NULL. */
    void (*settle)(struct execution *execution);
    /* Returns how the loss is scaled; scale 0: it is not. NULL: it never is. */
    struct loss_scale *(*loss_scale)(struct execution *execution);
    struct recording_refusals (*refusals)(const struct execution *execution); /* may be NULL */
    void (*record_passes)(struct execution *execution);                       /* may be NULL */

    /* With a profile, measure every kernel call, and add the measurements at the end of a pass,
     * which may be NULL. */
    void (*begin_call)(struct execution *execution);
    void (*end_call)(struct execution *execution, size_t node, bool backward);
    void (*end_pass)(struct execution *execution);
};

extern const struct execution_memory memory_host, memory_device;

/* --- communicator_mpi.c, communicator_nccl.c --- */

/* Functions named as in execution.h do the same for all ranks of this process; NULL: the memory's
 * function is used. */
struct execution_communicator {
    /* Allocates what it needs, once the memory has. */
    bool (*create)(struct execution *execution, uint64_t seed, struct error *error);
    /* Ends what uses the memory, also if create has failed. Returns false if something may still
     * use it: then nothing is freed. */
    bool (*stop)(struct execution *execution);
    void (*free)(struct execution *execution); /* once the memory is freed */
    bool (*join)(struct execution *execution, struct error *error);
    void (*set_sums)(struct execution *execution, const struct gradient_sums *sums);

    void (*bind)(struct execution *execution, const struct execution_batch *batch);
    void (*forward)(struct execution *execution, uint64_t iteration);
    void (*backward)(struct execution *execution);
    void (*update)(struct execution *execution, float learning_rate);
    float (*iterate)(struct execution *execution, uint64_t iteration, float learning_rate);
    void (*wait)(struct execution *execution);
    const float *(*output)(const struct execution *execution);
    void (*touch)(struct execution *execution);
    /* Returns the sum of a loss over the whole batch. */
    float (*loss_sum)(const struct execution *execution, size_t loss);
    /* Does what execution_run_until_not_finite does, for the micro-batches of this process. */
    size_t (*find_not_finite)(struct execution *execution, uint64_t iteration, bool *in_weights);
};

extern const struct execution_communicator communicator_mpi, communicator_nccl;

/* A range of neighbouring gradients that is sent as one message. */
struct gradient_bucket {
    size_t first, count; /* values of the gradients */
    size_t entry;        /* of the plan's order: after it, the sum may start */
};

/* Fills buckets[] with the smallest possible ones, in the order in which they are sent: one for
 * each learnable parameter of the graph. Returns their number, which is at most
 * graph->parameter_count. */
size_t gradient_buckets_divide(const struct plan *plan, struct gradient_bucket *buckets);

/* Joins neighbours until each bucket has `bytes` at least, except the last, and those that may
 * start after the same entry. Returns the new number. */
size_t gradient_buckets_join(struct gradient_bucket *buckets, size_t count, size_t bytes);

/* --- passes.c --- */

/* Returns an execution; `rank0` is that of the first GPU of this process, or NULL. Returns NULL
 * with an error if out of memory or the device failed. */
struct execution *execution_make(const struct execution_memory *memory,
                                 const struct execution_communicator *communicator,
                                 const struct plan *plan, struct device *device,
                                 struct weights *weights, const struct solver_settings *solver,
                                 uint64_t seed, struct execution *rank0, struct error *error);

/* Returns device memory, from execution->block if it exists, otherwise newly allocated; NULL with
 * an error. */
void *execution_take(struct execution *execution, size_t bytes, const char *what,
                     struct error *error);

/* Moves the gradients to another array, which the caller owns, and releases the one that they had.
 * The device computes in the host's memory. */
void execution_move_gradients(struct execution *execution, float *to);
/* Binds a batch that is in device memory. */
void execution_set_batch(struct execution *execution, const struct execution_batch *batch);
/* Returns whether two batches have as many images, and their arrays the same addresses. */
bool execution_same_arrays(const struct execution_batch *a, const struct execution_batch *b);
/* Returns whether a node can be computed: a prediction has no labels or targets for its losses. */
bool execution_can_run(const struct execution *execution, const struct node *node);

/* Compute a pass, or enqueue it on a device that works asynchronously. */
void execution_run_forward(struct execution *execution, uint64_t iteration);
void execution_run_backward(struct execution *execution);
/* Computes the backward pass, and calls done() after each entry of the plan's order. */
void execution_run_backward_steps(struct execution *execution,
                                  void (*done)(struct execution *execution, size_t entry));
void execution_run_update(struct execution *execution, float learning_rate, uint64_t step);

/* Runs the forward pass step by step. Returns the first step whose output or parameters are not
 * finite for the images on this device, and sets *in_weights if it is the parameters; PLAN_NONE if
 * all are finite. */
size_t execution_run_until_not_finite(struct execution *execution, uint64_t iteration,
                                      bool *in_weights);

/* --- chains.c: a chain of steps is one job of the thread pool (plan/step_order.c), and chains that
 * follow each other are one sequence of jobs --- */

/* Sets execution->chains and execution->jobs for a new batch: which chains can run, and the row
 * blocks into which they divide an image, which change only if the batch has a new size. */
void chains_set(struct execution *execution, bool new_size);

/* Runs the chain that begins with step `first`, and those of its sequence after it. Returns the
 * next step. */
size_t chains_run(const struct execution *execution, size_t first);

/* --- image_blocks.c: sums in the tree of blocks of images --- */

/* Returns the sum of the losses of blocks[begin..begin + count) of a batch, in their tree. */
float execution_sum_losses(const float *losses, size_t batch, size_t blocks, size_t begin,
                           size_t count);

/* Runs a pass of a step that is marked by_blocks, and adds the gradients of its parameters. */
void image_blocks_run(const struct execution *execution, const struct plan_step *step,
                      enum plan_pass pass, const struct kernel_call *call);

/* --- rounding.c --- */

/* Allocates the rounded weights if the plan needs them. Returns false with an error if memory runs
 * out. */
bool int8_weights_create(struct execution *execution, struct error *error);
void int8_weights_free(struct execution *execution);

/* Returns where kernels read a parameter: in the copy, or in `weights`. */
float *int8_weights_at(const struct execution *execution, const struct parameter *parameter,
                       float *weights);

/* Rounds the weights if they have changed. */
void int8_weights_round(struct execution *execution);

/* Sets the gradients of weights beyond their range to 0. */
void int8_weights_mask(struct execution *execution);

/* Copies the operands of a call to the workspace, rounded as step->rounding says, and makes the
 * call read the copies. */
void rounding_copy_operands(const struct execution *execution, const struct plan_step *step,
                            struct kernel_call *call);

/* Rounds the results of the forward or the backward pass of a step. */
void rounding_round_results(const struct execution *execution, const struct plan_step *step,
                            enum plan_pass pass, const struct kernel_call *call);

/* --- host_fallback.c: nodes for which the device has no kernel (plan/fallback.h) run on the host
 * --- */

/* Allocates the host memory for the nodes of the plan that fall back; borrows plan and device.
 * Returns NULL with an error if out of memory. Create one only if
 * fallback_host_bytes(plan) > 0. */
struct host_fallback *host_fallback_create(const struct plan *plan, struct device *device,
                                           struct error *error);
void host_fallback_free(struct host_fallback *fallback); /* may be NULL */

/* Runs one pass of a node that falls back: copies its inputs to the host, runs the reference
 * kernel, and copies the results back. `call` has the arguments that a kernel of the device would
 * get, with pointers into the device's memory; `saved` and `workspace` are not used. Does nothing
 * if the device has failed; device_check reports that. */
void host_fallback_run(struct host_fallback *fallback, const struct plan_order_entry *entry,
                       const struct kernel_call *call);

#endif
