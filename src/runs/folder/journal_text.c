/* The tables of values, and the lines of JSON that stand for the entries of a journal: what tinca
 * train --json prints, and what journal.jsonl of earlier versions consists of. An iteration is a
 * line without "event". */
#include "runs/folder/journal_record.h"

#include "base/files/file.h"
#include "base/files/lines.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- tables --- */

#define POINT(name, kind, member)                                                                  \
    {                                                                                              \
        name, kind, offsetof(struct series_point, member)                                          \
    }
#define VALIDATION(name, kind, member)                                                             \
    {                                                                                              \
        name, kind, offsetof(struct series_validation, member)                                     \
    }

/* New rows come last: the place of a row is part of the format. */
static const struct journal_column point_columns[] = {
    {NULL, JOURNAL_RATIO, 0},
    POINT("epoch", JOURNAL_FLOAT, epoch),
    POINT("loss", JOURNAL_FLOAT, loss),
    POINT("loss_caffe", JOURNAL_FLOAT, loss_caffe),
    POINT("loss_mean", JOURNAL_FLOAT, loss_mean),
    POINT("loss_discriminator", JOURNAL_OPTIONAL, loss_discriminator),
    POINT("loss_l1", JOURNAL_OPTIONAL, loss_l1),
    POINT("loss_labels", JOURNAL_OPTIONAL, loss_labels),
    POINT("loss_teacher", JOURNAL_OPTIONAL, loss_teacher),
    POINT("lr", JOURNAL_FLOAT, learning_rate),
    POINT("ms_per_image", JOURNAL_FLOAT, ms_per_image),
    POINT("seconds", JOURNAL_TIME, seconds),
    POINT("memory_bytes", JOURNAL_COUNT, memory_bytes),
    POINT("gpu_memory_bytes", JOURNAL_OPTIONAL_COUNT, gpu_memory_bytes)};

static const struct journal_column validation_columns[] = {
    {NULL, JOURNAL_RATIO, 0},
    VALIDATION("epoch", JOURNAL_FLOAT, epoch),
    VALIDATION("loss", JOURNAL_FLOAT, loss),
    VALIDATION("top1", JOURNAL_FLOAT, top1),
    VALIDATION("top5", JOURNAL_FLOAT, top5),
    VALIDATION("pixel_accuracy", JOURNAL_OPTIONAL, pixel_accuracy),
    VALIDATION("loss_error", JOURNAL_OPTIONAL, loss_error),
    VALIDATION("seconds", JOURNAL_TIME, seconds)};

#define TABLE(type, first, list)                                                                   \
    {                                                                                              \
        first, sizeof(list) / sizeof *(list), offsetof(struct type, iteration),                    \
            offsetof(struct type, seconds), list                                                   \
    }

const struct journal_table journal_points = TABLE(series_point, JOURNAL_POINT, point_columns);
const struct journal_table journal_validations =
    TABLE(series_validation, JOURNAL_VALIDATION, validation_columns);

_Static_assert(sizeof(point_columns) / sizeof *point_columns <= JOURNAL_VALIDATION - JOURNAL_POINT,
               "iterations and validations share no number");

/* --- lines --- */

static bool read_count(const struct json *line, const char *key, uint64_t *value)
{
    size_t count;
    const struct json *member = json_member(line, key);
    if (!member || !json_count(member, &count))
        return false;
    *value = count;
    return true;
}

static bool is_event(const struct json *line, const char *name)
{
    const char *event = json_string(json_member(line, "event"));
    return event && strcmp(event, name) == 0;
}

/* Reads the values of a table. Returns false if a count is missing, or is none. */
static bool read_values(const struct json *line, const struct journal_table *table, void *values)
{
    uint64_t iteration, count;
    bool read = read_count(line, "iteration", &iteration);
    if (read)
        memcpy((char *)values + table->iteration, &iteration, sizeof iteration);
    for (size_t i = JOURNAL_EPOCH; read && i < table->count; i++) {
        const struct journal_column *column = &table->columns[i];
        const struct json *member = json_member(line, column->name);
        double value = (double)NAN;
        if (column->kind >= JOURNAL_COUNT)
            read = member ? read_count(line, column->name, &count)
                          : column->kind == JOURNAL_OPTIONAL_COUNT;
        if (member && !json_number(member, &value))
            value = (double)NAN;
        journal_set_value(column, values, value);
    }
    return read;
}

bool journal_read_finding(const struct json *line, struct finding *finding)
{
    const char *kind = json_string(json_member(line, "kind"));
    const char *text = json_string(json_member(line, "text"));
    *finding = (struct finding){0};
    if (!is_event(line, "finding") || !kind || !text ||
        !read_count(line, "iteration", &finding->iteration))
        return false;
    const struct json *epoch = json_member(line, "epoch");
    if (epoch && !json_number(epoch, &finding->epoch))
        finding->epoch = NAN; /* an imported run's may not be known */
    snprintf(finding->text, sizeof finding->text, "%s", text);
    for (enum finding_kind k = 0; k < FINDING_KINDS; k++)
        if (strcmp(finding_kind_name(k), kind) == 0) {
            finding->kind = k;
            return true;
        }
    return false;
}

bool journal_visit_text(const char *json, size_t length, uint64_t end, const char *path,
                        journal_visit *visit, void *context, bool *is_json, struct error *error)
{
    struct series_point point;
    struct series_validation validation;
    struct json_document document;
    *is_json = json_parse(&document, json, length, path, NULL);
    if (!*is_json)
        return true;
    struct journal_line line = {.end = end};
    if (!json_member(document.root, "event") &&
        read_values(document.root, &journal_points, &point) && point.iteration > 0)
        line.point = &point;
    else if (is_event(document.root, "validation") &&
             read_values(document.root, &journal_validations, &validation))
        line.validation = &validation;
    else {
        line.json = document.root;
        line.text = json;
        line.length = length;
    }
    const bool good = visit(context, &line, error);
    json_document_free(&document);
    return good;
}

bool journal_text_read(const char *path, uint64_t limit, journal_visit *visit, void *context,
                       struct journal_found *found, struct error *error)
{
    struct lines lines;
    struct error trouble = {0};
    bool good = true, is_json;
    size_t length;
    if (!lines_open(&lines, path, JOURNAL_LINE_MOST, error))
        return false;
    for (char *line; good && (line = lines_next(&lines, &length, &trouble));) {
        const uint64_t end = lines_offset(&lines);
        if (end > limit)
            break;
        good = journal_visit_text(line, length, end, path, visit, context, &is_json, error);
        if (!is_json && found->faults++ == 0)
            found->first_fault = end - length - 1;
    }
    lines_close(&lines);
    if (good && trouble.kind != ERROR_NONE) {
        if (error)
            *error = trouble;
        good = false;
    }
    return good;
}

/* --- printing --- */

enum { FLOAT_DIGITS = 9 }; /* enough to read back every float exactly */

/* Writes null for NaN and infinity, which JSON does not have. Readers take a missing member as NaN.
 */
static void put_value(struct text *text, const struct journal_column *column, const void *values)
{
    const double value = journal_value(column, values);
    if (column->kind >= JOURNAL_COUNT) {
        if (column->kind == JOURNAL_COUNT || value > 0)
            text_append(text, ",\"%s\":%" PRIu64, column->name, number_to_uint64(value));
    } else if (isfinite(value))
        text_append(text, ",\"%s\":%.*g", column->name, FLOAT_DIGITS, value);
    else if (column->kind != JOURNAL_OPTIONAL || !isnan(value))
        text_append(text, ",\"%s\":null", column->name);
}

static void put_values(struct text *text, const char *before, const struct journal_table *table,
                       const void *values)
{
    uint64_t iteration;
    memcpy(&iteration, (const char *)values + table->iteration, sizeof iteration);
    text_append(text, "{%s\"iteration\":%" PRIu64, before, iteration);
    for (size_t i = JOURNAL_EPOCH; i < table->count; i++)
        put_value(text, &table->columns[i], values);
    text_append(text, "}");
}

static void put_scalar(struct text *text, const struct journal_scalar *scalar)
{
    struct json *event = json_new_object();
    const bool complete = json_add_string(event, "event", "scalar") &&
                          json_add_string(event, "name", scalar->name) &&
                          json_add_count(event, "iteration", scalar->at.step) &&
                          json_add_number(event, "seconds", scalar->at.time) &&
                          json_add_number(event, "value", scalar->at.value);
    char *line = complete ? json_print(event, false, NULL) : NULL;
    json_free(event);
    if (line)
        text_append_bytes(text, line, strlen(line));
    else
        text->failed = true;
    free(line);
}

void journal_print_line(struct text *text, const struct journal_line *line)
{
    if (line->point)
        put_values(text, "", &journal_points, line->point);
    else if (line->validation)
        put_values(text, "\"event\":\"validation\",", &journal_validations, line->validation);
    else if (line->scalar)
        put_scalar(text, line->scalar);
    else
        text_append_bytes(text, line->text, line->length);
}
