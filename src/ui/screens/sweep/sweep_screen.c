/* The screen Sweep, a grid of runs over chosen settings. Its views: the set-up, the cells of the
 * open sweep as a table, and the list of saved sweeps. */
#include "ui/app/app.h"
#include "ui/app/run_loading.h"
#include "ui/screens/sweep/sweep_dialogs.h"
#include "ui/screens/sweep/sweep_model.h"

#include "base/files/file.h"
#include "base/language.h"
#include "session/files/run_directory.h"
#include "ui/screens/sweep/sweep_view.h"

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
     N_("set up: type a value; cells: show the run; earlier: open the sweep")},
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

struct sweep_model *sweep_model(const struct app *app)
{
    return app_state(app, SCREEN_SWEEP);
}

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
    if (app->shared.sweep.on) {
        app_say(app, ROLE_WARNING, "%s", _("The sweep is on already."));
        return;
    }
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
    if (job->sweep.count == 0)
        return;
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
    if (!job->on) {
        app_say(app, ROLE_WARNING, "%s", _("The sweep is not on; r goes on with it."));
        return;
    }
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
    bool failed = model->kind == SWEEP_CELLS && job->sweep.count > 0 &&
                  job->sweep.cells[model->selected].state == SWEEP_FAILED;
    if (!failed)
        app_say(app, ROLE_WARNING, "%s", _("Only a cell that failed can be tried again."));
    else if (!sweep_reset_cell(&job->sweep, model->selected, &error))
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
        if (sweep_cell_value(&sweep->cells[i], measure) == /* not NaN */
            sweep_cell_value(&sweep->cells[i], measure))
            return true;
    return false;
}

static void next_measure(struct sweep_model *model, const struct sweep_job *job)
{
    for (int tries = 0; tries < SWEEP_MEASURES; tries++) {
        model->measure = (model->measure + 1) % SWEEP_MEASURES;
        if (anything_to_show(&job->sweep, model->measure))
            return;
    }
    model->measure = SWEEP_MS_PER_IMAGE;
}

/* --- moving --- */

static void move_cell(struct sweep_model *model, const struct sweep_job *job, long rows,
                      long columns)
{
    if (job->sweep.count == 0)
        return;
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
    else if (model->kind == SWEEP_SET_UP && !sweep_set_edit(&model->set))
        sweep_set_toggle(&model->set);
    else if (model->kind == SWEEP_EARLIER && model->name_count > 0 &&
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
        next_measure(model, job);
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
        break;
    default:
        break;
    }
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
    return app_is_in_front(app, SCREEN_SWEEP) &&
           sweep_model_work(sweep_model(app), &app->shared.sweep);
}

static bool typing(const struct app *app)
{
    return sweep_model(app)->set.editing;
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
    .act = act,
    .draw = draw,
    .typing = typing,
    .completes = typing,
    .work = work,
};
