#include "session/journal.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16 };
static const uint64_t flush_interval = 250000000; /* nanoseconds */

/* --- writing --- */

/* Whether the file ends within a line. */
static bool ends_torn(int descriptor)
{
    char last;
    off_t size = lseek(descriptor, 0, SEEK_END);
    return size > 0 && pread(descriptor, &last, 1, size - 1) == 1 && last != '\n';
}

bool journal_open(struct journal *journal, const char *directory, struct error *error)
{
    *journal = (struct journal){.path = file_join(directory, "journal.jsonl")};
    if (!journal->path)
        return error_set_memory(error, "the journal's path", 0);
    int descriptor =
        open(journal->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    journal->stream = descriptor < 0 ? NULL : fdopen(descriptor, "ab");
    if (!journal->stream) {
        error_set_errno(error, journal->path, "check space and permissions", "cannot create");
        if (descriptor >= 0)
            close(descriptor);
        journal_close(journal);
        return false;
    }
    setvbuf(journal->stream, NULL, _IOFBF, BUFFER_BYTES);
    if (ends_torn(descriptor))
        fputc('\n', journal->stream);
    return true;
}

void journal_close(struct journal *journal)
{
    if (journal->stream)
        fclose(journal->stream);
    free(journal->path);
    *journal = (struct journal){0};
}

static bool flush_at(struct journal *journal, uint64_t now, struct error *error)
{
    journal->flushed = now;
    if (fflush(journal->stream) == 0 && !ferror(journal->stream))
        return true;
    return error_set_errno(error, journal->path, "free some space, then train again",
                           "the journal cannot be written");
}

bool journal_flush(struct journal *journal, struct error *error)
{
    return flush_at(journal, clock_nanoseconds(), error);
}

/* JSON has no NaN and no infinity. */
static void put_number(FILE *stream, const char *key, double value, int digits)
{
    if (isfinite(value))
        fprintf(stream, ",\"%s\":%.*g", key, digits, value);
    else
        fprintf(stream, ",\"%s\":null", key);
}

enum { FLOAT_DIGITS = 9 }; /* enough to read back every float exactly */

/* What only some networks have; its absence is read as NaN. */
static void put_if_number(FILE *stream, const char *key, double value)
{
    if (!isnan(value))
        put_number(stream, key, value, FLOAT_DIGITS);
}

bool journal_add_point(struct journal *journal, const struct series_point *point, uint64_t now,
                       struct error *error)
{
    FILE *stream = journal->stream;
    fprintf(stream, "{\"iteration\":%" PRIu64, point->iteration);
    put_number(stream, "epoch", (double)point->epoch, FLOAT_DIGITS);
    put_number(stream, "loss", (double)point->loss, FLOAT_DIGITS);
    put_number(stream, "loss_caffe", (double)point->loss_caffe, FLOAT_DIGITS);
    put_number(stream, "loss_mean", (double)point->loss_mean, FLOAT_DIGITS);
    put_if_number(stream, "loss_discriminator", (double)point->loss_discriminator);
    put_if_number(stream, "loss_l1", (double)point->loss_l1);
    put_number(stream, "lr", (double)point->learning_rate, FLOAT_DIGITS);
    put_number(stream, "ms_per_image", (double)point->ms_per_image, FLOAT_DIGITS);
    put_number(stream, "seconds", (double)point->seconds, FLOAT_DIGITS);
    fprintf(stream, ",\"memory_bytes\":%" PRIu64 "}\n", point->memory_bytes);
    return now - journal->flushed < flush_interval || flush_at(journal, now, error);
}

bool journal_add_validation(struct journal *journal, const struct series_validation *validation,
                            struct error *error)
{
    FILE *stream = journal->stream;
    fprintf(stream, "{\"event\":\"validation\",\"iteration\":%" PRIu64, validation->iteration);
    put_number(stream, "epoch", (double)validation->epoch, FLOAT_DIGITS);
    put_number(stream, "loss", (double)validation->loss, FLOAT_DIGITS);
    put_number(stream, "top1", (double)validation->top1, FLOAT_DIGITS);
    put_number(stream, "top5", (double)validation->top5, FLOAT_DIGITS);
    put_if_number(stream, "pixel_accuracy", (double)validation->pixel_accuracy);
    put_number(stream, "seconds", (double)validation->seconds, FLOAT_DIGITS);
    fputs("}\n", stream);
    return journal_flush(journal, error);
}

static struct json *new_event(const char *name)
{
    struct json *event = json_new_object();
    if (event && json_add_string(event, "event", name))
        return event;
    json_free(event);
    return NULL;
}

bool journal_add_event(struct journal *journal, const char *name, struct json *event,
                       struct error *error)
{
    if (!event)
        event = new_event(name);
    char *text = event ? json_print(event, false, error) : NULL;
    json_free(event);
    if (!text)
        return error_set_memory(error, "an event of the journal", 0);
    fprintf(journal->stream, "%s\n", text);
    free(text);
    return journal_flush(journal, error);
}

bool journal_add_finding(struct journal *journal, const struct finding *finding,
                         struct error *error)
{
    struct json *event = new_event("finding");
    json_add_string(event, "kind", finding_kind_name(finding->kind));
    json_add_count(event, "iteration", finding->iteration);
    json_add_number(event, "epoch", finding->epoch);
    if (!json_add_string(event, "text", finding->text)) {
        json_free(event);
        return error_set_memory(error, "a finding", 0);
    }
    return journal_add_event(journal, "finding", event, error);
}

/* --- reading --- */

bool journal_read(const char *path, journal_visit *visit, void *context, struct error *error)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t capacity = 0;
    bool good = true;
    if (!file)
        return error_set_errno(error, path, NULL, "cannot open");
    for (ssize_t length; good && (length = getline(&line, &capacity, file)) > 0;) {
        struct json_document document;
        if (line[length - 1] != '\n' || !json_parse(&document, line, (size_t)length, path, NULL))
            continue;
        good = visit(context, document.root, error);
        json_document_free(&document);
    }
    free(line);
    fclose(file);
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
                                   .learning_rate = read_float(line, "lr"),
                                   .ms_per_image = read_float(line, "ms_per_image"),
                                   .seconds = read_float(line, "seconds")};
    return !json_member(line, "event") && read_count(line, "memory_bytes", &point->memory_bytes) &&
           read_count(line, "iteration", &point->iteration) && point->iteration > 0;
}

bool journal_read_validation(const struct json *line, struct series_validation *validation)
{
    *validation = (struct series_validation){.epoch = read_float(line, "epoch"),
                                             .loss = read_float(line, "loss"),
                                             .top1 = read_float(line, "top1"),
                                             .top5 = read_float(line, "top5"),
                                             .pixel_accuracy = read_float(line, "pixel_accuracy"),
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
    if (epoch)
        json_number(epoch, &finding->epoch);
    snprintf(finding->text, sizeof finding->text, "%s", text);
    for (enum finding_kind k = 0; k <= FINDING_DATA; k++)
        if (strcmp(finding_kind_name(k), kind) == 0) {
            finding->kind = k;
            return true;
        }
    return false;
}
