/* Entries are collected in memory and written with pwrite(2) at known offsets, so that the journal
 * always knows how much of them is in the file. `pending` has everything after the last byte that a
 * sync has confirmed:
 *
 *     0 ............ synced ............ written ............ synced + pending.length
 *       on the disk         in the file          waits in memory
 */
#include "runs/folder/journal.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "runs/folder/journal_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t flush_interval = 250000000; /* nanoseconds */

/* --- conversion --- */

/* A journal that is being written as a whole. */
struct conversion {
    struct journal_codec codec;
    struct text text;
    FILE *stream;
};

static bool convert_line(void *context, const struct journal_line *line, struct error *error)
{
    struct conversion *conversion = context;
    struct text *text = &conversion->text;
    if (line->point)
        journal_put_point(&conversion->codec, text, line->point);
    else if (line->validation)
        journal_put_validation(&conversion->codec, text, line->validation);
    else
        journal_put_text(&conversion->codec, text, line->text, line->length);
    if (text->failed)
        return error_set_memory(error, "the journal", 0);
    text_drain(text, conversion->stream);
    return true;
}

bool journal_text_convert(const char *from, const char *to, uint64_t limit, struct error *error)
{
    struct file_writer writer;
    if (!file_writer_open(&writer, to, true, error))
        return false;
    struct journal_found found = {0};
    struct conversion conversion = {.stream = writer.stream};
    journal_put_header(&conversion.codec, &conversion.text);
    bool good = journal_text_read(from, limit, convert_line, &conversion, &found, error);
    text_drain(&conversion.text, writer.stream);
    text_free(&conversion.text);
    if (good)
        good = file_writer_commit(&writer, error);
    else
        file_writer_abandon(&writer);
    return good && (file_sync_directory_of(to) ||
                    error_set_errno(error, to, "check the disk", "cannot be written"));
}

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

/* Sets *end to where the last whole entry within the first `size` bytes ends, and *sum to the
 * checksum there. Returns false with errno if the file cannot be read, which must not empty it. */
static bool find_end_of_entries(int descriptor, uint64_t size, uint64_t *end, uint32_t *sum)
{
    unsigned char record[JOURNAL_RECORD];
    *sum = 0;
    for (*end = size - size % JOURNAL_RECORD; *end > 0; *end -= JOURNAL_RECORD) {
        if (!file_read_at(descriptor, (char *)record, sizeof record, *end - sizeof record))
            return false;
        if (journal_record_is_last(record)) {
            *sum = journal_record_sum(record);
            break;
        }
    }
    return true;
}

/* Cuts the file to whole entries within the first `keep` bytes, and syncs it. */
static bool cut(struct journal *journal, uint64_t keep, struct error *error)
{
    struct stat status;
    if (fstat(journal->descriptor, &status) == 0) {
        const uint64_t size = (uint64_t)status.st_size;
        uint64_t end;
        if (find_end_of_entries(journal->descriptor, keep < size ? keep : size, &end,
                                &journal->sum) &&
            (size == 0 || fdatasync(journal->descriptor) == 0) &&
            (end == size || ftruncate(journal->descriptor, (off_t)end) == 0)) {
            journal->synced = journal->written = end;
            journal->codec.sum = journal->sum;
            if (end == 0)
                journal_put_header(&journal->codec, &journal->pending);
            return true;
        }
    }
    return error_set_errno(error, journal->path, "check the disk", "cannot be cut to its end");
}

static bool open_and_cut(struct journal *journal, uint64_t keep, struct error *error)
{
    journal->descriptor = open_file(journal);
    if (journal->descriptor < 0 && errno == EINVAL)
        error_set(error, ERROR_INPUT, journal->path, "remove what lies there under that name",
                  "this is not a regular file");
    else if (journal->descriptor < 0)
        error_set_errno(error, journal->path, "check space and permissions", "cannot create");
    return journal->descriptor >= 0 && cut(journal, keep, error);
}

/* Converts the journal of an earlier version, and removes its column file, which was a cache. */
static bool convert(const struct journal *journal, const char *directory, uint64_t length,
                    struct error *error)
{
    char *columns = file_join(directory, JOURNAL_COLUMNS_FILE);
    if (columns)
        unlink(columns);
    free(columns);
    return journal_text_convert(journal->earlier, journal->path, length, error);
}

bool journal_open(struct journal *journal, const char *directory, const struct journal_mark *keep,
                  struct error *error)
{
    *journal = (struct journal){.descriptor = -1,
                                .path = file_join(directory, JOURNAL_FILE),
                                .earlier = file_join(directory, JOURNAL_TEXT_FILE)};
    bool good =
        (journal->path && journal->earlier) || error_set_memory(error, "the journal's path", 0);
    uint64_t length = keep ? keep->length : 0;
    if (good && keep && keep->is_text) {
        good = convert(journal, directory, length, error);
        length = UINT64_MAX;
    }
    if (good && open_and_cut(journal, length, error))
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
    if (pending->length > 0)
        journal->sum = journal_record_sum((const unsigned char *)pending->data + pending->length -
                                          JOURNAL_RECORD);
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

/* Returns the bytes of whole entries among the first `length` bytes that wait. */
static size_t whole_entries(const struct journal *journal, size_t length)
{
    const unsigned char *records = (const unsigned char *)journal->pending.data;
    length -= length % JOURNAL_RECORD;
    while (length > 0 && !journal_record_is_last(records + length - JOURNAL_RECORD))
        length -= JOURNAL_RECORD;
    return length;
}

/* Counts the entries after the first `from` bytes that wait. */
static uint64_t count_entries(const struct text *pending, size_t from)
{
    uint64_t entries = 0;
    for (; from < pending->length; from += JOURNAL_RECORD)
        entries += journal_record_is_last((const unsigned char *)pending->data + from);
    return entries;
}

/* Returns where the last whole entry in the file ends, in the bytes that wait. */
static size_t cut_torn_entry(const struct journal *journal)
{
    const size_t whole = whole_entries(journal, (size_t)(journal->written - journal->synced));
    const uint64_t end = journal->synced + whole;
    if (journal->descriptor < 0 || end == journal->written)
        return whole;
    /* if this fails nothing can be done; readers skip a torn record */
    const bool done = ftruncate(journal->descriptor, (off_t)end) == 0;
    (void)done;
    return whole;
}

/* Closes the file and frees everything. Does nothing for {0}. */
static void discard(struct journal *journal)
{
    if (!journal->path && !journal->earlier)
        return;
    drop_descriptor(journal);
    text_free(&journal->pending);
    journal_codec_free(&journal->codec);
    free(journal->path);
    free(journal->earlier);
    *journal = (struct journal){.descriptor = -1};
}

uint64_t journal_close(struct journal *journal)
{
    uint64_t lost = 0;
    if (journal->path) {
        flush_at(journal, 0);
        lost = journal->lost + count_entries(&journal->pending, cut_torn_entry(journal));
    }
    discard(journal);
    return lost;
}

void journal_abandon(struct journal *journal)
{
    discard(journal);
}

void journal_forget_earlier(struct journal *journal)
{
    if (journal->earlier)
        unlink(journal->earlier);
    free(journal->earlier);
    journal->earlier = NULL;
}

void journal_note_checkpoint(struct journal *journal)
{
    if (++journal->checkpoints > 1)
        journal_forget_earlier(journal);
}

/* --- entries --- */

/* Returns whether an entry can be added. Its records are then appended, and end_entry removes them
 * if that failed. */
static bool begin_entry(struct journal *journal)
{
    if (journal->pending.length < JOURNAL_PENDING_MOST)
        return true;
    journal->lost++;
    return false;
}

/* An entry that is removed may be one that the next entries need: the next one stands alone, and
 * series are named again. */
static void end_entry(struct journal *journal, size_t length, uint32_t sum)
{
    struct text *pending = &journal->pending;
    if (!pending->failed)
        return;
    journal->lost++;
    pending->failed = false;
    pending->length = length;
    journal->codec.sum = sum;
    journal->codec.since = 0;
    scalars_free(&journal->codec.names);
}

void journal_add_point(struct journal *journal, const struct series_point *point, uint64_t now)
{
    const size_t length = journal->pending.length;
    const uint32_t sum = journal->codec.sum;
    if (begin_entry(journal)) {
        journal_put_point(&journal->codec, &journal->pending, point);
        end_entry(journal, length, sum);
    }
    if (now - journal->flushed >= flush_interval)
        flush_at(journal, now);
}

void journal_add_validation(struct journal *journal, const struct series_validation *validation)
{
    const size_t length = journal->pending.length;
    const uint32_t sum = journal->codec.sum;
    if (begin_entry(journal)) {
        journal_put_validation(&journal->codec, &journal->pending, validation);
        end_entry(journal, length, sum);
    }
    journal_flush(journal);
}

void journal_add_scalar(struct journal *journal, const char *name, const struct scalar_value *value)
{
    const size_t length = journal->pending.length;
    const uint32_t sum = journal->codec.sum;
    if (begin_entry(journal)) {
        journal->lost += !journal_put_scalar(&journal->codec, &journal->pending, name, value);
        end_entry(journal, length, sum);
    }
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
    const size_t length = journal->pending.length;
    const uint32_t sum = journal->codec.sum;
    if (!event)
        event = new_event(name);
    char *text = event ? json_print(event, false, NULL) : NULL;
    json_free(event);
    if (begin_entry(journal)) {
        if (text)
            journal_put_text(&journal->codec, &journal->pending, text, strlen(text));
        else
            journal->pending.failed = true;
        end_entry(journal, length, sum);
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
