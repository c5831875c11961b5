/* Adds records to the live event file of a run, and limits their cost. */
#include "training/tensorboard/run_events.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "runs/settings/settings.h"
#include "training/tensorboard/internal.h"

#include <stdlib.h>

static const double histogram_share =
    0.05; /* histograms take at most this share of the run's time */

static struct event_time time_of(uint64_t step)
{
    return (struct event_time){clock_unix_seconds(), step};
}

bool run_events_open(struct run_events *events, const struct run_config *config,
                     const struct run_facts *facts, uint64_t done, struct error *error)
{
    const struct record_settings record = record_settings(config);
    *events = (struct run_events){
        .file.descriptor = -1, .step = done, .written = done, .histogram = UINT64_MAX};
    if (!record.tensorboard[0])
        return true;
    char *folder = file_join(record.tensorboard, facts->id);
    const struct event_time start = time_of(done > 0 ? done + 1 : 0);
    const bool opened = folder ? event_file_open(&events->file, folder, facts->host, start, error)
                               : error_set_memory(error, "a path", 0);
    free(folder);
    if (!opened)
        return false;
    run_records_add_settings(&events->file.log, start, config, facts);
    event_file_flush(&events->file);
    return true;
}

/* Returns whether records can be added. */
static bool is_open(const struct run_events *events)
{
    return events->file.path && !events->file.stopped;
}

/* Records the last step in the file, if nothing waits. */
static void note_written(struct run_events *events)
{
    if (!events->file.stopped && !event_file_waits(&events->file))
        events->written = events->step;
}

void run_events_add_point(struct run_events *events, const struct series_point *point, uint64_t now)
{
    if (!is_open(events))
        return;
    run_records_add_point(&events->file.log, time_of(point->iteration), point);
    events->step = point->iteration;
    event_file_step(&events->file, now);
    note_written(events);
}

void run_events_add_validation(struct run_events *events,
                               const struct series_validation *validation)
{
    if (!is_open(events))
        return;
    run_records_add_validation(&events->file.log, time_of(validation->iteration), validation);
    run_events_flush(events);
}

void run_events_add_test(struct run_events *events, const struct series_validation *row)
{
    if (!is_open(events))
        return;
    run_records_add_test(&events->file.log, time_of(row->iteration), row);
    run_events_flush(events);
}

void run_events_add_batch(struct run_events *events, const struct preparation *prepared,
                          const struct execution_batch *batch)
{
    if (is_open(events) && events->step == 0)
        run_records_add_batch(&events->file.log, time_of(0), prepared, batch);
}

void run_events_add_generated(struct run_events *events, const char *path)
{
    if (is_open(events))
        run_records_add_generated(&events->file.log, time_of(events->step), path);
}

void run_events_add_weights(struct run_events *events, const struct preparation *prepared,
                            double run_seconds, bool last)
{
    const uint64_t began = clock_nanoseconds();
    const struct event_time time = time_of(events->step);
    struct error unread;
    const bool affordable = events->seconds + events->cost <= histogram_share * run_seconds;
    if (!is_open(events) || events->histogram == events->step || (!last && !affordable))
        return;
    struct method_network networks[METHOD_NETWORKS];
    const size_t count = method_networks(&prepared->method, networks);
    for (size_t i = 0; i < count; i++)
        if (weights_fetch(networks[i].weights, &unread))
            run_records_add_weights(&events->file.log, time, i == 0 ? "weights" : networks[i].name,
                                    networks[i].weights);
    events->histogram = events->step;
    events->cost = clock_seconds(began, clock_nanoseconds());
    events->seconds += events->cost;
}

void run_events_flush(struct run_events *events)
{
    if (!is_open(events))
        return;
    event_file_flush(&events->file);
    note_written(events);
}

void run_events_sync(struct run_events *events)
{
    if (!is_open(events))
        return;
    event_file_sync(&events->file);
    note_written(events);
}

bool run_events_check(struct run_events *events, bool last, struct error *error)
{
    const struct event_file *file = &events->file;
    if (!file->path || events->reported)
        return true;
    if (!file->stopped && !(last && (file->trouble.kind != ERROR_NONE || file->log.lost > 0)))
        return true;
    events->reported = true;
    error_set(error, ERROR_SYSTEM, file->path,
              "the run is not affected; tinca export --format tfevents writes all of it",
              _("the event file ends with iteration %llu: %s"), (unsigned long long)events->written,
              file->trouble.kind != ERROR_NONE ? file->trouble.why : _("there was no memory"));
    return false;
}

void run_events_add_end(struct run_events *events, bool success)
{
    if (is_open(events))
        event_log_add_end(&events->file.log, time_of(events->step), success);
    run_events_flush(events);
}

void run_events_close(struct run_events *events)
{
    event_file_close(&events->file);
}
