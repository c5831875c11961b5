/* Findings: each is reported once, when its condition holds and not otherwise, with the right text.
 */
#include "engine/training/loss_meter.h"
#include "runs/findings/watcher.h"

#include "tap.h"

#include <math.h>
#include <string.h>

static struct moment at(uint64_t iteration, double epoch)
{
    return (struct moment){iteration, epoch};
}

/* A loss and its means over a window of 20. */
static bool tell_mean(struct watcher *watcher, struct moment now, float loss, float caffe,
                      double exact, struct finding *finding)
{
    const struct loss_meter meter = {.size = 20, .caffe = caffe, .exact = exact};
    return watcher_loss(watcher, now, loss, &meter, finding);
}

/* Losses measured with the original program, and others whose mean stays positive. */
static void test_negative_loss(void)
{
    struct watcher watcher = {0};
    struct loss_meter meter;
    struct finding finding, first = {0};
    size_t found = 0;
    bool negative = false;
    loss_meter_create(&meter, 1, NULL);
    for (uint64_t i = 1; i <= 2000; i++) {
        float loss = i < 5 ? 2.3025851f / (float)i : i < 30 ? 1e-4f / (float)(i * i) : 0;
        loss_meter_add(&meter, loss);
        negative |= meter.caffe < 0;
        if (watcher_loss(&watcher, at(i, (double)i / 10), loss, &meter, &finding) &&
            finding.kind == FINDING_NEGATIVE_LOSS) {
            first = found++ == 0 ? finding : first;
            tap_ok(meter.caffe < 0, "reported where Caffe's mean is negative (%g)",
                   (double)meter.caffe);
        }
    }
    loss_meter_free(&meter);
    tap_ok(found == (negative ? 1 : 0), "once, and only if the mean is negative (%zu)", found);
    watcher = (struct watcher){0};
    bool silent = !tell_mean(&watcher, at(1, 0), 7, 7, 7, &finding) &&
                  !tell_mean(&watcher, at(2, 0), 0, 0, 0, &finding) &&
                  !tell_mean(&watcher, at(3, 0), 0, -0.0f, 0, &finding);
    tap_ok(silent, "zero is not negative");
    tap_ok(tell_mean(&watcher, at(4, 0.5), 0, -4.5e-8f, 0, &finding) &&
               finding.kind == FINDING_NEGATIVE_LOSS && finding.iteration == 4 &&
               finding.epoch == 0.5 && strstr(finding.text, "-4.5e-08") &&
               strstr(finding.text, "never negative") && strstr(finding.text, "up to 7"),
           "the finding explains it: %s", finding.text);
    tap_ok(strcmp(finding_kind_name(finding.kind), "negative-loss") == 0 &&
               strcmp(finding_kind_words(finding.kind), "negative loss") == 0,
           "and has its name");
}

static void test_residue(void)
{
    struct watcher watcher = {0};
    struct finding finding;
    bool silent = !tell_mean(&watcher, at(1, 0), 7, 7, 7, &finding) &&
                  !tell_mean(&watcher, at(2, 0), 1e-6f, 1.9e-6f, 1e-6, &finding) &&
                  !tell_mean(&watcher, at(3, 0), 0, 0, 1e-9, &finding);
    tap_ok(silent, "a mean that is mostly loss gives no finding");
    tap_ok(tell_mean(&watcher, at(4, 0.5), 0, 4.5e-8f, 0, &finding) &&
               finding.kind == FINDING_RESIDUE && finding.iteration == 4 &&
               strstr(finding.text, "4.5e-08") && strstr(finding.text, "exact mean") &&
               strstr(finding.text, "up to 7"),
           "a mean of 0 that Caffe prints otherwise: %s", finding.text);
    tap_ok(strlen(finding.text) < sizeof finding.text - 40, "with space for a longer translation");
    tap_ok(strcmp(finding_kind_name(finding.kind), "loss-residue") == 0, "and has its name");
    tap_ok(!tell_mean(&watcher, at(5, 0.6), 0, 4.5e-8f, 0, &finding), "once");
    tap_ok(tell_mean(&watcher, at(6, 0.7), 0, -1e-9f, 0, &finding) &&
               finding.kind == FINDING_NEGATIVE_LOSS,
           "a negative mean is still reported");
    watcher = (struct watcher){0};
    tap_ok(tell_mean(&watcher, at(1, 0), 0, 3e-8f, 1e-8, &finding), "most of it is enough");
}

static void test_validation(void)
{
    struct watcher watcher = {0};
    struct finding finding;
    struct series series;
    struct error error;
    tap_ok(series_create(&series, 3, 3, &error), "a series");
    series_add_validation(&series, &(struct series_validation){.iteration = 1, .loss = 2});
    tap_ok(!watcher_validation(&watcher, at(1, 1), &series, NAN, &finding), "one validation");
    series_add_validation(&series, &(struct series_validation){.iteration = 2, .loss = NAN});
    tap_ok(watcher_validation(&watcher, at(2, 2), &series, NAN, &finding) &&
               finding.kind == FINDING_DIVERGENCE && strstr(finding.text, "iteration 2") &&
               !watcher_validation(&watcher, at(2, 2), &series, NAN, &finding),
           "a validation loss that is NaN is reported once");
    series_free(&series);
}

static void test_others(void)
{
    struct watcher watcher = {0};
    struct finding finding;
    const uint64_t mebibyte = 1 << 20;
    tap_ok(!watcher_memory(&watcher, at(1, 0), 1000 * mebibyte, 1100 * mebibyte, &finding) &&
               watcher_memory(&watcher, at(2, 0), 1000 * mebibyte, 1500 * mebibyte, &finding) &&
               !watcher_memory(&watcher, at(3, 0), 1000 * mebibyte, 1600 * mebibyte, &finding),
           "memory beyond the forecast is reported once: %s", finding.text);
    tap_ok(!watcher_data(&watcher, at(1, 0), 0, "folder:x", "", &finding) &&
               watcher_data(&watcher, at(2, 0), 2, "folder:x", "a/b.png (cut off)", &finding) &&
               !watcher_data(&watcher, at(3, 0), 2, "folder:x", "", &finding) &&
               strstr(finding.text, "2 images of folder:x"),
           "skipped images are reported: %s", finding.text);
    struct bad_layer layer = {.node = "conv2", .in_weights = true};
    watcher_divergence(at(7, 1), NAN, &layer, &finding);
    tap_ok(finding.kind == FINDING_DIVERGENCE && strstr(finding.text, "conv2") &&
               strstr(finding.text, "weights"),
           "divergence names the layer: %s", finding.text);
    watcher_divergence(at(7, 1), INFINITY, NULL, &finding);
    tap_ok(strstr(finding.text, "infinite"), "or says that there is no bad layer: %s",
           finding.text);
    watcher_plateau(at(9, 3), 0.1, 0.01, 1, false, &finding);
    tap_ok(strstr(finding.text, "0.1 to 0.01"), "a plateau names both rates: %s", finding.text);
    watcher_plateau(at(9, 3), 0.001, 0.0001, 4, true, &finding);
    tap_ok(strstr(finding.text, "ends"), "the last plateau says that the run ends");
}

TEST_CASE(finding_test)
{
    test_negative_loss();
    test_residue();
    test_validation();
    test_others();
    return tap_done();
}
