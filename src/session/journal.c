/* Lines are gathered in memory and written with write(2), so that it is known how much of them is
 * in the file whatever happens: after a failed attempt the next one goes on at the same byte. */
#include "session/journal.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/lines.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAIL = 4096 };
static const uint64_t flush_interval = 250000000; /* nanoseconds */

/* --- the file --- */

/* Returns -1 with errno EINVAL for what is not a regular file: a full FIFO would stop the run. */
static int open_file(const struct journal *journal)
{
    const int descriptor =
        open(journal->path,
             O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
    struct stat status;
    if (descriptor < 0 || (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)))
        return descriptor;
    close(descriptor);
    errno = EINVAL;
    return -1;
}

/* Where the last whole line within the first `size` bytes ends. */
static uint64_t end_of_lines(int descriptor, uint64_t size)
{
    char block[TAIL];
    while (size > 0) {
        uint64_t length = size < TAIL ? size : TAIL;
        if (pread(descriptor, block, length, (off_t)(size - length)) != (ssize_t)length)
            return size;
        const char *feed = memrchr(block, '\n', length);
        if (feed)
            return size - length + (uint64_t)(feed - block) + 1;
        size -= length;
    }
    return 0;
}

static bool cut(struct journal *journal, uint64_t keep, struct error *error)
{
    struct stat status;
    if (fstat(journal->descriptor, &status) == 0) {
        const uint64_t size = (uint64_t)status.st_size;
        journal->written = end_of_lines(journal->descriptor, keep < size ? keep : size);
        journal->whole = journal->written;
        if (journal->written == size ||
            ftruncate(journal->descriptor, (off_t)journal->written) == 0)
            return true;
    }
    return error_set_errno(error, journal->path, "check the disk", "cannot be cut to its end");
}

bool journal_open(struct journal *journal, const char *directory, uint64_t keep,
                  struct error *error)
{
    *journal = (struct journal){.descriptor = -1, .path = file_join(directory, "journal.jsonl")};
    if (!journal->path)
        return error_set_memory(error, "the journal's path", 0);
    journal->descriptor = open_file(journal);
    if (journal->descriptor < 0 && errno == EINVAL)
        error_set(error, ERROR_INPUT, journal->path, "remove what lies there under that name",
                  "this is not a regular file");
    else if (journal->descriptor < 0)
        error_set_errno(error, journal->path, "check space and permissions", "cannot create");
    if (journal->descriptor >= 0 && cut(journal, keep, error))
        return true;
    journal_close(journal);
    return false;
}

/* --- from memory to the file --- */

static void drop_descriptor(struct journal *journal)
{
    if (journal->descriptor >= 0)
        close(journal->descriptor);
    journal->descriptor = -1;
}

/* A network mount that went away and came back needs the file opened again. */
static void meet_trouble(struct journal *journal)
{
    const int code = errno;
    error_set_errno(&journal->trouble, journal->path,
                    "free some space; it is tried again, and the training goes on",
                    "the journal cannot be written");
    if (code == ESTALE || code == EIO || code == EBADF)
        drop_descriptor(journal);
}

/* `count` bytes of what waits are in the file. */
static void take_away(struct journal *journal, size_t count)
{
    struct text *pending = &journal->pending;
    const char *feed = count ? memrchr(pending->data, '\n', count) : NULL;
    if (feed)
        journal->whole = journal->written + (uint64_t)(feed - pending->data) + 1;
    journal->written += count;
    if (count > 0)
        memmove(pending->data, pending->data + count, pending->length - count + 1);
    pending->length -= count;
}

static bool write_pending(struct journal *journal)
{
    const struct text *pending = &journal->pending;
    size_t done = 0;
    if (journal->descriptor < 0)
        journal->descriptor = open_file(journal);
    bool good = journal->descriptor >= 0;
    while (good && done < pending->length) {
        ssize_t count = write(journal->descriptor, pending->data + done, pending->length - done);
        good = count > 0 || (count < 0 && errno == EINTR);
        done += count > 0 ? (size_t)count : 0;
    }
    if (good)
        journal->trouble = (struct error){0};
    else
        meet_trouble(journal);
    take_away(journal, done);
    return good;
}

static void flush_at(struct journal *journal, uint64_t now)
{
    journal->flushed = now;
    if (journal->pending.length > 0)
        write_pending(journal);
}

void journal_flush(struct journal *journal)
{
    flush_at(journal, clock_nanoseconds());
}

bool journal_sync(struct journal *journal)
{
    journal->flushed = clock_nanoseconds();
    if (!write_pending(journal))
        return false;
    if (fdatasync(journal->descriptor) == 0)
        return true;
    meet_trouble(journal);
    return false;
}

static uint64_t count_lines(const struct text *text)
{
    uint64_t lines = 0;
    for (size_t i = 0; i < text->length; i++)
        lines += text->data[i] == '\n';
    return lines;
}

uint64_t journal_close(struct journal *journal)
{
    if (!journal->path)
        return 0;
    flush_at(journal, 0);
    /* nothing can be done when this fails: readers leave a torn line out */
    if (journal->descriptor >= 0 && journal->whole < journal->written &&
        ftruncate(journal->descriptor, (off_t)journal->whole) != 0)
        journal->whole = journal->written;
    const uint64_t lost = journal->lost + count_lines(&journal->pending);
    drop_descriptor(journal);
    text_free(&journal->pending);
    free(journal->path);
    *journal = (struct journal){.descriptor = -1};
    return lost;
}

/* --- lines --- */

/* Whether a line may be begun. Its bytes are then appended, and end_line takes it back if that
 * failed. */
static bool begin_line(struct journal *journal)
{
    if (journal->pending.length < JOURNAL_PENDING_MOST)
        return true;
    journal->lost++;
    return false;
}

static void end_line(struct journal *journal, size_t before)
{
    struct text *pending = &journal->pending;
    if (!pending->failed)
        return;
    journal->lost++;
    pending->failed = false;
    pending->length = before;
    if (pending->data)
        pending->data[before] = '\0';
}

/* JSON has no NaN and no infinity. */
static void put_number(struct text *text, const char *key, double value, int digits)
{
    if (isfinite(value))
        text_append(text, ",\"%s\":%.*g", key, digits, value);
    else
        text_append(text, ",\"%s\":null", key);
}

enum { FLOAT_DIGITS = 9 }; /* enough to read back every float exactly */

/* What only some networks have; its absence is read as NaN. */
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
    put_number(text, "lr", (double)point->learning_rate, FLOAT_DIGITS);
    put_number(text, "ms_per_image", (double)point->ms_per_image, FLOAT_DIGITS);
    put_number(text, "seconds", (double)point->seconds, FLOAT_DIGITS);
    text_append(text, ",\"memory_bytes\":%" PRIu64 "}\n", point->memory_bytes);
}

void journal_add_point(struct journal *journal, const struct series_point *point, uint64_t now)
{
    const size_t before = journal->pending.length;
    if (begin_line(journal)) {
        put_point(&journal->pending, point);
        end_line(journal, before);
    }
    if (now - journal->flushed >= flush_interval)
        flush_at(journal, now);
}

static void put_validation(struct text *text, const struct series_validation *validation)
{
    text_append(text, "{\"event\":\"validation\",\"iteration\":%" PRIu64, validation->iteration);
    put_number(text, "epoch", (double)validation->epoch, FLOAT_DIGITS);
    put_number(text, "loss", (double)validation->loss, FLOAT_DIGITS);
    put_number(text, "top1", (double)validation->top1, FLOAT_DIGITS);
    put_number(text, "top5", (double)validation->top5, FLOAT_DIGITS);
    put_if_number(text, "pixel_accuracy", (double)validation->pixel_accuracy);
    put_number(text, "seconds", (double)validation->seconds, FLOAT_DIGITS);
    text_append(text, "}\n");
}

void journal_add_validation(struct journal *journal, const struct series_validation *validation)
{
    const size_t before = journal->pending.length;
    if (begin_line(journal)) {
        put_validation(&journal->pending, validation);
        end_line(journal, before);
    }
    journal_flush(journal);
}

static struct json *new_event(const char *name)
{
    struct json *event = json_new_object();
    if (event && json_add_string(event, "event", name))
        return event;
    json_free(event);
    return NULL;
}

void journal_add_event(struct journal *journal, const char *name, struct json *event)
{
    const size_t before = journal->pending.length;
    if (!event)
        event = new_event(name);
    char *text = event ? json_print(event, false, NULL) : NULL;
    json_free(event);
    if (begin_line(journal)) {
        if (text)
            text_append(&journal->pending, "%s\n", text);
        else
            journal->pending.failed = true;
        end_line(journal, before);
    }
    free(text);
    journal_flush(journal);
}

void journal_add_finding(struct journal *journal, const struct finding *finding)
{
    struct json *event = new_event("finding");
    bool complete = json_add_string(event, "kind", finding_kind_name(finding->kind)) &&
                    json_add_count(event, "iteration", finding->iteration) &&
                    json_add_number(event, "epoch", finding->epoch) &&
                    json_add_string(event, "text", finding->text);
    if (!complete) {
        json_free(event);
        journal->lost++;
        return;
    }
    journal_add_event(journal, "finding", event);
}

/* --- reading --- */

bool journal_read(const char *path, journal_visit *visit, void *context, struct error *error)
{
    struct lines lines;
    struct error trouble = {0};
    bool good = true;
    size_t length;
    if (!lines_open(&lines, path, JOURNAL_LINE_MOST, error))
        return false;
    for (char *line; good && (line = lines_next(&lines, &length, &trouble));) {
        struct json_document document;
        if (!json_parse(&document, line, length, path, NULL))
            continue;
        good = visit(context, document.root, error);
        json_document_free(&document);
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
    if (epoch && !json_number(epoch, &finding->epoch))
        finding->epoch = NAN; /* an imported run's may not be known */
    snprintf(finding->text, sizeof finding->text, "%s", text);
    for (enum finding_kind k = 0; k <= FINDING_DATA; k++)
        if (strcmp(finding_kind_name(k), kind) == 0) {
            finding->kind = k;
            return true;
        }
    return false;
}
