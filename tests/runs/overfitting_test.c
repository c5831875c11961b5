/* Made runs, of which it is known whether they overfit. The loss of an image at a validation is a
 * curve, plus the noise of the weights at that validation, plus noise of the image. The last is new
 * at each validation, except that the images that are hard stay hard. */
#include "base/random.h"
#include "runs/findings/overfitting.h"
#include "runs/findings/watcher.h"

#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EPOCHS = 200, IMAGES = 10000, SEEDS = 100 };

struct made_run {
    double (*curve)(double epoch);
    double weight_noise, image_noise; /* standard deviations */
    size_t images, epochs;
    bool training_rises, resumed; /* resumed: the losses of the lowest validation are lost */
    bool old;                     /* the standard errors of validations are not recorded */
};

static double flat(double epoch)
{
    return 0.5 + 1.5 * exp(-epoch / 3);
}

/* The loss of a network that is right on 99.3 % of the images. */
static double converged(double epoch)
{
    return 0.021 + 0.3 * exp(-epoch / 2);
}

/* Lowest at epoch 7. */
static double rising(double epoch)
{
    return epoch < 7 ? 0.371 + 0.1 * (7 - epoch) : 0.371 + 0.02 * (epoch - 7);
}

/* Falls until epoch 15 and rises faster and faster. */
static double curved(double epoch)
{
    return 1.24 + 2 * exp(-epoch / 3) + (epoch > 15 ? 0.016 * pow(epoch - 15, 1.3) : 0);
}

static double rising_a_little(double epoch)
{
    return epoch < 7 ? 0.371 + 0.1 * (7 - epoch) : 0.371 + 0.0003 * (epoch - 7);
}

/* Computes the losses of the images at an epoch and their mean; returns its standard error. */
static double make_losses(const struct made_run *made, uint32_t seed, size_t epoch, float *losses,
                          double *mean)
{
    const size_t images = made->images, first = epoch * (IMAGES + 4);
    float shift[4];
    double sum = 0, squares = 0;
    random_fill_gaussian(seed, RANDOM_STUDY, 1, first, 0, 1, losses, images);
    random_fill_gaussian(seed, RANDOM_STUDY, 2, 4 * epoch, 0, 1, shift, 4);
    for (size_t i = 0; i < images; i++) {
        const double hard = i % 10 == 0 ? 0.9 : -0.1;
        const double loss = made->curve((double)epoch) + made->weight_noise * (double)shift[0] +
                            made->image_noise * (hard + (double)losses[i]);
        losses[i] = (float)loss;
        sum += loss;
        squares += loss * loss;
    }
    *mean = sum / (double)images;
    return sqrt((squares / (double)images - *mean * *mean) / (double)(images - 1));
}

/* Returns the epoch at which the run is found to overfit, and its finding; 0: never. */
static size_t find(const struct made_run *made, uint32_t seed, struct finding *finding)
{
    static float losses[IMAGES];
    struct watcher watcher = {0};
    struct lowest_losses lowest = {0};
    struct series series;
    struct error error;
    size_t found = 0;
    double mean;
    if (!series_create(&series, EPOCHS, EPOCHS, &error))
        return 0;
    for (size_t epoch = 1; epoch <= made->epochs && !found; epoch++) {
        const double image_error = make_losses(made, seed, epoch, losses, &mean);
        const float train = made->training_rises ? (float)epoch : 1 / (float)epoch;
        series_add(&series, &(struct series_point){.iteration = epoch, .loss = train});
        series_add_validation(&series, &(struct series_validation){
                                           .iteration = epoch,
                                           .epoch = (float)epoch,
                                           .loss = (float)mean,
                                           .loss_error = made->old ? NAN : (float)image_error});
        if (made->resumed || made->old)
            lowest_losses_free(&lowest);
        const double error_of_rise = lowest_losses_compare(&lowest, &series, losses, made->images);
        if (watcher_validation(&watcher, (struct moment){epoch, (double)epoch}, &series,
                               error_of_rise, finding))
            found = epoch;
    }
    lowest_losses_free(&lowest);
    series_free(&series);
    return found;
}

static size_t count_found(const struct made_run *made)
{
    struct finding finding;
    size_t found = 0;
    for (uint32_t seed = 1; seed <= SEEDS; seed++)
        found += find(made, seed, &finding) > 0;
    return found;
}

static void test_flat(void)
{
    const struct made_run noisy = {flat, 0.02, 0.5, 100, EPOCHS, false, false, false};
    const struct made_run old = {flat, 0.02, 0.5, 100, EPOCHS, false, false, true};
    const struct made_run jitter = {converged, 0.001, 0.1, IMAGES, 30, false, false, false};
    size_t found = count_found(&noisy);
    tap_ok(found <= 5, "200 noisy epochs without a rise: %zu of 100 runs have a finding", found);
    found = count_found(&old);
    tap_ok(found <= 5, "without standard errors: %zu of 100 runs", found);
    found = count_found(&jitter);
    tap_ok(found == 0, "a jitter of 0.001 at 99.3 %% of 10000 images: %zu of 100 runs", found);
}

static void test_rise(void)
{
    struct finding finding = {0};
    struct made_run made = {rising, 0.004, 0.2, 2000, 40, false, false, false};
    const size_t found = find(&made, 1, &finding);
    tap_ok(found > 7 && found <= 7 + 9 && finding.kind == FINDING_OVERFITTING,
           "a clear rise after epoch 7 is found at epoch %zu", found);
    tap_ok(finding.iteration >= 6 && finding.iteration <= 9 &&
               finding.epoch == (double)finding.iteration,
           "it began at the lowest validation, epoch %g", finding.epoch);
    tap_ok(strstr(finding.text, "more than noise (standard error 0.0") &&
               strlen(finding.text) < sizeof finding.text - 60,
           "the finding has its figures: %s", finding.text);
    tap_ok(count_found(&made) == SEEDS, "it is found with every seed");
    struct made_run bent = {curved, 0.02, 1.2, 300, 40, false, false, false};
    const size_t bent_found = count_found(&bent);
    tap_ok(bent_found >= SEEDS * 3 / 4,
           "a curve that falls for long is not taken for noise: found with %zu seeds of %d",
           bent_found, SEEDS);
    made.resumed = true;
    tap_ok(find(&made, 1, &finding) >= found, "a resumed run finds it as well, but not earlier");
    made.resumed = false;
    made.old = true;
    tap_ok(find(&made, 1, &finding) >= 15, "and one without standard errors after 15 validations");
    made.old = false;
    made.training_rises = true;
    tap_ok(find(&made, 1, &finding) == 0, "a rise with the training loss is no overfitting");
}

static void test_images(void)
{
    struct finding finding;
    struct made_run made = {rising, 0.0005, 1, IMAGES, 60, false, false, false};
    const size_t many = find(&made, 1, &finding);
    made.images = 100;
    const size_t few = find(&made, 1, &finding);
    tap_ok(many > 0 && (few == 0 || few >= many + 10),
           "100 images need a larger rise than 10000: epoch %zu instead of %zu", few, many);
    const struct made_run small = {rising_a_little, 0, 0.001, IMAGES, 15, false, false, false};
    tap_ok(find(&small, 1, &finding) == 0, "a rise below 1 %% is none, however certain");
}

static void test_paired(void)
{
    struct lowest_losses lowest = {0};
    struct series series;
    struct error error;
    const float before[4] = {1, 2, 3, 4}, after[4] = {2, 3, 4, 5.4f};
    tap_ok(series_create(&series, 3, 3, &error), "a series");
    struct series_validation validation = {.iteration = 1, .loss = 2.5f, .loss_error = 0.3f};
    series_add_validation(&series, &validation);
    tap_ok(isnan(lowest_losses_compare(&lowest, &series, before, 4)), "no rise yet");
    validation = (struct series_validation){.iteration = 2, .loss = 3.6f, .loss_error = 0.4f};
    series_add_validation(&series, &validation);
    tap_ok(fabs(lowest_losses_compare(&lowest, &series, after, 4) - 0.1) < 1e-6,
           "the error is that of the differences by image");
    tap_ok(fabs(lowest_losses_compare(&lowest, &series, after, 3) - 0.5) < 1e-6,
           "of other images it is that of both means");
    lowest_losses_free(&lowest);
    tap_ok(fabs(lowest_losses_compare(&lowest, &series, after, 4) - 0.5) < 1e-6,
           "so it is if the losses are lost");
    series_free(&series);
}

TEST_CASE(overfitting_test)
{
    test_flat();
    test_rise();
    test_images();
    test_paired();
    return tap_done();
}
