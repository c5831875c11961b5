/* The scatter plot: each run is a point with its row's mark, the Pareto front a line. A point has
 * one cell, since numbers of several digits would run into each other; the lines below the plot
 * have the whole marks. */
#include "ui/screens/compare/internal.h"

#include "base/language.h"
#include "ui/terminal/columns.h"
#include "ui/terminal/keys.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NOTE_ROWS = 3 };

/* --- the plot --- */

static enum role role_of(const void *context, size_t row)
{
    return compare_row_role(context, row);
}

static void draw_plot(struct app *app, struct rect area)
{
    struct compare_model *model = compare_model(app);
    const struct compare_scatter *data = &model->scatter;
    char legend[SCATTER_NAME + 16];
    struct error error;
    struct scatter scatter = {.points = data->points,
                              .count = data->count,
                              .front = data->front.rows,
                              .front_count = data->front.count,
                              .x_name = data->names[SCATTER_X],
                              .legend = legend,
                              .selected = model->selected,
                              .mark = compare_model_row_mark,
                              .role = role_of,
                              .context = model,
                              .rows = model->table.count};
    memcpy(scatter.axes, data->axes, sizeof scatter.axes);
    snprintf(legend, sizeof legend, data->axes[SCATTER_Y].log ? _("%s, log") : "%s",
             data->names[SCATTER_Y]);
    if (!scatter_draw(&scatter, &model->plot, app->symbols, &app->canvas, area, &error))
        app_say_error(app, &error);
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
