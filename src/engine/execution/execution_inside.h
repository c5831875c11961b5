/* execution_inside.h: what execution.c, execution_remote.c and execution_group.c share. Internal to
 * engine/.
 *
 * The latter does what is different on a device whose memory is not the host's: batches are sent,
 * results are fetched, and an iteration is recorded once and replayed. The last one lets several
 * such devices do it together.
 */
#ifndef TINCA_ENGINE_EXECUTION_EXECUTION_INSIDE_H
#define TINCA_ENGINE_EXECUTION_EXECUTION_INSIDE_H

#include "engine/execution/execution.h"

struct execution_group;
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
    float **backward_values;   /* by node: after it */
    struct execution_batch batch; /* in the device's memory */
    struct profile *profile;
    struct execution_remote *remote; /* NULL: the device computes in the host's memory */
    struct execution_group *group;   /* of the first of several cards; NULL: there are no others */
    struct execution *first;         /* of the others: that one. NULL: there is none */
};

/* --- execution.c --- */

/* Of one card; `first` is NULL, or of several that one. */
struct execution *execution_create_one(const struct plan *plan, struct device *device,
                                       struct weights *weights,
                                       const struct solver_settings *solver, uint64_t seed,
                                       struct execution *first, struct error *error);
void execution_free_one(struct execution *execution);

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
/* The first step whose values, or with *in_weights whose parameters, are not finite, among this
 * card's images. PLAN_NONE: there is none. */
size_t execution_find_broken(struct execution *execution, uint64_t iteration, bool *in_weights);

/* --- execution_remote.c: only where the device's memory is not the host's --- */

/* Takes the block; before anything is taken from it. */
bool execution_remote_reserve(struct execution *execution, struct error *error);
/* Once all else is there. */
bool execution_remote_create(struct execution *execution, struct error *error);
void execution_remote_free(struct execution *execution); /* `remote` may be NULL; frees the block */

void execution_remote_bind(struct execution *execution, const struct execution_batch *batch);
void execution_remote_forward(struct execution *execution, uint64_t iteration);
void execution_remote_backward(struct execution *execution);
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

/* --- execution_group.c: only where there are several cards. As the functions of execution.h --- */

/* Makes the executions of the other cards. */
bool execution_group_create(struct execution *first, uint64_t seed, struct error *error);
void execution_group_free(struct execution *first); /* and all of its executions */
void execution_group_bind(struct execution *first, const struct execution_batch *batch);
void execution_group_forward(struct execution *first, uint64_t iteration);
void execution_group_backward(struct execution *first);
void execution_group_update(struct execution *first, float learning_rate);
float execution_group_iterate(struct execution *first, uint64_t iteration, float learning_rate);
void execution_group_wait(struct execution *first);
void execution_group_touch(struct execution *first);
const float *execution_group_output(const struct execution *first);
size_t execution_group_find_broken(struct execution *first, uint64_t iteration, bool *in_weights);

#endif
