/* Reads a journal line by line, and parses the three kinds of lines that become curves and
 * findings. */
#include "runs/folder/journal.h"

#include "base/files/file.h"
#include "base/files/lines.h"
#include "base/memory.h"
#include "base/portable/portable.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- an iteration without a tree --- */

/* Parses the line of an iteration without building a JSON tree, which takes a tenth of the time.
 *
 * Only lines that look exactly as put_point (journal.c) writes them are accepted: the members in
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

bool journal_read(const char *path, journal_visit *visit, void *context, struct error *error)
{
    return journal_read_first(path, UINT64_MAX, visit, context, error);
}

bool journal_read_first(const char *path, uint64_t limit, journal_visit *visit, void *context,
                        struct error *error)
{
    return journal_read_range(path, 0, limit, visit, context, error);
}

bool journal_visit_line(const char *line, size_t length, uint64_t end, const char *path,
                        journal_visit *visit, void *context, struct error *error)
{
    struct series_point point;
    struct json_document document;
    if (journal_parse_point(line, length, &point))
        return visit(context, &(struct journal_line){&point, NULL, end, length}, error);
    if (!json_parse(&document, line, length, path, NULL))
        return true;
    const bool is_point = journal_read_point(document.root, &point);
    const struct journal_line parsed = {is_point ? &point : NULL, is_point ? NULL : document.root,
                                        end, length};
    const bool good = visit(context, &parsed, error);
    json_document_free(&document);
    return good;
}

bool journal_read_range(const char *path, uint64_t offset, uint64_t limit, journal_visit *visit,
                        void *context, struct error *error)
{
    struct lines lines;
    struct error trouble = {0};
    bool good = true;
    size_t length;
    if (!lines_open(&lines, path, JOURNAL_LINE_MOST, error))
        return false;
    lines_skip_to(&lines, offset);
    for (char *line; good && (line = lines_next(&lines, &length, &trouble));) {
        const uint64_t end = lines_offset(&lines);
        if (end > limit)
            break;
        good = journal_visit_line(line, length, end, path, visit, context, error);
    }
    lines_close(&lines);
    if (good && trouble.kind != ERROR_NONE) {
        if (error)
            *error = trouble;
        good = false;
    }
    return good;
}

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

bool journal_read_point(const struct json *line, struct series_point *point)
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

bool journal_read_validation(const struct json *line, struct series_validation *validation)
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

/* --- a journal that grows --- */

/* Reads the next piece from the remembered offset. Before that, the bytes ahead of the offset are
 * compared with those remembered, which shows that the file was cut. */

static bool is_the_same(const struct journal_tail *tail, int descriptor, uint64_t size)
{
    char before[sizeof tail->before];
    return size >= tail->offset &&
           file_read_at(descriptor, before, tail->before_length,
                        tail->offset - tail->before_length) &&
           memcmp(before, tail->before, tail->before_length) == 0;
}

/* Visits the lines of a piece that begins at byte `begin` of the file. */
static bool take_lines(const char *piece, size_t length, uint64_t begin, const char *path,
                       journal_visit *visit, void *context, struct error *error)
{
    bool good = true;
    for (size_t from = 0; good && from < length;) {
        const char *newline = memchr(piece + from, '\n', length - from);
        const size_t end = newline ? (size_t)(newline - piece) : length;
        good = journal_visit_line(piece + from, end - from, begin + end + 1, path, visit, context,
                                  error);
        from = end + 1;
    }
    return good;
}

static void move_on(struct journal_tail *tail, const char *piece, size_t length)
{
    const size_t kept = length < sizeof tail->before ? length : sizeof tail->before;
    memcpy(tail->before, piece + length - kept, kept);
    tail->before_length = kept;
    tail->offset += length;
}

static enum journal_tail_result take_piece(struct journal_tail *tail, int descriptor, uint64_t size,
                                           const char *path, journal_visit *visit, void *context,
                                           struct error *error)
{
    const uint64_t rest = size - tail->offset;
    const size_t length = rest < JOURNAL_PIECE ? (size_t)rest : JOURNAL_PIECE;
    char *piece = memory_new(length, 1, "the journal", error);
    enum journal_tail_result news = JOURNAL_FAILED;
    if (piece && !file_read_at(descriptor, piece, length, tail->offset))
        error_set_errno(error, path, NULL, "cannot be read");
    else if (piece) {
        const char *newline = portable_find_last(piece, '\n', length);
        /* no valid line is as long as a piece, so these bytes are skipped */
        const size_t whole = newline                   ? (size_t)(newline - piece) + 1
                             : length == JOURNAL_PIECE ? length
                                                       : 0;
        news = whole == 0 ? JOURNAL_SAME : rest > length ? JOURNAL_MORE : JOURNAL_READ;
        if (!take_lines(piece, whole, tail->offset, path, visit, context, error))
            news = JOURNAL_FAILED;
        else if (whole > 0)
            move_on(tail, piece, whole);
    }
    free(piece);
    return news;
}

enum journal_tail_result journal_tail_read(struct journal_tail *tail, const char *path,
                                           journal_visit *visit, void *context, struct error *error)
{
    struct stat status;
    const int descriptor = file_open_if_regular(path, O_RDONLY | O_NOFOLLOW, &status);
    if (descriptor < 0 && errno == ENOENT)
        return JOURNAL_SAME;
    if (descriptor < 0) {
        if (errno == EINVAL)
            error_set(error, ERROR_INPUT, path, "remove what lies there under that name",
                      "this is not a regular file");
        else
            error_set_errno(error, path, NULL, "cannot open");
        return JOURNAL_FAILED;
    }
    const uint64_t size = (uint64_t)status.st_size;
    tail->written = (double)status.st_mtim.tv_sec + 1e-9 * (double)status.st_mtim.tv_nsec;
    enum journal_tail_result news = JOURNAL_SAME;
    if (!is_the_same(tail, descriptor, size))
        news = JOURNAL_CUT;
    else if (size > tail->offset)
        news = take_piece(tail, descriptor, size, path, visit, context, error);
    close(descriptor);
    return news;
}
