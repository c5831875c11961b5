/* A sweep's cells: one computed in this process (sweep_jobs_run_cell), and many in child processes
 * (sweep_jobs_run), and a step of a cell's techniques in this process (sweep_jobs_apply_step).
 * Several processes, also on several machines, may compute the same sweep: a lock on each cell's
 * file decides who computes it, and a cell's state is read again from its files before it is
 * started. */
#include "cli/sweep.h"

#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/stop_signal.h"
#include "cli/technique.h"
#include "cli/train_wait.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "runs/values/run_snapshot.h"
#include "studies/sweep/sweep_after.h"
#include "studies/sweep/sweep_process.h"
#include "studies/sweep/sweep_step.h"
#include "studies/sweep/sweep_table.h"
#include "training/run_start.h"
#include "ui/terminal/signals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const double poll_seconds = 0.2, first_poll_seconds = 0.005;

/* --- one cell, in this process --- */

/* Prints the reason if the cell failed. Returns the exit status. */
static int status_of(const struct sweep_cell *cell)
{
    struct error error = cell->reason;
    if (cell->state == SWEEP_FAILED || cell->state == SWEEP_OUT_OF_MEMORY ||
        cell->state == SWEEP_DISK_FULL) {
        output_error(&error);
        return EXIT_FAILED;
    }
    if (cell->state == SWEEP_INTERRUPTED)
        return EXIT_INTERRUPTED;
    return EXIT_DONE;
}

/* Prints that a full disk keeps the cell from being saved, and what goes on with it. Returns the
 * exit status of that. */
static int print_unsaved(const struct sweep *sweep, size_t index, const struct error *error)
{
    char advice[256];
    struct error unsaved = *error;
    const struct sweep_cell *cell = &sweep->cells[index];
    snprintf(unsaved.advice, sizeof unsaved.advice, "%s",
             sweep_advise_going_on(sweep, cell, false, advice, sizeof advice));
    const int status = output_error(&unsaved);
    return sweep_process_is_child() ? CELL_UNSAVED : status;
}

/* Prints an error that is not recorded in the cell. Returns the exit status. */
static int report_unrecorded(const struct sweep *sweep, size_t index, const struct error *error)
{
    return run_cause_of_error(error) == RUN_CAUSE_DISK ? print_unsaved(sweep, index, error)
                                                       : output_error(error);
}

/* Records in the cell why its run could not begin: there are no files of the run that would show
 * it. A cell that does not fit the memory has not failed. Returns the exit status. */
static int record_refusal(struct sweep *sweep, size_t index, const struct error *refusal)
{
    struct error error;
    struct sweep_cell *cell = &sweep->cells[index];
    cell->reason = *refusal;
    cell->state = refusal->kind == ERROR_MEMORY ? SWEEP_CANNOT_FIT : sweep_state_of_error(refusal);
    char *kept = sweep_interrupted_run(sweep, index); /* it can still be continued */
    const bool recorded = cell->state == SWEEP_CANNOT_FIT ||
                          sweep_record_run(sweep, index, kept ? cell->run : NULL, refusal, &error);
    free(kept);
    return recorded ? status_of(cell) : report_unrecorded(sweep, index, &error);
}

/* Prints why the run could not be saved. Returns the exit status, which is another one if not even
 * that is recorded. */
static int report_unsaved(struct sweep *sweep, size_t index, const struct error *error)
{
    sweep_refresh_claimed(sweep, index);
    const int status = print_unsaved(sweep, index, error);
    return sweep->cells[index].state == SWEEP_DISK_FULL ? EXIT_FAILED : status;
}

/* Starts the cell's run, or resumes the one that was interrupted with the present number of
 * threads. NULL with an error when it cannot begin. */
static struct run *start_cell(const struct sweep *sweep, size_t index, struct error *error)
{
    char threads[24];
    struct run_config changes;
    const struct run_config *config = &sweep->cells[index].config;
    char *directory = sweep_interrupted_run(sweep, index);
    const struct run_options labels = {.tags = sweep->grid.tags, .note = sweep->grid.note};
    if (!directory)
        return run_start(config, &labels, error);
    config_defaults(&changes);
    config_set(&changes, KEY(threads), config_get(config, KEY(threads), threads, sizeof threads),
               NULL);
    struct run *run = run_resume(directory, &changes, NULL, error);
    free(directory);
    return run;
}

/* Computes a cell that this process has locked, and gives its place in the queue up once the run
 * has begun. Returns the exit status. */
static int run_claimed(struct sweep *sweep, size_t index, bool quiet, struct run_queue_place *place)
{
    struct error error;
    struct run_snapshot end;
    struct run *run = start_cell(sweep, index, &error);
    run_queue_leave(place);
    if (!run)
        return record_refusal(sweep, index, &error);
    if (!sweep_record_run(sweep, index, run_facts(run)->id, NULL, &error)) {
        run_free(run);
        return report_unrecorded(sweep, index, &error);
    }
    progress_follow(run, quiet, NULL);
    run_snapshot(run, &end);
    run_free(run);
    /* a new run that is refused has no files, and one that is not resumed keeps its own: the cell
     * records why */
    if (end.status == RUN_REFUSED)
        return record_refusal(sweep, index, &end.error);
    return end.status == RUN_FAILED && run_cause_of(&end) == RUN_CAUSE_DISK
               ? report_unsaved(sweep, index, &end.error)
               : EXIT_DONE;
}

/* Prints the cell's state. Returns EXIT_DONE. */
static int print_state(const struct sweep_cell *cell, bool quiet)
{
    if (!quiet)
        output_note("%s: %s\n", cell->id, sweep_state_words(cell->state));
    return EXIT_DONE;
}

/* Returns whether the cell needs no computing: another process may have computed it before the
 * lock. */
static bool is_over(const struct sweep_cell *cell)
{
    return sweep_is_computed(cell) || cell->state == SWEEP_FAILED;
}

/* Returns a cell that waits in the queue. */
static struct queued_run queue_cell(const struct sweep *sweep, size_t index)
{
    struct queued_run queued = queued_run_new(&sweep->cells[index].config);
    queued.kind = QUEUED_SWEEP;
    snprintf(queued.sweep, sizeof queued.sweep, "%s", sweep->grid.name);
    return queued;
}

static bool has_to_stop(void *context)
{
    (void)context;
    return stop_signal_came();
}

/* Applies the techniques after training to the model of a cell that is locked. A technique that
 * fails is a result of the cell, which the table shows. Returns the exit status. */
static int compute_after(struct sweep *sweep, size_t index)
{
    struct error error;
    if (sweep_after_compute(sweep, index, has_to_stop, NULL, &error))
        return EXIT_DONE;
    return error.kind == ERROR_INTERRUPTED ? EXIT_INTERRUPTED
                                           : report_unrecorded(sweep, index, &error);
}

int sweep_jobs_run_cell(struct sweep *sweep, size_t index, bool quiet, bool wait)
{
    struct error error;
    struct sweep_cell *cell = &sweep->cells[index];
    stop_signal_catch_for_runs();
    struct run_queue_place place = {0};
    const struct queued_run queued = queue_cell(sweep, index);
    if (wait && !train_wait(&queued, quiet, &place, &error))
        return output_error(&error);
    int lock = sweep_claim(sweep, index, &error), status;
    if (lock < 0) {
        run_queue_leave(&place);
        return error.kind != ERROR_NONE ? report_unrecorded(sweep, index, &error)
                                        : print_state(cell, quiet);
    }
    sweep_refresh_claimed(sweep, index);
    status = is_over(cell) ? EXIT_DONE : run_claimed(sweep, index, quiet, &place);
    run_queue_leave(&place);
    if (status == EXIT_DONE && cell->state != SWEEP_CANNOT_FIT)
        sweep_refresh_claimed(sweep, index);
    if (status == EXIT_DONE && cell->state == SWEEP_DONE && cell->after_due > 0)
        status = compute_after(sweep, index);
    close(lock);
    if (status != EXIT_DONE)
        return status;
    print_state(cell, quiet);
    return status_of(cell);
}

int sweep_jobs_apply_step(const char *file)
{
    bool recorded;
    struct error error;
    struct technique_display display = {
        .command = "sweep", .advice = N_("repeat the command to go on"), .quiet = true};
    const struct technique_watch watch = technique_display_watch(&display);
    stop_signal_catch_for_runs();
    if (sweep_step_work(file, &watch, &recorded, &error))
        return EXIT_DONE;
    output_error(&error);
    return !recorded && run_cause_of_error(&error) == RUN_CAUSE_DISK ? CELL_UNSAVED : EXIT_FAILED;
}

/* --- many cells, each in a process --- */

struct work {
    struct sweep *sweep;
    struct sweep_estimate *estimate;
    const struct sweep_jobs *settings;
    struct sweep_process *jobs; /* id 0: free */
    bool *tried;                /* one flag for each cell: none is started twice */
    struct sweep_progress progress;
    double poll; /* seconds until the next poll: they double while nothing happens */
    struct run_queue_place place; /* in the queue; number 0: none */
    struct error error;           /* why no place could be taken; ERROR_NONE: none such */
};

static void start(struct work *work, struct sweep_process *job, size_t cell)
{
    work->tried[cell] = true;
    work->poll = first_poll_seconds;
    if (!sweep_process_start(job, work->sweep, cell, SPAWN_GROUP_SHARED))
        sweep_progress_print_cell(&work->progress, cell, NULL);
    job->beside_others = work->settings->jobs > 1;
}

/* Finds the next cell to start. Its state is read again: another process may have computed it, or
 * have given up while it was running. */
static bool next_cell(struct work *work, size_t *cell)
{
    for (*cell = 0; *cell < work->sweep->count; ++*cell) {
        bool elsewhere = work->sweep->cells[*cell].state == SWEEP_RUNNING;
        if (work->tried[*cell] || !(elsewhere || sweep_has_work(work->sweep, *cell)))
            continue;
        sweep_refresh(work->sweep, *cell);
        if (sweep_has_work(work->sweep, *cell))
            return true;
    }
    return false;
}

/* Waits until the next cell may start, if it has to wait. It keeps the place until the cell
 * computes or ends (leave_queue). Returns false with work->error if it cannot wait or a signal
 * came. */
static bool take_turn(struct work *work)
{
    size_t cell;
    if (!work->settings->wait || work->place.number > 0 || !next_cell(work, &cell))
        return true;
    const struct queued_run queued = queue_cell(work->sweep, cell);
    return train_wait(&queued, work->settings->quiet, &work->place, &work->error);
}

/* Gives the place up once the current cell's run can be seen by the others in the queue, or no cell
 * was left to start. */
static void leave_queue(struct work *work)
{
    const struct sweep_process *job = &work->jobs[0];
    if (work->place.number == 0)
        return;
    if (job->id)
        sweep_read_progress(work->sweep, job->cell);
    if (!job->id || work->sweep->cells[job->cell].iteration > 0)
        run_queue_leave(&work->place);
}

/* Records the processes that have ended. */
static void reap(struct work *work)
{
    for (size_t i = 0; i < work->settings->jobs; i++) {
        const size_t cell = work->jobs[i].cell;
        if (!sweep_process_has_ended(&work->jobs[i], work->sweep))
            continue;
        sweep_read_result(work->sweep, cell);
        sweep_estimate_add_cell(work->estimate, &work->sweep->cells[cell], NULL);
        sweep_progress_print_cell(&work->progress, cell, NULL);
    }
}

static void show(struct work *work)
{
    size_t running[64], count = 0;
    for (size_t i = 0; i < work->settings->jobs && count < sizeof running / sizeof *running; i++)
        if (work->jobs[i].id)
            running[count++] = work->jobs[i].cell;
    sweep_progress_show(&work->progress, running, count, work->settings->jobs);
}

/* --- the loop --- */

/* Returns the number of running processes. */
static size_t count_running(const struct work *work)
{
    size_t count = 0;
    for (size_t i = 0; i < work->settings->jobs; i++)
        count += work->jobs[i].id != 0;
    return count;
}

/* Starts cells until all jobs are busy or none is left. */
static void start_cells(struct work *work)
{
    size_t cell;
    for (size_t i = 0; i < work->settings->jobs && !stop_signal_came(); i++)
        while (!work->jobs[i].id && take_turn(work) && next_cell(work, &cell))
            start(work, &work->jobs[i], cell);
}

/* Asks the processes to stop, once. Ctrl-C reaches them anyway, but a signal to this process alone
 * does not. */
static void forward_stop(struct work *work)
{
    for (size_t i = 0; stop_signal_came() && i < work->settings->jobs; i++)
        if (!work->jobs[i].stopped)
            sweep_process_stop(&work->jobs[i]);
}

/* Lets the processes save a checkpoint, after a signal that asks for it. */
static void forward_save(struct work *work)
{
    if (!signals_take_save())
        return;
    for (size_t i = 0; i < work->settings->jobs; i++)
        sweep_process_save(&work->jobs[i]);
}

static void compute_all(struct work *work)
{
    while (true) {
        start_cells(work);
        if (count_running(work) == 0)
            break;
        clock_sleep(work->poll);
        work->poll = fmin(2 * work->poll, poll_seconds);
        forward_stop(work);
        forward_save(work);
        reap(work);
        leave_queue(work);
        show(work);
    }
    leave_queue(work);
    sweep_progress_clear(&work->progress);
}

int sweep_jobs_run(struct sweep *sweep, struct sweep_estimate *estimate,
                   const struct sweep_jobs *settings)
{
    struct error error;
    struct work work = {.sweep = sweep, .estimate = estimate, .settings = settings};
    int status = EXIT_DONE;
    work.jobs = memory_new(settings->jobs, sizeof *work.jobs, "the jobs", &error);
    if (work.jobs)
        work.tried = memory_new(sweep->count, sizeof *work.tried, "the jobs", &error);
    work.progress = sweep_progress_begin(sweep, estimate, settings->quiet);
    stop_signal_catch_for_runs();
    if (work.tried)
        compute_all(&work);
    else
        status = output_error(&error);
    if (work.error.kind != ERROR_NONE)
        status = output_error(&work.error);
    free(work.jobs);
    free(work.tried);
    return stop_signal_came() ? EXIT_INTERRUPTED : status;
}
