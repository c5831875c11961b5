/* Whether a fork may change a setting, and what then follows, is in the rows of the settings (enum
 * config_fork). */
#include "training/fork.h"

#include "base/files/file.h"
#include "base/language.h"
#include "runs/folder/journal.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_files.h"
#include "runs/record/resume.h"
#include "runs/record/run_integrity.h"
#include "runs/settings/settings.h"
#include "training/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const fork_source_names[FORK_SOURCES + 1] = {"last", "previous", "final", "best", NULL};

static const char *const files[FORK_SOURCES] = {"checkpoint.safetensors",
                                                "checkpoint.previous.safetensors",
                                                "weights.safetensors", "best.safetensors"};

static bool is_checkpoint(enum fork_source source)
{
    return source == FORK_LAST || source == FORK_PREVIOUS;
}

/* --- the request --- */

bool fork_has(const char *directory, enum fork_source source)
{
    char *path = file_join(directory, files[source]);
    const bool has = path && file_exists(path);
    free(path);
    return has;
}

static bool refuse_without(const char *directory, const char *what, struct error *error)
{
    char advice[200] = "";
    for (int i = 0; i < FORK_SOURCES; i++)
        if (fork_has(directory, (enum fork_source)i))
            snprintf(advice + strlen(advice), sizeof advice - strlen(advice), "%s@%s",
                     advice[0] ? ", " : "", fork_source_names[i]);
    return error_set(error, ERROR_USAGE, file_base_name(directory),
                     advice[0] ? advice : N_("train another run"),
                     advice[0] ? N_("this run has no file for @%s; it has these")
                               : N_("this run has neither checkpoint nor model to begin with%.0s"),
                     what);
}

/* Sets the source to the first one that the folder has. */
static bool choose_first(struct fork_request *request, struct error *error)
{
    for (int i = 0; i < FORK_SOURCES; i++)
        if (fork_has(request->directory, (enum fork_source)i)) {
            request->source = (enum fork_source)i;
            return true;
        }
    return refuse_without(request->directory, "", error);
}

static bool read_source(const char *name, struct fork_request *request, struct error *error)
{
    for (int i = 0; i < FORK_SOURCES; i++)
        if (strcmp(name, fork_source_names[i]) == 0) {
            request->source = (enum fork_source)i;
            return fork_has(request->directory, request->source) ||
                   refuse_without(request->directory, name, error);
        }
    return error_set(error, ERROR_USAGE, "--fork", "give RUN@last, @previous, @final or @best",
                     "\"@%.40s\" is no checkpoint of a run", name);
}

bool fork_parse(const char *text, struct fork_request *request, struct error *error)
{
    char name[512];
    const char *at = strrchr(text, '@');
    /* names and paths of runs may contain @ */
    char *directory = run_directory_find(text, at ? NULL : error);
    if (directory)
        at = NULL;
    else if (at) {
        snprintf(name, sizeof name, "%.*s", (int)(at - text), text);
        directory = run_directory_find(name, error);
    }
    if (!directory)
        return false;
    snprintf(request->directory, sizeof request->directory, "%s", directory);
    free(directory);
    return at ? read_source(at + 1, request, error) : choose_first(request, error);
}

bool fork_read_config(const struct fork_request *request, struct run_config *config,
                      struct error *error)
{
    struct run_facts facts = {0};
    if (!run_files_read_config(config, &facts, request->directory, error) ||
        !run_trained_by_tinca(facts.imported, facts.id, error))
        return false;
    /* a fork begins with the ancestor's weights, not with those that the ancestor began with, and
     * has the ancestor's output layers, which may be new ones */
    const bool remade = network_settings(config).request.remake_outputs;
    config_reset(config, ABOUT_BEGINNING);
    return config_put(config, KEY(reset_classes), remade ? "yes" : "no", error);
}

/* --- the settings --- */

static bool compare(const struct run_config *before, const struct run_config *config,
                    struct run_fork *fork, struct error *error)
{
    char old[600], value[600], option[40];
    for (size_t i = 0; i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        config_get(before, key, old, sizeof old);
        config_get(config, key, value, sizeof value);
        if (strcmp(old, value) == 0)
            continue;
        snprintf(option, sizeof option, "--%s", key);
        const enum config_fork effect = config_fields[i].fork;
        if (effect == FORK_REFUSES)
            return error_set(error, ERROR_USAGE, option,
                             N_("leave it as it was, or train a run without ancestor"),
                             "the weights of the ancestor belong to \"%.200s\", not to \"%.200s\"",
                             old, value);
        fork->weights_only |= effect == FORK_TAKES_WEIGHTS;
        fork->fresh_schedule |= effect == FORK_RESCHEDULES;
    }
    return true;
}

/* --- the file --- */

/* The best validation so far. */
struct best {
    double score;
    uint64_t iteration;
};

static bool take_validation(void *context, const struct journal_line *line, struct error *error)
{
    struct best *best = context;
    const struct series_validation *validation = line->validation;
    (void)error;
    if (!validation)
        return true;
    const double score =
        isfinite(validation->top1) ? (double)validation->top1 : -(double)validation->loss;
    if (!isnan(score) && (best->iteration == 0 || score > best->score))
        *best = (struct best){score, validation->iteration};
    return true;
}

/* Returns the iteration of a saved model; 0 if it is unknown. */
static uint64_t iteration_of_model(const struct fork_request *request)
{
    struct run_snapshot end = {0};
    struct best best = {0};
    if (request->source == FORK_FINAL)
        return run_files_read_summary(request->directory, &end) ? end.iteration : 0;
    journal_read(request->directory, NULL, take_validation, &best, NULL, NULL);
    return best.iteration;
}

static bool read_position(const struct fork_request *request, struct run_fork *fork,
                          struct error *error)
{
    struct safetensors file;
    struct journal_mark journal;
    if (!is_checkpoint(request->source)) {
        fork->iteration = iteration_of_model(request);
        return true;
    }
    if (!checkpoint_open(request->directory, request->source == FORK_PREVIOUS, &file, error))
        return false;
    if (!file.file)
        return refuse_without(request->directory, fork_source_names[request->source], error);
    const bool good = checkpoint_place(&file, &fork->iteration, &journal, error) &&
                      run_integrity_check_journal(request->directory, &file, error);
    safetensors_close(&file);
    return good;
}

/* Refuses a length that ends before the checkpoint. */
static bool check_length(const struct fork_request *request, const struct run_config *config,
                         const struct run_fork *fork, struct error *error)
{
    struct safetensors file;
    if (fork->weights_only)
        return true;
    if (!checkpoint_open(request->directory, request->source == FORK_PREVIOUS, &file, error))
        return false;
    struct error place;
    const bool fits = !file.file || run_integrity_check_place(&file, config, &place);
    safetensors_close(&file);
    return fits ||
           error_set(error, ERROR_USAGE,
                     training_settings(config).has_iterations ? OPTION(iterations) : OPTION(epochs),
                     N_("give the total length, with the ancestor's part"),
                     "the checkpoint is at iteration %llu, after the end of this run",
                     (unsigned long long)fork->iteration);
}

bool fork_plan(const struct fork_request *request, const struct run_config *config,
               struct run_fork *fork, struct error *error)
{
    struct run_config before;
    *fork = (struct run_fork){.weights_only = !is_checkpoint(request->source)};
    snprintf(fork->ancestor, sizeof fork->ancestor, "%.*s", RUN_ID_SIZE - 1,
             file_base_name(request->directory));
    snprintf(fork->checkpoint, sizeof fork->checkpoint, "%s", fork_source_names[request->source]);
    return fork_read_config(request, &before, error) &&
           resume_check_network(&before, request->directory, error) &&
           compare(&before, config, fork, error) && read_position(request, fork, error) &&
           check_length(request, config, fork, error);
}

/* --- copying --- */

static bool copy_stream(FILE *from, FILE *to, uint64_t limit)
{
    char block[1 << 16];
    while (limit > 0) {
        const size_t wanted = limit < sizeof block ? (size_t)limit : sizeof block;
        const size_t got = fread(block, 1, wanted, from);
        if (got == 0)
            break;
        fwrite(block, 1, got, to); /* file_writer_commit reports errors */
        limit -= got;
    }
    return !ferror(from);
}

/* Copies at most `limit` bytes of a file. A missing one is an error only if it is `needed`. */
static bool copy_file(const char *from, const char *to, uint64_t limit, bool needed,
                      struct error *error)
{
    struct file_writer writer;
    if (!needed && !file_exists(from))
        return true;
    FILE *source = file_open_stream(from, error);
    if (!source)
        return false;
    bool copied = file_writer_open(&writer, to, true, error);
    if (copied && !copy_stream(source, writer.stream, limit)) {
        file_writer_abandon(&writer);
        copied = error_set_errno(error, from, "check the disk", "cannot be read");
    } else if (copied)
        copied = file_writer_commit(&writer, error);
    fclose(source);
    return copied;
}

static bool copy(const struct fork_request *request, const char *name, const char *directory,
                 const char *new_name, uint64_t limit, bool needed, struct error *error)
{
    char *from = file_join(request->directory, name), *to = file_join(directory, new_name);
    const bool copied = from && to ? copy_file(from, to, limit, needed, error)
                                   : error_set_memory(error, "a path", 0);
    free(from);
    free(to);
    return copied;
}

/* Copies the journal up to the copied checkpoint, which is checked against it: the ancestor may
 * have written another checkpoint meanwhile. */
static bool copy_journal(const struct fork_request *request, const char *directory,
                         struct run_fork *fork, struct error *error)
{
    struct safetensors file;
    struct journal_mark mark;
    if (!checkpoint_open(directory, false, &file, error))
        return false;
    const char *name = checkpoint_place(&file, &fork->iteration, &mark, NULL) && mark.is_text
                           ? JOURNAL_TEXT_FILE
                           : JOURNAL_FILE;
    const bool good = checkpoint_place(&file, &fork->iteration, &mark, error) &&
                      copy(request, name, directory, name, mark.length, true, error) &&
                      run_integrity_check_journal(directory, &file, error);
    safetensors_close(&file);
    return good;
}

static bool copy_all(const struct fork_request *request, const char *directory,
                     struct run_fork *fork, struct error *error)
{
    static const char *const beside[] = {"network.json", "data.json", "best.safetensors"};
    if (fork->weights_only)
        return copy(request, files[request->source], directory, "ancestor.safetensors", UINT64_MAX,
                    true, error);
    bool copied = copy(request, files[request->source], directory, files[FORK_LAST], UINT64_MAX,
                       true, error) &&
                  copy_journal(request, directory, fork, error);
    for (size_t i = 0; copied && i < sizeof beside / sizeof *beside; i++)
        copied = copy(request, beside[i], directory, beside[i], UINT64_MAX, false, error);
    return copied;
}

/* Removes the copies, so that a fork that could not begin takes no space. */
static void remove_copies(const char *directory)
{
    static const char *const copies[] = {"ancestor.safetensors", "checkpoint.safetensors",
                                         JOURNAL_FILE,           JOURNAL_TEXT_FILE,
                                         "network.json",         "data.json",
                                         "best.safetensors"};
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        char *path = file_join(directory, copies[i]);
        if (path)
            unlink(path);
        free(path);
    }
}

bool fork_copy(const struct fork_request *request, const char *directory, struct run_fork *fork,
               struct error *error)
{
    const bool copied = copy_all(request, directory, fork, error);
    if (!copied)
        remove_copies(directory);
    return copied;
}
