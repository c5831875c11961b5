/* The points are written as a journal, so that all code that reads runs can read them. Settings
 * that the log does not contain are left out of config.json.
 *
 * While the log grows, `shown` has what the journal has. The journal's first event says how many
 * points and validations a reader should make room for; when a log outgrows that, or changes what
 * it has had before, the journal is written anew, with another number in its first event, so that
 * readers notice it by the checksums (journal_tail_read). */
#include "exchange/logs/import_run.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/training/loss_meter.h"
#include "runs/findings/watcher.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_files.h"
#include "runs/folder/run_name.h"
#include "runs/history/run_trash.h"
#include "runs/record/run_state.h"
#include "runs/settings/settings.h"
#include "runs/values/pace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_LEAST = 1 << 16, TESTS_LEAST = 1 << 12, ROOM_STEP = 4 };

struct import_run {
    struct run *run;
    const struct import_request *request;
    bool live;
    char *config;              /* the text of the settings in config.json */
    bool begun;                /* there is a config.json */
    unsigned rewritten;        /* how often */
    struct imported_log shown; /* what the journal has */
    size_t *scalars;           /* how many values of each of the log's scalars */
    size_t scalar_capacity;
    size_t room, test_room; /* for how many points and validations */
    uint64_t iterations;    /* of the training, as the first line has them; 0: unknown */
    bool mean_only;
    struct watcher watcher;
    bool diverged;
};

/* --- settings --- */

static bool put_count(struct run_config *config, const char *key, size_t value, struct error *error)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    return value == 0 || config_set(config, key, text, error);
}

static bool put_number(struct run_config *config, const char *key, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    if (!isnan(value))
        config_set(config, key, text, NULL); /* values that no run can have count as unknown */
    return true;
}

static const char *or_unknown(const char *given, const char *said)
{
    return given ? given : said[0] ? said : "unknown";
}

/* Fills the settings. `iterations`: how many the training has; 0: unknown. */
static bool fill_config(const struct import_request *request, const struct imported_log *log,
                        size_t iterations, struct run_config *config, struct error *error)
{
    config_defaults(config);
    if (log->solver[0])
        config_set(config, KEY(solver), log->solver, NULL);
    return config_set(config, KEY(network), or_unknown(request->network, log->network), error) &&
           config_set(config, KEY(data), "unknown", error) &&
           config_set(config, KEY(device), or_unknown(request->device, log->device), error) &&
           put_count(config, KEY(batch), request->batch ? request->batch : log->batch, error) &&
           put_count(config, KEY(average_loss),
                     request->average_loss ? request->average_loss : log->average_loss, error) &&
           put_count(config, KEY(iterations), iterations, error) &&
           put_number(config, KEY(learning_rate), log->highest_rate) &&
           put_number(config, KEY(momentum), log->momentum) &&
           put_number(config, KEY(weight_decay), log->weight_decay);
}

/* --- means and findings computed from the points --- */

static size_t images_of(const struct import_request *request, const struct imported_log *log)
{
    return request->images ? request->images : log->images;
}

static void fill_times(const struct import_request *request, struct imported_log *log,
                       const struct run_config *config)
{
    const size_t batch = config_is_given(config, KEY(batch)) ? training_settings(config).batch : 0;
    const size_t images = images_of(request, log);
    const double per_iteration = batch && images ? (double)batch / (double)images : NAN;
    for (size_t i = 0; i < log->count; i++) {
        struct series_point *point = &log->points[i];
        if (isnan(point->epoch))
            point->epoch = (float)((double)point->iteration * per_iteration);
        point->ms_per_image = batch ? point->ms_per_image / (float)batch : NAN;
    }
    for (size_t i = 0; i < log->validation_count; i++) {
        struct series_validation *test = &log->validations[i];
        if (isnan(test->epoch))
            test->epoch = (float)((double)test->iteration * per_iteration);
    }
}

/* Computes the running means if every iteration is there; a mean printed by Caffe stays as it is.
 */
static bool fill_means(struct imported_log *log, const struct run_config *config,
                       struct error *error)
{
    struct loss_meter meter;
    if (log->mean_only || log->epoch_means || log->points[log->count - 1].iteration != log->count)
        return true;
    if (!loss_meter_create(&meter, measurement_settings(config).average_loss, error))
        return false;
    for (size_t i = 0; i < log->count; i++) {
        loss_meter_add(&meter, log->points[i].loss);
        log->points[i].loss_mean = (float)meter.exact;
        if (isnan(log->points[i].loss_caffe))
            log->points[i].loss_caffe = meter.caffe;
    }
    loss_meter_free(&meter);
    return true;
}

/* Reports a negative loss for a log that has only Caffe's mean, which must not fall below zero. */
static bool find_in_mean(const struct series_point *point, struct watcher *watcher,
                         struct finding *finding)
{
    if (!(point->loss_caffe < 0) || watcher->negative_reported)
        return false;
    watcher->negative_reported = true;
    *finding = (struct finding){.kind = FINDING_NEGATIVE_LOSS,
                                .iteration = point->iteration,
                                .epoch = (double)point->epoch};
    snprintf(finding->text, sizeof finding->text,
             _("Caffe printed %.6g at iteration %llu. That is not the loss but its running mean in "
               "float32, which only adds differences: rounding against early losses leaves a "
               "residue of either sign (BVLC/caffe issue 3029)."),
             (double)point->loss_caffe, (unsigned long long)point->iteration);
    return true;
}

/* Reports the first loss that is not finite; the journal has null there, since JSON has no NaN. */
static bool find_divergence(const struct series_point *point, bool *reported,
                            struct finding *finding)
{
    if (isfinite(point->loss) || *reported)
        return false;
    *reported = true;
    *finding = (struct finding){
        .kind = FINDING_DIVERGENCE, .iteration = point->iteration, .epoch = (double)point->epoch};
    snprintf(finding->text, sizeof finding->text,
             _("the log's loss of iteration %llu is not finite: the training diverged there"),
             (unsigned long long)point->iteration);
    return true;
}

static bool find(const struct imported_log *log, const struct series_point *point, size_t window,
                 struct watcher *watcher, struct finding *finding)
{
    const struct loss_meter meter = {
        .size = window, .caffe = point->loss_caffe, .exact = (double)point->loss_mean};
    const struct moment now = {point->iteration, (double)point->epoch};
    return log->mean_only ? find_in_mean(point, watcher, finding)
                          : watcher_loss(watcher, now, point->loss, &meter, finding);
}

/* --- writing --- */

static void fill_facts(const struct import_request *request, const struct imported_log *log,
                       struct run *run)
{
    struct run_facts *facts = &run->early_facts;
    snprintf(facts->host, sizeof facts->host, "%s", request->host ? request->host : log->host);
    snprintf(facts->imported, sizeof facts->imported, "%s", log->framework);
    facts->mean_only = log->mean_only;
    snprintf(facts->network, sizeof facts->network, "%.63s",
             network_settings(&run->config).network);
    snprintf(facts->technique, sizeof facts->technique, "none");
    facts->images = images_of(request, log);
    if (!facts->created[0])
        clock_now_rfc3339(facts->created, sizeof facts->created);
    if (log->created[0])
        snprintf(facts->created, sizeof facts->created, "%s", log->created);
}

static double median_of(const struct imported_log *log)
{
    struct tempo tempo = {0};
    for (size_t i = 0; i < log->count; i++)
        if (isfinite(log->points[i].ms_per_image))
            tempo_add(&tempo, (double)log->points[i].ms_per_image);
    return tempo.count > 0 ? tempo_median(&tempo) : NAN;
}

static struct run_snapshot end_of(const struct imported_log *log, bool stopped)
{
    const struct series_point *last = &log->points[log->count - 1];
    const double median = median_of(log);
    const bool short_of = last->iteration < log->max_iterations && !log->finished;
    struct run_snapshot end = {.status = short_of || stopped ? RUN_STOPPED : RUN_DONE,
                               .iteration = last->iteration,
                               .iterations = short_of ? log->max_iterations : last->iteration,
                               .epoch = (double)last->epoch,
                               .epochs = (double)last->epoch,
                               .loss = last->loss,
                               .loss_caffe = last->loss_caffe,
                               .loss_mean = (double)last->loss_mean,
                               .learning_rate = (double)last->learning_rate,
                               .ms_per_image_now = (double)last->ms_per_image,
                               .ms_per_image_median = median,
                               .images_per_second = NAN,
                               .elapsed_seconds = (double)last->seconds,
                               .validation.loss = NAN,
                               .validation.top1 = NAN,
                               .validation.top5 = NAN,
                               .validation.best_top1 = NAN,
                               .validation.best_loss = NAN,
                               .validation.pixel_accuracy = NAN,
                               .feed_wait_seconds = NAN};
    for (size_t i = 0; i < log->validation_count; i++) {
        const struct series_validation *test = &log->validations[i];
        run_snapshot_take_validation_loss(&end, (double)test->loss);
        end.validation.known = true;
        end.validation.loss = (double)test->loss;
        end.validation.top1 = (double)test->top1;
        end.validation.top5 = (double)test->top5;
        end.validation.best_top1 = fmax(end.validation.best_top1, end.validation.top1);
    }
    return end;
}

/* --- the journal --- */

/* Returns how many iterations the training has as far as the log says; 0: unknown. */
static uint64_t iterations_of(const struct import_run *run, const struct imported_log *log)
{
    const uint64_t last = log->points[log->count - 1].iteration;
    if (!run->live)
        return last;
    return log->max_iterations >= last ? log->max_iterations : 0;
}

static size_t room_for(size_t count, size_t least)
{
    while (least < count && least < SERIES_MAX_POINTS)
        least *= ROOM_STEP;
    return least;
}

/* Returns whether the journal's readers have room for all values, or cannot have more. */
static bool has_room(const struct import_run *imported, const struct imported_log *log)
{
    return (log->count <= imported->room || imported->room >= SERIES_MAX_POINTS) &&
           (log->validation_count <= imported->test_room ||
            imported->test_room >= SERIES_MAX_POINTS);
}

static bool write_start(struct import_run *imported, const struct imported_log *log,
                        struct error *error)
{
    struct run *run = imported->run;
    struct run_snapshot start = end_of(log, false);
    if (imported->live) {
        const double share = start.epoch / (double)start.iteration;
        start.iterations = imported->iterations;
        start.epochs = share > 0 ? share * (double)imported->iterations : 0;
    }
    struct json *event = run_files_start_event(&run->early_facts, &start);
    if (event && json_add_count(event, "validations", imported->test_room) &&
        json_add_count(event, "points", imported->room) &&
        (!imported->live || json_add_count(event, "revision", imported->rewritten))) {
        journal_add_event(&run->journal, "start", event);
        return true;
    }
    json_free(event);
    return error_set_memory(error, "an event of the journal", 0);
}

static bool keep_point(struct imported_log *shown, const struct series_point *point,
                       struct error *error)
{
    if (!memory_grow(&shown->points, &shown->capacity, shown->count + 1, sizeof *shown->points,
                     "the log's iterations", error))
        return false;
    shown->points[shown->count++] = *point;
    return true;
}

static bool keep_validation(struct imported_log *shown, const struct series_validation *test,
                            struct error *error)
{
    if (!memory_grow(&shown->validations, &shown->validation_capacity, shown->validation_count + 1,
                     sizeof *shown->validations, "the log's tests", error))
        return false;
    shown->validations[shown->validation_count++] = *test;
    return true;
}

/* Appends the values of other names that the journal does not have yet. */
static bool append_scalars(struct import_run *imported, const struct imported_log *log,
                           struct error *error)
{
    struct journal *journal = &imported->run->journal;
    const struct scalars *scalars = &log->scalars;
    if (!memory_grow(&imported->scalars, &imported->scalar_capacity, scalars->count,
                     sizeof *imported->scalars, "the log's series", error))
        return false;
    for (size_t i = 0; i < scalars->count; i++) {
        const struct scalar_series *series = &scalars->series[i];
        for (; imported->scalars[i] < series->count; imported->scalars[i]++)
            journal_add_scalar(journal, series->name, &series->values[imported->scalars[i]]);
    }
    journal_flush(journal);
    return true;
}

/* Appends what the journal does not have yet. */
static bool append(struct import_run *imported, const struct imported_log *log, struct error *error)
{
    struct run *run = imported->run;
    struct imported_log *shown = &imported->shown;
    struct finding finding;
    for (size_t i = shown->count; i < log->count; i++) {
        const struct series_point *point = &log->points[i];
        if (!keep_point(shown, point, error))
            return false;
        journal_add_point(&run->journal, point, run->journal.flushed);
        if (find_divergence(point, &imported->diverged, &finding))
            journal_add_finding(&run->journal, &finding);
        if (find(log, point, measurement_settings(&run->config).average_loss, &imported->watcher,
                 &finding))
            journal_add_finding(&run->journal, &finding);
    }
    for (size_t i = shown->validation_count; i < log->validation_count; i++) {
        if (!keep_validation(shown, &log->validations[i], error))
            return false;
        journal_add_validation(&run->journal, &log->validations[i]);
    }
    return append_scalars(imported, log, error);
}

/* Begins the journal, or begins it anew. */
static bool begin_journal(struct import_run *imported, const struct imported_log *log,
                          struct error *error)
{
    struct run *run = imported->run;
    imported->room = imported->live ? room_for(log->count, ROOM_LEAST) : log->count;
    imported->test_room =
        imported->live ? room_for(log->validation_count, TESTS_LEAST) : log->validation_count;
    imported->iterations = iterations_of(imported, log);
    imported->mean_only = log->mean_only;
    imported->watcher = (struct watcher){0};
    imported->diverged = log->times_only;
    imported->shown.count = imported->shown.validation_count = 0;
    for (size_t i = 0; i < imported->scalar_capacity; i++)
        imported->scalars[i] = 0;
    if (run->journal.path)
        journal_abandon(&run->journal);
    return journal_open(&run->journal, run->directory, NULL, error) &&
           write_start(imported, log, error);
}

/* --- changes --- */

/* Returns whether two points are the same but for the memory, which the watch adds. The members
 * before it are numbers of the same size without gaps. */
static bool same_point(const struct series_point *a, const struct series_point *b)
{
    return a->iteration == b->iteration &&
           memcmp(&a->epoch, &b->epoch,
                  offsetof(struct series_point, seconds) - offsetof(struct series_point, epoch) +
                      sizeof a->seconds) == 0;
}

static bool same_validation(const struct series_validation *a, const struct series_validation *b)
{
    return a->iteration == b->iteration &&
           memcmp(&a->epoch, &b->epoch,
                  offsetof(struct series_validation, loss_error) -
                      offsetof(struct series_validation, epoch) + sizeof a->loss_error) == 0;
}

/* Returns whether the log still begins with what the journal has. */
static bool continues(const struct import_run *imported, const struct imported_log *log)
{
    const struct imported_log *shown = &imported->shown;
    if (log->count < shown->count || log->validation_count < shown->validation_count ||
        !has_room(imported, log) || imported->iterations != iterations_of(imported, log) ||
        imported->mean_only != log->mean_only)
        return false;
    for (size_t i = 0; i < shown->count; i++)
        if (!same_point(&shown->points[i], &log->points[i]))
            return false;
    for (size_t i = 0; i < shown->validation_count; i++)
        if (!same_validation(&shown->validations[i], &log->validations[i]))
            return false;
    for (size_t i = 0; i < imported->scalar_capacity; i++)
        if (imported->scalars[i] > (i < log->scalars.count ? log->scalars.series[i].count : 0))
            return false; /* steps went back: values were replaced */
    return true;
}

/* Gives the points of the log the memory that was measured at them, and new ones the present. */
static void fill_memory(const struct import_run *imported, struct imported_log *log,
                        struct import_memory memory)
{
    const struct imported_log *shown = &imported->shown;
    size_t k = 0;
    for (size_t i = 0; i < log->count; i++) {
        struct series_point *point = &log->points[i];
        while (k < shown->count && shown->points[k].iteration < point->iteration)
            k++;
        const bool known = k < shown->count && shown->points[k].iteration == point->iteration;
        if (point->memory_bytes == 0)
            point->memory_bytes = known ? shown->points[k].memory_bytes : memory.resident;
        point->gpu_memory_bytes = known ? shown->points[k].gpu_memory_bytes : memory.on_gpus;
    }
}

static bool store_config(struct import_run *imported, struct error *error)
{
    const struct run *run = imported->run;
    const bool stored =
        run_files_write_config(run->directory, &run->config, &run->early_facts, error);
    imported->begun |= stored;
    return stored;
}

/* Writes config.json if the log has told more. Sets *changed to whether it did. */
static bool write_config(struct import_run *imported, const struct imported_log *log, bool *changed,
                         struct error *error)
{
    struct run *run = imported->run;
    struct run_config config;
    if (!fill_config(imported->request, log, (size_t)iterations_of(imported, log), &config, error))
        return false;
    struct json *object = json_new_object();
    char *text =
        object && config_given_to_json(&config, object) ? json_print(object, false, error) : NULL;
    json_free(object);
    if (!text)
        return error_set_memory(error, "the settings", 0);
    *changed = !imported->config || strcmp(imported->config, text) != 0;
    free(imported->config);
    imported->config = text;
    run->config = config;
    fill_facts(imported->request, log, run);
    if (!*changed || !imported->live || store_config(imported, error))
        return true; /* an import writes it last: see import_run_end */
    free(imported->config);
    imported->config = NULL; /* the next update tries again */
    return false;
}

bool import_run_update(struct import_run *imported, struct imported_log *log,
                       struct import_memory memory, struct error *error)
{
    bool changed;
    struct run *run = imported->run;
    if (log->count == 0)
        return true;
    if (imported->live && !run_hold_check(&run->hold, run->directory, error))
        return false;
    if (!write_config(imported, log, &changed, error))
        return false;
    fill_times(imported->request, log, &run->config);
    if (!fill_means(log, &run->config, error))
        return false;
    fill_memory(imported, log, memory);
    if (changed || !continues(imported, log)) {
        imported->rewritten++;
        if (!begin_journal(imported, log, error))
            return false;
    }
    return append(imported, log, error);
}

/* --- beginning and end --- */

static bool create_folder(struct import_run *imported, const struct imported_log *log,
                          struct error *error)
{
    struct run_config config;
    char name[RUN_ID_NAME];
    if (!fill_config(imported->request, log, (size_t)iterations_of(imported, log), &config,
                     error) ||
        !(imported->run = run_state_create(&config, error)))
        return false;
    struct run *run = imported->run;
    run_id_name(network_settings(&run->config).network, "", name);
    run->directory = run_directory_create(NULL, name, run->early_facts.id, error);
    if (!run->directory || !run_hold_take(&run->hold, run->directory, error))
        return false;
    if (!run_directory_begin(run->directory,
                             error)) /* killed before config.json, it leaves no run */
        return false;
    if (imported->live) /* its name is that of the source, if that can be a name */
        run_name_write(run->directory, file_base_name(imported->request->path), NULL);
    return true;
}

struct import_run *import_run_create(const struct import_request *request,
                                     const struct imported_log *log, bool live, struct error *error)
{
    struct import_run *imported = memory_new(1, sizeof *imported, "a run", error);
    if (!imported)
        return NULL;
    imported->request = request;
    imported->live = live;
    if (create_folder(imported, log, error))
        return imported;
    import_run_free(imported);
    return NULL;
}

bool import_run_end(struct import_run *imported, const struct imported_log *log, bool stopped,
                    struct error *error)
{
    struct run *run = imported->run;
    const struct run_snapshot end = end_of(log, stopped);
    journal_add_event(&run->journal, "end", NULL);
    if (journal_sync(&run->journal))
        return run_files_write_summary(run->directory, &run->journal, &end, NULL, error) &&
               (imported->live || store_config(imported, error));
    if (error)
        *error = run->journal.trouble;
    return false;
}

const char *import_run_id(const struct import_run *imported)
{
    return imported->run->early_facts.id;
}

const char *import_run_directory(const struct import_run *imported)
{
    return imported->run->directory;
}

void import_run_free(struct import_run *imported)
{
    if (!imported)
        return;
    const char *directory = imported->run ? imported->run->directory : NULL;
    char *left = !imported->begun && directory ? memory_copy_text(directory, NULL) : NULL;
    run_free(imported->run);
    if (left)
        run_remove(left, NULL);
    free(left);
    free(imported->config);
    free(imported->shown.points);
    free(imported->shown.validations);
    free(imported->scalars);
    free(imported);
}
