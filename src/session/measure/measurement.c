/* Reads and writes measurements.json: {"format", "version", "devices": [entry...]}. One table of
 * members serves both directions, so that they agree. */
#include "session/measure/measurement.h"

#include "base/language.h"
#include "base/memory.h"
#include "session/files/run_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char file_name[] = "measurements.json";
static const char measure_again[] = N_("remove it and measure again");
enum { FILE_LIMIT = 1 << 20 };

/* --- the table --- */

enum member_kind { MEMBER_TEXT, MEMBER_COUNT, MEMBER_NUMBER };

struct member {
    const char *key;
    enum member_kind kind;
    size_t offset, size;
    bool timing;   /* inside "ms_per_image" */
    bool optional; /* missing in files of older versions */
};

/* The place of a member in struct measurement. */
#define MEMBER(name)                                                                               \
    .offset = offsetof(struct measurement, name), .size = sizeof(((struct measurement *)0)->name)

static const struct member members[] = {
    {.key = "device", .kind = MEMBER_TEXT, MEMBER(device)},
    {.key = "host", .kind = MEMBER_TEXT, MEMBER(host)},
    {.key = "cpu", .kind = MEMBER_TEXT, MEMBER(cpu)},
    {.key = "precision", .kind = MEMBER_TEXT, MEMBER(precision), .optional = true},
    {.key = "threads", .kind = MEMBER_COUNT, MEMBER(threads)},
    {.key = "created", .kind = MEMBER_TEXT, MEMBER(created)},
    {.key = "data", .kind = MEMBER_TEXT, MEMBER(data)},
    {.key = "weights", .kind = MEMBER_TEXT, MEMBER(weights)},
    {.key = "images", .kind = MEMBER_COUNT, MEMBER(images)},
    {.key = "top1", .kind = MEMBER_NUMBER, MEMBER(top1)},
    {.key = "top5", .kind = MEMBER_NUMBER, MEMBER(top5)},
    {.key = "loss", .kind = MEMBER_NUMBER, MEMBER(loss)},
    {.key = "model_bytes", .kind = MEMBER_COUNT, MEMBER(model_bytes)},
    {.key = "model_changed", .kind = MEMBER_COUNT, MEMBER(model_changed), .optional = true},
    {.key = "memory_bytes", .kind = MEMBER_COUNT, MEMBER(memory_bytes)},
    {.key = "joules_per_image", .kind = MEMBER_NUMBER, MEMBER(joules_per_image), .optional = true},
    {.key = "watts", .kind = MEMBER_NUMBER, MEMBER(watts), .optional = true},
    {.key = "energy_unknown", .kind = MEMBER_TEXT, MEMBER(energy_unknown), .optional = true},
    {.key = "chosen", .kind = MEMBER_TEXT, MEMBER(chosen), .optional = true},
    {.key = "median", .kind = MEMBER_NUMBER, MEMBER(ms_per_image.median), .timing = true},
    {.key = "min", .kind = MEMBER_NUMBER, MEMBER(ms_per_image.min), .timing = true},
    {.key = "mean", .kind = MEMBER_NUMBER, MEMBER(ms_per_image.mean), .timing = true},
    {.key = "sd", .kind = MEMBER_NUMBER, MEMBER(ms_per_image.sd), .timing = true},
    {.key = "ci95", .kind = MEMBER_NUMBER, MEMBER(ms_per_image.ci95), .timing = true},
};
enum { MEMBERS = sizeof members / sizeof *members };
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "counts are kept in 64 bits");

static bool add_member(struct json *object, const struct member *member, const void *value)
{
    uint64_t count;
    double number;
    switch (member->kind) {
    case MEMBER_TEXT:
        return json_add_string(object, member->key, value);
    case MEMBER_COUNT:
        memcpy(&count, value, sizeof count);
        return json_add_count(object, member->key, count);
    default:
        memcpy(&number, value, sizeof number);
        return json_add_number(object, member->key, number);
    }
}

static bool add_entry(struct json *list, const struct measurement *entry)
{
    struct json *object = json_add_object(list, NULL);
    struct json *timing = json_add_object(object, "ms_per_image");
    bool added = timing;
    for (size_t i = 0; added && i < MEMBERS; i++)
        added = add_member(members[i].timing ? timing : object, &members[i],
                           (const char *)entry + members[i].offset);
    return added;
}

/* Reads a member. NaN, which JSON cannot represent, was written as null. */
static bool read_member(const struct json *value, const struct member *member, void *place)
{
    double number = NAN;
    size_t count;
    switch (member->kind) {
    case MEMBER_TEXT:
        return json_string(value) &&
               (size_t)snprintf(place, member->size, "%s", json_string(value)) < member->size;
    case MEMBER_COUNT:
        if (!json_count(value, &count))
            return false;
        memcpy(place, &count, sizeof count);
        return true;
    default:
        if (!json_number(value, &number) && !json_is_null(value))
            return false;
        memcpy(place, &number, sizeof number);
        return true;
    }
}

static bool read_entry(const struct json_document *document, const struct json *object,
                       struct measurement *entry, struct error *error)
{
    const struct json *timing = json_member(object, "ms_per_image");
    *entry = (struct measurement){.joules_per_image = (double)NAN, .watts = (double)NAN};
    for (size_t i = 0; i < MEMBERS; i++) {
        const struct json *value = json_member(members[i].timing ? timing : object, members[i].key);
        if (!value && members[i].optional)
            continue;
        if (!value || !read_member(value, &members[i], (char *)entry + members[i].offset))
            return error_set(error, ERROR_INPUT, document->name, measure_again,
                             "line %zu: \"%s\" is missing or wrong", json_line(document, object),
                             members[i].key);
    }
    if (!isfinite(entry->ms_per_image.mean))
        return error_set(error, ERROR_INPUT, document->name, measure_again,
                         "line %zu: a time is not a number", json_line(document, object));
    return true;
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
    return true;
}

/* Marks entries that were measured on another model file than the present one. If the run has no
 * model file any more, its entries stay valid. */
static void mark_stale(struct measurements *measurements, const char *run_directory)
{
    struct measurement now = {0};
    char *path = measurement_model_path(run_directory, NULL, NULL);
    bool known = path && measurement_note_model(&now, path, NULL);
    for (size_t i = 0; known && i < measurements->count; i++) {
        struct measurement *entry = &measurements->entries[i];
        entry->stale =
            entry->weights[0] &&
            (strcmp(entry->weights, now.weights) != 0 || entry->model_bytes != now.model_bytes ||
             (entry->model_changed && entry->model_changed != now.model_changed));
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
    return run_json_write(run_directory, file_name, root, complete && list, error);
}

static bool place_entry(struct measurements *measurements, const struct measurement *entry,
                        struct error *error)
{
    for (size_t i = 0; i < measurements->count; i++)
        if (strcmp(measurements->entries[i].device, entry->device) == 0) {
            measurements->entries[i] = *entry;
            return true;
        }
    if (!memory_grow(&measurements->entries, &measurements->capacity, measurements->count + 1,
                     sizeof *measurements->entries, "the measurements", error))
        return false;
    measurements->entries[measurements->count++] = *entry;
    return true;
}

bool measurements_put(const char *run_directory, const struct measurement *measurement,
                      struct error *error)
{
    struct measurements measurements;
    bool put = measurements_read(&measurements, run_directory, error) &&
               place_entry(&measurements, measurement, error) &&
               write_list(&measurements, run_directory, error);
    measurements_free(&measurements);
    return put;
}

/* --- queries --- */

const struct measurement *measurements_find(const struct measurements *measurements,
                                            const char *device)
{
    size_t length = strlen(device);
    const struct measurement *found = NULL;
    for (size_t i = 0; i < measurements->count; i++) {
        const char *name = measurements->entries[i].device;
        if (measurements->entries[i].stale)
            continue;
        if (strcmp(name, device) == 0)
            return &measurements->entries[i];
        if (!found && strncmp(name, device, length) == 0 && name[length] == ':')
            found = &measurements->entries[i];
    }
    return found;
}

bool measurements_are_comparable(const struct measurement *a, const struct measurement *b)
{
    return strcmp(a->device, b->device) == 0 && strcmp(a->host, b->host) == 0 &&
           strcmp(a->cpu, b->cpu) == 0 && a->threads == b->threads;
}

static struct welch_sample sample_of(const struct measurement *measurement)
{
    const struct statistics *ms = &measurement->ms_per_image;
    return (struct welch_sample){isnan(ms->sd) ? 0 : measurement->images, ms->mean, ms->sd};
}

struct welch measurements_test(const struct measurement *a, const struct measurement *b)
{
    const struct welch_sample x = sample_of(a), y = sample_of(b);
    return welch_test(&x, &y);
}

bool measurements_differ(const struct measurement *a, const struct measurement *b)
{
    return measurements_test(a, b).p < MEASUREMENT_LEVEL;
}
