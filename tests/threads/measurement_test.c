/* Stored measurements: one entry for each device, read back with the same bits, damage reported;
 * and when two times differ: only in turns. Then real measurements of a small network. */
#include "models/measure/measurement.h"

#include "base/host/host_contention.h"
#include "base/random.h"
#include "session_files.h"
#include "training/run_start.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static struct measurement make(const char *device, double mean, double ci95)
{
    struct measurement measurement = {.on.threads = 2,
                                      .images = 100,
                                      .ms_per_image = {mean, mean, mean, 1, ci95},
                                      .top1 = 80,
                                      .top5 = NAN,
                                      .loss = 0.1,
                                      .model_bytes = 1234,
                                      .memory_bytes = 5678,
                                      .joules_per_image = 0.25,
                                      .watts = NAN};
    snprintf(measurement.on.device, sizeof measurement.on.device, "%s", device);
    snprintf(measurement.on.host, sizeof measurement.on.host, "here");
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
               found->model_bytes == 1234 && found->on.threads == 2 &&
               strcmp(found->on.host, "here") == 0,
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

/* --- turns --- */

enum { BLOCKS = 12 };
static const double first_ms[BLOCKS] = {2.10, 2.12, 2.08, 2.11, 2.13, 2.09,
                                        2.10, 2.14, 2.07, 2.11, 2.12, 2.10};

/* Returns the turns of first_ms and these times, of which the first `marked` blocks are marked. */
static struct turns turns_of(const double *second, size_t marked)
{
    struct turns turns = {.images = 10};
    bool marks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++)
        marks[i] = i < marked;
    turns_summarise(&turns, first_ms, second, marks, BLOCKS);
    return turns;
}

/* The expected values are those of scipy.stats.t for the logarithms of the ratios of the blocks. */
static void test_turns(void)
{
    static const double slower[BLOCKS] = {2.06, 2.07, 2.08, 2.05, 2.09, 2.06,
                                          2.04, 2.08, 2.07, 2.06, 2.08, 2.05},
                        close[BLOCKS] = {2.08, 2.09, 2.10, 2.07, 2.11, 2.08,
                                         2.06, 2.10, 2.09, 2.08, 2.10, 2.07};
    const struct turns apart = turns_of(slower, 0), near = turns_of(close, 0);
    struct turns_test test = turns_test(&apart);
    tap_ok(test.verdict == TURNS_SECOND_FASTER && fabs(test.ratio - 1.0193444060680366) < 1e-12 &&
               fabs(test.low - 1.0128804691588806) < 1e-10 &&
               fabs(test.high - 1.025849594123441) < 1e-10,
           "the ratio and its interval: %.12g, %.12g to %.12g", test.ratio, test.low, test.high);
    tap_ok(fabs(test.t - 3.186319470635916) < 1e-9 && test.freedom == 11 &&
               fabs(test.p - 0.008663121980866908) < 1e-9,
           "t of the difference beyond the margin, and p: %.12g, %.12g", test.t, test.p);
    const struct turns swapped = turns_swapped(&apart);
    test = turns_test(&swapped);
    tap_ok(test.verdict == TURNS_FIRST_FASTER &&
               fabs(test.ratio - 1 / 1.0193444060680366) < 1e-12 &&
               fabs(test.p - 0.008663121980866908) < 1e-9,
           "the same from the other side");
    test = turns_test(&near);
    tap_ok(test.verdict == TURNS_ALIKE && test.low > 1 && test.p == 1,
           "a difference within the margin is none, though its interval excludes 1");
}

static void test_marks(void)
{
    double second[BLOCKS];
    char text[400];
    for (size_t i = 0; i < BLOCKS; i++)
        second[i] = first_ms[i] * (i < 3 ? 5 : 1.5);
    struct turns turns = turns_of(second, 2);
    struct turns_test test = turns_test(&turns);
    tap_ok(turns.marked == 2 &&
               fabs(test.ratio - exp((9 * log(1 / 1.5) + log(0.2)) / 10)) < 1e-12 &&
               test.verdict == TURNS_FIRST_FASTER,
           "marked blocks take no part: %g", test.ratio);
    turns = turns_of(second, 3);
    test = turns_test(&turns);
    tap_ok(test.verdict == TURNS_NONE && isnan(test.p) && fabs(test.ratio - 1 / 1.5) < 1e-12,
           "with nine others there is a ratio and no verdict");
    tap_ok(strstr(turns_text(&turns, text, sizeof text), "disturbed 3 of 12 blocks"),
           "which says why: %s", text);
    turns = turns_of(second, BLOCKS);
    test = turns_test(&turns);
    tap_ok(test.verdict == TURNS_NONE && test.ratio < 0.7, "nor if all are marked");
    const struct turns none = {0};
    tap_ok(turns_test(&none).verdict == TURNS_NONE && isnan(turns_test(&none).ratio),
           "nothing is known of no turns");
    for (size_t i = 0; i < BLOCKS; i++)
        second[i] = first_ms[i] * 2;
    turns = turns_of(second, 0);
    turns.log_sd = 0;
    tap_ok(turns_test(&turns).verdict == TURNS_FIRST_FASTER && turns_test(&turns).p == 0,
           "blocks without any variance decide, too");
}

/* Fills the blocks of two models of which the second takes `factor` times as long, on a machine
 * that drifts by 20 % and whose blocks have rare long delays. */
static struct turns simulate(size_t number, double factor)
{
    enum { SIMULATED = 16 };
    struct turns turns = {0};
    double first[SIMULATED], second[SIMULATED];
    bool marks[SIMULATED] = {false};
    float noise[4 * SIMULATED];
    random_fill_gaussian(7, RANDOM_BENCH, number, 0, 0, 1, noise, 4 * SIMULATED);
    for (size_t i = 0; i < SIMULATED; i++) {
        const double load = 1 + 0.2 * sin((double)(number + i) / 3);
        const double delays[] = {noise[4 * i + 2] > 1.5 ? 0.2 : 0,
                                 noise[4 * i + 3] > 1.5 ? 0.2 : 0};
        first[i] = load * (1 + 0.02 * noise[4 * i] + delays[0]);
        second[i] = factor * load * (1 + 0.02 * noise[4 * i + 1] + delays[1]);
    }
    turns_summarise(&turns, first, second, marks, SIMULATED);
    return turns;
}

static size_t count_different(double factor, size_t pairs)
{
    size_t count = 0;
    for (size_t i = 0; i < pairs; i++) {
        const struct turns turns = simulate(i, factor);
        count += turns_test(&turns).verdict != TURNS_ALIKE;
    }
    return count;
}

static void test_level(void)
{
    enum { PAIRS = 2000 };
    const size_t same = count_different(1, PAIRS), other = count_different(1.25, PAIRS);
    tap_ok((double)same <= TURNS_LEVEL * PAIRS, "%zu of %d pairs of equal models differ", same,
           PAIRS);
    tap_ok(other > 0.95 * PAIRS, "and %zu of %d pairs of which one takes 1.25 times as long", other,
           PAIRS);
}

static void test_contention(void)
{
    struct host_contention before = {.taken = 1000, .knows_wait = true, .knows_steal = true},
                           after = {.taken = 1001000,
                                    .computed = 900000,
                                    .waited = 30000,
                                    .ticks = 100,
                                    .stolen = 2,
                                    .knows_wait = true,
                                    .knows_steal = true},
                           now;
    tap_ok(fabs(host_contention_share(&before, &after, false) - 0.03) < 1e-12,
           "threads waited for 3 %% of the time");
    tap_ok(fabs(host_contention_share(&before, &after, true) - 0.1) < 1e-12,
           "a thread that was to compute did so for 90 %%");
    after.stolen = 7;
    tap_ok(fabs(host_contention_share(&before, &after, false) - 0.07) < 1e-12,
           "a hypervisor took 7 %%");
    after.knows_wait = after.knows_steal = false;
    tap_ok(host_contention_share(&before, &after, false) == 0, "what is not known does not count");
    host_contention_read(&now);
    tap_ok(now.taken > 0 && now.computed > 0 &&
               now.knows_wait == (access("/proc/self/schedstat", R_OK) == 0),
           "the counters are read where the kernel has them");
}

static struct measured_turns turns_with(const char *other, const char *device, double ratio)
{
    struct measured_turns turns = {
        .turns = {.blocks = 16, .images = 10, .log_ratio = log(ratio), .log_sd = 0.01}};
    snprintf(turns.other, sizeof turns.other, "%s", other);
    snprintf(turns.turns.on.device, sizeof turns.turns.on.device, "%s", device);
    snprintf(turns.turns.on.created, sizeof turns.turns.on.created, "2026-01-01T00:00:00Z");
    return turns;
}

/* The precision of each model is kept, also from the other model's side. */
static void test_precisions(void)
{
    struct error error;
    struct turns found = {0};
    struct measurements list, other = {0};
    struct measured_turns mixed = turns_with("b", "cpu", 2);
    char text[400];
    snprintf(mixed.turns.on.precision, sizeof mixed.turns.on.precision, "bf16");
    snprintf(mixed.turns.second_precision, sizeof mixed.turns.second_precision, "float32");
    tap_ok(measurements_put_turns(test_home, &mixed, &error) &&
               measurements_read(&list, test_home, &error) &&
               measurements_find_turns(&other, "b", &list, "a", "cpu", &found) &&
               strcmp(found.on.precision, "float32") == 0 &&
               strcmp(found.second_precision, "bf16") == 0,
           "turns keep the precisions of both models");
    tap_ok(turns_precisions_differ(&found) && strncmp(turns_text(&found, text, sizeof text),
                                                      "computed in float32 and bf16; ", 30) == 0,
           "and say so if they differ: %s", text);
    measurements_free(&list);
    write_text(home_path("measurements.json"),
               "{\"format\":\"tinca-measurements\",\"devices\":[],\"turns\":[{\"other\":\"b\","
               "\"weights\":\"\",\"model_bytes\":0,\"model_changed\":0,\"other_weights\":\"\","
               "\"other_bytes\":0,\"other_changed\":0,\"device\":\"cpu\",\"precision\":\"bf16\","
               "\"host\":\"\",\"cpu\":\"\",\"created\":\"\",\"threads\":1,\"blocks\":16,"
               "\"blocks_marked\":0,\"images_per_block\":4,\"first_ms\":1,\"second_ms\":2,"
               "\"log_ratio\":-0.69,\"log_sd\":0.01}]}");
    tap_ok(measurements_read(&list, test_home, &error) && list.turns_count == 1 &&
               !turns_precisions_differ(&list.turns[0].turns) &&
               strstr(turns_text(&list.turns[0].turns, text, sizeof text), "computed in") == NULL,
           "of turns of an older version the second one is not known");
    measurements_free(&list);
    remove(home_path("measurements.json"));
}

static void test_stored_turns(void)
{
    struct error error;
    struct measurement first = make("cpu", 2, 0.1);
    struct measurements list, other = {0};
    struct turns found = {0};
    const struct measured_turns old = turns_with("b", "cpu", 3), new = turns_with("b", "cpu", 2),
                                gpu = turns_with("b", "cuda:0", 4), c = turns_with("c", "cpu", 5);
    tap_ok(put(&first) && measurements_put_turns(test_home, &old, &error) &&
               measurements_put_turns(test_home, &gpu, &error) &&
               measurements_put_turns(test_home, &c, &error) &&
               measurements_put_turns(test_home, &new, &error) && put(&first),
           "turns are stored beside measurements");
    tap_ok(measurements_read(&list, test_home, &error) && list.turns_count == 3 && list.count == 1,
           "one entry for each run and device");
    tap_ok(measurements_find_turns(&list, "a", &other, "b", "cpu", &found) &&
               found.log_ratio == log(2) && found.blocks == 16,
           "the newer ones replace the older ones, with their bits");
    tap_ok(measurements_find_turns(&list, "a", &other, "b", "cuda", &found) &&
               found.log_ratio == log(4) &&
               !measurements_find_turns(&list, "a", &other, "d", "cpu", &found) &&
               !measurements_find_turns(&list, "a", &other, "b", "reference", &found),
           "each device has its own, and another run none");
    tap_ok(measurements_find_turns(&other, "b", &list, "a", "cpu", &found) &&
               found.log_ratio == -log(2),
           "from the other run they are the other way round");
    measurements_free(&list);
    write_text(home_path("measurements.json"),
               "{\"format\":\"tinca-measurements\",\"devices\":[],\"turns\":[{\"other\":3}]}");
    tap_ok(!measurements_read(&list, test_home, &error) && strstr(error.why, "turns"),
           "damaged turns are reported: %s", error.why);
    remove(home_path("measurements.json"));
}

static void test_alike(void)
{
    struct measurement a = make("cpu", 2, 0.2), b = make("cpu", 2.1, 0.2);
    snprintf(b.on.precision, sizeof b.on.precision, "int8");
    tap_ok(measured_on_same(&a.on, &b.on),
           "times of one machine and number of threads are of the same, in any precision");
    b.on.threads = 1;
    tap_ok(!measured_on_same(&a.on, &b.on), "with a different number of threads they are not");
    b = a;
    snprintf(b.on.host, sizeof b.on.host, "elsewhere");
    tap_ok(!measured_on_same(&a.on, &b.on), "nor on another host");
    b = a;
    snprintf(b.on.cpu, sizeof b.on.cpu, "another");
    tap_ok(!measured_on_same(&a.on, &b.on), "nor on another processor");
    b = a;
    snprintf(a.on.device, sizeof a.on.device, "cuda");
    snprintf(b.on.device, sizeof b.on.device, "cuda:0");
    tap_ok(!measured_on_same(&a.on, &b.on) && measured_on_is(&b.on, &a.on) &&
               !measured_on_is(&a.on, &b.on) && !measured_on_device("cudax", "cuda"),
           "\"cuda\" asks for \"cuda:0\", too, but is another name");
    const struct measured_on here = measured_on_here("cpu", 0), one = measured_on_here("cpu", 1);
    tap_ok(here.threads > 0 && here.host[0] && here.cpu[0] && !here.precision[0] &&
               !here.created[0] && one.threads == 1,
           "this machine: all cores, or as many as are asked for");
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
    tap_ok(fabs(all.top1 - snapshot.validation.best_top1) < 1e-4,
           "with the accuracy of the best model");
    tap_ok(strcmp(all.weights, "best.safetensors") == 0 && all.model_bytes > 2000000 &&
               all.memory_bytes > 2000000,
           "of the best weights, with their size");
    request.images = 7;
    tap_ok(measure_run(run, &request, &few, &error) && few.images == 7, "or on the first few");
    const struct run *const twice[] = {run, run, run};
    struct measurements list;
    struct turns turns;
    tap_ok(measure_turns(twice, 3, &request, &error), "three models take turns");
    tap_ok(measurements_read(&list, run_facts(run)->directory, &error) && list.turns_count == 1 &&
               measurements_find_turns(&list, run_facts(run)->id, &list, run_facts(run)->id, "cpu",
                                       &turns),
           "which the run's folder keeps");
    const struct turns_test shown = turns_test(&turns);
    tap_ok(turns.blocks - turns.marked <= TURNS_AIM && turns.blocks <= TURNS_MOST &&
               turns.images >= 4 && turns.first_ms > 0 && turns.on.threads == 1,
           "%zu blocks, %zu marked, of %zu images", turns.blocks, turns.marked, turns.images);
    tap_ok((shown.verdict == TURNS_NONE) == (turns.blocks - turns.marked < TURNS_LEAST) &&
               shown.ratio > 0.2 && shown.ratio < 5,
           "the same model takes as long: ratio %g", shown.ratio);
    measurements_free(&list);
    tap_ok(!measure_turns(twice, 1, &request, &error) && error.kind == ERROR_USAGE,
           "a model alone takes no turns: %s", error.why);
    request.device = "abacus";
    tap_ok(!measure_run(run, &request, &few, &error), "an unknown device is refused: %s",
           error.why);
    run_free(run);
}

TEST_CASE(measurement_test)
{
    if (!tap_ok(make_home(), "a home for the tests"))
        return tap_done();
    test_file();
    test_stale();
    test_turns();
    test_marks();
    test_level();
    test_contention();
    test_stored_turns();
    test_precisions();
    test_alike();
    test_run();
    remove_home();
    return tap_done();
}
