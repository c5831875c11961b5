#include "ui/model/sweep_model.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT_LOOKED_AT = 100 };

static void forget_names(struct sweep_view *view)
{
    for (size_t i = 0; i < view->name_count; i++)
        free(view->names[i]);
    free(view->names);
    view->names = NULL;
    view->name_count = 0;
}

void sweep_view_free(struct sweep_view *view)
{
    if (view->run)
        close(view->lock);
    sweep_free(&view->plan);
    sweep_free(&view->sweep);
    sweep_estimate_free(&view->estimate);
    free(view->tried);
    forget_names(view);
    *view = (struct sweep_view){0};
}

/* --- setting up --- */

void sweep_view_begin(struct sweep_view *view, const struct run_config *config, bool afresh)
{
    if (view->begun && !afresh)
        return;
    sweep_set_begin(&view->set, config);
    view->begun = true;
}

static void plan_anew(struct sweep_view *view)
{
    struct sweep_grid grid;
    view->set.changed = false;
    view->planned = 0;
    view->problem = (struct error){0};
    sweep_free(&view->plan);
    if (!sweep_set_grid(&view->set, &grid, &view->problem))
        return;
    if (sweep_make(&view->plan, &grid, &view->problem))
        sweep_find(&view->plan, NULL);
    sweep_grid_free(&grid);
}

/* --- work --- */

static bool plan_one(struct sweep_view *view)
{
    if (view->set.changed)
        plan_anew(view);
    else if (view->planned < view->plan.count) {
        sweep_refresh(&view->plan, view->planned);
        sweep_forecast(&view->plan, view->planned++, 1);
    }
    return view->planned < view->plan.count;
}

/* The result of a cell, when it has come to be there. */
static void take_result(struct sweep_view *view, size_t index)
{
    struct sweep_cell *cell = &view->sweep.cells[index];
    bool known = cell->result.known;
    sweep_read_result(&view->sweep, index);
    if (!known)
        sweep_estimate_add_cell(&view->estimate, cell, NULL);
}

static bool read_one(struct sweep_view *view)
{
    size_t i = view->read;
    if (i >= view->sweep.count)
        return false;
    if (!view->run || i != view->cell)
        sweep_refresh(&view->sweep, i);
    sweep_forecast(&view->sweep, i, 1);
    take_result(view, i);
    return ++view->read < view->sweep.count;
}

/* As much as keys can wait for; true when all cells were read. */
static bool read_some(struct sweep_view *view)
{
    const double patience = 0.03;
    const uint64_t from = clock_nanoseconds();
    while (read_one(view))
        if (clock_seconds(from, clock_nanoseconds()) > patience)
            return false;
    return true;
}

bool sweep_view_work(struct sweep_view *view)
{
    if (!view->learnt) {
        view->learnt = true;
        sweep_estimate_add_kept(&view->estimate, KEPT_LOOKED_AT, NULL);
        return true;
    }
    if (view->kind == SWEEP_SET_UP)
        return plan_one(view) || view->set.changed;
    return read_one(view);
}

/* --- beginning --- */

/* The sweep in sight is another one from now on. */
static bool look_at(struct sweep_view *view, struct error *error)
{
    view->read = view->selected = view->top = view->left = 0;
    view->measure = SWEEP_MS_PER_IMAGE;
    view->kind = SWEEP_CELLS;
    free(view->tried);
    view->tried = memory_new(view->sweep.count, sizeof *view->tried, "a sweep", error);
    if (!view->tried)
        sweep_free(&view->sweep);
    return view->tried;
}

static bool refuse_while_on(const struct sweep_view *view, struct error *error)
{
    return (!view->on && !view->run) ||
           error_set(error, ERROR_USAGE, view->sweep.grid.name, _("stop it first: s, under Cells"),
                     _("this sweep is on"));
}

bool sweep_view_start(struct sweep_view *view, struct error *error)
{
    struct sweep_grid grid;
    if (!refuse_while_on(view, error) || !sweep_set_grid(&view->set, &grid, error))
        return false;
    sweep_free(&view->sweep);
    bool made = sweep_make(&view->sweep, &grid, error) && look_at(view, error) &&
                sweep_keep(&view->sweep, error);
    sweep_grid_free(&grid);
    return made && sweep_view_go_on(view, error);
}

bool sweep_view_open(struct sweep_view *view, const char *name, struct error *error)
{
    if (!refuse_while_on(view, error))
        return false;
    sweep_free(&view->sweep);
    return sweep_open(&view->sweep, name, error) && look_at(view, error);
}

bool sweep_view_go_on(struct sweep_view *view, struct error *error)
{
    if (view->sweep.count == 0)
        return error_set(error, ERROR_USAGE, _("the sweep"),
                         _("set one up, or open an earlier one"), _("there is none in sight"));
    view->read = 0; /* other processes may have worked at it */
    memset(view->tried, 0, view->sweep.count * sizeof *view->tried);
    view->on = true;
    view->paused = view->stop_after = false;
    return true;
}

bool sweep_view_list(struct sweep_view *view, struct error *error)
{
    forget_names(view);
    bool listed = sweep_list(&view->names, &view->name_count, error);
    if (view->name_selected >= view->name_count)
        view->name_selected = 0;
    return listed;
}

/* --- working --- */

static struct run_entry *entry_of(const struct run *run, struct run_list *runs)
{
    for (size_t i = runs->count; run && i-- > 0;)
        if (runs->entries[i].run == run)
            return &runs->entries[i];
    return NULL;
}

struct run_entry *sweep_view_entry(const struct sweep_view *view, struct run_list *runs,
                                   size_t cell)
{
    const char *id = view->sweep.cells[cell].run;
    for (size_t i = runs->count; id[0] && i-- > 0;)
        if (runs->entries[i].run && strcmp(run_facts(runs->entries[i].run)->id, id) == 0)
            return &runs->entries[i];
    return NULL;
}

/* What a refused cell says stays in sight; only a failure is written down. */
static void refuse_cell(struct sweep_view *view, size_t index, const struct error *refusal)
{
    struct sweep_cell *cell = &view->sweep.cells[index];
    cell->state = refusal->kind == ERROR_MEMORY ? SWEEP_CANNOT_FIT : SWEEP_FAILED;
    cell->reason = *refusal;
    if (cell->state == SWEEP_FAILED)
        sweep_note(&view->sweep, index, NULL, refusal, NULL);
}

/* What was interrupted goes on. */
static bool add_cell(const struct sweep_view *view, struct run_list *runs, size_t index,
                     struct error *error)
{
    const struct run_config *config = &view->sweep.cells[index].config;
    char *directory = sweep_unfinished(&view->sweep, index);
    bool added = directory ? run_list_resume(runs, config, directory, error)
                           : run_list_add(runs, config, NULL, error);
    free(directory);
    return added;
}

static void start_cell(struct sweep_view *view, struct run_list *runs, size_t index)
{
    struct error error = {0};
    struct sweep_cell *cell = &view->sweep.cells[index];
    view->tried[index] = true;
    int lock = sweep_claim(&view->sweep, index, &error);
    if (lock < 0) {
        if (error.kind != ERROR_NONE)
            refuse_cell(view, index, &error);
        return;
    }
    const struct run_entry *entry = NULL;
    if (add_cell(view, runs, index, &error)) {
        run_list_step(runs);
        entry = &runs->entries[runs->count - 1];
        error = entry->error;
    }
    if (!entry || !entry->run ||
        !sweep_note(&view->sweep, index, run_facts(entry->run)->id, NULL, &error)) {
        if (entry && entry->run)
            run_send(entry->run, COMMAND_STOP, 0);
        refuse_cell(view, index, &error);
        close(lock);
        return;
    }
    cell->state = SWEEP_RUNNING;
    view->run = entry->run;
    view->cell = index;
    view->lock = lock;
}

/* True: it is still on. */
static bool follow_cell(struct sweep_view *view, struct run_list *runs)
{
    const struct run_entry *entry = entry_of(view->run, runs);
    struct sweep_cell *cell = &view->sweep.cells[view->cell];
    if (entry && run_entry_is_active(entry)) {
        view->paused = entry->pause_asked; /* the screen Run can do that, too */
        cell->iteration = entry->snapshot.iteration;
        cell->iterations = entry->snapshot.iterations;
        return true;
    }
    close(view->lock);
    view->run = NULL;
    sweep_refresh(&view->sweep, view->cell);
    take_result(view, view->cell);
    if (view->stop_after)
        sweep_view_stop(view);
    return false;
}

/* Among those that were read. */
static size_t next_cell(struct sweep_view *view)
{
    for (size_t i = 0; i < view->sweep.count; i++) {
        if (view->tried[i] || !sweep_is_due(&view->sweep, i))
            continue;
        sweep_refresh(&view->sweep, i); /* another process may have done it meanwhile */
        if (sweep_is_due(&view->sweep, i))
            return i;
    }
    return view->sweep.count;
}

static bool is_elsewhere(const struct sweep_view *view, size_t index)
{
    return view->sweep.cells[index].state == SWEEP_RUNNING && !(view->run && view->cell == index);
}

bool sweep_view_is_live(const struct sweep_view *view)
{
    bool live = view->on || view->run;
    for (size_t i = 0; !live && i < view->sweep.count; i++)
        live = is_elsewhere(view, i);
    return live;
}

/* Cells that other processes compute, once a second. */
static void look_elsewhere(struct sweep_view *view)
{
    uint64_t now = clock_nanoseconds();
    if (clock_seconds(view->looked, now) < 1)
        return;
    view->looked = now;
    for (size_t i = 0; i < view->sweep.count; i++) {
        if (!is_elsewhere(view, i))
            continue;
        sweep_refresh(&view->sweep, i);
        sweep_watch(&view->sweep, i);
        take_result(view, i);
    }
}

bool sweep_view_step(struct sweep_view *view, struct run_list *runs)
{
    look_elsewhere(view);
    if (view->run && follow_cell(view, runs))
        return false;
    if (!view->on || view->paused || run_list_active(runs) || run_list_waiting(runs) > 0)
        return false;
    if (!read_some(view))
        return false;
    size_t index = next_cell(view);
    if (index < view->sweep.count)
        start_cell(view, runs, index);
    else
        view->on = false;
    return !view->on;
}

void sweep_view_stop(struct sweep_view *view)
{
    view->on = view->paused = view->stop_after = false;
}

size_t sweep_view_due(const struct sweep_view *view)
{
    size_t due = 0;
    for (size_t i = 0; i < view->sweep.count; i++)
        due += sweep_is_due(&view->sweep, i) && !view->tried[i];
    return due;
}
