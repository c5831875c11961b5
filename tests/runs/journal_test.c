/* The journal: values are read back with the same bits; a torn line loses only itself. */
#include "runs/folder/journal.h"

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
    else if (journal_read_validation(line->json, &reading->validations[reading->validation_count]))
        reading->validation_count++;
    else if (journal_read_finding(line->json, &reading->findings[reading->finding_count]))
        reading->finding_count++;
    else
        reading->others++;
    return reading->point_count < 8;
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
    struct series_point broken = {.iteration = 2, .loss = NAN, .loss_caffe = INFINITY};
    struct series_validation validation = {2, 0.5f, 1.1f, 12.34f, 56.78f, 9.5f, 33.25f, 0.03f};
    struct finding finding = {FINDING_NEGATIVE_LOSS, 2, 0.25, "quotes \" and \\ and\nlines"};
    struct reading reading = {0};
    if (!tap_ok(journal_open(&journal, test_home, UINT64_MAX, &error), "a journal is opened"))
        return note_error(&error);
    uint64_t now = clock_nanoseconds();
    journal_add_event(&journal, "start", NULL);
    journal_add_point(&journal, &awkward, now);
    journal_add_point(&journal, &broken, now);
    journal_add_validation(&journal, &validation);
    journal_add_finding(&journal, &finding);
    tap_ok(journal.trouble.kind == ERROR_NONE && journal.lost == 0, "everything is written");
    /* not closed: another process reads while the run goes on */
    tap_ok(journal_read(journal.path, visit, &reading, &error) && reading.point_count == 2 &&
               reading.validation_count == 1 && reading.finding_count == 1 && reading.others == 1,
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
    tap_ok(isnan(reading.points[1].loss) && isnan(reading.points[1].loss_caffe),
           "NaN is written as null");
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
    struct error error;
    const char *path = home_path("journal.jsonl");
    struct reading before = {0}, after = {0};
    journal_read(path, visit, &before, &error);
    FILE *file = fopen(path, "a");
    fputs("{\"iteration\":3,\"epoch\":0.1,\"lo", file);
    fclose(file);
    tap_ok(journal_read(path, visit, &after, &error) && after.point_count == before.point_count,
           "a torn last line is ignored");
    bool appended = journal_open(&journal, test_home, UINT64_MAX, &error);
    journal_add_point(&journal, &awkward, clock_nanoseconds());
    appended = journal_close(&journal) == 0 && appended;
    after = (struct reading){0};
    tap_ok(appended && journal_read(path, visit, &after, &error) &&
               after.point_count == before.point_count + 1,
           "and only that line is lost when the journal continues");
    tap_ok(!journal_read(home_path("nosuch"), visit, &after, &error), "a missing file is an error");
}

/* Lines after a checkpoint are written once more when the run is resumed. */
static void test_cut(void)
{
    struct journal journal;
    struct error error;
    struct reading reading = {0};
    struct series_point point = awkward;
    const char *path = home_path("journal.jsonl");
    remove(path);
    journal_open(&journal, test_home, UINT64_MAX, &error);
    for (point.iteration = 1; point.iteration <= 2; point.iteration++)
        journal_add_point(&journal, &point, 0);
    bool synced = journal_sync(&journal);
    const uint64_t keep = journal.written;
    journal_add_point(&journal, &point, 0);
    journal_close(&journal);
    tap_ok(synced && journal_open(&journal, test_home, keep + 5, &error) && journal.written == keep,
           "a journal is cut to whole lines (%s)", error.why);
    journal_close(&journal);
    tap_ok(journal_read(path, visit, &reading, &error) && reading.point_count == 2,
           "and holds those alone");
    tap_ok(journal_close(&journal) == 0, "closing twice is allowed");
}

/* The disk is full for a while. */
static void test_full_disk(void)
{
    struct journal journal;
    struct error error = {0};
    struct reading reading = {0};
    const char *path = home_path("journal.jsonl");
    if (access("/dev/full", W_OK) != 0) {
        tap_skip("there is no /dev/full");
        return;
    }
    remove(path);
    journal_open(&journal, test_home, UINT64_MAX, &error);
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
    tap_ok(journal_read(path, visit, &reading, &error) && reading.point_count == 1 &&
               reading.others == 1,
           "and can be read");
    close(journal.descriptor);
    journal.descriptor = open("/dev/full", O_WRONLY);
    journal_add_event(&journal, "end", NULL);
    tap_ok(journal_close(&journal) == 1, "lines that never reached the disk are counted");
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
    uint32_t sum = 0;
    const char *path = home_path("journal.jsonl");
    remove(path);
    journal_open(&journal, test_home, UINT64_MAX, &error);
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
    tap_ok(journal_read(path, visit, &reading, &error) && reading.point_count == 1 &&
               reading.others == 3,
           "and the dropped data has been rewritten");
    tap_ok(journal_checksum(path, journal.synced, &sum, &error) && sum == journal.crc32,
           "its checksum is that of the file");
    tap_ok(!journal_checksum(path, journal.synced + 1, &sum, &error) && error.kind == ERROR_INPUT,
           "a file that is too short has no such prefix (%s)", error.why);
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
    tap_ok(journal_close(&journal) > 10, "and counts the dropped lines");
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
    remove_home();
    return tap_done();
}
