/* Reads and writes measurements.json: {"format", "version", "devices": [entry...]}. One table of
 * members serves both directions, so that they agree. To add an entry, the file is read, changed
 * and replaced as a whole by one process at a time, which has measurements.lock locked. */
#include "models/measure/measurement.h"

#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/json/json_field.h"
#include "base/language.h"
#include "base/memory.h"
#include "runs/folder/run_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char file_name[] = "measurements.json";
static const char measure_again[] = N_("remove it and measure again");
enum { FILE_LIMIT = 1 << 20 };

/* --- the model --- */

static bool file_size(const char *path, uint64_t *bytes)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    *bytes = (uint64_t)status.st_size;
    return true;
}

char *measurement_model_path(const char *run_directory, uint64_t *bytes, struct error *error)
{
    static const char *const names[] = {"best.safetensors", "weights.safetensors"};
    uint64_t size = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = file_join(run_directory, names[i]);
        if (!path) {
            error_set_memory(error, "a path", 0);
            return NULL;
        }
        if (file_size(path, &size)) {
            if (bytes)
                *bytes = size;
            return path;
        }
        free(path);
    }
    error_set(error, ERROR_INPUT, run_directory, "let the run end, or train again",
              "this run has saved no weights");
    return NULL;
}

bool model_stamp_read(struct model_stamp *stamp, const char *path, struct error *error)
{
    struct stat status;
    *stamp = (struct model_stamp){.bytes = 0};
    if (stat(path, &status) != 0)
        return error_set_errno(error, path, "measure again", "it cannot be looked at");
    snprintf(stamp->weights, sizeof stamp->weights, "%s", file_base_name(path));
    stamp->bytes = (uint64_t)status.st_size;
    stamp->changed = status.st_mtime > 0 ? (uint64_t)status.st_mtime : 0;
    return true;
}

bool measurement_note_model(struct measurement *measurement, const char *path, struct error *error)
{
    struct model_stamp stamp;
    if (!model_stamp_read(&stamp, path, error))
        return false;
    snprintf(measurement->weights, sizeof measurement->weights, "%s", stamp.weights);
    measurement->model_bytes = stamp.bytes;
    measurement->model_changed = stamp.changed;
    return true;
}

/* --- the table --- */

struct member {
    struct json_field field;
    bool timing;   /* inside "ms_per_image" */
    bool optional; /* missing in files of older versions */
};

#define MEMBER(name) JSON_FIELD_AT(struct measurement, name)

static const struct member members[] = {
    {.field = {"device", JSON_FIELD_TEXT, MEMBER(on.device)}},
    {.field = {"host", JSON_FIELD_TEXT, MEMBER(on.host)}},
    {.field = {"cpu", JSON_FIELD_TEXT, MEMBER(on.cpu)}},
    {.field = {"precision", JSON_FIELD_TEXT, MEMBER(on.precision)}, .optional = true},
    {.field = {"threads", JSON_FIELD_COUNT, MEMBER(on.threads)}},
    {.field = {"created", JSON_FIELD_TEXT, MEMBER(on.created)}},
    {.field = {"data", JSON_FIELD_TEXT, MEMBER(data)}},
    {.field = {"weights", JSON_FIELD_TEXT, MEMBER(weights)}},
    {.field = {"images", JSON_FIELD_COUNT, MEMBER(images)}},
    {.field = {"top1", JSON_FIELD_NUMBER, MEMBER(top1)}},
    {.field = {"top5", JSON_FIELD_NUMBER, MEMBER(top5)}},
    {.field = {"loss", JSON_FIELD_NUMBER, MEMBER(loss)}},
    {.field = {"model_bytes", JSON_FIELD_COUNT, MEMBER(model_bytes)}},
    {.field = {"model_changed", JSON_FIELD_COUNT, MEMBER(model_changed)}, .optional = true},
    {.field = {"memory_bytes", JSON_FIELD_COUNT, MEMBER(memory_bytes)}},
    {.field = {"joules_per_image", JSON_FIELD_NUMBER, MEMBER(joules_per_image)}, .optional = true},
    {.field = {"watts", JSON_FIELD_NUMBER, MEMBER(watts)}, .optional = true},
    {.field = {"energy_unknown", JSON_FIELD_TEXT, MEMBER(energy_unknown)}, .optional = true},
    {.field = {"chosen", JSON_FIELD_TEXT, MEMBER(chosen)}, .optional = true},
    {.field = {"median", JSON_FIELD_NUMBER, MEMBER(ms_per_image.median)}, .timing = true},
    {.field = {"min", JSON_FIELD_NUMBER, MEMBER(ms_per_image.min)}, .timing = true},
    {.field = {"mean", JSON_FIELD_NUMBER, MEMBER(ms_per_image.mean)}, .timing = true},
    {.field = {"sd", JSON_FIELD_NUMBER, MEMBER(ms_per_image.sd)}, .timing = true},
    {.field = {"ci95", JSON_FIELD_NUMBER, MEMBER(ms_per_image.ci95)}, .timing = true},
};
enum { MEMBERS = sizeof members / sizeof *members };

static bool add_entry(struct json *list, const struct measurement *entry)
{
    struct json *object = json_add_object(list, NULL);
    struct json *timing = json_add_object(object, "ms_per_image");
    bool added = timing;
    for (size_t i = 0; added && i < MEMBERS; i++)
        added = json_field_add(members[i].timing ? timing : object, &members[i].field, entry);
    return added;
}

static bool read_entry(const struct json_document *document, const struct json *object,
                       struct measurement *entry, struct error *error)
{
    const struct json *timing = json_member(object, "ms_per_image");
    *entry = (struct measurement){.joules_per_image = (double)NAN, .watts = (double)NAN};
    for (size_t i = 0; i < MEMBERS; i++) {
        const struct json *value =
            json_member(members[i].timing ? timing : object, members[i].field.key);
        if (!value && members[i].optional)
            continue;
        if (!value || !json_field_read(value, &members[i].field, entry))
            return error_set(error, ERROR_INPUT, document->name, measure_again,
                             "line %zu: \"%s\" is missing or wrong", json_line(document, object),
                             members[i].field.key);
    }
    if (!isfinite(entry->ms_per_image.mean))
        return error_set(error, ERROR_INPUT, document->name, measure_again,
                         "line %zu: a time is not a number", json_line(document, object));
    return true;
}

static const struct json_field turns_members[] = {
    {"other", JSON_FIELD_TEXT, JSON_FIELD_AT(struct measured_turns, other)},
    {"weights", JSON_FIELD_TEXT, JSON_FIELD_AT(struct measured_turns, own.weights)},
    {"model_bytes", JSON_FIELD_COUNT, JSON_FIELD_AT(struct measured_turns, own.bytes)},
    {"model_changed", JSON_FIELD_COUNT, JSON_FIELD_AT(struct measured_turns, own.changed)},
    {"other_weights", JSON_FIELD_TEXT, JSON_FIELD_AT(struct measured_turns, with.weights)},
    {"other_bytes", JSON_FIELD_COUNT, JSON_FIELD_AT(struct measured_turns, with.bytes)},
    {"other_changed", JSON_FIELD_COUNT, JSON_FIELD_AT(struct measured_turns, with.changed)},
};
enum { TURNS_MEMBERS = sizeof turns_members / sizeof *turns_members };

static bool add_turns(struct json *list, const struct measured_turns *turns)
{
    struct json *object = json_add_object(list, NULL);
    bool added = object;
    for (size_t i = 0; added && i < TURNS_MEMBERS; i++)
        added = json_field_add(object, &turns_members[i], turns);
    return added && turns_to_json(object, &turns->turns);
}

static bool read_turns(const struct json_document *document, const struct json *object,
                       struct measured_turns *turns, struct error *error)
{
    bool read = turns_from_json(&turns->turns, object);
    for (size_t i = 0; read && i < TURNS_MEMBERS; i++)
        read = json_field_read(json_member(object, turns_members[i].key), &turns_members[i], turns);
    return read || error_set(error, ERROR_INPUT, document->name, measure_again,
                             "line %zu: the turns with another model are damaged",
                             json_line(document, object));
}

/* --- reading --- */

static bool read_list(struct measurements *measurements, const struct json_document *document,
                      struct error *error)
{
    const char *format = json_string(json_member(document->root, "format"));
    if (!format || strcmp(format, "tinca-measurements") != 0)
        return error_set(error, ERROR_INPUT, document->name, measure_again,
                         "this is not a file of measurements of tinca");
    const struct json *item = json_first(json_member(document->root, "devices"));
    for (; item; item = json_next(item)) {
        if (!memory_grow(&measurements->entries, &measurements->capacity, measurements->count + 1,
                         sizeof *measurements->entries, "the measurements", error) ||
            !read_entry(document, item, &measurements->entries[measurements->count], error))
            return false;
        measurements->count++;
    }
    item = json_first(json_member(document->root, "turns"));
    for (; item; item = json_next(item)) {
        if (!memory_grow(&measurements->turns, &measurements->turns_capacity,
                         measurements->turns_count + 1, sizeof *measurements->turns,
                         "the measurements", error) ||
            !read_turns(document, item, &measurements->turns[measurements->turns_count], error))
            return false;
        measurements->turns_count++;
    }
    return true;
}

/* Marks entries that were measured on another model file than the present one. If the run has no
 * model file any more, its entries stay valid. */
static void mark_stale(struct measurements *measurements, const char *run_directory)
{
    struct model_stamp *now = &measurements->model;
    char *path = measurement_model_path(run_directory, NULL, NULL);
    bool known = path && model_stamp_read(now, path, NULL);
    for (size_t i = 0; known && i < measurements->count; i++) {
        struct measurement *entry = &measurements->entries[i];
        entry->stale =
            entry->weights[0] &&
            (strcmp(entry->weights, now->weights) != 0 || entry->model_bytes != now->bytes ||
             (entry->model_changed && entry->model_changed != now->changed));
    }
    free(path);
}

bool measurements_read(struct measurements *measurements, const char *run_directory,
                       struct error *error)
{
    struct json_document document;
    *measurements = (struct measurements){0};
    if (!run_json_open(&document, run_directory, file_name, FILE_LIMIT, measure_again, error))
        return false;
    const bool read = !document.root || read_list(measurements, &document, error);
    json_document_free(&document);
    if (read)
        mark_stale(measurements, run_directory);
    else
        measurements_free(measurements);
    return read;
}

void measurements_free(struct measurements *measurements)
{
    free(measurements->entries);
    free(measurements->turns);
    *measurements = (struct measurements){0};
}

/* --- writing --- */

static bool write_list(const struct measurements *measurements, const char *run_directory,
                       struct error *error)
{
    struct json *root = json_new_object();
    bool complete =
        json_add_string(root, "format", "tinca-measurements") && json_add_count(root, "version", 1);
    struct json *list = json_add_array(root, "devices");
    for (size_t i = 0; i < measurements->count; i++)
        complete = complete && add_entry(list, &measurements->entries[i]);
    struct json *turns = measurements->turns_count > 0 ? json_add_array(root, "turns") : NULL;
    for (size_t i = 0; i < measurements->turns_count; i++)
        complete = complete && add_turns(turns, &measurements->turns[i]);
    return run_json_write(run_directory, file_name, root, complete && list, error);
}

bool measurements_place(struct measurements *measurements, const struct measurement *entry,
                        struct error *error)
{
    for (size_t i = 0; i < measurements->count; i++)
        if (strcmp(measurements->entries[i].on.device, entry->on.device) == 0) {
            measurements->entries[i] = *entry;
            return true;
        }
    if (!memory_grow(&measurements->entries, &measurements->capacity, measurements->count + 1,
                     sizeof *measurements->entries, "the measurements", error))
        return false;
    measurements->entries[measurements->count++] = *entry;
    return true;
}

/* Waits until no other process adds to the run's measurements. Returns a descriptor; close(2)
 * releases the lock. Returns -1 with an error. */
static int lock_list(const char *run_directory, struct error *error)
{
    char *path = file_join(run_directory, "measurements.lock");
    const int lock = path ? file_lock(path, error) : -1;
    if (!path)
        error_set_memory(error, "a path", 0);
    free(path);
    return lock;
}

bool measurements_put(const char *run_directory, const struct measurement *measurement,
                      struct error *error)
{
    struct measurements measurements = {0};
    const int lock = lock_list(run_directory, error);
    const bool put = lock >= 0 && measurements_read(&measurements, run_directory, error) &&
                     measurements_place(&measurements, measurement, error) &&
                     write_list(&measurements, run_directory, error);
    measurements_free(&measurements);
    if (lock >= 0)
        close(lock);
    return put;
}

/* Removes older turns with the same run on the same device, and the oldest if there are too many.
 */
static void make_room(struct measurements *measurements, const struct measured_turns *turns)
{
    struct measured_turns *list = measurements->turns;
    size_t left = 0;
    for (size_t i = 0; i < measurements->turns_count; i++)
        if (strcmp(list[i].other, turns->other) != 0 ||
            strcmp(list[i].turns.on.device, turns->turns.on.device) != 0)
            list[left++] = list[i];
    if (left >= MEASURED_TURNS)
        memmove(list, list + 1, --left * sizeof *list);
    measurements->turns_count = left;
}

bool measurements_put_turns(const char *run_directory, const struct measured_turns *turns,
                            struct error *error)
{
    struct measurements measurements = {0};
    const int lock = lock_list(run_directory, error);
    bool put = lock >= 0 && measurements_read(&measurements, run_directory, error);
    if (put)
        make_room(&measurements, turns);
    put = put && memory_grow(&measurements.turns, &measurements.turns_capacity,
                             measurements.turns_count + 1, sizeof *measurements.turns,
                             "the measurements", error);
    if (put)
        measurements.turns[measurements.turns_count++] = *turns;
    put = put && write_list(&measurements, run_directory, error);
    measurements_free(&measurements);
    if (lock >= 0)
        close(lock);
    return put;
}

/* --- queries --- */

bool measurements_copy(struct measurements *to, const struct measurements *from,
                       struct error *error)
{
    *to = (struct measurements){.model = from->model};
    if (!memory_grow(&to->entries, &to->capacity, from->count, sizeof *to->entries,
                     "the measurements", error) ||
        !memory_grow(&to->turns, &to->turns_capacity, from->turns_count, sizeof *to->turns,
                     "the measurements", error)) {
        measurements_free(to);
        return false;
    }
    if (from->count > 0)
        memcpy(to->entries, from->entries, from->count * sizeof *to->entries);
    if (from->turns_count > 0)
        memcpy(to->turns, from->turns, from->turns_count * sizeof *to->turns);
    to->count = from->count;
    to->turns_count = from->turns_count;
    return true;
}

bool model_stamp_is_present(const struct model_stamp *stamp, const struct model_stamp *now)
{
    return !now->weights[0] || (strcmp(stamp->weights, now->weights) == 0 &&
                                stamp->bytes == now->bytes && stamp->changed == now->changed);
}

static const struct turns *turns_with(const struct measurements *own,
                                      const struct measurements *other, const char *id,
                                      const char *device)
{
    for (size_t i = own->turns_count; i-- > 0;) {
        const struct measured_turns *turns = &own->turns[i];
        if (strcmp(turns->other, id) == 0 && measured_on_device(turns->turns.on.device, device) &&
            model_stamp_is_present(&turns->own, &own->model) &&
            model_stamp_is_present(&turns->with, &other->model))
            return &turns->turns;
    }
    return NULL;
}

bool measurements_find_turns(const struct measurements *a, const char *id_a,
                             const struct measurements *b, const char *id_b, const char *device,
                             struct turns *turns)
{
    const struct turns *found = turns_with(a, b, id_b, device);
    const struct turns *reverse = turns_with(b, a, id_a, device);
    if (reverse && (!found || strcmp(reverse->on.created, found->on.created) > 0))
        *turns = turns_swapped(reverse);
    else if (found)
        *turns = *found;
    return found || reverse;
}

const struct measurement *measurements_find(const struct measurements *measurements,
                                            const char *device)
{
    const struct measurement *found = NULL;
    for (size_t i = 0; i < measurements->count; i++) {
        const struct measurement *entry = &measurements->entries[i];
        if (!entry->stale && strcmp(entry->on.device, device) == 0)
            return entry;
        if (!entry->stale && !found && measured_on_device(entry->on.device, device))
            found = entry;
    }
    return found;
}
