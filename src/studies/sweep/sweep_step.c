/* A chain is applied step by step. The model after each beginning of a chain is a file of its own,
 * so that chains share it, and so that an interrupted chain goes on with its next step: a step
 * writes its model as a whole or not at all. Each step has a process, whose end follows from the
 * file if it says an outcome, else from the signal that ended the process (process_end_of). */
#include "studies/sweep/sweep_step.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/host/spawn.h"
#include "base/language.h"
#include "base/text.h"
#include "models/list/model_measure.h"
#include "models/measure/measurement.h"
#include "runs/settings/config_data.h"
#include "runs/settings/settings.h"
#include "runs/values/run_snapshot.h"
#include "studies/sweep/internal.h"
#include "studies/sweep/sweep_after.h"
#include "studies/sweep/sweep_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const double poll_seconds = 0.05, patience_seconds = 30;
static const char sign[] = "TINCA_STEP", format[] = "tinca-sweep-step";
static const char go_on_advice[] = N_("repeat the command to go on");
enum { FILE_LIMIT = 1 << 18 };

/* A step and the files of its process. */
struct sweep_step {
    const char *step;
    struct technique_target target;
    const char *file, *log; /* of the process: what to apply and the outcome, and its messages */
    bool (*stop)(void *context);
    void *context;
};

/* --- files --- */

static bool add_failure(struct json *root, const struct error *failure)
{
    struct json *object = json_add_object(root, "error");
    return (!fine_tune_was_cut_off(failure) ||
            json_add_string(object, "cause", run_cause_name(failure))) &&
           json_add_string(object, "what", failure->what) &&
           json_add_string(object, "why", failure->why) &&
           json_add_string(object, "advice", failure->advice);
}

/* Returns a new document of the format. */
static struct json *new_document(void)
{
    struct json *root = json_new_object();
    json_add_string(root, "format", format);
    json_add_count(root, "version", 1);
    return root;
}

/* Writes and frees a document that is complete if `added` is set. */
static bool write_document(struct json *root, bool added, const char *path, struct error *error)
{
    char *text = added ? json_print(root, true, error) : NULL;
    const bool written = text ? file_write(path, text, strlen(text), true, error)
                              : error_set_memory(error, "a step of a sweep", 0);
    free(text);
    json_free(root);
    return written;
}

/* Adds the keys of the settings that count as given: beside those of the cell its data, which a
 * fine-tuning must be told. */
static bool add_given(struct json *root, const struct run_config *settings)
{
    struct json *list = json_add_array(root, "given");
    bool added = list;
    for (size_t i = 0; added && i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        if (key == KEY(data) || config_is_given(settings, key))
            added = json_add_string(list, NULL, key);
    }
    return added;
}

static bool write_request(const struct sweep_step *step, struct error *error)
{
    struct json *root = new_document();
    const bool added = json_add_string(root, "step", step->step) &&
                       json_add_string(root, "input", step->target.input) &&
                       json_add_string(root, "output", step->target.output) &&
                       config_to_json(step->target.settings, json_add_object(root, "settings")) &&
                       add_given(root, step->target.settings);
    return write_document(root, added, step->file, error);
}

static bool write_outcome(const char *file, const struct error *failure, struct error *error)
{
    struct json *root = new_document();
    const bool added = failure ? add_failure(root, failure) : json_add_bool(root, "done", true);
    return write_document(root, added, file, error);
}

/* Reads the outcome. Returns false if the file says none. */
static bool read_outcome(const char *file, bool *done, struct error *failure)
{
    struct json_document document;
    *done = false;
    if (!json_read_file(&document, file, FILE_LIMIT, NULL))
        return false;
    const bool read = json_bool(json_member(document.root, "done"), done) ||
                      sweep_failure_from_json(document.root, failure);
    json_document_free(&document);
    return read;
}

/* --- the process --- */

/* The process of a step, and how it ended. */
struct child {
    pid_t process;
    int status;            /* as waitpid sets it */
    uint64_t memory_kills; /* process_end_memory_kills() before it began */
    uint64_t highest;      /* its highest resident memory, once it has ended */
};

/* Sets the error of a step whose process a signal has ended. Returns false. */
static bool explain_signal(const char *step, const struct child *child, struct error *error)
{
    const int signal = WTERMSIG(child->status);
    const enum process_end end = process_end_of(signal, child->memory_kills);
    char bytes[32];
    if (end == PROCESS_END_MEMORY)
        return error_set(error, ERROR_MEMORY, step, go_on_advice,
                         "killed for memory: the system ended its process, which had used %s",
                         text_bytes(child->highest, bytes, sizeof bytes));
    const bool fault = end == PROCESS_END_FAULT;
    return error_set(error, fault ? ERROR_SYSTEM : ERROR_INTERRUPTED, step,
                     fault ? N_("see its log, then repeat it") : go_on_advice,
                     "signal %d (%s) ended its process", signal, strsignal(signal));
}

/* Makes an error of the technique one of its step. Returns false. */
static bool explain_failure(const char *step, const struct error *failure, struct error *error)
{
    if (failure->kind == ERROR_INTERRUPTED)
        return error_set(error, ERROR_INTERRUPTED, step, go_on_advice,
                         "a signal asked its process to stop");
    error_set(error, failure->kind, step,
              failure->advice[0] ? failure->advice : N_("see its log, then repeat it"), "%s: %s",
              failure->what, failure->why);
    error->disk_full = failure->disk_full;
    return false;
}

/* Returns whether the process that has ended has applied the step; if not, sets the error. */
static bool judge(const struct sweep_step *step, const struct child *child, struct error *error)
{
    bool done;
    struct error failure;
    if (WIFSIGNALED(child->status))
        return explain_signal(step->step, child, error);
    if (!read_outcome(step->file, &done, &failure)) {
        error_set(error, ERROR_SYSTEM, step->step, "see its log, then repeat it",
                  "its process has ended without an outcome");
        error->disk_full = WEXITSTATUS(child->status) == CELL_UNSAVED;
        return false;
    }
    if (!done)
        return explain_failure(step->step, &failure, error);
    return file_exists(step->target.output) ||
           error_set(error, ERROR_INPUT, step->step, "see its log, then repeat it",
                     "it has made no model");
}

/* Waits until the process ends or is to be stopped, at most so many seconds (0: no limit). Returns
 * whether it has ended. */
static bool wait_for(struct child *child, const struct sweep_step *step, double seconds)
{
    const uint64_t begun = clock_nanoseconds();
    for (;;) {
        struct rusage usage = {0};
        const pid_t ended = wait4(child->process, &child->status, WNOHANG, &usage);
        child->highest = (uint64_t)usage.ru_maxrss * 1024;
        if (ended == child->process || (ended < 0 && errno != EINTR))
            return true;
        if (seconds > 0 ? clock_seconds(begun, clock_nanoseconds()) > seconds
                        : step->stop && step->stop(step->context))
            return false;
        clock_sleep(poll_seconds);
    }
}

/* Ends a process: by SIGTERM, then by SIGKILL. */
static void end_process(struct child *child)
{
    kill(child->process, SIGTERM);
    if (wait_for(child, NULL, patience_seconds))
        return;
    kill(child->process, SIGKILL);
    while (waitpid(child->process, &child->status, 0) < 0 && errno == EINTR)
        continue;
}

static bool run_process(const struct sweep_step *step, struct error *error)
{
    struct child child = {.status = EXIT_FAILURE << 8, .memory_kills = process_end_memory_kills()};
    const char *const words[] = {"tinca", "sweep-step", step->file, NULL};
    const struct spawn spawn = {.words = words,
                                .output = step->log,
                                .messages = -1,
                                .group = SPAWN_GROUP_BOUND,
                                .sign = sign};
    const int failed = spawn_start(&spawn, &child.process);
    if (failed)
        return error_set(error, ERROR_SYSTEM, step->step, "end other programs, then repeat it",
                         "its process could not be started: %s", strerror(failed));
    if (wait_for(&child, step, 0))
        return judge(step, &child, error);
    end_process(&child);
    return error_set(error, ERROR_INTERRUPTED, step->step, go_on_advice,
                     "it was stopped before its end");
}

/* Applies a step and waits for the end of its process. A process that is to stop gets SIGTERM, so
 * that it can save, and SIGKILL if it goes on for long; it does not survive this one. Returns false
 * with an error: of kind ERROR_INTERRUPTED if it was stopped or killed, of kind ERROR_MEMORY if it
 * was killed or refused for memory, else as the technique has set it. */
static bool apply_in_process(const struct sweep_step *step, struct error *error)
{
    const struct technique_watch nobody = {0};
    const bool applied = file_exists(step->target.output) /* its leftovers are deleted */
                             ? technique_apply(step->step, &step->target, &nobody, error)
                             : write_request(step, error) && run_process(step, error);
    unlink(step->file);
    return applied;
}

/* --- the results of a cell --- */

static bool write_result(const struct sweep *sweep, size_t index, const char *chain,
                         const struct sweep_after_result *result, struct error *error)
{
    struct json *root = json_new_object();
    bool added = json_add_string(root, "format", "tinca-sweep-after") &&
                 json_add_count(root, "version", 1) && json_add_string(root, "chain", chain);
    if (result->reason.kind != ERROR_NONE)
        added = added && add_failure(root, &result->reason);
    else
        added = added &&
                model_description_to_json(json_add_object(root, "model"), &result->facts) &&
                model_measured_to_json(json_add_object(root, "measured"), &result->measured);
    char *text = added ? json_print(root, true, error) : NULL;
    char *path = sweep_after_path(sweep, index, chain, ".json");
    const bool written = text && path ? file_write(path, text, strlen(text), true, error)
                                      : error_set_memory(error, "a result of a sweep", 0);
    free(path);
    free(text);
    json_free(root);
    return written;
}

struct work {
    struct sweep *sweep;
    size_t index;
    bool (*stop)(void *context);
    void *context;
};

static bool has_to_stop(const struct work *work)
{
    return work->stop && work->stop(work->context);
}

static bool report(void *context, uint64_t done, uint64_t of, struct error *error)
{
    const struct work *work = context;
    (void)done;
    (void)of;
    return !has_to_stop(work) ||
           error_set(error, ERROR_INTERRUPTED, work->sweep->cells[work->index].id,
                     "repeat the command to go on", "it was stopped before its end");
}

/* Applies one step to the model `input`; `chain` is the chain up to it. Returns the path of its
 * model, which the caller frees, or NULL with an error. */
static char *apply_step(const struct work *work, const char *step, const char *chain,
                        const char *input, const struct run_config *settings, struct error *error)
{
    char *output = sweep_after_path(work->sweep, work->index, chain, ".safetensors");
    char *log = sweep_after_path(work->sweep, work->index, chain, ".txt");
    char *file = sweep_after_path(work->sweep, work->index, chain, ".step.json");
    const struct sweep_step process = {
        .step = step,
        .target = {.input = input, .output = output, .settings = settings},
        .file = file,
        .log = log,
        .stop = work->stop,
        .context = work->context};
    const bool applied = output && log && file ? apply_in_process(&process, error)
                                               : error_set_memory(error, "a path", 0);
    free(file);
    free(log);
    if (applied)
        return output;
    free(output);
    return NULL;
}

/* Applies a chain to the run's model, step by step. Returns the path of its model, which the caller
 * frees, or NULL with an error. */
static char *apply_chain(const struct work *work, const char *chain, struct error *error)
{
    struct technique_chain steps;
    struct run_config settings;
    char prefix[SWEEP_CHAIN] = "";
    const struct sweep_cell *cell = &work->sweep->cells[work->index];
    char *directory = sweep_run_directory(cell, error);
    char *path = directory ? measurement_model_path(directory, NULL, error) : NULL;
    free(directory);
    if (!path || !chain[0])
        return path;
    const bool read =
        technique_chain_read(&steps, chain, error) &&
        sweep_after_settings(&cell->config, work->sweep->grid.after_epochs, &settings, error);
    for (size_t i = 0; read && path && i < steps.count; i++) {
        const size_t used = strlen(prefix);
        snprintf(prefix + used, sizeof prefix - used, "%s%s", used > 0 ? "+" : "", steps.steps[i]);
        char *made = apply_step(work, steps.steps[i], prefix, path, &settings, error);
        free(path);
        path = made;
    }
    if (!read) {
        free(path);
        path = NULL;
    }
    return path;
}

/* Measures the model of a chain. */
static bool measure(const struct work *work, const char *path, struct sweep_after_result *result,
                    struct error *error)
{
    char spec[CONFIG_SPEC], key[MODEL_DATA_KEY];
    struct model_figures figures;
    const struct run_config *config = &work->sweep->cells[work->index].config;
    const struct machine_settings machine = machine_settings(config);
    const struct model_measure_request request = {.data = config_measured_spec(config, spec),
                                                  .device = machine.device,
                                                  .threads = machine.threads,
                                                  .progress = report,
                                                  .context = (void *)work};
    if (!model_figures_read(&figures, NULL, path, error))
        return false;
    const struct model_measured *known = model_figures_find(
        &figures, model_data_key(request.data, key), machine.device, machine.threads);
    bool measured = known || model_measure_file(path, &request, &figures, error);
    if (measured) {
        result->state = SWEEP_AFTER_DONE;
        result->facts = figures.facts;
        result->measured = known ? *known : *model_figures_latest(&figures);
    }
    model_figures_free(&figures);
    return measured;
}

/* Computes one result and records it. Returns false with an error if it was stopped or cannot be
 * recorded. */
static bool compute(const struct work *work, size_t number, struct error *error)
{
    struct sweep_after_result result = {0};
    const char *chain = sweep_after_chain(work->sweep, number);
    char *path = apply_chain(work, chain, error);
    if (!path || !measure(work, path, &result, error)) {
        result.state = fine_tune_was_cut_off(error) ? SWEEP_AFTER_WAITING : SWEEP_AFTER_FAILED;
        result.reason = *error;
    }
    free(path);
    if (result.state != SWEEP_AFTER_DONE && has_to_stop(work))
        return error_set(error, ERROR_INTERRUPTED, work->sweep->cells[work->index].id,
                         "repeat the command to go on", "it was stopped before its end");
    return write_result(work->sweep, work->index, chain, &result, error);
}

bool sweep_after_compute(struct sweep *sweep, size_t index, bool (*stop)(void *context),
                         void *context, struct error *error)
{
    const struct work work = {sweep, index, stop, context};
    struct sweep_after_result result;
    char *folder = sweep_after_folder(sweep, index);
    bool computed =
        folder ? file_make_directories(folder, error) : error_set_memory(error, "a path", 0);
    free(folder);
    for (size_t i = 0; computed && i < sweep_after_count(sweep); i++) {
        sweep_after_read(sweep, index, i, &result);
        if (result.state == SWEEP_AFTER_WAITING)
            computed = compute(&work, i, error);
    }
    sweep_after_refresh(sweep, index);
    return computed;
}

/* --- in the process --- */

bool sweep_step_is_child(void)
{
    return spawn_was_signed(sign);
}

static bool lists_key(const struct json *list, const char *key)
{
    for (const struct json *item = json_first(list); item; item = json_next(item)) {
        const char *listed = json_string(item);
        if (listed && strcmp(listed, key) == 0)
            return true;
    }
    return false;
}

/* Reads the settings: all values, also those of a preset, and which of them were given. */
static bool read_settings(const struct json_document *document, struct run_config *settings,
                          struct error *error)
{
    const struct json *given = json_member(document->root, "given");
    if (!config_from_json(settings, document, json_member(document->root, "settings"), error))
        return false;
    for (size_t i = 0; i < config_field_count; i++)
        if (!lists_key(given, config_fields[i].key))
            config_forget(settings, config_fields[i].key);
    return true;
}

static bool apply_requested(const struct json_document *document,
                            const struct technique_watch *watch, struct error *error)
{
    struct run_config *settings = malloc(sizeof *settings);
    const struct json *root = document->root;
    const char *step = json_string(json_member(root, "step"));
    const struct technique_target target = {.input = json_string(json_member(root, "input")),
                                            .output = json_string(json_member(root, "output")),
                                            .settings = settings};
    bool applied = settings || error_set_memory(error, "the settings", sizeof *settings);
    if (applied && (!step || !target.input || !target.output))
        applied = error_set(error, ERROR_INPUT, "a step of a sweep", "repeat the command",
                            "its file does not say what to apply");
    applied = applied && read_settings(document, settings, error) &&
              technique_apply(step, &target, watch, error);
    free(settings);
    return applied;
}

bool sweep_step_work(const char *file, const struct technique_watch *watch, bool *recorded,
                     struct error *error)
{
    struct json_document document;
    struct error unrecorded;
    bool applied = json_read_file(&document, file, FILE_LIMIT, error);
    if (applied) {
        applied = apply_requested(&document, watch, error);
        json_document_free(&document);
    }
    *recorded = write_outcome(file, applied ? NULL : error, &unrecorded);
    if (applied && !*recorded)
        *error = unrecorded;
    return applied && *recorded;
}
