/* The screen Compare: its keys, its views and when the table is built. Runs are shown as curves, as
 * a table, as a list of the settings in which they differ, as points of two figures and as lines
 * across parallel axes. compare_gather.c chooses and reads them. */
#include "ui/app/app.h"
#include "ui/app/plot_actions.h"
#include "ui/screens/compare/internal.h"

#include "base/clock.h"
#include "base/language.h"
#include "runs/values/run_snapshot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct key_binding bindings[] = {
    {'v', 0, ACTION_VIEW, "v", N_("view"),
     N_("the next view: curves, table, settings that differ, scatter plot, parallel axes")},
    {'s', 0, ACTION_SORT, "s", N_("sort"), N_("sort by the next column, the best first")},
    {'b', 0, ACTION_SORT_BACK, "b", NULL, N_("sort by the column before")},
    {'r', 0, ACTION_REVERSE, "r", NULL, N_("reverse the order; unknown values stay last")},
    {'y', 0, ACTION_QUANTITY, "y", N_("curve"),
     N_("what the curves show: losses, accuracy, learning rate, ms/image; the y axis of a scatter "
        "plot")},
    {'i', 0, ACTION_CURSOR, "i", N_("inspect"),
     N_("a cursor that reads the values of all runs; Left and Right move it")},
    {'f', 0, ACTION_FINDING, "f", NULL,
     N_("the cursor to the next finding (!) of the runs that are drawn")},
    {'M', 0, ACTION_NEXT_MARK, "M", NULL,
     N_("the cursor to the next mark of these runs: a finding, a new learning rate (L), a resume "
        "(R), a fork (F), the best epoch; + stands for several in one column")},
    {'z', 0, ACTION_ZOOM_IN, "z", N_("zoom"), N_("zoom in at the cursor")},
    {'Z', 0, ACTION_ZOOM_OUT, "Z", NULL, N_("zoom out")},
    {'0', 0, ACTION_ZOOM_ALL, "0", NULL, N_("show the whole runs")},
    {'<', 0, ACTION_PAN_LEFT, "<", NULL,
     N_("scroll a zoomed plot, or move a parallel axis, to the left")},
    {'>', 0, ACTION_PAN_RIGHT, ">", NULL, N_("the same to the right")},
    {'[', 0, ACTION_BRUSH_LOW_UP, "[", NULL,
     N_("parallel axes: raise the lower end of the range that filters the runs")},
    {'{', 0, ACTION_BRUSH_LOW_DOWN, "{", NULL, N_("lower it again")},
    {']', 0, ACTION_BRUSH_HIGH_DOWN, "]", NULL, N_("lower the upper end of that range")},
    {'}', 0, ACTION_BRUSH_HIGH_UP, "}", NULL, N_("raise it again")},
    {'w', 0, ACTION_BRUSH_CLEAR, "w", NULL, N_("the whole axis: no filter")},
    {'W', 0, ACTION_BRUSH_CLEAR_ALL, "W", NULL, N_("no filter on any axis")},
    {'-', 0, ACTION_REMOVE, "-", NULL, N_("leave the selected axis out")},
    {'+', 0, ACTION_ALL, "+", NULL, N_("add an axis that is left out")},
    {'p', 0, ACTION_PUBLISHED, "p", N_("published"),
     N_("the studies' published figures, marked as such")},
    {'e', 0, ACTION_EXPORT, "e", N_("export"),
     N_("write the table as JSON, CSV or Markdown; asks where")},
    {UI_ENTER, 0, ACTION_OPEN, "Enter", N_("watch"), N_("show the selected run")},
    {UI_TAB, 0, ACTION_NEXT, "Tab", NULL, N_("the next row, in every view")},
    {UI_BACK_TAB, 0, ACTION_PREVIOUS, "S-Tab", NULL, N_("the row before")},
    {UI_UP, 0, ACTION_UP, N_("Up"), NULL, N_("the row above, or the next point of a scatter plot")},
    {UI_DOWN, 0, ACTION_DOWN, N_("Down"), NULL, N_("the row or point below")},
    {UI_PAGE_UP, ',', ACTION_PAGE_UP, "PgUp ,", NULL,
     N_("the cursor a tenth of the plot to the left")},
    {UI_PAGE_DOWN, '.', ACTION_PAGE_DOWN, "PgDn .", NULL,
     N_("the cursor a tenth of the plot to the right")},
    {UI_LEFT, 0, ACTION_LEFT, N_("Left"), NULL, N_("columns, points or axes to the left")},
    {UI_RIGHT, 0, ACTION_RIGHT, N_("Right"), NULL, N_("the same to the right")},
    {UI_HOME, 0, ACTION_FIRST, "Home", NULL, NULL},
    {UI_END, 0, ACTION_LAST, "End", NULL, NULL},
    {'h', 0, ACTION_HIDE, "h", N_("hide"), N_("hide the curve of the selected run, or show it")},
    {'H', 0, ACTION_SOLO, "H", NULL,
     N_("show only the selected run and the pinned ones, or all again")},
    {'P', 0, ACTION_PIN, "P", N_("pin"),
     N_("pin the selected run: first in the legend, on top, shown beside any other")},
    {'G', 0, ACTION_GROUPS, "G", N_("seeds"),
     N_("draw runs that differ in their seed only as mean, minimum and maximum, or apart")},
    {'l', 0, ACTION_SCALE, "l", N_("log"), N_("axis scales: linear, log x, log y, log both")},
    {'S', 0, ACTION_SMOOTHING, "S", N_("smoothing"),
     N_("the next strength of smoothing: as the run says, 0, 0.6, 0.9, 0.97, 0.99, 0.999")},
    {'a', 0, ACTION_RANGE, "a", NULL,
     N_("let the y axis show all values, or leave out outliers (^ and v mark them)")},
    {'x', 0, ACTION_X, "x", N_("axis"),
     N_("the x axis: iteration, epoch, time; of a scatter plot any figure")},
    {'g', 0, ACTION_SYMBOLS, "g", NULL, N_("graph symbols: braille, block, ASCII")},
};
static const struct key_table table = {N_("Comparing runs"), bindings,
                                       sizeof bindings / sizeof *bindings};

static const char *const view_names[COMPARE_KINDS] = {N_("Curves"), N_("Table"), N_("Settings"),
                                                      N_("Scatter"), N_("Parallel")};

/* --- keys --- */

static void move(struct compare_model *model, long steps)
{
    long last = (long)model->table.count - 1, to = (long)model->selected + steps;
    model->selected = (size_t)(to < 0 || last < 0 ? 0 : to > last ? last : to);
    to = (long)model->scroll + steps;
    model->scroll = to < 0 ? 0 : (size_t)to; /* drawing limits it to the last line */
}

static void sort(struct app *app, int steps)
{
    struct compare_model *model = compare_model(app);
    compare_model_step_sort(model, steps);
    app_say(app, ROLE_FAINT, "Sorted: %s.", compare_model_sort_name(model));
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
static void step(struct compare_model *model, bool next)
{
    const size_t count = model->table.count;
    if (count > 0)
        model->selected = (model->selected + (next ? 1 : count - 1)) % count;
}

/* Moves the cursor of the curves, except for Home and End, which move the selected row. */
static bool act_on_cursor(struct compare_model *model, enum action action)
{
    return model->kind == COMPARE_CURVES && model->window.cursor_on && action != ACTION_FIRST &&
           action != ACTION_LAST && plot_move_cursor(&model->window, action);
}

static bool take_key(struct app *app, int key)
{
    struct compare_model *model = compare_model(app);
    if (keys_find(&table, key) && compare_gather_hold(app, key))
        return true;
    return (model->choice.chooser.open && compare_take_chooser_key(model, key)) ||
           (model->kind == COMPARE_CURVES && plot_leave_cursor(&model->window, key));
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

/* Hides, shows alone or pins the selected run or group, switches the groups, or goes to a mark. */
static void act_on_curves(struct app *app, enum action action)
{
    struct compare_model *model = compare_model(app);
    if (model->kind != COMPARE_CURVES)
        app_say(app, ROLE_WARNING, "This acts on the curves; v goes to them.");
    else if (action == ACTION_FINDING || action == ACTION_NEXT_MARK)
        go_to_mark(app,
                   action == ACTION_FINDING ? AXIS_MARK_BIT(AXIS_MARK_FINDING) : AXIS_MARKS_ALL);
    else if (action == ACTION_GROUPS && compare_curves_toggle_groups(model) == 0)
        app_say(app, ROLE_WARNING, "No runs differ in their seed only, so there are no groups.");
    else if (action == ACTION_GROUPS) {
        model->outdated = true; /* the table has a row for each group, or for each run */
        app_say(app, ROLE_STRONG, "%s",
                model->curves.ungrouped ? N_("Every run has a curve of its own.")
                                        : N_("Seeds are drawn as mean, minimum and maximum."));
    } else if (!(action == ACTION_HIDE   ? compare_curves_hide(model)
                 : action == ACTION_SOLO ? compare_curves_solo(model)
                                         : compare_curves_pin(model)))
        app_say(app, ROLE_WARNING, "This row is published; it has no curve.");
}

static bool take_mouse(struct app *app, int event, int row, int column)
{
    struct compare_model *model = compare_model(app);
    return model->kind == COMPARE_CURVES && !model->gathering.running && model->count > 0 &&
           plot_take_mouse(&model->window, model->plot_area, event, row, column);
}

/* Returns whether Up and Down move along the legend. If the table is drawn too, they move along its
 * rows. */
static bool selects_entries(const struct compare_model *model)
{
    return model->kind == COMPARE_CURVES && !model->table_below;
}

/* Moves the selection along the legend or along the rows of the table. */
static void select_by(struct compare_model *model, long steps)
{
    if (selects_entries(model))
        compare_curves_select(model, steps);
    else
        move(model, steps);
}

static void act(struct app *app, enum action action)
{
    struct compare_model *model = compare_model(app);
    const long all = (long)model->table.count;
    if (model->gathering.running || model->count == 0 || act_on_cursor(model, action) ||
        (model->kind == COMPARE_SCATTER && compare_act_on_scatter(app, action)) ||
        (model->kind == COMPARE_PARALLEL && compare_act_on_parallel(app, action)))
        return;
    switch (action) {
    case ACTION_VIEW:
        model->kind = (enum compare_kind)((model->kind + 1) % COMPARE_KINDS);
        model->left = model->scroll = 0;
        break;
    case ACTION_SORT:
    case ACTION_SORT_BACK:
        sort(app, action == ACTION_SORT ? 1 : -1);
        break;
    case ACTION_REVERSE:
        compare_model_reverse(model);
        break;
    case ACTION_PUBLISHED:
        toggle_published(app);
        break;
    case ACTION_QUANTITY:
        compare_model_next_trace(model);
        break;
    case ACTION_EXPORT:
        ask_compare_export(app);
        break;
    case ACTION_OPEN:
        open_selected(app);
        break;
    case ACTION_HIDE:
    case ACTION_SOLO:
    case ACTION_PIN:
    case ACTION_GROUPS:
    case ACTION_FINDING:
    case ACTION_NEXT_MARK:
        act_on_curves(app, action);
        break;
    case ACTION_NEXT:
    case ACTION_PREVIOUS:
        step(model, action == ACTION_NEXT);
        break;
    case ACTION_UP:
    case ACTION_DOWN:
        select_by(model, action == ACTION_UP ? -1 : 1);
        break;
    case ACTION_FIRST:
    case ACTION_LAST:
        select_by(model, action == ACTION_FIRST ? -all : all);
        break;
    case ACTION_LEFT:
    case ACTION_RIGHT: /* drawing limits it */
        model->left += action == ACTION_RIGHT ? 1 : -(size_t)(model->left > 0);
        break;
    default:
        plot_act(app, &model->window, action);
        break;
    }
}

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
    if (model->choice.chooser.open) {
        targets_clear(&app->canvas.targets); /* a click must not reach what the chooser covers */
        chooser_draw(&model->choice.chooser, &app->canvas);
    }
}

static const char *refuses(const struct app *app, enum action action)
{
    const struct compare_model *model = compare_model(app);
    (void)action;
    return model->gathering.running || model->count > 0 ? NULL : _("There is no run to compare.");
}

static bool typing(const struct app *app)
{
    return compare_model(app)->choice.chooser.open;
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

static const struct key_table *list_keys(const struct app *app)
{
    return compare_model(app)->choice.chooser.open ? &keys_choosing : NULL;
}

const struct screen compare_screen = {
    .name = N_("Compare"),
    .letter = 'c',
    .purpose = N_("curves and tables of several runs"),
    .keys = &table,
    .state_size = sizeof(struct compare_model),
    .go = compare_gather_begin,
    .close = close,
    .title = title,
    .take_key = take_key,
    .take_mouse = take_mouse,
    .reachable = app_offers_comparison,
    .refuses = refuses,
    .act = act,
    .draw = draw,
    .typing = typing,
    .list_keys = list_keys,
    .work = compare_gather_work,
    .busy = compare_gather_busy,
    .notice = notice,
};
