/* The curves of several runs on common axes, with a key that names them. A curve carries its row's
 * mark, so that colour is not needed to distinguish runs; the first row is drawn last, on top. */
#include "ui/screens/compare/compare_view.h"

#include "base/language.h"
#include "ui/app/plot_actions.h"
#include "ui/plot/plot_axes.h"
#include "ui/screens/compare/compare_model.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/legend.h"

#include <math.h>
#include <stdio.h>

enum { PANEL = 38, PANEL_FROM = 100, MARKS = 3 };

/* --- the key to the curves --- */

static const char *value_text(double value, char *text, size_t size)
{
    if (isnan(value))
        snprintf(text, size, "-");
    else
        snprintf(text, size, "%.4g", value);
    return text;
}

static void draw_entry(struct app *app, struct rect line, size_t row)
{
    const struct compare_model *model = compare_model(app);
    size_t run = compare_model_run_of_row(model, row);
    char label[256], value[32];
    if (run == COMPARE_NO_RUN)
        return;
    value_text(compare_model_value(model, run), value, sizeof value);
    struct rect left = line;
    left.columns -= (int)columns_of(value) + 1;
    draw_format(&app->canvas, left, 0, 0, compare_row_role(model, row), "%c%s%s",
                compare_model_row_mark(row), app->canvas.glyphs->horizontal,
                app->canvas.glyphs->horizontal);
    draw_text(&app->canvas, left, 0, 4, ROLE_TEXT,
              compare_model_label(model, run, label, sizeof label));
    draw_right(&app->canvas, line, 0, ROLE_STRONG, value);
}

/* Draws the key's entries in `across` columns, filled row by row. */
static void draw_entries(struct app *app, struct rect area, int across)
{
    const struct compare_model *model = compare_model(app);
    int width = area.columns / across, shown = 0;
    for (size_t row = 0; row < model->table.count; row++) {
        if (compare_model_run_of_row(model, row) == COMPARE_NO_RUN)
            continue;
        struct rect line = {area.row + shown / across, area.column + shown % across * width,
                            shown / across < area.rows, width - (across > 1 ? 2 : 0)};
        draw_entry(app, line, row);
        targets_add_row(&app->canvas.targets, line, row, model->selected);
        shown++;
    }
}

/* --- curves --- */

/* Returns the series of a run's cells in the plot. Runs that are UINT8_MAX apart share a series and
 * a colour, so that one may draw into the other's cells. */
static uint8_t plot_series(size_t run)
{
    return (uint8_t)(run % UINT8_MAX + 1);
}

/* Returns the chosen x axis, or one for which all runs have values; see curves_available_x. */
static enum curve_x known_x(const struct app *app)
{
    const struct compare_model *model = compare_model(app);
    for (size_t i = 0; i < model->count; i++)
        if (curves_available_x(run_series(model->runs[i]), app->shared.axes.x) !=
            app->shared.axes.x)
            return X_ITERATION;
    return app->shared.axes.x;
}

static double end_of(const struct compare_model *model, size_t run, enum curve_x x)
{
    double first, last;
    if (!curves_extent(run_series(model->runs[run]), x, &first, &last))
        return 0;
    return fmax(0, fmin(1, axis_position(&model->x, last)));
}

static void add_nonpositive_and_marks(struct app *app, size_t row, size_t run, const struct axis *y)
{
    const struct compare_model *model = compare_model(app);
    double end = end_of(model, run, known_x(app)), shift = 0.06 * (double)(row % 5);
    curve_mark_nonpositive(&model->curves[run].trace[model->trace], y, &compare_model(app)->plot,
                           plot_series(run));
    for (int i = 0; i < MARKS; i++)
        curve_mark(&model->curves[run].trace[model->trace], y, &compare_model(app)->plot,
                   plot_series(run), end * (0.1 + shift + 0.3 * i), compare_model_row_mark(row));
}

static void add_curves(struct app *app, const struct axis *y)
{
    const struct compare_model *model = compare_model(app);
    for (int pass = 0; pass < 2; pass++)
        for (size_t row = model->table.count; row-- > 0;) {
            size_t run = compare_model_run_of_row(model, row);
            if (run == COMPARE_NO_RUN)
                continue;
            if (model->trace >= TRACES_PER_ITERATION && pass == 0)
                continue;
            if (model->trace >= TRACES_PER_ITERATION)
                validations_draw(&model->curves[run], model->trace, y, &compare_model(app)->plot,
                                 plot_series(run), compare_model_row_mark(row));
            else if (pass == 0)
                curve_draw(&model->curves[run].trace[model->trace], y, &compare_model(app)->plot,
                           plot_series(run));
            else
                add_nonpositive_and_marks(app, row, run, y);
        }
}

static bool all_adversarial(const struct compare_model *model)
{
    for (size_t i = 0; i < model->count; i++)
        if (!trace_is_adversarial(run_series(model->runs[i])))
            return false;
    return model->count > 0;
}

/* Writes the name of the trace; for smoothed losses also the length of the mean, in iterations, if
 * all runs have the same. */
static void print_trace(const struct compare_model *model, char *text, size_t size)
{
    const char *name = trace_name(model->trace, all_adversarial(model));
    size_t window =
        model->count && model->trace == TRACE_SMOOTHED ? run_series(model->runs[0])->window : 0;
    bool alike = true;
    for (size_t i = 1; i < model->count && model->trace == TRACE_SMOOTHED; i++)
        alike &= run_series(model->runs[i])->window == window;
    if (!alike)
        snprintf(text, size, _("%s (of different windows)"), name);
    else if (window)
        snprintf(text, size, _("%s (mean of %zu)"), name, window);
    else
        snprintf(text, size, "%s", name);
}

/* Adds the cursor's value on the x axis to the legend. */
static void add_cursor_words(const struct app *app, struct legend *legend)
{
    double at = compare_model(app)->window.cursor;
    if (known_x(app) == X_ITERATION)
        legend_add(legend, ROLE_STRONG, "", _("at iteration %.0f"), at);
    else if (known_x(app) == X_EPOCH)
        legend_add(legend, ROLE_STRONG, "", _("at epoch %.2f"), at);
    else
        legend_add(legend, ROLE_STRONG, "", _("at %.4g s"), at);
}

static void draw_legend(struct app *app, struct rect area)
{
    const struct compare_model *model = compare_model(app);
    struct legend legend = {.count = 0};
    size_t nonpositive = app->shared.axes.log_y ? compare_model_count_nonpositive(model) : 0;
    char name[64];
    print_trace(model, name, sizeof name);
    snprintf(legend.title, sizeof legend.title, app->shared.axes.log_y ? _("%s, log") : "%s", name);
    if (model->window.cursor_on)
        add_cursor_words(app, &legend);
    if (model->window.zoomed)
        legend_add(&legend, ROLE_STRONG, "<>", "%s",
                   model->window.follow ? _("follows") : _("zoomed"));
    if (nonpositive > 0)
        legend_add(&legend, ROLE_WARNING, (char[2]){CURVE_NONPOSITIVE, '\0'},
                   ngettext("%zu value <= 0", "%zu values <= 0", nonpositive), nonpositive);
    legend_draw(&legend, &app->canvas, area);
}

static void draw_curves(struct app *app, struct rect area)
{
    enum role roles[UINT8_MAX + 1] = {ROLE_TEXT};
    enum plot_style styles[UINT8_MAX + 1] = {PLOT_SOLID};
    struct compare_model *model = compare_model(app);
    struct plot_layout layout = layout_plot(area, true);
    struct error error;
    if (rect_is_empty(layout.plot))
        return;
    struct curve_view wanted = {.x = known_x(app),
                                .log_x = app->shared.axes.log_x,
                                .width =
                                    (size_t)layout.plot.columns * plot_dots_across(app->symbols)};
    if (!compare_model_update_curves(model, &wanted, (size_t)layout.plot.columns, &error) ||
        !plot_reset(&compare_model(app)->plot, (size_t)layout.plot.rows,
                    (size_t)layout.plot.columns, app->symbols, &error)) {
        app_say_error(app, &error);
        return;
    }
    struct axis y = compare_model_y_axis(model, app->shared.axes.log_y);
    for (size_t i = 0; i < UINT8_MAX; i++) {
        roles[i + 1] = (enum role)(ROLE_SERIES + i % THEME_SERIES);
        styles[i + 1] = PLOT_SOLID;
    }
    add_curves(app, &y);
    draw_legend(app, layout.legend);
    plot_axes_draw_y(&app->canvas, layout.labels, &y);
    plot_draw(&app->canvas, layout.plot, &compare_model(app)->plot, roles, styles);
    plot_draw_cursor(&app->canvas, &compare_model(app)->plot, &model->window, layout.plot);
    plot_axes_draw_x(&app->canvas, layout.axis, &model->x, known_x(app), layout.labels.columns > 0);
}

/* The key stands beside the curves in a wide area, else above them. */
void compare_draw_curves(struct app *app, struct rect area)
{
    bool wide = area.columns >= PANEL_FROM;
    int across = wide || area.columns < 60 ? 1 : 2, runs = (int)compare_model(app)->count;
    struct rect key = area;
    if (wide) {
        key.column += area.columns - PANEL;
        key.columns = PANEL;
        area.columns -= PANEL + 2;
    } else {
        int lines = (runs + across - 1) / across, most = area.rows / 3;
        key.rows = lines > most ? most : lines;
        key.column++;
        key.columns--;
        area.row += key.rows;
        area.rows -= key.rows;
    }
    draw_curves(app, area); /* first, because it updates the values that the key shows */
    draw_entries(app, key, across);
}
