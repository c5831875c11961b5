#include "session/export/internal.h"

#include "base/memory.h"
#include "session/config/settings.h"
#include "session/seeds/seed_group.h"

#include <stdlib.h>
#include <string.h>

static const char *group_of(const struct run *run)
{
    return record_settings(run_config(run)).seed_group;
}

/* Returns whether a run is the first one of a group of seeds. */
static bool leads_group(struct run *const *runs, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(group_of(runs[i]), group_of(runs[index])) == 0)
            return false;
    return group_of(runs[index])[0];
}

bool export_has_groups(struct run *const *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (leads_group(runs, i))
            return true;
    return false;
}

static bool add_group(struct run *const *runs, size_t count, size_t first, struct json *object,
                      struct error *error)
{
    struct seed_statistics statistics;
    struct run_figures *figures = memory_new(count, sizeof *figures, "the groups of seeds", error);
    struct json *list = json_add_array(object, "runs");
    bool added = figures && list;
    size_t members = 0;
    for (size_t i = first; added && i < count; i++) {
        struct run_snapshot end;
        if (strcmp(group_of(runs[i]), group_of(runs[first])) != 0)
            continue;
        run_snapshot(runs[i], &end);
        figures[members++] = run_figures_of(&end, run_series(runs[i]));
        added = json_add_string(list, NULL, run_facts(runs[i])->id);
    }
    added = added && seed_statistics_compute(figures, members, &statistics, error) &&
            seed_statistics_to_json(&statistics, object);
    free(figures);
    return added;
}

bool export_add_groups(struct run *const *runs, size_t count, struct json *object,
                       struct error *error)
{
    bool added = object;
    for (size_t i = 0; added && i < count; i++)
        if (leads_group(runs, i))
            added = add_group(runs, count, i, json_add_object(object, group_of(runs[i])), error);
    return added;
}
