/* Finds numbers and names in lines, adds points and validations to a log, and logs to a list. Logs
 * repeat lines and go back after a resumed training, so a new point replaces what the log had from
 * there on. */
#include "exchange/logs/internal.h"

#include "base/json/json.h"
#include "base/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITERATION = 1000000000 };

/* --- parts of a line --- */

const char *import_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (end == text)
        return NULL;
    if (end[0] != '#')
        return end;
    *value = strncmp(end, "#INF", 4) == 0 ? copysign(INFINITY, *value) : NAN;
    return end + strcspn(end, " \t,)");
}

const char *import_find_number(const char *line, const char *key, double *value)
{
    const char *at = strcasestr(line, key);
    if (!at)
        return NULL;
    at += strlen(key);
    return import_number(at + strspn(at, " =:\t"), value);
}

bool import_find_count(const char *line, const char *key, uint64_t *value)
{
    double number;
    if (!import_find_number(line, key, &number) || !(number >= 0 && number <= MAX_ITERATION))
        return false;
    *value = (uint64_t)number;
    return true;
}

void import_find_quoted(const char *line, const char *key, char *text, size_t size)
{
    const char *at = strstr(line, key), *end;
    if (!at || !(at = strchr(at, '"')) || !(end = strchr(++at, '"')))
        return;
    size_t length = 0;
    for (; at < end && length + 1 < size; at++)
        if (isalnum((unsigned char)*at) || strchr("._-", *at))
            text[length++] = (char)tolower((unsigned char)*at);
    text[length] = '\0';
}

/* --- points --- */

struct series_point *import_last_point(struct imported_log *log)
{
    return log->count > 0 ? &log->points[log->count - 1] : NULL;
}

struct series_validation *import_last_validation(struct imported_log *log)
{
    return log->validation_count > 0 ? &log->validations[log->validation_count - 1] : NULL;
}

/* Removes the validations from `iteration` on, which the log repeats. */
static void drop_validations(struct imported_log *log, uint64_t iteration)
{
    while (log->validation_count > 0 && import_last_validation(log)->iteration >= iteration)
        log->validation_count--;
}

static void drop_from(const struct import_reader *reader, uint64_t iteration)
{
    struct imported_log *log = reader->log;
    const size_t before = log->count;
    while (log->count > 0 && import_last_point(log)->iteration >= iteration)
        log->count--;
    log->notes.replaced += reader->joined ? 0 : before - log->count;
    if (log->count < before)
        drop_validations(log, iteration);
}

/* Returns the milliseconds of one iteration, as printed or from the times of the lines. */
static double time_of(const struct import_reader *reader, const struct series_point *before,
                      uint64_t iteration)
{
    if (reader->rate > 0)
        return 1e3 / reader->rate;
    const double seconds = reader->now - reader->started;
    if (!before || !(seconds > (double)before->seconds))
        return NAN;
    return 1e3 * (seconds - (double)before->seconds) / (double)(iteration - before->iteration);
}

static bool same(float a, float b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Returns whether the line repeats the last point: a log written to screen and file has each line
 * twice. */
static bool is_repeated(const struct series_point *last, uint64_t iteration, float loss,
                        float caffe)
{
    return last && last->iteration == iteration && same(last->loss_caffe, caffe) &&
           (isnan(loss) || same(last->loss, loss));
}

/* Returns the seconds from the first line with a time; NaN if there is none, or the time lies
 * before it: a column "time" may hold durations. */
static float seconds_since_start(const struct import_reader *reader)
{
    const double seconds = reader->now - reader->started;
    return seconds >= 0 ? (float)seconds : NAN;
}

bool import_add_point(struct import_reader *reader, uint64_t iteration, float loss, float caffe)
{
    struct imported_log *log = reader->log;
    if (is_repeated(import_last_point(log), iteration, loss, caffe))
        return true;
    drop_from(reader, iteration);
    if (isnan(reader->started))
        reader->started = reader->now;
    if (!memory_grow(&log->points, &log->capacity, log->count + 1, sizeof *log->points,
                     "the log's iterations", reader->error))
        return false;
    const struct series_point *before = import_last_point(log);
    log->points[log->count++] =
        (struct series_point){.iteration = iteration,
                              .epoch = NAN,
                              .loss = loss,
                              .loss_caffe = caffe,
                              .loss_mean = NAN,
                              .loss_discriminator = NAN,
                              .loss_l1 = NAN,
                              .loss_labels = NAN,
                              .loss_teacher = NAN,
                              .learning_rate = (float)log->learning_rate,
                              .ms_per_image = (float)time_of(reader, before, iteration),
                              .seconds = seconds_since_start(reader)};
    reader->caffe.outputs = 0;
    reader->caffe.printed = false;
    return true;
}

void import_add_rate(struct imported_log *log, double rate)
{
    /* event files and some tables have the float next to the rate: 0.1f becomes 0.1 again */
    const bool single = isfinite(rate) && (double)(float)rate == rate;
    log->learning_rate = single ? json_float((float)rate) : rate;
    if (isfinite(rate) && !(log->highest_rate >= log->learning_rate))
        log->highest_rate = log->learning_rate;
}

bool import_add_validation(struct import_reader *reader, uint64_t iteration)
{
    struct imported_log *log = reader->log;
    drop_validations(log, iteration);
    if (!memory_grow(&log->validations, &log->validation_capacity, log->validation_count + 1,
                     sizeof *log->validations, "the log's tests", reader->error))
        return false;
    if (isnan(reader->started))
        reader->started = reader->now;
    log->validations[log->validation_count++] =
        (struct series_validation){.iteration = iteration,
                                   .epoch = NAN,
                                   .loss = NAN,
                                   .top1 = NAN,
                                   .top5 = NAN,
                                   .pixel_accuracy = NAN,
                                   .loss_error = NAN,
                                   .seconds = seconds_since_start(reader)};
    reader->caffe.outputs = 0;
    return true;
}

/* --- lists of logs --- */

const char *const import_frameworks[] = {"caffe", "tensorflow", "keras",       "lightning",
                                         "csv",   "jsonl",      "tensorboard", NULL};

struct imported_log *import_logs_add(struct imported_logs *logs, const char *framework,
                                     struct error *error)
{
    if (!memory_grow(&logs->logs, &logs->capacity, logs->count + 1, sizeof *logs->logs, "the logs",
                     error))
        return NULL;
    struct imported_log *log = &logs->logs[logs->count++];
    *log = (struct imported_log){
        .learning_rate = NAN, .momentum = NAN, .weight_decay = NAN, .highest_rate = NAN};
    snprintf(log->framework, sizeof log->framework, "%s", framework);
    return log;
}

void import_logs_free(struct imported_logs *logs)
{
    for (size_t i = 0; i < logs->count; i++) {
        free(logs->logs[i].points);
        free(logs->logs[i].validations);
        scalars_free(&logs->logs[i].scalars);
    }
    free(logs->logs);
    *logs = (struct imported_logs){0};
}
