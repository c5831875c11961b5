#include "session/values/series_columns.h"

#include <math.h>
#include <string.h>

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
