/* Records are collected as for a live file, and go on to the output whenever there are enough. */
#include "exchange/tensorboard/tensorboard.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/memory.h"
#include "models/saved/samples.h"
#include "runs/folder/run_rows.h"
#include "runs/values/series.h"
#include "training/tensorboard/event_file.h"
#include "training/tensorboard/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WAITING_MOST = 1 << 20 };

/* An event file that is being written. */
struct target {
    struct event_log log;
    FILE *stream;
    double created; /* seconds since 1970 */
};

/* Hands the records over to the stream. */
static void drain(struct target *target)
{
    struct text *records = &target->log.records;
    if (records->length > 0)
        fwrite(records->data, 1, records->length, target->stream);
    records->length = 0;
}

static struct event_time time_at(const struct target *target, uint64_t step, float seconds)
{
    return (struct event_time){target->created + (isfinite(seconds) ? (double)seconds : 0), step};
}

static bool put_point(void *context, const struct series_point *point, struct error *error)
{
    struct target *target = context;
    (void)error;
    run_records_add_point(&target->log, time_at(target, point->iteration, point->seconds), point);
    if (target->log.records.length >= WAITING_MOST)
        drain(target);
    return true;
}

static bool put_validation(void *context, const struct series_validation *validation,
                           struct error *error)
{
    struct target *target = context;
    (void)error;
    run_records_add_validation(
        &target->log, time_at(target, validation->iteration, validation->seconds), validation);
    return true;
}

/* Adds the pictures of generated samples, one an epoch. */
static void put_samples(struct target *target, const struct run_facts *facts,
                        const struct run_snapshot *end)
{
    char name[48];
    const double per_epoch = end->epoch > 0 ? (double)end->iteration / end->epoch : 0;
    const size_t epochs =
        sample_examples(facts) > 0 && end->epoch < 1e6 ? (size_t)ceil(end->epoch) : 0;
    for (size_t epoch = 1; epoch <= epochs; epoch++) {
        const double step = fmin(round((double)epoch * per_epoch), (double)end->iteration);
        const double seconds = end->elapsed_seconds * fmin((double)epoch / end->epoch, 1);
        snprintf(name, sizeof name, "sample-%04zu.png", epoch);
        char *path = file_join(facts->directory, name);
        if (path && file_exists(path))
            run_records_add_generated(&target->log, time_at(target, (uint64_t)step, (float)seconds),
                                      path);
        free(path);
        drain(target);
    }
}

static bool is_statistic(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcmp(dot, ".running_mean") == 0 || strcmp(dot, ".running_var") == 0);
}

/* Adds the histogram of an array of a saved model. */
static bool put_array(struct target *target, struct safetensors *file,
                      const struct safetensors_entry *entry, const char *prefix,
                      struct event_time time, struct error *error)
{
    char tag[160];
    const size_t count = (size_t)safetensors_count(entry);
    float *values = memory_new_aligned(count > 0 ? count : 1, sizeof *values, entry->name, error);
    const bool read = values && safetensors_read_floats(file, entry, 0, count, values, error);
    snprintf(tag, sizeof tag, "%s/%s", prefix, entry->name);
    if (read)
        event_log_add_histogram(&target->log, time, tag, values, count);
    free(values);
    return read;
}

/* Adds the histograms of the weights at the end, if the run's folder still has them. */
static bool put_weights(struct target *target, const struct run_facts *facts, const char *name,
                        const char *prefix, struct event_time time, struct error *error)
{
    struct safetensors file;
    char *path = file_join(facts->directory, name);
    if (!path)
        return error_set_memory(error, "a path", 0);
    bool put = true;
    if (file_exists(path) && (put = safetensors_open(&file, path, error))) {
        for (size_t i = 0; put && i < file.count; i++)
            if (safetensors_has_numbers(&file, &file.entries[i]) &&
                !is_statistic(file.entries[i].name))
                put = put_array(target, &file, &file.entries[i], prefix, time, error);
        safetensors_close(&file);
    }
    free(path);
    return put;
}

static bool put_run(struct target *target, const struct run *run, struct error *error)
{
    const struct run_facts *facts = run_facts(run);
    const struct run_rows rows = {target, put_point, put_validation};
    struct run_snapshot end;
    struct series_validation test;
    run_snapshot(run, &end);
    const struct event_time begin = {target->created, 0};
    const struct event_time last = time_at(target, end.iteration, (float)end.elapsed_seconds);
    event_log_begin(&target->log, begin);
    run_records_add_settings(&target->log, begin, run_config(run), facts);
    if (!run_rows_read(facts->directory, &rows, error))
        return false;
    if (series_test_row(&end, &test))
        run_records_add_test(&target->log, last, &test);
    put_samples(target, facts, &end);
    if (!put_weights(target, facts, "weights.safetensors", "weights", last, error) ||
        !put_weights(target, facts, "discriminator.safetensors", "discriminator", last, error))
        return false;
    if (run_status_is_over(end.status))
        event_log_add_end(&target->log, last, end.status == RUN_DONE);
    drain(target);
    return target->log.lost == 0 || error_set_memory(error, "the event file", 0);
}

/* --- files --- */

/* Returns the seconds since 1970 of a time such as "2026-01-31T12:00:00Z"; 0 if it is none. */
static double seconds_of(const char *created)
{
    struct tm utc = {0};
    const char *end = strptime(created, "%Y-%m-%dT%H:%M:%SZ", &utc);
    const time_t seconds = end && !*end ? timegm(&utc) : 0;
    return seconds > 0 ? (double)seconds : 0;
}

static bool write_to(const char *path, const struct run *run, struct error *error)
{
    struct output_file output;
    struct target target = {.created = seconds_of(run_facts(run)->created)};
    if (!output_file_open(&output, path, OUTPUT_BINARY, error))
        return false;
    target.stream = output.stream;
    const bool put = put_run(&target, run, error);
    event_log_free(&target.log);
    if (put)
        return output_file_commit(&output, error);
    output_file_abandon(&output);
    return false;
}

static bool write_in(const char *folder, const struct run *run, struct error *error)
{
    const struct run_facts *facts = run_facts(run);
    char name[64];
    snprintf(name, sizeof name, "events.out.tfevents.%010.0f.exported", seconds_of(facts->created));
    char *own = file_join(folder, facts->id);
    char *path = own ? file_join(own, name) : NULL;
    bool written = path || error_set_memory(error, "a path", 0);
    if (written && !file_exists(path) && event_file_exists_in(own))
        written = error_set(error, ERROR_INPUT, own, "name another folder",
                            "it has event files already, and TensorBoard would show both");
    written = written && file_make_directories(own, error) && write_to(path, run, error);
    free(path);
    free(own);
    return written;
}

bool tensorboard_export(struct run *const *runs, size_t count, const char *folder,
                        struct error *error)
{
    const bool stream = output_file_is_stream(folder);
    bool written = true;
    if (stream && count != 1)
        return error_set(error, ERROR_USAGE, folder, "name a folder, or one run",
                         "an event file has the events of one run");
    for (size_t i = 0; written && i < count; i++)
        written = stream ? write_to(folder, runs[i], error) : write_in(folder, runs[i], error);
    return written;
}
