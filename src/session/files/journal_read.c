/* Reads a journal line by line, and parses the three kinds of lines that become curves and
 * findings. */
#include "session/files/journal.h"

#include "base/files/lines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
