/* While the sweep is on, sweep_job_step starts the next due cell whenever the list of runs has
 * nothing to do; a run that the form adds runs between two cells. The cell's process locks it, so
 * several processes can share a sweep. The cells that other processes run are read once a second.
 */
#include "ui/shared/sweep_job.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "studies/sweep/sweep_after.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAVED_RUNS_READ = 100 }; /* to estimate times */

void sweep_job_free(struct sweep_job *job)
{
    sweep_free(&job->sweep);
    sweep_estimate_free(&job->estimate);
    free(job->tried);
    *job = (struct sweep_job){0};
}

/* --- reading --- */

/* Returns whether the process of this job computes the cell. */
static bool is_current(const struct sweep_job *job, size_t index)
{
    return job->process.id && job->process.cell == index;
}

/* Reads the result of a cell, and adds it to the estimate when it becomes known. */
static void read_result(struct sweep_job *job, size_t index)
{
    struct sweep_cell *cell = &job->sweep.cells[index];
    bool known = cell->result.known;
    sweep_read_result(&job->sweep, index);
    if (!known)
        sweep_estimate_add_cell(&job->estimate, cell, NULL);
}

bool sweep_job_read(struct sweep_job *job)
{
    size_t i = job->read;
    if (i >= job->sweep.count)
        return false;
    if (!is_current(job, i))
        sweep_refresh(&job->sweep, i);
    sweep_forecast(&job->sweep, i, 1);
    read_result(job, i);
    return ++job->read < job->sweep.count;
}

/* Reads cells for 30 ms at most, so that keys are handled promptly. Returns whether all cells have
 * been read. */
static bool read_some(struct sweep_job *job)
{
    const double patience = 0.03;
    const uint64_t from = clock_nanoseconds();
    while (sweep_job_read(job))
        if (clock_seconds(from, clock_nanoseconds()) > patience)
            return false;
    return true;
}

bool sweep_job_add_saved_times(struct sweep_job *job)
{
    if (job->has_saved_times)
        return false;
    job->has_saved_times = true;
    sweep_estimate_add_runs(&job->estimate, SAVED_RUNS_READ, NULL);
    return true;
}

/* --- starting --- */

/* Prepares for the sweep that has just been made or read. Frees it if there is no memory. */
static bool prepare_sweep(struct sweep_job *job, struct error *error)
{
    job->read = 0;
    free(job->tried);
    job->tried = memory_new(job->sweep.count, sizeof *job->tried, "a sweep", error);
    if (!job->tried)
        sweep_free(&job->sweep);
    return job->tried;
}

static bool refuse_while_on(const struct sweep_job *job, struct error *error)
{
    return (!job->on && !job->process.id) ||
           error_set(error, ERROR_USAGE, job->sweep.grid.name,
                     _("stop it first: press s in the tab Cells"), _("this sweep is running"));
}

bool sweep_job_start(struct sweep_job *job, struct sweep_grid *grid, struct error *error)
{
    if (!refuse_while_on(job, error))
        return false;
    sweep_free(&job->sweep);
    if (!sweep_create(&job->sweep, grid, error))
        return false;
    if (!sweep_after_check(&job->sweep, error)) {
        sweep_free(&job->sweep);
        return false;
    }
    return prepare_sweep(job, error) && sweep_save(&job->sweep, error) &&
           sweep_job_continue(job, error);
}

bool sweep_job_open(struct sweep_job *job, const char *name, struct error *error)
{
    if (!refuse_while_on(job, error))
        return false;
    sweep_free(&job->sweep);
    return sweep_open(&job->sweep, name, error) && prepare_sweep(job, error);
}

bool sweep_job_continue(struct sweep_job *job, struct error *error)
{
    if (job->sweep.count == 0)
        return error_set(error, ERROR_USAGE, _("the sweep"),
                         _("set one up, or open an earlier one"), _("no sweep is open"));
    job->read = 0; /* other processes may have changed it */
    memset(job->tried, 0, job->sweep.count * sizeof *job->tried);
    job->on = true;
    job->paused = job->stop_after = false;
    return true;
}

/* --- running cells --- */

/* Reads the progress of the current cell and, at its end, its result. Returns whether it has ended.
 */
static bool follow_cell(struct sweep_job *job)
{
    const size_t index = job->process.cell;
    if (!sweep_process_has_ended(&job->process, &job->sweep)) {
        sweep_read_progress(&job->sweep, index);
        return false;
    }
    read_result(job, index);
    if (job->stop_after)
        sweep_job_stop(job);
    return true;
}

/* Returns the next cell to start, or the number of cells. All cells must have been read. */
static size_t next_cell(struct sweep_job *job)
{
    for (size_t i = 0; i < job->sweep.count; i++) {
        if (job->tried[i] || !sweep_has_work(&job->sweep, i))
            continue;
        sweep_refresh(&job->sweep, i); /* another process may have run it meanwhile */
        if (sweep_has_work(&job->sweep, i))
            return i;
    }
    return job->sweep.count;
}

/* Returns whether another process runs the cell. */
static bool is_elsewhere(const struct sweep_job *job, size_t index)
{
    return job->sweep.cells[index].state == SWEEP_RUNNING && !is_current(job, index);
}

bool sweep_job_is_live(const struct sweep_job *job)
{
    bool live = job->on || job->process.id;
    for (size_t i = 0; !live && i < job->sweep.count; i++)
        live = is_elsewhere(job, i);
    return live;
}

/* Reads the cells that other processes run, once a second. */
static void poll_elsewhere(struct sweep_job *job)
{
    uint64_t now = clock_nanoseconds();
    if (clock_seconds(job->polled, now) < 1)
        return;
    job->polled = now;
    for (size_t i = 0; i < job->sweep.count; i++) {
        if (!is_elsewhere(job, i))
            continue;
        sweep_refresh(&job->sweep, i);
        sweep_read_progress(&job->sweep, i);
        read_result(job, i);
    }
}

/* Starts the next due cell, or ends the sweep if there is none. */
static void start_next(struct sweep_job *job, struct sweep_job_news *news)
{
    const size_t index = next_cell(job);
    if (index == job->sweep.count) {
        job->on = false;
        news->sweep_ended = true;
        return;
    }
    job->tried[index] = true;
    news->cell = index;
    news->cell_ended = !sweep_process_start(&job->process, &job->sweep, index, SPAWN_GROUP_OWN);
}

struct sweep_job_news sweep_job_step(struct sweep_job *job, struct run_list *runs)
{
    struct sweep_job_news news = {.cell = job->process.cell};
    poll_elsewhere(job);
    if (job->process.id)
        news.cell_ended = follow_cell(job);
    else if (job->on && !job->paused && !runs->leaving && !run_list_active(runs) &&
             run_list_waiting(runs) == 0 && read_some(job))
        start_next(job, &news);
    runs->held = job->process.id != 0;
    return news;
}

void sweep_job_stop(struct sweep_job *job)
{
    job->on = job->paused = job->stop_after = false;
}

void sweep_job_stop_now(struct sweep_job *job)
{
    sweep_job_stop(job);
    sweep_process_stop(&job->process);
}

void sweep_job_let_go(struct sweep_job *job)
{
    sweep_job_stop(job);
    job->process = (struct sweep_process){0};
}

bool sweep_job_pause(struct sweep_job *job)
{
    job->paused = true;
    if (!job->process.id)
        return false;
    job->tried[job->process.cell] = false;
    sweep_process_stop(&job->process);
    return true;
}

void sweep_job_resume(struct sweep_job *job)
{
    job->paused = false;
}

size_t sweep_job_due(const struct sweep_job *job)
{
    size_t due = 0;
    for (size_t i = 0; i < job->sweep.count; i++)
        due += sweep_has_work(&job->sweep, i) && !job->tried[i];
    return due;
}

char *sweep_counts_text(const struct sweep *sweep, char *text, size_t size)
{
    size_t counts[SWEEP_STATES], used;
    sweep_count(sweep, counts);
    used =
        (size_t)snprintf(text, size, ngettext("%zu cell", "%zu cells", sweep->count), sweep->count);
    for (size_t i = 0; i < SWEEP_STATES && used < size; i++)
        if (counts[i] > 0)
            used += (size_t)snprintf(text + used, size - used, ", %zu %s", counts[i],
                                     sweep_state_words((enum sweep_state)i));
    return text;
}
