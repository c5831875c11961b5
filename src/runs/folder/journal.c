/* Lines are collected in memory and written with pwrite(2) at known offsets, so that the journal
 * always knows how much of them is in the file. `pending` has everything after the last byte that a
 * sync has confirmed:
 *
 *     0 ............ synced ............ written ............ synced + pending.length
 *       on the disk         in the file          waits in memory
 */
#include "runs/folder/journal.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/files/lines.h"
#include "base/memory.h"
#include "base/portable/portable.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { BLOCK = 4096 };
static const uint64_t flush_interval = 250000000; /* nanoseconds */

/* --- the file --- */

/* Opens the file and returns a descriptor, or -1 with errno; EINVAL if it is not a regular file,
 * since a full FIFO would stop the run. A journal that is partly on the disk must exist: a new file
 * would begin with a hole. */
static int open_file(const struct journal *journal)
{
    struct stat status;
    const int create = journal->synced == 0 ? O_CREAT : 0;
    const int descriptor =
        file_open_if_regular(journal->path, O_RDWR | create | O_NOFOLLOW, &status);
    if (descriptor < 0 || (uint64_t)status.st_size >= journal->synced)
        return descriptor;
    close(descriptor);
    errno = EIO;
    return -1;
}

/* Returns where the last whole line within the first `size` bytes ends. */
static uint64_t end_of_lines(int descriptor, uint64_t size)
{
    char block[BLOCK];
    while (size > 0) {
        uint64_t length = size < BLOCK ? size : BLOCK;
        if (pread(descriptor, block, length, (off_t)(size - length)) != (ssize_t)length)
            return size;
        const char *newline = portable_find_last(block, '\n', length);
        if (newline)
            return size - length + (uint64_t)(newline - block) + 1;
        size -= length;
    }
    return 0;
}

/* Returns false with errno, which is 0 if the file has fewer than `length` bytes. */
static bool sum_up(int descriptor, uint64_t length, uint32_t *sum)
{
    unsigned char block[16 * BLOCK];
    uint64_t done = 0;
    *sum = 0;
    while (done < length) {
        const size_t most = length - done < sizeof block ? length - done : sizeof block;
        errno = 0;
        const ssize_t got = pread(descriptor, block, most, (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        *sum = (uint32_t)crc32_z(*sum, block, (size_t)got);
        done += (uint64_t)got;
    }
    return true;
}

bool journal_checksum(const char *path, uint64_t length, uint32_t *sum, struct error *error)
{
    const char *advice = "bring back a copy of it, or let tinca resume compute it again";
    struct stat status;
    const int descriptor = file_open_if_regular(path, O_RDONLY | O_NOFOLLOW, &status);
    if (descriptor < 0 && errno == ENOENT)
        return error_set(error, ERROR_INPUT, path, advice, "the journal is missing");
    if (descriptor < 0 && errno == EINVAL)
        return error_set(error, ERROR_INPUT, path, advice, "this is not a regular file");
    if (descriptor < 0)
        return error_set_errno(error, path, "check its permissions", "cannot open");
    const bool good = (uint64_t)status.st_size >= length && sum_up(descriptor, length, sum);
    if (!good && (uint64_t)status.st_size < length)
        error_set(error, ERROR_INPUT, path, advice,
                  "the journal holds %llu bytes, but %llu were written",
                  (unsigned long long)status.st_size, (unsigned long long)length);
    else if (!good)
        error_set_errno(error, path, "check the disk", "cannot be read");
    close(descriptor);
    return good;
}

/* Cuts the file to whole lines within the first `keep` bytes, and syncs it. */
static bool cut(struct journal *journal, uint64_t keep, struct error *error)
{
    struct stat status;
    if (fstat(journal->descriptor, &status) == 0) {
        const uint64_t size = (uint64_t)status.st_size;
        const uint64_t end = end_of_lines(journal->descriptor, keep < size ? keep : size);
        if ((size == 0 || fdatasync(journal->descriptor) == 0) &&
            sum_up(journal->descriptor, end, &journal->crc32) &&
            (end == size || ftruncate(journal->descriptor, (off_t)end) == 0)) {
            journal->synced = journal->written = end;
            return true;
        }
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

/* Reopens the file, to rewrite what may not be on the disk: a network mount that was lost needs a
 * new descriptor, and only a new one reports further errors. */
static void distrust(struct journal *journal)
{
    drop_descriptor(journal);
    journal->written = journal->synced;
    journal->distrusted = true;
}

static void meet_trouble(struct journal *journal)
{
    const int code = errno;
    error_set_errno(&journal->trouble, journal->path,
                    "free some space; it is tried again, and the training goes on",
                    "the journal cannot be written");
    if (code == ESTALE || code == EIO || code == EBADF)
        distrust(journal);
}

static bool write_pending(struct journal *journal)
{
    const struct text *pending = &journal->pending;
    const uint64_t end = journal->synced + pending->length;
    if (journal->descriptor < 0)
        journal->descriptor = open_file(journal);
    bool good = journal->descriptor >= 0;
    while (good && journal->written < end) {
        const size_t from = (size_t)(journal->written - journal->synced);
        const ssize_t count = pwrite(journal->descriptor, pending->data + from,
                                     pending->length - from, (off_t)journal->written);
        good = count > 0 || (count < 0 && errno == EINTR);
        journal->written += count > 0 ? (uint64_t)count : 0;
    }
    if (!good)
        meet_trouble(journal);
    else if (!journal->distrusted)
        journal->trouble = (struct error){0};
    return good;
}

/* Notes that everything is on the disk. */
static void settle(struct journal *journal)
{
    struct text *pending = &journal->pending;
    if (pending->length > 0) {
        journal->crc32 = (uint32_t)crc32_z(journal->crc32, (const unsigned char *)pending->data,
                                           pending->length);
        pending->data[0] = '\0';
    }
    journal->synced += pending->length;
    pending->length = 0;
    journal->distrusted = false;
    journal->trouble = (struct error){0};
}

bool journal_sync(struct journal *journal)
{
    journal->flushed = clock_nanoseconds();
    if (!write_pending(journal))
        return false;
    if (fdatasync(journal->descriptor) != 0) {
        meet_trouble(journal);
        distrust(journal);
        return false;
    }
    settle(journal);
    journal->entered = journal->entered || file_sync_directory_of(journal->path);
    if (journal->entered)
        return true;
    meet_trouble(journal);
    journal->distrusted = true;
    return false;
}

static void flush_at(struct journal *journal, uint64_t now)
{
    journal->flushed = now;
    if (journal->pending.length > 0 && write_pending(journal) &&
        (journal->distrusted || journal->pending.length >= JOURNAL_UNSYNCED_MOST))
        journal_sync(journal);
}

void journal_flush(struct journal *journal)
{
    flush_at(journal, clock_nanoseconds());
}

/* Counts the lines after the first `from` bytes. */
static uint64_t count_lines(const struct text *text, size_t from)
{
    uint64_t lines = 0;
    for (size_t i = from; i < text->length; i++)
        lines += text->data[i] == '\n';
    return lines;
}

/* Returns where the last whole line in the file ends. */
static uint64_t cut_torn_line(const struct journal *journal)
{
    const size_t unsynced = (size_t)(journal->written - journal->synced);
    const char *text = journal->pending.data;
    const char *newline = unsynced ? portable_find_last(text, '\n', unsynced) : NULL;
    const uint64_t whole = journal->synced + (newline ? (uint64_t)(newline - text) + 1 : 0);
    if (journal->descriptor < 0 || whole == journal->written)
        return whole;
    /* if this fails nothing can be done; readers skip a torn line */
    const bool done = ftruncate(journal->descriptor, (off_t)whole) == 0;
    (void)done;
    return whole;
}

uint64_t journal_close(struct journal *journal)
{
    if (!journal->path)
        return 0;
    flush_at(journal, 0);
    const uint64_t whole = cut_torn_line(journal);
    const uint64_t lost = journal->lost + count_lines(&journal->pending, whole - journal->synced);
    drop_descriptor(journal);
    text_free(&journal->pending);
    free(journal->path);
    *journal = (struct journal){.descriptor = -1};
    return lost;
}

void journal_abandon(struct journal *journal)
{
    drop_descriptor(journal);
    text_free(&journal->pending);
    free(journal->path);
    *journal = (struct journal){.descriptor = -1};
}

/* --- lines --- */

/* Returns whether a line can be added. Its bytes are then appended, and end_line removes them if
 * that failed. */
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
    text_append(text, "}\n");
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
    put_if_number(text, "loss_error", (double)validation->loss_error);
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
