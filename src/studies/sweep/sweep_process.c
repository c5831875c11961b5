/* How a process ended follows from the files that it wrote and, if it ended by a signal, from the
 * signal (process_end_of). Why a run was killed is recorded in its folder (run_json.h). */
#include "studies/sweep/sweep_process.h"

#include "base/files/file.h"
#include "base/host/spawn.h"
#include "base/language.h"
#include "base/text.h"
#include "runs/folder/run_json.h"
#include "runs/settings/settings.h"
#include "runs/values/run_snapshot.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const char sign[] = "TINCA_CELL";

/* --- starting --- */

/* Records the failure in the cell's file, or shows in the cell why that is impossible. */
static void fail_cell(struct sweep *sweep, size_t index, const struct error *failure)
{
    struct sweep_cell *cell = &sweep->cells[index];
    struct error error;
    if (sweep_record_run(sweep, index, cell->run, failure, &error))
        sweep_refresh(sweep, index);
    else {
        cell->state = sweep_state_of_error(&error);
        cell->reason = error;
    }
}

static char *path_in_cell(const struct sweep *sweep, size_t index, const char *name)
{
    char *folder = file_join(sweep->directory, sweep->cells[index].id);
    char *path = folder && file_make_directories(folder, NULL) ? file_join(folder, name) : NULL;
    free(folder);
    return path;
}

static int spawn(const struct sweep *sweep, size_t index, enum spawn_group group, pid_t *id)
{
    char threads[24];
    snprintf(threads, sizeof threads, "%zu", machine_settings(&sweep->cells[index].config).threads);
    const char *const words[] = {"tinca",   "sweep",
                                 "--name",  sweep->grid.name,
                                 "--cell",  sweep->cells[index].id,
                                 "--quiet", OPTION(threads),
                                 threads,   NULL};
    char *log = path_in_cell(sweep, index, "output.txt");
    const struct spawn child = {
        .words = words, .output = log, .messages = -1, .group = group, .sign = sign};
    const int failed = spawn_start(&child, id);
    free(log);
    return failed;
}

/* Makes the kernel prefer the process to this one when it has to end one for memory. It may refuse,
 * in which case it chooses by size alone. */
static void offer_to_memory_killer(pid_t id)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%ld/oom_score_adj", (long)id);
    FILE *file = fopen(path, "we");
    if (!file)
        return;
    fputs("500", file);
    fclose(file);
}

bool sweep_process_start(struct sweep_process *process, struct sweep *sweep, size_t index,
                         enum spawn_group group)
{
    struct error failure;
    *process = (struct sweep_process){.cell = index, .memory_kills = process_end_memory_kills()};
    const int failed = spawn(sweep, index, group, &process->id);
    if (!failed) {
        offer_to_memory_killer(process->id);
        sweep->cells[index].state = SWEEP_RUNNING;
        sweep->cells[index].iteration = 0;
        return true;
    }
    process->id = 0;
    error_set(&failure, ERROR_SYSTEM, sweep->cells[index].id,
              _("end other programs, then compute the cell once more"),
              _("its process could not be started: %s"), strerror(failed));
    fail_cell(sweep, index, &failure);
    return false;
}

void sweep_process_stop(struct sweep_process *process)
{
    if (!process->id)
        return;
    process->stopped = true;
    kill(process->id, SIGTERM);
}

void sweep_process_save(const struct sweep_process *process)
{
    if (process->id)
        kill(process->id, SIGUSR1);
}

/* --- its end --- */

/* Sets the reason why a signal ended the process. `highest`: its highest resident memory. */
static void explain_signal(const struct sweep_process *process, const struct sweep *sweep,
                           int signal, enum process_end end, uint64_t highest,
                           struct error *failure)
{
    char bytes[32], command[256], advice[256 + 64];
    const struct sweep_cell *cell = &sweep->cells[process->cell];
    const char *id = cell->id;
    sweep_advise_going_on(sweep, cell, end == PROCESS_END_FAULT, command, sizeof command);
    if (end == PROCESS_END_MEMORY) {
        snprintf(advice, sizeof advice,
                 process->beside_others ? _("%s; --jobs 1 needs less memory") : "%s", command);
        error_set(failure, ERROR_MEMORY, id, advice,
                  _("killed for memory: the system ended its process, which had used %s"),
                  text_bytes(highest, bytes, sizeof bytes));
        return;
    }
    snprintf(advice, sizeof advice,
             end == PROCESS_END_FAULT ? _("see output.txt in its folder; %s") : "%s", command);
    error_set(failure, ERROR_SYSTEM, id, advice, _("signal %d (%s) ended its process"), signal,
              strsignal(signal));
}

/* Records in the run's folder why its process was killed. If that is impossible, the cell says why:
 * the disk may be full. */
static void record_kill(struct sweep *sweep, size_t index, const struct error *reason)
{
    struct sweep_cell *cell = &sweep->cells[index];
    struct error error;
    char *directory = sweep_run_directory(cell, &error);
    if (directory && run_killed_write(directory, reason, &error))
        sweep_refresh(sweep, index);
    else if (run_cause_of_error(&error) == RUN_CAUSE_DISK) {
        cell->state = SWEEP_DISK_FULL;
        cell->reason = error;
    }
    free(directory);
}

/* Makes a cell whose run has not begun wait for the next call. Until then it shows the reason. */
static void wait_again(struct sweep_cell *cell, const struct error *reason)
{
    const enum sweep_state state = sweep_state_of_error(reason);
    cell->state = state == SWEEP_FAILED ? SWEEP_INTERRUPTED : state;
    cell->reason = *reason;
}

/* Sets the state of a cell whose process was ended by a signal. The next call goes on with a cell
 * that a kill has interrupted; a fault is a failure of the cell. */
static void take_signal(const struct sweep_process *process, struct sweep *sweep, int signal,
                        uint64_t highest)
{
    struct error failure;
    struct sweep_cell *cell = &sweep->cells[process->cell];
    const enum process_end end = process_end_of(signal, process->memory_kills);
    explain_signal(process, sweep, signal, end, highest, &failure);
    if (end == PROCESS_END_FAULT || !sweep_is_due(sweep, process->cell))
        fail_cell(sweep, process->cell, &failure);
    else if (cell->state == SWEEP_WAITING)
        wait_again(cell, &failure);
    else
        record_kill(sweep, process->cell, &failure);
}

/* Sets the reason of a cell whose process could not save what `text` says. */
static void explain_unsaved(const struct sweep *sweep, const struct sweep_cell *cell,
                            const char *text, struct error *reason)
{
    char advice[256];
    sweep_advise_going_on(sweep, cell, false, advice, sizeof advice);
    error_set(reason, ERROR_SYSTEM, cell->id, advice, "%s", text);
    reason->disk_full = true;
}

/* Sets the state of a cell whose process has ended by itself, but could save neither the end of its
 * run nor, without a run, why there is none. */
static void take_unsaved(struct sweep *sweep, size_t index)
{
    struct error reason;
    struct sweep_cell *cell = &sweep->cells[index];
    explain_unsaved(sweep, cell,
                    cell->run[0] ? _("the disk is full: its process could not save the end of the "
                                     "run (output.txt in its folder has the system's reason)")
                                 : _("the disk is full: its process could not save that the run "
                                     "began (output.txt in its folder has the system's reason)"),
                    &reason);
    if (cell->state == SWEEP_WAITING)
        wait_again(cell, &reason);
    else
        record_kill(sweep, index, &reason);
}

/* Makes a cell say that its process was asked to stop, though the sweep was not: its run is saved,
 * and is stopped like others. */
static void explain_stop(const struct sweep *sweep, struct sweep_cell *cell)
{
    char advice[256];
    sweep_advise_going_on(sweep, cell, false, advice, sizeof advice);
    error_set(&cell->reason, ERROR_SYSTEM, cell->id, advice, "%s",
              _("a signal asked its process to stop"));
}

/* Makes a computed cell say what has kept its process from applying techniques after the training:
 * they wait for the next call. */
static void explain_due(const struct sweep_process *process, const struct sweep *sweep,
                        struct sweep_cell *cell, int status, uint64_t highest)
{
    if (WIFSIGNALED(status))
        explain_signal(process, sweep, WTERMSIG(status),
                       process_end_of(WTERMSIG(status), process->memory_kills), highest,
                       &cell->reason);
    else if (WEXITSTATUS(status) == CELL_UNSAVED)
        explain_unsaved(sweep, cell,
                        _("the disk is full: its process could not save a result after training "
                          "(output.txt in its folder has the system's reason)"),
                        &cell->reason);
}

/* Sets the cell's state after its process has ended with `status`. */
static void take_end(const struct sweep_process *process, struct sweep *sweep, int status,
                     uint64_t highest)
{
    struct error failure;
    struct sweep_cell *cell = &sweep->cells[process->cell];
    sweep_refresh(sweep, process->cell);
    if (!process->stopped && cell->after_due > 0)
        explain_due(process, sweep, cell, status, highest);
    if (process->stopped || sweep_is_computed(cell))
        return;
    if (WIFSIGNALED(status)) {
        take_signal(process, sweep, WTERMSIG(status), highest);
    } else if (sweep_is_due(sweep, process->cell) && WEXITSTATUS(status) == CELL_UNSAVED) {
        take_unsaved(sweep, process->cell);
    } else if (cell->state == SWEEP_INTERRUPTED && cell->reason.kind == ERROR_NONE) {
        explain_stop(sweep, cell);
    } else if (cell->state == SWEEP_WAITING && status != 0) {
        error_set(&failure, ERROR_SYSTEM, cell->id,
                  _("see output.txt in its folder, then compute the cell once more"),
                  _("its process ended before a run began"));
        fail_cell(sweep, process->cell, &failure);
    } else if (cell->state == SWEEP_WAITING) {
        cell->state = SWEEP_CANNOT_FIT;
        error_set(&cell->reason, ERROR_MEMORY, cell->id,
                  _("repeat the command to try it once more"),
                  _("there was too little free memory when it was to start"));
    }
}

bool sweep_process_has_ended(struct sweep_process *process, struct sweep *sweep)
{
    int status = EXIT_FAILURE << 8; /* unknown, if whoever started this process ignores SIGCHLD */
    struct rusage usage = {0};
    if (!process->id)
        return false;
    const pid_t ended = wait4(process->id, &status, WNOHANG, &usage);
    if (ended == 0 || (ended < 0 && errno == EINTR))
        return false;
    process->id = 0;
    take_end(process, sweep, status, (uint64_t)usage.ru_maxrss * 1024);
    return true;
}

bool sweep_process_is_child(void)
{
    return spawn_was_signed(sign);
}
