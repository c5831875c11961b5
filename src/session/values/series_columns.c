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
