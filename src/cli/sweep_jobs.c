/* A sweep's cells: one computed in this process (sweep_jobs_run_cell), and many in child processes
 * (sweep_jobs_run). Several processes, also on several machines, may compute the same sweep: a lock
 * on each cell's file decides who computes it, and a cell's state is read again from its files
 * before it is started. */
#include "cli/sweep_jobs.h"

#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/stop_signal.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "session/run/run_start.h"
#include "session/sweep/sweep_table.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const double poll_seconds = 0.2, first_poll_seconds = 0.005, plain_interval = 5;

/* --- one cell, in this process --- */

/* Prints the reason if the cell failed. Returns the exit status. */
static int status_of(const struct sweep_cell *cell)
{
    struct error error = cell->reason;
    if (cell->state == SWEEP_FAILED) {
        output_error(&error);
        return EXIT_FAILED;
    }
    if (cell->state == SWEEP_INTERRUPTED)
        return EXIT_INTERRUPTED;
    return EXIT_DONE;
}

/* Records in the cell why its run could not begin: there are no files of the run that would show
 * it. A cell that does not fit the memory has not failed. Returns the exit status. */
static int record_refusal(struct sweep *sweep, size_t index, const struct error *refusal)
{
    struct error error;
    struct sweep_cell *cell = &sweep->cells[index];
    cell->reason = *refusal;
    cell->state = refusal->kind == ERROR_MEMORY ? SWEEP_CANNOT_FIT : SWEEP_FAILED;
    if (cell->state == SWEEP_FAILED && !sweep_record_run(sweep, index, NULL, refusal, &error))
        return output_error(&error);
    return status_of(cell);
}

/* Starts the cell's run, or resumes the one that was interrupted with the present number of
 * threads. NULL with an error when it cannot begin. */
static struct run *start_cell(const struct sweep *sweep, size_t index, bool *resumed,
                              struct error *error)
{
    char threads[24];
    struct run_config changes;
    const struct run_config *config = &sweep->cells[index].config;
    char *directory = sweep_interrupted_run(sweep, index);
    *resumed = directory;
    if (!directory)
        return run_start(config, NULL, error);
    config_defaults(&changes);
    config_set(&changes, "threads", config_get(config, "threads", threads, sizeof threads), NULL);
    struct run *run = run_resume(directory, &changes, NULL, error);
    free(directory);
    return run;
}

/* Computes a cell that this process has locked. Returns the exit status. */
static int run_claimed(struct sweep *sweep, size_t index, bool quiet)
{
    struct error error;
    struct run_snapshot end;
    bool resumed;
    struct run *run = start_cell(sweep, index, &resumed, &error);
    if (!run)
        return record_refusal(sweep, index, &error);
    if (!sweep_record_run(sweep, index, run_facts(run)->id, NULL, &error)) {
        run_free(run);
        return output_error(&error);
    }
    progress_follow(run, quiet);
    run_snapshot(run, &end);
    run_free(run);
    /* a run that could not be resumed keeps its files: the cell records why */
    return resumed && end.status == RUN_REFUSED ? record_refusal(sweep, index, &end.error)
                                                : EXIT_DONE;
}

static void print_state(const struct sweep_cell *cell, bool quiet)
{
    if (!quiet)
        output_note("%s: %s\n", cell->id, sweep_state_words(cell->state));
}

/* Returns whether the cell needs no computing: another process may have computed it before the
 * lock. */
static bool is_over(const struct sweep_cell *cell)
{
    return sweep_is_computed(cell) || cell->state == SWEEP_FAILED;
}

int sweep_jobs_run_cell(struct sweep *sweep, size_t index, bool quiet)
{
    struct error error;
    struct sweep_cell *cell = &sweep->cells[index];
    stop_signal_catch();
    int lock = sweep_claim(sweep, index, &error), status;
    if (lock < 0 && error.kind != ERROR_NONE)
        return output_error(&error);
    if (lock < 0) {
        print_state(cell, quiet);
        return EXIT_DONE;
    }
    sweep_refresh_claimed(sweep, index);
    status = is_over(cell) ? EXIT_DONE : run_claimed(sweep, index, quiet);
    if (status == EXIT_DONE && cell->state != SWEEP_CANNOT_FIT)
        sweep_refresh_claimed(sweep, index);
    close(lock);
    if (status != EXIT_DONE)
        return status;
    print_state(cell, quiet);
    return status_of(cell);
}

/* --- many cells, each in a process --- */

struct job {
    pid_t process; /* 0: none */
    size_t cell;
};

struct work {
    struct sweep *sweep;
    struct sweep_estimate *estimate;
    const struct sweep_jobs *settings;
    struct job *jobs;
    bool *tried;    /* one flag for each cell: none is started twice */
    bool terminal;  /* standard error is a terminal */
    bool line_open; /* the terminal shows a line that will be rewritten */
    bool stop_sent; /* the children have been asked to stop */
    double shown;   /* the clock at the last line of progress, in seconds */
    double poll;    /* seconds until the next poll: they double while nothing happens */
};

static double now_seconds(void)
{
    return clock_seconds(0, clock_nanoseconds());
}

static void clear_line(struct work *work)
{
    if (work->line_open)
        output_live_clear();
    work->line_open = false;
}

static char *path_in_cell(const struct work *work, size_t cell, const char *name)
{
    char *folder = file_join(work->sweep->directory, work->sweep->cells[cell].id);
    char *path = folder && file_make_directories(folder, NULL) ? file_join(folder, name) : NULL;
    free(folder);
    return path;
}

/* Starts the process that computes the cell. Its output, messages of a crash included, goes to
 * output.txt in the cell's folder. Returns 0 or an error number. */
static int spawn(const struct work *work, size_t cell, pid_t *process)
{
    posix_spawn_file_actions_t actions;
    char threads[24];
    char *log = path_in_cell(work, cell, "output.txt");
    snprintf(threads, sizeof threads, "%zu", work->sweep->cells[cell].config.threads);
    const char *arguments[] = {"tinca",   "sweep",
                               "--name",  work->sweep->grid.name,
                               "--cell",  work->sweep->cells[cell].id,
                               "--quiet", "--threads",
                               threads,   NULL};
    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    int failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log ? log : "/dev/null",
                                                  O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    if (!failed)
        failed =
            posix_spawn(process, "/proc/self/exe", &actions, NULL, (char **)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    free(log);
    return failed;
}

/* Records that the cell's process failed. */
static void fail_cell(struct work *work, size_t cell, const char *why)
{
    struct error failure, error;
    error_set(&failure, ERROR_SYSTEM, work->sweep->cells[cell].id,
              _("see output.txt in its folder; --retry computes it once more"), "%s", why);
    if (!sweep_record_run(work->sweep, cell, work->sweep->cells[cell].run, &failure, &error))
        output_error(&error);
    sweep_refresh(work->sweep, cell);
}

static void start(struct work *work, struct job *job, size_t cell)
{
    char why[160];
    work->tried[cell] = true;
    work->poll = first_poll_seconds;
    int failed = spawn(work, cell, &job->process);
    job->cell = cell;
    if (!failed) {
        work->sweep->cells[cell].state = SWEEP_RUNNING;
        return;
    }
    job->process = 0;
    snprintf(why, sizeof why, _("its process could not be started: %s"), strerror(failed));
    fail_cell(work, cell, why);
}

/* Finds the next cell to start. Its state is read again: another process may have computed it, or
 * have given up while it was running. */
static bool next_cell(struct work *work, size_t *cell)
{
    for (*cell = 0; *cell < work->sweep->count; ++*cell) {
        bool elsewhere = work->sweep->cells[*cell].state == SWEEP_RUNNING;
        if (work->tried[*cell] || !(elsewhere || sweep_is_due(work->sweep, *cell)))
            continue;
        sweep_refresh(work->sweep, *cell);
        if (sweep_is_due(work->sweep, *cell))
            return true;
    }
    return false;
}

/* --- the end of a cell --- */

static void print_cell(struct work *work, size_t index)
{
    char reason[1200];
    const struct sweep_cell *cell = &work->sweep->cells[index];
    if (work->settings->quiet)
        return;
    clear_line(work);
    if (cell->state == SWEEP_DONE && !cell->result.known)
        output_note(_("%zu/%zu %s: done, but its results cannot be read\n"), index + 1,
                    work->sweep->count, cell->id);
    else if (cell->state == SWEEP_DONE)
        output_note(_("%zu/%zu %s: done, %.4g ms/image, loss %.4g\n"), index + 1,
                    work->sweep->count, cell->id, cell->result.ms_per_image, cell->result.loss);
    else if (cell->reason.why[0])
        output_note("%zu/%zu %s: %s: %s\n", index + 1, work->sweep->count, cell->id,
                    sweep_state_words(cell->state), sweep_reason_text(cell, reason, sizeof reason));
    else
        output_note("%zu/%zu %s: %s\n", index + 1, work->sweep->count, cell->id,
                    sweep_state_words(cell->state));
}

/* Records how the cell's process ended. One that ended by a signal crashed, or the system killed it
 * for memory; after a stop signal the cell is only interrupted. */
static void record_end(struct work *work, size_t index, int status)
{
    char why[96];
    struct sweep_cell *cell = &work->sweep->cells[index];
    sweep_refresh(work->sweep, index);
    if (WIFSIGNALED(status) && !sweep_is_computed(cell) && !stop_signal_came()) {
        snprintf(why, sizeof why, _("signal %d (%s) ended its process"), WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
        fail_cell(work, index, why);
    } else if (cell->state == SWEEP_WAITING && !stop_signal_came() && status != 0) {
        fail_cell(work, index, _("its process ended before a run began"));
    } else if (cell->state == SWEEP_WAITING && !stop_signal_came()) {
        cell->state = SWEEP_CANNOT_FIT;
        error_set(&cell->reason, ERROR_MEMORY, cell->id,
                  _("repeat the command to try it once more"),
                  _("there was too little free memory when it was to start"));
    }
    sweep_read_result(work->sweep, index);
    sweep_estimate_add_cell(work->estimate, cell, NULL);
    print_cell(work, index);
}

/* Records the processes that have ended. */
static void reap(struct work *work)
{
    for (size_t i = 0; i < work->settings->jobs; i++) {
        int status;
        struct job *job = &work->jobs[i];
        if (!job->process || waitpid(job->process, &status, WNOHANG) != job->process)
            continue;
        job->process = 0;
        record_end(work, job->cell, status);
    }
}

/* --- progress --- */

static void describe(const struct work *work, char *line, size_t size)
{
    size_t used;
    char left[160];
    const struct sweep *sweep = work->sweep;
    struct sweep_time time = sweep_estimate_left(work->estimate, sweep);
    used = (size_t)snprintf(line, size, _("%zu of %zu done"), sweep_count_computed(sweep),
                            sweep->count);
    for (size_t i = 0; i < work->settings->jobs && used < size; i++) {
        const struct sweep_cell *cell = &sweep->cells[work->jobs[i].cell];
        if (work->jobs[i].process)
            used += (size_t)snprintf(line + used, size - used, "  %s %llu/%llu", cell->id,
                                     (unsigned long long)cell->iteration,
                                     (unsigned long long)cell->iterations);
    }
    if (used < size)
        snprintf(line + used, size - used, _("  left (estimate): %s"),
                 sweep_time_text(&time, work->settings->jobs, left, sizeof left));
}

static void show(struct work *work)
{
    char line[400];
    struct winsize window;
    if (work->settings->quiet || (!work->terminal && now_seconds() - work->shown < plain_interval))
        return;
    for (size_t i = 0; i < work->settings->jobs; i++)
        if (work->jobs[i].process)
            sweep_read_progress(work->sweep, work->jobs[i].cell);
    describe(work, line, sizeof line);
    work->shown = now_seconds();
    if (!work->terminal) {
        output_note("%s\n", line);
        return;
    }
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1;
    output_live(line, known ? window.ws_col - 1u : 79);
    work->line_open = true;
}

/* --- the loop --- */

/* Returns the number of running processes. */
static size_t count_running(const struct work *work)
{
    size_t count = 0;
    for (size_t i = 0; i < work->settings->jobs; i++)
        count += work->jobs[i].process != 0;
    return count;
}

/* Starts cells until all jobs are busy or none is left. */
static void start_cells(struct work *work)
{
    size_t cell;
    for (size_t i = 0; i < work->settings->jobs && !stop_signal_came(); i++)
        while (!work->jobs[i].process && next_cell(work, &cell))
            start(work, &work->jobs[i], cell);
}

/* Asks the children to stop. Ctrl-C reaches them anyway, but a signal to this process alone does
 * not. */
static void forward_stop(struct work *work)
{
    if (!stop_signal_came() || work->stop_sent)
        return;
    work->stop_sent = true;
    for (size_t i = 0; i < work->settings->jobs; i++)
        if (work->jobs[i].process)
            kill(work->jobs[i].process, SIGTERM);
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
        reap(work);
        show(work);
    }
    clear_line(work);
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
    work.terminal = isatty(STDERR_FILENO);
    work.shown = now_seconds();
    stop_signal_catch();
    if (work.tried)
        compute_all(&work);
    else
        status = output_error(&error);
    free(work.jobs);
    free(work.tried);
    return stop_signal_came() ? EXIT_INTERRUPTED : status;
}
