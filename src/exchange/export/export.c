/* The network and the measurements are the trees of the run's files. Of data.json, which may list a
 * hundred thousand files, the session has the facts and one checksum over the list. */
#include "exchange/export/internal.h"

#include "base/clock.h"
#include "base/decimal.h"
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/host/host.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "engine/devices/device.h"
#include "exchange/export/export.h"
#include "runs/folder/computed_with.h"
#include "runs/folder/run_files.h"
#include "runs/folder/run_json.h"
#include "runs/folder/run_name.h"
#include "runs/folder/run_prune.h"
#include "runs/history/seed_group.h"
#include "runs/settings/config_data.h"
#include "runs/settings/settings.h"
#include "runs/values/series.h"

#include <config.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum { FILE_LIMIT = 1 << 30 };

/* --- labels --- */

static bool add_tags(struct json *tree, const char *directory)
{
    char tags[RUN_TAGS_SIZE], *rest = run_tags_read(directory, tags);
    struct json *list = tags[0] ? json_add_array(tree, "tags") : NULL;
    bool added = !tags[0] || list;
    for (char *tag; added && (tag = strtok_r(rest, " ", &rest));)
        added = json_add_string(list, NULL, tag);
    return added;
}

static bool add_labels(struct json *tree, const char *directory)
{
    char name[RUN_NAME_SIZE], note[RUN_NOTE_SIZE];
    run_name_read(directory, name);
    run_note_read(directory, note);
    return (!name[0] || json_add_string(tree, "name", name)) && add_tags(tree, directory) &&
           (!note[0] || json_add_string(tree, "note", note));
}

/* --- data --- */

/* Adds the CRC-32 of a list's compact text. */
static bool add_list_checksum(struct json *set, const char *key, const struct json *list)
{
    char crc[16];
    char *text = json_print(list, false, NULL);
    if (!text)
        return false;
    snprintf(crc, sizeof crc, "%08" PRIx32,
             (uint32_t)crc32_z(0, (const unsigned char *)text, strlen(text)));
    free(text);
    return json_add_string(set, key, crc);
}

/* Adds a set of data.json; its list of files, folders or parts as a checksum. */
static bool add_set(struct json *data, const char *key, const struct json *set)
{
    struct json *object = json_is_object(set) ? json_add_object(data, key) : NULL;
    if (!json_is_object(set))
        return json_add_null(data, key);
    bool added = object;
    for (const struct json *m = json_first_member(set); added && m; m = json_next(m)) {
        const char *name = json_key(m);
        const bool list = strcmp(name, "files") == 0 || strcmp(name, "folders") == 0 ||
                          strcmp(name, "parts") == 0;
        added = list ? add_list_checksum(object, "crc32", m)
                     : json_add_tree(object, name, json_copy(m));
    }
    return added;
}

static bool add_data(struct json *tree, const struct json *root)
{
    struct json *data = root ? json_add_object(tree, "data") : NULL;
    return !root ||
           (add_set(data, "training", json_member(root, "training")) &&
            add_set(data, "validation", json_member(root, "validation")) &&
            (!json_member(root, "test") || add_set(data, "test", json_member(root, "test"))) &&
            (!json_member(root, "teacher") ||
             json_add_tree(data, "teacher", json_copy(json_member(root, "teacher")))));
}

/* --- files of the run --- */

static bool add_network(struct json *tree, const struct json *root)
{
    struct json *network = root ? json_add_object(tree, "network") : NULL;
    bool added = !root || network;
    for (const struct json *m = json_first_member(root); added && m; m = json_next(m))
        if (strcmp(json_key(m), "crc32") != 0)
            added = json_add_tree(network, json_key(m), json_copy(m));
    return added;
}

static bool add_measurements(struct json *tree, const struct json *root)
{
    const struct json *devices = json_member(root, "devices");
    return !devices || json_add_tree(tree, "measurements", json_copy(devices));
}

/* Adds the files from which members of the session come. A damaged file, whose checksum is wrong,
 * is named in the list "damaged" instead. Returns false if memory is short. */
static bool add_files(struct json *tree, const char *directory)
{
    typedef bool add_file(struct json * tree, const struct json *root);
    static const struct {
        const char *name;
        add_file *add;
    } files[] = {{"provenance.json", provenance_add},
                 {"network.json", add_network},
                 {"data.json", add_data},
                 {"measurements.json", add_measurements}};
    struct json *damaged = NULL;
    bool added = true;
    for (size_t i = 0; added && i < sizeof files / sizeof *files; i++) {
        struct json_document document;
        if (run_json_open(&document, directory, files[i].name, FILE_LIMIT, NULL, NULL)) {
            added = files[i].add(tree, document.root);
            json_document_free(&document);
            continue;
        }
        damaged = damaged ? damaged : json_add_array(tree, "damaged");
        added = json_add_string(damaged, NULL, files[i].name);
    }
    return added;
}

/* Adds name and size of the model that a measurement would use: the best one, or the last. */
static bool add_model(struct json *tree, const char *directory)
{
    static const char *const names[] = {"best.safetensors", "weights.safetensors"};
    bool added = true, found = false;
    for (size_t i = 0; added && !found && i < sizeof names / sizeof *names; i++) {
        struct stat status;
        char *path = file_join(directory, names[i]);
        found = path && stat(path, &status) == 0 && S_ISREG(status.st_mode);
        struct json *model = found ? json_add_object(tree, "model") : NULL;
        added = path && (!found || (json_add_string(model, "file", names[i]) &&
                                    json_add_count(model, "bytes", (uint64_t)status.st_size)));
        free(path);
    }
    return added && json_add_count(tree, "disk_bytes", run_disk_bytes(directory));
}

/* Adds the energy of training, without pauses, if it was measured. */
static bool add_joules(struct json *tree, const struct run_snapshot *snapshot)
{
    struct json *energy = snapshot->energy.joules > 0 ? json_add_object(tree, "energy") : NULL;
    return !(snapshot->energy.joules > 0) ||
           (json_add_number(energy, "joules", snapshot->energy.joules) &&
            json_add_number(energy, "seconds", snapshot->energy.seconds) &&
            json_add_number(energy, "images", snapshot->energy.images));
}

/* Returns an object with these members, each only if the run has it; "damaged" lists the files that
 * cannot be read. The caller frees it. Returns NULL with an error if memory is short. */
static struct json *export_record(const struct run_facts *facts,
                                  const struct run_snapshot *snapshot, struct error *error)
{
    const char *directory = facts->directory;
    struct json *tree = json_new_object();
    if (add_labels(tree, directory) && add_model(tree, directory) && add_joules(tree, snapshot) &&
        add_files(tree, directory))
        return tree;
    error_set_memory(error, "the session file", 0);
    json_free(tree);
    return NULL;
}

/* --- the session file --- */

/* Writes the session file. Metadata and settings are built as JSON trees; the curves, which may
 * have millions of numbers, are written directly to the file. */

/* --- members --- */

/* Writes `tree` as `,"key":tree` and frees it. */
static bool put_tree(FILE *stream, const char *key, struct json *tree, bool complete,
                     struct error *error)
{
    char *text = complete ? json_print_utf8(tree, false, error) : NULL;
    json_free(tree);
    if (!text)
        return error_set_memory(error, "the session file", 0);
    fprintf(stream, ",\n\"%s\":%s", key, text);
    free(text);
    return true;
}

static bool put_text(FILE *stream, const char *key, const char *value, struct error *error)
{
    struct json *holder = json_new_object();
    bool complete = json_add_string(holder, key, value);
    char *text = complete ? json_print_utf8(holder, false, error) : NULL;
    json_free(holder);
    if (!text)
        return error_set_memory(error, "the session file", 0);
    fprintf(stream, ",\n%.*s", (int)strlen(text) - 2, text + 1); /* without its braces */
    free(text);
    return true;
}

/* --- the curves --- */

struct column {
    const char *key;
    size_t offset;
    bool is_count; /* uint64_t, else float */
    bool optional; /* the column is left out if all are 0 */
    bool nullable; /* 0 is unknown, and written as null */
};

#define POINT(key, member, is_count)                                                               \
    {                                                                                              \
        key, offsetof(struct series_point, member), is_count, false, false                         \
    }
#define VALIDATION(key, member, is_count)                                                          \
    {                                                                                              \
        key, offsetof(struct series_validation, member), is_count, false, false                    \
    }

#define MEMORY(key, member, optional)                                                              \
    {                                                                                              \
        key, offsetof(struct series_point, member), true, optional, true                           \
    }
#define POINT_COLUMNS                                                                              \
    POINT("iteration", iteration, true), POINT("epoch", epoch, false), POINT("loss", loss, false), \
        POINT("loss_caffe", loss_caffe, false), POINT("loss_mean", loss_mean, false),              \
        POINT("lr", learning_rate, false), POINT("ms_per_image", ms_per_image, false),             \
        MEMORY("memory_bytes", memory_bytes, false),                                               \
        MEMORY("gpu_memory_bytes", gpu_memory_bytes, true)
static const struct column point_columns[] = {
    POINT_COLUMNS,
    /* only with a discriminator */
    POINT("loss_discriminator", loss_discriminator, false), POINT("loss_l1", loss_l1, false)};
static const struct column taught_columns[] = {POINT_COLUMNS,
                                               POINT("loss_labels", loss_labels, false),
                                               POINT("loss_teacher", loss_teacher, false)};
enum { DISCRIMINATOR_COLUMNS = 2, IMAGE_COLUMNS = 1 };
_Static_assert(sizeof taught_columns == sizeof point_columns, "put_curves counts them alike");

static const struct column validation_columns[] = {
    VALIDATION("iteration", iteration, true), VALIDATION("epoch", epoch, false),
    VALIDATION("loss", loss, false), VALIDATION("top1", top1, false),
    VALIDATION("top5", top5, false), VALIDATION("loss_error", loss_error, false),
    /* only for networks that make images */
    VALIDATION("pixel_accuracy", pixel_accuracy, false)};

enum { CELL_SIZE = DECIMAL_SIZE };
_Static_assert((int)CELL_SIZE >= (int)JSON_FLOAT_SIZE, "a cell holds a float");

/* Writes a count; or the shortest decimal that reads back as the same float, or null if it is not
 * finite. Returns the length. */
static size_t print_cell(const struct column *column, const char *row, char text[CELL_SIZE])
{
    if (column->is_count) {
        uint64_t count;
        memcpy(&count, row + column->offset, sizeof count);
        if (!column->nullable || count > 0)
            return decimal_write_count(count, text);
        memcpy(text, "null", 4);
        return 4;
    }
    float value;
    memcpy(&value, row + column->offset, sizeof value);
    return json_float_text(value, text);
}

/* Writes a column; its cells pass through a buffer, since calls of stdio take longer than them. */
static void put_cells(FILE *stream, const struct column *column, const char *rows, size_t row_size,
                      size_t row_count)
{
    char block[4096];
    size_t used = 0;
    for (size_t r = 0; r < row_count; r++) {
        if (used + CELL_SIZE + 1 > sizeof block) {
            fwrite(block, 1, used, stream);
            used = 0;
        }
        if (r > 0)
            block[used++] = ',';
        used += print_cell(column, rows + r * row_size, block + used);
    }
    fwrite(block, 1, used, stream);
}

/* Returns whether a column is left out. */
static bool is_left_out(const struct column *column, const char *rows, size_t row_size,
                        size_t row_count)
{
    for (size_t r = 0; column->optional && r < row_count; r++) {
        uint64_t count;
        memcpy(&count, rows + r * row_size + column->offset, sizeof count);
        if (count > 0)
            return false;
    }
    return column->optional;
}

static void put_columns(FILE *stream, const char *key, const struct column *columns,
                        size_t column_count, const void *rows, size_t row_size, size_t row_count)
{
    fprintf(stream, ",\n\"%s\":{", key);
    for (size_t c = 0; c < column_count; c++) {
        if (is_left_out(&columns[c], rows, row_size, row_count))
            continue;
        fprintf(stream, "%s\"%s\":[", c ? ",\n " : "", columns[c].key);
        put_cells(stream, &columns[c], rows, row_size, row_count);
        fputc(']', stream);
    }
    fputc('}', stream);
}

static void put_curves(FILE *stream, const struct run *run)
{
    const struct series *series = run_series(run);
    const struct run_facts *facts = run_facts(run);
    size_t columns = sizeof point_columns / sizeof *point_columns;
    size_t validation = sizeof validation_columns / sizeof *validation_columns;
    const bool taught = training_settings(run_config(run)).teacher[0];
    if (!facts->discriminator_parameters && !taught)
        columns -= DISCRIMINATOR_COLUMNS;
    if (facts->classes || facts->imported[0])
        validation -= IMAGE_COLUMNS;
    put_columns(stream, "series", taught ? taught_columns : point_columns, columns, series->points,
                sizeof *series->points, series_count(series));
    put_columns(stream, "validation", validation_columns, validation, series->validations,
                sizeof *series->validations, series_validation_count(series));
}

/* --- a run --- */

static bool put_findings(FILE *stream, const struct run *run, size_t count, struct error *error)
{
    struct json *list = json_new_array();
    bool complete = list;
    for (size_t i = 0; complete && i < count; i++) {
        struct finding finding;
        run_finding(run, i, &finding);
        struct json *item = json_add_object(list, NULL);
        complete = json_add_string(item, "kind", finding_kind_name(finding.kind)) &&
                   json_add_count(item, "iteration", finding.iteration) &&
                   json_add_number(item, "epoch", finding.epoch) &&
                   json_add_string(item, "text", finding.text);
    }
    return put_tree(stream, "findings", list, complete, error);
}

/* Adds the energy of training; NULL values, with the reason if it is recorded, where it is not
 * known. */
static bool add_energy(struct json *tree, const struct run_snapshot *snapshot)
{
    const char *unknown = snapshot->energy.unknown;
    return json_add_number(tree, "joules_per_image", run_snapshot_joules_per_image(snapshot)) &&
           json_add_number(tree, "watts", run_snapshot_watts(snapshot)) &&
           (!unknown[0] || json_add_string(tree, "energy_unknown", unknown));
}

/* Adds how the loss of a run in fp16 was scaled. */
static bool add_loss_scale(struct json *tree, const struct run_snapshot *snapshot)
{
    return !(snapshot->loss_scale > 0) ||
           (json_add_number(tree, "loss_scale", snapshot->loss_scale) &&
            json_add_count(tree, "skipped_steps", snapshot->skipped_steps));
}

static bool put_timing(FILE *stream, const struct run *run, const struct run_snapshot *snapshot,
                       struct error *error)
{
    struct statistics times;
    if (!timing_of_series(run_series(run), &times, error))
        return false;
    struct json *tree = json_new_object(), *ms = json_add_object(tree, "ms_per_image");
    bool complete =
        json_add_number(ms, "median", times.median) && json_add_number(ms, "min", times.min) &&
        json_add_number(ms, "mean", times.mean) && json_add_number(ms, "sd", times.sd) &&
        json_add_number(ms, "ci95", times.ci95) &&
        json_add_number(tree, "total_seconds", snapshot->elapsed_seconds) &&
        json_add_number(tree, "feed_wait_seconds", snapshot->feed_wait_seconds) &&
        add_loss_scale(tree, snapshot) && add_energy(tree, snapshot);
    return put_tree(stream, "timing", tree, complete, error);
}

/* Writes the result on the test set, if there is one. */
static bool put_test(FILE *stream, const struct run *run, const struct run_test *test,
                     struct error *error)
{
    char spec[CONFIG_SPEC];
    if (test->images == 0)
        return true;
    struct json *tree = json_new_object();
    const bool complete = json_add_string(tree, "data", config_test_spec(run_config(run), spec)) &&
                          json_add_number(tree, "epoch", test->epoch) &&
                          json_add_float(tree, "loss", (float)test->loss) &&
                          json_add_float(tree, "top1", (float)test->top1) &&
                          json_add_float(tree, "top5", (float)test->top5) &&
                          (run_facts(run)->classes > 0 ||
                           json_add_float(tree, "pixel_accuracy", (float)test->pixel_accuracy)) &&
                          json_add_count(tree, "images", test->images);
    return put_tree(stream, "test", tree, complete, error);
}

/* Writes what each of several processes has done, if that was recorded. */
static bool put_ranks(FILE *stream, const struct run *run, struct error *error)
{
    struct run_ranks ranks = {0};
    if (!run_ranks(run, &ranks))
        return error_set_memory(error, "the ranks", 0);
    struct json *holder = ranks.count > 0 ? json_new_object() : NULL;
    const bool complete = run_ranks_add(holder, &ranks);
    const bool put =
        ranks.count == 0 ||
        put_tree(stream, "ranks", json_copy(json_member(holder, "ranks")), complete, error);
    json_free(holder);
    run_ranks_free(&ranks);
    return put;
}

/* Writes the source of an imported run. */
static bool put_import(FILE *stream, const struct run_facts *facts, struct error *error)
{
    struct json *tree = json_new_object();
    const bool complete = json_add_string(tree, "framework", facts->imported) &&
                          json_add_string(tree, "host", facts->host) &&
                          json_add_bool(tree, "mean_only", facts->mean_only);
    return put_tree(stream, "imported", tree, complete, error);
}

/* Writes where a forked run comes from. */
static bool put_fork(FILE *stream, const struct run_fork *fork, struct error *error)
{
    struct json *tree = json_new_object();
    const bool complete = json_add_string(tree, "ancestor", fork->ancestor) &&
                          json_add_string(tree, "checkpoint", fork->checkpoint) &&
                          (fork->iteration ? json_add_count(tree, "iteration", fork->iteration)
                                           : json_add_null(tree, "iteration")) &&
                          json_add_bool(tree, "weights_only", fork->weights_only);
    return put_tree(stream, "fork", tree, complete, error);
}

static bool put_config(FILE *stream, const struct run *run, struct error *error)
{
    struct json *tree = json_new_object();
    const bool imported = run_facts(run)->imported[0];
    return put_tree(stream, "config", tree,
                    imported ? config_given_to_json(run_config(run), tree)
                             : config_to_json(run_config(run), tree),
                    error) &&
           (!imported || put_import(stream, run_facts(run), error)) &&
           (!run_facts(run)->fork.ancestor[0] || put_fork(stream, &run_facts(run)->fork, error));
}

static bool put_memory(FILE *stream, const struct run_facts *facts, struct error *error)
{
    if (facts->imported[0] && facts->forecast.total == 0) {
        fputs(",\n\"memory_forecast\":null", stream);
        return true;
    }
    struct json *holder = json_new_object();
    bool complete = run_files_add_memory(holder, "m", &facts->forecast);
    struct json *tree = complete ? json_copy(json_member(holder, "m")) : NULL;
    if (facts->memory_peak > 0)
        complete = tree && json_add_count(tree, "peak", facts->memory_peak);
    json_free(holder);
    return put_tree(stream, "memory_forecast", tree, tree && complete, error);
}

/* Writes what a series of another name has: its steps, times or values. */
static bool put_scalar_values(FILE *stream, const struct scalar_series *series, const char *key,
                              size_t offset, struct error *error)
{
    struct json *list = json_new_array();
    bool complete = list;
    for (size_t i = 0; complete && i < series->count; i++) {
        double value = (double)series->values[i].step;
        if (offset > 0)
            memcpy(&value, (const char *)&series->values[i] + offset, sizeof value);
        complete = json_add_number(list, NULL, value);
    }
    char *text = complete ? json_print(list, false, error) : NULL;
    json_free(list);
    if (!text)
        return error_set_memory(error, "the session file", 0);
    fprintf(stream, "%s\"%s\":%s", offset ? "," : "", key, text);
    free(text);
    return true;
}

/* Writes the name of a member that is an object, and the object's bracket. */
static bool put_name(FILE *stream, const char *name, struct error *error)
{
    struct json *holder = json_new_object();
    char *text = json_add_object(holder, name) ? json_print_utf8(holder, false, error) : NULL;
    json_free(holder);
    if (!text)
        return error_set_memory(error, "the session file", 0);
    fprintf(stream, "%.*s", (int)strlen(text) - 3, text + 1); /* without the other brackets */
    free(text);
    return true;
}

static bool put_scalars(FILE *stream, const struct run *run, struct error *error)
{
    const struct scalars *scalars = run_scalars(run);
    bool put = true;
    fputs(",\n\"scalars\":{", stream);
    for (size_t i = 0; put && i < scalars->count; i++) {
        const struct scalar_series *series = &scalars->series[i];
        fputs(i ? ",\n " : "", stream);
        put =
            put_name(stream, series->name, error) &&
            put_scalar_values(stream, series, "step", 0, error) &&
            put_scalar_values(stream, series, "time", offsetof(struct scalar_value, time), error) &&
            put_scalar_values(stream, series, "value", offsetof(struct scalar_value, value), error);
        fputc('}', stream);
    }
    fputc('}', stream);
    return put;
}

/* Returns the word for the status in the file: "running" for any run that has not ended. */
static const char *status_word(enum run_status status)
{
    return run_status_name(run_status_is_over(status) ? status : RUN_RUNNING);
}

static bool put_state(FILE *stream, const struct run_snapshot *snapshot, struct error *error)
{
    char text[1200];
    fprintf(stream, ",\n\"status\":\"%s\"", status_word(snapshot->status));
    if (snapshot->error.kind != ERROR_NONE)
        return put_text(stream, "error", error_format(&snapshot->error, text, sizeof text), error);
    fputs(",\n\"error\":null", stream);
    return true;
}

/* Writes the profile of the layers, if the run was inspected. */
static bool put_profile(FILE *stream, struct run *run, struct error *error)
{
    struct error unread;
    const struct inspection *inspection = run_inspection(run, &unread);
    struct json *tree = inspection ? inspection_profile(inspection) : NULL;
    return !inspection || put_tree(stream, "profile", tree, tree, error);
}

/* Writes labels, provenance, network, data, model and measurements. */
static bool put_record(FILE *stream, const struct run_facts *facts,
                       const struct run_snapshot *snapshot, struct error *error)
{
    struct json *tree = export_record(facts, snapshot, error);
    char *text = tree ? json_print_utf8(tree, false, error) : NULL;
    json_free(tree);
    if (!text)
        return false;
    if (strlen(text) > 2)
        fprintf(stream, ",\n%.*s", (int)strlen(text) - 2, text + 1); /* without its braces */
    free(text);
    return true;
}

/* Writes a count; null if it is 0 and the log of an imported run does not give it. */
static void put_count(FILE *stream, const char *key, uint64_t count, const struct run_facts *facts)
{
    if (count > 0 || !facts->imported[0])
        fprintf(stream, "\"%s\":%" PRIu64, key, count);
    else
        fprintf(stream, "\"%s\":null", key);
}

static bool put_run(FILE *stream, struct run *run, struct error *error)
{
    const struct run_facts *facts = run_facts(run);
    struct run_snapshot snapshot;
    run_snapshot(run, &snapshot);
    fputc('{', stream);
    put_count(stream, "parameters", facts->parameters, facts);
    if (facts->discriminator_parameters)
        fprintf(stream, ",\"discriminator_parameters\":%zu", facts->discriminator_parameters);
    fputs(",\n", stream);
    put_count(stream, "flops", facts->flops, facts);
    fputc(',', stream);
    put_count(stream, "images", facts->images, facts);
    fputc(',', stream);
    put_count(stream, "classes", facts->classes, facts);
    bool put = put_text(stream, "id", facts->id, error) &&
               put_text(stream, "created", facts->created, error) &&
               put_config(stream, run, error) && put_state(stream, &snapshot, error) &&
               put_memory(stream, facts, error) && put_record(stream, facts, &snapshot, error);
    if (!put)
        return false;
    put_curves(stream, run);
    put = put_scalars(stream, run, error) && put_test(stream, run, &snapshot.test, error) &&
          put_findings(stream, run, snapshot.finding_count, error) &&
          put_timing(stream, run, &snapshot, error) && put_ranks(stream, run, error) &&
          put_profile(stream, run, error);
    fputc('}', stream);
    return put;
}

/* --- the groups of seeds --- */

static const char *group_of(const struct run *run)
{
    return record_settings(run_config(run)).seed_group;
}

/* Returns whether a run is the first one of a group of seeds. */
static bool leads_group(struct run *const *runs, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(group_of(runs[i]), group_of(runs[index])) == 0)
            return false;
    return group_of(runs[index])[0];
}

/* Returns whether any of the runs belongs to a group of seeds. */
static bool has_groups(struct run *const *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (leads_group(runs, i))
            return true;
    return false;
}

static bool add_group(struct run *const *runs, size_t count, size_t first, struct json *object,
                      struct error *error)
{
    struct seed_statistics statistics;
    struct run_figures *figures = memory_new(count, sizeof *figures, "the groups of seeds", error);
    struct json *list = json_add_array(object, "runs");
    bool added = figures && list;
    size_t members = 0;
    for (size_t i = first; added && i < count; i++) {
        struct run_snapshot end;
        if (strcmp(group_of(runs[i]), group_of(runs[first])) != 0)
            continue;
        run_snapshot(runs[i], &end);
        figures[members++] = run_figures_of(&end, run_series(runs[i]));
        added = json_add_string(list, NULL, run_facts(runs[i])->id);
    }
    added = added && seed_statistics_compute(figures, members, &statistics, error) &&
            seed_statistics_to_json(&statistics, object);
    free(figures);
    return added;
}

/* Adds a member for each group to `object`: its runs, and mean, standard deviation and 95 %
 * interval of their results. Returns false if out of memory. */
static bool add_groups(struct run *const *runs, size_t count, struct json *object,
                       struct error *error)
{
    bool added = object;
    for (size_t i = 0; added && i < count; i++)
        if (leads_group(runs, i))
            added = add_group(runs, count, i, json_add_object(object, group_of(runs[i])), error);
    return added;
}

/* --- the session --- */

static bool put_host(FILE *stream, struct error *error)
{
    struct host host;
    host_describe(&host);
    struct json *tree = json_new_object();
    bool complete =
        json_add_string(tree, "name", host.name) && json_add_string(tree, "cpu", host.cpu) &&
        json_add_count(tree, "cores", host.cores) &&
        json_add_count(tree, "memory_bytes", host.memory_bytes) && json_add_null(tree, "gpu");
    return put_tree(stream, "host", tree, complete, error);
}

/* Writes version and features: the usable devices and the instruction set of the kernels. */
static bool put_program(FILE *stream, struct error *error)
{
    char reason[256];
    struct json *tree = json_new_object();
    bool complete = json_add_string(tree, "version", PACKAGE_VERSION);
    struct json *features = json_add_array(tree, "features");
    for (size_t i = 0; complete && device_drivers[i]; i++)
        if (device_drivers[i]->available(reason, sizeof reason))
            complete = json_add_string(features, NULL, device_drivers[i]->name);
    complete =
        complete && json_add_string(features, NULL, instruction_set_name(host_instruction_set()));
    return put_tree(stream, "tinca", tree, complete, error);
}

static bool put_session(FILE *stream, struct run *const *runs, size_t count, struct error *error)
{
    char now[32];
    fprintf(stream, "{\"format\":\"tinca-session\",\"version\":3");
    if (!put_text(stream, "created", clock_now_rfc3339(now, sizeof now), error) ||
        !put_host(stream, error) || !put_program(stream, error))
        return false;
    fputs(",\n\"runs\":[", stream);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ",\n\n" : "\n", stream);
        if (!put_run(stream, runs[i], error))
            return false;
    }
    fputs("\n]", stream);
    if (has_groups(runs, count)) {
        struct json *groups = json_new_object();
        const bool complete = add_groups(runs, count, groups, error);
        if (!put_tree(stream, "groups", groups, complete, error))
            return false;
    }
    fputs("}\n", stream);
    return true;
}

bool export_session(struct run *const *runs, size_t count, const char *path, struct error *error)
{
    struct output_file output;
    if (!output_file_open(&output, path, OUTPUT_TEXT, error))
        return false;
    if (put_session(output.stream, runs, count, error))
        return output_file_commit(&output, error);
    output_file_abandon(&output);
    return false;
}
