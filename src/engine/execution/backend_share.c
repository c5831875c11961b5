/* The backend of several processes that share every batch (cluster.h). Each computes its part of
 * the batch in host memory, as backend_host.c does, with a copy of the weights and of the solver's
 * state. Three things make it compute what one process would, bit for bit (batch_share.h):
 *
 *   - batch norms gather the statistics of all parts, and dropout numbers values by their place in
 *     the whole batch;
 *   - the sums of the losses are gathered, so that all processes see the same loss;
 *   - the gradients are added in the tree of blocks before the update, so every process makes the
 *     same update, and the weights stay equal. A process whose blocks are several pieces of the
 *     tree has gradients of each.
 *
 * On one host the processes have their gradients in memory that they share, and add them there
 * after the backward pass (shared_sums.h). Otherwise MPI moves them, in buckets
 * (gradient_buckets.h), each as soon as the backward pass has computed it. Unless their size is
 * given, the first backward passes are followed by a single sum and show when gradients are
 * complete; then the cost of sums is measured, and rank 0 chooses.
 *
 * All processes call the same functions in the same order. If the cluster fails, values are
 * undefined, but every function returns. */
#include "engine/execution/gradient_buckets.h"
#include "engine/execution/passes.h"

#include "base/clock.h"
#include "base/memory.h"
#include "engine/cluster/cluster.h"
#include "engine/graph/batch_share.h"
#include "engine/ops/op.h"

#include <stdlib.h>
#include <string.h>

enum { MEASURED_PASSES = 3 };

struct backend_share {
    struct batch_share batch;
    struct image_piece own[IMAGE_PIECES_LIMIT]; /* batch.own: the pieces of this process */
    struct cluster *cluster;
    float *parts;  /* of the sums */
    float *losses; /* by loss: its sum over the whole batch, after a forward pass */

    struct gradient_sums settings;
    struct cluster_window *window; /* has the gradients; NULL: they are not shared */
    bool asked;                                /* for shared memory */
    struct gradient_bucket *buckets, *scratch; /* [graph->parameter_count] */
    struct cluster_sum *sums;                  /* by bucket */
    size_t bucket_count, next;                 /* next: the first bucket that is not sent */
    /* what was measured, and the bytes that rank 0 chose; MPI may write to them after a failure */
    struct cluster_cost cost;
    size_t chosen;
    double *done;   /* by entry of the order: seconds since the backward pass began */
    uint64_t began; /* nanoseconds: when it began */
    size_t passes;  /* backward passes so far, up to MEASURED_PASSES */
};

/* --- sums --- */

static void gather(const struct batch_share *share, size_t count)
{
    const size_t values = share->pieces.most * count;
    if (cluster_gather(share->context, share->mine, values * sizeof *share->mine, share->all))
        return;
    for (size_t r = 0; r < share->pieces.ranks; r++)
        memcpy(share->all + r * values, share->mine, values * sizeof *share->mine);
}

/* Returns how many sums of a piece are gathered at once, at most: three for each channel of a batch
 * norm. */
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

/* --- buckets --- */

static void make_buckets(struct execution *execution, size_t bytes)
{
    struct backend_share *share = execution->share;
    const size_t finest = gradient_buckets_divide(execution->plan, share->buckets);
    share->bucket_count = gradient_buckets_join(share->buckets, finest, bytes);
    for (size_t b = 0; b < share->bucket_count; b++)
        share->sums[b] =
            (struct cluster_sum){.values = execution->gradients + share->buckets[b].first,
                                 .count = share->buckets[b].count,
                                 .parts = share->parts,
                                 .kind = share->settings.kind,
                                 .pieces = share->batch.pieces,
                                 .stride = execution->plan->graph->learnable_floats};
}

void backend_share_set_sums(struct execution *execution, const struct gradient_sums *sums)
{
    struct backend_share *share = execution->share;
    share->settings = *sums;
    share->passes = 0;
    make_buckets(execution, sums->measure ? SIZE_MAX : sums->bucket_bytes);
}

/* Chooses the size of the buckets, the same on all ranks. */
static void choose_buckets(struct execution *execution)
{
    struct backend_share *share = execution->share;
    const size_t floats = execution->plan->graph->learnable_floats;
    if (!cluster_sums_measure(share->cluster, share->settings.kind, &share->batch.pieces, floats,
                              &share->cost))
        return;
    const size_t finest = gradient_buckets_divide(execution->plan, share->buckets);
    share->chosen =
        gradient_buckets_choose(share->buckets, finest, share->done, &share->cost, share->scratch);
    if (cluster_broadcast(share->cluster, &share->chosen, sizeof share->chosen))
        make_buckets(execution, share->chosen);
}

/* Starts the sums of the buckets that are complete after an entry of the order. */
static void send_complete(struct execution *execution, size_t entry)
{
    struct backend_share *share = execution->share;
    if (share->settings.measure && share->passes < MEASURED_PASSES)
        share->done[entry] = clock_seconds(share->began, clock_nanoseconds());
    while (share->next < share->bucket_count && share->buckets[share->next].entry <= entry)
        cluster_sums_start(share->cluster, &share->sums[share->next++]);
}

static bool allocate_buckets(struct execution *execution, struct error *error)
{
    struct backend_share *share = execution->share;
    const struct plan *plan = execution->plan;
    const size_t most = plan->graph->parameter_count;
    share->buckets = memory_new(most, sizeof *share->buckets, "the execution", error);
    share->scratch = memory_new(most, sizeof *share->scratch, "the execution", error);
    share->sums = memory_new(most, sizeof *share->sums, "the execution", error);
    share->done = memory_new(plan->order_count, sizeof *share->done, "the execution", error);
    if (!share->buckets || !share->scratch || !share->sums || !share->done)
        return false;
    backend_share_set_sums(execution,
                           &(struct gradient_sums){.share = true, .bucket_bytes = SIZE_MAX});
    return true;
}

/* --- creation --- */

/* Divides the batch among the processes. */
static void divide_batch(struct execution *execution)
{
    struct backend_share *share = execution->share;
    const struct plan *plan = execution->plan;
    share->batch = (struct batch_share){
        .pieces = image_pieces_divide(plan->processes * plan->image_blocks, plan->processes),
        .own = share->own,
        .gather = gather,
        .context = share->cluster};
    share->batch.own_count =
        image_pieces_list(&share->batch.pieces, cluster_rank(share->cluster), share->own);
    /* what is not computed for each piece is that of the first one (batch_share_gradient) */
    const size_t floats = plan->graph->learnable_floats;
    for (size_t i = floats; execution->gradients && i < plan->pieces * floats; i++)
        execution->gradients[i] = -0.0f;
}

static bool create(struct execution *execution, uint64_t seed, struct error *error)
{
    const struct plan *plan = execution->plan;
    const size_t sums = plan->pieces * most_sums(plan);
    struct backend_share *share = memory_new(1, sizeof *share, "the execution", error);
    (void)seed;
    execution->share = share;
    if (!share)
        return false;
    share->cluster = execution->device->cluster;
    divide_batch(execution);
    share->batch.mine = memory_new(sums, sizeof *share->batch.mine, "the execution", error);
    share->batch.all =
        memory_new(plan->processes * sums, sizeof *share->batch.all, "the execution", error);
    share->parts = memory_new_aligned(
        plan->pieces *
            cluster_sum_floats(plan->processes, plan->frozen ? 1 : plan->graph->learnable_floats),
        sizeof *share->parts, "the gradients of all processes", error);
    share->losses =
        memory_new(plan->graph->loss_count, sizeof *share->losses, "the execution", error);
    set_share(execution, &share->batch);
    return share->batch.mine && share->batch.all && share->parts && share->losses &&
           allocate_buckets(execution, error);
}

static void release(struct execution *execution)
{
    struct backend_share *share = execution->share;
    if (share && !cluster_check(share->cluster, NULL))
        return; /* MPI may still write into the arrays of a sum that has failed */
    if (share && share->window)
        execution->gradients = NULL; /* they are not the device's */
    backend_host_free(execution);
    if (!share)
        return;
    cluster_window_close(share->window);
    free(share->batch.mine);
    free(share->batch.all);
    free(share->parts);
    free(share->losses);
    free(share->buckets);
    free(share->scratch);
    free(share->sums);
    free(share->done);
    free(share);
}

static void bind(struct execution *execution, const struct execution_batch *batch)
{
    struct backend_share *share = execution->share;
    share->batch.first_image = cluster_rank(share->cluster) * batch->count;
    share->batch.whole_images = share->batch.pieces.ranks * batch->count;
    backend_host_bind(execution, batch);
}

/* --- passes --- */

/* Gathers the sums of the losses. */
static void sum_losses(struct execution *execution)
{
    struct backend_share *share = execution->share;
    const struct plan *plan = execution->plan;
    const size_t losses = plan->graph->loss_count;
    if (!execution->batch.labels && !execution->batch.targets)
        return;
    for (size_t p = 0; p < share->batch.own_count; p++)
        for (size_t i = 0; i < losses; i++)
            share->batch.mine[p * losses + i] = (double)execution_sum_losses(
                backend_host_losses(execution, i), execution->batch.count, plan->image_blocks,
                share->own[p].begin, share->own[p].count);
    batch_share_add_float(&share->batch, losses);
    for (size_t i = 0; i < losses; i++)
        share->losses[i] = (float)share->batch.all[i];
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

/* Returns whether the gradients are in shared memory. Before the first backward pass, when all
 * processes are here, moves them there if possible. */
static bool shares_gradients(struct execution *execution)
{
    struct backend_share *share = execution->share;
    const struct plan *plan = execution->plan;
    const size_t bytes = plan->pieces * plan->graph->learnable_floats * sizeof(float);
    if (!share->settings.share || share->settings.kind != CLUSTER_SUM_EXACT ||
        !cluster_shares_memory(share->cluster) || plan->frozen)
        return false;
    if (!share->asked) {
        share->asked = true;
        share->window = cluster_window_open(share->cluster, bytes);
        if (share->window)
            execution_move_gradients(
                execution, cluster_window_part(share->window, cluster_rank(share->cluster)));
    }
    return share->window;
}

static void backward(struct execution *execution)
{
    struct backend_share *share = execution->share;
    if (shares_gradients(execution)) {
        execution_run_backward(execution);
        const size_t count = execution->plan->graph->learnable_floats;
        cluster_window_sum(share->window, &share->batch.pieces, count, count,
                           execution->device->pool);
        return;
    }
    share->next = 0;
    share->began = clock_nanoseconds();
    execution_run_backward_steps(execution, send_complete);
    if (!cluster_sums_wait(share->cluster) || !share->settings.measure ||
        share->passes == MEASURED_PASSES)
        return;
    if (++share->passes == MEASURED_PASSES)
        choose_buckets(execution);
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
