/* A journal is read line by line: the start event creates the series, iterations and validations
 * fill it, findings are appended, and events change the status. */
#include "runs/record/run_reading.h"

#include "base/number.h"
#include "runs/folder/run_files.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <string.h>

/* Raises the length of the run: when it was resumed, it may have been given more iterations. A
 * fork, whose journal begins with its ancestor's, may also be shorter. */
static void update_length(struct run_snapshot *now, const struct run_config *config, bool forked)
{
    const double per_epoch = now->epochs > 0 ? (double)now->iterations / now->epochs : 0;
    const struct training_settings training = training_settings(config);
    const double asked = training.has_iterations ? (double)training.iterations
                                                 : round(per_epoch * (double)training.epochs);
    const bool differs = forked || asked > (double)now->iterations;
    if (!(per_epoch > 0) || !differs || !(asked >= 1 && asked <= 1e15))
        return;
    now->iterations = number_to_uint64(asked);
    now->epochs = asked / per_epoch;
}

static bool take_start(struct run_reading *reading, const struct json *line, struct error *error)
{
    struct run *run = reading->run;
    reading->facts = run->early_facts;
    run_files_read_start(line, &reading->facts, reading->snapshot);
    update_length(reading->snapshot, &run->config, run->early_facts.fork.ancestor[0]);
    size_t tests;
    double epochs = ceil(reading->snapshot->epochs);
    const struct json *validations = json_member(line, "validations"); /* an imported run's */
    if (validations && json_count(validations, &tests))
        epochs = (double)tests;
    if (!(epochs >= 0 && epochs <= 1e7))
        epochs = 0;
    size_t points; /* an imported run says how many points to make room for */
    const struct json *room = json_member(line, "points");
    if (!room || !json_count(room, &points) || points > SERIES_MAX_POINTS)
        points = reading->snapshot->iterations;
    reading->phase = RUN_RUNNING;
    reading->started = series_create(&run->own_series, points, (size_t)epochs, error);
    series_set_smoothing(&run->own_series, measurement_settings(&run->config).average_loss,
                         !reading->facts.discriminator_parameters && !reading->facts.imported[0]);
    return reading->started;
}

/* No line marks the start of a validation, which follows the end of each epoch and of the run. */
static bool is_followed_by_validation(const struct run_reading *reading)
{
    const struct run_snapshot *now = reading->snapshot;
    const double per_epoch = now->epochs > 0 ? round((double)now->iterations / now->epochs) : 0;
    return reading->facts.validation_images > 0 && per_epoch >= 1 &&
           (now->iteration == now->iterations || now->iteration % number_to_uint64(per_epoch) == 0);
}

static void take_point(struct run_reading *reading, const struct series_point *point)
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
    if (isfinite(point->seconds))
        pace_add(&reading->pace, (double)point->seconds, point->iteration);
    now->memory_measured = point->memory_bytes;
    reading->phase = is_followed_by_validation(reading) ? RUN_VALIDATING : RUN_RUNNING;
}

static void take_validation(struct run_reading *reading, const struct series_validation *validation)
{
    struct run_snapshot *now = reading->snapshot;
    series_add_validation(&reading->run->own_series, validation);
    if (!now->validation.known || (double)validation->top1 > now->validation.best_top1)
        now->validation.best_top1 = (double)validation->top1;
    run_snapshot_take_validation_loss(now, (double)validation->loss);
    now->validation.known = true;
    now->validation.loss = (double)validation->loss;
    now->validation.top1 = (double)validation->top1;
    now->validation.top5 = (double)validation->top5;
    now->validation.pixel_accuracy = (double)validation->pixel_accuracy;
    reading->phase = RUN_RUNNING;
}

static void read_number(const struct json *line, const char *key, double *value)
{
    const struct json *member = json_member(line, key);
    if (member)
        json_number(member, value);
}

/* Takes the figures of the ranks. A list that is none changes nothing. */
static void take_ranks(struct run *run, const struct json *line)
{
    struct run_ranks ranks = {0};
    if (run_ranks_read(line, &ranks))
        run_state_put_ranks(run, &ranks);
    run_ranks_free(&ranks);
}

static void take_event(struct run_reading *reading, const char *event, const struct json *line)
{
    struct run_snapshot *now = reading->snapshot;
    double iteration = 0, seconds = 0;
    read_number(line, "iteration", &iteration);
    read_number(line, "seconds", &seconds);
    if (strcmp(event, "pause") == 0)
        reading->phase = RUN_PAUSED;
    else if (strcmp(event, "go-on") == 0)
        reading->phase = RUN_RUNNING;
    else if (strcmp(event, "resume") == 0) {
        now->begun_at = number_to_uint64(iteration);
        reading->pace = (struct pace){0};
        series_add_resume(&reading->run->own_series, now->begun_at);
        run_state_put_ranks(reading->run, &(struct run_ranks){0}); /* others may have resumed it */
        reading->phase = RUN_RUNNING;
    } else if (strcmp(event, "test") == 0)
        run_files_read_test(line, &now->test);
    else if (strcmp(event, "loss-scale") == 0) {
        double skipped = 0;
        read_number(line, "skipped", &skipped);
        read_number(line, "scale", &now->loss_scale);
        now->skipped_steps = number_to_uint64(skipped);
    } else if (strcmp(event, "ranks") == 0)
        take_ranks(reading->run, line);
    if (strcmp(event, "checkpoint") != 0)
        return;
    now->checkpoint.count++;
    now->checkpoint.iteration = number_to_uint64(iteration);
    now->checkpoint.seconds += seconds;
}

static void take_json(struct run_reading *reading, const char *event, const struct json *json)
{
    struct finding finding;
    if (journal_read_finding(json, &finding))
        reading->snapshot->finding_count += run_state_add_finding(reading->run, &finding);
    else if (event)
        take_event(reading, event, json);
}

static bool take_scalar(struct run *run, const struct journal_scalar *scalar, struct error *error)
{
    struct error memory = {0};
    const size_t place = scalars_find(&run->scalars, scalar->name, &memory);
    if (place != SIZE_MAX && scalars_add(&run->scalars, place, &scalar->at, &memory))
        return true;
    if (memory.kind != ERROR_NONE && error)
        *error = memory;
    return memory.kind == ERROR_NONE; /* there are too many names */
}

bool run_reading_take(void *context, const struct journal_line *line, struct error *error)
{
    struct run_reading *reading = context;
    if (reading->started && line->point)
        take_point(reading, line->point);
    if (reading->started && line->validation)
        take_validation(reading, line->validation);
    if (line->scalar)
        return !reading->keeps_scalars || take_scalar(reading->run, line->scalar, error);
    if (line->point || line->validation)
        return true;
    const char *event = json_string(json_member(line->json, "event"));
    if (!reading->started)
        return !event || strcmp(event, "start") != 0 || take_start(reading, line->json, error);
    take_json(reading, event, line->json);
    return true;
}

/* Estimates the remaining time like the trainer. */
static double estimate_remaining(const struct run_reading *reading)
{
    const struct run_snapshot *now = reading->snapshot;
    if (now->iteration > now->iterations)
        return -1;
    return pace_remaining(&reading->pace, now->iterations - now->iteration);
}

void run_reading_sum_up(struct run_reading *reading)
{
    struct run_snapshot *now = reading->snapshot;
    now->ms_per_image_now = tempo_now(reading->tempo);
    now->ms_per_image_median = tempo_median(reading->tempo);
    if (now->ms_per_image_now > 0)
        now->images_per_second = 1e3 / now->ms_per_image_now;
    now->eta_seconds = estimate_remaining(reading);
}
