/* The values that backward passes read are candidates for recomputation. The choice among them has
 * two parts.
 *
 * Cuts. Chen et al. 2016 cut the order of execution into segments and keep the values that cross a
 * cut. When the backward pass reaches a segment, all of it is recomputed; when it leaves, all of it
 * is freed. Short segments have many cuts to keep, long ones need much memory at once. The best
 * length is found by trial, from one segment for everything down to almost no recomputation. A cut
 * lies where the fewest bytes cross it, thus between the blocks of a network with branches.
 *
 * Filling. Memory that the limit leaves free keeps further values, first those with the highest
 * cost of recomputation per byte: convolutions before normalisations, activations and
 * concatenations.
 *
 * The length with the least recomputation wins. Without a limit, only the outputs of normalisations
 * are recomputed, and the length with the least memory wins: the cuts keep some of the sums that
 * residual blocks end with, which would otherwise all be needed at once.
 *
 * Trials for a limit use the lower bound of the arena's size. The packed arena is a little larger,
 * so the target of the search is lowered by the difference until the arena fits the limit. */
#include "engine/plan/internal.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    LENGTHS = 20,        /* segment lengths to try, each about 1 / sqrt(2) of the one before */
    TARGETS = 8,         /* how often the target is lowered, each time by more */
    LEAST_SAVING = 10,   /* the part of the arena that recomputing normalised values must save */
    FLOPS_PER_VALUE = 16 /* cost of reading and writing one value, as FLOPs */
};

struct candidate {
    size_t node;
    uint64_t bytes; /* for a batch: the value, and what its step saves with it */
    double cost;    /* FLOPs to recompute it from values that are in memory anyway */
};

struct chooser {
    const struct recompute_search *search;
    const struct plan *plan;
    size_t nodes;
    struct candidate *candidates; /* in the order of execution */
    struct candidate **by_cost;   /* the same, highest cost per byte first */
    size_t count;
    uint64_t bytes;     /* sum over all candidates */
    uint64_t *crossing; /* by step: bytes of the values that are read after it */
    size_t *last_read;  /* by node: the last step that reads it in the forward pass */
    double *cost;       /* by node */
    bool *cuts;         /* by node: the value crosses a cut, so it is kept */
    bool *trial;        /* by node: scratch, a keep[] to measure */
};

/* --- the candidates --- */

/* Returns the bytes needed to keep a step's value. */
static uint64_t bytes_of(const struct plan *plan, const struct plan_step *step)
{
    uint64_t bytes = shape_count(step->site.node->output) *
                     tensor_value_bytes(plan->layouts[step->node]) * plan->batch;
    return bytes + (plan_step_rewrites_saved(step) ? step->kernel->saved_bytes(&step->site) : 0);
}

/* Returns the cost of one forward pass of a step. */
static double cost_of(const struct plan *plan, const struct plan_step *step)
{
    return (double)plan->batch *
           ((double)plan_step_flops(plan, step, PLAN_RECOMPUTE) +
            (double)FLOPS_PER_VALUE * (double)shape_count(step->site.node->output));
}

/* Returns the cost of recomputing a step's value, with that of the inputs that no backward pass
 * reads and that are therefore not in memory either. */
static double chain_cost(const struct chooser *chooser, const struct plan_step *step)
{
    const struct step_order *order = chooser->search->order;
    double cost = cost_of(chooser->plan, step);
    for (size_t k = 0; k < step->input_count; k++) {
        const size_t input = order->root[step->inputs[k]];
        if (!order->read_late[input])
            cost += chooser->cost[input];
    }
    return cost;
}

/* Lists the candidates. The order must be one without recomputation, where read_late marks what the
 * backward passes themselves read. */
static void list_candidates(struct chooser *chooser)
{
    const struct step_order *order = chooser->search->order;
    for (size_t s = 0; s < chooser->plan->step_count; s++) {
        const struct plan_step *step = &chooser->plan->steps[s];
        if (!step->kernel)
            continue;
        chooser->cost[step->node] = chain_cost(chooser, step);
        if (!order->read_late[step->node] || !step_order_can_recompute(order, step->node))
            continue;
        struct candidate *candidate = &chooser->candidates[chooser->count];
        *candidate = (struct candidate){.node = step->node,
                                        .bytes = bytes_of(chooser->plan, step),
                                        .cost = chooser->cost[step->node]};
        chooser->by_cost[chooser->count++] = candidate;
        chooser->bytes += candidate->bytes;
    }
}

static int highest_cost_first(const void *a, const void *b)
{
    const struct candidate *x = *(struct candidate *const *)a, *y = *(struct candidate *const *)b;
    const double left = x->cost * (double)y->bytes, right = y->cost * (double)x->bytes;
    if (left != right)
        return left < right ? 1 : -1;
    return x < y ? -1 : x > y;
}

/* Finds which steps read each value last and how many bytes cross each possible cut. Values that
 * cannot be recomputed stay in memory anyway and do not count. */
static void find_crossings(struct chooser *chooser)
{
    const struct step_order *order = chooser->search->order;
    const struct plan *plan = chooser->plan;
    for (size_t s = 0; s < plan->step_count; s++)
        for (size_t k = 0; k < plan->steps[s].input_count; k++)
            chooser->last_read[order->root[plan->steps[s].inputs[k]]] = s;
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        if (!step_order_can_recompute(order, step->node))
            continue;
        for (size_t t = s; t < chooser->last_read[step->node]; t++)
            chooser->crossing[t] += bytes_of(plan, step);
    }
}

static void *new_items(size_t count, size_t size, struct error *error)
{
    return memory_new(count, size, "the plan", error);
}

/* Measures the candidates, for which it makes the order without recomputation. */
static bool create(struct chooser *chooser, struct error *error)
{
    const size_t nodes = chooser->nodes;
    chooser->candidates = new_items(nodes, sizeof *chooser->candidates, error);
    chooser->by_cost = new_items(nodes, sizeof(struct candidate *), error);
    chooser->crossing = new_items(nodes, sizeof *chooser->crossing, error);
    chooser->last_read = new_items(nodes, sizeof *chooser->last_read, error);
    chooser->cost = new_items(nodes, sizeof *chooser->cost, error);
    chooser->cuts = new_items(nodes, sizeof *chooser->cuts, error);
    chooser->trial = new_items(nodes, sizeof *chooser->trial, error);
    if (!chooser->candidates || !chooser->by_cost || !chooser->crossing || !chooser->last_read ||
        !chooser->cost || !chooser->cuts || !chooser->trial)
        return false;
    step_order_make(chooser->search->order, NULL);
    list_candidates(chooser);
    find_crossings(chooser);
    qsort(chooser->by_cost, chooser->count, sizeof(struct candidate *), highest_cost_first);
    return true;
}

static void destroy(struct chooser *chooser)
{
    free(chooser->candidates);
    free(chooser->by_cost);
    free(chooser->crossing);
    free(chooser->last_read);
    free(chooser->cost);
    free(chooser->cuts);
    free(chooser->trial);
}

/* --- cuts --- */

/* Marks the values that a cut after step `at` keeps: computed up to it and read after it. */
static void cut_after(struct chooser *chooser, size_t at)
{
    for (size_t s = 0; s <= at; s++) {
        const size_t node = chooser->plan->steps[s].node;
        if (chooser->last_read[node] > at)
            chooser->cuts[node] = true;
    }
}

/* Returns the step in (from, to] after which a cut keeps the fewest bytes, the last of equals. */
static size_t narrowest(const struct chooser *chooser, size_t from, size_t to)
{
    size_t best = to;
    for (size_t s = to; s > from; s--)
        if (chooser->crossing[s] < chooser->crossing[best])
            best = s;
    return best;
}

/* Cuts the order into segments whose candidates have at most `length` bytes, unless a single one
 * has more. A cut lies in the second half of the segment that it ends. */
static void make_cuts(struct chooser *chooser, uint64_t length)
{
    size_t next = 0, half = 0, begin = 0;
    uint64_t sum = 0;
    memset(chooser->cuts, 0, chooser->nodes * sizeof *chooser->cuts);
    for (size_t s = 0; s < chooser->plan->step_count; s++) {
        if (next == chooser->count ||
            chooser->candidates[next].node != chooser->plan->steps[s].node)
            continue;
        sum += chooser->candidates[next++].bytes;
        if (sum <= length / 2)
            half = s;
        if (sum <= length)
            continue;
        const size_t at = narrowest(chooser, half > begin ? half : begin, s);
        cut_after(chooser, at);
        begin = half = at;
        sum = 0;
        for (size_t i = next; i-- > 0;) {
            if (chooser->search->order->writer[chooser->candidates[i].node] <= at)
                break;
            sum += chooser->candidates[i].bytes;
        }
    }
}

/* --- filling --- */

/* Sets keep[] to the cuts and the `more` candidates that cost most to recompute per byte. */
static void fill(const struct chooser *chooser, size_t more, bool *keep)
{
    memcpy(keep, chooser->cuts, chooser->nodes * sizeof *keep);
    for (size_t i = 0; i < more; i++)
        keep[chooser->by_cost[i]->node] = true;
}

static bool fits(const struct chooser *chooser, const bool *keep, uint64_t target)
{
    return chooser->search->measure(chooser->search->context, keep, false) <= target;
}

/* Returns in *most how many candidates, by cost, fit the target besides the cuts. Returns false if
 * the cuts alone do not fit. */
static bool find_most(const struct chooser *chooser, uint64_t target, size_t *most)
{
    size_t too_many = chooser->count + 1;
    *most = 0;
    fill(chooser, 0, chooser->trial);
    if (!fits(chooser, chooser->trial, target))
        return false;
    while (too_many - *most > 1) {
        const size_t middle = *most + (too_many - *most) / 2;
        fill(chooser, middle, chooser->trial);
        if (fits(chooser, chooser->trial, target))
            *most = middle;
        else
            too_many = middle;
    }
    return true;
}

/* Keeps each further candidate that still fits the target, one by one. */
static void fill_gaps(const struct chooser *chooser, uint64_t target, bool *keep)
{
    for (size_t i = 0; i < chooser->count; i++) {
        const size_t node = chooser->by_cost[i]->node;
        if (keep[node])
            continue;
        keep[node] = true;
        keep[node] = fits(chooser, keep, target);
    }
}

/* --- the choice --- */

/* Returns the segment length in bytes of trial i; it halves every second trial. */
static uint64_t length_of(const struct chooser *chooser, size_t i)
{
    uint64_t length = chooser->bytes >> (i / 2);
    return i % 2 ? length / 10 * 7 : length;
}

/* Returns the cost of all recomputations if the values of keep[] stay in memory. */
static double recompute_cost(const struct chooser *chooser, const bool *keep)
{
    double cost = 0;
    step_order_make(chooser->search->order, keep);
    for (size_t s = 0; s < chooser->plan->step_count; s++)
        if (chooser->plan->steps[s].recompute_at != PLAN_NONE)
            cost += cost_of(chooser->plan, &chooser->plan->steps[s]);
    return cost;
}

/* Sets keep[] for the segment length with the least recomputation that fits the target. Returns
 * false if no length does. */
static bool choose_for_target(struct chooser *chooser, uint64_t target, bool *keep)
{
    double least = -1;
    for (size_t i = 0; i < LENGTHS; i++) {
        size_t most;
        make_cuts(chooser, length_of(chooser, i));
        if (!find_most(chooser, target, &most))
            continue;
        fill(chooser, most, chooser->trial);
        const double cost = recompute_cost(chooser, chooser->trial);
        if (least >= 0 && cost >= least)
            continue;
        least = cost;
        memcpy(keep, chooser->trial, chooser->nodes * sizeof *keep);
    }
    if (least >= 0)
        fill_gaps(chooser, target, keep);
    return least >= 0;
}

/* Sets keep[] so that the packed arena fits the limit. Returns false if no trial did. */
static bool choose_within(struct chooser *chooser, bool *keep)
{
    const struct recompute_search *search = chooser->search;
    uint64_t target = search->limit;
    for (size_t i = 0; i < TARGETS; i++) {
        if (!choose_for_target(chooser, target, keep))
            return false;
        const uint64_t bytes = search->measure(search->context, keep, true);
        if (bytes <= search->limit)
            return true;
        const uint64_t lower = (bytes - search->limit + search->limit / 1024) << i;
        if (lower > target)
            return false;
        target -= lower;
    }
    return false;
}

/* Sets keep[] to the trial whose packed arena is smallest. */
static void choose_least(struct chooser *chooser, bool *keep)
{
    const struct recompute_search *search = chooser->search;
    memset(keep, true, chooser->nodes * sizeof *keep);
    uint64_t least = search->measure(search->context, keep, true);
    for (size_t i = 0; i < LENGTHS; i++) {
        make_cuts(chooser, length_of(chooser, i));
        fill(chooser, 0, chooser->trial);
        const uint64_t bytes = search->measure(search->context, chooser->trial, true);
        if (bytes >= least)
            continue;
        least = bytes;
        memcpy(keep, chooser->trial, chooser->nodes * sizeof *keep);
    }
}

/* Sets trial[] to the cuts and to all candidates that are not outputs of normalisations. Returns
 * whether a candidate is left to recompute. */
static bool fill_all_but_norms(const struct chooser *chooser)
{
    bool left = false;
    fill(chooser, 0, chooser->trial);
    for (size_t i = 0; i < chooser->count; i++) {
        const size_t node = chooser->candidates[i].node;
        const struct plan_step *step = &chooser->plan->steps[chooser->search->order->writer[node]];
        if (!(plan_step_traits(step) & KERNEL_REUSES_SAVED))
            chooser->trial[node] = true;
        left |= !chooser->trial[node];
    }
    return left;
}

/* Sets keep[] to the trial whose packed arena is smallest, or to everything. */
static void choose_norms(struct chooser *chooser, bool *keep)
{
    const struct recompute_search *search = chooser->search;
    memset(keep, true, chooser->nodes * sizeof *keep);
    uint64_t least = 0;
    for (size_t i = 0; i < LENGTHS; i++) {
        make_cuts(chooser, length_of(chooser, i));
        if (!fill_all_but_norms(chooser))
            continue;
        if (least == 0) {
            const uint64_t all = search->measure(search->context, keep, true);
            least = all - all / LEAST_SAVING;
        }
        const uint64_t bytes = search->measure(search->context, chooser->trial, true);
        if (bytes >= least)
            continue;
        least = bytes;
        memcpy(keep, chooser->trial, chooser->nodes * sizeof *keep);
    }
}

static struct chooser chooser_of(const struct recompute_search *search)
{
    return (struct chooser){.search = search,
                            .plan = search->order->plan,
                            .nodes = search->order->plan->graph->node_count};
}

bool recompute_choose_norms(const struct recompute_search *search, bool *keep, struct error *error)
{
    struct chooser chooser = chooser_of(search);
    const bool created = create(&chooser, error);
    if (created)
        choose_norms(&chooser, keep);
    destroy(&chooser);
    return created;
}

bool recompute_choose(const struct recompute_search *search, bool *keep, struct error *error)
{
    struct chooser chooser = chooser_of(search);
    const bool created = create(&chooser, error);
    if (created && (search->limit == 0 || !choose_within(&chooser, keep)))
        choose_least(&chooser, keep);
    destroy(&chooser);
    return created;
}
