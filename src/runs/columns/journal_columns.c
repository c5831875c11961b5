/* Reads a journal through its column file, or from its text, and then writes the file.
 *
 * A reading calls the same visitor with the same lines in the same order, wherever they come from:
 * iterations from the columns, all other lines from the journal, at the places that the column file
 * names. Before anything is visited, the journal's stamp is compared with the file's; if they
 * differ, the CRC-32 of the journal's first bytes is computed, and the new stamp is put into the
 * file's header, in place: the header has a checksum of its own, so that a reader of the same
 * moment at worst takes the file for a damaged one, and reads the text. */
#include "runs/columns/journal_columns.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/portable/portable.h"
#include "runs/columns/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

/* A larger column file is not used: a damaged or hostile one would have tinca read for minutes. */
#define FILE_MOST ((size_t)1 << 30)

/* --- the stamp of a journal --- */

/* A longer journal has no column file: a hostile one would have tinca read for minutes. */
#define JOURNAL_MOST ((uint64_t)8 << 30)

enum { STAMP_END = 4096 };

static uint64_t nanoseconds(struct timespec time)
{
    return time.tv_sec < 0 ? 0 : (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static bool has_holes(const struct stat *status)
{
    const uint64_t size = (uint64_t)status->st_size, blocks = (uint64_t)status->st_blocks;
    return blocks == 0 ? size > STAMP_END : blocks * 512 + STAMP_END < size;
}

/* Adds the CRC-32 of the bytes from `offset` on, up to STAMP_END of them. */
static bool add_end(int descriptor, uint64_t offset, uint64_t size, uint64_t *crc32)
{
    unsigned char bytes[STAMP_END];
    const size_t length = size - offset < STAMP_END ? (size_t)(size - offset) : STAMP_END;
    if (!file_read_at(descriptor, (char *)bytes, length, offset))
        return false;
    *crc32 = crc32_z((uLong)*crc32, bytes, length);
    return true;
}

bool journal_stamp_take(struct journal_stamp *stamp, const char *path)
{
    struct stat status;
    const int descriptor = file_open_if_regular(path, O_RDONLY | O_NOFOLLOW, &status);
    *stamp = (struct journal_stamp){0};
    if (descriptor < 0)
        return false;
    const uint64_t size = (uint64_t)status.st_size;
    uint64_t crc32 = 0;
    const bool taken = size > 0 && size <= JOURNAL_MOST && !has_holes(&status) &&
                       add_end(descriptor, 0, size, &crc32) &&
                       add_end(descriptor, size < STAMP_END ? 0 : size - STAMP_END, size, &crc32);
    close(descriptor);
    if (taken)
        *stamp = (struct journal_stamp){.device = status.st_dev,
                                        .inode = status.st_ino,
                                        .size = size,
                                        .modified = nanoseconds(status.st_mtim),
                                        .changed = nanoseconds(status.st_ctim),
                                        .ends = crc32};
    return taken;
}

bool journal_stamp_same(const struct journal_stamp *a, const struct journal_stamp *b)
{
    return a->size > 0 && a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified == b->modified && a->changed == b->changed && a->ends == b->ends;
}

bool journal_stamp_is_settled(const struct journal_stamp *stamp, uint64_t now)
{
    const uint64_t last = stamp->modified > stamp->changed ? stamp->modified : stamp->changed;
    return stamp->size > 0 && now > last && now - last > JOURNAL_STAMP_SETTLES;
}

uint64_t journal_stamp_clock(const char *path)
{
    struct file_writer writer;
    struct stat status;
    if (!file_writer_open(&writer, path, true, NULL))
        return 0;
    const bool known = fstat(fileno(writer.stream), &status) == 0;
    file_writer_abandon(&writer);
    return known ? nanoseconds(status.st_mtim) : 0;
}

/* --- reading --- */

struct reading {
    const char *directory;
    char *journal, *columns;    /* paths */
    struct journal_stamp stamp; /* of the journal, when it was opened; size 0: only for its text */
    bool writes;                /* the column file, or a new stamp */
    const struct journal_sum *known; /* what its bytes were found to be; NULL: nothing */
    bool settled;                    /* the stamp may be noted, if the journal still has it later */
    uint64_t limit;
    journal_visit *visit;
    void *context;
};

static bool open_reading(struct reading *reading, struct error *error)
{
    reading->journal = file_join(reading->directory, "journal.jsonl");
    reading->columns = file_join(reading->directory, JOURNAL_COLUMNS_FILE);
    if (!reading->journal || !reading->columns)
        return error_set_memory(error, "a path", 0);
    journal_stamp_take(&reading->stamp, reading->journal);
    return true;
}

static void close_reading(struct reading *reading)
{
    free(reading->journal);
    free(reading->columns);
}

/* --- settled stamps --- */

/* Call it before the journal is read: what is read afterwards can be noted under the stamp only if
 * the times in it were past already. */
static void settle(struct reading *reading)
{
    reading->settled =
        reading->writes &&
        journal_stamp_is_settled(&reading->stamp, journal_stamp_clock(reading->columns));
}

/* Returns the stamp to note after the journal was read; that of size 0 if none can be. */
static struct journal_stamp stamp_to_note(const struct reading *reading)
{
    struct journal_stamp now;
    if (reading->settled && journal_stamp_take(&now, reading->journal) &&
        journal_stamp_same(&now, &reading->stamp))
        return now;
    return (struct journal_stamp){0};
}

/* Puts the journal's stamp into the column file, which begins with `bytes`, unless another process
 * has replaced it. */
static void note_stamp(const struct reading *reading, unsigned char *bytes)
{
    struct stat status;
    unsigned char present[HEADER_SIZE];
    const struct journal_stamp stamp = stamp_to_note(reading);
    const int descriptor =
        stamp.size > 0 ? file_open_if_regular(reading->columns, O_RDWR | O_NOFOLLOW, &status) : -1;
    if (descriptor < 0)
        return;
    if (file_read_at(descriptor, (char *)present, HEADER_SIZE, 0) &&
        memcmp(present, bytes, HEADER_SIZE) == 0) {
        journal_lines_stamp(bytes, &stamp);
        const ssize_t written = pwrite(descriptor, bytes, HEADER_SIZE, 0);
        (void)written; /* half a header is not used; the next reading writes the file anew */
    }
    close(descriptor);
}

/* --- from the column file --- */

static unsigned char *read_columns(const char *path, size_t *size, struct error *error)
{
    struct stat status;
    const int descriptor = file_open_if_regular(path, O_RDONLY | O_NOFOLLOW, &status);
    if (descriptor < 0) {
        error_set_errno(error, path, NULL, "cannot open");
        return NULL;
    }
    close(descriptor);
    return (unsigned char *)file_read(path, FILE_MOST, size, error);
}

/* Returns whether the journal begins with the bytes from which the column file was made. */
static bool begins_with(const struct reading *reading, const struct journal_sum *claimed)
{
    uint32_t found;
    if (reading->known && reading->known->length == claimed->length)
        return reading->known->crc32 == claimed->crc32;
    return claimed->length <= reading->stamp.size &&
           journal_checksum(reading->journal, claimed->length, &found, NULL) &&
           found == claimed->crc32;
}

/* Compares the journal with the origin of a column file, which begins with `bytes`: by its stamp,
 * unless `whole`, and by its CRC-32. Sets origin->sum.source; JOURNAL_TEXT: it is another one. */
static void compare_origin(struct reading *reading, unsigned char *bytes, bool whole,
                           struct journal_origin *origin)
{
    origin->sum.source = JOURNAL_TEXT;
    if (!whole && journal_stamp_same(&origin->stamp, &reading->stamp) &&
        origin->sum.length <= reading->stamp.size) {
        origin->sum.source = JOURNAL_COLUMNS_STAMPED;
        return;
    }
    settle(reading);
    if (!begins_with(reading, &origin->sum))
        return;
    origin->sum.source = JOURNAL_COLUMNS_SUMMED;
    note_stamp(reading, bytes);
}

/* Reads the column file, of which *bytes, owned by the caller, are the contents, into *lines, and
 * sets *sum to what the journal's first bytes are; `whole`: these are read, whatever the stamp
 * says. If the file does not fit the journal, returns false with an error, and *sum is empty. */
static bool load(struct reading *reading, bool whole, unsigned char **contents,
                 struct journal_lines *lines, struct journal_sum *sum, struct error *error)
{
    size_t size;
    struct journal_origin origin = {0};
    unsigned char *bytes = *contents = read_columns(reading->columns, &size, error);
    const char *why = bytes ? journal_lines_decode(bytes, size, lines, &origin) : NULL;
    *sum = (struct journal_sum){0};
    if (bytes && !why) {
        compare_origin(reading, bytes, whole, &origin);
        if (origin.sum.source == JOURNAL_TEXT) {
            journal_lines_free(lines);
            why = N_("it was made from another journal");
        } else
            *sum = origin.sum;
    }
    return bytes &&
           (!why || error_set(error, ERROR_INPUT, reading->columns, NULL, "%s", gettext(why)));
}

enum { BLOCK = 512 }; /* points, which then lie in the first cache */

struct replay {
    const struct reading *reading;
    const struct journal_lines *lines;
    int descriptor;             /* the journal */
    char *line;                 /* room for one */
    struct series_point *block; /* room for BLOCK of them */
    size_t points;              /* visited so far */
    bool ended;                 /* the visitor has had enough */
};

static bool visit_points(struct replay *replay, size_t until, struct error *error)
{
    const struct reading *reading = replay->reading;
    bool good = true;
    while (good && replay->points < until) {
        const size_t left = until - replay->points, count = left < BLOCK ? left : BLOCK;
        journal_lines_block(replay->lines, replay->points, count, replay->block);
        for (size_t i = 0; good && i < count; i++)
            good = reading->visit(reading->context,
                                  &(struct journal_line){.point = &replay->block[i]}, error);
        replay->points += count;
    }
    replay->ended = !good;
    return good;
}

static bool visit_other(struct replay *replay, const struct other_line *other, struct error *error)
{
    const struct reading *reading = replay->reading;
    if (!file_read_at(replay->descriptor, replay->line, other->length, other->begin))
        return error_set_errno(error, reading->journal, NULL, "cannot be read");
    return journal_visit_line(replay->line, other->length, other->begin + other->length + 1,
                              reading->journal, reading->visit, reading->context, error);
}

/* Visits the lines that end within the first `end` bytes, of which `points` are iterations. */
static bool visit_columns(struct replay *replay, size_t points, uint64_t end, struct error *error)
{
    const struct journal_lines *lines = replay->lines;
    bool good = true;
    for (size_t i = 0; good && i < lines->other_count; i++) {
        const struct other_line *other = &lines->others[i];
        if (other->begin + other->length + 1 > end)
            break;
        good = visit_points(replay, other->points, error) && visit_other(replay, other, error);
    }
    return good && visit_points(replay, points, error);
}

/* Visits the lines of the journal, those before the largest known place within the limit from the
 * columns and the others from the text. */
static bool visit_lines(const struct reading *reading, const struct journal_lines *lines,
                        struct error *error)
{
    struct stat status;
    size_t points = lines->point_count;
    uint64_t end = lines->end;
    if (end > reading->limit) {
        size_t mark = lines->mark_count;
        while (mark > 0 && lines->marks[mark - 1] > reading->limit)
            mark--;
        end = mark > 0 ? lines->marks[mark - 1] : 0;
        points = mark * MARK_POINTS;
    }
    struct replay replay = {
        .reading = reading,
        .lines = lines,
        .descriptor = file_open_if_regular(reading->journal, O_RDONLY | O_NOFOLLOW, &status),
        .line = memory_new(JOURNAL_LINE_MOST, 1, "a line of the journal", error),
        .block = memory_new(BLOCK, sizeof *replay.block, "curves", error)};
    bool good = replay.line && replay.block;
    if (good && replay.descriptor < 0)
        good = error_set_errno(error, reading->journal, NULL, "cannot open");
    good = good && visit_columns(&replay, points, end, error) &&
           (end >= reading->limit || journal_read_range(reading->journal, end, reading->limit,
                                                        reading->visit, reading->context, error));
    if (replay.descriptor >= 0)
        close(replay.descriptor);
    free(replay.line);
    free(replay.block);
    return good;
}

/* --- from the text --- */

/* Passes lines on, and keeps them. */
struct keeping {
    const struct reading *reading; /* NULL: they are only kept */
    struct journal_lines lines;
};

static bool keep_line(void *context, const struct journal_line *line, struct error *error)
{
    struct keeping *keeping = context;
    const struct reading *reading = keeping->reading;
    journal_lines_add(&keeping->lines, line);
    return !reading || reading->visit(reading->context, line, error);
}

/* Writes the column file, and sets *sum to what the journal's first bytes are. */
static bool write_lines(const struct reading *reading, const struct journal_lines *lines,
                        struct journal_sum *sum, struct error *error)
{
    size_t size;
    struct journal_sum made = {.length = lines->end};
    if (!journal_checksum(reading->journal, made.length, &made.crc32, error))
        return false;
    const struct journal_stamp stamp = stamp_to_note(reading);
    unsigned char *bytes = journal_lines_encode(lines, &made, &stamp, &size);
    const bool written = bytes ? file_write(reading->columns, bytes, size, true, error)
                               : error_set_memory(error, JOURNAL_COLUMNS_FILE, 0);
    free(bytes);
    *sum = made;
    return written;
}

static bool read_and_write(struct reading *reading, struct journal_sum *sum, struct error *error)
{
    struct keeping keeping = {.reading = reading};
    settle(reading);
    const bool read = journal_read(reading->journal, keep_line, &keeping, error);
    if (read)
        write_lines(reading, &keeping.lines, sum, NULL); /* it is a cache */
    journal_lines_free(&keeping.lines);
    return read;
}

bool journal_columns_read(const char *directory, uint64_t limit, bool writes, journal_visit *visit,
                          void *context, struct journal_sum *sum, struct error *error)
{
    unsigned char *bytes = NULL;
    struct journal_lines lines = {0};
    struct reading reading = {.directory = directory,
                              .limit = limit,
                              .visit = visit,
                              .context = context,
                              .writes = writes && limit == UINT64_MAX};
    bool read = open_reading(&reading, error);
    *sum = (struct journal_sum){0};
    const bool long_enough = read && reading.stamp.size >= JOURNAL_COLUMNS_LEAST;
    bool fits = long_enough && load(&reading, false, &bytes, &lines, sum, NULL);
    if (fits && limit > reading.stamp.size &&
        reading.stamp.size - sum->length >= JOURNAL_COLUMNS_LEAST) {
        *sum = (struct journal_sum){0}; /* most of the rest is new: it is worth a new file */
        fits = false;
    }
    if (fits)
        read = visit_lines(&reading, &lines, error);
    else if (long_enough && reading.writes)
        read = read_and_write(&reading, sum, error);
    else if (read && file_exists(reading.journal))
        read = journal_read_first(reading.journal, limit, visit, context, error);
    free(bytes);
    journal_lines_free(&lines);
    close_reading(&reading);
    return read;
}

bool journal_columns_write(const char *directory, struct error *error)
{
    struct journal_sum sum;
    struct keeping keeping = {0};
    struct reading reading = {.directory = directory, .writes = true};
    bool written = open_reading(&reading, error);
    if (written && reading.stamp.size >= JOURNAL_COLUMNS_LEAST) {
        settle(&reading);
        written = journal_read(reading.journal, keep_line, &keeping, error) &&
                  write_lines(&reading, &keeping.lines, &sum, error);
    }
    journal_lines_free(&keeping.lines);
    close_reading(&reading);
    return written;
}

/* Returns whether the column file has the same body as one made from the lines; otherwise false
 * with an error. */
static bool agree(const struct reading *reading, const unsigned char *bytes, size_t size,
                  const struct journal_lines *lines, const struct journal_sum *sum,
                  struct error *error)
{
    size_t made_size = 0;
    const struct journal_stamp any = {0};
    unsigned char *made = journal_lines_encode(lines, sum, &any, &made_size);
    if (!made)
        return error_set_memory(error, JOURNAL_COLUMNS_FILE, 0);
    const bool same = made_size == size &&
                      memcmp(made + HEADER_SIZE, bytes + HEADER_SIZE, size - HEADER_SIZE) == 0;
    free(made);
    return same || error_set(error, ERROR_INPUT, reading->columns, NULL,
                             "its values are not those of the journal");
}

bool journal_columns_check(const char *directory, const struct journal_sum *known,
                           struct error *error)
{
    struct journal_lines lines = {0};
    struct journal_sum sum;
    struct keeping keeping = {0};
    struct reading reading = {.directory = directory, .known = known};
    size_t size;
    unsigned char *bytes = NULL, *loaded = NULL;
    bool good =
        open_reading(&reading, error) && (bytes = read_columns(reading.columns, &size, error));
    if (good && !journal_lines_are_old(bytes, size))
        good = load(&reading, true, &loaded, &lines, &sum, error) &&
               journal_read_first(reading.journal, sum.length, keep_line, &keeping, error) &&
               agree(&reading, bytes, size, &keeping.lines, &sum, error);
    free(bytes);
    free(loaded);
    journal_lines_free(&lines);
    journal_lines_free(&keeping.lines);
    close_reading(&reading);
    return good;
}
