/* Writes TensorBoard's event file of the run (run_events.h), with the setting tensorboard. The run
 * continues if the file cannot be written, except if a new run cannot begin it. */
#include "training/observer.h"

#include "base/clock.h"
#include "runs/values/series.h"
#include "training/tensorboard/run_events.h"

#include <stdio.h>

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
    struct run *run = trainer->run;
    if (run_events_open(events, &run->config, run_facts(run), trainer->moment.iteration, &failed)) {
        if (events->file.path)
            note_file(events, trainer);
        return true;
    }
    if (!run->start.resumes) {
        *trainer->error = failed;
        return false;
    }
    report(trainer, trainer->moment.iteration, &failed);
    return true;
}

/* Copies the file's error to the snapshot. */
static void share_trouble(const struct run_events *events, struct trainer *trainer)
{
    struct error *tolerated = &trainer->refusals.tolerated;
    if (events->file.trouble.kind != ERROR_NONE || tolerated->kind != ERROR_NONE)
        *tolerated = events->file.trouble;
}

/* Adds a finding, once, if the file ended before the run. `last`: nothing more will be written, so
 * missing records are lost. */
static void check(struct run_events *events, struct trainer *trainer, bool last)
{
    struct error failed;
    share_trouble(events, trainer);
    if (!run_events_check(events, last, &failed))
        report(trainer, events->written, &failed);
}

/* Adds pictures of the first batch. */
static void before_step(void *state, struct trainer *trainer)
{
    struct run_events *events = state;
    const uint64_t began = clock_nanoseconds();
    if (trainer->moment.iteration > 0 || !events->file.path)
        return;
    run_events_add_batch(events, &trainer->prepared, &trainer->batch);
    trainer->clock.iteration += clock_nanoseconds() - began;
}

static void after_iteration(void *state, struct trainer *trainer, struct iteration *iteration)
{
    run_events_add_point(state, &iteration->point, iteration->now);
    check(state, trainer, false);
}

static void before_validation(void *state, struct trainer *trainer)
{
    run_events_flush(state);
    share_trouble(state, trainer);
}

static void after_validation(void *state, struct trainer *trainer,
                             const struct evaluation *evaluation,
                             const struct series_validation *row)
{
    (void)evaluation;
    run_events_add_validation(state, row);
    share_trouble(state, trainer);
}

static void add_weights(struct run_events *events, struct trainer *trainer, bool last)
{
    if (!events->file.path)
        return;
    execution_wait(trainer_execution(trainer));
    run_events_add_weights(events, &trainer->prepared,
                           trainer_seconds(trainer, clock_nanoseconds()), last);
    run_events_flush(events);
    share_trouble(events, trainer);
    trainer_restart_clock(trainer);
}

static void after_epoch(void *state, struct trainer *trainer)
{
    add_weights(state, trainer, false);
}

static void after_picture(void *state, struct trainer *trainer, const char *path)
{
    (void)trainer;
    run_events_add_generated(state, path);
}

/* Syncs the file, so that the records before a checkpoint are not missing after a power cut. */
static bool sync_events(void *state, struct trainer *trainer, struct error *error)
{
    (void)error;
    run_events_sync(state);
    share_trouble(state, trainer);
    return true;
}

/* Completes the file, which a resumed run continues. */
static void end(void *state, struct trainer *trainer, enum run_status status, bool writes)
{
    struct series_validation row;
    struct run_events *events = state;
    if (!events->file.path || !writes)
        return;
    if (series_test_row(&trainer->now, &row))
        run_events_add_test(events, &row);
    if (status != RUN_FAILED && trainer->moment.iteration > 0)
        add_weights(events, trainer, true);
    if (status != RUN_STOPPED)
        run_events_add_end(events, status == RUN_DONE);
    run_events_sync(events); /* before the summary says that the run is over */
    check(events, trainer, true);
}

static void close_events(void *state, struct trainer *trainer)
{
    (void)trainer;
    run_events_close(state);
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
