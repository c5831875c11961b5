/* Checks one entry of a journal: its values, and its iteration against the entries before it. */
#include "training/check/internal.h"

#include "base/language.h"
#include "runs/folder/run_files.h"
#include "runs/values/run_ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DETAIL = 200 };

/* --- iterations --- */

/* Returns whether the epoch, a float32 value, belongs to the iteration. */
static bool is_epoch_of(const struct check_record *record, uint64_t iteration, float epoch)
{
    const double per_epoch = round((double)record->snapshot.iterations / record->snapshot.epochs);
    return !(per_epoch >= 1) || (float)((double)iteration / per_epoch) == epoch;
}

static const char *compare_point(const struct check_record *record,
                                 const struct series_point *point, bool imported, char *detail)
{
    const struct series_point *last = &record->last;
    const uint64_t expected = last->iteration + 1;
    if (imported ? point->iteration < expected : point->iteration != expected) {
        snprintf(detail, DETAIL, _("%llu, after %llu"), (unsigned long long)point->iteration,
                 (unsigned long long)last->iteration);
        return point->iteration > expected ? _("iterations are missing before it")
                                           : _("its iteration has occurred before");
    }
    if (imported)
        return NULL;
    const char *wrong = NULL;
    if (!is_epoch_of(record, point->iteration, point->epoch))
        wrong = _("its epoch does not belong to its iteration");
    else if (point->seconds < last->seconds || !(point->learning_rate >= 0) ||
             point->ms_per_image < 0)
        wrong = _("its time runs backwards, or its rate or time is negative");
    if (wrong)
        snprintf(detail, DETAIL, "%llu", (unsigned long long)point->iteration);
    return wrong;
}

static const char *take_point(struct check_record *record, const struct series_point *point,
                              bool imported, char *detail)
{
    const bool whole = isfinite(point->epoch) && isfinite(point->learning_rate) &&
                       isfinite(point->ms_per_image) && isfinite(point->seconds);
    if (!whole && !imported)
        return _("it is not a complete record of an iteration");
    const char *wrong = compare_point(record, point, imported, detail);
    if (wrong && point->iteration <= record->last.iteration)
        return wrong;
    record->has_null_loss |= !isfinite(point->loss);
    record->last = *point;
    record->points++;
    return wrong;
}

/* --- events --- */

static bool is_percent(float value)
{
    return isnan(value) || (value >= 0 && value <= 100);
}

static const char *take_validation(struct check_record *record,
                                   const struct series_validation *validation, bool imported,
                                   char *detail)
{
    if (!imported && (!isfinite(validation->epoch) || !isfinite(validation->seconds)))
        return _("it is not a complete record of a validation");
    snprintf(detail, DETAIL, "%llu", (unsigned long long)validation->iteration);
    if (!is_percent(validation->top1) || !is_percent(validation->top5) ||
        !is_percent(validation->pixel_accuracy))
        return _("its accuracy is not a percentage");
    if (!imported && validation->iteration != record->last.iteration)
        return _("it does not belong to the iteration before it");
    if (!imported && (!is_epoch_of(record, validation->iteration, validation->epoch) ||
                      validation->seconds < record->last.seconds))
        return _("its epoch or time does not belong to its iteration");
    record->validations++;
    if (isfinite(validation->loss) && !((double)validation->loss >= record->best_validation_loss))
        record->best_validation_loss = (double)validation->loss;
    record->last_validation = *validation;
    if (!isnan(validation->top1) && !((double)validation->top1 <= record->best_top1))
        record->best_top1 = (double)validation->top1;
    return NULL;
}

static const char *take_start(struct check_record *record, const struct json *json)
{
    if (record->started)
        return _("the run begins a second time");
    if (!run_files_read_start(json, &record->facts, &record->snapshot) ||
        !json_is_object(json_member(json, "memory")) || !json_member(json, "iterations") ||
        !json_member(json, "parameters") || !json_member(json, "epochs") ||
        !json_member(json, "classes") || !json_member(json, "images"))
        return _("it does not say what was prepared");
    record->started = true;
    return NULL;
}

static const char *take_finding(struct check_record *record, const struct json *json)
{
    struct finding finding;
    if (!journal_read_finding(json, &finding))
        return _("it is not a complete finding");
    record->has_divergence |= finding.kind == FINDING_DIVERGENCE;
    record->has_plateau |= finding.kind == FINDING_PLATEAU || finding.kind == FINDING_EARLY_STOP;
    return NULL;
}

/* Checks that a checkpoint or a resumption is at the present iteration. */
static const char *take_place(struct check_record *record, const char *event,
                              const struct json *json, char *detail)
{
    size_t iteration;
    const struct json *number = json_member(json, "iteration");
    if (!number || !json_count(number, &iteration) || iteration != record->last.iteration) {
        snprintf(detail, DETAIL, "%s", event);
        return _("it does not belong to the iteration before it");
    }
    record->checkpoints += strcmp(event, "checkpoint") == 0;
    return NULL;
}

static const char *check_ranks(const struct json *json)
{
    struct run_ranks ranks = {0};
    const bool good = run_ranks_read(json, &ranks);
    run_ranks_free(&ranks);
    return good ? NULL : _("it is not a complete list of ranks");
}

static const char *take_event(struct check_record *record, const char *event,
                              const struct json *json, char *detail)
{
    if (strcmp(event, "start") == 0)
        return take_start(record, json);
    if (strcmp(event, "validation") == 0)
        return _("it is not a complete record of a validation");
    if (strcmp(event, "finding") == 0)
        return take_finding(record, json);
    if (strcmp(event, "checkpoint") == 0 || strcmp(event, "resume") == 0)
        return take_place(record, event, json, detail);
    if (strcmp(event, "end") == 0) {
        record->ended = true;
        return NULL;
    }
    if (strcmp(event, "test") == 0)
        return run_files_read_test(json, &record->test)
                   ? NULL
                   : _("it is not a complete record of a test");
    if (strcmp(event, "ranks") == 0)
        return check_ranks(json);
    snprintf(detail, DETAIL, "\"%.64s\"", event);
    if (strcmp(event, "pause") == 0 || strcmp(event, "go-on") == 0 || strcmp(event, "save") == 0 ||
        strcmp(event, "loss-scale") == 0 || strcmp(event, "series") == 0 ||
        strcmp(event, "tensorboard") == 0)
        return NULL;
    return _("its event is not known to this version of tinca");
}

const char *check_journal_line(struct check_record *record, const struct journal_line *line,
                               bool imported, char *detail)
{
    const char *event = json_string(json_member(line->json, "event"));
    detail[0] = '\0';
    if (line->json && !event)
        return _("it is not a record");
    if (record->ended)
        return _("it comes after the run's end");
    if (!record->started && (!event || (strcmp(event, "start") != 0 && strcmp(event, "end") != 0)))
        return _("it comes before the run's start");
    record->goes_on_after_validation |= record->validations > 0;
    if (line->scalar)
        return NULL;
    return line->point        ? take_point(record, line->point, imported, detail)
           : line->validation ? take_validation(record, line->validation, imported, detail)
                              : take_event(record, event, line->json, detail);
}
