/* Tables name the members of config.json, of the start event and of summary.json, with their
 * offsets in the structures; writing and reading use the same tables. */
#include "runs/folder/run_files.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "runs/folder/run_json.h"
#include "runs/values/run_snapshot.h"

#include <config.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 20 };

/* --- tables of members --- */

#define COUNT(type, member) NAMED(#member, type, member)
#define NAMED(key, type, member)                                                                   \
    {                                                                                              \
        key, offsetof(struct type, member)                                                         \
    }

struct place {
    const char *key;
    size_t offset;
};

static const struct place memory_places[] = {
    COUNT(memory_forecast, weights),    COUNT(memory_forecast, gradients),
    COUNT(memory_forecast, solver),     COUNT(memory_forecast, activations),
    COUNT(memory_forecast, workspace),  COUNT(memory_forecast, total),
    COUNT(memory_forecast, unlimited),  COUNT(memory_forecast, flops),
    COUNT(memory_forecast, flops_again)};

/* Written for a run with a teacher only. */
static const struct place teacher_place = COUNT(memory_forecast, teacher);

static const struct place fact_places[] = {COUNT(run_facts, parameters),
                                           COUNT(run_facts, discriminator_parameters),
                                           COUNT(run_facts, flops),
                                           COUNT(run_facts, images),
                                           COUNT(run_facts, validation_images),
                                           COUNT(run_facts, classes),
                                           COUNT(run_facts, memory_peak),
                                           COUNT(run_facts, threads)};

static const struct place number_places[] = {
    COUNT(run_snapshot, epoch),
    COUNT(run_snapshot, epochs),
    COUNT(run_snapshot, loss_mean),
    COUNT(run_snapshot, learning_rate),
    COUNT(run_snapshot, loss_scale),
    COUNT(run_snapshot, ms_per_image_now),
    COUNT(run_snapshot, ms_per_image_median),
    COUNT(run_snapshot, images_per_second),
    COUNT(run_snapshot, elapsed_seconds),
    COUNT(run_snapshot, feed_wait_seconds),
    NAMED("validation_loss", run_snapshot, validation.loss),
    NAMED("top1", run_snapshot, validation.top1),
    NAMED("top5", run_snapshot, validation.top5),
    NAMED("best_top1", run_snapshot, validation.best_top1),
    NAMED("best_validation_loss", run_snapshot, validation.best_loss),
    NAMED("pixel_accuracy", run_snapshot, validation.pixel_accuracy),
    NAMED("checkpoint_seconds", run_snapshot, checkpoint.seconds),
    NAMED("energy_joules", run_snapshot, energy.joules),
    NAMED("energy_seconds", run_snapshot, energy.seconds),
    NAMED("energy_images", run_snapshot, energy.images)};

/* Members of the object "test". */
static const struct place test_places[] = {COUNT(run_test, epoch), COUNT(run_test, loss),
                                           COUNT(run_test, top1), COUNT(run_test, top5),
                                           COUNT(run_test, pixel_accuracy)};

static const struct place count_places[] = {
    COUNT(run_snapshot, iteration),
    COUNT(run_snapshot, iterations),
    COUNT(run_snapshot, skipped_steps),
    COUNT(run_snapshot, memory_measured),
    COUNT(run_snapshot, memory_highest),
    COUNT(run_snapshot, begun_at),
    NAMED("checkpoints", run_snapshot, checkpoint.count),
    NAMED("checkpoint_iteration", run_snapshot, checkpoint.iteration)};

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "counts are kept in 64 bits");
#define LENGTH(table) (sizeof(table) / sizeof *(table))

static bool add_counts(struct json *object, const void *base, const struct place *places,
                       size_t count)
{
    bool added = object;
    for (size_t i = 0; added && i < count; i++) {
        uint64_t value;
        memcpy(&value, (const char *)base + places[i].offset, sizeof value);
        added = json_add_count(object, places[i].key, value);
    }
    return added;
}

static void read_counts(const struct json *object, void *base, const struct place *places,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t number;
        const struct json *member = json_member(object, places[i].key);
        if (member && json_count(member, &number))
            memcpy((char *)base + places[i].offset, &(uint64_t){number}, sizeof(uint64_t));
    }
}

static bool add_numbers(struct json *object, const void *base, const struct place *places,
                        size_t count)
{
    bool added = object;
    for (size_t i = 0; added && i < count; i++) {
        double value;
        memcpy(&value, (const char *)base + places[i].offset, sizeof value);
        added = json_add_number(object, places[i].key, value);
    }
    return added;
}

static void read_numbers(const struct json *object, void *base, const struct place *places,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double value = NAN;
        const struct json *member = json_member(object, places[i].key);
        if (member && (json_number(member, &value) || json_is_null(member)))
            memcpy((char *)base + places[i].offset, &value, sizeof value);
    }
}

static void read_text(const struct json *object, const char *key, char *text, size_t size)
{
    const char *value = json_string(json_member(object, key));
    if (value)
        snprintf(text, size, "%s", value);
}

/* --- both files --- */

bool run_files_verify(const char *directory, struct error *error)
{
    struct json_document config, summary = {0};
    const bool good = run_json_open(&config, directory, "config.json", FILE_LIMIT, NULL, error) &&
                      run_json_open(&summary, directory, "summary.json", FILE_LIMIT, NULL, error);
    json_document_free(&config);
    json_document_free(&summary);
    return good;
}

/* --- config.json --- */

static bool add_import(struct json *tree, const struct run_facts *facts)
{
    struct json *object = json_add_object(tree, "imported");
    return json_add_string(object, "framework", facts->imported) &&
           json_add_bool(object, "mean_only", facts->mean_only);
}

/* Marks settings that an imported log did not give as unknown, instead of the default. */
static void read_import(const struct json *tree, struct run_config *config, struct run_facts *facts)
{
    const struct json *object = json_member(tree, "imported");
    const struct json *flag = json_member(object, "mean_only");
    read_text(object, "framework", facts->imported, sizeof facts->imported);
    if (flag && !json_bool(flag, &facts->mean_only))
        facts->mean_only = false;
    if (facts->imported[0] && !config_is_given(config, KEY(batch)))
        config_put_count(config, KEY(batch), 0);
}

static bool add_fork(struct json *tree, const struct run_fork *fork)
{
    struct json *object = json_add_object(tree, "fork");
    return json_add_string(object, "ancestor", fork->ancestor) &&
           json_add_string(object, "checkpoint", fork->checkpoint) &&
           json_add_count(object, "iteration", fork->iteration) &&
           json_add_bool(object, "weights_only", fork->weights_only) &&
           json_add_bool(object, "fresh_schedule", fork->fresh_schedule);
}

static bool read_flag(const struct json *object, const char *key)
{
    bool value = false;
    const struct json *member = json_member(object, key);
    return member && json_bool(member, &value) && value;
}

static void read_fork(const struct json *tree, struct run_fork *fork)
{
    const struct json *object = json_member(tree, "fork");
    const struct json *count = json_member(object, "iteration");
    size_t iteration = 0;
    *fork = (struct run_fork){0};
    if (!object)
        return;
    read_text(object, "ancestor", fork->ancestor, sizeof fork->ancestor);
    read_text(object, "checkpoint", fork->checkpoint, sizeof fork->checkpoint);
    if (count && json_count(count, &iteration))
        fork->iteration = iteration;
    fork->weights_only = read_flag(object, "weights_only");
    fork->fresh_schedule = read_flag(object, "fresh_schedule");
}

bool run_files_write_config(const char *directory, const struct run_config *config,
                            const struct run_facts *facts, struct error *error)
{
    struct json *tree = json_new_object();
    bool complete =
        json_add_string(tree, "format", "tinca-run") && json_add_count(tree, "version", 1) &&
        json_add_string(tree, "id", facts->id) &&
        json_add_string(tree, "created", facts->created) &&
        json_add_string(tree, "host", facts->host) &&
        json_add_string(tree, "tinca", PACKAGE_VERSION) &&
        (!facts->fork.ancestor[0] || add_fork(tree, &facts->fork)) &&
        (facts->imported[0] ? add_import(tree, facts) &&
                                  config_given_to_json(config, json_add_object(tree, "config"))
                            : config_to_json(config, json_add_object(tree, "config")));
    return run_json_write(directory, "config.json", tree, complete, error);
}

bool run_files_read_config(struct run_config *config, struct run_facts *facts,
                           const char *directory, struct error *error)
{
    struct json_document document;
    char *path = file_join(directory, "config.json");
    if (!path)
        return error_set_memory(error, "a path", 0);
    bool read = json_read_file(&document, path, FILE_LIMIT, error);
    free(path);
    if (!read)
        return false;
    const char *format = json_string(json_member(document.root, "format"));
    read_text(document.root, "id", facts->id, sizeof facts->id);
    read_text(document.root, "created", facts->created, sizeof facts->created);
    read_text(document.root, "host", facts->host, sizeof facts->host);
    if (!format || strcmp(format, "tinca-run") != 0)
        read = error_set(error, ERROR_INPUT, document.name, NULL, "this is not a run of tinca");
    else
        read = config_from_json(config, &document, json_member(document.root, "config"), error);
    if (read)
        read_import(document.root, config, facts);
    if (read && !facts->imported[0])
        config_fill_earlier(config, json_member(document.root, "config"));
    if (read)
        read_fork(document.root, &facts->fork);
    json_document_free(&document);
    return read;
}

/* --- the first event --- */

bool run_files_add_memory(struct json *parent, const char *key,
                          const struct memory_forecast *memory)
{
    struct json *object = json_add_object(parent, key);
    return add_counts(object, memory, memory_places, LENGTH(memory_places)) &&
           (memory->teacher == 0 || add_counts(object, memory, &teacher_place, 1));
}

struct json *run_files_start_event(const struct run_facts *facts,
                                   const struct run_snapshot *snapshot)
{
    struct json *event = json_new_object();
    bool complete = json_add_string(event, "event", "start") &&
                    json_add_string(event, "network", facts->network) &&
                    json_add_string(event, "technique", facts->technique) &&
                    add_counts(event, facts, fact_places, LENGTH(fact_places)) &&
                    json_add_count(event, "iterations", snapshot->iterations) &&
                    json_add_number(event, "epochs", snapshot->epochs) &&
                    run_files_add_memory(event, "memory", &facts->forecast);
    if (complete)
        return event;
    json_free(event);
    return NULL;
}

bool run_files_read_start(const struct json *line, struct run_facts *facts,
                          struct run_snapshot *snapshot)
{
    const char *event = json_string(json_member(line, "event"));
    if (!event || strcmp(event, "start") != 0)
        return false;
    read_text(line, "network", facts->network, sizeof facts->network);
    read_text(line, "technique", facts->technique, sizeof facts->technique);
    read_counts(line, facts, fact_places, LENGTH(fact_places));
    const struct json *memory = json_member(line, "memory");
    read_counts(memory, &facts->forecast, memory_places, LENGTH(memory_places));
    read_counts(memory, &facts->forecast, &teacher_place, 1);
    read_counts(line, snapshot, count_places, LENGTH(count_places));
    read_numbers(line, snapshot, number_places, LENGTH(number_places));
    return true;
}

struct peek {
    struct run_facts *facts;
    bool read;
};

static bool take_first(void *context, const struct journal_line *line, struct error *error)
{
    struct run_snapshot unused = {0}; /* how far the run is to go, which the summary says, too */
    struct peek *peek = context;
    (void)error;
    peek->read = run_files_read_start(line->json, peek->facts, &unused);
    return false; /* there is no earlier entry */
}

bool run_files_peek_start(const char *directory, struct run_facts *facts)
{
    struct peek peek = {.facts = facts};
    journal_read(directory, NULL, take_first, &peek, NULL, NULL);
    return peek.read;
}

/* --- summary.json --- */

static bool add_error(struct json *tree, const struct error *error)
{
    if (error->kind == ERROR_NONE)
        return json_add_null(tree, "error");
    struct json *object = json_add_object(tree, "error");
    return json_add_count(object, "kind", error->kind) &&
           json_add_string(object, "what", error->what) &&
           json_add_string(object, "why", error->why) &&
           json_add_string(object, "advice", error->advice) &&
           json_add_string(object, "cause", run_cause_name(error));
}

bool run_files_add_test(struct json *object, const struct run_test *test)
{
    return json_add_count(object, "images", test->images) &&
           add_numbers(object, test, test_places, LENGTH(test_places));
}

bool run_files_read_test(const struct json *object, struct run_test *test)
{
    size_t images;
    const struct json *count = json_member(object, "images");
    *test = (struct run_test){0};
    if (!count || !json_count(count, &images))
        return false;
    test->images = images;
    test->epoch = test->loss = test->top1 = test->top5 = test->pixel_accuracy = (double)NAN;
    read_numbers(object, test, test_places, LENGTH(test_places));
    return true;
}

/* Sets figures that a run has not measured to NaN, which files have as null. The snapshot of a run
 * begins with zeros, and earlier versions wrote them. */
static void forget_unmeasured(struct run_snapshot *snapshot)
{
    if (!snapshot->validation.known)
        snapshot->validation.loss = snapshot->validation.best_loss = snapshot->validation.top1 =
            snapshot->validation.top5 = snapshot->validation.best_top1 = (double)NAN;
    if (snapshot->energy.unknown[0] && !(snapshot->energy.joules > 0))
        snapshot->energy.joules = snapshot->energy.seconds = snapshot->energy.images = (double)NAN;
    if (snapshot->iteration > 0)
        return;
    snapshot->loss = snapshot->loss_caffe = NAN;
    snapshot->loss_mean = (double)NAN;
    snapshot->ms_per_image_now = snapshot->ms_per_image_median = snapshot->images_per_second =
        (double)NAN;
}

bool run_files_write_summary(const char *directory, const struct journal *journal,
                             const struct run_snapshot *snapshot, const struct run_ranks *ranks,
                             struct error *error)
{
    struct run_snapshot measured = *snapshot;
    struct json *tree = json_new_object();
    forget_unmeasured(&measured);
    bool complete = json_add_string(tree, "format", "tinca-summary") &&
                    json_add_count(tree, "version", 1) &&
                    json_add_string(tree, "status", run_status_name(snapshot->status)) &&
                    add_error(tree, &snapshot->error) &&
                    add_counts(tree, snapshot, count_places, LENGTH(count_places)) &&
                    add_numbers(tree, &measured, number_places, LENGTH(number_places)) &&
                    (snapshot->test.images == 0 ||
                     run_files_add_test(json_add_object(tree, "test"), &snapshot->test)) &&
                    json_add_float(tree, "loss", measured.loss) &&
                    json_add_float(tree, "loss_caffe", measured.loss_caffe) &&
                    json_add_bool(tree, "has_validation", snapshot->validation.known) &&
                    json_add_string(tree, "energy_unknown", snapshot->energy.unknown) &&
                    json_add_count(tree, "journal", journal->synced) &&
                    json_add_count(tree, "journal_sum", journal->sum) &&
                    (!ranks || ranks->count == 0 || run_ranks_add(tree, ranks));
    return run_json_write(directory, "summary.json", tree, complete, error);
}

bool run_files_parse_end(const struct json *summary, struct journal_mark *mark)
{
    size_t length, sum;
    const struct json *bytes = json_member(summary, "journal"),
                      *present = json_member(summary, "journal_sum"),
                      *earlier = json_member(summary, "journal_crc32"),
                      *with = present ? present : earlier;
    if (!bytes || !with || !json_count(bytes, &length) || !json_count(with, &sum) ||
        sum > UINT32_MAX)
        return false;
    *mark = (struct journal_mark){
        .is_text = !present, .has_sum = true, .length = length, .sum = (uint32_t)sum};
    return true;
}

bool run_files_read_end(const char *directory, struct journal_mark *mark)
{
    struct json_document document;
    char *path = file_join(directory, "summary.json");
    bool read = path && json_read_file(&document, path, FILE_LIMIT, NULL);
    free(path);
    if (!read)
        return false;
    read = run_files_parse_end(document.root, mark);
    json_document_free(&document);
    return read;
}

static void read_error(const struct json *object, struct error *error)
{
    size_t kind;
    const struct json *number = json_member(object, "kind");
    *error = (struct error){0};
    if (!number || !json_count(number, &kind) || kind > ERROR_INTERRUPTED)
        return;
    error->kind = (enum error_kind)kind;
    read_text(object, "what", error->what, sizeof error->what);
    read_text(object, "why", error->why, sizeof error->why);
    read_text(object, "advice", error->advice, sizeof error->advice);
    run_cause_take(error, json_string(json_member(object, "cause")));
}

static bool read_status(const struct json *tree, enum run_status *status)
{
    const char *name = json_string(json_member(tree, "status"));
    for (*status = RUN_PREPARING; name && *status <= RUN_INTERRUPTED; ++*status)
        if (strcmp(run_status_name(*status), name) == 0)
            return run_status_is_over(*status);
    return false;
}

bool run_files_read_summary(const char *directory, struct run_snapshot *snapshot)
{
    struct json_document document;
    enum run_status status;
    char *path = file_join(directory, "summary.json");
    bool read = path && json_read_file(&document, path, FILE_LIMIT, NULL);
    free(path);
    if (!read)
        return false;
    const struct json *tree = document.root, *flag = json_member(tree, "has_validation");
    bool good = read_status(tree, &status);
    if (good) {
        double loss = NAN, caffe = NAN;
        snapshot->status = status;
        read_error(json_member(tree, "error"), &snapshot->error);
        read_counts(tree, snapshot, count_places, LENGTH(count_places));
        if (!snapshot->validation
                 .known) /* else the journal's; an earlier version has not written it */
            snapshot->validation.best_loss = NAN;
        read_numbers(tree, snapshot, number_places, LENGTH(number_places));
        run_files_read_test(json_member(tree, "test"), &snapshot->test);
        read_text(tree, "energy_unknown", snapshot->energy.unknown,
                  sizeof snapshot->energy.unknown);
        json_number(json_member(tree, "loss"), &loss);
        json_number(json_member(tree, "loss_caffe"), &caffe);
        snapshot->loss = (float)loss;
        snapshot->loss_caffe = (float)caffe;
        snapshot->validation.known = flag && json_bool(flag, &read) && read;
        forget_unmeasured(snapshot);
    }
    json_document_free(&document);
    return good;
}

/* --- the position of a checkpoint --- */

enum { KEY_SIZE = 64 };

const char *checkpoint_text(const struct safetensors *file, const char *key)
{
    char full[KEY_SIZE];
    snprintf(full, sizeof full, "tinca.%s", key);
    return safetensors_metadata(file, full);
}

bool checkpoint_place(const struct safetensors *file, uint64_t *iteration,
                      struct journal_mark *journal, struct error *error)
{
    uint64_t sum;
    const char *at = checkpoint_text(file, "iteration"), *length = checkpoint_text(file, "journal"),
               *present = checkpoint_text(file, "journal_sum"),
               *earlier = checkpoint_text(file, "journal_crc32"),
               *with = present ? present : earlier;
    *journal = (struct journal_mark){
        .is_text = !present, .has_sum = with && text_to_uint64(with, &sum) && sum <= UINT32_MAX};
    if (journal->has_sum)
        journal->sum = (uint32_t)sum;
    return (at && length && text_to_uint64(at, iteration) &&
            text_to_uint64(length, &journal->length)) ||
           error_set(error, ERROR_INPUT, file->path,
                     "go on with the version of tinca that wrote it",
                     "this checkpoint does not fit the run: %s", "iteration");
}
