/* The screen Sweep, a grid of runs over chosen settings. Its views: the set-up, the cells of the
 * open sweep as a table, and the list of saved sweeps. */
#include "ui/app/app.h"
#include "ui/app/run_loading.h"
#include "ui/screens/sweep/internal.h"

#include "base/files/file.h"
#include "base/language.h"
#include "runs/folder/run_directory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct key_binding bindings[] = {
    {'v', 0, ACTION_VIEW, "v", N_("view"), N_("the next view: set up, cells, earlier sweeps")},
    {'r', 0, ACTION_RUN, "r", N_("start"),
     N_("start what is set up, or go on with the open sweep")},
    {' ', 0, ACTION_PAUSE, N_("space"), N_("choose"),
     N_("set up: choose the value, or not; cells: pause the sweep, and go on")},
    {'a', 0, ACTION_ALL, "a", NULL, N_("set up: the whole list, or the selected value alone")},
    {UI_ENTER, 0, ACTION_OPEN, "Enter", N_("open"),
     N_("set up: type the value, in a list one that it does not offer, such as a network file; "
        "cells: show the run; earlier: open the sweep")},
    {'s', 0, ACTION_STOP, "s", N_("stop"), N_("stop the sweep that is on: asks how")},
    {'y', 0, ACTION_QUANTITY, "y", N_("figure"),
     N_("what the cells show: ms/image, memory, loss, first negative iteration, accuracy")},
    {'t', 0, ACTION_RESUME, "t", NULL,
     N_("cells: queue the selected cell again if it failed; r runs it")},
    {'e', 0, ACTION_EXPORT, "e", N_("export"), N_("write the tables, or all figures; asks where")},
    {'f', 0, ACTION_FORM, "f", NULL, N_("set up: begin again with what the form says")},
    {UI_UP, 0, ACTION_UP, N_("Up"), NULL, N_("the line above")},
    {UI_DOWN, 0, ACTION_DOWN, N_("Down"), NULL, N_("the line below")},
    {UI_LEFT, 0, ACTION_LEFT, N_("Left"), NULL, N_("the value or cell to the left")},
    {UI_RIGHT, 0, ACTION_RIGHT, N_("Right"), NULL, N_("the value or cell to the right")},
    {UI_HOME, 0, ACTION_FIRST, "Home", NULL, NULL},
    {UI_END, 0, ACTION_LAST, "End", NULL, NULL},
};
static const struct key_table table = {N_("A sweep"), bindings, sizeof bindings / sizeof *bindings};

static const double LISTING_SECONDS = 0.05;

static void close(struct app *app)
{
    sweep_model_free(sweep_model(app));
}

static void list_saved_sweeps(struct app *app)
{
    struct error error;
    if (!sweep_model_list(sweep_model(app), &error))
        app_say_error(app, &error);
}

static void open(struct app *app)
{
    sweep_model_begin(sweep_model(app), &app->shared.form.config, false);
    if (sweep_model(app)->kind == SWEEP_EARLIER)
        list_saved_sweeps(app);
}

/* --- views and commands --- */

static void next_view(struct app *app)
{
    sweep_model(app)->kind = (sweep_model(app)->kind + 1) % SWEEP_KINDS;
    if (sweep_model(app)->kind == SWEEP_EARLIER)
        list_saved_sweeps(app);
}

static bool take_key(struct app *app, int key)
{
    struct sweep_set *set = &sweep_model(app)->set;
    if (sweep_model(app)->kind != SWEEP_SET_UP || !set->editing)
        return false;
    sweep_set_key(set, key);
    return true;
}

static void start(struct app *app)
{
    struct error error;
    bool set_up = sweep_model(app)->kind == SWEEP_SET_UP;
    bool started = set_up ? sweep_model_start(sweep_model(app), &app->shared.sweep, &error)
                          : sweep_job_continue(&app->shared.sweep, &error);
    if (!started)
        app_say_error(app, &error);
    else if (sweep_job_due(&app->shared.sweep) == 0) {
        sweep_job_stop(&app->shared.sweep);
        app_say(app, ROLE_GOOD, "%s", _("Nothing is left to run."));
    } else if (run_list_is_busy(&app->shared.runs))
        app_say(app, ROLE_GOOD, "%s", _("It begins when the run that is on has ended."));
}

/* Shows the selected cell's run, of this session or an earlier one. */
static void show_now(struct app *app)
{
    const struct sweep_model *model = sweep_model(app);
    const struct sweep_job *job = &app->shared.sweep;
    const char *id = job->sweep.cells[model->selected].run;
    for (size_t i = 0; id[0] && i < app_run_count(app); i++) {
        const struct run_entry *entry = app_run_at(app, i);
        const char *name = run_entry_is_saved(entry) ? file_base_name(entry->directory)
                           : entry->run              ? run_facts(entry->run)->id
                                                     : "";
        if (strcmp(name, id) == 0) {
            app_show_run(app, i);
            return;
        }
    }
    app_say(app, ROLE_WARNING, "%s", _("This cell has no run to show."));
}

static void show_run(struct app *app)
{
    loading_list_runs_then(app, show_now);
}

static void pause_or_go_on(struct app *app)
{
    struct sweep_job *job = &app->shared.sweep;
    if (job->paused) {
        sweep_job_resume(job);
        app_say(app, ROLE_GOOD, "%s", _("It continues."));
    } else if (sweep_job_pause(job))
        app_say(app, ROLE_GOOD, "%s",
                _("Paused: the cell is saved after this iteration; space goes on."));
    else
        app_say(app, ROLE_GOOD, "%s", _("Paused before the next cell begins; space goes on."));
}

/* Makes a failed cell wait for another attempt; this never happens automatically. */
static void retry_cell(struct app *app)
{
    struct sweep_model *model = sweep_model(app);
    struct sweep_job *job = &app->shared.sweep;
    struct error error;
    if (!sweep_reset_cell(&job->sweep, model->selected, &error))
        app_say_error(app, &error);
    else {
        job->tried[model->selected] = false;
        app_say(app, ROLE_GOOD, "%s",
                job->on ? _("It waits again.") : _("It waits again; r goes on."));
    }
}

static bool anything_to_show(const struct sweep *sweep, enum sweep_measure measure)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (!isnan(sweep_cell_value(&sweep->cells[i], measure)))
            return true;
    return false;
}

/* Returns the next figure that is known of any cell, or the present one. */
static enum sweep_measure next_measure(const struct sweep_model *model, const struct sweep_job *job)
{
    enum sweep_measure next = model->measure;
    do
        next = (next + 1) % SWEEP_MEASURES;
    while (next != model->measure && !anything_to_show(&job->sweep, next));
    return next;
}

/* --- moving --- */

static void move_cell(struct sweep_model *model, const struct sweep_job *job, long rows,
                      long columns)
{
    long width = (long)sweep_grid_columns(&job->sweep.grid);
    long height = (long)job->sweep.count / width;
    long row = (long)model->selected / width + rows,
         column = (long)model->selected % width + columns;
    row = row < 0 ? 0 : row >= height ? height - 1 : row;
    column = column < 0 ? 0 : column >= width ? width - 1 : column;
    model->selected = (size_t)(row * width + column);
}

static void move_name(struct sweep_model *model, long steps)
{
    long to = (long)model->name_selected + steps, last = (long)model->name_count - 1;
    model->name_selected = (size_t)(to < 0 || last < 0 ? 0 : to > last ? last : to);
}

static void move(struct sweep_model *model, const struct sweep_job *job, long rows, long columns)
{
    if (model->kind == SWEEP_CELLS)
        move_cell(model, job, rows, columns);
    else if (model->kind == SWEEP_EARLIER)
        move_name(model, rows);
    else if (rows)
        sweep_set_move(&model->set, (int)rows);
    else
        sweep_set_turn(&model->set, (int)columns);
}

static void open_selected(struct app *app)
{
    struct error error;
    struct sweep_model *model = sweep_model(app);
    struct sweep_job *job = &app->shared.sweep;
    if (model->kind == SWEEP_CELLS)
        show_run(app);
    else if (model->kind == SWEEP_SET_UP)
        sweep_set_edit(&model->set);
    else if (model->kind == SWEEP_EARLIER &&
             !sweep_model_open(model, job, model->names[model->name_selected], &error))
        app_say_error(app, &error);
}

static void choose_or_pause(struct app *app)
{
    if (sweep_model(app)->kind == SWEEP_SET_UP)
        sweep_set_toggle(&sweep_model(app)->set);
    else
        pause_or_go_on(app);
}

static bool act_move(struct sweep_model *model, const struct sweep_job *job, enum action action)
{
    static const struct {
        enum action action;
        long rows, columns;
    } moves[] = {{ACTION_UP, -1, 0},   {ACTION_DOWN, 1, 0},       {ACTION_LEFT, 0, -1},
                 {ACTION_RIGHT, 0, 1}, {ACTION_FIRST, -10000, 0}, {ACTION_LAST, 10000, 0}};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (moves[i].action == action) {
            move(model, job, moves[i].rows, moves[i].columns);
            return true;
        }
    return false;
}

static void act(struct app *app, enum action action)
{
    struct sweep_model *model = sweep_model(app);
    struct sweep_job *job = &app->shared.sweep;
    if (act_move(model, job, action))
        return;
    switch (action) {
    case ACTION_VIEW:
        next_view(app);
        break;
    case ACTION_RUN:
        start(app);
        break;
    case ACTION_PAUSE:
        choose_or_pause(app);
        break;
    case ACTION_ALL:
        sweep_set_all(&model->set);
        break;
    case ACTION_OPEN:
        open_selected(app);
        break;
    case ACTION_STOP:
        ask_sweep_stop(app);
        break;
    case ACTION_QUANTITY:
        model->measure = next_measure(model, job);
        break;
    case ACTION_RESUME:
        retry_cell(app);
        break;
    case ACTION_EXPORT:
        ask_sweep_export(app);
        break;
    case ACTION_FORM:
        sweep_model_begin(model, &app->shared.form.config, true);
        model->kind = SWEEP_SET_UP;
        app_say(app, ROLE_STRONG, "%s", _("The set-up begins again with what the form says."));
        break;
    default:
        break;
    }
}

/* --- what can be done --- */

static const char *no_sweep(void)
{
    return _("No sweep is open: set one up (v) and start it with r, or open an earlier one.");
}

static bool is_any_due(const struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep_has_work(sweep, i))
            return true;
    return false;
}

/* Returns why the keys of the whole sweep would do nothing, or NULL. */
static const char *refuses_of_sweep(const struct sweep_model *model, const struct sweep_job *job,
                                    enum action action)
{
    const bool set_up = model->kind == SWEEP_SET_UP;
    if (action == ACTION_STOP)
        return job->on ? NULL : _("No sweep is on: there is nothing to stop.");
    if (action == ACTION_RUN && job->on)
        return _("The sweep is on already.");
    if (action == ACTION_RUN && set_up)
        return model->problem.kind != ERROR_NONE && !model->set.changed
                   ? _("The set-up is not complete: the line below says what is missing.")
                   : NULL;
    if (job->sweep.count == 0)
        return no_sweep();
    if (action == ACTION_RUN)
        return is_any_due(&job->sweep) ? NULL : _("Nothing is left to run.");
    return NULL; /* it can be exported */
}

static const char *refuses_in_set_up(const struct sweep_set *set, enum action action)
{
    const enum sweep_row row = (enum sweep_row)set->focus;
    const bool list = sweep_set_is_list(row);
    switch (action) {
    case ACTION_PAUSE:
    case ACTION_ALL:
        return list                    ? NULL
               : row == SWEEP_ROW_GRID ? _("Left and Right choose the study's grid.")
                                       : _("This row is a text: Enter edits it.");
    case ACTION_OPEN:
        return row == SWEEP_ROW_GRID ? _("Left and Right choose the study's grid.") : NULL;
    case ACTION_LEFT:
    case ACTION_RIGHT:
        if (list)
            return set->lists[row].count > 1 ? NULL : _("The list has only one value.");
        return row == SWEEP_ROW_GRID || row == SWEEP_ROW_DATA
                   ? NULL
                   : _("This row is a text: Enter edits it.");
    case ACTION_QUANTITY:
    case ACTION_RESUME:
        return _("This key concerns the cells: v goes there.");
    default:
        return NULL;
    }
}

static const char *refuses_among_cells(const struct sweep_model *model, const struct sweep_job *job,
                                       enum action action)
{
    const struct sweep *sweep = &job->sweep;
    if (sweep->count == 0)
        return no_sweep();
    const struct sweep_cell *cell = &sweep->cells[model->selected];
    const size_t columns = sweep_grid_columns(&sweep->grid);
    switch (action) {
    case ACTION_PAUSE:
        return job->on ? NULL : _("The sweep is not on; r goes on with it.");
    case ACTION_ALL:
        return _("This key concerns the set-up: v goes there.");
    case ACTION_OPEN:
        return cell->run[0] ? NULL : _("This cell has no run to show.");
    case ACTION_QUANTITY:
        return next_measure(model, job) != model->measure ? NULL
                                                          : _("No other figure is known yet.");
    case ACTION_RESUME:
        return cell->state == SWEEP_FAILED ? NULL
                                           : _("Only a cell that failed can be tried again.");
    case ACTION_LEFT:
    case ACTION_RIGHT:
        return columns > 1 ? NULL : _("The table has only one column.");
    default:
        return sweep->count > columns ? NULL : _("The table has only one row.");
    }
}

static const char *refuses_among_earlier(const struct sweep_model *model,
                                         const struct sweep_job *job, enum action action)
{
    switch (action) {
    case ACTION_PAUSE:
        return job->on ? NULL : _("The sweep is not on; r goes on with it.");
    case ACTION_ALL:
        return _("This key concerns the set-up: v goes there.");
    case ACTION_QUANTITY:
    case ACTION_RESUME:
        return _("This key concerns the cells: v goes there.");
    case ACTION_LEFT:
    case ACTION_RIGHT:
        return _("Up and Down select a sweep.");
    case ACTION_OPEN:
        if (model->name_count > 0)
            return job->on ? _("A sweep is on: s stops it.") : NULL;
        return _("There are no sweeps yet: set one up (v) and start it with r.");
    default:
        return model->name_count > 1 ? NULL : _("There is no other sweep.");
    }
}

static const char *refuses(const struct app *app, enum action action)
{
    const struct sweep_model *model = sweep_model(app);
    const struct sweep_job *job = &app->shared.sweep;
    if (action == ACTION_VIEW || action == ACTION_FORM)
        return NULL;
    if (action == ACTION_RUN || action == ACTION_STOP || action == ACTION_EXPORT)
        return refuses_of_sweep(model, job, action);
    return model->kind == SWEEP_SET_UP  ? refuses_in_set_up(&model->set, action)
           : model->kind == SWEEP_CELLS ? refuses_among_cells(model, job, action)
                                        : refuses_among_earlier(model, job, action);
}

static const char *hint(const struct app *app, enum action action)
{
    const struct sweep_model *model = sweep_model(app);
    if (action == ACTION_PAUSE && model->kind != SWEEP_SET_UP)
        return app->shared.sweep.paused ? _("go on") : _("pause");
    if (action == ACTION_RUN && model->kind != SWEEP_SET_UP)
        return _("go on");
    if (action == ACTION_OPEN && model->kind == SWEEP_SET_UP)
        return sweep_set_is_list((enum sweep_row)model->set.focus) ? _("add") : _("edit");
    return NULL;
}

/* --- drawing --- */

static void title(const struct app *app, char *text, size_t size)
{
    const struct sweep_model *model = sweep_model(app);
    const struct sweep_job *job = &app->shared.sweep;
    if (model->kind == SWEEP_CELLS && job->sweep.count > 0)
        snprintf(text, size, _("Sweep %s"), job->sweep.grid.name);
    else
        snprintf(text, size, "%s", _("Sweep"));
}

static void draw(struct app *app, struct rect body)
{
    static void (*const views[SWEEP_KINDS])(struct app * app, struct rect area) = {
        [SWEEP_SET_UP] = sweep_draw_set_up,
        [SWEEP_CELLS] = sweep_draw_cells,
        [SWEEP_EARLIER] = sweep_draw_earlier};
    const char *const names[SWEEP_KINDS] = {_("Set up"), _("Cells"), _("Earlier")};
    draw_tabs(&app->canvas, body, names, SWEEP_KINDS, sweep_model(app)->kind);
    int above = body.rows >= 16 ? 2 : 1;
    struct rect area = {body.row + above, body.column, body.rows - above, body.columns};
    if (area.rows > 0)
        views[sweep_model(app)->kind](app, area);
}

static bool work(struct app *app)
{
    sweep_set_step(&sweep_model(app)->set);
    return app_is_in_front(app, SCREEN_SWEEP) &&
           sweep_model_work(sweep_model(app), &app->shared.sweep);
}

static bool typing(const struct app *app)
{
    return sweep_model(app)->set.editing;
}

static bool completes(const struct app *app)
{
    return typing(app) && sweep_set_completes(&sweep_model(app)->set);
}

static double busy(const struct app *app)
{
    return sweep_set_is_waiting(&sweep_model(app)->set) ? LISTING_SECONDS : INFINITY;
}

const struct screen sweep_screen = {
    .name = N_("Sweep"),
    .letter = 'w',
    .purpose = N_("a grid of runs: networks, techniques, batches, devices"),
    .keys = &table,
    .state_size = sizeof(struct sweep_model),
    .open = open,
    .close = close,
    .title = title,
    .take_key = take_key,
    .refuses = refuses,
    .hint = hint,
    .act = act,
    .draw = draw,
    .typing = typing,
    .completes = completes,
    .work = work,
    .busy = busy,
};
