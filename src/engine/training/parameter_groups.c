/* Neighbouring parameters of the same group become one range, so a network of a hundred layers with
 * one frozen stage has three. */
#include "engine/training/parameter_groups.h"

#include "base/memory.h"
#include "base/text.h"
#include "engine/graph/graph.h"
#include "engine/graph/name_pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEM_SIZE = 256 };
static const double largest_rate = 1000;

/* Splits the next "PATTERN=FACTOR" off the list. Returns false with an error if it is none. */
static bool read_rate(const char **list, char *pattern, double *factor, struct error *error)
{
    char item[ITEM_SIZE];
    const size_t length = strcspn(*list, ",");
    snprintf(item, sizeof item, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    char *equals = strchr(item, '=');
    if (!equals || equals == item || !text_to_double(equals + 1, factor) || !(*factor >= 0) ||
        *factor > largest_rate)
        return error_set(error, ERROR_USAGE, "--rates", "give PATTERN=FACTOR, as in conv*=0.1",
                         "\"%s\" is no pattern with a factor of 0 to %g", item, largest_rate);
    snprintf(pattern, ITEM_SIZE, "%.*s", (int)(equals - item), item);
    return true;
}

static bool check_rates(const struct graph *graph, const char *list, struct error *error)
{
    char pattern[ITEM_SIZE];
    double factor;
    while (*list)
        if (!read_rate(&list, pattern, &factor, error) ||
            !name_pattern_check(pattern, graph, "--rates", error))
            return false;
    return true;
}

/* Returns the factor of the first pattern that matches, or 1. */
static float rate_of(const char *list, const char *name)
{
    char pattern[ITEM_SIZE];
    double factor;
    while (*list && read_rate(&list, pattern, &factor, NULL))
        if (name_pattern_matches(pattern, name))
            return (float)factor;
    return 1;
}

static struct parameter_group group_of(const struct parameter *parameter,
                                       const struct parameter_rates *rates, uint64_t steps)
{
    struct parameter_group group = {.first = parameter->offset,
                                    .count = parameter->count,
                                    .rate = rate_of(rates->rates, parameter->name)};
    if (!name_pattern_matches(rates->frozen, parameter->name))
        return group;
    if (rates->frozen_steps == 0 || steps < rates->frozen_steps)
        group.rate = 0;
    else
        group.steps_before = rates->frozen_steps;
    return group;
}

/* Appends a group, or extends the last one by it. */
static void append(struct parameter_groups *groups, struct parameter_group group)
{
    struct parameter_group *last = groups->count ? &groups->groups[groups->count - 1] : NULL;
    if (last && last->rate == group.rate && last->steps_before == group.steps_before)
        last->count = group.first + group.count - last->first;
    else
        groups->groups[groups->count++] = group;
}

bool parameter_groups_make(struct parameter_groups *groups, const struct graph *graph,
                           const struct parameter_rates *rates, uint64_t steps, struct error *error)
{
    *groups = (struct parameter_groups){0};
    if (!name_pattern_check(rates->frozen, graph, "--freeze", error) ||
        !check_rates(graph, rates->rates, error))
        return false;
    groups->groups =
        memory_new(graph->parameter_count, sizeof *groups->groups, "the groups", error);
    for (size_t p = 0; groups->groups && p < graph->parameter_count; p++)
        if (graph->parameters[p].learnable)
            append(groups, group_of(&graph->parameters[p], rates, steps));
    return groups->groups;
}

void parameter_groups_free(struct parameter_groups *groups)
{
    free(groups->groups);
    *groups = (struct parameter_groups){0};
}

void parameter_groups_clear(const struct parameter_groups *groups, float *gradients)
{
    for (size_t g = 0; g < groups->count; g++)
        if (groups->groups[g].rate == 0)
            memset(gradients + groups->groups[g].first, 0,
                   groups->groups[g].count * sizeof *gradients);
}
