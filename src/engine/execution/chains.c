/* A task of a chain runs all steps of the chain for a row block of one image. An image has the
 * largest number of row blocks that a step of the chain asks for. Chains without another step
 * between them are a sequence of jobs. */
#include "engine/execution/internal.h"

/* Returns the largest number of row blocks that a step of [first, end) asks for; 1 at least. */
static size_t most_row_blocks(const struct execution *execution, size_t first, size_t end)
{
    size_t most = 1;
    for (size_t s = first; s < end; s++) {
        const struct kernel *kernel = execution->plan->steps[s].kernel;
        const size_t blocks = kernel ? kernel->row_blocks(&execution->sites[s]) : 0;
        most = blocks > most ? blocks : most;
    }
    return most;
}

/* Sets the number of row blocks of an image; each begins at an even row (kernel.h). */
static void divide(const struct execution *execution, struct execution_chain *chain, size_t end)
{
    const size_t height = execution->plan->steps[chain->first].site.node->output.height;
    const size_t blocks = most_row_blocks(execution, chain->first, end);
    chain->row_pairs = (height + 1) / 2;
    chain->row_blocks = blocks < chain->row_pairs ? blocks : chain->row_pairs;
}

static void chain_task(void *context, size_t task, size_t thread)
{
    const struct execution_chain *chain = context;
    const struct execution *execution = chain->execution;
    const struct plan_step *steps = execution->plan->steps;
    const size_t block = task % chain->row_blocks;
    const size_t height = steps[chain->first].site.node->output.height;
    struct kernel_rows rows = {.image = task / chain->row_blocks,
                               .begin = 2 * (chain->row_pairs * block / chain->row_blocks),
                               .end = 2 * (chain->row_pairs * (block + 1) / chain->row_blocks)};
    if (rows.end > height)
        rows.end = height;
    for (size_t s = chain->first; s < chain->end; s++)
        if (execution->runs[s])
            steps[s].kernel->forward_rows(&execution->calls[s], &rows, thread);
}

static bool all_run(const struct execution *execution, size_t first, size_t end)
{
    bool all = true;
    for (size_t s = first; s < end; s++)
        all &= execution->runs[s] || !execution->plan->steps[s].kernel;
    return all;
}

static bool any_runs(const struct execution *execution, size_t first, size_t end)
{
    bool any = false;
    for (size_t s = first; s < end; s++)
        any |= execution->runs[s];
    return any;
}

/* Adds a chain to a sequence; NULL: begins one with it. Returns the sequence's first chain. */
static struct execution_chain *add_to_sequence(struct execution *execution,
                                               struct execution_chain *sequence,
                                               struct execution_chain *chain)
{
    if (!sequence) {
        sequence = chain;
        sequence->sequence_jobs = 0;
    }
    /* a chain has a step at least, so the jobs of sequences do not overlap */
    execution->jobs[sequence->first + sequence->sequence_jobs++] =
        (struct pool_job){execution->batch.count * chain->row_blocks, chain_task, chain};
    sequence->sequence_end = chain->end;
    return sequence;
}

void chains_set(struct execution *execution, bool new_size)
{
    const struct plan *plan = execution->plan;
    struct execution_chain *sequence = NULL; /* the next chain continues it */
    for (size_t first = 0, end; first < plan->step_count; first = end) {
        struct execution_chain *chain = &execution->chains[first];
        end = plan->steps[first].chain_end;
        chain->execution = execution;
        chain->first = first;
        chain->end = end;
        chain->is_job = plan->steps[first].in_chain && all_run(execution, first, end);
        if (new_size && plan->steps[first].in_chain)
            divide(execution, chain, end);
        if (chain->is_job)
            sequence = add_to_sequence(execution, sequence, chain);
        else if (any_runs(execution, first, end))
            sequence = NULL;
    }
}

size_t chains_run(const struct execution *execution, size_t first)
{
    const struct execution_chain *chain = &execution->chains[first];
    pool_run_jobs(execution->device->pool, &execution->jobs[first], chain->sequence_jobs);
    return chain->sequence_end;
}
