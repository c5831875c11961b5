/* scalars.h: series of values under any name, such as the columns of an imported log that are none
 * of tinca's own. */
#ifndef TINCA_RUNS_VALUES_SCALARS_H
#define TINCA_RUNS_VALUES_SCALARS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scalar_value {
    uint64_t step;
    double time; /* seconds since the run began; NaN: not known */
    double value;
};

struct scalar_series {
    char *name;
    struct scalar_value *values;
    size_t count, capacity;
};

/* Starts as {0}. */
struct scalars {
    struct scalar_series *series; /* in the order of their first values */
    size_t count, capacity;
    size_t values; /* of all series */
};

/* Limits; what is beyond them is left out. */
enum { SCALARS_NAMES_MOST = 1024, SCALARS_MOST = 1 << 22 };

/* Returns the place of the series with this name, which is added if there is none; SIZE_MAX if
 * there are too many, or with an error if out of memory. */
size_t scalars_find(struct scalars *scalars, const char *name, struct error *error);

/* Appends a value to a series, whose values from its step on are replaced. Returns false with an
 * error if out of memory. */
bool scalars_add(struct scalars *scalars, size_t place, const struct scalar_value *value,
                 struct error *error);

/* Copies all series; frees them. Returns false with an error if out of memory. */
bool scalars_copy(struct scalars *to, const struct scalars *from, struct error *error);
void scalars_free(struct scalars *scalars);

#endif
