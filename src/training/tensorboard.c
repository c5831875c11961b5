/* Writes TensorBoard's event file of the run, with the setting tensorboard, and limits its cost.
 * The run continues if the file cannot be written, except if a new run cannot begin it.
 *
 * The file is in TENSORBOARD/ID/, so that TensorBoard shows each run under its ID. A run that is
 * resumed writes another file there, which begins where the checkpoint ended. Records are collected
 * in memory and written once a second, in the worker thread, like the journal. */
#include "training/observer.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "runs/settings/settings.h"
#include "runs/values/series.h"
#include "training/tensorboard/event_file.h"
#include "training/tensorboard/internal.h"

#include <stdio.h>
#include <stdlib.h>

/* Histograms take at most this share of the run's time. */
static const double histogram_share = 0.05;

struct run_events {
    struct event_file file;
    uint64_t step;      /* of the last iteration that was added */
    uint64_t written;   /* last step in the file, with all before it */
    double seconds;     /* spent on histograms */
    double cost;        /* seconds that the last histograms took */
    uint64_t histogram; /* their step */
    bool reported;      /* the run knows that the file ended before it */
};

static struct event_time time_of(uint64_t step)
{
    return (struct event_time){clock_unix_seconds(), step};
}

/* Returns whether records can be added. */
static bool is_open(const struct run_events *events)
{
    return events->file.path && !events->file.stopped;
}

/* --- reports to the run --- */

/* Adds a finding that says why the file ends. */
static void report(struct trainer *trainer, uint64_t iteration, const struct error *failed)
{
    char text[1100];
    struct finding finding = {
        .kind = FINDING_TENSORBOARD, .iteration = iteration, .epoch = trainer->moment.epoch};
    snprintf(finding.text, sizeof finding.text, "%.319s", error_format(failed, text, sizeof text));
    trainer_add_finding(trainer, &finding);
    trainer_record_lost(trainer, failed);
}

/* Copies the file's error to the snapshot, and records the last step in the file if nothing waits.
 */
static void share_trouble(struct run_events *events, struct trainer *trainer)
{
    struct error *tolerated = &trainer->refusals.tolerated;
    if (events->file.trouble.kind != ERROR_NONE || tolerated->kind != ERROR_NONE)
        *tolerated = events->file.trouble;
    if (is_open(events) && !event_file_waits(&events->file))
        events->written = events->step;
}

/* Adds a finding, once, if the file ended before the run. `last`: nothing more will be written, so
 * missing records are lost. */
static void check(struct run_events *events, struct trainer *trainer, bool last)
{
    struct error failed;
    const struct event_file *file = &events->file;
    share_trouble(events, trainer);
    if (!file->path || events->reported ||
        (!file->stopped && !(last && (file->trouble.kind != ERROR_NONE || file->log.lost > 0))))
        return;
    events->reported = true;
    error_set(&failed, ERROR_SYSTEM, file->path,
              "the run is not affected; tinca export --format tfevents writes all of it",
              _("the event file ends with iteration %llu: %s"), (unsigned long long)events->written,
              file->trouble.kind != ERROR_NONE ? file->trouble.why : _("there was no memory"));
    report(trainer, events->written, &failed);
}

static void flush(struct run_events *events, struct trainer *trainer)
{
    if (is_open(events))
        event_file_flush(&events->file);
    share_trouble(events, trainer);
}

/* --- beginning --- */

/* Begins the file of a run whose next iteration follows `done` iterations, and adds the settings.
 * Returns false with an error. */
static bool begin_file(struct run_events *events, const struct run *run, uint64_t done,
                       struct error *error)
{
    const struct run_facts *facts = run_facts(run);
    const struct record_settings record = record_settings(&run->config);
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
    run_records_add_settings(&events->file.log, start, &run->config, facts);
    event_file_flush(&events->file);
    return true;
}

/* Records the event file in the journal. */
static void note_file(const struct run_events *events, struct trainer *trainer)
{
    struct json *event = json_new_object();
    if (json_add_string(event, "event", "tensorboard") &&
        json_add_count(event, "iteration", trainer->moment.iteration) &&
        json_add_string(event, "file", events->file.path))
        journal_add_event(&trainer->run->journal, "tensorboard", event);
    else
        json_free(event);
}

static bool open_events(void *state, struct trainer *trainer)
{
    struct error failed;
    struct run_events *events = state;
    if (begin_file(events, trainer->run, trainer->moment.iteration, &failed)) {
        if (events->file.path)
            note_file(events, trainer);
        return true;
    }
    if (!trainer->run->start.resumes) {
        *trainer->error = failed;
        return false;
    }
    report(trainer, trainer->moment.iteration, &failed);
    return true;
}

/* --- iterations --- */

/* Adds pictures of the first batch. */
static void before_step(void *state, struct trainer *trainer)
{
    struct run_events *events = state;
    const uint64_t began = clock_nanoseconds();
    if (trainer->moment.iteration > 0 || !events->file.path)
        return;
    if (is_open(events) && events->step == 0)
        run_records_add_batch(&events->file.log, time_of(0), &trainer->prepared, &trainer->batch);
    trainer->clock.iteration += clock_nanoseconds() - began;
}

static void after_iteration(void *state, struct trainer *trainer, struct iteration *iteration)
{
    struct run_events *events = state;
    const struct series_point *point = &iteration->point;
    if (is_open(events)) {
        run_records_add_point(&events->file.log, time_of(point->iteration), point);
        events->step = point->iteration;
        event_file_step(&events->file, iteration->now);
    }
    check(events, trainer, false);
}

static void before_validation(void *state, struct trainer *trainer)
{
    flush(state, trainer);
}

static void after_validation(void *state, struct trainer *trainer,
                             const struct evaluation *evaluation,
                             const struct series_validation *row)
{
    struct run_events *events = state;
    (void)evaluation;
    if (is_open(events))
        run_records_add_validation(&events->file.log, time_of(row->iteration), row);
    flush(events, trainer);
}

/* Adds histograms of the weights, unless this step has them already. All of them together take at
 * most a twentieth of the run's time: others are left out, except those of the `last` step. */
static void add_histograms(struct run_events *events, struct trainer *trainer, bool last)
{
    const uint64_t began = clock_nanoseconds();
    const struct event_time time = time_of(events->step);
    struct error unread;
    const bool affordable =
        events->seconds + events->cost <= histogram_share * trainer_seconds(trainer, began);
    if (!is_open(events) || events->histogram == events->step || (!last && !affordable))
        return;
    struct method_network networks[METHOD_NETWORKS];
    const size_t count = method_networks(&trainer->prepared.method, networks);
    for (size_t i = 0; i < count; i++)
        if (weights_fetch(networks[i].weights, &unread))
            run_records_add_weights(&events->file.log, time, i == 0 ? "weights" : networks[i].name,
                                    networks[i].weights);
    events->histogram = events->step;
    events->cost = clock_seconds(began, clock_nanoseconds());
    events->seconds += events->cost;
}

static void add_weights(struct run_events *events, struct trainer *trainer, bool last)
{
    if (!events->file.path)
        return;
    execution_wait(trainer_execution(trainer));
    add_histograms(events, trainer, last);
    flush(events, trainer);
    trainer_restart_clock(trainer);
}

static void after_epoch(void *state, struct trainer *trainer)
{
    add_weights(state, trainer, false);
}

static void after_picture(void *state, struct trainer *trainer, const char *path)
{
    struct run_events *events = state;
    (void)trainer;
    if (is_open(events))
        run_records_add_generated(&events->file.log, time_of(events->step), path);
}

/* Syncs the file, so that the records before a checkpoint are not missing after a power cut.
 * Records that cannot be written are written with the next call. */
static bool sync_events(void *state, struct trainer *trainer, struct error *error)
{
    struct run_events *events = state;
    (void)error;
    if (is_open(events))
        event_file_sync(&events->file);
    share_trouble(events, trainer);
    return true;
}

/* --- the end --- */

/* Completes the file, which a resumed run continues. */
static void end(void *state, struct trainer *trainer, enum run_status status, bool writes)
{
    struct series_validation row;
    struct run_events *events = state;
    if (!events->file.path || !writes)
        return;
    if (series_test_row(&trainer->now, &row) && is_open(events))
        run_records_add_test(&events->file.log, time_of(row.iteration), &row);
    if (status != RUN_FAILED && trainer->moment.iteration > 0)
        add_weights(events, trainer, true);
    if (status != RUN_STOPPED && is_open(events))
        event_log_add_end(&events->file.log, time_of(events->step), status == RUN_DONE);
    sync_events(events, trainer, NULL); /* before the summary says that the run is over */
    check(events, trainer, true);
}

static void close_events(void *state, struct trainer *trainer)
{
    struct run_events *events = state;
    (void)trainer;
    event_file_close(&events->file);
}

const struct observer observer_tensorboard = {.name = "TensorBoard",
                                              .state_bytes = sizeof(struct run_events),
                                              .open = open_events,
                                              .before_step = before_step,
                                              .after_iteration = after_iteration,
                                              .before_validation = before_validation,
                                              .after_validation = after_validation,
                                              .after_epoch = after_epoch,
                                              .after_picture = after_picture,
                                              .sync = sync_events,
                                              .end = end,
                                              .close = close_events};
