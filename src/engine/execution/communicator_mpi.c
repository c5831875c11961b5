/* The communicator of processes that share every batch by MPI (cluster.h). Each computes its
 * micro-batch in host memory, with a copy of the weights and of the solver's state. Three things
 * make it compute what one process would, bit for bit (micro_batch.h):
 *
 *   - batch norms gather the statistics of all micro-batches, and dropout numbers values by their
 *     place in the whole batch;
 *   - the sums of the losses are gathered, so that all processes see the same loss;
 *   - the gradients are added in the tree of blocks before the update, so every process makes the
 *     same update, and the weights stay equal. A process whose blocks are several subtrees of the
 *     tree has gradients of each.
 *
 * On one host the processes have their gradients in a window, and add them there after the backward
 * pass (cluster_sums.h). Otherwise MPI sends them, in buckets, which are ranges of neighbouring
 * gradients: the pass completes gradients from the last layers to the first, and a bucket is sent
 * once the pass has computed all of it, and those before it have been sent.
 *
 * All processes call the same functions in the same order. If the cluster fails, values are
 * undefined, but every function returns. */
#include "engine/execution/internal.h"

#include "base/memory.h"
#include "engine/cluster/cluster.h"
#include "engine/graph/micro_batch.h"
#include "engine/ops/op.h"

#include <stdlib.h>
#include <string.h>

struct communicator_mpi {
    struct micro_batch batch;
    struct batch_subtree own[BATCH_SUBTREES_LIMIT]; /* batch.own: the subtrees of this process */
    struct cluster *cluster;
    float *shards; /* of the sums */
    float *losses; /* by loss: its sum over the whole batch, after a forward pass */

    struct gradient_sums settings;
    struct cluster_window *window;   /* has the gradients; NULL: they are not shared */
    bool asked;                      /* a window was asked for */
    struct gradient_bucket *buckets; /* [graph->parameter_count] */
    struct cluster_sum *sums;        /* by bucket */
    size_t bucket_count, next;       /* next: the first bucket that is not sent */
};

/* --- sums --- */

static void gather(const struct micro_batch *micro_batch, size_t count)
{
    const size_t values = micro_batch->subtrees.most * count;
    if (cluster_gather(micro_batch->context, micro_batch->mine, values * sizeof *micro_batch->mine,
                       micro_batch->all))
        return;
    for (size_t r = 0; r < micro_batch->subtrees.ranks; r++)
        memcpy(micro_batch->all + r * values, micro_batch->mine,
               values * sizeof *micro_batch->mine);
}

/* Returns how many sums of a subtree are gathered at once, at most: three for each channel of a
 * batch norm. */
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

/* Sets the micro-batch that kernel calls see; NULL: they see the whole batch. */
static void set_micro_batch(struct execution *execution, const struct micro_batch *micro_batch)
{
    for (size_t a = 0; a < execution->plan->order.count; a++)
        execution->calls[a].micro_batch = micro_batch;
}

/* --- buckets --- */

/* Returns the last entry of the order that computes a gradient of a parameter; `first` if none
 * does.
 */
static size_t last_entry(const struct plan *plan, size_t parameter, size_t first)
{
    size_t last = first;
    for (size_t a = first; a < plan->order.count; a++) {
        const struct node *node = plan->steps[plan->order.entries[a].step].site.node;
        for (size_t p = 0;
             plan->order.entries[a].pass == PLAN_BACKWARD && p < node->parameter_count; p++)
            if (node->parameters[p] == parameter)
                last = a;
    }
    return last;
}

size_t gradient_buckets_divide(const struct plan *plan, struct gradient_bucket *buckets)
{
    const struct graph *graph = plan->graph;
    size_t count = 0, end = graph->learnable_floats, entry = plan->step_count;
    while (end > 0 && !plan->frozen) {
        size_t nearest = graph->parameter_count; /* the parameter before `end` */
        for (size_t p = 0; p < graph->parameter_count; p++)
            if (graph->parameters[p].learnable && graph->parameters[p].offset < end &&
                (nearest == graph->parameter_count ||
                 graph->parameters[p].offset > graph->parameters[nearest].offset))
                nearest = p;
        if (nearest == graph->parameter_count)
            break;
        const size_t first = graph->parameters[nearest].offset;
        const size_t last = last_entry(plan, nearest, plan->step_count);
        entry = last > entry ? last : entry;
        buckets[count++] = (struct gradient_bucket){first, end - first, entry};
        end = first;
    }
    return count;
}

size_t gradient_buckets_join(struct gradient_bucket *buckets, size_t count, size_t bytes)
{
    size_t joined = 0;
    for (size_t b = 0; b < count; b++) {
        struct gradient_bucket *last = joined ? &buckets[joined - 1] : NULL;
        if (last && (last->count < bytes / sizeof(float) || last->entry == buckets[b].entry)) {
            last->count += buckets[b].count;
            last->first = buckets[b].first;
            last->entry = buckets[b].entry;
        } else
            buckets[joined++] = buckets[b];
    }
    return joined;
}

/* Divides the gradients into buckets of `bytes` bytes. */
static void make_buckets(struct execution *execution, size_t bytes)
{
    struct communicator_mpi *mpi = execution->mpi;
    const size_t finest = gradient_buckets_divide(execution->plan, mpi->buckets);
    mpi->bucket_count = gradient_buckets_join(mpi->buckets, finest, bytes);
    for (size_t b = 0; b < mpi->bucket_count; b++)
        mpi->sums[b] = (struct cluster_sum){.values = execution->gradients + mpi->buckets[b].first,
                                            .count = mpi->buckets[b].count,
                                            .shards = mpi->shards,
                                            .kind = mpi->settings.kind,
                                            .subtrees = mpi->batch.subtrees,
                                            .stride = execution->plan->graph->learnable_floats};
}

static void set_sums(struct execution *execution, const struct gradient_sums *sums)
{
    execution->mpi->settings = *sums;
    make_buckets(execution, sums->bucket_bytes);
}

/* Starts the sums of the buckets that are complete after an entry of the order. */
static void send_complete(struct execution *execution, size_t entry)
{
    struct communicator_mpi *mpi = execution->mpi;
    while (mpi->next < mpi->bucket_count && mpi->buckets[mpi->next].entry <= entry)
        cluster_sums_start(mpi->cluster, &mpi->sums[mpi->next++]);
}

static bool allocate_buckets(struct execution *execution, struct error *error)
{
    struct communicator_mpi *mpi = execution->mpi;
    const struct plan *plan = execution->plan;
    const size_t most = plan->graph->parameter_count;
    mpi->buckets = memory_new(most, sizeof *mpi->buckets, "the execution", error);
    mpi->sums = memory_new(most, sizeof *mpi->sums, "the execution", error);
    if (!mpi->buckets || !mpi->sums)
        return false;
    set_sums(execution, &(struct gradient_sums){.share = true, .bucket_bytes = SIZE_MAX});
    return true;
}

/* --- creation --- */

/* Divides the batch into a micro-batch for each process. */
static void divide_batch(struct execution *execution)
{
    struct communicator_mpi *mpi = execution->mpi;
    const struct plan *plan = execution->plan;
    mpi->batch = (struct micro_batch){
        .subtrees = batch_subtrees_divide(plan->processes * plan->image_blocks, plan->processes),
        .own = mpi->own,
        .gather = gather,
        .context = mpi->cluster};
    mpi->batch.own_count =
        batch_subtrees_list(&mpi->batch.subtrees, cluster_rank(mpi->cluster), mpi->own);
    /* a gradient that is not computed per subtree is stored in the first; -0 changes no sum */
    const size_t floats = plan->graph->learnable_floats;
    for (size_t i = floats; execution->gradients && i < plan->subtrees * floats; i++)
        execution->gradients[i] = -0.0f;
}

static bool create(struct execution *execution, uint64_t seed, struct error *error)
{
    const struct plan *plan = execution->plan;
    const size_t sums = plan->subtrees * most_sums(plan);
    struct communicator_mpi *mpi = memory_new(1, sizeof *mpi, "the execution", error);
    (void)seed;
    execution->mpi = mpi;
    if (!mpi)
        return false;
    mpi->cluster = execution->device->cluster;
    divide_batch(execution);
    mpi->batch.mine = memory_new(sums, sizeof *mpi->batch.mine, "the execution", error);
    mpi->batch.all =
        memory_new(plan->processes * sums, sizeof *mpi->batch.all, "the execution", error);
    mpi->shards = memory_new_aligned(
        plan->subtrees *
            cluster_sum_floats(plan->processes, plan->frozen ? 1 : plan->graph->learnable_floats),
        sizeof *mpi->shards, "the gradients of all processes", error);
    mpi->losses = memory_new(plan->graph->loss_count, sizeof *mpi->losses, "the execution", error);
    set_micro_batch(execution, &mpi->batch);
    return mpi->batch.mine && mpi->batch.all && mpi->shards && mpi->losses &&
           allocate_buckets(execution, error);
}

/* Returns false if MPI may still write into the arrays of a sum that has failed. */
static bool stop(struct execution *execution)
{
    const struct communicator_mpi *mpi = execution->mpi;
    if (mpi && !cluster_check(mpi->cluster, NULL))
        return false;
    if (mpi && mpi->window)
        execution->gradients = NULL; /* they do not belong to the device */
    return true;
}

static void release(struct execution *execution)
{
    struct communicator_mpi *mpi = execution->mpi;
    if (!mpi)
        return;
    cluster_window_close(mpi->window);
    free(mpi->batch.mine);
    free(mpi->batch.all);
    free(mpi->shards);
    free(mpi->losses);
    free(mpi->buckets);
    free(mpi->sums);
    free(mpi);
}

static void bind(struct execution *execution, const struct execution_batch *batch)
{
    struct communicator_mpi *mpi = execution->mpi;
    mpi->batch.first_image = cluster_rank(mpi->cluster) * batch->count;
    mpi->batch.whole_images = mpi->batch.subtrees.ranks * batch->count;
    execution->memory->bind(execution, batch);
}

/* --- passes --- */

/* Gathers the sums of the losses. */
static void sum_losses(struct execution *execution)
{
    struct communicator_mpi *mpi = execution->mpi;
    const struct plan *plan = execution->plan;
    const size_t losses = plan->graph->loss_count;
    if (!execution->batch.labels && !execution->batch.targets)
        return;
    for (size_t p = 0; p < mpi->batch.own_count; p++)
        for (size_t i = 0; i < losses; i++)
            mpi->batch.mine[p * losses + i] = (double)execution_sum_losses(
                execution->memory->losses(execution, i), execution->batch.count, plan->image_blocks,
                mpi->own[p].begin, mpi->own[p].count);
    micro_batch_add_float(&mpi->batch, losses);
    for (size_t i = 0; i < losses; i++)
        mpi->losses[i] = (float)mpi->batch.all[i];
}

static float loss_sum(const struct execution *execution, size_t loss)
{
    return execution->mpi->losses[loss];
}

static void forward(struct execution *execution, uint64_t iteration)
{
    execution->memory->forward(execution, iteration);
    sum_losses(execution);
}

/* Returns whether the gradients are in a window. Before the first backward pass, when all processes
 * are here, moves them there if possible. */
static bool shares_gradients(struct execution *execution)
{
    struct communicator_mpi *mpi = execution->mpi;
    const struct plan *plan = execution->plan;
    const size_t bytes = plan->subtrees * plan->graph->learnable_floats * sizeof(float);
    if (!mpi->settings.share || mpi->settings.kind != CLUSTER_SUM_EXACT || plan->frozen)
        return false;
    if (!mpi->asked) {
        mpi->asked = true;
        mpi->window = cluster_window_open(mpi->cluster, bytes);
        if (mpi->window)
            execution_move_gradients(
                execution, cluster_window_segment(mpi->window, cluster_rank(mpi->cluster)));
    }
    return mpi->window;
}

static void backward(struct execution *execution)
{
    struct communicator_mpi *mpi = execution->mpi;
    if (shares_gradients(execution)) {
        execution->memory->backward(execution);
        const size_t count = execution->plan->graph->learnable_floats;
        cluster_window_sum(mpi->window, &mpi->batch.subtrees, count, count,
                           execution->device->pool);
        return;
    }
    mpi->next = 0;
    execution_run_backward_steps(execution, send_complete);
    cluster_sums_wait(mpi->cluster);
}

/* Computes this process's micro-batch alone. */
static size_t find_not_finite(struct execution *execution, uint64_t iteration, bool *in_weights)
{
    set_micro_batch(execution, NULL);
    const size_t step = execution_run_until_not_finite(execution, iteration, in_weights);
    set_micro_batch(execution, &execution->mpi->batch);
    return step;
}

const struct execution_communicator communicator_mpi = {
    .create = create,
    .stop = stop,
    .free = release,
    .set_sums = set_sums,
    .bind = bind,
    .forward = forward,
    .backward = backward,
    .loss_sum = loss_sum,
    .find_not_finite = find_not_finite,
};
