/* The column file of a journal: whatever happened to it or to the journal, the lines that are read
 * are those of the journal. Each case compares a reading through journal_columns_read with one of
 * the text alone, value by value in the bits. */
#include "runs/columns/internal.h"
#include "runs/columns/journal_columns.h"

#include "base/clock.h"
#include "base/files/file.h"

#include "sample.h"
#include "session_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { POINTS = 30000, EVENT_EACH = 700 };

static char journal[600], columns[600];

/* What a reading saw. */
struct seen {
    uint64_t points, others;
    uint32_t sum; /* CRC-32 of all values and of the other lines' iterations */
};

static bool see(void *context, const struct journal_line *line, struct error *error)
{
    struct seen *seen = context;
    struct series_validation validation = {0};
    (void)error;
    if (line->json)
        journal_read_validation(line->json, &validation);
    seen->points += line->point != NULL;
    seen->others += line->json != NULL;
    for (size_t c = 0; line->point && c < COLUMNS; c++)
        seen->sum = (uint32_t)crc32_z(seen->sum,
                                      (const unsigned char *)line->point + columns_places[c].offset,
                                      columns_places[c].size);
    const float losses[] = {validation.loss, validation.top1};
    if (line->json)
        seen->sum = (uint32_t)crc32_z(seen->sum, (const unsigned char *)losses, sizeof losses);
    return true;
}

/* Sets the journal's time of modification to so many seconds from now. */
static bool set_time(time_t seconds)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) + seconds}};
    return utimensat(AT_FDCWD, journal, times, 0) == 0;
}

/* Writes `count` lines from iteration `first` on. The journal's time is then one of the future, so
 * that its stamp does not settle while a slow test runs (let_settle). */
static bool write_lines(const char *mode, uint64_t first, uint64_t count, float shift)
{
    FILE *file = fopen(journal, mode);
    for (uint64_t i = first; file && i < first + count; i++) {
        fprintf(file,
                "{\"iteration\":%" PRIu64 ",\"epoch\":%.9g,\"loss\":%.9g,\"loss_caffe\":%.9g,"
                "\"loss_mean\":%s,\"lr\":0.0099999998,\"ms_per_image\":%.9g,\"seconds\":%.9g,"
                "\"memory_bytes\":%" PRIu64 "}\n",
                i, (double)i / 1000, (double)shift + 2.3 / (double)i,
                (i % 8 ? 1 : 1e-30) * (double)i, i % 97 ? "0.25" : "null",
                0.1 + (double)(i % 7) * 1e-3, (double)i * 3e-3, UINT64_C(9000000) + i / 5000);
        if (i % EVENT_EACH == 0)
            fprintf(file,
                    "{\"event\":\"validation\",\"iteration\":%" PRIu64 ",\"loss\":%.9g,"
                    "\"top1\":50,\"top5\":90}\n",
                    i, (double)shift + 1 / (double)i);
        if (i % 5003 == 0)
            fputs("{\"torn\":\n", file);
    }
    return file && fclose(file) == 0 && set_time(86400);
}

/* Returns whether a reading of the first `limit` bytes gives what the text gives, and gets the
 * iterations from `source`. */
static bool agrees(uint64_t limit, bool writes, enum journal_source source)
{
    struct error error = {0};
    struct journal_sum sum;
    struct seen text = {0}, read = {0};
    const bool good = journal_read_first(journal, limit, see, &text, &error) &&
                      journal_columns_read(test_home, limit, writes, see, &read, &sum, &error);
    if (!good)
        note_error(&error);
    return good && text.points > 0 && text.points == read.points && text.others == read.others &&
           text.sum == read.sum && sum.source == source &&
           (source == JOURNAL_TEXT || sum.length > 0);
}

static bool make_columns(void)
{
    struct error error;
    return write_lines("w", 1, POINTS, 0) && journal_columns_write(test_home, &error) &&
           journal_columns_check(test_home, NULL, &error);
}

static void test_fitting(void)
{
    bool good = write_lines("w", 1, POINTS, 0);
    struct stat status = {0};
    unlink(columns);
    tap_ok(good && agrees(UINT64_MAX, false, JOURNAL_TEXT) && !file_exists(columns),
           "a reading that may not write leaves no column file");
    tap_ok(agrees(UINT64_MAX, true, JOURNAL_TEXT) && file_exists(columns),
           "a journal without a column file is read, and gets one");
    tap_ok(agrees(UINT64_MAX, false, JOURNAL_COLUMNS_SUMMED),
           "the columns give what the text gives");
    stat(journal, &status);
    bool all = true;
    for (off_t limit = status.st_size; all && limit > 300;
         limit -= status.st_size / (sample_is_whole() ? 37 : 9))
        all = agrees((uint64_t)limit, false, JOURNAL_COLUMNS_SUMMED);
    tap_ok(all, "and for each first part of the journal");
    stat(columns, &status);
    tap_ok(status.st_size < 40 * POINTS, "a row takes less than 40 bytes");
}

/* Changes byte `at` of the column file. */
static bool flip(const char *path, long at)
{
    FILE *file = fopen(path, "r+");
    bool good = file && fseek(file, at, SEEK_SET) == 0;
    const int byte = good ? fgetc(file) : EOF;
    good = byte != EOF && fseek(file, at, SEEK_SET) == 0 && fputc(byte ^ 1, file) != EOF;
    return file && fclose(file) == 0 && good;
}

static void test_damaged(void)
{
    struct stat status = {0};
    bool good = make_columns() && stat(columns, &status) == 0;
    for (int i = 0; good && i < 40; i++) {
        if (!sample_has((size_t)i, 2, 4))
            continue;
        const long at = i < 10 ? i * 8 : (long)(status.st_size - 1) * i / 39;
        good = flip(columns, at) && agrees(UINT64_MAX, false, JOURNAL_TEXT) && flip(columns, at);
    }
    tap_ok(good && agrees(UINT64_MAX, false, JOURNAL_COLUMNS_SUMMED),
           "a changed bit: the file is not used");
    const off_t lengths[] = {0, 7, HEADER_SIZE - 1, HEADER_SIZE, 5000, status.st_size - 1};
    for (size_t i = 0; good && i < sizeof lengths / sizeof *lengths; i++)
        good = truncate(columns, lengths[i]) == 0 && agrees(UINT64_MAX, false, JOURNAL_TEXT);
    tap_ok(good, "a file that was cut is not used");
    tap_ok(agrees(UINT64_MAX, true, JOURNAL_TEXT) &&
               agrees(UINT64_MAX, false, JOURNAL_COLUMNS_SUMMED),
           "and is written anew");
    good = truncate(columns, status.st_size + 8) == 0;
    tap_ok(good && agrees(UINT64_MAX, false, JOURNAL_TEXT), "a file that grew is not used");
}

static void test_stale(void)
{
    struct error error;
    struct stat status = {0};
    bool good = make_columns() && stat(journal, &status) == 0;
    tap_ok(good && write_lines("a", POINTS + 1, 900, 0) &&
               agrees(UINT64_MAX, false, JOURNAL_COLUMNS_SUMMED),
           "lines that were appended are read from the journal");
    tap_ok(write_lines("a", POINTS + 901, POINTS, 0) && agrees(UINT64_MAX, false, JOURNAL_TEXT) &&
               agrees(UINT64_MAX, true, JOURNAL_TEXT) &&
               agrees(UINT64_MAX, false, JOURNAL_COLUMNS_SUMMED),
           "after many more lines the file is written anew");
    good = make_columns() && flip(journal, (long)status.st_size / 2 + 20);
    tap_ok(good && agrees(UINT64_MAX, false, JOURNAL_TEXT),
           "one changed byte within the journal: the file is not used");
    good = make_columns() && truncate(journal, status.st_size * 9 / 10) == 0;
    tap_ok(good && agrees(UINT64_MAX, false, JOURNAL_TEXT), "nor after the journal was cut");
    good = make_columns() && write_lines("w", 1, POINTS, 1);
    tap_ok(good && agrees(UINT64_MAX, false, JOURNAL_TEXT) &&
               !journal_columns_check(test_home, NULL, &error),
           "the file of another journal is not used");
}

/* Writes a header with one other field, and the checksum that belongs to it. */
static bool forge(size_t field, uint64_t value)
{
    unsigned char header[HEADER_SIZE];
    FILE *file = fopen(columns, "r+");
    bool good = file && fread(header, 1, sizeof header, file) == sizeof header;
    memcpy(header + MAGIC_SIZE + 8 * field, &value, sizeof value);
    const uint64_t sum = crc32_z(0, header, HEADER_SIZE - 8);
    memcpy(header + HEADER_SIZE - 8, &sum, sizeof sum);
    good = good && fseek(file, 0, SEEK_SET) == 0 &&
           fwrite(header, 1, sizeof header, file) == sizeof header;
    return file && fclose(file) == 0 && good;
}

/* --- the stamp --- */

/* Sleeps until the times of the journal are past. */
static bool let_settle(void)
{
    const bool set = set_time(-1);
    clock_sleep((double)JOURNAL_STAMP_SETTLES * 1e-9 + 0.1);
    return set;
}

/* Gives the journal the time of modification that *status has. */
static bool set_back(const struct stat *status)
{
    const struct timespec times[2] = {status->st_atim, status->st_mtim};
    return utimensat(AT_FDCWD, journal, times, 0) == 0;
}

static void test_stamp_is_noted(void)
{
    struct stat before = {0}, after = {0};
    bool good = make_columns() && stat(columns, &before) == 0;
    tap_ok(good && agrees(UINT64_MAX, true, JOURNAL_COLUMNS_SUMMED) &&
               agrees(UINT64_MAX, true, JOURNAL_COLUMNS_SUMMED),
           "a journal that was just written gets no stamp");
    good = good && let_settle();
    tap_ok(good && agrees(UINT64_MAX, false, JOURNAL_COLUMNS_SUMMED) &&
               agrees(UINT64_MAX, false, JOURNAL_COLUMNS_SUMMED),
           "nor does a later reading that may not write");
    tap_ok(good && agrees(UINT64_MAX, true, JOURNAL_COLUMNS_SUMMED) &&
               agrees(UINT64_MAX, false, JOURNAL_COLUMNS_STAMPED),
           "a later reading that may write notes the stamp, and from then on it is enough");
    good = good && stat(columns, &after) == 0;
    tap_ok(good && after.st_ino == before.st_ino && after.st_size == before.st_size,
           "noting it changes the header alone");
    bool all = true;
    for (off_t limit = 400; all && limit < after.st_size; limit += after.st_size / 7)
        all = agrees((uint64_t)limit, false, JOURNAL_COLUMNS_STAMPED);
    tap_ok(all && unlink(columns) == 0 && agrees(UINT64_MAX, true, JOURNAL_TEXT) &&
               agrees(UINT64_MAX, false, JOURNAL_COLUMNS_STAMPED),
           "the same for parts of the journal, and a file written anew has the stamp at once");
}

/* The journal is settled and its column file has the stamp. */
static void test_stamp_of_changed_journal(void)
{
    struct error error;
    struct stat status = {0};
    bool good = stat(journal, &status) == 0 && agrees(UINT64_MAX, false, JOURNAL_COLUMNS_STAMPED);
    const long middle = (long)status.st_size / 2 + 20;
    tap_ok(good && flip(journal, middle) && agrees(UINT64_MAX, false, JOURNAL_TEXT),
           "a changed byte in the middle, the same size, a new time: it is noticed");
    tap_ok(set_back(&status) && agrees(UINT64_MAX, false, JOURNAL_TEXT),
           "and when the time of modification was set back");
    tap_ok(flip(journal, middle) && agrees(UINT64_MAX, false, JOURNAL_COLUMNS_SUMMED),
           "the former byte again: the checksum decides");
    good = rename(journal, home_path("copy")) == 0;
    char command[1300];
    snprintf(command, sizeof command, "cp -p '%s' '%s'", home_path("copy"), journal);
    good = good && system(command) == 0 && agrees(UINT64_MAX, false, JOURNAL_COLUMNS_SUMMED);
    tap_ok(good && unlink(home_path("copy")) == 0, "a copy with the same time has another stamp");
    tap_ok(journal_columns_check(test_home, NULL, &error), "the check finds nothing wrong with it");
}

/* Puts the stamp that the journal has now into the column file, as if nothing had happened. */
static bool forge_stamp(void)
{
    struct journal_stamp stamp;
    unsigned char header[HEADER_SIZE];
    FILE *file = fopen(columns, "r+");
    bool good = file && fread(header, 1, sizeof header, file) == sizeof header &&
                journal_stamp_take(&stamp, journal);
    if (good) {
        journal_lines_stamp(header, &stamp);
        good = fseek(file, 0, SEEK_SET) == 0 &&
               fwrite(header, 1, sizeof header, file) == sizeof header;
    }
    return file && fclose(file) == 0 && good;
}

/* A change below the file system: no stamp shows it, and the check does. */
static void test_silent_change(void)
{
    struct error error;
    struct stat status = {0};
    struct seen text = {0}, read = {0};
    struct journal_sum sum = {0};
    bool good = make_columns() && stat(journal, &status) == 0 && forge_stamp() &&
                agrees(UINT64_MAX, false, JOURNAL_COLUMNS_STAMPED) &&
                journal_columns_check(test_home, NULL, &error);
    good = good && flip(journal, (long)status.st_size / 2 + 20) && forge_stamp() &&
           journal_read(journal, see, &text, &error) &&
           journal_columns_read(test_home, UINT64_MAX, false, see, &read, &sum, &error);
    tap_ok(good && sum.source == JOURNAL_COLUMNS_STAMPED && text.sum != read.sum,
           "a change in the middle that left all times alone is not noticed in reading");
    tap_ok(good && !journal_columns_check(test_home, NULL, &error), "but the check finds it");
    struct journal_sum known = {0};
    good = make_columns() && stat(journal, &status) == 0 &&
           journal_checksum(journal, known.length = (uint64_t)status.st_size, &known.crc32, &error);
    tap_ok(good && journal_columns_check(test_home, &known, &error) &&
               (known.crc32 ^= 1, !journal_columns_check(test_home, &known, &error)),
           "the check takes the checksum of a journal that was just read");
    struct journal_stamp before = {0}, after = {0};
    good = make_columns() && journal_stamp_take(&before, journal) && flip(journal, 30) &&
           journal_stamp_take(&after, journal) && before.ends != after.ends && flip(journal, 30) &&
           flip(journal, (long)status.st_size - 3) && journal_stamp_take(&after, journal);
    tap_ok(good && before.ends != after.ends && before.size == after.size,
           "the checksum of both ends shows a change there");
}

/* Lines that a run adds while it is read. */
static void test_stamp_of_growing_journal(void)
{
    bool good =
        make_columns() && forge_stamp() && agrees(UINT64_MAX, false, JOURNAL_COLUMNS_STAMPED);
    tap_ok(good && write_lines("a", POINTS + 1, 10, 0) &&
               agrees(UINT64_MAX, false, JOURNAL_COLUMNS_SUMMED),
           "a journal that grew: the checksum of its first bytes decides");
    good = let_settle() && agrees(UINT64_MAX, true, JOURNAL_COLUMNS_SUMMED) &&
           agrees(UINT64_MAX, false, JOURNAL_COLUMNS_STAMPED);
    FILE *file = fopen(journal, "a");
    good = good && file && fputs("{\"iteration\":7,\"ep", file) >= 0 && fflush(file) == 0 &&
           agrees(UINT64_MAX, false, JOURNAL_COLUMNS_SUMMED);
    tap_ok(
        file && fclose(file) == 0 && good,
        "once it rests it has a stamp, with the lines after the columns, until half a line comes");
}

static void test_stamp_rules(void)
{
    const uint64_t day = UINT64_C(86400000000000);
    const struct journal_stamp stamp = {.size = 1, .modified = day, .changed = day + 7}, none = {0};
    struct journal_stamp other;
    tap_ok(!journal_stamp_is_settled(&stamp, day + 7 + JOURNAL_STAMP_SETTLES) &&
               journal_stamp_is_settled(&stamp, day + 8 + JOURNAL_STAMP_SETTLES) &&
               !journal_stamp_is_settled(&stamp, 0) && !journal_stamp_is_settled(&stamp, day) &&
               !journal_stamp_is_settled(&none, day),
           "a stamp settles after the later of its times; one of the future never does");
    bool differs = journal_stamp_same(&stamp, &stamp) && !journal_stamp_same(&none, &none);
    for (size_t i = 0; i < STAMP_FIELDS; i++) {
        uint64_t fields[STAMP_FIELDS];
        memcpy(fields, &stamp, sizeof fields);
        fields[i]++;
        memcpy(&other, fields, sizeof fields);
        differs &= !journal_stamp_same(&stamp, &other);
    }
    tap_ok(differs && sizeof stamp == STAMP_FIELDS * sizeof(uint64_t),
           "stamps that differ in any field are different ones");
    const uint64_t now = journal_stamp_clock(columns), later = (uint64_t)time(NULL) * 1000000000;
    tap_ok(now > 0 && now < later + 60 * UINT64_C(1000000000) &&
               journal_stamp_clock(home_path("missing/file")) == 0,
           "the file system's clock is read, and is unknown where nothing can be written");
}

static void test_old_version(void)
{
    struct error error;
    bool good = make_columns() && forge(HEADER_VERSION, COLUMNS_VERSION - 1);
    tap_ok(good && agrees(UINT64_MAX, false, JOURNAL_TEXT) &&
               journal_columns_check(test_home, NULL, &error),
           "a file of an earlier version is not used, and is no fault");
    tap_ok(agrees(UINT64_MAX, true, JOURNAL_TEXT) &&
               agrees(UINT64_MAX, false, JOURNAL_COLUMNS_SUMMED),
           "it is written anew");
    good = forge(HEADER_VERSION, COLUMNS_VERSION + 1);
    tap_ok(good && !journal_columns_check(test_home, NULL, &error), "one of a later version is");
}

static void test_hostile(void)
{
    static const uint64_t values[] = {0, POINTS + 1, UINT64_MAX};
    bool good = true;
    for (size_t f = 0; good && f < HEADER_BODY_LENGTH; f++)
        for (size_t i = 0; good && i < sizeof values / sizeof *values; i++)
            if (sample_has(f + i, 2, 3) && (f != HEADER_VERSION || values[i] != COLUMNS_VERSION))
                good = make_columns() && forge(f, values[i]) &&
                       agrees(UINT64_MAX, false, JOURNAL_TEXT);
    tap_ok(good, "wrong counts with a right checksum are refused");
    good = make_columns() && rename(columns, home_path("elsewhere")) == 0 &&
           symlink("elsewhere", columns) == 0;
    tap_ok(good && agrees(UINT64_MAX, false, JOURNAL_TEXT), "a link is not followed");
    unlink(columns);
    good = mkdir(columns, 0700) == 0 && agrees(UINT64_MAX, true, JOURNAL_TEXT);
    tap_ok(good, "a folder of that name is no obstacle");
    rmdir(columns);
    if (geteuid() == 0) {
        tap_skip("root may write into every folder");
        return;
    }
    good = chmod(test_home, 0500) == 0 && agrees(UINT64_MAX, true, JOURNAL_TEXT) &&
           !file_exists(columns);
    tap_ok(chmod(test_home, 0700) == 0 && good, "a folder that cannot be written is read");
}

/* The fast parser of iterations and the JSON parser give the same bits, or the fast one declines.
 */
static void test_parser(void)
{
    static const char *const numbers[] = {"0",
                                          "-0",
                                          "1",
                                          "0.1",
                                          "123456789",
                                          "1.23456789e-05",
                                          "1e+20",
                                          "3.5e22",
                                          "9.99999e-9",
                                          "0.30000000003",
                                          "1e30",
                                          "1e-40",
                                          "-2.5e1",
                                          "null",
                                          "01",
                                          "1.",
                                          "123456789012345",
                                          "1234567890123456",
                                          "1e",
                                          "--1",
                                          ".5",
                                          "+1",
                                          "16777217",
                                          "0.000244140625"};
    bool same = true;
    size_t fast = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char line[400];
        struct json_document document;
        struct series_point one, other;
        snprintf(line, sizeof line,
                 "{\"iteration\":7,\"epoch\":1,\"loss\":%s,\"loss_caffe\":1,\"loss_mean\":1,"
                 "\"lr\":1,\"ms_per_image\":1,\"seconds\":1,\"memory_bytes\":12}",
                 numbers[i]);
        if (!journal_parse_point(line, strlen(line), &one))
            continue;
        fast++;
        same &= json_parse(&document, line, strlen(line), "", NULL) &&
                journal_read_point(document.root, &other) &&
                memcmp(&one.loss, &other.loss, sizeof one.loss) == 0 && one.iteration == 7 &&
                one.memory_bytes == 12;
        json_document_free(&document);
    }
    tap_ok(same && fast == 15, "lines parsed without JSON have the same bits");
}

TEST_CASE(journal_columns_test)
{
    if (!make_home())
        return 99;
    snprintf(journal, sizeof journal, "%s/journal.jsonl", test_home);
    snprintf(columns, sizeof columns, "%s/%s", test_home, JOURNAL_COLUMNS_FILE);
    test_fitting();
    test_damaged();
    test_stale();
    test_stamp_is_noted();
    test_stamp_of_changed_journal();
    test_silent_change();
    test_stamp_of_growing_journal();
    test_stamp_rules();
    test_old_version();
    test_hostile();
    test_parser();
    remove_home();
    return tap_done();
}
