/* Reads a journal record by record, in blocks; one that grows, from the place where the last
 * reading ended. */
#include "runs/folder/journal.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "runs/folder/journal_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { BLOCK = 1 << 16 };
#define ADVICE "bring back a copy of it, or let tinca resume compute it again"

/* --- files --- */

static char *join(const char *directory, bool is_text, struct error *error)
{
    char *path = file_join(directory, is_text ? JOURNAL_TEXT_FILE : JOURNAL_FILE);
    if (!path)
        error_set_memory(error, "the journal's path", 0);
    return path;
}

static bool lies_there(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

char *journal_path(const char *directory, bool *is_text, struct error *error)
{
    char *path = join(directory, false, error),
         *earlier = path ? join(directory, true, error) : NULL;
    const bool text = earlier && !lies_there(path) && lies_there(earlier);
    char *chosen = !earlier ? NULL : text ? earlier : path;
    if (chosen != path)
        free(path);
    if (chosen != earlier)
        free(earlier);
    if (is_text)
        *is_text = text;
    return chosen;
}

/* Opens a journal and returns a descriptor, or -1 with an error, of kind ERROR_INPUT if there is
 * none. */
static int open_journal(const char *path, uint64_t *size, struct error *error)
{
    struct stat status = {0};
    const int descriptor = file_open_if_regular(path, O_RDONLY | O_NOFOLLOW, &status);
    *size = (uint64_t)status.st_size;
    if (descriptor < 0 && errno == ENOENT)
        error_set(error, ERROR_INPUT, path, ADVICE, "the journal is missing");
    else if (descriptor < 0 && errno == EINVAL)
        error_set(error, ERROR_INPUT, path, "remove what lies there under that name",
                  "this is not a regular file");
    else if (descriptor < 0)
        error_set_errno(error, path, "check its permissions", "cannot open");
    return descriptor;
}

/* --- records --- */

/* A reading of records from byte `at` on, up to byte `end`. */
struct reading {
    struct journal_codec *codec;
    const char *path;
    int descriptor;
    uint64_t at, end;
    journal_visit *visit;
    void *context;
};

/* Takes the whole records of a block, which begins at reading->at. */
static bool take_block(struct reading *reading, const unsigned char *block, size_t length,
                       struct error *error)
{
    bool good = true;
    for (size_t i = 0; good && i + JOURNAL_RECORD <= length; i += JOURNAL_RECORD) {
        reading->at += JOURNAL_RECORD;
        good = journal_take_record(reading->codec, block + i, reading->at, reading->path,
                                   reading->visit, reading->context, error);
    }
    return good;
}

static bool read_records(struct reading *reading, struct error *error)
{
    unsigned char *block = memory_new(BLOCK, 1, "the journal", error);
    bool good = block;
    while (good && reading->end - reading->at >= JOURNAL_RECORD) {
        const uint64_t rest = reading->end - reading->at;
        const size_t length = rest < BLOCK ? (size_t)(rest - rest % JOURNAL_RECORD) : BLOCK;
        good = file_read_at(reading->descriptor, (char *)block, length, reading->at) ||
               error_set_errno(error, reading->path, "check the disk", "cannot be read");
        if (good && reading->at == 0)
            good = journal_record_check_version(block, reading->path, error);
        good = good && take_block(reading, block, length, error);
    }
    free(block);
    return good;
}

/* Reads the journal up to byte `limit`, and sets *found to what it is. */
static bool read_file(const char *path, uint64_t limit, journal_visit *visit, void *context,
                      struct journal_found *found, struct error *error)
{
    struct journal_codec codec = {0};
    struct reading reading = {.codec = &codec, .path = path, .visit = visit, .context = context};
    reading.descriptor = open_journal(path, &reading.end, error);
    if (reading.descriptor < 0)
        return false;
    if (reading.end > limit)
        reading.end = limit;
    const bool good = read_records(&reading, error);
    close(reading.descriptor);
    *found = (struct journal_found){.length = reading.at,
                                    .sum = codec.sum,
                                    .faults = codec.faults,
                                    .first_fault = codec.first_fault};
    journal_codec_free(&codec);
    return good;
}

bool journal_read_file(const char *path, bool is_text, uint64_t limit, journal_visit *visit,
                       void *context, struct journal_found *found, struct error *error)
{
    struct journal_found unused;
    if (!found)
        found = &unused;
    *found = (struct journal_found){.is_text = is_text};
    return is_text ? journal_text_read(path, limit, visit, context, found, error)
                   : read_file(path, limit, visit, context, found, error);
}

bool journal_read(const char *directory, const struct journal_mark *until, journal_visit *visit,
                  void *context, struct journal_found *found, struct error *error)
{
    bool is_text = until && until->is_text;
    char *path = until ? join(directory, is_text, error) : journal_path(directory, &is_text, error);
    if (found)
        *found = (struct journal_found){.is_text = is_text};
    const bool read = path && (!lies_there(path) ||
                               journal_read_file(path, is_text, until ? until->length : UINT64_MAX,
                                                 visit, context, found, error));
    free(path);
    return read;
}

uint64_t journal_last_iteration(const char *directory)
{
    unsigned char block[16 * 1024];
    uint64_t size = 0, iteration = 0;
    bool is_text;
    char *path = journal_path(directory, &is_text, NULL);
    const int descriptor = path && !is_text ? open_journal(path, &size, NULL) : -1;
    free(path);
    if (descriptor < 0)
        return 0;
    size -= size % JOURNAL_RECORD;
    const size_t length = size < sizeof block ? (size_t)size : sizeof block;
    if (file_read_at(descriptor, (char *)block, length, size - length))
        for (size_t i = length; iteration == 0 && i > 0; i -= JOURNAL_RECORD)
            iteration = journal_record_iteration(block + i - JOURNAL_RECORD);
    close(descriptor);
    return iteration;
}

/* --- sums --- */

/* Sets *sum to the CRC-32 of the first `length` bytes of a journal of an earlier version. */
static bool sum_up_text(int descriptor, uint64_t length, uint32_t *sum)
{
    unsigned char block[BLOCK];
    *sum = 0;
    for (uint64_t done = 0; done < length;) {
        const size_t most = length - done < sizeof block ? (size_t)(length - done) : sizeof block;
        if (!file_read_at(descriptor, (char *)block, most, done))
            return false;
        *sum = (uint32_t)crc32_z(*sum, block, most);
        done += most;
    }
    return true;
}

bool journal_sum_at(const char *directory, bool is_text, uint64_t length, uint32_t *sum,
                    struct error *error)
{
    uint64_t size;
    unsigned char record[JOURNAL_RECORD] = {0};
    char *path = join(directory, is_text, error);
    const int descriptor = path ? open_journal(path, &size, error) : -1;
    bool good = descriptor >= 0;
    if (good && size < length)
        good = error_set(error, ERROR_INPUT, path, ADVICE,
                         "the journal holds %llu bytes, but %llu were written",
                         (unsigned long long)size, (unsigned long long)length);
    else if (good && is_text)
        good = sum_up_text(descriptor, length, sum) ||
               error_set_errno(error, path, "check the disk", "cannot be read");
    else if (good) {
        good = length < sizeof record ||
               file_read_at(descriptor, (char *)record, sizeof record, length - sizeof record) ||
               error_set_errno(error, path, "check the disk", "cannot be read");
        *sum = journal_record_sum(record);
    }
    if (descriptor >= 0)
        close(descriptor);
    free(path);
    return good;
}

static bool ignore(void *context, const struct journal_line *line, struct error *error)
{
    (void)context;
    (void)line;
    (void)error;
    return true;
}

bool journal_verify(const char *directory, const struct journal_mark *mark, struct error *error)
{
    uint32_t sum;
    struct journal_found found = {0};
    if (!journal_sum_at(directory, mark->is_text, mark->length, &sum, error) ||
        (!mark->is_text && !journal_read(directory, mark, ignore, NULL, &found, error)))
        return false;
    if (!mark->has_sum || (sum == mark->sum && found.faults == 0))
        return true;
    char *path = join(directory, mark->is_text, error);
    if (path)
        error_set(error, ERROR_INPUT, path, ADVICE,
                  "the journal is damaged: its first %llu bytes are not those that were written",
                  (unsigned long long)mark->length);
    free(path);
    return false;
}

/* --- a journal that grows --- */

/* Returns whether the file still has the record before the offset, whose sum stands for all bytes
 * before it, too. */
static bool is_the_same(const struct journal_tail *tail, int descriptor, uint64_t size)
{
    unsigned char record[JOURNAL_RECORD];
    if (tail->offset == 0)
        return true;
    return size >= tail->offset &&
           file_read_at(descriptor, (char *)record, sizeof record, tail->offset - sizeof record) &&
           journal_record_sum(record) == tail->codec.sum;
}

static enum journal_tail_result take_piece(struct journal_tail *tail, int descriptor, uint64_t size,
                                           const char *path, journal_visit *visit, void *context,
                                           struct error *error)
{
    const uint64_t rest = size - tail->offset;
    struct reading reading = {.codec = &tail->codec,
                              .path = path,
                              .descriptor = descriptor,
                              .at = tail->offset,
                              .end = tail->offset + (rest < JOURNAL_PIECE ? rest : JOURNAL_PIECE),
                              .visit = visit,
                              .context = context};
    const bool read = read_records(&reading, error);
    const bool same = reading.at == tail->offset;
    tail->offset = reading.at;
    return !read                                 ? JOURNAL_FAILED
           : same                                ? JOURNAL_SAME
           : size - reading.at >= JOURNAL_RECORD ? JOURNAL_MORE
                                                 : JOURNAL_READ;
}

static enum journal_tail_result follow_records(struct journal_tail *tail, const char *path,
                                               journal_visit *visit, void *context,
                                               struct error *error)
{
    struct stat status;
    uint64_t size;
    const int descriptor = open_journal(path, &size, error);
    if (descriptor < 0)
        return JOURNAL_FAILED;
    if (fstat(descriptor, &status) == 0)
        tail->written = (double)status.st_mtim.tv_sec + 1e-9 * (double)status.st_mtim.tv_nsec;
    const enum journal_tail_result news =
        is_the_same(tail, descriptor, size)
            ? take_piece(tail, descriptor, size, path, visit, context, error)
            : JOURNAL_CUT;
    close(descriptor);
    return news;
}

/* Reads a journal of an earlier version, which only an earlier version lets grow, as a whole. */
static enum journal_tail_result follow_text(struct journal_tail *tail, const char *path,
                                            journal_visit *visit, void *context,
                                            struct error *error)
{
    struct stat status;
    struct journal_found found;
    if (stat(path, &status) != 0)
        return JOURNAL_SAME;
    const uint64_t size = (uint64_t)status.st_size;
    if (tail->offset > 0)
        return size == tail->offset ? JOURNAL_SAME : JOURNAL_CUT;
    tail->offset = size;
    tail->written = (double)status.st_mtim.tv_sec + 1e-9 * (double)status.st_mtim.tv_nsec;
    return !journal_text_read(path, size, visit, context, &found, error) ? JOURNAL_FAILED
           : size > 0                                                    ? JOURNAL_READ
                                                                         : JOURNAL_SAME;
}

enum journal_tail_result journal_tail_read(struct journal_tail *tail, const char *directory,
                                           journal_visit *visit, void *context, struct error *error)
{
    bool is_text;
    enum journal_tail_result news = JOURNAL_FAILED;
    char *path = journal_path(directory, &is_text, error);
    if (path && !lies_there(path))
        news = JOURNAL_SAME;
    else if (path && tail->offset > 0 && is_text != tail->is_text)
        news = JOURNAL_CUT; /* it was converted */
    else if (path)
        news = (is_text ? follow_text : follow_records)(tail, path, visit, context, error);
    tail->is_text = is_text;
    free(path);
    return news;
}

void journal_tail_free(struct journal_tail *tail)
{
    journal_codec_free(&tail->codec);
    *tail = (struct journal_tail){0};
}
