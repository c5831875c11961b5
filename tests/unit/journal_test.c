/* The journal: what is written is read back, to the bit; torn lines cost only themselves. */
#include "session/journal.h"

#include "base/clock.h"

#include "session_files.h"

#include <math.h>

struct reading {
    struct series_point points[8];
    struct series_validation validations[8];
    struct finding findings[8];
    size_t point_count, validation_count, finding_count, others;
};

static bool visit(void *context, const struct json *line, struct error *error)
{
    struct reading *reading = context;
    (void)error;
    if (journal_read_point(line, &reading->points[reading->point_count]))
        reading->point_count++;
    else if (journal_read_validation(line, &reading->validations[reading->validation_count]))
        reading->validation_count++;
    else if (journal_read_finding(line, &reading->findings[reading->finding_count]))
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
                                            .memory_bytes = UINT64_C(1) << 40};

static void test_round_trip(void)
{
    struct journal journal;
    struct error error;
    struct series_point broken = {.iteration = 2, .loss = NAN, .loss_caffe = INFINITY};
    struct series_validation validation = {2, 0.5f, 1.1f, 12.34f, 56.78f, 9.5f, 33.25f};
    struct finding finding = {FINDING_NEGATIVE_LOSS, 2, 0.25, "quotes \" and \\ and\nlines"};
    struct reading reading = {0};
    if (!tap_ok(journal_open(&journal, test_home, &error), "a journal is opened"))
        return note_error(&error);
    uint64_t now = clock_nanoseconds();
    bool written = journal_add_event(&journal, "start", NULL, &error) &&
                   journal_add_point(&journal, &awkward, now, &error) &&
                   journal_add_point(&journal, &broken, now, &error) &&
                   journal_add_validation(&journal, &validation, &error) &&
                   journal_add_finding(&journal, &finding, &error);
    tap_ok(written, "everything is written");
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
               point->memory_bytes == awkward.memory_bytes,
           "every number reads back exactly");
    tap_ok(isnan(reading.points[1].loss) && isnan(reading.points[1].loss_caffe),
           "what is no number is written as null");
    tap_ok(reading.validations[0].top1 == 12.34f && reading.validations[0].seconds == 9.5f,
           "a validation too");
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
    bool appended = journal_open(&journal, test_home, &error) &&
                    journal_add_point(&journal, &awkward, clock_nanoseconds(), &error);
    journal_close(&journal);
    after = (struct reading){0};
    tap_ok(appended && journal_read(path, visit, &after, &error) &&
               after.point_count == before.point_count + 1,
           "and costs only itself when the journal goes on");
    tap_ok(!journal_read(home_path("nosuch"), visit, &after, &error), "a missing file is an error");
}

static void test_full_disk(void)
{
    struct journal journal;
    struct error error = {0};
    if (access("/dev/full", W_OK) != 0) {
        tap_skip("there is no /dev/full");
        return;
    }
    remove(home_path("journal.jsonl"));
    journal_open(&journal, test_home, &error);
    fclose(journal.stream);
    journal.stream = fopen("/dev/full", "a");
    tap_ok(!journal_add_event(&journal, "start", NULL, &error) && error.kind == ERROR_SYSTEM,
           "a full disk is reported (%s)", error.why);
    journal_close(&journal);
}

int main(void)
{
    if (!make_home())
        return 99;
    test_round_trip();
    test_torn();
    test_full_disk();
    remove_home();
    return tap_done();
}
