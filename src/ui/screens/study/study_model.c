#include "ui/screens/study/study_model.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double MIN_SECONDS = 0.05, MAX_SECONDS = 60;
enum { MIN_PICTURES = 4 };

void study_model_begin(struct study_model *view)
{
    const char *name = getenv("LOGNAME") ? getenv("LOGNAME") : getenv("USER");
    if (view->begun)
        return;
    view->begun = true;
    snprintf(view->values[STUDY_PARTICIPANT], STUDY_NAME_SIZE, "%s", name ? name : "");
    snprintf(view->values[STUDY_SECONDS], sizeof view->values[0], "1");
    snprintf(view->values[STUDY_RESULTS], sizeof view->values[0], "tinca-study.json");
}

void study_model_free(struct study_model *view)
{
    if (view->background_job)
        background_job_cancel(view->background_job);
    study_model_free_pictures(view);
    study_file_free(&view->file);
    free(view->runs);
    *view = (struct study_model){0};
}

void study_model_read_results(struct study_model *view)
{
    study_file_free(&view->file);
    view->file_error.kind = ERROR_NONE;
    if (!study_file_read(&view->file, view->values[STUDY_RESULTS], false, &view->file_error))
        view->file = (struct study_file){0};
}

bool study_model_add_run(struct study_model *view, const char *directory, const char *network,
                         struct error *error)
{
    for (size_t i = 0; i < view->run_count; i++)
        if (strcmp(view->runs[i].directory, directory) == 0)
            return true;
    if (!memory_grow(&view->runs, &view->run_capacity, view->run_count + 1, sizeof *view->runs,
                     "the list of runs", error))
        return false;
    struct study_run *run = &view->runs[view->run_count++];
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

bool study_model_set(struct study_model *view, const char *text, struct error *error)
{
    bool good = view->focus == STUDY_PARTICIPANT ? study_check_name(text, _("Participant"), error)
                : view->focus == STUDY_PICTURES  ? check_pictures(text, error)
                : view->focus == STUDY_SECONDS   ? check_seconds(text, error)
                                                 : check_results(text, error);
    if (!good)
        return false;
    snprintf(view->values[view->focus], sizeof view->values[0], "%s", text);
    if (view->focus == STUDY_RESULTS)
        study_model_read_results(view);
    if (view->focus != STUDY_RESULTS && view->focus != STUDY_PARTICIPANT)
        study_model_invalidate_pictures(view);
    return true;
}

void study_model_invalidate_pictures(struct study_model *view)
{
    if (view->state == STUDY_READY)
        study_model_free_pictures(view);
    else if (view->background_job) { /* it ends soon */
        view->outdated = true;
        background_job_cancel(view->background_job);
    }
}

/* --- pictures --- */

size_t study_model_chosen(const struct study_model *view, size_t from)
{
    while (from < view->run_count && !view->runs[from].chosen)
        from++;
    return from;
}

bool study_model_start_pictures(struct study_model *view, size_t run, size_t threads,
                                struct error *error)
{
    struct study_job *job = &view->job;
    study_model_free_pictures(view);
    *job = (struct study_job){.threads = threads, .study.seed = 1};
    snprintf(job->directory, sizeof job->directory, "%s", view->runs[run].directory);
    text_to_size(view->values[STUDY_PICTURES], &job->wanted);
    text_to_double(view->values[STUDY_SECONDS], &job->study.seconds);
    view->current = run;
    view->done = view->of = 0;
    view->background_job = study_pictures_start(job, error);
    view->state = view->background_job ? STUDY_MAKING : STUDY_IDLE;
    return view->background_job;
}

bool study_model_poll_pictures(struct study_model *view, bool *made, struct error *error)
{
    uint64_t done, of;
    if (!view->background_job)
        return false;
    bool over = background_job_poll(view->background_job, &done, &of);
    view->done = (size_t)done;
    view->of = (size_t)of;
    if (!over)
        return false;
    *made = background_job_finish(view->background_job, error);
    view->background_job = NULL;
    if (*made && view->outdated) /* it was called off too late to notice */
        *made =
            error_set(error, ERROR_INTERRUPTED, "the study", NULL, "something else is asked for");
    view->state = STUDY_READY;
    if (!*made)
        study_model_free_pictures(view);
    return true;
}

void study_model_free_pictures(struct study_model *view)
{
    if (view->background_job)
        background_job_finish(view->background_job, NULL);
    view->background_job = NULL;
    study_pictures_free(&view->job.pictures);
    study_free(&view->job.study);
    view->state = STUDY_IDLE;
    view->outdated = false;
}
