/* The writer fills point `count`, then publishes count + 1 with release order: a reader that has
 * loaded the count (acquire) sees complete points below it. */
#include "runs/values/series.h"

#include "base/language.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t points_of(uint64_t iterations, uint64_t stride)
{
    return (size_t)((iterations + stride - 1) / stride);
}

static uint64_t stride_of(uint64_t iterations)
{
    return iterations > SERIES_MAX_POINTS ? (iterations + SERIES_MAX_POINTS - 1) / SERIES_MAX_POINTS
                                          : 1;
}

uint64_t series_bytes(uint64_t iterations)
{
    return points_of(iterations, stride_of(iterations)) * sizeof(struct series_point);
}

bool series_create(struct series *series, uint64_t iterations, size_t epochs, struct error *error)
{
    *series = (struct series){.stride = stride_of(iterations)};
    series->capacity = points_of(iterations, series->stride);
    /* one per epoch, and one at the end of a run that ends within an epoch */
    series->validation_capacity = epochs + 1;
    atomic_init(&series->count, 0);
    atomic_init(&series->validation_count, 0);
    atomic_init(&series->resume_count, 0);
    series->points = memory_new(series->capacity, sizeof *series->points, "the curves", error);
    series->validations =
        memory_new(series->validation_capacity, sizeof *series->validations, "the curves", error);
    if (series->points && series->validations)
        return true;
    series_free(series);
    return false;
}

void series_free(struct series *series)
{
    free(series->points);
    free(series->validations);
    series->points = NULL;
    series->validations = NULL;
    series->capacity = series->validation_capacity = 0;
}

void series_add(struct series *series, const struct series_point *point)
{
    size_t count = atomic_load_explicit(&series->count, memory_order_relaxed);
    if (count == series->capacity || (point->iteration - 1) % series->stride != 0)
        return;
    series->points[count] = *point;
    atomic_store_explicit(&series->count, count + 1, memory_order_release);
}

void series_add_validation(struct series *series, const struct series_validation *validation)
{
    size_t count = atomic_load_explicit(&series->validation_count, memory_order_relaxed);
    if (count == series->validation_capacity)
        return;
    series->validations[count] = *validation;
    atomic_store_explicit(&series->validation_count, count + 1, memory_order_release);
}

void series_add_resume(struct series *series, uint64_t iteration)
{
    size_t count = atomic_load_explicit(&series->resume_count, memory_order_relaxed);
    if (count == SERIES_RESUMES)
        return;
    series->resumes[count] = iteration;
    atomic_store_explicit(&series->resume_count, count + 1, memory_order_release);
}

size_t series_resume_count(const struct series *series)
{
    return atomic_load_explicit(&series->resume_count, memory_order_acquire);
}

size_t series_count(const struct series *series)
{
    return atomic_load_explicit(&series->count, memory_order_acquire);
}

size_t series_validation_count(const struct series *series)
{
    return atomic_load_explicit(&series->validation_count, memory_order_acquire);
}

/* Returns what decides which model is the best, as for its file (training/models.c): the
 * top-1 accuracy, or without classes the loss; NaN: the model cannot be the best. */
static double score(const struct series_validation *validation)
{
    return isnan(validation->top1) ? -(double)validation->loss : (double)validation->top1;
}

size_t series_best(const struct series *series)
{
    size_t best = SIZE_MAX, count = series_validation_count(series);
    for (size_t i = 0; i < count; i++) {
        const double reached = score(&series->validations[i]);
        if (!isnan(reached) && (best == SIZE_MAX || reached > score(&series->validations[best])))
            best = i; /* of equal ones the first one stays, as its file does */
    }
    return best;
}

double series_smooth(double smoothed, float loss, uint64_t n)
{
    if (!isfinite(loss))
        return smoothed;
    if (!isfinite(smoothed))
        return loss;
    double window = 10 + (double)n / 50;
    return smoothed + (loss - smoothed) / ((double)n < window ? (double)n : window);
}

void series_set_smoothing(struct series *series, size_t average_loss, bool mean_known)
{
    series->window = average_loss > 1 && mean_known ? average_loss : 0;
}

double series_smoothed(const struct series *series, double before, size_t index)
{
    const struct series_point *point = &series->points[index];
    return series->window ? (double)point->loss_mean
                          : series_smooth(before, point->loss, index + 1);
}

char *series_smoothing_words(const struct series *series, char *text, size_t size)
{
    if (series->window)
        snprintf(text, size, _("mean of the last %zu iterations"), series->window);
    else
        snprintf(text, size, "%s", _("exponential mean over 10 iterations + 2 % of those done"));
    return text;
}

/* --- the curves by name --- */

#define POINT(member)      .offset = offsetof(struct series_point, member)
#define VALIDATION(member) .offset = offsetof(struct series_validation, member)

const struct series_column series_point_columns[] = {
    {.name = "loss", POINT(loss), .always = true},
    {.name = "loss_mean", POINT(loss_mean)},
    {.name = "loss_caffe", POINT(loss_caffe)},
    {.name = "loss_discriminator", POINT(loss_discriminator)},
    {.name = "loss_l1", POINT(loss_l1)},
    {.name = "loss_labels", POINT(loss_labels)},
    {.name = "loss_teacher", POINT(loss_teacher)},
    {.name = "lr", POINT(learning_rate)},
    {.name = "ms_per_image", POINT(ms_per_image)},
    {.name = "memory_bytes", POINT(memory_bytes), .is_count = true},
    {.name = "gpu_memory_bytes", POINT(gpu_memory_bytes), .is_count = true},
};
const size_t series_point_column_count = sizeof series_point_columns / sizeof *series_point_columns;

const struct series_column series_validation_columns[] = {
    {.name = "validation/loss", VALIDATION(loss), .always = true},
    {.name = "validation/top1", VALIDATION(top1)},
    {.name = "validation/top5", VALIDATION(top5)},
    {.name = "validation/pixel_accuracy", VALIDATION(pixel_accuracy)},
    {.name = "validation/loss_error", VALIDATION(loss_error)},
};
const size_t series_validation_column_count =
    sizeof series_validation_columns / sizeof *series_validation_columns;

const struct series_column series_test_columns[] = {
    {.name = "test/loss", VALIDATION(loss), .always = true},
    {.name = "test/top1", VALIDATION(top1)},
    {.name = "test/top5", VALIDATION(top5)},
    {.name = "test/pixel_accuracy", VALIDATION(pixel_accuracy)},
};
const size_t series_test_column_count = sizeof series_test_columns / sizeof *series_test_columns;

bool series_test_row(const struct run_snapshot *end, struct series_validation *row)
{
    const struct run_test *test = &end->test;
    *row = (struct series_validation){.iteration = end->iteration,
                                      .epoch = (float)end->epoch,
                                      .loss = (float)test->loss,
                                      .top1 = (float)test->top1,
                                      .top5 = (float)test->top5,
                                      .pixel_accuracy = (float)test->pixel_accuracy,
                                      .loss_error = NAN,
                                      .seconds = (float)end->elapsed_seconds};
    return test->images > 0;
}

double series_column_value(const struct series_column *column, const void *row)
{
    const char *at = (const char *)row + column->offset;
    uint64_t count;
    float value;
    if (column->is_count) {
        memcpy(&count, at, sizeof count);
        return (double)count;
    }
    memcpy(&value, at, sizeof value);
    return (double)value;
}

bool series_column_has(const struct series_column *column, const void *row)
{
    const double value = series_column_value(column, row);
    return column->is_count ? value > 0 : column->always || !isnan(value);
}

/* --- times of iterations --- */

bool timing_of_series(const struct series *series, struct statistics *statistics,
                      struct error *error)
{
    size_t count = series_count(series);
    double *times = memory_new(count, sizeof *times, "the times of a run", error);
    if (!times)
        return false;
    size_t known = 0; /* imported runs have iterations without a time */
    for (size_t i = 0; i < count; i++)
        if (isfinite(series->points[i].ms_per_image))
            times[known++] = (double)series->points[i].ms_per_image;
    bool computed = statistics_compute(times, known, statistics, error);
    free(times);
    return computed;
}
