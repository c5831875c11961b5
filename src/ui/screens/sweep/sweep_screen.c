/* The screen Sweep, a grid of runs over chosen settings. Its views: the set-up, the cells of the
 * open sweep as a table, and the list of saved sweeps. */
#include "ui/app/app.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "runs/folder/run_directory.h"
#include "ui/app/run_actions.h"
#include "ui/app/run_loading.h"
#include "ui/screens/sweep/internal.h"
#include "ui/widgets/listing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- dialogs ---
 *
 * The dialogs of the screen Sweep: how to stop the sweep, and where to write its results. */

/* --- stop --- */

static void answer_stop(struct app *app, size_t choice)
{
    struct sweep_job *job = &app->shared.sweep;
    if (choice == 0) {
        job->stop_after = true;
        app_say(app, ROLE_GOOD, "%s", _("The sweep stops when this cell is done."));
    } else if (choice == 1) {
        sweep_job_stop_now(job);
        app_say(app, ROLE_GOOD, "%s",
                _("The sweep stops after this iteration; r goes on with it."));
    }
}

/* Asks whether the sweep stops now or after the cell that is being computed. */
static void ask_sweep_stop(struct app *app)
{
    struct dialog *dialog = dialog_begin(app, _("Stop the sweep?"), answer_stop);
    dialog->choices[dialog->choice_count++] =
        (struct dialog_choice){'e', 0, _("when this cell is done")};
    dialog->choices[dialog->choice_count++] =
        (struct dialog_choice){'n', 's', _("now, and save; the cell can be resumed")};
    dialog->choices[dialog->choice_count++] = (struct dialog_choice){'c', 'q', _("carry on")};
}

/* --- results --- */

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

static bool write_json(const struct sweep_job *job, const char *path, struct error *error)
{
    struct json *tree = sweep_to_json(&job->sweep, &job->estimate);
    char *text = tree ? json_print(tree, true, error) : NULL;
    bool written = tree ? text && output_file_write(path, text, strlen(text), OUTPUT_TEXT, error)
                        : error_set_memory(error, "the results", 0);
    free(text);
    json_free(tree);
    return written;
}

static bool write_results(const struct sweep_job *job, const char *path, struct error *error)
{
    struct text text = {0};
    if (ends_in(path, ".json"))
        return write_json(job, path, error);
    sweep_write_tables(&job->sweep, ends_in(path, ".md"), &text);
    bool written = text.failed || !text.data
                       ? error_set_memory(error, "the tables", 0)
                       : output_file_write(path, text.data, text.length, OUTPUT_TEXT, error);
    text_free(&text);
    return written;
}

/* Returns whether the path is a folder: the studies' results are two CSV files with fixed names. */
static bool is_folder(const char *path)
{
    return ends_in(path, "/") || file_is_directory(path);
}

/* Starts to write CSV files. A thread reads the runs; a message reports its end. */
static bool start_csv(struct app *app, const char *path, struct error *error)
{
    const struct sweep *sweep = &app->shared.sweep.sweep;
    struct export_item *items = memory_new(sweep->count, sizeof *items, "an export", error);
    size_t count = 0;
    bool listed = items;
    for (size_t i = 0; listed && i < sweep->count; i++) {
        if (!sweep_is_computed(&sweep->cells[i]))
            continue;
        char *directory = sweep_run_directory(&sweep->cells[i], error);
        listed = directory;
        if (listed)
            snprintf(items[count++].directory, sizeof items->directory, "%s", directory);
        free(directory);
    }
    if (listed && count == 0)
        listed = error_set(error, ERROR_USAGE, sweep->grid.name, _("start it with r"),
                           _("no cell of it is computed yet"));
    const struct export_request request = {
        .format = format_named("csv", CARRIES_RUNS), .items = items, .count = count, .path = path};
    bool started = listed && export_job_start(&app->shared.export, &request, error);
    free(items);
    return started;
}

static void note_results(struct app *app)
{
    struct dialog *dialog = &app->dialog;
    const char *path = dialog->edit.text;
    const enum path_kind kind = dialog_path_kind(app);
    dialog->note[0] = '\0';
    if (ends_in(path, "/") || kind == PATH_FOLDER)
        snprintf(dialog->note, sizeof dialog->note, "%s",
                 _("A folder gets the studies' two CSV files."));
    else if (!ends_in(path, ".md") && !ends_in(path, ".json") && !ends_in(path, ".txt"))
        snprintf(dialog->note, sizeof dialog->note, "%s",
                 _("The name must end in .md, .txt or .json, or be that of a folder/."));
    else if (kind == PATH_FILE)
        snprintf(dialog->note, sizeof dialog->note, "%s",
                 _("This file exists: Enter replaces it."));
}

static void answer_results(struct app *app, size_t choice)
{
    struct error error;
    char path[sizeof app->dialog.edit.text];
    (void)choice;
    memcpy(path, app->dialog.edit.text, sizeof path);
    if (is_folder(path)) {
        if (start_csv(app, path, &error))
            app_say_while(app, exporting_is_active, ROLE_FAINT, _("Writing %s ..."), path);
        else
            exporting_reopen_dialog(app, &error);
    } else if (!ends_in(path, ".md") && !ends_in(path, ".json") && !ends_in(path, ".txt"))
        app->dialog.open = true; /* the note says why */
    else if (!dialog_may_write(&app->dialog, file_exists(path)))
        return;
    else if (write_results(&app->shared.sweep, path, &error))
        app_say(app, ROLE_GOOD, _("Wrote %s."), path);
    else
        exporting_reopen_dialog(app, &error);
}

/* Asks for a file or folder and writes the sweep's tables or charts into it. */
static void ask_sweep_export(struct app *app)
{
    char name[SWEEP_NAME + 16], path[sizeof app->dialog.edit.text];
    struct dialog *dialog = dialog_begin(app, _("Export the sweep"), answer_results);
    snprintf(
        dialog->text, sizeof dialog->text, "%s",
        _("The tables as Markdown (.md) or text (.txt), all figures (.json), or the studies' CSV "
          "files (a folder/)."));
    snprintf(name, sizeof name, "sweep-%s.md", app->shared.sweep.sweep.grid.name);
    exporting_path(app, name, path, sizeof path);
    dialog_begin_line(dialog, path, false, completion_of_paths, NULL);
    dialog->edited = note_results;
    note_results(app);
}

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
    const struct sweep_job *job = &app->shared.sweep;
    if (!runs_show(app, job->sweep.cells[sweep_model(app)->selected].run))
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
    const size_t width = sweep_grid_columns(&job->sweep.grid), height = job->sweep.count / width;
    const size_t row = list_step(model->selected / width, rows, height);
    model->selected = row * width + list_step(model->selected % width, columns, width);
}

static void move(struct app *app, int how)
{
    struct sweep_model *model = sweep_model(app);
    const int across = how == MOVE_LEFT ? -1 : how == MOVE_RIGHT;
    const long down = move_steps(how, 1, 10000);
    if (model->kind == SWEEP_CELLS)
        move_cell(model, &app->shared.sweep, down, across);
    else if (model->kind == SWEEP_EARLIER)
        model->name_selected = list_step(model->name_selected, down, model->name_count);
    else if (down)
        sweep_set_move(&model->set, (int)down);
    else
        sweep_set_turn(&model->set, across);
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

static void choose_all(struct app *app)
{
    sweep_set_all(&sweep_model(app)->set);
}

static void next_figure(struct app *app)
{
    sweep_model(app)->measure = next_measure(sweep_model(app), &app->shared.sweep);
}

static void begin_again(struct app *app)
{
    sweep_model_begin(sweep_model(app), &app->shared.form.config, true);
    sweep_model(app)->kind = SWEEP_SET_UP;
    app_say(app, ROLE_STRONG, "%s", _("The set-up begins again with what the form says."));
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

static const char *refuses_stop(const struct app *app)
{
    return app->shared.sweep.on ? NULL : _("No sweep is on: there is nothing to stop.");
}

static const char *refuses_start(const struct app *app)
{
    const struct sweep_model *model = sweep_model(app);
    const struct sweep *sweep = &app->shared.sweep.sweep;
    if (app->shared.sweep.on)
        return _("The sweep is on already.");
    if (model->kind == SWEEP_SET_UP)
        return model->problem.kind != ERROR_NONE && !model->set.changed
                   ? _("The set-up is not complete: the line below says what is missing.")
                   : NULL;
    if (sweep->count == 0)
        return no_sweep();
    return is_any_due(sweep) ? NULL : _("Nothing is left to run.");
}

static const char *refuses_export(const struct app *app)
{
    return app->shared.sweep.sweep.count > 0 ? NULL : no_sweep();
}

/* Returns why no value of the focused row of the set-up can be chosen, or NULL. */
static const char *refuses_choice(const struct app *app)
{
    const enum sweep_row row = (enum sweep_row)sweep_model(app)->set.focus;
    if (sweep_set_is_list(row))
        return NULL;
    return row == SWEEP_ROW_GRID ? _("Left and Right choose the study's grid.")
                                 : _("This row is a text: Enter edits it.");
}

static const char *refuses_choice_or_pause(const struct app *app)
{
    const struct sweep_job *job = &app->shared.sweep;
    if (sweep_model(app)->kind == SWEEP_SET_UP)
        return refuses_choice(app);
    if (sweep_model(app)->kind == SWEEP_CELLS && job->sweep.count == 0)
        return no_sweep();
    return job->on ? NULL : _("The sweep is not on; r goes on with it.");
}

static const char *refuses_all(const struct app *app)
{
    if (sweep_model(app)->kind == SWEEP_SET_UP)
        return refuses_choice(app);
    return sweep_model(app)->kind == SWEEP_CELLS && app->shared.sweep.sweep.count == 0
               ? no_sweep()
               : _("This key concerns the set-up: v goes there.");
}

static const char *refuses_open(const struct app *app)
{
    const struct sweep_model *model = sweep_model(app);
    const struct sweep_job *job = &app->shared.sweep;
    if (model->kind == SWEEP_SET_UP)
        return model->set.focus == SWEEP_ROW_GRID ? _("Left and Right choose the study's grid.")
                                                  : NULL;
    if (model->kind == SWEEP_CELLS && job->sweep.count == 0)
        return no_sweep();
    if (model->kind == SWEEP_CELLS)
        return job->sweep.cells[model->selected].run[0] ? NULL : _("This cell has no run to show.");
    if (model->name_count == 0)
        return _("There are no sweeps yet: set one up (v) and start it with r.");
    return job->on ? _("A sweep is on: s stops it.") : NULL;
}

/* Returns why there is no selected cell, or NULL. */
static const char *refuses_cell(const struct app *app)
{
    if (sweep_model(app)->kind != SWEEP_CELLS)
        return _("This key concerns the cells: v goes there.");
    return refuses_export(app);
}

static const char *refuses_figure(const struct app *app)
{
    const struct sweep_model *model = sweep_model(app);
    const char *why = refuses_cell(app);
    return why || next_measure(model, &app->shared.sweep) != model->measure
               ? why
               : _("No other figure is known yet.");
}

static const char *refuses_retry(const struct app *app)
{
    const struct sweep_model *model = sweep_model(app);
    const char *why = refuses_cell(app);
    return why || app->shared.sweep.sweep.cells[model->selected].state == SWEEP_FAILED
               ? why
               : _("Only a cell that failed can be tried again.");
}

static const char *refuses_move(const struct app *app, int how)
{
    const struct sweep_model *model = sweep_model(app);
    const struct sweep_set *set = &model->set;
    const struct sweep *sweep = &app->shared.sweep.sweep;
    const bool sideways = how == MOVE_LEFT || how == MOVE_RIGHT;
    if (model->kind == SWEEP_EARLIER)
        return sideways                ? _("Up and Down select a sweep.")
               : model->name_count > 1 ? NULL
                                       : _("There is no other sweep.");
    if (model->kind == SWEEP_CELLS && sweep->count == 0)
        return no_sweep();
    if (model->kind == SWEEP_CELLS && sideways)
        return sweep_grid_columns(&sweep->grid) > 1 ? NULL : _("The table has only one column.");
    if (model->kind == SWEEP_CELLS)
        return sweep->count > sweep_grid_columns(&sweep->grid) ? NULL
                                                               : _("The table has only one row.");
    if (!sideways || set->focus == SWEEP_ROW_GRID || set->focus == SWEEP_ROW_DATA)
        return NULL;
    if (!sweep_set_is_list((enum sweep_row)set->focus))
        return _("This row is a text: Enter edits it.");
    return set->lists[set->focus].count > 1 ? NULL : _("The list has only one value.");
}

static const char *pause_word(const struct app *app)
{
    if (sweep_model(app)->kind == SWEEP_SET_UP)
        return NULL;
    return app->shared.sweep.paused ? _("go on") : _("pause");
}

static const char *start_word(const struct app *app)
{
    return sweep_model(app)->kind == SWEEP_SET_UP ? NULL : _("go on");
}

static const char *open_word(const struct app *app)
{
    const struct sweep_model *model = sweep_model(app);
    if (model->kind != SWEEP_SET_UP)
        return NULL;
    return sweep_set_is_list((enum sweep_row)model->set.focus) ? _("add") : _("edit");
}

static const struct action actions[] = {
    {"v", "view", N_("view"), N_("the next view: set up, cells, earlier sweeps"), .run = next_view},
    {"r", "start", N_("start"), N_("start what is set up, or go on with the open sweep"),
     .run = start, .refused = refuses_start, .word = start_word},
    {"space", "choose", N_("choose"),
     N_("set up: choose the value, or not; cells: pause the sweep, and go on"),
     .run = choose_or_pause, .refused = refuses_choice_or_pause, .word = pause_word},
    {"a", "choose-all", NULL, N_("set up: the whole list, or the selected value alone"),
     .run = choose_all, .refused = refuses_all},
    {"Enter", "open", N_("open"),
     N_("set up: type the value, in a list one that it does not offer, such as a network file; "
        "cells: show the run; earlier: open the sweep"),
     .run = open_selected, .refused = refuses_open, .word = open_word},
    {"s", "stop", N_("stop"), N_("stop the sweep that is on: asks how"), .run = ask_sweep_stop,
     .refused = refuses_stop},
    {"y", "figure", N_("figure"),
     N_("what the cells show: ms/image, memory, loss, first negative iteration, accuracy"),
     .run = next_figure, .refused = refuses_figure},
    {"t", "retry", NULL, N_("cells: queue the selected cell again if it failed; r runs it"),
     .run = retry_cell, .refused = refuses_retry},
    {"e", "export", N_("export"), N_("write the tables, or all figures; asks where"),
     .run = ask_sweep_export, .refused = refuses_export},
    {"f", "from-form", NULL, N_("set up: begin again with what the form says"), .run = begin_again},
#define ACTIONS_LINES move, refuses_move
#include "ui/app/actions.inc"
    {"Left", "left", NULL, N_("the value or cell to the left"), move, refuses_move,
     .argument = MOVE_LEFT},
    {"Right", "right", NULL, N_("the value or cell to the right"), move, refuses_move,
     .argument = MOVE_RIGHT},
#define ACTIONS_ENDS move, refuses_move
#include "ui/app/actions.inc"
};

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

static const struct actions *over(const struct app *app)
{
    const struct sweep_set *set = &sweep_model(app)->set;
    if (!set->editing)
        return NULL;
    return sweep_set_completes(set) ? &actions_completing : &actions_editing;
}

static double busy(const struct app *app)
{
    return sweep_set_is_waiting(&sweep_model(app)->set) ? LISTING_SECONDS : INFINITY;
}

const struct screen sweep_screen = {
    .name = N_("Sweep"),
    .letter = 'w',
    .purpose = N_("a grid of runs: networks, techniques, batches, devices"),
    .actions = {ACTIONS(N_("A sweep"), actions)},
    .state_size = sizeof(struct sweep_model),
    .open = open,
    .close = close,
    .title = title,
    .take_key = take_key,
    .draw = draw,
    .over = over,
    .work = work,
    .busy = busy,
};
