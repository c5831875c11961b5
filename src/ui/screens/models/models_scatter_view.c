/* The scatter plot: accuracy against one cost. */
#include "ui/screens/models/internal.h"

#include "ui/app/app.h"

#include "base/language.h"

#include <stdio.h>

static enum role role_of(const void *context, size_t row)
{
    (void)context;
    (void)row;
    return ROLE_TEXT;
}

void models_draw_scatter(struct app *app, struct rect area)
{
    static const char *const names[MODELS_COSTS] = {[MODELS_MS] = N_("ms/image"),
                                                    [MODELS_BYTES] = N_("bytes of the file"),
                                                    [MODELS_FLOPS] = N_("FLOPs")};
    struct models_model *model = models_model(app);
    char legend[MODEL_SPEC + 80];
    struct error error;
    if (!models_model_points(model, &error)) {
        app_say_error(app, &error);
        return;
    }
    if (model->point_count == 0) {
        draw_wrapped(&app->canvas, area, 1, ROLE_FAINT,
                     _("No model with this data set has both figures: M measures them."));
        return;
    }
    snprintf(legend, sizeof legend,
             model->cost == MODELS_MS ? _("top-1 (%%); Pareto front of times in turns; data %s")
                                      : _("top-1 (%%); the line is the Pareto front; data %s"),
             model->table.rows[model->selected].data);
    const struct scatter scatter = {
        .points = model->points,
        .count = model->point_count,
        .front = model->front,
        .front_count = model->front_count,
        .axes = {scatter_axis_of(model->points, model->point_count, SCATTER_X, model->log),
                 scatter_axis_of(model->points, model->point_count, SCATTER_Y, false)},
        .x_name = gettext(names[model->cost]),
        .legend = legend,
        .selected = model->selected,
        .mark = models_model_mark,
        .role = role_of};
    if (!scatter_draw(&scatter, &model->plot, app->symbols, &app->canvas, area, &error))
        app_say_error(app, &error);
}
