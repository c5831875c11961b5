/* A chain is divided into parts, which are bands of rows of an image. An image has the largest
 * number of bands that a step of the chain asks for. Where each thread has at most one part, the
 * links are the phases of one job: a band first computes the rows next to its neighbours, which
 * their next link reads. Otherwise each link is a job of its own. */
#include "engine/execution/chains.h"

#include "base/memory.h"
#include "base/threads/phases.h"
#include "base/threads/pool.h"

#include <stdlib.h>

/* --- creation --- */

/* Notes the first steps of a chain's links. */
static void find_links(struct execution *execution, struct execution_chain *chain)
{
    const struct plan_step *steps = execution->plan->steps;
    chain->links = execution->links + chain->first;
    chain->links[chain->link_count++] = chain->first;
    for (size_t s = chain->first + 1; s < steps[chain->first].chain_end; s++)
        if (steps[s].begins_link)
            chain->links[chain->link_count++] = s;
}

bool chains_create(struct execution *execution, struct error *error)
{
    const struct plan *plan = execution->plan;
    execution->chains =
        memory_new(plan->step_count, sizeof *execution->chains, "the execution", error);
    execution->links =
        memory_new(plan->step_count, sizeof *execution->links, "the execution", error);
    execution->phases = phases_create(execution->device->threads, error);
    if (!execution->chains || !execution->links || !execution->phases)
        return false;
    for (size_t first = 0; first < plan->step_count; first = plan->steps[first].chain_end) {
        struct execution_chain *chain = &execution->chains[first];
        *chain = (struct execution_chain){.execution = execution, .first = first};
        find_links(execution, chain);
    }
    return true;
}

void chains_free(struct execution *execution)
{
    free(execution->chains);
    free(execution->links);
    phases_free(execution->phases);
}

/* --- a new batch --- */

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
        if (new_size && end - first > 1)
            divide(execution, chain, end);
        if (all_run)
            chain->end = end;
    }
}

/* --- a link of a part --- */

/* Returns the rows of a part. */
static struct kernel_rows rows_of(const struct execution_chain *chain, size_t part)
{
    const size_t band = part % chain->bands;
    const struct plan_step *step = &chain->execution->plan->steps[chain->first];
    const size_t height = step->site.node->output.height;
    struct kernel_rows rows = {.image = part / chain->bands,
                               .begin = 2 * (chain->row_pairs * band / chain->bands),
                               .end = 2 * (chain->row_pairs * (band + 1) / chain->bands)};
    if (rows.end > height)
        rows.end = height;
    return rows;
}

/* Computes rows [begin, end) of an image in all steps of a link. */
static void run_link(const struct execution_chain *chain, size_t link, size_t image, size_t begin,
                     size_t end, size_t thread)
{
    const struct execution *execution = chain->execution;
    const struct kernel_rows rows = {.image = image, .begin = begin, .end = end};
    const size_t after = link + 1 < chain->link_count ? chain->links[link + 1] : chain->end;
    if (begin >= end)
        return;
    for (size_t s = chain->links[link]; s < after; s++)
        if (execution->runs[s])
            execution->plan->steps[s].kernel->forward_rows(&execution->calls[s], &rows, thread);
}

/* A part's rows that its neighbours' next link reads are [begin, top) and [bottom, end). */
struct borders {
    struct kernel_rows rows;
    size_t top, bottom;
};

static struct borders borders_of(const struct execution_chain *chain, size_t part, size_t link)
{
    const size_t band = part % chain->bands;
    const struct kernel_rows rows = rows_of(chain, part);
    const bool last = link + 1 == chain->link_count; /* whose rows no link reads */
    struct borders borders = {rows, rows.begin, rows.end};
    if (!last && band > 0)
        borders.top += PLAN_BORDER_ROWS;
    if (!last && band + 1 < chain->bands)
        borders.bottom -= PLAN_BORDER_ROWS;
    if (borders.top >= borders.bottom)
        borders.top = borders.bottom = rows.end;
    return borders;
}

static void run_borders(void *context, size_t part, size_t link, size_t thread)
{
    const struct execution_chain *chain = context;
    const struct borders b = borders_of(chain, part, link);
    run_link(chain, link, b.rows.image, b.rows.begin, b.top, thread);
    run_link(chain, link, b.rows.image, b.bottom, b.rows.end, thread);
}

static void run_interior(void *context, size_t part, size_t link, size_t thread)
{
    const struct execution_chain *chain = context;
    const struct borders b = borders_of(chain, part, link);
    run_link(chain, link, b.rows.image, b.top, b.bottom, thread);
}

/* --- the job --- */

/* A link as a job. */
struct link_job {
    const struct execution_chain *chain;
    size_t link;
};

static void link_task(void *context, size_t part, size_t thread)
{
    const struct link_job *job = context;
    const struct kernel_rows rows = rows_of(job->chain, part);
    run_link(job->chain, job->link, rows.image, rows.begin, rows.end, thread);
}

void chains_run(const struct execution *execution, size_t first)
{
    struct execution_chain *chain = &execution->chains[first];
    struct pool *pool = execution->device->pool;
    const size_t images = execution->batch.count, parts = images * chain->bands;
    if (chain->link_count > 1 && parts <= pool_threads(pool)) {
        const struct phases_job job = {.groups = images,
                                       .parts = chain->bands,
                                       .phases = chain->link_count,
                                       .shared = run_borders,
                                       .rest = run_interior,
                                       .context = chain};
        phases_run(execution->phases, pool, &job);
        return;
    }
    for (size_t link = 0; link < chain->link_count; link++) {
        struct link_job job = {chain, link};
        pool_run(pool, parts, link_task, &job);
    }
}
