/* A group collects the figures of its runs while these are listed one by one; the statistics are
 * computed when the group is printed. */
#include "cli/internal.h"

#include "base/memory.h"
#include "base/text.h"
#include "runs/history/seed_group.h"
#include "runs/settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct runs_group {
    char id[64], network[256], data[512];
    size_t seeds, done;          /* runs that it was to have; runs that are done */
    struct run_figures *figures; /* of its runs */
    char (*runs)[RUN_ID_SIZE];
    size_t count, figure_capacity, run_capacity;
    uint64_t disk_bytes; /* of its runs together */
};

static struct runs_group *find(struct runs_groups *groups, const struct listed_run *run)
{
    const struct run_config *config = &run->config;
    for (size_t i = 0; i < groups->count; i++)
        if (strcmp(groups->list[i].id, record_settings(config).seed_group) == 0)
            return &groups->list[i];
    if (!memory_grow(&groups->list, &groups->capacity, groups->count + 1, sizeof *groups->list,
                     "the groups of seeds", NULL))
        return NULL;
    struct runs_group *group = &groups->list[groups->count++];
    *group = (struct runs_group){.seeds = record_settings(config).seeds};
    snprintf(group->id, sizeof group->id, "%s", record_settings(config).seed_group);
    snprintf(group->network, sizeof group->network, "%s", run->facts.network);
    snprintf(group->data, sizeof group->data, "%s", data_settings(config).data);
    return group;
}

bool runs_groups_add(struct runs_groups *groups, const struct listed_run *run)
{
    if (!run->read || !record_settings(&run->config).seed_group[0])
        return false;
    struct runs_group *group = find(groups, run);
    if (!group ||
        !memory_grow(&group->figures, &group->figure_capacity, group->count + 1,
                     sizeof *group->figures, "the groups of seeds", NULL) ||
        !memory_grow(&group->runs, &group->run_capacity, group->count + 1, sizeof *group->runs,
                     "the groups of seeds", NULL)) {
        groups->failed = true;
        return true;
    }
    group->figures[group->count] = run_figures_of(&run->snapshot, NULL);
    snprintf(group->runs[group->count++], RUN_ID_SIZE, "%s", run->facts.id);
    group->disk_bytes += run->record.disk_bytes;
    group->done += run->snapshot.status == RUN_DONE;
    return true;
}

/* Appends "69.67 +- 13 %", or "-" if it is unknown. */
static void add_mean(struct table *table, const struct seed_statistics *statistics,
                     enum figure figure, const char *unit)
{
    const struct statistics *values = &statistics->figures[figure];
    if (statistics->counts[figure] > 0)
        table_cell(table, "%s%s", STATISTICS_MEAN(values->mean, values->ci95), unit);
    else
        table_cell(table, "-");
}

size_t runs_groups_add_rows(struct runs_groups *groups, struct table *table, bool disk,
                            bool filtered)
{
    char bytes[32];
    for (size_t i = 0; i < groups->count; i++) {
        const struct runs_group *group = &groups->list[i];
        const size_t all = group->seeds > group->count ? group->seeds : group->count;
        struct seed_statistics statistics;
        if (!seed_statistics_compute(group->figures, group->count, &statistics, NULL))
            groups->failed = true;
        table_cell(table, "%s@seeds", group->id);
        table_cell(table, "-");
        if (filtered && group->count < all)
            table_cell(table, _("%zu of %zu match"), group->count, all);
        else
            table_cell(table, _("%zu of %zu done"), group->done, all);
        table_cell(table, "-");
        add_mean(table, &statistics, FIGURE_LOSS, "");
        add_mean(table, &statistics, FIGURE_TOP1, " %");
        table_cell(table, "-");
        if (disk)
            table_cell(table, "%s", text_bytes(group->disk_bytes, bytes, sizeof bytes));
        table_cell(table,
                   ngettext("%s, %s: mean of %zu seed and 95 %% interval",
                            "%s, %s: mean of %zu seeds and 95 %% interval", group->count),
                   group->network, group->data, group->count);
    }
    table->failed |= groups->failed;
    return groups->count;
}

bool runs_groups_add_objects(struct runs_groups *groups, struct json *list)
{
    bool added = list && !groups->failed;
    for (size_t i = 0; added && i < groups->count; i++) {
        const struct runs_group *group = &groups->list[i];
        struct seed_statistics statistics;
        struct json *object = json_add_object(list, NULL);
        struct json *runs = json_add_array(object, "runs");
        added = seed_statistics_compute(group->figures, group->count, &statistics, NULL) &&
                json_add_string(object, "group", group->id) &&
                json_add_string(object, "network", group->network) &&
                json_add_string(object, "data", group->data) &&
                json_add_count(object, "seeds", group->seeds) &&
                json_add_count(object, "done", group->done) && runs;
        for (size_t k = 0; added && k < group->count; k++)
            added = json_add_string(runs, NULL, group->runs[k]);
        added = added && seed_statistics_to_json(&statistics, object);
    }
    return added;
}

void runs_groups_free(struct runs_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        free(groups->list[i].figures);
        free(groups->list[i].runs);
    }
    free(groups->list);
    *groups = (struct runs_groups){0};
}
