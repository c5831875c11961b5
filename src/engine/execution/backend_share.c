/* The backend of several processes that share every batch (cluster.h). Each computes its part of
 * the batch in host memory, as backend_host.c does, with a copy of the weights and of the solver's
 * state. Three things make it compute what one process would, bit for bit (batch_share.h):
 *
 *   - batch norms gather the statistics of all parts, and dropout numbers values by their place in
 *     the whole batch;
 *   - the sums of the losses are gathered, so that all processes see the same loss;
 *   - the gradients are added in the tree of blocks before the update, so every process makes the
 *     same update, and the weights stay equal.
 *
 * All processes call the same functions in the same order. If the cluster fails, values are
 * undefined, but every function returns. */
#include "engine/execution/passes.h"

#include "base/memory.h"
#include "engine/cluster/cluster.h"
#include "engine/graph/batch_share.h"
#include "engine/ops/op.h"

#include <stdlib.h>
#include <string.h>

struct backend_share {
    struct batch_share batch;
    struct cluster *cluster;
    float *parts;  /* cluster_sum's */
    float *losses; /* by loss: its sum over the whole batch, after a forward pass */
};

/* --- sums --- */

static void gather(const struct batch_share *share, size_t count)
{
    if (cluster_gather(share->context, share->mine, count * sizeof *share->mine, share->all))
        return;
    for (size_t r = 0; r < share->ranks; r++)
        memcpy(share->all + r * count, share->mine, count * sizeof *share->mine);
}

/* Returns how many sums are gathered at once, at most: three for each channel of a batch norm. */
static size_t most_sums(const struct plan *plan)
{
    size_t most = plan->graph->loss_count;
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct node *node = plan->steps[s].site.node;
        if (node->op == &op_batch_norm && 3 * node->output.channels > most)
            most = 3 * node->output.channels;
    }
    return most;
}

/* Sets what calls of kernels know of the whole batch; NULL: theirs is the whole one. */
static void set_share(struct execution *execution, const struct batch_share *share)
{
    for (size_t a = 0; a < execution->plan->order_count; a++)
        execution->calls[a].share = share;
}

/* --- creation --- */

static bool create(struct execution *execution, uint64_t seed, struct error *error)
{
    const struct plan *plan = execution->plan;
    const size_t sums = most_sums(plan);
    struct backend_share *share = memory_new(1, sizeof *share, "the execution", error);
    (void)seed;
    execution->share = share;
    if (!share)
        return false;
    share->cluster = execution->device->cluster;
    share->batch =
        (struct batch_share){.ranks = plan->processes, .gather = gather, .context = share->cluster};
    share->batch.mine = memory_new(sums, sizeof *share->batch.mine, "the execution", error);
    share->batch.all =
        memory_new(plan->processes * sums, sizeof *share->batch.all, "the execution", error);
    share->parts =
        memory_new_aligned(cluster_sum_floats(plan->processes, plan->graph->learnable_floats),
                           sizeof *share->parts, "the gradients of all processes", error);
    share->losses =
        memory_new(plan->graph->loss_count, sizeof *share->losses, "the execution", error);
    set_share(execution, &share->batch);
    return share->batch.mine && share->batch.all && share->parts && share->losses;
}

static void release(struct execution *execution)
{
    struct backend_share *share = execution->share;
    if (share && !cluster_check(share->cluster, NULL))
        return; /* MPI may still write into the arrays of a sum that has failed */
    backend_host_free(execution);
    if (!share)
        return;
    free(share->batch.mine);
    free(share->batch.all);
    free(share->parts);
    free(share->losses);
    free(share);
}

static void bind(struct execution *execution, const struct execution_batch *batch)
{
    struct backend_share *share = execution->share;
    share->batch.first_image = cluster_rank(share->cluster) * batch->count;
    share->batch.whole_images = share->batch.ranks * batch->count;
    backend_host_bind(execution, batch);
}

/* --- passes --- */

/* Gathers the sums of the losses. */
static void sum_losses(struct execution *execution)
{
    struct backend_share *share = execution->share;
    const struct plan *plan = execution->plan;
    const size_t losses = plan->graph->loss_count, blocks = plan->image_blocks;
    if (!execution->batch.labels && !execution->batch.targets)
        return;
    for (size_t i = 0; i < losses; i++)
        share->batch.mine[i] = (double)execution_sum_losses(
            backend_host_losses(execution, i), execution->batch.count, blocks, 0, blocks);
    gather(&share->batch, losses);
    for (size_t i = 0; i < losses; i++)
        share->losses[i] = batch_share_sum_float(&share->batch, losses, i, 0, share->batch.ranks);
}

float backend_share_loss(const struct execution *execution, size_t loss)
{
    return execution->share->losses[loss];
}

static void forward(struct execution *execution, uint64_t iteration)
{
    execution_run_forward(execution, iteration);
    sum_losses(execution);
}

static void backward(struct execution *execution)
{
    struct backend_share *share = execution->share;
    execution_run_backward(execution);
    cluster_sum(share->cluster, execution->gradients, execution->plan->graph->learnable_floats,
                share->parts, false);
}

/* Looks at this process's part of the batch alone. */
static size_t find_not_finite(struct execution *execution, uint64_t iteration, bool *in_weights)
{
    set_share(execution, NULL);
    const size_t step = execution_run_until_not_finite(execution, iteration, in_weights);
    set_share(execution, &execution->share->batch);
    return step;
}

const struct execution_backend backend_share = {
    .reserve = backend_host_reserve,
    .create = create,
    .free = release,
    .bind = bind,
    .forward = forward,
    .backward = backward,
    .update = backend_host_update,
    .iterate = backend_host_iterate,
    .wait = backend_host_wait,
    .output = backend_host_output,
    .gradients = backend_host_gradients,
    .solver_state = backend_host_solver_state,
    .fetch = backend_host_fetch,
    .touch = backend_host_touch,
    .mix_gradients = backend_host_mix_gradients,
    .losses = backend_host_losses,
    .all_finite = backend_host_all_finite,
    .find_not_finite = find_not_finite,
    .begin_call = backend_host_begin_call,
    .end_call = backend_host_end_call,
    .end_pass = backend_host_end_pass,
};
