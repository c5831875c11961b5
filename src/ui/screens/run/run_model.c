#include "ui/screens/run/internal.h"

#include "ui/app/app.h"

#include <string.h>

void run_model_reset(struct run_model *model)
{
    model->scroll = 0;
    model->steady_since = 0;
    curves_invalidate(&model->curves); /* a new run's series may have the address of an old one */
    curve_marks_invalidate(&model->changes);
    model->axis_marks.count = 0;
    model->window = (struct plot_window){0};
    memset(model->holds, 0, sizeof model->holds);
    model->choice.open = false;
}

void run_model_free(struct run_model *model)
{
    curves_free(&model->curves);
    curve_marks_free(&model->changes);
    axis_marks_free(&model->axis_marks);
    plot_free(&model->plot);
    value_range_free(&model->range);
    sample_model_free(&model->sample);
    listing_free(&model->layers);
    listing_free(&model->gemm);
    listing_free(&model->weights);
    listing_free(&model->rank_table);
    run_ranks_free(&model->ranks);
}

/* The extent of the last frame is converted too, because the next key may come before the next
 * frame. */
void run_model_change_axis(struct run_model *model, const struct series *series, enum curve_x from,
                           enum curve_x to)
{
    struct plot_window *window = &model->window;
    double *values[] = {&window->low,         &window->high,           &window->cursor,
                        &window->shown.low,   &window->shown.high,     &window->extent.first,
                        &window->extent.last, &window->extent.all.low, &window->extent.all.high};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        *values[i] = curves_convert(series, from, to, *values[i]);
}
