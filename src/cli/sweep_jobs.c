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

static void follow(struct run *run, bool quiet)
{
    struct progress progress = progress_begin(quiet);
    bool asked = false;
    while (!run_wait(run, poll_seconds)) {
        if (stop_signal_came() && !asked)
            asked = run_send(run, COMMAND_STOP, 0);
        progress_show(&progress, run);
    }
    progress_end(&progress, run);
}

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

/* A run that could not even begin has no files of its own: the cell keeps why. What does not fit
 * is no failure. */
static int note_refusal(struct sweep *sweep, size_t index, const struct error *refusal)
{
    struct error error;
    struct sweep_cell *cell = &sweep->cells[index];
    cell->reason = *refusal;
    cell->state = refusal->kind == ERROR_MEMORY ? SWEEP_CANNOT_FIT : SWEEP_FAILED;
    if (cell->state == SWEEP_FAILED && !sweep_record_run(sweep, index, NULL, refusal, &error))
        return output_error(&error);
    return status_of(cell);
}

/* What was interrupted goes on in its own folder, with the threads that it may have now. */
static struct run *start_cell(const struct sweep *sweep, size_t index, bool *resumed,
                              struct error *error)
{
    char threads[24];
    struct run_config changes;
    const struct run_config *config = &sweep->cells[index].config;
    char *directory = sweep_unfinished(sweep, index);
    *resumed = directory;
    if (!directory)
        return run_start(config, NULL, error);
    config_defaults(&changes);
    config_set(&changes, "threads", config_get(config, "threads", threads, sizeof threads), NULL);
    struct run *run = run_resume(directory, &changes, NULL, error);
    free(directory);
    return run;
}

static int run_claimed(struct sweep *sweep, size_t index, bool quiet)
{
    struct error error;
    struct run_snapshot end;
    bool resumed;
    struct run *run = start_cell(sweep, index, &resumed, &error);
    if (!run)
        return note_refusal(sweep, index, &error);
    if (!sweep_record_run(sweep, index, run_facts(run)->id, NULL, &error)) {
        run_free(run);
        return output_error(&error);
    }
    follow(run, quiet);
    run_snapshot(run, &end);
    run_free(run);
    /* a run that could not go on is as it was before: only the cell can tell why */
    return resumed && end.status == RUN_REFUSED ? note_refusal(sweep, index, &end.error)
                                                : EXIT_DONE;
}

static void say_state(const struct sweep_cell *cell, bool quiet)
{
    if (!quiet)
        output_note("%s: %s\n", cell->id, sweep_state_words(cell->state));
}

/* Another process may have computed it between the look at its state and the lock. */
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
        say_state(cell, quiet);
        return EXIT_DONE;
    }
    sweep_refresh_claimed(sweep, index);
    status = is_over(cell) ? EXIT_DONE : run_claimed(sweep, index, quiet);
    if (status == EXIT_DONE && cell->state != SWEEP_CANNOT_FIT)
        sweep_refresh_claimed(sweep, index);
    close(lock);
    if (status != EXIT_DONE)
        return status;
    say_state(cell, quiet);
    return status_of(cell);
}

/* --- many, each in a process --- */

struct job {
    pid_t process; /* 0: none */
    size_t cell;
};

struct work {
    struct sweep *sweep;
    struct sweep_estimate *estimate;
    const struct sweep_jobs *settings;
    struct job *jobs;
    bool *tried;   /* a flag a cell: nothing is tried twice */
    bool terminal; /* standard error is one */
    bool line_open, told_to_stop;
    double said; /* when the last plain line was written */
    /* seconds until it looks again: the longer nothing happens, the longer */
    double poll;
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

/* The child writes into the cell's folder what it has to say, a crash's last words as well. */
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

static void fail_cell(struct work *work, size_t cell, const char *why)
{
    struct error failure, error;
    error_set(&failure, ERROR_SYSTEM, work->sweep->cells[cell].id,
              _("output.txt in its folder may say more; --retry tries it again"), "%s", why);
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

/* The next cell that is due, read afresh: another process may have done it meanwhile, or have left
 * it undone. */
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

/* --- what became of a cell --- */

static void say_cell(struct work *work, size_t index)
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

/* A process that ends without a word was killed (memory), or crashed. When it was told to stop it
 * is just interrupted. */
static void take_end(struct work *work, size_t index, int status)
{
    char why[96];
    struct sweep_cell *cell = &work->sweep->cells[index];
    sweep_refresh(work->sweep, index);
    if (WIFSIGNALED(status) && !sweep_is_computed(cell) && !stop_signal_came()) {
        snprintf(why, sizeof why, _("its process was ended by signal %d (%s)"), WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
        fail_cell(work, index, why);
    } else if (cell->state == SWEEP_WAITING && !stop_signal_came() && status != 0) {
        fail_cell(work, index, _("its process ended without beginning a run"));
    } else if (cell->state == SWEEP_WAITING && !stop_signal_came()) {
        cell->state = SWEEP_CANNOT_FIT;
        error_set(&cell->reason, ERROR_MEMORY, cell->id, _("the same command again tries it again"),
                  _("there was not enough free memory when its turn came"));
    }
    sweep_read_result(work->sweep, index);
    sweep_estimate_add_cell(work->estimate, cell, NULL);
    say_cell(work, index);
}

static void reap(struct work *work)
{
    for (size_t i = 0; i < work->settings->jobs; i++) {
        int status;
        struct job *job = &work->jobs[i];
        if (!job->process || waitpid(job->process, &status, WNOHANG) != job->process)
            continue;
        job->process = 0;
        take_end(work, job->cell, status);
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
    if (work->settings->quiet || (!work->terminal && now_seconds() - work->said < plain_interval))
        return;
    for (size_t i = 0; i < work->settings->jobs; i++)
        if (work->jobs[i].process)
            sweep_read_progress(work->sweep, work->jobs[i].cell);
    describe(work, line, sizeof line);
    work->said = now_seconds();
    if (!work->terminal) {
        output_note("%s\n", line);
        return;
    }
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1;
    output_live(line, known ? window.ws_col - 1u : 79);
    work->line_open = true;
}

/* --- the loop --- */

static size_t on(const struct work *work)
{
    size_t count = 0;
    for (size_t i = 0; i < work->settings->jobs; i++)
        count += work->jobs[i].process != 0;
    return count;
}

static void start_some(struct work *work)
{
    size_t cell;
    for (size_t i = 0; i < work->settings->jobs && !stop_signal_came(); i++)
        while (!work->jobs[i].process && next_cell(work, &cell))
            start(work, &work->jobs[i], cell);
}

/* Ctrl-C reaches the children as well; a signal to this process alone does not. */
static void pass_stop_on(struct work *work)
{
    if (!stop_signal_came() || work->told_to_stop)
        return;
    work->told_to_stop = true;
    for (size_t i = 0; i < work->settings->jobs; i++)
        if (work->jobs[i].process)
            kill(work->jobs[i].process, SIGTERM);
}

static void work_off(struct work *work)
{
    while (true) {
        start_some(work);
        if (on(work) == 0)
            break;
        clock_sleep(work->poll);
        work->poll = fmin(2 * work->poll, poll_seconds);
        pass_stop_on(work);
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
    work.said = now_seconds();
    stop_signal_catch();
    if (work.tried)
        work_off(&work);
    else
        status = output_error(&error);
    free(work.jobs);
    free(work.tried);
    return stop_signal_came() ? EXIT_INTERRUPTED : status;
}
