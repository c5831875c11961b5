#include "runs/values/scalars.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

size_t scalars_find(struct scalars *scalars, const char *name, struct error *error)
{
    size_t place = 0;
    while (place < scalars->count && strcmp(scalars->series[place].name, name) != 0)
        place++;
    if (place < scalars->count)
        return place;
    if (place >= SCALARS_NAMES_MOST ||
        !memory_grow(&scalars->series, &scalars->capacity, place + 1, sizeof *scalars->series,
                     "the names of series", error))
        return SIZE_MAX;
    scalars->series[place] = (struct scalar_series){.name = memory_copy_text(name, error)};
    if (!scalars->series[place].name)
        return SIZE_MAX;
    scalars->count++;
    return place;
}

bool scalars_add(struct scalars *scalars, size_t place, const struct scalar_value *value,
                 struct error *error)
{
    struct scalar_series *series = &scalars->series[place];
    while (series->count > 0 && series->values[series->count - 1].step >= value->step) {
        series->count--;
        scalars->values--;
    }
    if (scalars->values >= SCALARS_MOST)
        return true;
    if (!memory_grow(&series->values, &series->capacity, series->count + 1, sizeof *series->values,
                     "the values of series", error))
        return false;
    series->values[series->count++] = *value;
    scalars->values++;
    return true;
}

bool scalars_copy(struct scalars *to, const struct scalars *from, struct error *error)
{
    *to = (struct scalars){0};
    for (size_t i = 0; i < from->count; i++) {
        const struct scalar_series *series = &from->series[i];
        if (scalars_find(to, series->name, error) != i)
            return false;
        for (size_t k = 0; k < series->count; k++)
            if (!scalars_add(to, i, &series->values[k], error))
                return false;
    }
    return true;
}

void scalars_free(struct scalars *scalars)
{
    for (size_t i = 0; i < scalars->count; i++) {
        free(scalars->series[i].name);
        free(scalars->series[i].values);
    }
    free(scalars->series);
    *scalars = (struct scalars){0};
}
