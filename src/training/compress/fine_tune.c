/* A fine-tuning is an ordinary run, whose network and first weights are one model file. If its
 * result is a file, the run's folder is chosen and noted before it starts, so that a repeated call
 * finds it: complete, or to be resumed. The note has the folder's path and, behind a newline, the
 * request. */
#include "training/compress/fine_tune.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/text.h"
#include "engine/network/network_write.h"
#include "engine/training/parameter_groups.h"
#include "models/saved/model_file.h"
#include "runs/folder/run_directory.h"
#include "runs/record/run_open.h"
#include "runs/settings/settings.h"
#include "runs/values/run_facts.h"
#include "runs/values/run_snapshot.h"
#include "training/run_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double poll_seconds = 0.2;
enum { NOTE_LIMIT = 1 << 16 };

/* --- watching --- */

bool technique_watch_step(const struct technique_watch *watch, const char *text,
                          struct error *error)
{
    return watch->step(watch->context, text, error);
}

bool technique_watch_poll(void *watch, uint64_t done, uint64_t of, struct error *error)
{
    (void)done;
    (void)of;
    return technique_watch_step(watch, NULL, error);
}

static void follow(const struct technique_watch *watch, struct run *run)
{
    bool stopped = false;
    struct error ignored; /* fine_tune_finish says that the run was stopped */
    if (watch->follow) {
        watch->follow(watch->context, run);
        return;
    }
    while (!run_wait(run, poll_seconds))
        if (!stopped && !technique_watch_step(watch, NULL, &ignored))
            stopped = run_send(run, COMMAND_STOP, 0);
}

/* --- a run --- */

bool fine_tune_is_wanted(const struct run_config *settings)
{
    return config_gives(settings, ABOUT_LENGTH);
}

bool fine_tune_has_data(const struct run_config *settings, struct error *error)
{
    return config_is_given(settings, KEY(data)) || training_settings(settings).preset[0] ||
           error_set(error, ERROR_USAGE, OPTION(data), "give --data SPEC",
                     "fine-tuning needs a data set");
}

/* Makes the configuration of a run that begins with the model. Returns false with an error if its
 * settings contradict each other. */
static bool make_config(struct run_config *config, const struct run_config *settings,
                        const char *model, struct error *error)
{
    config_defaults(config);
    if (!config_set(config, KEY(network), model, error) ||
        !config_set(config, KEY(weights), model, error))
        return false;
    config_take(config, settings, TASK_FINE_TUNE);
    return config_check(config, error);
}

bool fine_tune_check(const struct run_config *settings, const char *model, struct error *error)
{
    struct run_config config;
    return !fine_tune_is_wanted(settings) ||
           (fine_tune_has_data(settings, error) && make_config(&config, settings, model, error));
}

bool fine_tune_check_layers(const struct run_config *settings, const struct graph *graph, bool same,
                            struct error *error)
{
    const struct training_settings training = training_settings(settings);
    const bool known = same || !strchr(training.freeze, '.');
    const struct parameter_rates rates = {.frozen = known ? training.freeze : "",
                                          .rates = same ? training.rates : ""};
    struct parameter_groups groups;
    if (!fine_tune_is_wanted(settings) || (!rates.frozen[0] && !rates.rates[0]))
        return true;
    const bool made = parameter_groups_make(&groups, graph, &rates, 0, error);
    if (made)
        parameter_groups_free(&groups);
    return made;
}

bool fine_tune_refuse_idle(const struct run_config *settings, const char *used, bool gradients,
                           struct error *error)
{
    char option[64];
    for (size_t i = 0; !fine_tune_is_wanted(settings) && i < config_field_count; i++) {
        const struct config_field *field = &config_fields[i];
        if (!config_is_given(settings, field->key) || field->key == used ||
            config_has_meaning(field, TASK_COMPRESS) ||
            (gradients && (field->class & SETTINGS_TRAINING) &&
             config_has_meaning(field, TASK_FIND_RATE)))
            continue;
        snprintf(option, sizeof option, "--%s", field->key);
        return error_set(error, ERROR_USAGE, option, "give --epochs, too",
                         "nothing is trained without it");
    }
    return true;
}

static struct run *start_in(const struct fine_tuning *tuning, const char *directory,
                            struct error *error)
{
    struct run_config config;
    const struct run_options options = {
        .run_directory = directory, .note = tuning->note, .tags = tuning->tag};
    return make_config(&config, tuning->settings, tuning->model, error)
               ? run_start(&config, &options, error)
               : NULL;
}

struct run *fine_tune_start(const struct fine_tuning *tuning, struct error *error)
{
    return start_in(tuning, NULL, error);
}

bool fine_tune_may_change(const struct config_field *field)
{
    return config_has_meaning(field, TASK_RESUME) && field->about != ABOUT_LENGTH;
}

struct run *fine_tune_resume(const char *directory, const struct run_config *settings,
                             struct error *error)
{
    struct run_config changes;
    config_defaults(&changes);
    config_take(&changes, settings, TASK_RESUME);
    for (size_t i = 0; i < config_field_count; i++)
        if (!fine_tune_may_change(&config_fields[i]))
            config_forget(&changes, config_fields[i].key);
    return run_resume(directory, &changes, NULL, error);
}

bool fine_tune_finish(struct run *run, const struct technique_watch *watch, const char *advice,
                      struct error *error)
{
    struct run_snapshot snapshot;
    follow(watch, run);
    run_snapshot(run, &snapshot);
    if (snapshot.status == RUN_STOPPED ||
        (snapshot.status != RUN_DONE && snapshot.error.kind == ERROR_NONE))
        error_set(error, ERROR_INTERRUPTED, run_facts(run)->id, advice,
                  "the fine-tuning was stopped");
    else if (snapshot.status != RUN_DONE)
        *error = snapshot.error;
    run_free(run);
    return snapshot.status == RUN_DONE;
}

/* --- a file --- */

/* Returns the path of the note, which the caller frees; NULL with an error. */
static char *note_path(const char *output, struct error *error)
{
    struct text path = {0};
    text_append(&path, "%s" FINE_TUNE_NOTE, output);
    if (path.failed)
        error_set_memory(error, "a path", 0);
    return path.failed ? NULL : path.data;
}

/* Reads the folder of the run that the note names. Returns false if there is no note. Sets *same to
 * whether it was begun with this request; one without a request belongs to any. */
static bool read_note(const char *note, const char *request, char run[FINE_TUNE_RUN], bool *same)
{
    size_t length;
    char *text = file_exists(note) ? file_read(note, NOTE_LIMIT, &length, NULL) : NULL;
    const size_t end = text ? strcspn(text, "\n") : 0;
    const bool read = end > 0 && end < FINE_TUNE_RUN;
    if (read) {
        snprintf(run, FINE_TUNE_RUN, "%.*s", (int)end, text);
        *same = !request || !text[end] || strcmp(text + end + 1, request) == 0;
    }
    free(text);
    return read;
}

bool fine_tune_find(const struct fine_tuning *tuning, bool *begun, struct error *error)
{
    bool same = true;
    char run[FINE_TUNE_RUN];
    char *note = note_path(tuning->output, error);
    if (!note)
        return false;
    *begun = read_note(note, tuning->request, run, &same);
    *begun = *begun && same;
    same = same || tuning->replaces ||
           error_set(error, ERROR_USAGE, note, "repeat its command, or delete this file",
                     "another fine-tuning for this output was interrupted");
    free(note);
    return same;
}

/* The state of the run of an interrupted call: none, unfinished, or complete. */
enum earlier { EARLIER_NONE, EARLIER_GOES_ON, EARLIER_DONE };

static enum earlier find_earlier(const char *directory)
{
    struct run_outline *outline = malloc(sizeof *outline);
    enum earlier earlier = EARLIER_NONE;
    if (outline && run_peek(directory, outline, NULL)) {
        const enum run_status status = outline->snapshot.status;
        if (status == RUN_DONE)
            earlier = EARLIER_DONE;
        else if (status == RUN_INTERRUPTED || status == RUN_STOPPED ||
                 run_cause_of(&outline->snapshot) != RUN_CAUSE_OTHER)
            earlier = EARLIER_GOES_ON;
    }
    free(outline);
    return earlier;
}

/* Makes the folder of a new run, which is named after the model's network and the tag. */
static bool make_folder(const struct fine_tuning *tuning, char run[FINE_TUNE_RUN],
                        struct error *error)
{
    struct model model = {0};
    char network[NETWORK_SHORT_NAME], suffix[32], name[RUN_ID_NAME], id[RUN_ID_SIZE];
    if (!model_file_describe(&model, tuning->model, error))
        return false;
    network_short_name(model.network, network, sizeof network);
    network[strcspn(network, "+")] = '\0'; /* without the chain of techniques */
    model_free(&model);
    snprintf(suffix, sizeof suffix, "-%s", tuning->tag);
    char *folder = run_directory_create(NULL, run_id_name(network, suffix, name), id, error);
    const bool fits = folder && snprintf(run, FINE_TUNE_RUN, "%s", folder) < FINE_TUNE_RUN;
    if (folder && !fits)
        error_set(error, ERROR_USAGE, folder, "move the folder of runs", "its path is too long");
    free(folder);
    return fits;
}

/* Starts a new run, after a note has named its folder. */
static struct run *begin(const struct fine_tuning *tuning, const char *note,
                         char run[FINE_TUNE_RUN], struct error *error)
{
    struct text text = {0};
    if (!make_folder(tuning, run, error))
        return NULL;
    text_append(&text, "%s", run);
    if (tuning->request)
        text_append(&text, "\n%s", tuning->request);
    const bool noted = text.failed ? error_set_memory(error, "a note", 0)
                                   : file_write(note, text.data, text.length, true, error);
    text_free(&text);
    return noted ? start_in(tuning, run, error) : NULL;
}

bool fine_tune_was_cut_off(const struct error *error)
{
    return error->kind == ERROR_INTERRUPTED || run_cause_of_error(error) != RUN_CAUSE_OTHER;
}

bool fine_tune_copy(const struct run_config *settings, const char *run, const char *output,
                    struct error *error)
{
    char *best = file_join(run, "best.safetensors"), *last = file_join(run, "weights.safetensors");
    const bool takes_best =
        best && strcmp(training_settings(settings).preset, "cifar") == 0 && file_exists(best);
    const bool copied = best && last ? output_file_copy(output, takes_best ? best : last, error)
                                     : error_set_memory(error, "a path", 0);
    free(best);
    free(last);
    return copied;
}

bool fine_tune_file(const struct fine_tuning *tuning, const struct technique_watch *watch,
                    char run[FINE_TUNE_RUN], struct error *error)
{
    bool same;
    char *note = note_path(tuning->output, error);
    if (!note)
        return false;
    const enum earlier earlier =
        read_note(note, tuning->request, run, &same) && same ? find_earlier(run) : EARLIER_NONE;
    bool done = earlier == EARLIER_DONE;
    if (!done) {
        struct run *training = earlier == EARLIER_GOES_ON
                                   ? fine_tune_resume(run, tuning->settings, error)
                                   : begin(tuning, note, run, error);
        done = training &&
               fine_tune_finish(training, watch, N_("the same command continues it"), error);
    }
    done = done && fine_tune_copy(tuning->settings, run, tuning->output, error);
    if (done || !fine_tune_was_cut_off(error))
        unlink(note);
    free(note);
    return done;
}
