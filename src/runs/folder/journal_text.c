/* The lines of JSON that stand for the entries of a journal: what tinca train --json prints, and
 * what journal.jsonl of earlier versions consists of. An iteration is a line without "event". */
#include "runs/folder/journal_record.h"

#include "base/files/file.h"
#include "base/files/lines.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- an iteration without a tree --- */

/* Parses the line of an iteration without building a JSON tree, which takes a tenth of the time.
 *
 * Only lines that look exactly as journal_print_line writes them are accepted: the members in
 * that order, without spaces, each number at most 15 digits long. All others are left to the JSON
 * parser, so that both give the same values. A decimal of at most 15 digits is an integer below
 * 2^53 times a power of ten; if that power is at most 10^22, both are exact as doubles and one
 * multiplication or division gives the correctly rounded value (Clinger 1990), which strtod gives,
 * too. */

enum { DIGITS = 15, POWERS = 22 };

static const double powers[POWERS + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The part of a line that is not read yet. */
struct rest {
    const char *at, *end;
};

static bool skip(struct rest *rest, const char *text, size_t length)
{
    if ((size_t)(rest->end - rest->at) < length || memcmp(rest->at, text, length) != 0)
        return false;
    rest->at += length;
    return true;
}

static bool is_digit(const struct rest *rest)
{
    return rest->at < rest->end && *rest->at >= '0' && *rest->at <= '9';
}

/* Reads digits into *value, and returns how many there were. */
static int read_digits(struct rest *rest, uint64_t *value)
{
    const char *from = rest->at;
    while (is_digit(rest) && rest->at - from <= DIGITS)
        *value = 10 * *value + (uint64_t)(*rest->at++ - '0');
    return (int)(rest->at - from);
}

/* Reads the integer part of a number, which has no leading zero. */
static int read_integer(struct rest *rest, uint64_t *value)
{
    const char *from = rest->at;
    const int digits = read_digits(rest, value);
    return digits > 1 && *from == '0' ? 0 : digits;
}

static bool read_exponent(struct rest *rest, int *exponent)
{
    uint64_t value = 0;
    *exponent = 0;
    if (!skip(rest, "e", 1))
        return true;
    const bool negative = skip(rest, "-", 1);
    if (!negative)
        skip(rest, "+", 1);
    const int digits = read_digits(rest, &value);
    *exponent = negative ? -(int)value : (int)value;
    return digits >= 1 && digits <= 3;
}

/* Reads a number, or null as NaN. */
static bool parse_float(struct rest *rest, float *result)
{
    uint64_t value = 0;
    int exponent;
    if (skip(rest, "null", 4)) {
        *result = NAN;
        return true;
    }
    const bool negative = skip(rest, "-", 1);
    int digits = read_integer(rest, &value), fraction = 0;
    if (digits == 0)
        return false;
    if (skip(rest, ".", 1) && (fraction = read_digits(rest, &value)) == 0)
        return false;
    if (digits + fraction > DIGITS || !read_exponent(rest, &exponent))
        return false;
    exponent -= fraction;
    if (exponent < -POWERS || exponent > POWERS)
        return false;
    const double whole = negative ? -(double)value : (double)value;
    *result = (float)(exponent < 0 ? whole / powers[-exponent] : whole * powers[exponent]);
    return true;
}

static bool parse_count(struct rest *rest, uint64_t *count)
{
    *count = 0;
    const int digits = read_integer(rest, count);
    return digits > 0 && digits <= DIGITS;
}

#define SKIP(rest, text) skip(rest, text, sizeof(text) - 1)

bool journal_parse_point(const char *line, size_t length, struct series_point *point)
{
    struct rest rest = {line, line + length};
    point->gpu_memory_bytes = 0;
    point->loss_discriminator = point->loss_l1 = point->loss_labels = point->loss_teacher = NAN;
    return FLT_EVAL_METHOD == 0 && SKIP(&rest, "{\"iteration\":") &&
           parse_count(&rest, &point->iteration) && point->iteration > 0 &&
           SKIP(&rest, ",\"epoch\":") && parse_float(&rest, &point->epoch) &&
           SKIP(&rest, ",\"loss\":") && parse_float(&rest, &point->loss) &&
           SKIP(&rest, ",\"loss_caffe\":") && parse_float(&rest, &point->loss_caffe) &&
           SKIP(&rest, ",\"loss_mean\":") && parse_float(&rest, &point->loss_mean) &&
           (!SKIP(&rest, ",\"loss_discriminator\":") ||
            parse_float(&rest, &point->loss_discriminator)) &&
           (!SKIP(&rest, ",\"loss_l1\":") || parse_float(&rest, &point->loss_l1)) &&
           (!SKIP(&rest, ",\"loss_labels\":") || parse_float(&rest, &point->loss_labels)) &&
           (!SKIP(&rest, ",\"loss_teacher\":") || parse_float(&rest, &point->loss_teacher)) &&
           SKIP(&rest, ",\"lr\":") && parse_float(&rest, &point->learning_rate) &&
           SKIP(&rest, ",\"ms_per_image\":") && parse_float(&rest, &point->ms_per_image) &&
           SKIP(&rest, ",\"seconds\":") && parse_float(&rest, &point->seconds) &&
           SKIP(&rest, ",\"memory_bytes\":") && parse_count(&rest, &point->memory_bytes) &&
           (!SKIP(&rest, ",\"gpu_memory_bytes\":") ||
            parse_count(&rest, &point->gpu_memory_bytes)) &&
           SKIP(&rest, "}") && rest.at == rest.end;
}

/* --- lines --- */

static float read_float(const struct json *line, const char *key)
{
    double value;
    const struct json *member = json_member(line, key);
    return member && json_number(member, &value) ? (float)value : NAN;
}

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

static bool read_point(const struct json *line, struct series_point *point)
{
    *point = (struct series_point){.epoch = read_float(line, "epoch"),
                                   .loss = read_float(line, "loss"),
                                   .loss_caffe = read_float(line, "loss_caffe"),
                                   .loss_mean = read_float(line, "loss_mean"),
                                   .loss_discriminator = read_float(line, "loss_discriminator"),
                                   .loss_l1 = read_float(line, "loss_l1"),
                                   .loss_labels = read_float(line, "loss_labels"),
                                   .loss_teacher = read_float(line, "loss_teacher"),
                                   .learning_rate = read_float(line, "lr"),
                                   .ms_per_image = read_float(line, "ms_per_image"),
                                   .seconds = read_float(line, "seconds")};
    return !json_member(line, "event") && read_count(line, "memory_bytes", &point->memory_bytes) &&
           (!json_member(line, "gpu_memory_bytes") ||
            read_count(line, "gpu_memory_bytes", &point->gpu_memory_bytes)) &&
           read_count(line, "iteration", &point->iteration) && point->iteration > 0;
}

static bool read_validation(const struct json *line, struct series_validation *validation)
{
    *validation = (struct series_validation){.epoch = read_float(line, "epoch"),
                                             .loss = read_float(line, "loss"),
                                             .top1 = read_float(line, "top1"),
                                             .top5 = read_float(line, "top5"),
                                             .pixel_accuracy = read_float(line, "pixel_accuracy"),
                                             .loss_error = read_float(line, "loss_error"),
                                             .seconds = read_float(line, "seconds")};
    return is_event(line, "validation") && read_count(line, "iteration", &validation->iteration);
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
    if (read_point(document.root, &point))
        line.point = &point;
    else if (read_validation(document.root, &validation))
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
    struct series_point point;
    bool good = true, is_json;
    size_t length;
    if (!lines_open(&lines, path, JOURNAL_LINE_MOST, error))
        return false;
    for (char *line; good && (line = lines_next(&lines, &length, &trouble));) {
        const uint64_t end = lines_offset(&lines);
        if (end > limit)
            break;
        if (journal_parse_point(line, length, &point)) {
            good = visit(context, &(struct journal_line){.point = &point, .end = end}, error);
            continue;
        }
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

/* Writes null for NaN and infinity, which JSON does not have. */
static void put_number(struct text *text, const char *key, double value, int digits)
{
    if (isfinite(value))
        text_append(text, ",\"%s\":%.*g", key, digits, value);
    else
        text_append(text, ",\"%s\":null", key);
}

enum { FLOAT_DIGITS = 9 }; /* enough to read back every float exactly */

/* Adds a member that only some networks have, unless it is NaN; readers take a missing one as NaN.
 */
static void put_if_number(struct text *text, const char *key, double value)
{
    if (!isnan(value))
        put_number(text, key, value, FLOAT_DIGITS);
}

static void put_point(struct text *text, const struct series_point *point)
{
    text_append(text, "{\"iteration\":%" PRIu64, point->iteration);
    put_number(text, "epoch", (double)point->epoch, FLOAT_DIGITS);
    put_number(text, "loss", (double)point->loss, FLOAT_DIGITS);
    put_number(text, "loss_caffe", (double)point->loss_caffe, FLOAT_DIGITS);
    put_number(text, "loss_mean", (double)point->loss_mean, FLOAT_DIGITS);
    put_if_number(text, "loss_discriminator", (double)point->loss_discriminator);
    put_if_number(text, "loss_l1", (double)point->loss_l1);
    put_if_number(text, "loss_labels", (double)point->loss_labels);
    put_if_number(text, "loss_teacher", (double)point->loss_teacher);
    put_number(text, "lr", (double)point->learning_rate, FLOAT_DIGITS);
    put_number(text, "ms_per_image", (double)point->ms_per_image, FLOAT_DIGITS);
    put_number(text, "seconds", (double)point->seconds, FLOAT_DIGITS);
    text_append(text, ",\"memory_bytes\":%" PRIu64, point->memory_bytes);
    if (point->gpu_memory_bytes > 0)
        text_append(text, ",\"gpu_memory_bytes\":%" PRIu64, point->gpu_memory_bytes);
    text_append(text, "}");
}

static void put_validation(struct text *text, const struct series_validation *validation)
{
    text_append(text, "{\"event\":\"validation\",\"iteration\":%" PRIu64, validation->iteration);
    put_number(text, "epoch", (double)validation->epoch, FLOAT_DIGITS);
    put_number(text, "loss", (double)validation->loss, FLOAT_DIGITS);
    put_number(text, "top1", (double)validation->top1, FLOAT_DIGITS);
    put_number(text, "top5", (double)validation->top5, FLOAT_DIGITS);
    put_if_number(text, "pixel_accuracy", (double)validation->pixel_accuracy);
    put_if_number(text, "loss_error", (double)validation->loss_error);
    put_number(text, "seconds", (double)validation->seconds, FLOAT_DIGITS);
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
        put_point(text, line->point);
    else if (line->validation)
        put_validation(text, line->validation);
    else if (line->scalar)
        put_scalar(text, line->scalar);
    else
        text_append_bytes(text, line->text, line->length);
}
