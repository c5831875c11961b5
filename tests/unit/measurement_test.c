/* Stored measurements: one entry for each device, read back with the same bits, damage reported;
 * and when two times differ significantly. Then a real measurement of a small network. */
#include "session/measure/measurement.h"

#include "session/run/run_start.h"
#include "session_files.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>

static struct measurement make(const char *device, double mean, double ci95)
{
    struct measurement measurement = {.threads = 2,
                                      .images = 100,
                                      .ms_per_image = {mean, mean, mean, 1, ci95},
                                      .top1 = 80,
                                      .top5 = NAN,
                                      .loss = 0.1,
                                      .model_bytes = 1234,
                                      .memory_bytes = 5678,
                                      .joules_per_image = 0.25,
                                      .watts = NAN};
    snprintf(measurement.device, sizeof measurement.device, "%s", device);
    snprintf(measurement.host, sizeof measurement.host, "here");
    return measurement;
}

static bool put(const struct measurement *measurement)
{
    struct error error;
    bool put_it = measurements_put(test_home, measurement, &error);
    if (!put_it)
        note_error(&error);
    return put_it;
}

static void test_file(void)
{
    struct error error;
    struct measurements list;
    struct measurement first = make("cpu", 1.0 / 3, 0.01), second = make("cuda:0", 2, 0.5);
    tap_ok(measurements_read(&list, test_home, &error) && list.count == 0, "no file: no entries");
    tap_ok(put(&first) && put(&second), "two devices are stored");
    first.ms_per_image.mean = 2.0 / 3;
    tap_ok(put(&first), "one of them once more");
    tap_ok(measurements_read(&list, test_home, &error) && list.count == 2,
           "one entry for each device");
    const struct measurement *found = measurements_find(&list, "cpu");
    tap_ok(found && found->ms_per_image.mean == 2.0 / 3 && found->top1 == 80 &&
               isnan(found->top5) && found->joules_per_image == 0.25 && isnan(found->watts) &&
               found->model_bytes == 1234 && found->threads == 2 &&
               strcmp(found->host, "here") == 0,
           "the newer entry replaces the older one, with its bits");
    tap_ok(measurements_find(&list, "cuda") && !measurements_find(&list, "reference"),
           "found by name, or not at all");
    measurements_free(&list);
    write_text(home_path("measurements.json"),
               "{\"format\":\"tinca-measurements\",\"devices\":[{\"device\":3}]}");
    tap_ok(!measurements_read(&list, test_home, &error) && strstr(error.why, "device"),
           "a damaged entry is reported: %s", error.why);
    tap_ok(!measurements_put(test_home, &first, &error), "and not written over");
    remove(home_path("measurements.json"));
}

/* Returns whether the stored entry counts as measured. */
static bool is_current(void)
{
    struct measurements list;
    bool current = measurements_read(&list, test_home, NULL) && measurements_find(&list, "cpu");
    measurements_free(&list);
    return current;
}

static void test_stale(void)
{
    struct measurement measurement = make("cpu", 2, 0.1);
    const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    const char *best = home_path("best.safetensors");
    char path[600];
    snprintf(path, sizeof path, "%s", best);
    tap_ok(write_text(path, "weights") && measurement_note_model(&measurement, path, NULL) &&
               put(&measurement) && is_current(),
           "a measurement of the present model counts");
    tap_ok(utimensat(AT_FDCWD, path, long_ago, 0) == 0 && !is_current(),
           "a measurement of a model with a different time is stale");
    measurement_note_model(&measurement, path, NULL);
    tap_ok(put(&measurement) && is_current(), "until it is measured once more");
    tap_ok(write_text(path, "other weights") && utimensat(AT_FDCWD, path, long_ago, 0) == 0 &&
               !is_current(),
           "a measurement of a model with a different size is stale");
    measurement_note_model(&measurement, path, NULL);
    snprintf(measurement.weights, sizeof measurement.weights, "weights.safetensors");
    tap_ok(put(&measurement) && !is_current(), "and of a different file");
    remove(path);
    tap_ok(is_current(), "without a model file it still counts");
    remove(home_path("measurements.json"));
}

/* The expected t, degrees of freedom and p are those of scipy.stats.ttest_ind_from_stats with
 * equal_var=False. */
static void test_difference(void)
{
    struct measurement a = make("cpu", 2, 0.2), b = make("cpu", 2.1, 0.2),
                       c = make("cpu", 2.3, 0.2);
    a.images = b.images = 30, c.images = 40;
    a.ms_per_image.sd = b.ms_per_image.sd = 0.5, c.ms_per_image.sd = 0.6;
    const struct welch close = measurements_test(&a, &b), apart = measurements_test(&a, &c);
    tap_ok(fabs(close.t - (-0.7745966692415)) < 1e-9 && fabs(close.p - 0.4417244030281) < 1e-9 &&
               !measurements_differ(&a, &b) && !measurements_differ(&b, &a),
           "no difference is shown: p = %.12g", close.p);
    tap_ok(fabs(apart.t - (-2.278663575938)) < 1e-9 &&
               fabs(apart.freedom - 67.19008700237) < 1e-8 &&
               fabs(apart.p - 0.02587121249168) < 1e-9 && measurements_differ(&a, &c),
           "a difference although the 95 %% intervals overlap: p = %.12g", apart.p);
    c.images = 1;
    tap_ok(isnan(measurements_test(&a, &c).p) && !measurements_differ(&a, &c),
           "a single time is not compared");
    tap_ok(measurements_are_comparable(&a, &b), "the same machine is comparable");
    b.threads = 1;
    tap_ok(!measurements_are_comparable(&a, &b), "a different number of threads is not compared");
}

static void test_run(void)
{
    static const char *const settings[] = {
        "network=mlp", "data=digits,limit=40", "validate=digits,split=test,limit=30",
        "batch=10",    "iterations=4",         "threads=1",
        NULL};
    struct error error;
    struct run_config config = configure(settings);
    struct run *run = run_start(&config, NULL, &error);
    struct measure_request request = {.device = "cpu", .threads = 1};
    struct measurement all, few;
    struct run_snapshot snapshot;
    if (!tap_ok(run && run_wait(run, -1), "a run ends"))
        return;
    run_snapshot(run, &snapshot);
    tap_ok(measure_run(run, &request, &all, &error), "it is measured");
    tap_ok(all.images == 30 && all.ms_per_image.mean > 0 && all.ms_per_image.ci95 > 0,
           "on every image of the validation data");
    tap_ok(fabs(all.top1 - snapshot.best_top1) < 1e-4, "with the accuracy of the best model");
    tap_ok(strcmp(all.weights, "best.safetensors") == 0 && all.model_bytes > 2000000 &&
               all.memory_bytes > 2000000,
           "of the best weights, with their size");
    request.images = 7;
    tap_ok(measure_run(run, &request, &few, &error) && few.images == 7, "or on the first few");
    request.device = "abacus";
    tap_ok(!measure_run(run, &request, &few, &error), "an unknown device is refused: %s",
           error.why);
    run_free(run);
}

int main(void)
{
    if (!tap_ok(make_home(), "a home for the tests"))
        return tap_done();
    test_file();
    test_stale();
    test_difference();
    test_run();
    remove_home();
    return tap_done();
}
