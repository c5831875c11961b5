/* The screen Compare: its keys, its views and when the table is built. Runs are shown as curves, as
 * a table, as a list of the settings in which they differ, as points of two figures and as lines
 * across parallel axes. compare_gather.c chooses and reads them. */
#include "ui/app/app.h"
#include "ui/app/plot_actions.h"
#include "ui/screens/compare/internal.h"
#include "ui/widgets/listing.h"

#include "base/clock.h"
#include "base/language.h"
#include "runs/values/run_snapshot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const view_names[COMPARE_KINDS] = {N_("Curves"), N_("Table"), N_("Settings"),
                                                      N_("Scatter"), N_("Parallel")};

/* --- actions on rows --- */

static void next_view(struct app *app)
{
    struct compare_model *model = compare_model(app);
    model->kind = (enum compare_kind)((model->kind + 1) % COMPARE_KINDS);
    model->left = model->scroll = 0;
}

static void sort(struct app *app, int steps)
{
    struct compare_model *model = compare_model(app);
    compare_model_step_sort(model, steps);
    app_say(app, ROLE_FAINT, "Sorted: %s.", compare_model_sort_name(model));
}

static void reverse(struct app *app)
{
    compare_model_reverse(compare_model(app));
}

static void toggle_published(struct app *app)
{
    struct compare_model *model = compare_model(app);
    model->outdated = true;
    model->published = !model->published;
    if (model->published)
        app_say(app, ROLE_STRONG, "With the published figures of Gondim Santos 2019, marked *.");
    else
        app_say(app, ROLE_STRONG, "Without published figures.");
}

static void open_selected(struct app *app)
{
    const struct compare_model *model = compare_model(app);
    for (size_t i = 0; i < app_run_count(app); i++) {
        const struct run_entry *entry = app_run_at(app, i);
        if (entry->run && entry->run == model->table.rows[model->selected].run) {
            app_show_run(app, i);
            return;
        }
    }
    app_say(app, ROLE_WARNING, "This row is published; there is no run to watch.");
}

/* Selects the row after or before, from the last one on the first. */
static void step(struct app *app, int steps)
{
    struct compare_model *model = compare_model(app);
    const size_t count = model->table.count;
    if (count > 0)
        model->selected = (model->selected + (steps > 0 ? 1 : count - 1)) % count;
}

/* Says what the marks in the column of a value are, and of which runs: "L 1: learning rate 0.1 ->
 * 0.01; ! 3: overfitting". */
static void say_marks_at(struct app *app, double x, enum role role)
{
    const struct compare_model *model = compare_model(app);
    const struct axis_marks *marks = &model->curves.marks;
    char words[120], of[24], text[400] = "";
    for (size_t i = 0, used = 0; i < marks->count && used < sizeof text; i++) {
        const struct axis_mark *mark = &marks->list[i];
        if (axis_mark_is_at(mark, &model->x, model->window.extent.columns, x))
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s: %s",
                                     used > 0 ? "; " : "",
                                     axis_mark_sign(mark->kind, app->canvas.glyphs),
                                     compare_model_mark(mark->owner, of, sizeof of),
                                     axis_mark_words(mark, words, sizeof words));
    }
    app_say(app, role, "%s", text);
}

/* Moves the cursor to the next mark of some kinds. */
static void go_to_mark(struct app *app, unsigned kinds)
{
    struct compare_model *model = compare_model(app);
    const struct plot_window *window = &model->window;
    const double here = window->cursor_on ? window->cursor : -INFINITY;
    const struct axis_mark *mark =
        axis_marks_next(&model->curves.marks, kinds, here + fabs(here) * 1e-9);
    if (!mark) {
        app_say(app, ROLE_FAINT,
                kinds == AXIS_MARKS_ALL ? _("There are no marks so far.")
                                        : _("Nothing was found so far."));
        return;
    }
    plot_window_set_cursor(&model->window, mark->x);
    say_marks_at(app, mark->x, mark->role);
}

/* Returns whether the curves are shown; says how to get there if they are not. */
static bool are_curves_shown(struct app *app)
{
    const bool shown = compare_model(app)->kind == COMPARE_CURVES;
    if (!shown)
        app_say(app, ROLE_WARNING, "This acts on the curves; v goes to them.");
    return shown;
}

static void next_mark(struct app *app, int kinds)
{
    if (are_curves_shown(app))
        go_to_mark(app, (unsigned)kinds);
}

static void toggle_groups(struct app *app)
{
    struct compare_model *model = compare_model(app);
    if (!are_curves_shown(app))
        return;
    if (compare_curves_toggle_groups(model) == 0) {
        app_say(app, ROLE_WARNING, "No runs differ in their seed only, so there are no groups.");
        return;
    }
    model->outdated = true; /* the table has a row for each group, or for each run */
    app_say(app, ROLE_STRONG, "%s",
            model->curves.ungrouped ? N_("Every run has a curve of its own.")
                                    : N_("Seeds are drawn as mean, minimum and maximum."));
}

/* Hides, shows alone or pins the selected run or group. */
static void show_selected(struct app *app, int how)
{
    static bool (*const functions[])(struct compare_model *) = {
        compare_curves_hide, compare_curves_solo, compare_curves_pin};
    if (are_curves_shown(app) && !functions[how](compare_model(app)))
        app_say(app, ROLE_WARNING, "This row is published; it has no curve.");
}

/* Moves the selection along the legend or, if the table is drawn, along its rows. */
static void select_by(struct compare_model *model, long steps)
{
    const long to = (long)model->scroll + steps;
    if (model->kind == COMPARE_CURVES && !model->table_below) {
        compare_curves_select(model, steps);
        return;
    }
    model->selected = list_step(model->selected, steps, model->table.count);
    model->scroll = to < 0 ? 0 : (size_t)to; /* drawing limits it to the last line */
}

/* Moves the cursor of the curves, the selected point, axis or row, or the columns in view. */
static void move(struct app *app, int how)
{
    struct compare_model *model = compare_model(app);
    const int across = how == MOVE_LEFT ? -1 : how == MOVE_RIGHT;
    const bool page = how == MOVE_PAGE_UP || how == MOVE_PAGE_DOWN;
    const bool end = how == MOVE_FIRST || how == MOVE_LAST;
    if (model->kind == COMPARE_CURVES && model->window.cursor_on && !end &&
        plot_move_cursor(&model->window, how))
        return;
    if (page)
        return;
    if (model->kind == COMPARE_SCATTER && model->scatter.usable && !end)
        model->selected = compare_scatter_neighbour(&model->scatter, model->selected, across,
                                                    (how == MOVE_UP) - (how == MOVE_DOWN));
    else if (model->kind == COMPARE_PARALLEL && across)
        model->parallel.selected =
            list_step(model->parallel.selected, across, model->parallel.shown);
    else if (across) /* drawing limits it */
        model->left += across > 0 ? 1 : -(size_t)(model->left > 0);
    else
        select_by(model, move_steps(how, 0, (long)model->table.count));
}

/* --- choosing a figure --- */

static void take_figure(struct app *app)
{
    struct compare_model *model = compare_model(app);
    const char *figure = chooser_choice(&app->choosing.chooser);
    if (model->kind == COMPARE_PARALLEL)
        compare_parallel_show(&model->parallel, figure);
    else {
        snprintf(model->scatter.names[model->choice.axis], SCATTER_NAME, "%s", figure);
        model->outdated = true;
    }
}

/* Opens the chooser of the figures with numbers, for an axis of the scatter plot. */
static void choose_scatter_figure(struct app *app, enum scatter_axis axis)
{
    struct compare_model *model = compare_model(app);
    struct compare_figure figures[COMPARE_FIGURES];
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    size_t count = compare_list_figures(&model->table, figures), listed = 0;
    for (size_t i = 0; i < count && listed < CHOOSER_MAX_ITEMS; i++)
        if (!compare_figure_is_text(&figures[i])) {
            char *name = model->choice.items[listed];
            compare_figure_name(&model->table, &figures[i], name, SCATTER_NAME);
            items[listed++] = (struct chooser_item){name, ""};
        }
    model->choice.axis = axis;
    chooser_begin(app_choose(app, take_figure),
                  axis == SCATTER_X ? _("Which figure on the x axis?")
                                    : _("Which figure on the y axis?"),
                  items, listed, model->scatter.names[axis], false);
}

/* Opens the chooser of the axes that are left out of the parallel coordinates. */
static void choose_axis(struct app *app)
{
    struct compare_model *model = compare_model(app);
    const struct compare_parallel *parallel = &model->parallel;
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    size_t listed = 0;
    for (size_t i = parallel->shown; i < parallel->count && listed < CHOOSER_MAX_ITEMS; i++) {
        snprintf(model->choice.items[listed], SCATTER_NAME, "%s", parallel->axes[i].name);
        items[listed] = (struct chooser_item){model->choice.items[listed], ""};
        listed++;
    }
    if (listed == 0)
        app_say(app, ROLE_FAINT, "All axes are shown.");
    else
        chooser_begin(app_choose(app, take_figure), _("Which axis?"), items, listed, items[0].text,
                      false);
}

/* Returns whether the points of two figures are shown. */
static bool is_scatter(const struct compare_model *model)
{
    return model->kind == COMPARE_SCATTER && model->scatter.usable;
}

static void next_quantity(struct app *app)
{
    if (is_scatter(compare_model(app)))
        choose_scatter_figure(app, SCATTER_Y);
    else
        compare_model_next_trace(compare_model(app));
}

static void next_axis(struct app *app)
{
    if (is_scatter(compare_model(app)))
        choose_scatter_figure(app, SCATTER_X);
    else
        plot_next_x(app);
}

static void next_scale(struct app *app)
{
    struct compare_model *model = compare_model(app);
    if (is_scatter(model)) {
        compare_scatter_next_scale(&model->scatter);
        model->outdated = true;
    } else
        plot_next_scale(app);
}

/* Changes the plot of curves; among parallel axes < and > move the selected one. */
static void change_plot(struct app *app, int change)
{
    struct compare_model *model = compare_model(app);
    if (model->kind == COMPARE_PARALLEL && change >= PLOT_PAN_LEFT)
        compare_parallel_move(&model->parallel, change == PLOT_PAN_RIGHT);
    else
        plot_change(app, &model->window, (enum plot_change)change);
}

/* --- actions on parallel axes, which do nothing in other views --- */

enum { LOW_UP, LOW_DOWN, HIGH_UP, HIGH_DOWN };

static void brush(struct app *app, int end)
{
    struct compare_model *model = compare_model(app);
    if (model->kind == COMPARE_PARALLEL)
        compare_parallel_brush(&model->parallel, end <= LOW_DOWN, end == LOW_UP || end == HIGH_UP);
}

static void clear_brush(struct app *app, int all)
{
    struct compare_model *model = compare_model(app);
    if (model->kind == COMPARE_PARALLEL)
        compare_parallel_clear_brush(&model->parallel, all);
}

static void leave_axis_out(struct app *app)
{
    if (compare_model(app)->kind == COMPARE_PARALLEL)
        compare_parallel_leave_out(&compare_model(app)->parallel);
}

static void add_axis(struct app *app)
{
    if (compare_model(app)->kind == COMPARE_PARALLEL)
        choose_axis(app);
}

/* --- keys --- */

static bool take_key(struct app *app, int key)
{
    struct compare_model *model = compare_model(app);
    if (actions_find(&app_screen(app)->actions, key) && compare_gather_hold(app, key))
        return true;
    return model->kind == COMPARE_CURVES && plot_leave_cursor(&model->window, key);
}

static const char *refuses(const struct app *app)
{
    const struct compare_model *model = compare_model(app);
    return model->gathering.running || model->count > 0 ? NULL : _("There is no run to compare.");
}

static const struct action actions[] = {
    {"v", "view", N_("view"),
     N_("the next view: curves, table, settings that differ, scatter plot, parallel axes"),
     .run = next_view},
    {"s", "sort", N_("sort"), N_("sort by the next column, the best first"), .run_with = sort,
     .argument = 1},
    {"b", "sort-back", NULL, N_("sort by the column before"), .run_with = sort, .argument = -1},
    {"r", "reverse", NULL, N_("reverse the order; unknown values stay last"), .run = reverse},
    {"y", "curve", N_("curve"),
     N_("what the curves show: losses, accuracy, learning rate, ms/image; the y axis of a scatter "
        "plot"),
     .run = next_quantity},
    {"i", "inspect", N_("inspect"),
     N_("a cursor that reads the values of all runs; Left and Right move it"),
     .run_with = change_plot, .argument = PLOT_CURSOR},
    {"f", "next-finding", NULL, N_("the cursor to the next finding (!) of the runs that are drawn"),
     .run_with = next_mark, .argument = AXIS_MARK_BIT(AXIS_MARK_FINDING)},
    {"M", "next-mark", NULL,
     N_("the cursor to the next mark of these runs: a finding, a new learning rate (L), a resume "
        "(R), a fork (F), the best epoch; + stands for several in one column"),
     .run_with = next_mark, .argument = AXIS_MARKS_ALL},
    {"z", "zoom-in", N_("zoom"), N_("zoom in at the cursor"), .run_with = change_plot,
     .argument = PLOT_ZOOM_IN},
    {"Z", "zoom-out", NULL, N_("zoom out"), .run_with = change_plot, .argument = PLOT_ZOOM_OUT},
    {"0", "show-all", NULL, N_("show the whole runs"), .run_with = change_plot,
     .argument = PLOT_SHOW_ALL},
    {"<", "pan-left", NULL, N_("scroll a zoomed plot, or move a parallel axis, to the left"),
     .run_with = change_plot, .argument = PLOT_PAN_LEFT},
    {">", "pan-right", NULL, N_("the same to the right"), .run_with = change_plot,
     .argument = PLOT_PAN_RIGHT},
    {"[", "raise-low-end", NULL,
     N_("parallel axes: raise the lower end of the range that filters the runs"), .run_with = brush,
     .argument = LOW_UP},
    {"{", "lower-low-end", NULL, N_("lower it again"), .run_with = brush, .argument = LOW_DOWN},
    {"]", "lower-high-end", NULL, N_("lower the upper end of that range"), .run_with = brush,
     .argument = HIGH_DOWN},
    {"}", "raise-high-end", NULL, N_("raise it again"), .run_with = brush, .argument = HIGH_UP},
    {"w", "clear-filter", NULL, N_("the whole axis: no filter"), .run_with = clear_brush,
     .argument = false},
    {"W", "clear-filters", NULL, N_("no filter on any axis"), .run_with = clear_brush,
     .argument = true},
    {"-", "leave-axis-out", NULL, N_("leave the selected axis out"), .run = leave_axis_out},
    {"+", "add-axis", NULL, N_("add an axis that is left out"), .run = add_axis},
    {"p", "published", N_("published"), N_("the studies' published figures, marked as such"),
     .run = toggle_published},
    {"e", "export", N_("export"), N_("write the table as JSON, CSV or Markdown; asks where"),
     .run = ask_compare_export},
    {"Enter", "watch", N_("watch"), N_("show the selected run"), .run = open_selected},
    {"Tab", "next-row", NULL, N_("the next row, in every view"), .run_with = step, .argument = 1},
    {"S-Tab", "previous-row", NULL, N_("the row before"), .run_with = step, .argument = -1},
    {"Up", "up", NULL, N_("the row above, or the next point of a scatter plot"), .run_with = move,
     .argument = MOVE_UP},
    {"Down", "down", NULL, N_("the row or point below"), .run_with = move, .argument = MOVE_DOWN},
    {"PgUp ,", "page-up", NULL, N_("the cursor a tenth of the plot to the left"), .run_with = move,
     .argument = MOVE_PAGE_UP},
    {"PgDn .", "page-down", NULL, N_("the cursor a tenth of the plot to the right"),
     .run_with = move, .argument = MOVE_PAGE_DOWN},
    {"Left", "left", NULL, N_("columns, points or axes to the left"), .run_with = move,
     .argument = MOVE_LEFT},
    {"Right", "right", NULL, N_("the same to the right"), .run_with = move, .argument = MOVE_RIGHT},
    {"Home", "first", NULL, NULL, .run_with = move, .argument = MOVE_FIRST},
    {"End", "last", NULL, NULL, .run_with = move, .argument = MOVE_LAST},
    {"h", "hide", N_("hide"), N_("hide the curve of the selected run, or show it"),
     .run_with = show_selected, .argument = 0},
    {"H", "solo", NULL, N_("show only the selected run and the pinned ones, or all again"),
     .run_with = show_selected, .argument = 1},
    {"P", "pin", N_("pin"),
     N_("pin the selected run: first in the legend, on top, shown beside any other"),
     .run_with = show_selected, .argument = 2},
    {"G", "seeds", N_("seeds"),
     N_("draw runs that differ in their seed only as mean, minimum and maximum, or apart"),
     .run = toggle_groups},
    {"l", "scale", N_("log"), N_("axis scales: linear, log x, log y, log both"), .run = next_scale},
    {"S", "smoothing", N_("smoothing"),
     N_("the next strength of smoothing: as the run says, 0, 0.6, 0.9, 0.97, 0.99, 0.999"),
     .run = plot_next_smoothing},
    {"a", "outliers", NULL,
     N_("let the y axis show all values, or leave out outliers (^ and v mark them)"),
     .run = plot_toggle_range},
    {"x", "axis", N_("axis"),
     N_("the x axis: iteration, epoch, time; of a scatter plot any figure"), .run = next_axis},
    {"g", "symbols", NULL, N_("graph symbols: braille, block, ASCII"), .run = plot_next_symbols},
};

/* --- drawing --- */

static bool any_is_active(const struct compare_model *model)
{
    struct run_snapshot snapshot;
    for (size_t i = 0; i < model->count; i++) {
        run_snapshot(model->runs[i], &snapshot);
        if (!run_status_is_over(snapshot.status))
            return true;
    }
    return false;
}

static void select_run(struct compare_model *model, const struct run *run)
{
    for (size_t row = 0; run && row < model->table.count; row++)
        if (model->table.rows[row].run == run)
            model->selected = row;
}

/* Builds the table again if a key has outdated it, and from time to time while one of its runs is
 * active. Then the selection stays on its run, which may move to another row. */
static void refresh(struct app *app)
{
    struct compare_model *model = compare_model(app);
    struct error error;
    const bool by_key = model->outdated;
    const struct run *selected = model->table.rows[model->selected].run;
    if (!by_key && (clock_seconds(model->built, clock_nanoseconds()) < 1 || !any_is_active(model)))
        return;
    if (!compare_model_build(model, &error))
        app_say_error(app, &error);
    else if (!by_key)
        select_run(model, selected);
}

static void draw_empty(struct app *app, struct rect body)
{
    struct compare_model *model = compare_model(app);
    struct rect inside = {body.row, body.column + 2, body.rows, body.columns - 3};
    if (model->gathering.running)
        draw_format(&app->canvas, inside, 1, 0, ROLE_FAINT, _("Reading runs: %zu of %zu ..."),
                    model->gathering.next, app_run_count(app));
    if (model->gathering.running && model->gathering.held_count > 0)
        draw_format(&app->canvas, inside, 2, 0, ROLE_FAINT,
                    ngettext("%zu key acts when they have been read.",
                             "%zu keys act when they have been read.", model->gathering.held_count),
                    model->gathering.held_count);
    if (!model->gathering.running)
        draw_wrapped(
            &app->canvas, inside, 1, ROLE_FAINT,
            _("There is no finished run to compare yet. In the list of runs (o) space marks "
              "those to compare, also one that is on."));
    draw_cursor(&app->canvas, inside, 1, 0);
}

static void draw_body(struct app *app, struct rect body)
{
    struct compare_model *model = compare_model(app);
    model->table_below = model->kind == COMPARE_CURVES && body.rows >= 30;
    if (model->kind == COMPARE_SETTINGS)
        compare_draw_settings(app, body);
    else if (model->kind == COMPARE_SCATTER)
        compare_draw_scatter(app, body);
    else if (model->kind == COMPARE_PARALLEL)
        compare_draw_parallel(app, body);
    else if (model->kind == COMPARE_TABLE)
        compare_draw_table(app, body);
    else if (model->table_below) { /* curves and table both fit */
        int rows = compare_table_rows(model), most = body.rows / 2;
        rows = rows > most ? most : rows;
        struct rect upper = {body.row, body.column, body.rows - rows - 1, body.columns};
        struct rect lower = {body.row + body.rows - rows, body.column, rows, body.columns};
        compare_draw_curves(app, upper);
        compare_draw_table(app, lower);
    } else
        compare_draw_curves(app, body);
}

static void draw(struct app *app, struct rect body)
{
    struct compare_model *model = compare_model(app);
    if (model->gathering.running || model->table.count == 0) {
        draw_empty(app, body);
        return;
    }
    refresh(app);
    if (body.rows >= 8) {
        struct rect tabs = {body.row, body.column, 1, body.columns};
        int end = draw_tabs(&app->canvas, tabs, view_names, COMPARE_KINDS, model->kind);
        char text[64];
        int room = tabs.columns - end - 2,
            width = snprintf(text, sizeof text, _("sorted: %s"), compare_model_sort_name(model));
        if (width <= room)
            draw_right(&app->canvas, tabs, 0, ROLE_FAINT, text);
        body.row++;
        body.rows--;
    }
    draw_body(app, body);
    if (app->canvas.cursor_row < 0)
        draw_cursor(&app->canvas, body, 0, 0);
}

static void title(const struct app *app, char *text, size_t size)
{
    size_t count = compare_model(app)->count;
    if (compare_model(app)->gathering.running)
        snprintf(text, size, _("Compare"));
    else
        snprintf(text, size, ngettext("Compare %zu run", "Compare %zu runs", count), count);
}

static void close(struct app *app)
{
    compare_model_free(compare_model(app));
}

/* The comparison borrows its runs, so the screen closes when one of them is removed. */
static void notice(struct app *app, enum screen_event event, struct run_entry *entry)
{
    struct compare_model *model = compare_model(app);
    if (event == EVENT_X_AXIS) /* the zoomed range would differ between the runs */
        model->window = (struct plot_window){0};
    else if (event == EVENT_RUN_REMOVED || (event == EVENT_RUN_REPLACED && entry->run)) {
        compare_model_clear(model);
        app_leave(app, SCREEN_COMPARE);
    }
}

const struct screen compare_screen = {
    .name = N_("Compare"),
    .letter = 'c',
    .purpose = N_("curves and tables of several runs"),
    .actions = {ACTIONS(N_("Comparing runs"), actions), .refused = refuses},
    .state_size = sizeof(struct compare_model),
    .go = compare_gather_begin,
    .close = close,
    .title = title,
    .take_key = take_key,
    .reachable = app_offers_comparison,
    .draw = draw,
    .work = compare_gather_work,
    .busy = compare_gather_busy,
    .notice = notice,
};
