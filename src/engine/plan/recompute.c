/* The choice is made from the values that the backward pass reads, in two movements.
 *
 * Cuts. Chen et al. 2016 cut the order of execution into segments and keep what crosses a cut: all
 * of a segment is computed again when the backward pass reaches it, and given up when it leaves.
 * Short segments keep many cuts, long ones hold much at once; the best length lies between and is
 * found by trial, from all in one segment down to hardly anything given up. A cut goes where the
 * least crosses it, which is between the blocks of a network with branches, not through one.
 *
 * Filling up. Whatever the limit leaves room for is kept as well, first what costs most to compute
 * again for its bytes: convolutions before normalisations, activations and joins of channels.
 *
 * Of all lengths the one with the least work is taken. Trials use the largest sum of what lives at
 * one moment; the arena that is packed at the end is a little larger, so the aim is lowered by the
 * difference until it fits. */
#include "engine/plan/recompute.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    LENGTHS = 20,     /* of segments that are tried: each 1 / sqrt(2) of the one before */
    AIMS = 8,         /* how often the aim is lowered, by more each time */
    WORK_A_VALUE = 16 /* FLOPs that passing a value through memory is worth */
};

struct candidate {
    size_t node;
    uint64_t bytes; /* of a batch: the value, and what its step saves with it */
    double work;    /* to compute it again, from what the backward pass reads anyway */
};

struct chooser {
    const struct recompute_search *search;
    const struct plan *plan;
    size_t nodes;
    struct candidate *candidates; /* in order of execution */
    struct candidate **dearest;   /* the same, most work a byte first */
    size_t count;
    uint64_t bytes;     /* of all candidates */
    uint64_t *crossing; /* by step: bytes of the values that are read beyond it */
    size_t *last_read;  /* by node: the last step that reads it in the forward pass */
    double *work;       /* by node */
    bool *cuts;         /* by node: kept whatever else is */
    bool *trial;        /* by node */
};

/* --- the candidates --- */

static uint64_t bytes_of(const struct plan *plan, const struct plan_step *step)
{
    uint64_t bytes = shape_count(step->site.node->output) * sizeof(float) * plan->batch;
    return bytes + (schedule_makes_saved_again(step) ? step->kernel->saved_bytes(&step->site) : 0);
}

static double work_of(const struct plan *plan, const struct plan_step *step)
{
    return (double)plan->batch *
           ((double)plan_step_flops(plan, step, PLAN_RECOMPUTE) +
            (double)WORK_A_VALUE * (double)shape_count(step->site.node->output));
}

/* The step's own, and that of inputs which nobody else reads late. */
static double chain_work(const struct chooser *chooser, const struct plan_step *step)
{
    const struct schedule *schedule = chooser->search->schedule;
    double work = work_of(chooser->plan, step);
    for (size_t k = 0; k < step->input_count; k++) {
        const size_t input = schedule->root[step->inputs[k]];
        if (!schedule->late[input])
            work += chooser->work[input];
    }
    return work;
}

/* With the schedule of a plan that keeps all: `late` is what the backward pass itself reads. */
static void list_candidates(struct chooser *chooser)
{
    const struct schedule *schedule = chooser->search->schedule;
    for (size_t s = 0; s < chooser->plan->step_count; s++) {
        const struct plan_step *step = &chooser->plan->steps[s];
        if (!step->kernel)
            continue;
        chooser->work[step->node] = chain_work(chooser, step);
        if (!schedule->late[step->node] || !schedule_can_give_up(schedule, step->node))
            continue;
        struct candidate *candidate = &chooser->candidates[chooser->count];
        *candidate = (struct candidate){.node = step->node,
                                        .bytes = bytes_of(chooser->plan, step),
                                        .work = chooser->work[step->node]};
        chooser->dearest[chooser->count++] = candidate;
        chooser->bytes += candidate->bytes;
    }
}

static int dearest_first(const void *a, const void *b)
{
    const struct candidate *x = *(struct candidate *const *)a, *y = *(struct candidate *const *)b;
    const double left = x->work * (double)y->bytes, right = y->work * (double)x->bytes;
    if (left != right)
        return left < right ? 1 : -1;
    return x < y ? -1 : x > y;
}

static void find_crossings(struct chooser *chooser)
{
    const struct schedule *schedule = chooser->search->schedule;
    const struct plan *plan = chooser->plan;
    for (size_t s = 0; s < plan->step_count; s++)
        for (size_t k = 0; k < plan->steps[s].input_count; k++)
            chooser->last_read[schedule->root[plan->steps[s].inputs[k]]] = s;
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        if (!schedule_can_give_up(schedule, step->node))
            continue;
        for (size_t t = s; t < chooser->last_read[step->node]; t++)
            chooser->crossing[t] += bytes_of(plan, step);
    }
}

static void *new_items(size_t count, size_t size, struct error *error)
{
    return memory_new(count, size, "the plan", error);
}

static bool create(struct chooser *chooser, struct error *error)
{
    const size_t nodes = chooser->nodes;
    chooser->candidates = new_items(nodes, sizeof *chooser->candidates, error);
    chooser->dearest = new_items(nodes, sizeof(struct candidate *), error);
    chooser->crossing = new_items(nodes, sizeof *chooser->crossing, error);
    chooser->last_read = new_items(nodes, sizeof *chooser->last_read, error);
    chooser->work = new_items(nodes, sizeof *chooser->work, error);
    chooser->cuts = new_items(nodes, sizeof *chooser->cuts, error);
    chooser->trial = new_items(nodes, sizeof *chooser->trial, error);
    if (!chooser->candidates || !chooser->dearest || !chooser->crossing || !chooser->last_read ||
        !chooser->work || !chooser->cuts || !chooser->trial)
        return false;
    schedule_make(chooser->search->schedule, NULL);
    list_candidates(chooser);
    find_crossings(chooser);
    qsort(chooser->dearest, chooser->count, sizeof(struct candidate *), dearest_first);
    return true;
}

static void destroy(struct chooser *chooser)
{
    free(chooser->candidates);
    free(chooser->dearest);
    free(chooser->crossing);
    free(chooser->last_read);
    free(chooser->work);
    free(chooser->cuts);
    free(chooser->trial);
}

/* --- cuts --- */

/* Behind step `at`: what was computed before and is read after. */
static void cut_behind(struct chooser *chooser, size_t at)
{
    for (size_t s = 0; s <= at; s++) {
        const size_t node = chooser->plan->steps[s].node;
        if (chooser->last_read[node] > at)
            chooser->cuts[node] = true;
    }
}

/* The step in (from, to] with the least to keep behind it, the last one among equals. */
static size_t narrowest(const struct chooser *chooser, size_t from, size_t to)
{
    size_t best = to;
    for (size_t s = to; s > from; s--)
        if (chooser->crossing[s] < chooser->crossing[best])
            best = s;
    return best;
}

/* Segments whose candidates have `length` bytes at the most, where single ones have not more. A cut
 * lies in the second half of what it ends. */
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
        cut_behind(chooser, at);
        begin = half = at;
        sum = 0;
        for (size_t i = next; i-- > 0;) {
            if (chooser->search->schedule->writer[chooser->candidates[i].node] <= at)
                break;
            sum += chooser->candidates[i].bytes;
        }
    }
}

/* --- filling up --- */

/* The cuts and the dearest `more`. */
static void fill(const struct chooser *chooser, size_t more, bool *keep)
{
    memcpy(keep, chooser->cuts, chooser->nodes * sizeof *keep);
    for (size_t i = 0; i < more; i++)
        keep[chooser->dearest[i]->node] = true;
}

static bool fits(const struct chooser *chooser, const bool *keep, uint64_t aim)
{
    return chooser->search->measure(chooser->search->context, keep, false) <= aim;
}

/* How many of the dearest can be kept besides the cuts; false when the cuts alone are too much. */
static bool find_most(const struct chooser *chooser, uint64_t aim, size_t *most)
{
    size_t too_many = chooser->count + 1;
    *most = 0;
    fill(chooser, 0, chooser->trial);
    if (!fits(chooser, chooser->trial, aim))
        return false;
    while (too_many - *most > 1) {
        const size_t middle = *most + (too_many - *most) / 2;
        fill(chooser, middle, chooser->trial);
        if (fits(chooser, chooser->trial, aim))
            *most = middle;
        else
            too_many = middle;
    }
    return true;
}

/* One by one, what there is still room for. */
static void fill_gaps(const struct chooser *chooser, uint64_t aim, bool *keep)
{
    for (size_t i = 0; i < chooser->count; i++) {
        const size_t node = chooser->dearest[i]->node;
        if (keep[node])
            continue;
        keep[node] = true;
        keep[node] = fits(chooser, keep, aim);
    }
}

/* --- the choice --- */

static uint64_t length_of(const struct chooser *chooser, size_t i)
{
    uint64_t length = chooser->bytes >> (i / 2);
    return i % 2 ? length / 10 * 7 : length;
}

static double work_again(const struct chooser *chooser, const bool *keep)
{
    double work = 0;
    schedule_make(chooser->search->schedule, keep);
    for (size_t s = 0; s < chooser->plan->step_count; s++)
        if (chooser->plan->steps[s].recompute_at != PLAN_NONE)
            work += work_of(chooser->plan, &chooser->plan->steps[s]);
    return work;
}

/* The length with the least work among those that come down to the aim; false when none does. */
static bool aim_at(struct chooser *chooser, uint64_t aim, bool *keep)
{
    double least = -1;
    for (size_t i = 0; i < LENGTHS; i++) {
        size_t most;
        make_cuts(chooser, length_of(chooser, i));
        if (!find_most(chooser, aim, &most))
            continue;
        fill(chooser, most, chooser->trial);
        const double work = work_again(chooser, chooser->trial);
        if (least >= 0 && work >= least)
            continue;
        least = work;
        memcpy(keep, chooser->trial, chooser->nodes * sizeof *keep);
    }
    if (least >= 0)
        fill_gaps(chooser, aim, keep);
    return least >= 0;
}

static bool choose_within(struct chooser *chooser, bool *keep)
{
    const struct recompute_search *search = chooser->search;
    uint64_t aim = search->limit;
    for (size_t i = 0; i < AIMS; i++) {
        if (!aim_at(chooser, aim, keep))
            return false;
        const uint64_t bytes = search->measure(search->context, keep, true);
        if (bytes <= search->limit)
            return true;
        const uint64_t lower = (bytes - search->limit + search->limit / 1024) << i;
        if (lower > aim)
            return false;
        aim -= lower;
    }
    return false;
}

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

bool recompute_choose(const struct recompute_search *search, bool *keep, struct error *error)
{
    struct chooser chooser = {.search = search,
                              .plan = search->schedule->plan,
                              .nodes = search->schedule->plan->graph->node_count};
    const bool created = create(&chooser, error);
    if (created && (search->limit == 0 || !choose_within(&chooser, keep)))
        choose_least(&chooser, keep);
    destroy(&chooser);
    return created;
}
