/* passes.h: runs the passes of a plan, one kernel call after the other. The backends add transfers,
 * synchronisation and collectives around them. Internal to engine/execution. */
#ifndef TINCA_ENGINE_EXECUTION_PASSES_H
#define TINCA_ENGINE_EXECUTION_PASSES_H

#include "engine/execution/backend.h"

/* Returns an execution on one device; `rank0` is the execution of the group's rank 0, or NULL.
 * Returns NULL with an error if out of memory or the device failed. */
struct execution *execution_make(const struct execution_backend *backend, const struct plan *plan,
                                 struct device *device, struct weights *weights,
                                 const struct solver_settings *solver, uint64_t seed,
                                 struct execution *rank0, struct error *error);
/* Frees an execution and its backend. */
void execution_release(struct execution *execution);

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
/* The same, and calls done() after each entry of the plan's order. */
void execution_run_backward_steps(struct execution *execution,
                                  void (*done)(struct execution *execution, size_t entry));
void execution_run_update(struct execution *execution, float learning_rate, uint64_t step);

/* Runs the forward pass step by step. Returns the first step whose output or parameters are not
 * finite for the images on this device, and sets *in_weights if it is the parameters; PLAN_NONE if
 * all are finite. */
size_t execution_run_until_not_finite(struct execution *execution, uint64_t iteration,
                                      bool *in_weights);

#endif
