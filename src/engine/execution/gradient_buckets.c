/* Divides the gradients into buckets, and predicts which size of them is best: sums take one after
 * the other, and each begins once its gradients are complete. */
#include "engine/execution/gradient_buckets.h"

#include <string.h>

/* Returns the last entry of the order that computes a gradient of a parameter; `first` if none
 * does.
 */
static size_t last_entry(const struct plan *plan, size_t parameter, size_t first)
{
    size_t last = first;
    for (size_t a = first; a < plan->order_count; a++) {
        const struct node *node = plan->steps[plan->order[a].step].site.node;
        for (size_t p = 0; plan->order[a].pass == PLAN_BACKWARD && p < node->parameter_count; p++)
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

double gradient_buckets_end(const struct gradient_bucket *buckets, size_t count, const double *done,
                            const struct cluster_cost *cost)
{
    double end = 0;
    for (size_t b = 0; b < count; b++) {
        const double start = done[buckets[b].entry];
        end = (start > end ? start : end) + cost->latency +
              (double)buckets[b].count * sizeof(float) * cost->seconds_per_byte;
    }
    return end;
}

size_t gradient_buckets_choose(const struct gradient_bucket *buckets, size_t count,
                               const double *done, const struct cluster_cost *cost,
                               struct gradient_bucket *scratch)
{
    size_t best = SIZE_MAX;
    double shortest = 0;
    for (size_t bytes = SIZE_MAX, next = 4096; count > 0; bytes = next, next *= 2) {
        memcpy(scratch, buckets, count * sizeof *scratch);
        const size_t joined = gradient_buckets_join(scratch, count, bytes);
        const double end = gradient_buckets_end(scratch, joined, done, cost);
        /* a single message disturbs the computation least */
        if (bytes == SIZE_MAX) {
            shortest = end * 0.95;
        } else if (end < shortest) {
            shortest = end;
            best = bytes;
        }
        if (bytes != SIZE_MAX && joined == 1)
            break;
    }
    return best;
}
