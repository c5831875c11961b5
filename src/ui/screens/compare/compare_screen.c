/* The screen Compare: the marked runs, or all complete ones, as curves, as a table and as a list of
 * the settings in which they differ. Runs are read one after the other in the background, because a
 * saved run may have a long journal; the table is built once all are read. */
#include "ui/app/app.h"
#include "ui/app/offers.h"
#include "ui/app/plot_actions.h"
#include "ui/app/run_cells.h"
#include "ui/app/run_loading.h"
#include "ui/screens/compare/compare_dialog.h"

#include "base/clock.h"
#include "base/language.h"
#include "session/values/run_snapshot.h"
#include "ui/screens/compare/compare_model.h"
#include "ui/screens/compare/compare_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct key_binding bindings[] = {
    {'v', 0, ACTION_VIEW, "v", N_("view"),
     N_("the next view: curves, table, settings that differ")},
    {'s', 0, ACTION_SORT, "s", N_("sort"), N_("sort by the next column, the best first")},
    {'y', 0, ACTION_QUANTITY, "y", N_("curve"),
     N_("what the curves show: losses, accuracy, learning rate, ms/image")},
    {'i', 0, ACTION_CURSOR, "i", N_("inspect"),
     N_("a cursor that reads the values of all runs; Left and Right move it")},
    {'z', 0, ACTION_ZOOM_IN, "z", N_("zoom"), N_("zoom in at the cursor")},
    {'Z', 0, ACTION_ZOOM_OUT, "Z", NULL, N_("zoom out")},
    {'0', 0, ACTION_ZOOM_ALL, "0", NULL, N_("show the whole runs")},
    {'<', 0, ACTION_PAN_LEFT, "<", NULL, N_("scroll a zoomed plot to the left")},
    {'>', 0, ACTION_PAN_RIGHT, ">", NULL, N_("scroll it to the right")},
    {'p', 0, ACTION_PUBLISHED, "p", N_("published"),
     N_("the studies' published figures, marked as such")},
    {'e', 0, ACTION_EXPORT, "e", N_("export"),
     N_("write the table as JSON, CSV or Markdown; asks where")},
    {UI_ENTER, 0, ACTION_OPEN, "Enter", N_("watch"), N_("show the selected run")},
    {UI_UP, 0, ACTION_UP, N_("Up"), NULL, N_("the row above")},
    {UI_DOWN, 0, ACTION_DOWN, N_("Down"), NULL, N_("the row below")},
    {UI_PAGE_UP, ',', ACTION_PAGE_UP, "PgUp ,", NULL,
     N_("the cursor a tenth of the plot to the left")},
    {UI_PAGE_DOWN, '.', ACTION_PAGE_DOWN, "PgDn .", NULL,
     N_("the cursor a tenth of the plot to the right")},
    {UI_LEFT, 0, ACTION_LEFT, N_("Left"), NULL, N_("columns to the left")},
    {UI_RIGHT, 0, ACTION_RIGHT, N_("Right"), NULL, N_("columns to the right")},
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
    {'x', 0, ACTION_X, "x", N_("axis"), N_("the x axis: iteration, epoch, time")},
    {'g', 0, ACTION_SYMBOLS, "g", NULL, N_("graph symbols: braille, block, ASCII")},
};
static const struct key_table table = {N_("Comparing runs"), bindings,
                                       sizeof bindings / sizeof *bindings};

static const char *const view_names[COMPARE_KINDS] = {N_("Curves"), N_("Table"), N_("Settings")};

static const double POLL_SECONDS = 0.02;
static const double READ_SECONDS = 0.008; /* waits for a fast disk, to show the run in this frame */

/* --- reading the runs --- */

static bool any_marked(const struct app *app)
{
    for (size_t i = 0; i < app_run_count(app); i++)
        if (app_run_at(app, i)->marked)
            return true;
    return false;
}

struct compare_model *compare_model(const struct app *app)
{
    return app_state(app, SCREEN_COMPARE);
}

/* Unloads the curves of saved runs that are no longer shown, to free their memory. */
static void unload_saved_runs(struct app *app)
{
    const struct run_entry *in_sight = app_entry(app);
    for (size_t i = 0; i < app->shared.saved_runs.count; i++)
        if (&app->shared.saved_runs.entries[i] != in_sight)
            run_entry_unload_curves(&app->shared.saved_runs.entries[i]);
}

static void go(struct app *app)
{
    struct compare_model *model = compare_model(app);
    const struct run_entry *entry = app_run_in_front(app);
    loading_list_runs(app, true);
    compare_model_clear(model);
    unload_saved_runs(app);
    model->in_sight = entry ? entry->run : NULL;
    model->marked_only = any_marked(app);
    model->gathering = true;
    app_show(app, SCREEN_COMPARE);
}

static bool is_finished(const struct run_snapshot *snapshot)
{
    return snapshot->iteration > 0 &&
           (snapshot->status == RUN_DONE || snapshot->status == RUN_STOPPED);
}

static bool is_wanted(const struct app *app, size_t index)
{
    const struct compare_model *model = compare_model(app);
    const struct run_entry *entry = app_run_at(app, index);
    if (entry->run && entry->run == model->in_sight)
        return entry->snapshot.status != RUN_PREPARING;
    if (model->marked_only)
        return entry->marked && !run_entry_is_waiting(entry) &&
               (run_entry_is_saved(entry) || entry->snapshot.status != RUN_PREPARING);
    return is_finished(&entry->snapshot) && runs_match(app, index);
}

/* Returns the entry whose run was read, or NULL if it no longer exists. */
static struct run_entry *entry_of(struct app *app, const struct run_read *read)
{
    if (read->opened)
        return loading_find_entry(app, read->directory);
    for (size_t i = 0; i < app_run_count(app); i++)
        if (app_run_at(app, i)->run == read->run)
            return app_run_at(app, i);
    return NULL;
}

/* Takes over the run that was being read. Returns false if reading is not complete. */
static bool take_read(struct app *app)
{
    struct compare_model *model = compare_model(app);
    if (!run_reader_wait(model->reader, READ_SECONDS))
        return false;
    struct run_read *read = run_reader_result(model->reader, 0);
    struct run_entry *entry = entry_of(app, read);
    if (entry && !entry->run) {
        run_entry_update(entry, read);
        app->shared.runs_changed = true;
        if (!entry->run)
            app_say_error(app, &entry->error);
    }
    if (read->files_error.kind != ERROR_NONE)
        app_say_error(app, &read->files_error);
    struct error error;
    if (entry && entry->run && !compare_model_add(model, entry->run, &read->files, &error))
        app_say_error(app, &error);
    model->next++;
    run_reader_drop(model->reader);
    model->reader = NULL;
    return true;
}

/* Starts to read run number `index` if it belongs to the comparison. */
static void begin_read(struct app *app, size_t index)
{
    struct compare_model *model = compare_model(app);
    const struct run_entry *entry = app_run_at(app, index);
    const char *directory = run_entry_directory(entry);
    struct error error;
    if (entry->refused || !directory || !is_wanted(app, index)) {
        model->next++;
    } else {
        model->reader =
            run_reader_start_open(RUN_DEPTH_COMPARED, &directory, &entry->run, 1, &error);
        if (model->reader)
            return;
        app_say_error(app, &error);
        model->next++;
    }
}

static void end_gathering(struct app *app)
{
    struct compare_model *model = compare_model(app);
    struct error error;
    model->gathering = false;
    if (!compare_model_build(model, &error))
        app_say_error(app, &error);
    if (!compare_model_has_values(model, model->trace))
        compare_model_next_trace(model);
}

static bool work(struct app *app)
{
    struct compare_model *model = compare_model(app);
    if (!model->gathering || !app_is_in_front(app, SCREEN_COMPARE))
        return false;
    if (loading_read_outlines(app))
        return true;
    if (loading_is_listing(app) || loading_any_unread(app) || (model->reader && !take_read(app)))
        return false; /* `busy` has it called again soon */
    while (!model->reader && model->next < app_run_count(app))
        begin_read(app, model->next);
    if (!model->reader && model->next >= app_run_count(app))
        end_gathering(app);
    return model->gathering;
}

/* --- keys --- */

static void move(struct compare_model *model, long steps)
{
    long last = (long)model->table.count - 1, to = (long)model->selected + steps;
    model->selected = (size_t)(to < 0 || last < 0 ? 0 : to > last ? last : to);
    model->scroll = (size_t)(steps < 0 && model->scroll == 0 ? 0 : (long)model->scroll + steps);
}

static void sort(struct app *app)
{
    struct error error;
    const char *name = compare_model_next_sort(compare_model(app), &error);
    if (name)
        app_say(app, ROLE_STRONG, "Sorted: %s.", name);
    else
        app_say_error(app, &error);
}

static void toggle_published(struct app *app)
{
    struct compare_model *model = compare_model(app);
    struct error error;
    model->published = !model->published;
    if (!compare_model_build(model, &error))
        app_say_error(app, &error);
    else if (model->published)
        app_say(app, ROLE_STRONG, "With the published figures of Gondim Santos 2019.");
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

/* Moves the cursor of the curves, except for Home and End, which move the selected row. */
static bool act_on_cursor(struct compare_model *model, enum action action)
{
    return model->kind == COMPARE_CURVES && model->window.cursor_on && action != ACTION_FIRST &&
           action != ACTION_LAST && plot_move_cursor(&model->window, action);
}

static bool take_key(struct app *app, int key)
{
    return compare_model(app)->kind == COMPARE_CURVES &&
           plot_leave_cursor(&compare_model(app)->window, key);
}

/* Hides, shows alone or pins the selected run or group, or switches the groups. */
static void choose_curves(struct app *app, enum action action)
{
    struct compare_model *model = compare_model(app);
    if (model->kind != COMPARE_CURVES)
        app_say(app, ROLE_WARNING, "This acts on the curves; v goes to them.");
    else if (action == ACTION_GROUPS && compare_curves_toggle_groups(model) == 0)
        app_say(app, ROLE_WARNING, "No runs differ in their seed only, so there are no groups.");
    else if (action == ACTION_GROUPS)
        app_say(app, ROLE_STRONG, "%s",
                model->curves.ungrouped ? N_("Every run has a curve of its own.")
                                        : N_("Seeds are drawn as mean, minimum and maximum."));
    else if (!(action == ACTION_HIDE   ? compare_curves_hide(model)
               : action == ACTION_SOLO ? compare_curves_solo(model)
                                       : compare_curves_pin(model)))
        app_say(app, ROLE_WARNING, "This row is published; it has no curve.");
}

static bool take_mouse(struct app *app, int event, int row, int column)
{
    struct compare_model *model = compare_model(app);
    return model->kind == COMPARE_CURVES && !model->gathering && model->count > 0 &&
           plot_take_mouse(&model->window, model->plot_area, event, row, column);
}

static void act(struct app *app, enum action action)
{
    struct compare_model *model = compare_model(app);
    if (model->gathering || model->count == 0 || act_on_cursor(model, action))
        return;
    switch (action) {
    case ACTION_VIEW:
        model->kind = (enum compare_kind)((model->kind + 1) % COMPARE_KINDS);
        model->left = model->scroll = 0;
        break;
    case ACTION_SORT:
        sort(app);
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
        choose_curves(app, action);
        break;
    case ACTION_UP:
    case ACTION_DOWN:
        if (model->kind == COMPARE_CURVES)
            compare_curves_select(model, action == ACTION_UP ? -1 : 1);
        else
            move(model, action == ACTION_UP ? -1 : 1);
        break;
    case ACTION_FIRST:
    case ACTION_LAST:
        if (model->kind == COMPARE_CURVES)
            compare_curves_select(model, action == ACTION_FIRST ? -(long)model->curves.entry_count
                                                                : (long)model->curves.entry_count);
        else
            move(model,
                 action == ACTION_FIRST ? -(long)model->table.count : (long)model->table.count);
        break;
    case ACTION_LEFT:
        model->left -= model->left > 0;
        break;
    case ACTION_RIGHT:
        model->left++; /* drawing limits it */
        break;
    default:
        plot_act(app, &model->window, action);
        break;
    }
}

/* --- drawing --- */

/* Builds the table again from time to time while one of its runs is active. */
static void refresh(struct app *app)
{
    struct compare_model *model = compare_model(app);
    struct run_snapshot snapshot;
    struct error error;
    bool on = false;
    for (size_t i = 0; i < model->count; i++) {
        run_snapshot(model->runs[i], &snapshot);
        on = on || !run_status_is_over(snapshot.status);
    }
    if (on && clock_seconds(model->built, clock_nanoseconds()) >= 1 &&
        !compare_model_build(model, &error))
        app_say_error(app, &error);
}

static void draw_empty(struct app *app, struct rect body)
{
    struct compare_model *model = compare_model(app);
    struct rect inside = {body.row, body.column + 2, body.rows, body.columns - 3};
    if (model->gathering)
        draw_format(&app->canvas, inside, 1, 0, ROLE_FAINT, _("Reading runs: %zu of %zu ..."),
                    model->next, app_run_count(app));
    else
        draw_wrapped(
            &app->canvas, inside, 1, ROLE_FAINT,
            _("There is no finished run to compare yet. In the list of runs (o) space marks "
              "those to compare, also one that is on."));
    draw_cursor(&app->canvas, inside, 1, 0);
}

static void draw_body(struct app *app, struct rect body)
{
    const struct compare_model *model = compare_model(app);
    if (model->kind == COMPARE_SETTINGS)
        compare_draw_settings(app, body);
    else if (model->kind == COMPARE_TABLE)
        compare_draw_table(app, body);
    else if (body.rows >= 30) { /* curves and table both fit */
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
    if (model->gathering || model->table.count == 0) {
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
    if (compare_model(app)->gathering)
        snprintf(text, size, _("Compare"));
    else
        snprintf(text, size, ngettext("Compare %zu run", "Compare %zu runs", count), count);
}

static void close(struct app *app)
{
    compare_model_free(compare_model(app));
}

static double busy(const struct app *app)
{
    const bool reading = compare_model(app)->gathering && app_is_in_front(app, SCREEN_COMPARE);
    return reading ? POLL_SECONDS : INFINITY;
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
    .keys = &table,
    .state_size = sizeof(struct compare_model),
    .go = go,
    .close = close,
    .title = title,
    .take_key = take_key,
    .take_mouse = take_mouse,
    .reachable = offers_comparison,
    .act = act,
    .draw = draw,
    .work = work,
    .busy = busy,
    .notice = notice,
};
