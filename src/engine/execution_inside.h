/* execution_inside.h: what execution.c and execution_remote.c share. Internal to engine/.
 *
 * The latter does what is different on a device whose memory is not the host's: batches are sent,
 * results are fetched, and an iteration is recorded once and replayed.
 */
#ifndef TINCA_ENGINE_EXECUTION_INSIDE_H
#define TINCA_ENGINE_EXECUTION_INSIDE_H

#include "engine/execution.h"

struct execution_remote;

struct execution {
    const struct plan *plan;
    struct device *device;
    struct weights *weights;
    struct solver_settings solver;
    uint64_t solver_step;
    char *block; /* on a device with memory of its own: all that follows, in one piece */
    size_t block_used;
    char *arena;
    float *gradients; /* of the parameters, laid out as the learnable weights */
    float *state[2];
    struct kernel_site *sites; /* by step: the plan's, with the batch that is bound */
    struct kernel_call *calls; /* by action of the plan: all but values, labels and iteration is set
                                  once */
    float **values;            /* by node: what the forward pass computed */
    float **late_values;       /* by node: after it */
    struct execution_batch batch; /* in the device's memory */
    struct profile *profile;
    struct execution_remote *remote; /* NULL: the device computes in the host's memory */
};

/* --- execution.c --- */

/* Memory of the device: from the block, where there is one. */
void *execution_take(struct execution *execution, size_t bytes, const char *what,
                     struct error *error);
/* Binds a batch that lies in the device's memory. */
void execution_set_batch(struct execution *execution, const struct execution_batch *batch);
/* A loss without its labels or targets cannot be computed: a prediction. */
bool execution_can_run(const struct execution *execution, const struct node *node);
/* The passes as such: what is enqueued, or done, whatever surrounds it. */
void execution_run_forward(struct execution *execution, uint64_t iteration);
void execution_run_backward(struct execution *execution);
void execution_run_update(struct execution *execution, float learning_rate, uint64_t step);

/* --- execution_remote.c: only where the device's memory is not the host's --- */

/* Takes the block; before anything is taken from it. */
bool execution_remote_reserve(struct execution *execution, struct error *error);
/* Once all else is there. */
bool execution_remote_create(struct execution *execution, struct error *error);
void execution_remote_free(struct execution *execution); /* `remote` may be NULL; frees the block */

void execution_remote_bind(struct execution *execution, const struct execution_batch *batch);
void execution_remote_forward(struct execution *execution, uint64_t iteration);
void execution_remote_update(struct execution *execution, float learning_rate);
float execution_remote_iterate(struct execution *execution, uint64_t iteration,
                               float learning_rate);

/* Here, in the host's memory; they wait. */
const float *execution_remote_losses(const struct execution *execution, size_t loss);
const float *execution_remote_output(const struct execution *execution);
const float *execution_remote_gradients(const struct execution *execution);
float *execution_remote_state(struct execution *execution, size_t which);
bool execution_remote_fetch(struct execution *execution, struct error *error);
void execution_remote_touch(struct execution *execution);
/* Whether there[0..count) are all finite. */
bool execution_remote_finite(const struct execution *execution, const float *there, size_t count);

/* With a profile: the beginning and the end of an action; then, at the end of a pass, all of them
 * go into it. */
void execution_remote_stamp(struct execution *execution, size_t node, bool backward, bool begins);
void execution_remote_collect(struct execution *execution);

#endif
