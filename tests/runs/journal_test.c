/* The journal: values are read back with the same bits; a torn record loses only its entry, a
 * damaged one at most the iterations up to the next that stands alone; journals of earlier versions
 * have the same entries. */
#include "base/files/file.h"
#include "runs/folder/journal_record.h"

#include "base/clock.h"

#include "session_files.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

struct reading {
    struct series_point points[8];
    struct series_validation validations[8];
    struct finding findings[8];
    size_t point_count, validation_count, finding_count, others;
};

static bool visit(void *context, const struct journal_line *line, struct error *error)
{
    struct reading *reading = context;
    (void)error;
    if (line->point)
        reading->points[reading->point_count++] = *line->point;
    else if (line->validation)
        reading->validations[reading->validation_count++] = *line->validation;
    else if (journal_read_finding(line->json, &reading->findings[reading->finding_count]))
        reading->finding_count++;
    else
        reading->others++;
    return reading->point_count < 8;
}

/* Opens the journal of the test's folder for appending. */
static bool go_on(struct journal *journal)
{
    struct error error;
    return journal_open(journal, test_home, &(struct journal_mark){.length = UINT64_MAX}, &error);
}

static bool read_all(struct reading *reading, struct journal_found *found)
{
    struct error error;
    *reading = (struct reading){0};
    return journal_read(test_home, NULL, visit, reading, found, &error);
}

static const struct series_point awkward = {.iteration = UINT64_C(4294967297),
                                            .epoch = 1.0f / 3,
                                            .loss = 1.82841e-05f,
                                            .loss_caffe = -4.50473e-08f,
                                            .loss_mean = 16777217.0f,
                                            .learning_rate = 0.1f,
                                            .ms_per_image = 3.4028235e38f,
                                            .seconds = 1e-45f,
                                            .memory_bytes = UINT64_C(1) << 40,
                                            .gpu_memory_bytes = (UINT64_C(1) << 37) + 1};

static void test_round_trip(void)
{
    struct journal journal;
    struct error error;
    struct series_point broken = {
        .iteration = 2, .loss = NAN, .loss_caffe = INFINITY, .loss_l1 = INFINITY};
    struct series_validation validation = {2, 0.5f, 1.1f, 12.34f, 56.78f, 9.5f, 33.25f, 0.03f};
    struct finding finding = {FINDING_NEGATIVE_LOSS, 2, 0.25, "quotes \" and \\ and\nlines"};
    struct reading reading = {0};
    if (!tap_ok(journal_open(&journal, test_home, NULL, &error), "a journal is opened"))
        return note_error(&error);
    uint64_t now = clock_nanoseconds();
    journal_add_event(&journal, "start", NULL);
    journal_add_point(&journal, &awkward, now);
    journal_add_point(&journal, &broken, now);
    journal_add_validation(&journal, &validation);
    journal_add_finding(&journal, &finding);
    tap_ok(journal.trouble.kind == ERROR_NONE && journal.lost == 0, "everything is written");
    /* not closed: another process reads while the run goes on */
    tap_ok(read_all(&reading, NULL) && reading.point_count == 2 && reading.validation_count == 1 &&
               reading.finding_count == 1 && reading.others == 1,
           "events are in the file at once");
    const struct series_point *point = &reading.points[0];
    tap_ok(point->iteration == awkward.iteration && point->epoch == awkward.epoch &&
               point->loss == awkward.loss && point->loss_caffe == awkward.loss_caffe &&
               point->loss_mean == awkward.loss_mean &&
               point->learning_rate == awkward.learning_rate &&
               point->ms_per_image == awkward.ms_per_image && point->seconds == awkward.seconds &&
               point->memory_bytes == awkward.memory_bytes &&
               point->gpu_memory_bytes == awkward.gpu_memory_bytes,
           "every number is read back exactly");
    tap_ok(isnan(reading.points[1].loss) && isnan(reading.points[1].loss_caffe) &&
               isinf(reading.points[1].loss_l1),
           "NaN and infinity are not known, or infinite where they are optional");
    tap_ok(reading.validations[0].top1 == 12.34f && reading.validations[0].seconds == 9.5f &&
               reading.validations[0].loss_error == 0.03f,
           "a validation, too");
    tap_ok(reading.findings[0].kind == FINDING_NEGATIVE_LOSS &&
               strcmp(reading.findings[0].text, finding.text) == 0,
           "a finding's text survives");
    journal_close(&journal);
}

static void test_torn(void)
{
    struct journal journal;
    const char *path = home_path(JOURNAL_FILE);
    struct reading before, after;
    struct journal_found found;
    read_all(&before, NULL);
    FILE *file = fopen(path, "a");
    fputs("a torn record", file);
    fclose(file);
    tap_ok(read_all(&after, &found) && after.point_count == before.point_count && found.faults == 0,
           "a torn last record is ignored");
    bool appended = go_on(&journal);
    journal_add_point(&journal, &awkward, clock_nanoseconds());
    appended = journal_close(&journal) == 0 && appended;
    tap_ok(appended && read_all(&after, &found) && found.faults == 0 &&
               after.point_count == before.point_count + 1,
           "and only that record is lost when the journal continues");
    remove(path);
    tap_ok(read_all(&after, NULL) && after.point_count == 0, "a missing journal has no entries");
}

/* Entries after a checkpoint are written once more when the run is resumed. */
static void test_cut(void)
{
    struct journal journal;
    struct error error;
    struct reading reading = {0};
    struct series_point point = awkward;
    const char *path = home_path("journal");
    remove(path);
    journal_open(&journal, test_home, NULL, &error);
    for (point.iteration = 1; point.iteration <= 2; point.iteration++)
        journal_add_point(&journal, &point, 0);
    bool synced = journal_sync(&journal);
    const uint64_t keep = journal.written;
    journal_add_point(&journal, &point, 0);
    journal_close(&journal);
    const struct journal_mark mark = {.length = keep + JOURNAL_RECORD};
    tap_ok(synced && journal_open(&journal, test_home, &mark, &error) && journal.written == keep,
           "a journal is cut to whole entries (%s)", error.why);
    journal_close(&journal);
    tap_ok(read_all(&reading, NULL) && reading.point_count == 2, "and holds those alone");
    tap_ok(journal_close(&journal) == 0, "closing twice is allowed");
}

/* The disk is full for a while. */
static void test_full_disk(void)
{
    struct journal journal;
    struct error error = {0};
    struct reading reading = {0};
    const char *path = home_path("journal");
    if (access("/dev/full", W_OK) != 0) {
        tap_skip("there is no /dev/full");
        return;
    }
    remove(path);
    journal_open(&journal, test_home, NULL, &error);
    int good = journal.descriptor;
    journal.descriptor = open("/dev/full", O_WRONLY);
    journal_add_event(&journal, "start", NULL);
    tap_ok(journal.trouble.kind == ERROR_SYSTEM && journal.written == 0,
           "a full disk is reported (%s)", journal.trouble.why);
    journal_add_point(&journal, &awkward, clock_nanoseconds());
    tap_ok(!journal_sync(&journal) && journal.lost == 0, "and nothing is lost yet");
    close(journal.descriptor);
    journal.descriptor = good;
    tap_ok(journal_sync(&journal) && journal.trouble.kind == ERROR_NONE &&
               journal.pending.length == 0,
           "once there is space everything is written");
    tap_ok(read_all(&reading, NULL) && reading.point_count == 1 && reading.others == 1,
           "and can be read");
    close(journal.descriptor);
    journal.descriptor = open("/dev/full", O_WRONLY);
    journal_add_event(&journal, "end", NULL);
    tap_ok(journal_close(&journal) == 1, "entries that never reached the disk are counted");
}

/* A failing sync drops the data written since the last sync, as Linux may do. */
static int syncs_that_fail;
static off_t on_disk;

int fdatasync(int descriptor)
{
    struct stat status;
    static const char zero = 0;
    fstat(descriptor, &status);
    if (syncs_that_fail == 0) {
        on_disk = status.st_size;
        return fsync(descriptor);
    }
    syncs_that_fail--;
    for (off_t at = on_disk; at < status.st_size; at++)
        if (pwrite(descriptor, &zero, 1, at) != 1)
            break;
    errno = EIO;
    return -1;
}

static void test_dropped_pages(void)
{
    struct journal journal;
    struct error error = {0};
    struct reading reading = {0};
    const char *path = home_path("journal");
    remove(path);
    journal_open(&journal, test_home, NULL, &error);
    journal_add_event(&journal, "start", NULL);
    tap_ok(journal_sync(&journal), "a journal is synced");
    journal_add_event(&journal, "before", NULL);
    journal_add_point(&journal, &awkward, clock_nanoseconds());
    syncs_that_fail = 2;
    tap_ok(!journal_sync(&journal) && journal.trouble.kind == ERROR_SYSTEM,
           "a failing sync is reported (%s)", journal.trouble.why);
    journal_add_event(&journal, "behind", NULL); /* the second sync fails */
    tap_ok(journal.trouble.kind == ERROR_SYSTEM, "until a sync succeeds");
    tap_ok(journal_sync(&journal) && journal.trouble.kind == ERROR_NONE, "the next one succeeds");
    tap_ok(read_all(&reading, NULL) && reading.point_count == 1 && reading.others == 3,
           "and the dropped data has been rewritten");
    struct journal_mark mark = {.has_sum = true, .length = journal.synced, .sum = journal.sum};
    tap_ok(journal_verify(test_home, &mark, &error), "its checksum is that of the file");
    mark.sum ^= 1;
    tap_ok(!journal_verify(test_home, &mark, &error) && error.kind == ERROR_INPUT,
           "another checksum is refused (%s)", error.why);
    mark.length += JOURNAL_RECORD;
    tap_ok(!journal_verify(test_home, &mark, &error) && error.kind == ERROR_INPUT,
           "so is a file that is too short (%s)", error.why);
    journal_close(&journal);
}

/* Data that waits for the disk does not fill the memory. */
static void test_limit(void)
{
    struct journal journal = {.descriptor = -1, .path = strdup("/dev/full/none")};
    for (size_t i = 0; journal.lost < 10 && i < 1000000; i++)
        journal_add_point(&journal, &awkward, 0);
    tap_ok(journal.lost == 10 && journal.pending.length < JOURNAL_PENDING_MOST + 4096,
           "a journal in memory has a limit");
    tap_ok(journal_close(&journal) > 10, "and counts the dropped entries");
}

enum { POINTS = 1000 };

struct printing {
    struct text text;
    size_t points;
};

static bool print_line(void *context, const struct journal_line *line, struct error *error)
{
    struct printing *printing = context;
    (void)error;
    printing->points += line->point != NULL;
    journal_print_line(&printing->text, line);
    text_append(&printing->text, "\n");
    return true;
}

static struct series_point point_at(uint64_t i)
{
    const float loss = 2 / (1 + 0.01f * (float)i);
    return (struct series_point){.iteration = i,
                                 .epoch = (float)((double)i / 37),
                                 .loss = loss,
                                 .loss_caffe = loss,
                                 .loss_mean = loss / 3,
                                 .loss_discriminator = i % 2 ? NAN : 0.25f,
                                 .loss_l1 = NAN,
                                 .loss_labels = NAN,
                                 .loss_teacher = 0.5f,
                                 .learning_rate = i < 500 ? 0.1f : 0.01f,
                                 .ms_per_image = i % 3 ? 0.25f : NAN,
                                 .seconds = 0.003f * (float)i,
                                 .memory_bytes = 9000000 + i / 100,
                                 .gpu_memory_bytes = i > 700 ? 5 : 0};
}

/* Writes a journal with all kinds of entries. */
static bool write_journal(void)
{
    struct journal journal;
    struct error error;
    const struct series_validation validation = {500, 12.5f, 1.1f, 12.3f, 56.7f, 1.5f, NAN, 0.03f};
    const struct finding finding = {FINDING_PLATEAU, 7, 0.25, "a text of more than 24 bytes"};
    bool good = journal_open(&journal, test_home, NULL, &error);
    journal_add_event(&journal, "start", NULL);
    for (uint64_t i = 1; i <= POINTS; i++) {
        const struct series_point point = point_at(i);
        journal_add_point(&journal, &point, 0);
        if (i == 500)
            journal_add_validation(&journal, &validation);
        if (i == 7)
            journal_add_finding(&journal, &finding);
    }
    journal_add_event(&journal, "end", NULL);
    good = journal_sync(&journal) && good;
    return journal_close(&journal) == 0 && good;
}

/* Reads the journal as lines of JSON. */
static char *print_journal(struct journal_found *found, size_t *points)
{
    struct error error;
    struct printing printing = {0};
    if (!journal_read(test_home, NULL, print_line, &printing, found, &error))
        note_error(&error);
    *points = printing.points;
    return printing.text.data;
}

/* The lines of JSON are those of the values, and a journal of an earlier version that has these
 * lines is read and converted to the same entries. */
static void test_lines(void)
{
    size_t points;
    struct error error;
    struct journal journal;
    struct journal_found found;
    struct series_point tenth = point_at(10);
    struct text expected = {0};
    write_journal();
    char *lines = print_journal(&found, &points);
    journal_print_line(&expected, &(struct journal_line){.point = &tenth});
    tap_ok(points == POINTS && found.faults == 0 && strstr(lines, expected.data),
           "every iteration is printed as it was");
    remove(home_path(JOURNAL_FILE));
    write_text(home_path(JOURNAL_TEXT_FILE), lines);
    char *earlier = print_journal(&found, &points);
    tap_ok(found.is_text && strcmp(lines, earlier) == 0, "the lines are those of earlier versions");
    const struct journal_mark mark = {.is_text = true, .length = strlen(lines)};
    const bool opened = journal_open(&journal, test_home, &mark, &error);
    journal_sync(&journal);
    char *converted = print_journal(&found, &points);
    tap_ok(opened && !found.is_text && strcmp(lines, converted) == 0,
           "a journal of an earlier version is converted");
    journal_note_checkpoint(&journal);
    const bool kept = file_exists(home_path(JOURNAL_TEXT_FILE));
    journal_note_checkpoint(&journal);
    tap_ok(kept && !file_exists(home_path(JOURNAL_TEXT_FILE)),
           "and is deleted with the second checkpoint after that");
    journal_close(&journal);
    text_free(&expected);
    free(lines);
    free(earlier);
    free(converted);
}

static bool count_scalars(void *context, const struct journal_line *line, struct error *error)
{
    double *sum = context;
    (void)error;
    if (line->scalar)
        *sum += line->scalar->at.value * (strcmp(line->scalar->name, "a name") == 0 ? 1 : 1000);
    return true;
}

/* Series have any names, also after the journal was opened once more. */
static void test_scalars(void)
{
    struct journal journal;
    struct error error;
    struct journal_found found;
    double sum = 0;
    journal_open(&journal, test_home, NULL, &error);
    journal_add_event(&journal, "start", NULL);
    for (uint64_t i = 1; i <= 3; i++) {
        const struct scalar_value value = {i, NAN, 1.0 / 3};
        journal_add_scalar(&journal, "a name", &value);
        journal_add_scalar(&journal, i > 1 ? "another \"name\"" : "a name", &value);
    }
    journal_sync(&journal);
    journal_close(&journal);
    go_on(&journal);
    journal_add_scalar(&journal, "another \"name\"", &(struct scalar_value){4, 2, 2});
    journal_add_scalar(&journal, "a name", &(struct scalar_value){4, 2, 2});
    journal_close(&journal);
    tap_ok(journal_read(test_home, NULL, count_scalars, &sum, &found, &error) &&
               found.faults == 0 && fabs(sum - (4.0 / 3 + 2 + 2000.0 / 3 + 2000)) < 1e-9,
           "values of any names are read back (%.9g)", sum);
}

/* A flipped bit anywhere is found, and costs few iterations, of which none is wrong. */
static void test_flipped_bits(void)
{
    size_t size = 0, points, least = POINTS;
    struct journal_found found;
    write_journal();
    char *bytes = file_read(home_path(JOURNAL_FILE), SIZE_MAX, &size, NULL);
    char *lines = print_journal(&found, &points);
    bool noticed = true, sound = true;
    for (size_t at = 0; at < size; at += 1 + size / 997) {
        bytes[at] = (char)(bytes[at] ^ 1 << at % 8);
        file_write(home_path(JOURNAL_FILE), bytes, size, true, NULL);
        char *rest = print_journal(&found, &points);
        noticed &= found.faults > 0;
        least = points < least ? points : least;
        for (char *line = strtok(rest, "\n"); line; line = strtok(NULL, "\n"))
            sound &= strstr(lines, line) != NULL;
        free(rest);
        bytes[at] = (char)(bytes[at] ^ 1 << at % 8);
    }
    tap_ok(noticed, "every flipped bit is noticed");
    tap_ok(sound, "no line is another one then");
    tap_ok(least >= POINTS - JOURNAL_ALONE_EVERY - 1, "few iterations are lost (%zu are left)",
           least);
    free(lines);
    free(bytes);
}

/* Whatever the records are, reading ends. */
static void test_hostile(void)
{
    size_t points;
    struct journal_found found;
    struct text text = {0};
    uint32_t random = 1, sum = 0;
    for (size_t i = 0; i < 2000; i++) {
        unsigned char record[JOURNAL_RECORD];
        for (size_t b = 0; b < sizeof record; b++)
            record[b] = (unsigned char)((random = random * 1664525 + 1013904223) >> 24);
        if (i % 3)
            record[24] %= 80, record[25] = record[26] = 0, record[27] &= 0xc0;
        sum = journal_record_compute(record, sum);
        for (size_t b = 0; b < 4; b++)
            record[28 + b] = (unsigned char)(sum >> 8 * b);
        text_append_bytes(&text, (const char *)record, sizeof record);
    }
    file_write(home_path(JOURNAL_FILE), text.data, text.length, true, NULL);
    free(print_journal(&found, &points));
    tap_ok(found.length == text.length, "records of any contents are read to the end");
    text_free(&text);
}

/* A journal of a later version is refused by name, which is not damage. */
static void test_later_version(void)
{
    struct error error = {0};
    struct reading reading = {0};
    struct journal_found found;
    struct journal_codec codec = {0};
    struct journal_tail tail = {0};
    struct text text = {0};
    journal_put_text(&codec, &text, "tinca journal 2", 15);
    file_write(home_path(JOURNAL_FILE), text.data, text.length, true, NULL);
    tap_ok(!journal_read(test_home, NULL, visit, &reading, &found, &error) &&
               error.kind == ERROR_UNSUPPORTED && strstr(error.why, "later version"),
           "a journal of a later version is refused: %s", error.why);
    tap_ok(journal_tail_read(&tail, test_home, visit, &reading, &error) == JOURNAL_FAILED &&
               !journal_verify(
                   test_home,
                   &(struct journal_mark){.has_sum = true, .length = text.length, .sum = codec.sum},
                   &error) &&
               error.kind == ERROR_UNSUPPORTED,
           "by readers that follow it and by a resumption, too");
    text.data[14] = '3';
    file_write(home_path(JOURNAL_FILE), text.data, text.length, true, NULL);
    tap_ok(journal_read(test_home, NULL, visit, &reading, &found, &error) && found.faults == 1,
           "a damaged header is damage");
    journal_tail_free(&tail);
    text_free(&text);
}

/* A series whose name is damaged costs only its own values. */
static void test_damaged_name(void)
{
    struct error error;
    struct journal journal;
    struct journal_found found;
    double sum = 0;
    size_t size = 0;
    journal_open(&journal, test_home, NULL, &error);
    journal_add_scalar(&journal, "the first", &(struct scalar_value){1, 1, 4});
    journal_add_event(&journal, "pause", NULL);
    journal_add_scalar(&journal, "a name", &(struct scalar_value){1, 1, 2});
    journal_add_scalar(&journal, "the first", &(struct scalar_value){2, 1, 4});
    journal_close(&journal);
    char *bytes = file_read(home_path(JOURNAL_FILE), SIZE_MAX, &size, NULL);
    bytes[JOURNAL_RECORD + 3] ^= 1;
    file_write(home_path(JOURNAL_FILE), bytes, size, true, NULL);
    tap_ok(journal_read(test_home, NULL, count_scalars, &sum, &found, &error) &&
               found.faults == 1 && fabs(sum - 2) < 1e-9,
           "the other series are read (%.9g)", sum);
    free(bytes);
}

/* A reader follows a journal, and notices that it was cut. */
static void test_tail(void)
{
    struct journal journal;
    struct error error;
    struct reading reading = {0};
    struct journal_tail tail = {0};
    struct series_point point = awkward;
    remove(home_path(JOURNAL_FILE));
    const bool none = journal_tail_read(&tail, test_home, visit, &reading, &error) == JOURNAL_SAME;
    journal_open(&journal, test_home, NULL, &error);
    journal_add_event(&journal, "start", NULL);
    const struct journal_mark mark = {.length = journal.written};
    journal_add_point(&journal, &point, clock_nanoseconds());
    journal_sync(&journal);
    const bool some = journal_tail_read(&tail, test_home, visit, &reading, &error) == JOURNAL_READ;
    tap_ok(none && some && reading.point_count == 1 &&
               journal_tail_read(&tail, test_home, visit, &reading, &error) == JOURNAL_SAME,
           "a journal is followed");
    journal_close(&journal);
    journal_open(&journal, test_home, &mark, &error);
    for (point.iteration = 1; point.iteration < 5; point.iteration++)
        journal_add_point(&journal, &point, 0);
    journal_close(&journal);
    tap_ok(journal_tail_read(&tail, test_home, visit, &reading, &error) == JOURNAL_CUT,
           "and one that was cut and has grown again is noticed");
    journal_tail_free(&tail);
    tap_ok(journal_last_iteration(test_home) == 4, "the last iteration is found");
}

TEST_CASE(journal_test)
{
    if (!make_home())
        return 99;
    test_round_trip();
    test_torn();
    test_cut();
    test_full_disk();
    test_dropped_pages();
    test_limit();
    test_lines();
    test_scalars();
    test_flipped_bits();
    test_hostile();
    test_later_version();
    test_damaged_name();
    test_tail();
    remove_home();
    return tap_done();
}
