/* The state of the screen Study. A background job makes the pictures of one chosen run at a time.
 * When a setting changes, the job is cancelled, and its result is discarded even if it ends
 * regularly. */
#include "ui/screens/study/internal.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double MIN_SECONDS = 0.05, MAX_SECONDS = 60;
enum { MIN_PICTURES = 4 };

void study_model_begin(struct study_model *model)
{
    const char *name = getenv("LOGNAME") ? getenv("LOGNAME") : getenv("USER");
    if (model->begun)
        return;
    model->begun = true;
    snprintf(model->values[STUDY_PARTICIPANT], STUDY_NAME_SIZE, "%s", name ? name : "");
    snprintf(model->values[STUDY_SECONDS], sizeof model->values[0], "1");
    snprintf(model->values[STUDY_RESULTS], sizeof model->values[0], STUDY_FILE);
}

void study_model_free(struct study_model *model)
{
    if (model->background_job)
        background_job_cancel(model->background_job);
    study_model_free_pictures(model);
    study_file_free(&model->file);
    free(model->runs);
    completion_close(&model->completion);
    *model = (struct study_model){0};
}

void study_model_read_results(struct study_model *model)
{
    study_file_free(&model->file);
    model->file_error.kind = ERROR_NONE;
    if (!study_file_read(&model->file, model->values[STUDY_RESULTS], false, &model->file_error))
        model->file = (struct study_file){0};
}

bool study_model_add_run(struct study_model *model, const char *directory, const char *network,
                         struct error *error)
{
    for (size_t i = 0; i < model->run_count; i++)
        if (strcmp(model->runs[i].directory, directory) == 0)
            return true;
    if (!memory_grow(&model->runs, &model->run_capacity, model->run_count + 1, sizeof *model->runs,
                     "the list of runs", error))
        return false;
    struct study_run *run = &model->runs[model->run_count++];
    *run = (struct study_run){0};
    snprintf(run->directory, sizeof run->directory, "%s", directory);
    snprintf(run->name, sizeof run->name, "%.95s", file_base_name(directory));
    snprintf(run->network, sizeof run->network, "%.95s", network);
    return true;
}

/* --- fields --- */

static bool check_pictures(const char *text, struct error *error)
{
    size_t count;
    if (!text[0] || (text_to_size(text, &count) && count >= MIN_PICTURES &&
                     count <= STUDY_MAX_IMAGES && count % 2 == 0))
        return true;
    return error_set(error, ERROR_USAGE, _("Pictures"),
                     _("half of them are real, half generated; empty: 50, or what there is"),
                     _("expected an even number from %d to %d"), MIN_PICTURES, STUDY_MAX_IMAGES);
}

static bool check_seconds(const char *text, struct error *error)
{
    double seconds;
    if (text_to_double(text, &seconds) && seconds >= MIN_SECONDS && seconds <= MAX_SECONDS)
        return true;
    return error_set(error, ERROR_USAGE, _("Seconds"), _("give how long each picture is shown"),
                     _("expected a number of %g to %g"), MIN_SECONDS, MAX_SECONDS);
}

static bool check_results(const char *text, struct error *error)
{
    if (text[0] && !file_is_directory(text))
        return true;
    return error_set(error, ERROR_USAGE, _("Results"), _("give a file name"),
                     text[0] ? _("this is a folder") : _("the votes need a file"));
}

bool study_model_set(struct study_model *model, const char *text, struct error *error)
{
    bool good = model->focus == STUDY_PARTICIPANT ? study_check_name(text, _("Participant"), error)
                : model->focus == STUDY_PICTURES  ? check_pictures(text, error)
                : model->focus == STUDY_SECONDS   ? check_seconds(text, error)
                                                  : check_results(text, error);
    if (!good)
        return false;
    snprintf(model->values[model->focus], sizeof model->values[0], "%s", text);
    if (model->focus == STUDY_RESULTS)
        study_model_read_results(model);
    if (model->focus != STUDY_RESULTS && model->focus != STUDY_PARTICIPANT)
        study_model_invalidate_pictures(model);
    return true;
}

void study_model_invalidate_pictures(struct study_model *model)
{
    if (model->state == STUDY_READY)
        study_model_free_pictures(model);
    else if (model->background_job) { /* study_model_poll_pictures notices its end */
        model->outdated = true;
        background_job_cancel(model->background_job);
    }
}

/* --- pictures --- */

size_t study_model_chosen(const struct study_model *model, size_t from)
{
    while (from < model->run_count && !model->runs[from].chosen)
        from++;
    return from;
}

bool study_model_start_pictures(struct study_model *model, size_t run, size_t threads,
                                struct error *error)
{
    struct study_job *job = &model->job;
    study_model_free_pictures(model);
    *job = (struct study_job){.threads = threads, .study.seed = 1};
    snprintf(job->directory, sizeof job->directory, "%s", model->runs[run].directory);
    text_to_size(model->values[STUDY_PICTURES], &job->wanted);
    text_to_double(model->values[STUDY_SECONDS], &job->study.seconds);
    model->current = run;
    model->done = model->of = 0;
    model->background_job = study_pictures_start(job, error);
    model->state = model->background_job ? STUDY_MAKING : STUDY_IDLE;
    return model->background_job;
}

bool study_model_poll_pictures(struct study_model *model, bool *made, struct error *error)
{
    uint64_t done, of;
    if (!model->background_job)
        return false;
    bool over = background_job_poll(model->background_job, &done, &of);
    model->done = (size_t)done;
    model->of = (size_t)of;
    if (!over)
        return false;
    *made = background_job_finish(model->background_job, error);
    model->background_job = NULL;
    if (*made && model->outdated) /* it was cancelled after its last step */
        *made =
            error_set(error, ERROR_INTERRUPTED, "the study", NULL, "something else is asked for");
    model->state = STUDY_READY;
    if (!*made)
        study_model_free_pictures(model);
    return true;
}

void study_model_free_pictures(struct study_model *model)
{
    if (model->background_job)
        background_job_finish(model->background_job, NULL);
    model->background_job = NULL;
    study_pictures_free(&model->job.pictures);
    study_free(&model->job.study);
    model->state = STUDY_IDLE;
    model->outdated = false;
}
