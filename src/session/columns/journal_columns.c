/* Reads a journal through its column file, or from its text, and then writes the file.
 *
 * A reading calls the same visitor with the same lines in the same order, wherever they come from:
 * iterations from the columns, all other lines from the journal, at the places that the column file
 * names. The CRC-32 of the journal's first bytes is computed before anything is visited, so that no
 * change of the journal, however small, goes unnoticed. */
#include "session/columns/journal_columns.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "session/columns/journal_columns_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A larger column file, or one for a longer journal, is not used: a damaged or hostile one would
 * have tinca read for minutes. */
#define FILE_MOST    ((size_t)1 << 30)
#define JOURNAL_MOST ((uint64_t)8 << 30)

struct reading {
    const char *directory;
    char *journal, *columns; /* paths */
    uint64_t size;           /* of the journal, when it was opened */
    uint64_t limit;
    journal_visit *visit;
    void *context;
};

static bool open_reading(struct reading *reading, struct error *error)
{
    reading->journal = file_join(reading->directory, "journal.jsonl");
    reading->columns = file_join(reading->directory, JOURNAL_COLUMNS_FILE);
    return (reading->journal && reading->columns) || error_set_memory(error, "a path", 0);
}

static void close_reading(struct reading *reading)
{
    free(reading->journal);
    free(reading->columns);
}

/* Returns the size of a journal whose every byte is on the disk; 0: it has none, or it has holes,
 * and only its text is to be read. */
static uint64_t size_of(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return 0;
    const uint64_t size = (uint64_t)status.st_size;
    const bool dense =
        status.st_blocks == 0 ? size <= 4096 : (uint64_t)status.st_blocks * 512 + 4096 >= size;
    return dense && size <= JOURNAL_MOST ? size : 0;
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

/* Reads the column file into *lines, and sets *sum to what the journal's first bytes were verified
 * to be. If the file does not fit the journal, returns false with an error, and *sum is empty. */
static bool load(const struct reading *reading, struct journal_lines *lines,
                 struct journal_sum *sum, struct error *error)
{
    size_t size;
    uint32_t found;
    struct journal_sum claimed;
    unsigned char *bytes = read_columns(reading->columns, &size, error);
    const char *why = bytes ? journal_lines_decode(bytes, size, lines, &claimed) : NULL;
    free(bytes);
    *sum = (struct journal_sum){0};
    if (!bytes)
        return false;
    if (why)
        return error_set(error, ERROR_INPUT, reading->columns, NULL, "%s", gettext(why));
    if (claimed.length <= reading->size &&
        journal_checksum(reading->journal, claimed.length, &found, NULL) &&
        found == claimed.crc32) {
        *sum = claimed;
        return true;
    }
    journal_lines_free(lines);
    return error_set(error, ERROR_INPUT, reading->columns, NULL,
                     "it was made from another journal");
}

struct replay {
    const struct reading *reading;
    const struct journal_lines *lines;
    int descriptor; /* the journal */
    char *line;     /* room for one */
    size_t points;  /* visited so far */
    bool ended;     /* the visitor has had enough */
};

static bool visit_points(struct replay *replay, size_t until, struct error *error)
{
    const struct reading *reading = replay->reading;
    bool good = true;
    for (; good && replay->points < until; replay->points++)
        good = reading->visit(
            reading->context,
            &(struct journal_line){.point = &replay->lines->points[replay->points]}, error);
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
        .line = memory_new(JOURNAL_LINE_MOST, 1, "a line of the journal", error)};
    bool good = replay.line;
    if (good && replay.descriptor < 0)
        good = error_set_errno(error, reading->journal, NULL, "cannot open");
    good = good && visit_columns(&replay, points, end, error) &&
           (end >= reading->limit || journal_read_range(reading->journal, end, reading->limit,
                                                        reading->visit, reading->context, error));
    if (replay.descriptor >= 0)
        close(replay.descriptor);
    free(replay.line);
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

static bool write_lines(const struct reading *reading, const struct journal_lines *lines,
                        struct error *error)
{
    uint32_t crc32;
    size_t size;
    if (!journal_checksum(reading->journal, lines->end, &crc32, error))
        return false;
    unsigned char *bytes = journal_lines_encode(lines, lines->end, crc32, &size);
    const bool written = bytes ? file_write(reading->columns, bytes, size, true, error)
                               : error_set_memory(error, JOURNAL_COLUMNS_FILE, 0);
    free(bytes);
    return written;
}

static bool read_and_write(const struct reading *reading, struct error *error)
{
    struct keeping keeping = {.reading = reading};
    const bool read = journal_read(reading->journal, keep_line, &keeping, error);
    if (read)
        write_lines(reading, &keeping.lines, NULL); /* it is a cache */
    journal_lines_free(&keeping.lines);
    return read;
}

bool journal_columns_read(const char *directory, uint64_t limit, bool writes, journal_visit *visit,
                          void *context, struct journal_sum *sum, struct error *error)
{
    struct journal_lines lines = {0};
    struct reading reading = {
        .directory = directory, .limit = limit, .visit = visit, .context = context};
    bool read = open_reading(&reading, error);
    *sum = (struct journal_sum){0};
    if (read)
        reading.size = size_of(reading.journal);
    const bool long_enough = read && reading.size >= JOURNAL_COLUMNS_LEAST;
    bool fits = long_enough && load(&reading, &lines, sum, NULL);
    if (fits && limit > reading.size && reading.size - sum->length >= JOURNAL_COLUMNS_LEAST) {
        *sum = (struct journal_sum){0}; /* most of the rest is new: it is worth a new file */
        fits = false;
    }
    if (fits)
        read = visit_lines(&reading, &lines, error);
    else if (long_enough && writes && limit == UINT64_MAX)
        read = read_and_write(&reading, error);
    else if (read && file_exists(reading.journal))
        read = journal_read_first(reading.journal, limit, visit, context, error);
    journal_lines_free(&lines);
    close_reading(&reading);
    return read;
}

bool journal_columns_write(const char *directory, struct error *error)
{
    struct keeping keeping = {0};
    struct reading reading = {.directory = directory};
    bool written = open_reading(&reading, error);
    if (written && size_of(reading.journal) >= JOURNAL_COLUMNS_LEAST)
        written = journal_read(reading.journal, keep_line, &keeping, error) &&
                  write_lines(&reading, &keeping.lines, error);
    journal_lines_free(&keeping.lines);
    close_reading(&reading);
    return written;
}

bool journal_columns_check(const char *directory, struct error *error)
{
    struct journal_lines lines;
    struct journal_sum sum;
    struct keeping keeping = {0};
    struct reading reading = {.directory = directory};
    size_t size, made_size = 0;
    unsigned char *bytes = NULL, *made = NULL;
    bool good = open_reading(&reading, error);
    if (good) {
        reading.size = size_of(reading.journal);
        good = load(&reading, &lines, &sum, error);
    }
    if (good) {
        journal_lines_free(&lines);
        good = (bytes = read_columns(reading.columns, &size, error)) &&
               journal_read_first(reading.journal, sum.length, keep_line, &keeping, error);
    }
    if (good) {
        made = journal_lines_encode(&keeping.lines, sum.length, sum.crc32, &made_size);
        good = made ? (made_size == size && memcmp(made, bytes, size) == 0) ||
                          error_set(error, ERROR_INPUT, reading.columns, NULL,
                                    "its values are not those of the journal")
                    : error_set_memory(error, JOURNAL_COLUMNS_FILE, 0);
    }
    free(bytes);
    free(made);
    journal_lines_free(&keeping.lines);
    close_reading(&reading);
    return good;
}
