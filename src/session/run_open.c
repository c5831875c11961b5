/* A run rebuilt from its directory: config.json, then the journal from its first line to its last,
 * then the summary. Without a summary the lock tells whether the run is still alive. */
#include "base/file.h"
#include "base/memory.h"
#include "session/run_directory.h"
#include "session/run_files.h"
#include "session/run_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct run *run;
    struct run_snapshot *snapshot;
    struct tempo *tempo;
    struct run_facts facts; /* the start event's */
    bool started;
};

/* --- lines --- */

/* A resumed run may have become longer than it was when it started. */
static void lengthen(struct run_snapshot *now, const struct run_config *config)
{
    const double per_epoch = now->epochs > 0 ? (double)now->iterations / now->epochs : 0;
    const double asked = config->has_iterations ? (double)config->iterations
                                                : round(per_epoch * (double)config->epochs);
    if (!(per_epoch > 0) || !(asked > (double)now->iterations) || asked > 1e15)
        return;
    now->iterations = (uint64_t)asked;
    now->epochs = asked / per_epoch;
}

static bool take_start(struct reading *reading, const struct json *line, struct error *error)
{
    struct run *run = reading->run;
    reading->facts = run->early_facts;
    run_files_read_start(line, &reading->facts, reading->snapshot);
    lengthen(reading->snapshot, &run->config);
    size_t tests;
    double epochs = ceil(reading->snapshot->epochs);
    const struct json *validations = json_member(line, "validations"); /* an imported run's */
    if (validations && json_count(validations, &tests))
        epochs = (double)tests;
    if (!(epochs >= 0 && epochs <= 1e7))
        epochs = 0;
    reading->started =
        series_create(&run->own_series, reading->snapshot->iterations, (size_t)epochs, error);
    return reading->started;
}

static void take_point(struct reading *reading, const struct series_point *point)
{
    struct run_snapshot *now = reading->snapshot;
    series_add(&reading->run->own_series, point);
    if (isfinite(point->ms_per_image))
        tempo_add(reading->tempo, (double)point->ms_per_image);
    now->iteration = point->iteration;
    now->epoch = (double)point->epoch;
    now->loss = point->loss;
    now->loss_caffe = point->loss_caffe;
    now->loss_mean = (double)point->loss_mean;
    now->loss_discriminator = point->loss_discriminator;
    now->loss_l1 = point->loss_l1;
    now->learning_rate = (double)point->learning_rate;
    now->elapsed_seconds = (double)point->seconds;
    now->memory_measured = point->memory_bytes;
}

static void take_validation(struct reading *reading, const struct series_validation *validation)
{
    struct run_snapshot *now = reading->snapshot;
    series_add_validation(&reading->run->own_series, validation);
    if (!now->has_validation || (double)validation->top1 > now->best_top1)
        now->best_top1 = (double)validation->top1;
    now->has_validation = true;
    now->validation_loss = (double)validation->loss;
    now->top1 = (double)validation->top1;
    now->top5 = (double)validation->top5;
    now->pixel_accuracy = (double)validation->pixel_accuracy;
}

static void read_number(const struct json *line, const char *key, double *value)
{
    const struct json *member = json_member(line, key);
    if (member)
        json_number(member, value);
}

static void take_event(struct run_snapshot *now, const char *event, const struct json *line)
{
    double iteration = 0, seconds = 0;
    read_number(line, "iteration", &iteration);
    read_number(line, "seconds", &seconds);
    if (strcmp(event, "resume") == 0)
        now->begun_at = (uint64_t)iteration;
    if (strcmp(event, "checkpoint") != 0)
        return;
    now->checkpoints++;
    now->checkpoint_iteration = (uint64_t)iteration;
    now->checkpoint_seconds += seconds;
}

static bool take_line(void *context, const struct json *line, struct error *error)
{
    struct reading *reading = context;
    struct series_point point;
    struct series_validation validation;
    struct finding finding;
    const char *event = json_string(json_member(line, "event"));
    if (!reading->started)
        return !event || strcmp(event, "start") != 0 || take_start(reading, line, error);
    if (journal_read_point(line, &point))
        take_point(reading, &point);
    else if (journal_read_validation(line, &validation))
        take_validation(reading, &validation);
    else if (journal_read_finding(line, &finding))
        reading->snapshot->finding_count += run_state_add_finding(reading->run, &finding);
    else if (event)
        take_event(reading->snapshot, event, line);
    return true;
}

/* --- the whole --- */

static bool read_journal(struct reading *reading, struct error *error)
{
    char *path = file_join(reading->run->directory, "journal.jsonl");
    if (!path)
        return error_set_memory(error, "a path", 0);
    bool read = !file_exists(path) || journal_read(path, take_line, reading, error);
    free(path);
    reading->snapshot->ms_per_image_now = tempo_now(reading->tempo);
    reading->snapshot->ms_per_image_median = tempo_median(reading->tempo);
    if (reading->snapshot->ms_per_image_now > 0)
        reading->snapshot->images_per_second = 1e3 / reading->snapshot->ms_per_image_now;
    return read;
}

bool run_state_read_journal(struct run *run, struct run_snapshot *snapshot, struct tempo *tempo,
                            struct error *error)
{
    struct reading *reading = memory_new(1, sizeof *reading, "a run", error);
    if (!reading)
        return false;
    *reading = (struct reading){.run = run, .snapshot = snapshot, .tempo = tempo};
    bool read = read_journal(reading, error);
    if (read && !reading->started)
        read = error_set(error, ERROR_INPUT, run->directory, "start it anew with tinca train",
                         "its journal does not say what was prepared");
    free(reading);
    return read;
}

/* config.json, and what follows from it. */
bool run_state_read_config(const char *directory, struct run_config *config,
                           struct run_facts *facts, struct error *error)
{
    snprintf(facts->directory, sizeof facts->directory, "%s", directory);
    snprintf(facts->id, sizeof facts->id, "%.39s", file_base_name(directory));
    if (!run_files_read_config(config, facts, directory, error))
        return false;
    snprintf(facts->network, sizeof facts->network, "%.63s", file_base_name(config->network));
    snprintf(facts->technique, sizeof facts->technique, "%s",
             technique_name((enum technique)config->technique));
    return true;
}

static void read_end(const char *directory, struct run_snapshot *snapshot)
{
    snapshot->status = run_directory_is_alive(directory) ? RUN_RUNNING : RUN_INTERRUPTED;
    run_files_read_summary(directory, snapshot);
}

static bool rebuild(struct run *run, struct error *error)
{
    struct opening {
        struct reading reading;
        struct run_snapshot snapshot;
        struct tempo tempo;
    } *opening = memory_new(1, sizeof *opening, "a run", error);
    if (!opening)
        return false;
    struct reading *reading = &opening->reading;
    *reading =
        (struct reading){.run = run, .snapshot = &opening->snapshot, .tempo = &opening->tempo};
    opening->snapshot.eta_seconds = -1;
    bool rebuilt = run_state_read_config(run->directory, &run->config, &run->early_facts, error) &&
                   read_journal(reading, error);
    if (reading->started)
        run_state_publish(run, &reading->facts);
    read_end(run->directory, &opening->snapshot);
    snapshot_publish(&run->snapshot, &opening->snapshot);
    free(opening);
    return rebuilt;
}

bool run_peek(const char *directory, struct run_outline *outline, struct error *error)
{
    *outline = (struct run_outline){
        .snapshot = {
            .eta_seconds = -1, .loss_discriminator = NAN, .loss_l1 = NAN, .pixel_accuracy = NAN}};
    config_defaults(&outline->config);
    if (!run_state_read_config(directory, &outline->config, &outline->facts, error))
        return false;
    read_end(directory, &outline->snapshot);
    return true;
}

struct run *run_open(const char *directory, struct error *error)
{
    struct run_config config;
    config_defaults(&config);
    struct run *run = run_state_create(&config, error);
    if (!run)
        return NULL;
    run->directory = memory_copy_text(directory, error);
    if (run->directory && rebuild(run, error))
        return run;
    run_free(run);
    return NULL;
}
