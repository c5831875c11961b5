/* A task of a chain is one part of it: it runs all steps of the chain for a band of rows of one
 * image. An image has the largest number of bands that a step of the chain asks for. */
#include "engine/execution/chains.h"

#include "base/threads/pool.h"

/* Returns the largest number of bands that a step of [first, end) asks for; 1 at least. */
static size_t most_bands(const struct execution *execution, size_t first, size_t end)
{
    size_t most = 1;
    for (size_t s = first; s < end; s++) {
        const struct kernel *kernel = execution->plan->steps[s].kernel;
        const size_t bands = kernel ? kernel->bands(&execution->sites[s]) : 0;
        most = bands > most ? bands : most;
    }
    return most;
}

/* Sets into how many bands an image is divided; a band begins at an even row (kernel.h). */
static void divide(const struct execution *execution, struct execution_chain *chain, size_t end)
{
    const size_t height = execution->plan->steps[chain->first].site.node->output.height;
    const size_t bands = most_bands(execution, chain->first, end);
    chain->row_pairs = (height + 1) / 2;
    chain->bands = bands < chain->row_pairs ? bands : chain->row_pairs;
}

void chains_set(struct execution *execution, bool new_size)
{
    const struct plan *plan = execution->plan;
    for (size_t first = 0, end; first < plan->step_count; first = end) {
        struct execution_chain *chain = &execution->chains[first];
        bool all_run = true;
        end = plan->steps[first].chain_end;
        for (size_t s = first; s < end; s++) {
            execution->chains[s].end = s + 1;
            all_run &= execution->runs[s] || !plan->steps[s].kernel;
        }
        chain->execution = execution;
        chain->first = first;
        if (new_size && end - first > 1)
            divide(execution, chain, end);
        if (all_run)
            chain->end = end;
    }
}

static void chain_task(void *context, size_t task, size_t thread)
{
    const struct execution_chain *chain = context;
    const struct execution *execution = chain->execution;
    const struct plan_step *steps = execution->plan->steps;
    const size_t band = task % chain->bands;
    const size_t height = steps[chain->first].site.node->output.height;
    struct kernel_rows rows = {.image = task / chain->bands,
                               .begin = 2 * (chain->row_pairs * band / chain->bands),
                               .end = 2 * (chain->row_pairs * (band + 1) / chain->bands)};
    if (rows.end > height)
        rows.end = height;
    for (size_t s = chain->first; s < chain->end; s++)
        if (execution->runs[s])
            steps[s].kernel->forward_rows(&execution->calls[s], &rows, thread);
}

void chains_run(const struct execution *execution, size_t first)
{
    struct execution_chain *chain = &execution->chains[first];
    pool_run(execution->device->pool, execution->batch.count * chain->bands, chain_task, chain);
}
