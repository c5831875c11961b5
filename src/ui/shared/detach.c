/* A background process has taken over when it computes the run or, for a waiting run and for the
 * sweep, has a place in the queue (runs/history/queue_background.h). If it ends before that, its
 * message is shown. */
#include "ui/shared/detach.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/host/spawn.h"
#include "base/language.h"
#include "base/memory.h"
#include "runs/settings/settings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* --- background command ---
 *
 * The standard error of the process is a file without a name, which background_command_report
 * reads.
 */

/* --- the command line --- */

/* Returns a new text as printf writes it, or NULL. */
static char *format_text(const char *format, va_list values)
{
    va_list again;
    va_copy(again, values);
    const int length = vsnprintf(NULL, 0, format, values);
    char *text = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

/* Adds a word to the command line; the first one is the program's name. If memory is short, the
 * start fails. */
static void background_command_add(struct background_command *command, const char *format, ...)
{
    va_list values;
    if (!memory_grow(&command->words, &command->capacity, command->count + 2,
                     sizeof *command->words, "a command line", NULL)) {
        command->failed = true;
        return;
    }
    va_start(values, format);
    char *word = format_text(format, values);
    va_end(values);
    if (word)
        command->words[command->count++] = word;
    else
        command->failed = true;
}

/* --- the process --- */

bool background_command_start(struct background_command *command, struct error *error)
{
    if (command->failed)
        return error_set_memory(error, "a command line", 0);
    command->messages = tmpfile();
    if (!command->messages)
        return error_set_errno(error, N_("the background process"),
                               N_("check the space in the folder of temporary files"),
                               "no temporary file can be made");
    const struct spawn spawn = {.words = (const char *const *)command->words,
                                .messages = fileno(command->messages),
                                .group = SPAWN_SESSION_OWN};
    errno = spawn_start(&spawn, &command->process);
    if (errno == 0)
        return true;
    command->process = 0;
    return error_set_errno(error, N_("the background process"), N_("end other programs first"),
                           "no process can be started");
}

/* Returns whether the process has ended. */
static bool background_command_has_ended(const struct background_command *command)
{
    return command->process > 0 && waitpid(command->process, NULL, WNOHANG) != 0;
}

/* Sets the error to the first line that the process has printed. Returns false. */
static bool background_command_report(const struct background_command *command, struct error *error)
{
    char text[300];
    rewind(command->messages);
    const size_t length = fread(text, 1, sizeof text - 1, command->messages);
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return error_set(error, ERROR_SYSTEM, N_("the background process"),
                     N_("nothing is lost: r in the list of runs continues the run here"), "%s",
                     text[0] ? text : _("it ended without a message"));
}

/* Frees everything but the process, and sets the command to {0}. */
static void background_command_free(struct background_command *command)
{
    for (size_t i = 0; i < command->count; i++)
        free(command->words[i]);
    free(command->words);
    if (command->messages)
        fclose(command->messages);
    *command = (struct background_command){0};
}

static const double RESUME_SECONDS = 120, JOIN_SECONDS = 20;

/* Starts detach->command, which must take over within `seconds`. */
static bool start_command(struct detach *detach, enum detach_state state, double seconds,
                          struct error *error)
{
    detach->state = state;
    detach->until = clock_nanoseconds() + (uint64_t)(seconds * 1e9);
    return background_command_start(&detach->command, error);
}

/* Returns false with an error if the process has ended or its time is over. */
static bool check_command(const struct detach *detach, struct error *error)
{
    if (background_command_has_ended(&detach->command))
        return background_command_report(&detach->command, error);
    return clock_nanoseconds() <= detach->until ||
           error_set(error, ERROR_SYSTEM, N_("the background process"),
                     N_("the list of runs shows what becomes of it"), "it has not begun in time");
}

/* Returns whether the process has taken over, and looks again in the background if it had not when
 * that was last known. `directory`: the run that it resumes; "": it waits in the queue. */
static bool has_taken_over(struct detach *detach, const char *directory)
{
    bool taken = false;
    if (!detach->looking) /* if no thread can start, the next step tries again */
        detach->looking = handover_look((long)detach->command.process, directory, NULL);
    if (!detach->looking || !handover_result(detach->looking, &taken))
        return false;
    handover_drop(detach->looking);
    detach->looking = NULL;
    return taken;
}

/* --- the queue: waiting runs, then the sweep --- */

static void add_settings(struct background_command *command, const struct run_config *config)
{
    const struct training_settings training = training_settings(config);
    const struct data_settings data = data_settings(config);
    char value[600];
    for (size_t i = 0; i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        config_get(config, key, value, sizeof value);
        if (value[0] && key != KEY(network) && config_counts(config, &config_fields[i]))
            background_command_add(command, "--%s=%s", key, value);
    }
    if (training.preset[0] && !data.validate[0])
        background_command_add(command, "--validate=");
    if (training.preset[0] && !data.test[0])
        background_command_add(command, "--test=");
    background_command_add(command, "--");
    background_command_add(command, "%s", network_settings(config).network);
}

static void add_run(struct background_command *command, const struct run_entry *entry)
{
    background_command_add(command, "tinca");
    background_command_add(command, entry->resumed_directory[0] ? "resume" : "train");
    background_command_add(command, "--wait");
    background_command_add(command, "--quiet");
    if (entry->options.save_path)
        background_command_add(command, "--save=%s", entry->options.save_path);
    if (entry->options.run_directory)
        background_command_add(command, "--run-dir=%s", entry->options.run_directory);
    if (entry->options.fork.directory[0])
        background_command_add(command, "--fork=%s@%s", entry->options.fork.directory,
                               fork_source_names[entry->options.fork.source]);
    if (!entry->resumed_directory[0])
        add_settings(command, &entry->config);
    else {
        background_command_add(command, "--");
        background_command_add(command, "%s", entry->resumed_directory);
    }
}

static void add_sweep(struct background_command *command, const char *name)
{
    background_command_add(command, "tinca");
    background_command_add(command, "sweep");
    background_command_add(command, "--wait");
    background_command_add(command, "--quiet");
    background_command_add(command, "--name=%s", name);
}

/* Returns the index of the first waiting run, or runs->count. */
static size_t first_waiting(const struct run_list *runs)
{
    size_t i = 0;
    while (i < runs->count && !run_entry_is_waiting(&runs->entries[i]))
        i++;
    return i;
}

/* Starts the process of the first waiting run or, when there is none, of the sweep if it is to go
 * on after its present cell. With neither, all is handed over. */
static bool start_next(struct detach *detach, const struct run_list *runs, struct sweep_job *sweep,
                       struct error *error)
{
    const size_t waiting = first_waiting(runs);
    if (waiting == runs->count && (!sweep->on || sweep->stop_after)) {
        sweep_job_let_go(sweep);
        detach->state = DETACH_DONE;
        return true;
    }
    background_command_free(&detach->command);
    if (waiting < runs->count)
        add_run(&detach->command, &runs->entries[waiting]);
    else
        add_sweep(&detach->command, sweep->sweep.grid.name);
    return start_command(detach, DETACH_QUEUEING, JOIN_SECONDS, error);
}

static bool watch_queue(struct detach *detach, struct run_list *runs, struct sweep_job *sweep,
                        struct error *error)
{
    const size_t waiting = first_waiting(runs);
    if (!has_taken_over(detach, ""))
        return check_command(detach, error);
    if (waiting < runs->count) {
        run_list_remove(runs, waiting);
        detach->waiting++;
    } else {
        snprintf(detach->sweep, sizeof detach->sweep, "%s", sweep->sweep.grid.name);
        sweep_job_let_go(sweep);
    }
    return start_next(detach, runs, sweep, error);
}

/* --- the active run --- */

/* Starts the process that resumes the stopped run. */
static bool start_resumption(struct detach *detach, struct error *error)
{
    struct background_command *command = &detach->command;
    background_command_add(command, "tinca");
    background_command_add(command, "resume");
    background_command_add(command, "--quiet");
    if (detach->save_path[0])
        background_command_add(command, "--save=%s", detach->save_path);
    background_command_add(command, "--");
    background_command_add(command, "%s", detach->directory);
    return start_command(detach, DETACH_RESUMING, RESUME_SECONDS, error);
}

static bool watch_resumption(struct detach *detach, const struct run_list *runs,
                             struct sweep_job *sweep, struct error *error)
{
    if (!has_taken_over(detach, detach->directory))
        return check_command(detach, error);
    detach->resuming = detach->command.process;
    return start_next(detach, runs, sweep, error);
}

/* --- steps --- */

bool detach_is_active(const struct detach *detach)
{
    return detach->state != DETACH_NO && detach->state != DETACH_DONE;
}

bool detach_begin(struct detach *detach, struct run_list *runs, const struct sweep_job *sweep)
{
    const struct run_entry *active = run_list_active(runs);
    *detach = (struct detach){.state = DETACH_STOPPING};
    if (active) {
        snprintf(detach->directory, sizeof detach->directory, "%s", run_entry_directory(active));
        if (active->options.save_path)
            snprintf(detach->save_path, sizeof detach->save_path, "%s", active->options.save_path);
        if (!run_send(active->run, COMMAND_STOP, 0)) {
            *detach = (struct detach){0};
            return false;
        }
    }
    if (sweep->process.id)
        snprintf(detach->sweep, sizeof detach->sweep, "%s", sweep->sweep.grid.name);
    runs->leaving = true;
    return true;
}

/* Forgets the run if it has ended by itself: there is nothing to resume. Returns false with the
 * run's error if it could not begin or has failed, perhaps because its model could not be saved. A
 * run that has diverged has ended. */
static bool check_end(struct detach *detach, const struct run_list *runs, struct error *error)
{
    for (size_t i = 0; i < runs->count; i++) {
        const struct run_entry *entry = &runs->entries[i];
        const struct run_snapshot *end = &entry->snapshot;
        const char *directory = run_entry_directory(entry);
        if (!directory || strcmp(directory, detach->directory) != 0 || end->status == RUN_STOPPED)
            continue;
        detach->directory[0] = '\0';
        if (end->status == RUN_REFUSED ||
            (end->status == RUN_FAILED && end->error.kind != ERROR_DIVERGED)) {
            *error = end->error;
            return false;
        }
    }
    return true;
}

/* Returns whether the sweep's cell has a process but computes no iteration yet: its run may not
 * have locked its folder, so those in the queue would not see it. */
static bool cell_is_starting(const struct sweep_job *sweep)
{
    return sweep->process.id && sweep->sweep.cells[sweep->process.cell].iteration == 0;
}

static bool step(struct detach *detach, struct run_list *runs, struct sweep_job *sweep,
                 struct error *error)
{
    if (detach->state == DETACH_RESUMING)
        return watch_resumption(detach, runs, sweep, error);
    if (detach->state == DETACH_QUEUEING)
        return watch_queue(detach, runs, sweep, error);
    if (run_list_active(runs) || cell_is_starting(sweep))
        return true;
    if (!check_end(detach, runs, error))
        return false;
    return detach->directory[0] ? start_resumption(detach, error)
                                : start_next(detach, runs, sweep, error);
}

bool detach_step(struct detach *detach, struct run_list *runs, struct sweep_job *sweep,
                 struct error *error)
{
    const bool good = !detach_is_active(detach) || step(detach, runs, sweep, error);
    if (!good || detach->state == DETACH_DONE) {
        background_command_free(&detach->command);
        handover_drop(detach->looking);
        detach->looking = NULL;
    }
    if (good)
        return true;
    *detach = (struct detach){0};
    runs->leaving = false;
    return false;
}

char *detach_text(const struct detach *detach, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    if (detach->directory[0])
        length += (size_t)snprintf(
            text, size, _("%s goes on in the background, process %ld; tinca attach shows it.\n"),
            file_base_name(detach->directory), (long)detach->resuming);
    if (detach->waiting > 0 && length < size)
        length += (size_t)snprintf(text + length, size - length,
                                   ngettext("%zu run waits in the queue; tinca runs lists it.\n",
                                            "%zu runs wait in the queue; tinca runs lists them.\n",
                                            detach->waiting),
                                   detach->waiting);
    if (detach->sweep[0] && length < size)
        snprintf(text + length, size - length,
                 _("Sweep %s goes on in the background; tinca sweep --name %s --report shows its "
                   "cells.\n"),
                 detach->sweep, detach->sweep);
    return text;
}
