/* The scatter plot: accuracy against one cost. A point has its row's mark in one cell; the Pareto
 * front is a line through its points, which are drawn strongly. */
#include "ui/screens/models/internal.h"

#include "ui/app/app.h"

#include "base/language.h"
#include "ui/plot/axis_marks.h"

#include <math.h>
#include <stdio.h>

enum { FRONT_SERIES = 1 };

struct place {
    int row, column;
};

struct scatter {
    struct app *app;
    struct models_model *model;
    struct axis cost, top1;
};

/* Returns the name of a cost, translated. */
static const char *models_cost_name(enum models_cost cost)
{
    static const char *const names[MODELS_COSTS] = {[MODELS_MS] = N_("ms/image"),
                                                    [MODELS_BYTES] = N_("bytes of the file"),
                                                    [MODELS_FLOPS] = N_("FLOPs")};
    return gettext(names[cost]);
}

/* Returns where a row's point lies in a plot of this size. */
static struct place place_of(const struct scatter *scatter, size_t row, int rows, int columns)
{
    const double x = axis_position(&scatter->cost, models_model_cost(scatter->model, row));
    const double y = axis_position(&scatter->top1, scatter->model->table.rows[row].now.top1);
    return (struct place){(int)lround((1 - y) * (rows - 1)), (int)lround(x * (columns - 1))};
}

/* Returns the next point of the front after the one with cost `after`, or the number of rows. */
static size_t next_on_front(const struct models_model *model, double after)
{
    size_t next = model->table.count;
    for (size_t i = 0; i < model->table.count; i++) {
        const double cost = models_model_cost(model, i);
        if (models_model_is_point(model, i) && models_model_is_on_front(model, i) && cost > after &&
            (next == model->table.count || cost < models_model_cost(model, next)))
            next = i;
    }
    return next;
}

static void add_front(const struct scatter *scatter)
{
    struct models_model *model = scatter->model;
    struct plot *plot = &model->plot;
    const int width = (int)plot_width(plot), height = (int)plot_height(plot);
    struct place last = {-1, -1};
    double after = -(double)INFINITY;
    for (size_t i; (i = next_on_front(model, after)) < model->table.count;) {
        const struct place place = place_of(scatter, i, height, width);
        if (last.row >= 0)
            plot_line(plot, FRONT_SERIES, last.column, height - 1 - last.row, place.column,
                      height - 1 - place.row);
        last = place;
        after = models_model_cost(model, i);
    }
}

static void draw_point(const struct scatter *scatter, struct rect area, size_t row)
{
    struct canvas *canvas = &scatter->app->canvas;
    const struct models_model *model = scatter->model;
    const struct place place = place_of(scatter, row, area.rows, area.columns);
    const char mark[] = {models_model_mark(row), '\0'};
    const bool selected = row == model->selected;
    draw_text(canvas, area, place.row, place.column,
              selected                               ? ROLE_FOCUS
              : models_model_is_on_front(model, row) ? ROLE_STRONG
                                                     : ROLE_TEXT,
              mark);
    const struct rect cell = {area.row + place.row, area.column + place.column, 1, 1};
    targets_add_row(&canvas->targets, cell, row, model->selected);
    if (selected)
        draw_cursor(canvas, area, place.row, place.column);
}

static void draw_points(const struct scatter *scatter, struct rect area)
{
    const struct models_model *model = scatter->model;
    for (size_t i = model->table.count; i-- > 0;) /* the first row on top */
        if (models_model_is_point(model, i))
            draw_point(scatter, area, i);
    if (models_model_is_point(model, model->selected))
        draw_point(scatter, area, model->selected);
}

void models_draw_scatter(struct app *app, struct rect area)
{
    static const enum role roles[] = {ROLE_TEXT, ROLE_SMOOTHED};
    static const enum plot_style styles[] = {PLOT_DOTTED, PLOT_DOTTED};
    struct scatter scatter = {.app = app, .model = models_model(app)};
    const struct plot_layout layout = layout_plot(area, true);
    struct canvas *canvas = &app->canvas;
    char name[80], legend[MODEL_SPEC + 80];
    struct error error;
    if (!models_model_axes(scatter.model, &scatter.cost, &scatter.top1)) {
        draw_wrapped(canvas, area, 1, ROLE_FAINT,
                     _("No model with this data set has both figures: M measures them."));
        return;
    }
    if (rect_is_empty(layout.plot))
        return;
    if (!plot_reset(&scatter.model->plot, (size_t)layout.plot.rows, (size_t)layout.plot.columns,
                    app->symbols, &error)) {
        app_say_error(app, &error);
        return;
    }
    add_front(&scatter);
    snprintf(legend, sizeof legend,
             scatter.model->cost == MODELS_MS
                 ? _("top-1 (%%); Pareto front of times in turns; data %s")
                 : _("top-1 (%%); the line is the Pareto front; data %s"),
             scatter.model->table.rows[scatter.model->selected].data);
    draw_sentence(canvas, layout.legend, 0, 0, ROLE_HEADING, legend);
    plot_axes_draw_y(canvas, layout.labels, &scatter.top1);
    plot_draw(canvas, layout.plot, &scatter.model->plot, roles, styles);
    snprintf(name, sizeof name, scatter.cost.log ? _("%s, log") : "%s",
             models_cost_name(scatter.model->cost));
    plot_axes_draw_named_x(canvas, layout.axis, &scatter.cost, name, layout.labels.columns > 0);
    draw_points(&scatter, layout.plot);
}
