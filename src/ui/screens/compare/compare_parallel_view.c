/* Parallel coordinates. As many axes stand side by side as fit: those around the selected one and,
 * at the right, always the last one, which gives a line its colour and its mark. Lines outside a
 * brush are not drawn. */
#include "ui/screens/compare/internal.h"

#include "base/language.h"
#include "ui/plot/axis_marks.h"
#include "ui/terminal/columns.h"
#include "ui/terminal/keys.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { APART = 12, MARGIN = 10, NAME = 512, UNKNOWN_SERIES = PARALLEL_STEPS + 1, SELECTED_SERIES };
static const char step_marks[PARALLEL_STEPS + 1] = ".:+#";
static const enum role roles[] = {ROLE_TEXT,       ROLE_SERIES, ROLE_SERIES + 1, ROLE_SERIES + 2,
                                  ROLE_SERIES + 3, ROLE_FAINT,  ROLE_STRONG};

/* The axes on the screen. */
struct axes_window {
    size_t axes[COMPARE_FIGURES]; /* their numbers, from left to right */
    size_t count;
    int step; /* columns from one axis to the next */
};

static struct axes_window window_of(const struct compare_parallel *parallel, int columns)
{
    struct axes_window window = {.count = columns > APART ? (size_t)(columns - 1) / APART + 1 : 1};
    window.count = window.count > parallel->shown ? parallel->shown : window.count;
    /* all but the last one follow each other */
    const size_t run = window.count > 1 ? window.count - 1 : 1;
    const size_t end = window.count > 1 ? parallel->shown - 1 : parallel->shown;
    size_t first = parallel->selected > run / 2 ? parallel->selected - run / 2 : 0;
    first = first + run > end ? end - run : first;
    for (size_t i = 0; i < run; i++)
        window.axes[i] = first + i;
    window.axes[window.count - 1] = window.count > 1 ? parallel->shown - 1 : first;
    window.step = window.count > 1 ? (columns - 1) / (int)(window.count - 1) : 0;
    return window;
}

/* Returns the column of the plot where the axis at a place of the window stands. */
static int column_of(const struct axes_window *window, size_t place)
{
    return (int)place * window->step;
}

/* --- lines --- */

static void add_line(struct compare_model *model, const struct axes_window *window, size_t row,
                     uint8_t series)
{
    const struct compare_parallel *parallel = &model->parallel;
    struct plot *plot = &model->plot;
    const double top = (double)plot_height(plot) - 1;
    const long across = (long)plot_dots_across(plot->symbols);
    double last = NAN;
    for (size_t i = 0; i < window->count; i++) {
        const double place = compare_parallel_position(parallel, window->axes[i], row);
        const long x = column_of(window, i) * across;
        if (isfinite(place) && isfinite(last))
            plot_line(plot, series, x - window->step * across, lround(last * top), x,
                      lround(place * top));
        else if (isfinite(place))
            plot_dot(plot, series, x, lround(place * top));
        last = place;
    }
}

static uint8_t series_of(const struct compare_parallel *parallel, size_t row)
{
    const int step = compare_parallel_step(parallel, row);
    return step == PARALLEL_UNKNOWN ? UNKNOWN_SERIES : (uint8_t)(step + 1);
}

/* Marks a line halfway between two axes by its step on the last one. */
static void add_marks(struct compare_model *model, const struct axes_window *window, size_t row)
{
    const struct compare_parallel *parallel = &model->parallel;
    struct plot *plot = &model->plot;
    const int step = compare_parallel_step(parallel, row);
    const double top = (double)plot_height(plot) - 1;
    const long across = (long)plot_dots_across(plot->symbols);
    for (size_t i = 1; i < window->count; i++) {
        const double middle = (compare_parallel_position(parallel, window->axes[i - 1], row) +
                               compare_parallel_position(parallel, window->axes[i], row)) /
                              2;
        const long x = column_of(window, i) * across - window->step * across / 2;
        if (isfinite(middle) && step != PARALLEL_UNKNOWN)
            plot_mark(plot, series_of(parallel, row), x, lround(middle * top), step_marks[step]);
    }
}

static void add_lines(struct compare_model *model, const struct axes_window *window)
{
    const struct compare_parallel *parallel = &model->parallel;
    for (int pass = 0; pass < 2; pass++) /* marks are not hidden by other lines */
        for (size_t row = parallel->rows; row-- > 0;) {
            if (!compare_parallel_passes(parallel, row))
                continue;
            if (pass == 0)
                add_line(model, window, row, series_of(parallel, row));
            else
                add_marks(model, window, row);
        }
    if (model->selected < parallel->rows)
        add_line(model, window, model->selected, SELECTED_SERIES);
}

/* --- axes --- */

/* Writes the value of a level: a number, or the name that has this number. */
static void name_level(const struct compare_model *model, const struct parallel_axis *axis,
                       double value, char *text, size_t size)
{
    snprintf(text, size, "?");
    if (isnan(value))
        return;
    for (size_t row = 0; row < model->table.count; row++)
        if (axis->values[row] == value) {
            compare_figure_text(&model->table, row, &axis->figure, text, size);
            break;
        }
    if (!text[0])
        snprintf(text, size, "%s", _("none"));
}

/* Draws a text that begins at an axis and ends before the next one: a name, or the value of a
 * number, of which no digit is cut. */
static void draw_label(struct app *app, struct rect area, const struct axes_window *window,
                       size_t place, int row, enum role role, bool is_name, const char *text)
{
    const int column = column_of(window, place);
    const int room = place + 1 == window->count ? area.columns - column : window->step - 1;
    struct rect label = {area.row + row, area.column + column, 1, room > 0 ? room : 0};
    if (is_name)
        draw_fitted_name(&app->canvas, label, 0, 0, role, text);
    else
        draw_fitted_value(&app->canvas, label, 0, 0, role, text);
}

/* Draws the rule of an axis over the lines, thick where its brush is. */
static void draw_rule(struct app *app, struct rect plot, const struct axes_window *window,
                      size_t place)
{
    const struct compare_parallel *parallel = &compare_model(app)->parallel;
    const size_t number = window->axes[place];
    const struct parallel_axis *axis = &parallel->axes[number];
    const bool selected = number == parallel->selected;
    const double low = axis->brushed ? compare_parallel_place(axis, axis->low) : 0;
    const double high = axis->brushed ? compare_parallel_place(axis, axis->high) : 1;
    const int from = (int)lround((1 - high) * (plot.rows - 1));
    const int to = (int)lround((1 - low) * (plot.rows - 1));
    for (int row = 0; row < plot.rows; row++) {
        const bool inside = axis->brushed && row >= from && row <= to;
        draw_text(&app->canvas, plot, row, column_of(window, place),
                  inside     ? ROLE_WARNING
                  : selected ? ROLE_KEY
                             : ROLE_RAW,
                  inside ? app->canvas.glyphs->full : app->canvas.glyphs->vertical);
    }
    struct rect line = {plot.row, plot.column + column_of(window, place), plot.rows, 1};
    if (!selected)
        targets_add_column(&app->canvas.targets, line, number, parallel->selected);
}

static void draw_axis(struct app *app, struct rect area, struct rect plot,
                      const struct axes_window *window, size_t place)
{
    const struct compare_model *model = compare_model(app);
    const size_t number = window->axes[place];
    const struct parallel_axis *axis = &model->parallel.axes[number];
    const bool selected = number == model->parallel.selected;
    const bool names = compare_figure_is_text(&axis->figure);
    char text[NAME];
    draw_rule(app, plot, window, place);
    snprintf(text, sizeof text, "%s%s%s%s", selected ? "[" : "", axis->name,
             axis->scale.log ? _(", log") : "", selected ? "]" : "");
    draw_label(app, area, window, place, 0, selected ? ROLE_STRONG : ROLE_HEADING, true, text);
    if (axis->level_count > 0) {
        name_level(model, axis, axis->levels[axis->level_count - 1], text, sizeof text);
        draw_label(app, area, window, place, 1, ROLE_FAINT, names, text);
        name_level(model, axis, axis->levels[0], text, sizeof text);
        draw_label(app, area, window, place, area.rows - 1, ROLE_FAINT, names, text);
    }
    struct rect heading = {area.row, area.column + column_of(window, place), 1,
                           window->step > 1 ? window->step - 1 : 1};
    if (!selected)
        targets_add_column(&app->canvas.targets, heading, number, model->parallel.selected);
    else
        draw_cursor(&app->canvas, area, 0, column_of(window, place));
}

/* --- words --- */

/* Draws which range the selected axis is restricted to, and how many runs pass all brushes. */
static void draw_counts(struct app *app, struct rect area)
{
    const struct compare_model *model = compare_model(app);
    const struct compare_parallel *parallel = &model->parallel;
    const struct parallel_axis *axis = &parallel->axes[parallel->selected];
    const size_t count = compare_parallel_count(parallel);
    char low[NAME], high[NAME];
    int column = draw_format(&app->canvas, area, 0, 0, ROLE_STRONG,
                             ngettext("%zu of %zu run", "%zu of %zu runs", parallel->rows), count,
                             parallel->rows);
    if (axis->brushed) {
        name_level(model, axis, axis->low, low, sizeof low);
        name_level(model, axis, axis->high, high, sizeof high);
        column = draw_format(&app->canvas, area, 0, column, ROLE_WARNING, _("; %s from %s to %s"),
                             axis->name, low, high);
    }
    if (parallel->shown < parallel->count)
        draw_format(&app->canvas, area, 0, column, ROLE_FAINT,
                    ngettext("; %zu axis left out", "; %zu axes left out",
                             parallel->count - parallel->shown),
                    parallel->count - parallel->shown);
}

/* Draws the marks of the steps on the last axis: "top1: . : + # from low to high". */
static void draw_key(struct app *app, struct rect area)
{
    const struct compare_parallel *parallel = &compare_model(app)->parallel;
    int column = draw_format(&app->canvas, area, 0, 0, ROLE_FAINT, _("%s, low to high:"),
                             parallel->axes[parallel->shown - 1].name);
    for (int step = 0; step < PARALLEL_STEPS; step++)
        column =
            draw_format(&app->canvas, area, 0, column, roles[step + 1], " %c", step_marks[step]);
}

static void draw_selected(struct app *app, struct rect area)
{
    const struct compare_model *model = compare_model(app);
    const struct compare_parallel *parallel = &model->parallel;
    char text[1400], value[NAME], mark[24];
    if (model->selected >= parallel->rows)
        return;
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "%s %s:", compare_model_mark(model->selected, mark, sizeof mark),
                                   model->table.rows[model->selected].network);
    for (size_t i = 0; i < parallel->shown && used < sizeof text; i++) {
        const struct parallel_axis *axis = &parallel->axes[i];
        name_level(model, axis, axis->values[model->selected], value, sizeof value);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %s %s", i > 0 ? "," : "",
                                 axis->name, value);
    }
    if (!compare_parallel_passes(parallel, model->selected) && used < sizeof text)
        snprintf(text + used, sizeof text - used, "%s", _(" (outside a brush)"));
    draw_wrapped(&app->canvas, area, 0, ROLE_TEXT, text);
}

/* --- all --- */

static void draw_axes(struct app *app, struct rect area)
{
    static const enum plot_style styles[SELECTED_SERIES + 1] = {
        PLOT_DOTTED, PLOT_DOTTED, PLOT_DOTTED, PLOT_DOTTED, PLOT_DOTTED, PLOT_DOTTED, PLOT_SOLID};
    struct compare_model *model = compare_model(app);
    const int margin =
        area.columns >= 36 ? MARGIN : MARGIN / 2; /* for the labels of the last axis */
    struct rect plot = {area.row + 2, area.column, area.rows - 3, area.columns - margin};
    struct error error;
    if (rect_is_empty(plot))
        return;
    const struct axes_window window = window_of(&model->parallel, plot.columns);
    if (!plot_reset(&model->plot, (size_t)plot.rows, (size_t)plot.columns, app->symbols, &error)) {
        app_say_error(app, &error);
        return;
    }
    add_lines(model, &window);
    plot_draw(&app->canvas, plot, &model->plot, roles, styles);
    for (size_t i = 0; i < window.count; i++)
        draw_axis(app, area, plot, &window, i);
    if (window.axes[0] > 0)
        draw_text(&app->canvas, area, 2, 1, ROLE_STRONG, app->canvas.glyphs->left);
    if (window.axes[0] + window.count < model->parallel.shown)
        draw_text(&app->canvas, plot, 0, plot.columns - 2, ROLE_STRONG, app->canvas.glyphs->right);
}

void compare_draw_parallel(struct app *app, struct rect area)
{
    const struct compare_model *model = compare_model(app);
    if (model->parallel.shown == 0) {
        draw_wrapped(&app->canvas, area, 1, ROLE_FAINT,
                     _("There is nothing in which these runs differ; + adds an axis."));
        return;
    }
    const int notes = area.rows >= 16 ? 4 : area.rows >= 7 ? 2 : 0;
    struct rect axes = {area.row, area.column + 1, area.rows - notes, area.columns - 2};
    struct rect line = {area.row + area.rows - notes, area.column + 1, notes > 0, area.columns - 2};
    draw_axes(app, axes);
    draw_counts(app, line);
    line.row++;
    if (notes > 2) {
        draw_key(app, line);
        line.row++;
    }
    line.rows = area.row + area.rows - line.row;
    if (notes > 0)
        draw_selected(app, line);
}
