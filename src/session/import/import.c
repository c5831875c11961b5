/* Turns an imported log into a run folder. The points are written as a journal, so that all code
 * that reads runs can read them. Settings that the log does not contain are left out of
 * config.json. */
#include "session/import/import.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "data/formats/gzip_file.h"
#include "engine/training/loss_meter.h"
#include "session/files/run_directory.h"
#include "session/files/run_files.h"
#include "session/findings/watcher.h"
#include "session/history/run_remove.h"
#include "session/import/import_log.h"
#include "session/record/run_state.h"
#include "session/values/tempo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_LIMIT ((size_t)512 << 20)

/* --- reading --- */

static bool read_file(const struct import_request *request, struct imported_logs *logs,
                      struct error *error)
{
    size_t size;
    uint8_t *bytes = gzip_file_read(request->path, LOG_LIMIT, &size, error);
    char *text = bytes ? memory_new(size + 1, 1, "the log", error) : NULL;
    for (size_t i = 0; text && i < size; i++)
        text[i] = bytes[i] ? (char)bytes[i] : ' ';
    free(bytes);
    const bool read = text && import_logs_read(logs, request, text, error);
    free(text);
    return read;
}

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

static bool fill_config(const struct import_request *request, const struct imported_log *log,
                        struct run_config *config, struct error *error)
{
    config_defaults(config);
    if (log->solver[0])
        config_set(config, "solver", log->solver, NULL);
    return config_set(config, "network", or_unknown(request->network, log->network), error) &&
           config_set(config, "data", "unknown", error) &&
           config_set(config, "device", or_unknown(request->device, log->device), error) &&
           put_count(config, "batch", request->batch ? request->batch : log->batch, error) &&
           put_count(config, "average-loss",
                     request->average_loss ? request->average_loss : log->average_loss, error) &&
           put_count(config, "iterations", (size_t)log->points[log->count - 1].iteration, error) &&
           put_number(config, "lr", log->learning_rate) &&
           put_number(config, "momentum", log->momentum) &&
           put_number(config, "weight-decay", log->weight_decay);
}

/* --- means and findings computed from the points --- */

static size_t images_of(const struct import_request *request, const struct imported_log *log)
{
    return request->images ? request->images : log->images;
}

static void fill_times(const struct import_request *request, struct imported_log *log,
                       const struct run_config *config)
{
    const size_t batch = config_is_given(config, "batch") ? config->batch : 0;
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
    if (!loss_meter_create(&meter, config->average_loss, error))
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
    snprintf(facts->network, sizeof facts->network, "%.63s", run->config.network);
    snprintf(facts->technique, sizeof facts->technique, "none");
    facts->images = images_of(request, log);
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

static struct run_snapshot end_of(const struct imported_log *log)
{
    const struct series_point *last = &log->points[log->count - 1];
    const double median = median_of(log);
    const bool short_of = last->iteration < log->max_iterations && !log->finished;
    struct run_snapshot end = {.status = short_of ? RUN_STOPPED : RUN_DONE,
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
                               .validation_loss = NAN,
                               .top1 = NAN,
                               .top5 = NAN,
                               .best_top1 = NAN,
                               .best_validation_loss = NAN,
                               .pixel_accuracy = NAN,
                               .feed_wait_seconds = NAN};
    for (size_t i = 0; i < log->validation_count; i++) {
        const struct series_validation *test = &log->validations[i];
        run_snapshot_take_validation_loss(&end, (double)test->loss);
        end.has_validation = true;
        end.validation_loss = (double)test->loss;
        end.top1 = (double)test->top1;
        end.top5 = (double)test->top5;
        end.best_top1 = fmax(end.best_top1, end.top1);
    }
    return end;
}

static bool write_start(struct run *run, const struct imported_log *log,
                        const struct run_snapshot *end, struct error *error)
{
    struct json *event = run_files_start_event(&run->early_facts, end);
    if (event && json_add_count(event, "validations", log->validation_count)) {
        journal_add_event(&run->journal, "start", event);
        return true;
    }
    json_free(event);
    return error_set_memory(error, "an event of the journal", 0);
}

static bool write_journal(struct run *run, const struct imported_log *log, struct error *error)
{
    struct watcher watcher = {0};
    struct finding finding;
    bool diverged = log->times_only;
    for (size_t i = 0; i < log->count; i++) {
        journal_add_point(&run->journal, &log->points[i], run->journal.flushed);
        if (find_divergence(&log->points[i], &diverged, &finding))
            journal_add_finding(&run->journal, &finding);
        if (find(log, &log->points[i], run->config.average_loss, &watcher, &finding))
            journal_add_finding(&run->journal, &finding);
    }
    for (size_t i = 0; i < log->validation_count; i++)
        journal_add_validation(&run->journal, &log->validations[i]);
    journal_add_event(&run->journal, "end", NULL);
    if (journal_sync(&run->journal))
        return true;
    if (error)
        *error = run->journal.trouble;
    return false;
}

static bool write_run(const struct import_request *request, const struct imported_log *log,
                      struct run *run, struct error *error)
{
    fill_facts(request, log, run);
    const struct run_snapshot end = end_of(log);
    char name[RUN_ID_NAME];
    run_id_name(run->config.network, "", name);
    run->directory = run_directory_create(NULL, name, run->early_facts.id, error);
    if (!run->directory)
        return false;
    return run_hold_take(&run->hold, run->directory, error) &&
           run_files_write_config(run->directory, &run->config, &run->early_facts, error) &&
           journal_open(&run->journal, run->directory, UINT64_MAX, error) &&
           write_start(run, log, &end, error) && write_journal(run, log, error) &&
           run_files_write_summary(run->directory, &run->journal, &end, NULL, error);
}

/* --- importing a file --- */

static bool import_one(const struct import_request *request, struct imported_log *log,
                       struct import_result *result, struct error *error)
{
    struct run_config config;
    struct run *run = NULL;
    bool good =
        fill_config(request, log, &config, error) && (run = run_state_create(&config, error));
    if (good) {
        fill_times(request, log, &config);
        good = fill_means(log, &config, error) && write_run(request, log, run, error);
    }
    char *left = !good && run && run->directory ? memory_copy_text(run->directory, NULL) : NULL;
    if (good) {
        *result = (struct import_result){.iterations = log->count,
                                         .validations = log->validation_count,
                                         .damaged = log->damaged,
                                         .replaced = log->replaced};
        snprintf(result->id, sizeof result->id, "%s", run->early_facts.id);
        snprintf(result->framework, sizeof result->framework, "%s", log->framework);
    }
    run_free(run);
    if (left)
        run_remove(left, NULL);
    free(left);
    return good;
}

static void remove_created_runs(const struct import_results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        char *directory = run_directory_find(results->items[i].id, NULL);
        if (directory)
            run_remove(directory, NULL);
        free(directory);
    }
}

static bool import_all(const struct import_request *request, struct imported_logs *logs,
                       struct import_results *results, struct error *error)
{
    for (size_t i = 0; i < logs->count; i++) {
        if (!memory_grow(&results->items, &results->capacity, i + 1, sizeof *results->items,
                         "what was imported", error) ||
            !import_one(request, &logs->logs[i], &results->items[i], error))
            return false;
        results->count++;
    }
    return true;
}

bool import_file(const struct import_request *request, struct import_results *results,
                 struct error *error)
{
    struct imported_logs logs = {0};
    const bool good =
        read_file(request, &logs, error) && import_all(request, &logs, results, error);
    if (!good) {
        remove_created_runs(results);
        results->count = 0;
    }
    import_logs_free(&logs);
    return good;
}

void import_results_free(struct import_results *results)
{
    free(results->items);
    *results = (struct import_results){0};
}
