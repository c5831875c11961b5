/* The sums are kept in the columns of `mean`: its value times the number of runs. */
#include "ui/plot/band.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool band_reset(struct band *band, size_t width, struct error *error)
{
    if (!curve_reset(&band->mean, width, error) || !curve_reset(&band->extent, width, error) ||
        !memory_grow(&band->runs, &band->capacity, width, sizeof *band->runs, "a plot", error) ||
        !memory_grow(&band->values, &band->value_capacity, width, sizeof *band->values, "a plot",
                     error))
        return false;
    for (size_t i = 0; i < width; i++)
        band->runs[i] = 0;
    return true;
}

void band_free(struct band *band)
{
    curve_free(&band->mean);
    curve_free(&band->extent);
    free(band->runs);
    free(band->values);
    *band = (struct band){0};
}

/* Writes the value of each column: the last one in it, else between those of the columns around
 * it, unless NaN or infinity lies between these. */
static void sample_curve(const struct curve *curve, double *values)
{
    const struct curve_column *before = NULL;
    for (size_t i = 0; i < curve->width; i++) {
        const struct curve_column *column = &curve->columns[i];
        values[i] = column->any ? (double)column->last : (double)NAN;
        if (!column->any)
            continue;
        const size_t from = before ? (size_t)(before - curve->columns) : i;
        for (size_t k = from + 1; k < i && !column->gap; k++)
            values[k] = (double)before->last + ((double)column->last - (double)before->last) *
                                                   (double)(k - from) / (double)(i - from);
        before = column;
    }
}

/* Adds a value to the mean and the extent of a column. */
static void add_value(struct band *band, size_t column, double value)
{
    struct curve_column *mean = &band->mean.columns[column];
    const double runs = (double)band->runs[column];
    const float now = (float)(runs > 0 ? ((double)mean->last * runs + value) / (runs + 1) : value);
    const float one = (float)value;
    mean->any = false; /* so that the new mean replaces the old one */
    curve_add_all(&band->mean, (long)column, &now, sizeof now, 1);
    curve_add_all(&band->extent, (long)column, &one, sizeof one, 1);
    band->runs[column]++;
}

void band_add(struct band *band, const struct curves *curves, enum trace trace)
{
    const size_t width = band->mean.width;
    if (trace < TRACES_PER_ITERATION && curves->trace[trace].width == width)
        sample_curve(&curves->trace[trace], band->values);
    else if (trace >= TRACES_PER_ITERATION)
        validations_sample(curves, trace, band->values, width);
    else
        return;
    for (size_t i = 0; i < width; i++)
        if (isfinite(band->values[i]))
            add_value(band, i, band->values[i]);
}

double band_value(const struct band *band, size_t column, size_t *runs)
{
    size_t i = column < band->mean.width ? column + 1 : band->mean.width;
    while (i > 0 && !band->mean.columns[i - 1].any)
        i--;
    *runs = i > 0 ? band->runs[i - 1] : 0;
    return i > 0 ? (double)band->mean.columns[i - 1].last : (double)NAN;
}
