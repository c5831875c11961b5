/* The scatter plot: each run is a point with its row's mark, the Pareto front a line. A point has
 * one cell, since numbers of several digits would run into each other; the lines below the plot
 * have the whole marks. */
#include "ui/screens/compare/internal.h"

#include "base/language.h"
#include "ui/plot/axis_marks.h"
#include "ui/terminal/columns.h"
#include "ui/terminal/keys.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NOTE_ROWS = 3, FRONT_SERIES = 1 };

struct place {
    int row, column;
};

/* Returns where a point lies in a plot of this size. */
static struct place place_of(const struct compare_scatter *scatter,
                             const struct scatter_point *point, int rows, int columns)
{
    const double x = axis_position(&scatter->axes[SCATTER_X], point->at[SCATTER_X]);
    const double y = axis_position(&scatter->axes[SCATTER_Y], point->at[SCATTER_Y]);
    return (struct place){(int)lround((1 - y) * (rows - 1)), (int)lround(x * (columns - 1))};
}

/* --- the plot --- */

static void add_front(struct compare_model *model)
{
    const struct compare_scatter *scatter = &model->scatter;
    struct plot *plot = &model->plot;
    const int width = (int)plot_width(plot), height = (int)plot_height(plot);
    struct place last = {0, 0};
    for (size_t i = 0; i < scatter->front.count; i++) {
        const struct scatter_point *point = compare_scatter_find(scatter, scatter->front.rows[i]);
        const struct place place = place_of(scatter, point, height, width);
        if (i > 0)
            plot_line(plot, FRONT_SERIES, last.column, height - 1 - last.row, place.column,
                      height - 1 - place.row);
        last = place;
    }
}

/* Draws a point. A click on it presses Tab until its row is selected, on the selected row Enter. */
static void draw_point(struct app *app, struct rect area, const struct scatter_point *point)
{
    const struct compare_model *model = compare_model(app);
    const size_t rows = model->table.count;
    const bool selected = point->row == model->selected;
    const bool on_front = compare_front_has(&model->scatter.front, point->row);
    const struct place place = place_of(&model->scatter, point, area.rows, area.columns);
    const char mark[] = {compare_model_row_mark(point->row), '\0'};
    enum role role = selected   ? ROLE_FOCUS
                     : on_front ? ROLE_STRONG
                                : compare_row_role(model, point->row);
    draw_text(&app->canvas, area, place.row, place.column, role, mark);
    struct rect cell = {area.row + place.row, area.column + place.column, 1, 1};
    targets_add(&app->canvas.targets, cell, selected ? UI_ENTER : UI_TAB,
                selected ? 1 : (point->row + rows - model->selected) % rows);
    if (selected)
        draw_cursor(&app->canvas, area, place.row, place.column);
}

static void draw_points(struct app *app, struct rect area)
{
    const struct compare_scatter *scatter = &compare_model(app)->scatter;
    for (size_t i = scatter->count; i-- > 0;) /* the first row on top */
        draw_point(app, area, &scatter->points[i]);
    const struct scatter_point *selected =
        compare_scatter_find(scatter, compare_model(app)->selected);
    if (selected)
        draw_point(app, area, selected);
}

static void name_axis(const struct compare_scatter *scatter, enum scatter_axis axis, char *text,
                      size_t size)
{
    snprintf(text, size, scatter->axes[axis].log ? _("%s, log") : "%s", scatter->names[axis]);
}

static void draw_plot(struct app *app, struct rect area)
{
    static const enum role roles[] = {ROLE_TEXT, ROLE_SMOOTHED};
    static const enum plot_style styles[] = {PLOT_DOTTED, PLOT_DOTTED};
    struct compare_model *model = compare_model(app);
    struct plot_layout layout = layout_plot(area, true);
    char name[FIGURE_NAME + 16];
    struct error error;
    if (rect_is_empty(layout.plot))
        return;
    if (!plot_reset(&model->plot, (size_t)layout.plot.rows, (size_t)layout.plot.columns,
                    app->symbols, &error)) {
        app_say_error(app, &error);
        return;
    }
    add_front(model);
    name_axis(&model->scatter, SCATTER_Y, name, sizeof name);
    draw_text(&app->canvas, layout.legend, 0, 0, ROLE_HEADING, name);
    plot_axes_draw_y(&app->canvas, layout.labels, &model->scatter.axes[SCATTER_Y]);
    plot_draw(&app->canvas, layout.plot, &model->plot, roles, styles);
    name_axis(&model->scatter, SCATTER_X, name, sizeof name);
    plot_axes_draw_named_x(&app->canvas, layout.axis, &model->scatter.axes[SCATTER_X], name,
                           layout.labels.columns > 0);
    draw_points(app, layout.plot);
}

/* --- words --- */

/* Writes "3 lenet, batch 64": the mark and the label of a row, which is shortened to `columns`. */
static void name_row(const struct compare_model *model, size_t row, size_t columns, char *text,
                     size_t size)
{
    char mark[24], label[288];
    const size_t run = compare_model_run_of_row(model, row),
                 used = strlen(compare_model_mark(row, mark, sizeof mark)) + 1;
    if (run == COMPARE_NO_RUN)
        snprintf(label, sizeof label, "%s" COMPARE_PUBLISHED, model->table.rows[row].network);
    else
        compare_curves_label(model, &(struct compare_entry){.run = run, .runs = 1},
                             columns > used ? columns - used : 0, label, sizeof label);
    snprintf(text, size, "%s %s", mark, label);
}

/* Draws the values of the selected row; with little space its mark stands for its label. */
static int draw_selected(struct app *app, struct rect area, int line)
{
    const struct compare_model *model = compare_model(app);
    const struct compare_scatter *scatter = &model->scatter;
    char label[320], values[SCATTER_AXES][64], text[640];
    if (area.rows < NOTE_ROWS)
        compare_model_mark(model->selected, label, sizeof label);
    else
        name_row(model, model->selected, SIZE_MAX, label, sizeof label);
    for (size_t i = 0; i < SCATTER_AXES; i++)
        if (!compare_figure_text(&model->table, model->selected, &scatter->figures[i], values[i],
                                 sizeof values[i])[0])
            snprintf(values[i], sizeof values[i], "?");
    snprintf(text, sizeof text, "%s: %s %s, %s %s", label, scatter->names[SCATTER_X],
             values[SCATTER_X], scatter->names[SCATTER_Y], values[SCATTER_Y]);
    return draw_wrapped(&app->canvas, area, line, ROLE_TEXT, text);
}

static int draw_unknown(struct app *app, struct rect area, int line)
{
    const struct compare_scatter *scatter = &compare_model(app)->scatter;
    char text[160];
    for (size_t i = 0; i < SCATTER_AXES; i++) {
        if (scatter->unknown[i] == 0 ||
            (i > 0 && strcmp(scatter->names[0], scatter->names[i]) == 0))
            continue;
        snprintf(text, sizeof text,
                 ngettext("%zu run has no %s", "%zu runs have no %s", scatter->unknown[i]),
                 scatter->unknown[i], scatter->names[i]);
        line = draw_wrapped(&app->canvas, area, line, ROLE_FAINT, text);
    }
    return line;
}

static int draw_front_line(struct app *app, struct rect area, int line)
{
    const struct compare_scatter *scatter = &compare_model(app)->scatter;
    char text[400], mark[24];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", _("Pareto front:"));
    if (!scatter->has_front)
        snprintf(text, sizeof text, "%s",
                 _("no Pareto front: of a setting neither more nor less is better"));
    for (size_t i = 0; scatter->has_front && i < scatter->front.count && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %s",
                                 compare_model_mark(scatter->front.rows[i], mark, sizeof mark));
    if (scatter->has_front && scatter->front.undecided > 0 && used < sizeof text)
        snprintf(text + used, sizeof text - used,
                 ngettext("; %zu pair is not comparable: measured at different times",
                          "; %zu pairs are not comparable: measured at different times",
                          scatter->front.undecided),
                 scatter->front.undecided);
    return draw_wrapped(&app->canvas, area, line, ROLE_STRONG, text);
}

/* --- the panel of a wide terminal --- */

static void draw_member(struct app *app, struct rect line, size_t row)
{
    const struct compare_model *model = compare_model(app);
    const struct compare_scatter *scatter = &model->scatter;
    char label[300], fitted[300], values[SCATTER_AXES][64], text[160];
    for (size_t i = 0; i < SCATTER_AXES; i++)
        compare_figure_text(&model->table, row, &scatter->figures[i], values[i], sizeof values[i]);
    snprintf(text, sizeof text, " %s  %s", values[SCATTER_X], values[SCATTER_Y]);
    const int left = line.columns - (int)columns_of(text), room = left > 0 ? left : 0;
    name_row(model, row, (size_t)room, label, sizeof label);
    const enum role role = row == model->selected ? ROLE_FOCUS : ROLE_TEXT;
    if (row == model->selected)
        draw_fill(&app->canvas, line, role);
    columns_fit_middle(label, (size_t)room, app->canvas.glyphs->cut, fitted, sizeof fitted);
    draw_text(&app->canvas, line, 0, 0, role, fitted);
    draw_right(&app->canvas, line, 0, role, text);
    targets_add(&app->canvas.targets, line, row == model->selected ? UI_ENTER : UI_TAB,
                row == model->selected
                    ? 1
                    : (row + model->table.count - model->selected) % model->table.count);
}

static void draw_panel(struct app *app, struct rect panel)
{
    const struct compare_scatter *scatter = &compare_model(app)->scatter;
    int row = draw_selected(app, panel, 0);
    row = draw_unknown(app, panel, row) + 1;
    row = draw_front_line(app, panel, row);
    for (size_t i = 0; i < scatter->front.count && row < panel.rows; i++, row++)
        draw_member(app, (struct rect){panel.row + row, panel.column, 1, panel.columns},
                    scatter->front.rows[i]);
}

void compare_draw_scatter(struct app *app, struct rect area)
{
    if (!compare_model(app)->scatter.usable) {
        draw_wrapped(&app->canvas, area, 1, ROLE_FAINT, _("No figure of these runs is known."));
        return;
    }
    const int panel_columns = compare_panel_columns(area.columns);
    if (panel_columns > 0) {
        struct rect panel = {area.row, area.column + area.columns - panel_columns, area.rows,
                             panel_columns};
        area.columns -= panel_columns + 2;
        draw_plot(app, area);
        draw_panel(app, panel);
        return;
    }
    const int rows = area.rows >= 12 ? NOTE_ROWS : area.rows >= 6 ? 2 : 0;
    struct rect notes = {area.row + area.rows - rows, area.column + 1, rows, area.columns - 2};
    area.rows -= rows;
    draw_plot(app, area);
    int line = draw_selected(app, notes, 0);
    line = draw_front_line(app, notes, line);
    draw_unknown(app, notes, line);
}
