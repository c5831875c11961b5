/* Sums over the images of a batch, block by block.
 *
 * A kernel is called with the images of one block as if these were the batch, in both directions:
 * its results then depend on the images of the block alone, even if a kernel for another number of
 * images would add in another order. The gradients of the left half of a tree are written where the
 * whole tree's are wanted; those of the right half are written to the workspace, and added. A
 * process that has several subtrees of a tree (graph/batch_subtrees.h) has an array of gradients
 * for each, one behind the other. */
#include "engine/execution/internal.h"

#include "base/memory.h"
#include "base/threads/pool.h"
#include "engine/graph/micro_batch.h"
#include "engine/plan/plan.h"

enum { TASK_VALUES = 16384 };

struct tree {
    const struct execution *execution;
    const struct plan_step *step;
    enum plan_pass pass;
    const struct kernel_call *call; /* for the whole batch */
};

/* The arrays to which the gradients of a tree's parameters are written. */
struct sums {
    float *gradients[NODE_MAX_PARAMETERS]; /* NULL: not needed */
    char *workspace;                       /* for the sums of right halves */
};

/* --- one block --- */

/* Returns the address of an image in an array; NULL if there is no array. */
static float *image_of(const float *array, struct shape shape, struct tensor_layout layout,
                       size_t image)
{
    const size_t bytes = tensor_image(layout, shape) * tensor_value_bytes(layout);
    return array ? (float *)((char *)array + image * bytes) : NULL;
}

static void run_block(const struct tree *tree, struct image_range images, const struct sums *sums)
{
    struct kernel_site site = *tree->call->site;
    struct kernel_call call = *tree->call;
    const struct shape output = site.node->output;
    site.batch = images.count;
    call.site = &site;
    call.output = image_of(call.output, output, site.output_layout, images.first);
    call.output_gradient = image_of(call.output_gradient, output, site.output_layout, images.first);
    for (size_t k = 0; k < tree->step->input_count; k++) {
        call.inputs[k] = image_of(call.inputs[k], site.inputs[k], site.layouts[k], images.first);
        call.input_gradients[k] =
            image_of(call.input_gradients[k], site.inputs[k], site.layouts[k], images.first);
    }
    for (size_t p = 0; p < site.node->parameter_count; p++)
        call.parameter_gradients[p] = sums->gradients[p];
    if (tree->pass == PLAN_BACKWARD)
        tree->step->kernel->backward(&call);
    else
        tree->step->kernel->forward(&call);
}

/* --- the sums of two blocks --- */

struct addition {
    float *to;
    const float *from;
    size_t count;
};

static void add_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct addition *a = context;
    const size_t rest = a->count - task * TASK_VALUES;
    float *to = a->to + task * TASK_VALUES;
    const float *from = a->from + task * TASK_VALUES;
    for (size_t i = 0; i < (rest < TASK_VALUES ? rest : TASK_VALUES); i++)
        to[i] += from[i];
}

/* Returns the number of values of the node's parameter p. */
static size_t parameter_count(const struct tree *tree, size_t p)
{
    return tree->execution->plan->graph->parameters[tree->call->site->node->parameters[p]].count;
}

static void add(const struct tree *tree, const struct sums *to, const struct sums *from)
{
    for (size_t p = 0; p < tree->call->site->node->parameter_count; p++) {
        struct addition addition = {to->gradients[p], from->gradients[p], parameter_count(tree, p)};
        if (addition.to)
            pool_run(tree->execution->device->pool,
                     (addition.count + TASK_VALUES - 1) / TASK_VALUES, add_task, &addition);
    }
}

/* Returns sums in the workspace of others, for the same parameters. */
static struct sums sums_beside(const struct tree *tree, const struct sums *others)
{
    struct sums sums = {.workspace = others->workspace};
    for (size_t p = 0; p < tree->call->site->node->parameter_count; p++) {
        if (!others->gradients[p])
            continue;
        sums.gradients[p] = (float *)sums.workspace;
        sums.workspace += memory_round_up(parameter_count(tree, p) * sizeof(float));
    }
    return sums;
}

/* --- the tree --- */

static void run_tree(const struct tree *tree, size_t begin, size_t count, const struct sums *sums)
{
    const size_t batch = tree->call->site->batch, blocks = tree->execution->plan->image_blocks;
    const struct image_range images = image_blocks_range(batch, blocks, begin, count);
    if (count == 1) {
        run_block(tree, images, sums);
        return;
    }
    const size_t half = image_blocks_left(count);
    const size_t left = image_blocks_range(batch, blocks, begin, half).count;
    if (left == images.count) {
        run_tree(tree, begin, half, sums);
    } else if (left == 0) {
        run_tree(tree, begin + half, count - half, sums);
    } else {
        const struct sums right = sums_beside(tree, sums);
        run_tree(tree, begin, half, sums);
        run_tree(tree, begin + half, count - half, &right);
        if (tree->pass == PLAN_BACKWARD)
            add(tree, sums, &right);
    }
}

void image_blocks_run(const struct execution *execution, const struct plan_step *step,
                      enum plan_pass pass, const struct kernel_call *call)
{
    const struct plan *plan = execution->plan;
    const struct tree tree = {execution, step, pass, call};
    const struct batch_subtree whole = {.count = plan->image_blocks};
    const struct batch_subtree *subtree = call->micro_batch ? call->micro_batch->own : &whole;
    const size_t count = call->micro_batch ? call->micro_batch->own_count : 1;
    for (size_t i = 0; i < count; i++, subtree++) {
        struct sums sums = {.workspace = (char *)call->workspace + step->partial_sums};
        for (size_t p = 0; p < call->site->node->parameter_count; p++)
            if (call->parameter_gradients[p])
                sums.gradients[p] =
                    call->parameter_gradients[p] + i * plan->graph->learnable_floats;
        run_tree(&tree, subtree->begin, subtree->count, &sums);
    }
}

/* --- losses --- */

float execution_sum_losses(const float *losses, size_t batch, size_t blocks, size_t begin,
                           size_t count)
{
    if (count > 1) {
        const size_t left = image_blocks_left(count);
        return execution_sum_losses(losses, batch, blocks, begin, left) +
               execution_sum_losses(losses, batch, blocks, begin + left, count - left);
    }
    const struct image_range images = image_blocks_range(batch, blocks, begin, 1);
    float sum = 0;
    for (size_t i = 0; i < images.count; i++)
        sum += losses[images.first + i];
    return sum;
}

static float mean_loss(const struct execution *execution, size_t loss)
{
    const struct plan *plan = execution->plan;
    const size_t count = execution->batch.count * plan->ranks, blocks = plan->image_blocks;
    if (execution->communicator && execution->communicator->loss_sum)
        return execution->communicator->loss_sum(execution, loss) /
               (float)(count * plan->processes);
    return execution_sum_losses(execution->memory->losses(execution, loss), count, blocks, 0,
                                blocks) /
           (float)count;
}

float execution_main_loss(const struct execution *execution)
{
    return mean_loss(execution, 0);
}

float execution_loss_of(const struct execution *execution, size_t loss)
{
    return mean_loss(execution, loss);
}

float execution_loss(const struct execution *execution)
{
    const struct graph *graph = execution->plan->graph;
    float total = 0;
    for (size_t i = 0; i < graph->loss_count; i++)
        total += graph->nodes[graph->losses[i]].attributes.loss.weight * mean_loss(execution, i);
    return total;
}
