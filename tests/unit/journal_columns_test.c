/* The column file of a journal: whatever happened to it or to the journal, the lines that are read
 * are those of the journal. Each case compares a reading through journal_columns_read with one of
 * the text alone, value by value in the bits. */
#include "session/columns/journal_columns.h"
#include "session/columns/journal_columns_internal.h"

#include "base/files/file.h"

#include "session_files.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
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

static bool write_lines(const char *mode, uint64_t first, uint64_t count, float shift)
{
    FILE *file = fopen(journal, mode);
    for (uint64_t i = first; file && i < first + count; i++) {
        fprintf(file,
                "{\"iteration\":%" PRIu64 ",\"epoch\":%.9g,\"loss\":%.9g,\"loss_caffe\":%.9g,"
                "\"loss_mean\":%s,\"lr\":0.0099999998,\"ms_per_image\":%.9g,\"seconds\":%.9g,"
                "\"memory_bytes\":%" PRIu64 "}\n",
                i, (double)i / 1000, (double)shift + 2.3 / (double)i, 1e-30 * (double)i,
                i % 97 ? "0.25" : "null", 0.1 + (double)(i % 7) * 1e-3, (double)i * 3e-3,
                UINT64_C(9000000) + i / 5000);
        if (i % EVENT_EACH == 0)
            fprintf(file,
                    "{\"event\":\"validation\",\"iteration\":%" PRIu64 ",\"loss\":%.9g,"
                    "\"top1\":50,\"top5\":90}\n",
                    i, (double)shift + 1 / (double)i);
        if (i % 5003 == 0)
            fputs("{\"torn\":\n", file);
    }
    return file && fclose(file) == 0;
}

/* Returns whether a reading of the first `limit` bytes gives what the text gives. */
static bool agrees(uint64_t limit, bool writes, bool uses_columns)
{
    struct error error = {0};
    struct journal_sum sum;
    struct seen text = {0}, read = {0};
    const bool good = journal_read_first(journal, limit, see, &text, &error) &&
                      journal_columns_read(test_home, limit, writes, see, &read, &sum, &error);
    if (!good)
        note_error(&error);
    return good && text.points > 0 && text.points == read.points && text.others == read.others &&
           text.sum == read.sum && (sum.length > 0) == uses_columns;
}

static bool make_columns(void)
{
    struct error error;
    return write_lines("w", 1, POINTS, 0) && journal_columns_write(test_home, &error) &&
           journal_columns_check(test_home, &error);
}

static void test_fitting(void)
{
    bool good = write_lines("w", 1, POINTS, 0);
    struct stat status = {0};
    unlink(columns);
    tap_ok(good && agrees(UINT64_MAX, false, false) && !file_exists(columns),
           "a reading that may not write leaves no column file");
    tap_ok(agrees(UINT64_MAX, true, false) && file_exists(columns),
           "a journal without a column file is read, and gets one");
    tap_ok(agrees(UINT64_MAX, false, true), "the columns give what the text gives");
    stat(journal, &status);
    bool all = true;
    for (off_t limit = status.st_size; all && limit > 300; limit -= status.st_size / 37)
        all = agrees((uint64_t)limit, false, true);
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
        const long at = i < 10 ? i * 8 : (long)(status.st_size - 1) * i / 39;
        good = flip(columns, at) && agrees(UINT64_MAX, false, false) && flip(columns, at);
    }
    tap_ok(good && agrees(UINT64_MAX, false, true), "a changed bit: the file is not used");
    const off_t lengths[] = {0, 7, HEADER_SIZE - 1, HEADER_SIZE, 5000, status.st_size - 1};
    for (size_t i = 0; good && i < sizeof lengths / sizeof *lengths; i++)
        good = truncate(columns, lengths[i]) == 0 && agrees(UINT64_MAX, false, false);
    tap_ok(good, "a file that was cut is not used");
    tap_ok(agrees(UINT64_MAX, true, false) && agrees(UINT64_MAX, false, true),
           "and is written anew");
    good = truncate(columns, status.st_size + 8) == 0;
    tap_ok(good && agrees(UINT64_MAX, false, false), "a file that grew is not used");
}

static void test_stale(void)
{
    struct error error;
    struct stat status = {0};
    bool good = make_columns() && stat(journal, &status) == 0;
    tap_ok(good && write_lines("a", POINTS + 1, 900, 0) && agrees(UINT64_MAX, false, true),
           "lines that were appended are read from the journal");
    tap_ok(write_lines("a", POINTS + 901, POINTS, 0) && agrees(UINT64_MAX, false, false) &&
               agrees(UINT64_MAX, true, false) && agrees(UINT64_MAX, false, true),
           "after many more lines the file is written anew");
    good = make_columns() && flip(journal, (long)status.st_size / 2 + 20);
    tap_ok(good && agrees(UINT64_MAX, false, false),
           "one changed byte within the journal: the file is not used");
    good = make_columns() && truncate(journal, status.st_size * 9 / 10) == 0;
    tap_ok(good && agrees(UINT64_MAX, false, false), "nor after the journal was cut");
    good = make_columns() && write_lines("w", 1, POINTS, 1);
    tap_ok(good && agrees(UINT64_MAX, false, false) && !journal_columns_check(test_home, &error),
           "the file of another journal is not used");
}

/* Writes a header with one other field, and the checksum that belongs to it. */
static bool forge(enum header_field field, uint64_t value)
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

static void test_hostile(void)
{
    static const uint64_t values[] = {0, POINTS + 1, UINT64_MAX};
    bool good = true;
    for (size_t f = 0; good && f < HEADER_BODY_LENGTH; f++)
        for (size_t i = 0; good && i < sizeof values / sizeof *values; i++)
            if (f != HEADER_VERSION || values[i] != COLUMNS_VERSION)
                good = make_columns() && forge((enum header_field)f, values[i]) &&
                       agrees(UINT64_MAX, false, false);
    tap_ok(good, "wrong counts with a right checksum are refused");
    good = make_columns() && rename(columns, home_path("elsewhere")) == 0 &&
           symlink("elsewhere", columns) == 0;
    tap_ok(good && agrees(UINT64_MAX, false, false), "a link is not followed");
    unlink(columns);
    good = mkdir(columns, 0700) == 0 && agrees(UINT64_MAX, true, false);
    tap_ok(good, "a folder of that name is no obstacle");
    rmdir(columns);
    if (geteuid() == 0) {
        tap_skip("root may write into every folder");
        return;
    }
    good = chmod(test_home, 0500) == 0 && agrees(UINT64_MAX, true, false) && !file_exists(columns);
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

int main(void)
{
    if (!make_home())
        return 99;
    snprintf(journal, sizeof journal, "%s/journal.jsonl", test_home);
    snprintf(columns, sizeof columns, "%s/%s", test_home, JOURNAL_COLUMNS_FILE);
    test_fitting();
    test_damaged();
    test_stale();
    test_hostile();
    test_parser();
    remove_home();
    return tap_done();
}
