#include "ui/screens/sweep/internal.h"

#include "base/language.h"
#include "runs/settings/settings.h"

#include <stdio.h>

bool sweep_group_ends(const struct sweep *sweep, size_t row)
{
    const size_t columns = sweep_grid_columns(&sweep->grid), rows = sweep->count / columns;
    if (!sweep_seeds_are_alike(sweep, row * columns, row * columns))
        return false; /* it is in no group */
    for (size_t later = row + 1; later < rows; later++)
        if (sweep_seeds_are_alike(sweep, row * columns, later * columns))
            return false;
    return true;
}

size_t sweep_group_count(const struct sweep *sweep, size_t member, enum sweep_measure measure,
                         size_t *all)
{
    struct statistics statistics;
    size_t count = 0;
    *all = 0;
    for (size_t i = 0; i < sweep->count; i++)
        *all += sweep_seeds_are_alike(sweep, member, i);
    return *all > 0 && sweep_seeds_compute(sweep, member, measure, &count, &statistics) ? count : 0;
}

char *sweep_group_label(const struct sweep *sweep, size_t row, char *text, size_t size)
{
    size_t all;
    const struct run_config *config = &sweep->cells[row * sweep_grid_columns(&sweep->grid)].config;
    sweep_group_count(sweep, row * sweep_grid_columns(&sweep->grid), SWEEP_LOSS, &all);
    if (sweep_grid_devices(&sweep->grid) > 1)
        snprintf(text, size, ngettext("mean of %zu seed, %s", "mean of %zu seeds, %s", all), all,
                 machine_settings(config).device);
    else
        snprintf(text, size, ngettext("mean of %zu seed", "mean of %zu seeds", all), all);
    return text;
}

char *sweep_group_text(const struct sweep *sweep, size_t member, enum sweep_measure measure,
                       char *text, size_t size)
{
    struct statistics statistics;
    size_t count;
    if (!sweep_seeds_compute(sweep, member, measure, &count, &statistics) || count == 0)
        snprintf(text, size, "-");
    else if (measure == SWEEP_MEMORY || measure == SWEEP_FORECAST)
        text_bytes((uint64_t)statistics.mean, text, size);
    else
        statistics_mean(statistics.mean, statistics.ci95, text, size);
    return text;
}
