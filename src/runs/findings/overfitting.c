/* The statistics of the test.
 *
 * Noise of the weights: if the losses of consecutive validations had independent errors of variance
 * v about a smooth curve, their second differences would have the variance 6 v. Estimating v from
 * them goes back to von Neumann (1941, "Distribution of the ratio of the mean square successive
 * difference to the variance") and Gasser, Sroka and Jennen-Steinmetz (1986, "Residual variance and
 * residual pattern in nonlinear regression"). In place of the mean square the test takes the upper
 * quartile of the absolute values, because the losses of the first epochs fall steeply. A quartile
 * of few differences is often too small, so it is enlarged by the share FEW_DIFFERENCES / count.
 * Errors of neighbours may be alike; therefore the noise is also estimated from the medians of
 * disjoint windows, and the larger estimate counts. At the distance of a window a curve that falls
 * and rises again has second differences of its own; it has smaller third ones, whose variance
 * would be 20 v. So the smaller of both estimates from windows counts.
 *
 * Noise of the images: validations use the same images, so the error of a rise is that of the mean
 * of the differences by image, as in a paired test. Medians over epochs do not reduce it.
 *
 * Many looks: the noise of the weights is new at each validation. After t validations there have
 * been fewer than t candidates for the lowest median, and the test is repeated at each validation.
 * By the union bound the chance of any false finding in a run of any length is at most LEVEL if the
 * level at t is 6 LEVEL / (pi^2 t^3), because the sum of 1 / t^2 is pi^2 / 6. The tail of a normal
 * distribution beyond z is below exp(-z^2 / 2) / 2. The images are drawn but once, and their noise
 * changes slowly from one look to the next, so that its multiple is the fixed IMAGE_MULTIPLE: a
 * one-sided level of 0.13 %, which is LEVEL for about forty looks that differ.
 *
 * The size: the rise must be at least LEAST_RISE of the lowest loss; a relative rise is the
 * generalisation loss of Prechelt (1998, "Early stopping - but when?"). */
#include "runs/findings/overfitting.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_VALIDATIONS = 2 * OVERFITTING_WINDOW, LEAST_WITHOUT_IMAGES = 3 * OVERFITTING_WINDOW };
static const double LEVEL = 0.05, IMAGE_MULTIPLE = 3, LEAST_RISE = 0.01, FEW_DIFFERENCES = 4,
                    PI = 3.14159265358979;

/* --- the images --- */

static size_t lowest_validation(const struct series *series, size_t count)
{
    size_t lowest = count;
    for (size_t i = 0; i < count; i++)
        if (isfinite(series->validations[i].loss) &&
            (lowest == count || series->validations[i].loss < series->validations[lowest].loss))
            lowest = i;
    return lowest;
}

static double paired_error(const float *now, const float *before, size_t images)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < images; i++) {
        const double difference = (double)now[i] - (double)before[i], from = difference - mean;
        mean += from / (double)(i + 1);
        squares += from * (difference - mean);
    }
    return images < 2 ? (double)NAN : sqrt(squares / (double)(images - 1) / (double)images);
}

static void store(struct lowest_losses *lowest, uint64_t iteration, const float *losses,
                  size_t images)
{
    if (lowest->images != images) {
        lowest_losses_free(lowest);
        lowest->values = memory_new(images, sizeof *losses, "the losses of images", NULL);
        lowest->images = lowest->values ? images : 0;
    }
    if (lowest->values)
        memcpy(lowest->values, losses, images * sizeof *losses);
    lowest->iteration = iteration;
}

double lowest_losses_compare(struct lowest_losses *lowest, const struct series *series,
                             const float *losses, size_t images)
{
    const size_t count = series_validation_count(series), at = lowest_validation(series, count);
    if (at == count)
        return NAN;
    const struct series_validation *last = &series->validations[count - 1];
    const struct series_validation *least = &series->validations[at];
    if (least == last) {
        store(lowest, last->iteration, losses, images);
        return NAN;
    }
    return lowest->values && lowest->images == images && lowest->iteration == least->iteration
               ? paired_error(losses, lowest->values, images)
               : hypot((double)last->loss_error, (double)least->loss_error);
}

void lowest_losses_free(struct lowest_losses *lowest)
{
    free(lowest->values);
    *lowest = (struct lowest_losses){0};
}

/* --- medians --- */

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Writes the medians of all windows of `count` losses and returns their number; `losses` are
 * finite. */
static size_t find_medians(const double *losses, size_t count, double *medians)
{
    double window[OVERFITTING_WINDOW];
    const size_t medians_count = count - OVERFITTING_WINDOW + 1;
    for (size_t i = 0; i < medians_count; i++) {
        memcpy(window, losses + i, sizeof window);
        qsort(window, OVERFITTING_WINDOW, sizeof *window, compare_numbers);
        medians[i] = window[OVERFITTING_WINDOW / 2];
    }
    return medians_count;
}

/* --- the noise of the weights --- */

/* Returns the standard deviation of values, from the upper quartile of `count` absolute differences
 * whose variance is `factor` times theirs, of which one in `lag` is independent. Sorts them. */
static double noise_of(double *differences, size_t count, size_t lag, double factor)
{
    const double upper_quartile = 1.1503; /* of the absolute values of a normal distribution */
    qsort(differences, count, sizeof *differences, compare_numbers);
    const double quartile = differences[(3 * count + 3) / 4 - 1];
    const double independent = (double)count / (double)lag;
    return quartile / upper_quartile / sqrt(factor) * (1 + FEW_DIFFERENCES / independent);
}

/* Returns the standard deviation of values about a smooth curve, from their second differences at a
 * distance of `lag`; 0 if there are none. Overwrites `work` [count]. */
static double estimate_noise(const double *values, size_t count, size_t lag, double *work)
{
    if (count <= 2 * lag)
        return 0;
    for (size_t i = 0; i < count - 2 * lag; i++)
        work[i] = fabs(values[i] - 2 * values[i + lag] + values[i + 2 * lag]);
    return noise_of(work, count - 2 * lag, lag, 6);
}

/* Returns the same from third differences; INFINITY if there are none. */
static double estimate_curved_noise(const double *values, size_t count, size_t lag, double *work)
{
    if (count <= 3 * lag)
        return INFINITY;
    for (size_t i = 0; i < count - 3 * lag; i++)
        work[i] =
            fabs(values[i + 3 * lag] - 3 * values[i + 2 * lag] + 3 * values[i + lag] - values[i]);
    return noise_of(work, count - 3 * lag, lag, 20);
}

/* Returns the standard deviation of the median of a window about the curve. */
static double estimate_median_noise(const double *losses, size_t count, const double *medians,
                                    size_t medians_count, double *work)
{
    const double of_median = 1.198; /* sqrt(5) times the deviation of a median of 5 normal values */
    const double single = estimate_noise(losses, count, 1, work);
    const double window =
        fmin(estimate_noise(medians, medians_count, OVERFITTING_WINDOW, work),
             estimate_curved_noise(medians, medians_count, OVERFITTING_WINDOW, work));
    return fmax(single * of_median / sqrt(OVERFITTING_WINDOW), window);
}

/* --- the test --- */

/* Returns the multiple of the noise of the weights that a rise must exceed. */
static double weight_multiple(size_t count)
{
    const double looks = pow((double)count, 3) * PI * PI / 6;
    return sqrt(2 * log(looks / (2 * LEVEL)));
}

/* Returns the mean training loss of the iterations that led to a window of validations; NaN if none
 * are stored. */
static double mean_train_loss(const struct series *series, size_t first)
{
    const uint64_t begin = first > 0 ? series->validations[first - 1].iteration : 0;
    const uint64_t end = series->validations[first + OVERFITTING_WINDOW - 1].iteration;
    double sum = 0;
    size_t points = 0;
    for (size_t i = series_count(series); i > 0 && series->points[i - 1].iteration > begin; i--)
        if (series->points[i - 1].iteration <= end) {
            sum += (double)series->points[i - 1].loss;
            points++;
        }
    return points > 0 ? sum / (double)points : (double)NAN;
}

/* Finds the lowest median of a window before the last one. */
static void find_lowest(const double *medians, struct overfitting_rise *rise)
{
    rise->loss_lowest = medians[0];
    for (size_t i = 1; i + OVERFITTING_WINDOW <= rise->last; i++)
        if (medians[i] < rise->loss_lowest) {
            rise->loss_lowest = medians[i];
            rise->lowest = i;
        }
}

/* Fills the rise of the validation loss and its error; returns whether it is more than noise.
 * `work` has space for 3 * count numbers, of which the first are the losses. */
static bool has_risen(size_t count, double image_error, double *work, struct overfitting_rise *rise)
{
    double *losses = work, *medians = work + count, *free_space = work + 2 * count;
    const size_t medians_count = find_medians(losses, count, medians);
    rise->last = medians_count - 1;
    rise->loss_last = medians[rise->last];
    find_lowest(medians, rise);
    const double weights =
        sqrt(2) * estimate_median_noise(losses, count, medians, medians_count, free_space);
    const double images = isfinite(image_error) ? image_error : 0;
    const double least = hypot(weight_multiple(count) * weights, IMAGE_MULTIPLE * images);
    const double risen = rise->loss_last - rise->loss_lowest;
    rise->error = hypot(weights, images);
    return risen > least && risen > LEAST_RISE * rise->loss_lowest;
}

bool overfitting_test(const struct series *series, double image_error,
                      struct overfitting_rise *rise)
{
    const size_t count = series_validation_count(series);
    *rise = (struct overfitting_rise){0};
    if (count < (isfinite(image_error) ? LEAST_VALIDATIONS : LEAST_WITHOUT_IMAGES))
        return false;
    double *work = memory_new(3 * count, sizeof *work, "the losses", NULL);
    bool risen = work;
    for (size_t i = 0; risen && i < count; i++) {
        work[i] = (double)series->validations[i].loss;
        risen = isfinite(work[i]); /* a loss that is NaN is a finding of its own */
    }
    risen = risen && has_risen(count, image_error, work, rise);
    free(work);
    if (!risen)
        return false;
    rise->train_lowest = mean_train_loss(series, rise->lowest);
    rise->train_last = mean_train_loss(series, rise->last);
    return rise->train_last < rise->train_lowest;
}
