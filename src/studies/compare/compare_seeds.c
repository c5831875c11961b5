/* Merges the rows of a group of seeds (runs/history/seed_group.h) into one row, whose results are
 * means. What does not depend on the seed (size, parameters) is that of the group's first row; so
 * are the times, which hardly do. */
#include "studies/compare/compare.h"

#include "base/memory.h"
#include "runs/settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the group of a row that is a run; "" if it belongs to none or is merged already. */
static const char *group_of(const struct compare_row *row)
{
    return row->run && row->seeds.runs == 0 ? record_settings(run_config(row->run)).seed_group : "";
}

static size_t count_members(const struct comparison *comparison, const char *group)
{
    size_t count = 0;
    for (size_t i = 0; i < comparison->count; i++)
        count += strcmp(group_of(&comparison->rows[i]), group) == 0;
    return count;
}

/* Fills the first row of a group from all of them. */
static bool merge_results(struct comparison *comparison, size_t first, size_t count,
                          struct error *error)
{
    struct compare_row *row = &comparison->rows[first];
    const char *group = group_of(row);
    struct run_figures *figures = memory_new(count, sizeof *figures, "the comparison", error);
    row->members = memory_new(count, sizeof *row->members, "the comparison", error);
    size_t known = 0;
    for (size_t i = first; figures && row->members && i < comparison->count; i++) {
        if (strcmp(group_of(&comparison->rows[i]), group) != 0)
            continue;
        row->members[known] = comparison->rows[i].run;
        figures[known++] = comparison->rows[i].figures;
    }
    const bool merged =
        figures && row->members && seed_statistics_compute(figures, count, &row->seeds, error);
    free(figures);
    if (!merged)
        return false;
    seed_statistics_take_means(&row->seeds, &row->figures);
    compare_row_rate(row);
    snprintf(row->name, sizeof row->name, "%s@seeds", group);
    row->given[0] = '\0';
    return true;
}

/* Removes the other rows of the group that the row `first` stands for now. */
static void remove_others(struct comparison *comparison, size_t first)
{
    const char *group = record_settings(run_config(comparison->rows[first].run)).seed_group;
    size_t left = first + 1;
    for (size_t i = first + 1; i < comparison->count; i++) {
        if (strcmp(group_of(&comparison->rows[i]), group) == 0)
            compare_row_free(&comparison->rows[i]);
        else
            comparison->rows[left++] = comparison->rows[i];
    }
    comparison->count = left;
}

bool compare_merge_seeds(struct comparison *comparison, const char *group, struct error *error)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const char *found = group_of(&comparison->rows[i]);
        const size_t count = found[0] ? count_members(comparison, found) : 0;
        if (count == 0 || (group ? strcmp(group, found) != 0 : count < 2))
            continue;
        if (!merge_results(comparison, i, count, error))
            return false;
        remove_others(comparison, i);
    }
    return true;
}
