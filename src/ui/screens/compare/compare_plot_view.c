/* The curves of several runs on common axes, with a legend that names them by what differs. A curve
 * carries its row's mark, so that colour is not needed to distinguish runs; the first entry of the
 * legend is drawn last, on top. */
#include "ui/screens/compare/internal.h"

#include "base/language.h"
#include "ui/app/plot_actions.h"
#include "ui/plot/axis_marks.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/legend.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PANEL_FROM = 100, PANEL = 38, WIDE_PANEL = 58, WIDE_FROM = 160, MARKS = 3 };

int compare_panel_columns(int columns)
{
    return columns < PANEL_FROM ? 0 : columns < WIDE_FROM ? PANEL : WIDE_PANEL;
}

/* --- the legend that names the runs --- */

static const char *value_text(double value, char *text, size_t size)
{
    if (isnan(value))
        snprintf(text, size, "-");
    else
        text_number(value, 4, text, size);
    return text;
}

/* Writes how many runs a group has and, where its value is over fewer, how many these are. */
static void print_runs(const struct compare_entry *entry, size_t runs, char *text, size_t size)
{
    text[0] = '\0';
    if (entry->runs > 1 && runs == entry->runs)
        snprintf(text, size, _(" (%zu seeds)"), entry->runs);
    else if (entry->runs > 1)
        snprintf(text, size, _(" (%zu of %zu seeds)"), runs, entry->runs);
}

static void draw_entry(struct app *app, struct rect line, const struct compare_entry *entry)
{
    struct compare_model *model = compare_model(app);
    const bool selected = entry == compare_curves_selected(model);
    const char *dash = app->canvas.glyphs->horizontal;
    char count[48], value[32], mark[24];
    size_t runs;
    value_text(compare_curves_value(model, entry, &runs), value, sizeof value);
    print_runs(entry, runs, count, sizeof count);
    if (!entry->visible)
        snprintf(value, sizeof value, "%s", _("hidden"));
    struct rect left = line;
    left.columns -= (int)columns_of(value) + 1;
    draw_text(&app->canvas, left, 0, 0, ROLE_STRONG, selected ? ">" : " ");
    int column = draw_format(&app->canvas, left, 0, 1,
                             entry->visible ? compare_row_role(model, entry->row) : ROLE_FAINT,
                             "%s%s%s ", compare_model_mark(entry->row, mark, sizeof mark),
                             entry->visible ? dash : " ", entry->visible ? dash : " ");
    column = draw_text(&app->canvas, left, 0, column, ROLE_STRONG, entry->pinned ? "* " : "");
    struct rect named = left; /* a long label leaves space for the number of runs */
    named.columns -= (int)columns_of(count);
    const int room = named.columns > column ? named.columns - column : 0;
    column = draw_fitted_name(&app->canvas, named, 0, column,
                              !entry->visible ? ROLE_FAINT
                              : selected      ? ROLE_STRONG
                                              : ROLE_TEXT,
                              compare_curves_fitted_label(model, entry, (size_t)room));
    draw_text(&app->canvas, left, 0, column, ROLE_FAINT, count);
    draw_right(&app->canvas, line, 0, entry->visible ? ROLE_STRONG : ROLE_FAINT, value);
    if (selected)
        draw_cursor(&app->canvas, line, 0, 0);
}

/* Draws the entries in `across` columns, filled row by row, from the first line on that shows the
 * selected one too. */
static void draw_entries(struct app *app, struct rect area, int across)
{
    const struct compare_curves *curves = &compare_model(app)->curves;
    const struct compare_entry *selected = compare_curves_selected(compare_model(app));
    const size_t at = selected ? (size_t)(selected - curves->entries) : 0;
    const int width = area.columns / across, below = (int)at / across - area.rows + 1;
    const int top = below > 0 ? below : 0;
    for (size_t i = (size_t)(top * across); i < curves->entry_count; i++) {
        const int shown = (int)i - top * across;
        struct rect line = {area.row + shown / across, area.column + shown % across * width, 1,
                            width - (across > 1 ? 2 : 0)};
        if (shown / across >= area.rows)
            return;
        draw_entry(app, line, &curves->entries[i]);
        if (compare_model(app)->table_below)
            targets_add_row(&app->canvas.targets, line, curves->entries[i].row,
                            compare_model(app)->selected);
        else
            targets_add_row(&app->canvas.targets, line, i, at);
    }
}

/* --- curves --- */

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

/* Returns the position of an entry's newest value on the x axis, 0 to 1. */
static double end_of(const struct compare_model *model, const struct curve *curve,
                     const struct compare_entry *entry, enum curve_x x)
{
    double first, last;
    size_t column = curve->width;
    if (entry->runs == 1 && curves_extent(run_series(model->runs[entry->run]), x, &first, &last))
        return fmax(0, fmin(1, axis_position(&model->x, last)));
    while (column > 0 && !curve->columns[column - 1].any)
        column--;
    return curve->width > 1 ? (double)column / (double)curve->width : 0;
}

static void add_marks(struct app *app, const struct compare_entry *entry, const struct curve *curve,
                      const struct axis *y)
{
    struct compare_model *model = compare_model(app);
    const uint16_t series = (uint16_t)(entry->run + 1);
    double end = end_of(model, curve, entry, known_x(app)), shift = 0.06 * (double)(entry->row % 5);
    curve_mark_nonpositive(curve, y, &model->plot, series);
    curve_mark_outliers(curve, y, &model->plot, series);
    for (int i = 0; i < MARKS; i++)
        curve_mark(curve, y, &model->plot, series, end * (0.1 + shift + 0.3 * i),
                   compare_model_row_mark(entry->row));
    if (model->trace >= TRACES_PER_ITERATION) /* there may be one validation only */
        curve_mark(curve, y, &model->plot, series, end, compare_model_row_mark(entry->row));
}

enum pass { PASS_BANDS, PASS_LINES, PASS_MARKS, PASSES };

static void add_entry(struct app *app, const struct compare_entry *entry, const struct axis *y,
                      enum pass pass)
{
    struct compare_model *model = compare_model(app);
    struct compare_curve *record = &model->curves.list[entry->run];
    const struct curve *line = entry->runs > 1 ? &record->band.mean
                               : model->trace < TRACES_PER_ITERATION
                                   ? &record->curves.trace[model->trace]
                                   : NULL;
    const uint16_t series = (uint16_t)(entry->run + 1);
    const uint16_t band = (uint16_t)(model->curves.count + entry->run + 1);
    if (pass == PASS_BANDS && entry->runs > 1)
        curve_draw(&record->band.extent, y, &model->plot, band);
    else if (pass == PASS_LINES && line)
        curve_draw(line, y, &model->plot, series);
    else if (pass == PASS_MARKS && line)
        add_marks(app, entry, line, y);
    else if (pass == PASS_LINES)
        validations_draw(&record->curves, model->trace, y, &model->plot, series,
                         compare_model_row_mark(entry->row));
}

/* Adds the visible entries, all bands below all lines. */
static void add_curves(struct app *app, const struct axis *y)
{
    const struct compare_curves *curves = &compare_model(app)->curves;
    for (enum pass pass = 0; pass < PASSES; pass++)
        for (size_t i = curves->entry_count; i-- > 0;)
            if (curves->entries[i].visible)
                add_entry(app, &curves->entries[i], y, pass);
}

static bool all_adversarial(const struct compare_model *model)
{
    for (size_t i = 0; i < model->count; i++)
        if (!trace_is_adversarial(run_series(model->runs[i])))
            return false;
    return model->count > 0;
}

/* Writes the name of the trace; for smoothed losses also how they are smoothed, if all runs are
 * smoothed alike. */
static void print_trace(const struct app *app, char *text, size_t size)
{
    const struct compare_model *model = compare_model(app);
    const size_t choice = app->shared.axes.smoothing;
    const bool raw = model->trace == TRACE_SMOOTHED && strcmp(smoothing_names[choice], "0") == 0;
    const char *name = trace_name(raw ? TRACE_RAW : model->trace, all_adversarial(model));
    const bool runs_say = choice == 0 && model->trace == TRACE_SMOOTHED;
    char words[40] = "";
    bool alike = true;
    for (size_t i = 1; i < model->count && runs_say; i++)
        alike &= run_series(model->runs[i])->window == run_series(model->runs[0])->window;
    if (model->count > 0 && !raw && (runs_say || (choice > 0 && model->trace < TRACES_SMOOTHED)))
        smoothing_words(choice, run_series(model->runs[0]), words, sizeof words);
    if (!alike)
        snprintf(text, size, _("%s (of different windows)"), name);
    else if (words[0])
        snprintf(text, size, "%s (%s)", name, words);
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

/* Adds what the marks in the cursor's column mean, each in the colour of its run. */
static void add_mark_words(const struct app *app, struct legend *legend)
{
    const struct compare_model *model = compare_model(app);
    const struct axis_marks *marks = &model->curves.marks;
    char words[80], mark_of_run[24];
    for (size_t i = 0; i < marks->count; i++) {
        const struct axis_mark *mark = &marks->list[i];
        if (axis_mark_is_at(mark, &model->x, model->window.extent.columns, model->window.cursor))
            legend_add(legend, mark->role, axis_mark_sign(mark->kind, app->canvas.glyphs), "%s: %s",
                       compare_model_mark(mark->owner, mark_of_run, sizeof mark_of_run),
                       axis_mark_words(mark, words, sizeof words));
    }
}

/* Explains the signs of the marks on the x axis. */
static void add_kind_words(const struct app *app, struct legend *legend)
{
    const unsigned kinds = axis_marks_kinds(&compare_model(app)->curves.marks);
    for (enum axis_mark_kind kind = 0; kind < AXIS_MARK_KINDS; kind++)
        if (kinds & AXIS_MARK_BIT(kind))
            legend_add(legend, ROLE_STRONG, axis_mark_sign(kind, app->canvas.glyphs), "%s",
                       axis_mark_kind_words(kind));
    if (compare_model(app)->curves.marks.shared)
        legend_add(legend, ROLE_STRONG, (char[2]){AXIS_MARKS_SEVERAL, '\0'}, "%s", _("several"));
}

/* Returns whether a group of several runs is drawn. */
static bool draws_bands(const struct compare_curves *curves)
{
    for (size_t i = 0; i < curves->entry_count; i++)
        if (curves->entries[i].runs > 1 && curves->entries[i].visible)
            return true;
    return false;
}

static void draw_legend(struct app *app, struct rect area, const struct axis *y)
{
    const struct compare_model *model = compare_model(app);
    struct legend legend = {.count = 0};
    size_t nonpositive = app->shared.axes.log_y ? compare_curves_nonpositive(model) : 0;
    char name[64];
    print_trace(app, name, sizeof name);
    plot_axes_title(name, app->shared.axes.log_y, app->shared.axes.all_values, legend.title,
                    sizeof legend.title);
    if (model->window.cursor_on) {
        add_cursor_words(app, &legend);
        add_mark_words(app, &legend);
    }
    if (model->window.zoomed)
        legend_add(&legend, ROLE_STRONG, "<>", "%s",
                   model->window.follow ? _("follows") : _("zoomed"));
    if (nonpositive > 0)
        legend_add(&legend, ROLE_WARNING, (char[2]){CURVE_BELOW, '\0'},
                   ngettext("%zu value <= 0", "%zu values <= 0", nonpositive), nonpositive);
    if (compare_curves_outliers(model, y) > 0)
        legend_add(&legend, ROLE_WARNING, "^v", "%s", _("outliers"));
    if (draws_bands(&model->curves))
        legend_add(&legend, ROLE_RAW, app->symbols == SYMBOLS_ASCII ? ".:" : "::", "%s",
                   _("mean, min and max of seeds"));
    add_kind_words(app, &legend);
    legend_draw(&legend, &app->canvas, area);
}

/* Draws the cells of the plot. Lines have the colours of their rows; bands are faint. */
static void draw_cells(struct app *app, struct rect area)
{
    struct compare_curves *curves = &compare_model(app)->curves;
    for (size_t i = 0; i < curves->count; i++) {
        curves->roles[i + 1] = (enum role)(ROLE_SERIES + i % THEME_SERIES);
        curves->styles[i + 1] = PLOT_SOLID;
        curves->roles[curves->count + i + 1] = ROLE_RAW;
        curves->styles[curves->count + i + 1] = PLOT_DOTTED;
    }
    plot_draw(&app->canvas, area, &compare_model(app)->plot, curves->roles, curves->styles);
}

static void draw_curves(struct app *app, struct rect area)
{
    struct compare_model *model = compare_model(app);
    const struct axes *axes = &app->shared.axes;
    struct plot_layout layout = layout_plot(area, true);
    struct error error;
    struct axis y;
    if (rect_is_empty(layout.plot))
        return;
    struct curve_view wanted = {.x = known_x(app),
                                .log_x = axes->log_x,
                                .smoothing = axes->smoothing,
                                .width =
                                    (size_t)layout.plot.columns * plot_dots_across(app->symbols)};
    if (!compare_curves_update(model, &wanted, (size_t)layout.plot.columns, &error) ||
        !compare_curves_list_marks(model, (size_t)layout.plot.columns, &error) ||
        !compare_curves_y_axis(model, axes->log_y, axes->all_values, &y, &error) ||
        !plot_reset(&model->plot, (size_t)layout.plot.rows, (size_t)layout.plot.columns,
                    app->symbols, &error)) {
        app_say_error(app, &error);
        return;
    }
    app->canvas.targets.plot = &model->window;
    app->canvas.targets.plot_area = layout.plot;
    add_curves(app, &y);
    draw_legend(app, layout.legend, &y);
    plot_axes_draw_y(&app->canvas, layout.labels, &y);
    draw_cells(app, layout.plot);
    plot_draw_cursor(&app->canvas, &model->plot, &model->window, layout.plot);
    plot_axes_draw_x(&app->canvas, layout.axis, &model->x, known_x(app), layout.labels.columns > 0);
    if (layout.axis.rows >= 2)
        axis_marks_draw(&model->curves.marks, &app->canvas, layout.axis);
}

/* The legend stands beside the curves in a wide area, else above them. */
void compare_draw_curves(struct app *app, struct rect area)
{
    const int runs = (int)compare_model(app)->curves.entry_count;
    const int panel_columns = compare_panel_columns(area.columns);
    bool wide = panel_columns > 0;
    int across = wide || area.columns < 60 ? 1 : 2;
    struct rect names = area;
    if (wide) {
        names.column += area.columns - panel_columns;
        names.columns = panel_columns;
        area.columns -= panel_columns + 2;
    } else {
        int lines = (runs + across - 1) / across, most = area.rows / 3;
        names.rows = lines > most ? most : lines;
        names.column++;
        names.columns--;
        area.row += names.rows;
        area.rows -= names.rows;
    }
    draw_curves(app, area); /* first, because it updates the values that the legend shows */
    draw_entries(app, names, across);
}
