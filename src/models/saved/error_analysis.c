/* The confusion matrix and the calibration are both sums over outcomes. */
#include "models/saved/error_analysis.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

bool confusion_create(struct confusion *confusion, size_t classes, struct error *error)
{
    static const char what[] = "the confusion matrix";
    *confusion = (struct confusion){.classes = classes};
    if (classes > SIZE_MAX / (classes ? classes : 1))
        return error_set_memory(error, what, 0);
    confusion->counts = memory_new(classes * classes, sizeof *confusion->counts, what, error);
    confusion->totals = memory_new(classes, sizeof *confusion->totals, what, error);
    confusion->guessed = memory_new(classes, sizeof *confusion->guessed, what, error);
    confusion->none = memory_new(classes, sizeof *confusion->none, what, error);
    if (confusion->counts && confusion->totals && confusion->guessed && confusion->none)
        return true;
    confusion_free(confusion);
    return false;
}

void confusion_free(struct confusion *confusion)
{
    free(confusion->counts);
    free(confusion->totals);
    free(confusion->guessed);
    free(confusion->none);
    *confusion = (struct confusion){0};
}

void confusion_add(struct confusion *confusion, const struct outcome *outcome)
{
    const size_t label = outcome->label, guess = outcome->guess;
    if (label >= confusion->classes)
        return;
    confusion->images++;
    confusion->totals[label]++;
    confusion->right += guess == label;
    if (guess < confusion->classes) {
        confusion->counts[label * confusion->classes + guess]++;
        confusion->guessed[guess]++;
    } else
        confusion->none[label]++;
}

uint32_t confusion_count(const struct confusion *confusion, size_t label, size_t guess)
{
    return confusion->counts[label * confusion->classes + guess];
}

double confusion_accuracy(const struct confusion *confusion, size_t label)
{
    const uint32_t total = confusion->totals[label];
    return total ? 100.0 * confusion_count(confusion, label, label) / total : NAN;
}

/* --- the analysis --- */

bool error_analysis_create(struct error_analysis *analysis, size_t classes, struct error *error)
{
    *analysis = (struct error_analysis){0};
    return confusion_create(&analysis->confusion, classes, error);
}

void error_analysis_free(struct error_analysis *analysis)
{
    confusion_free(&analysis->confusion);
    *analysis = (struct error_analysis){0};
}

void error_analysis_add(struct error_analysis *analysis, const struct outcome *outcome)
{
    const double share = (double)outcome->share;
    const long bin = lround(ceil(share * CALIBRATION_BINS)) - 1;
    confusion_add(&analysis->confusion, outcome);
    if (outcome->guess == OUTCOME_NONE)
        return;
    struct calibration_bin *to = &analysis->bins[bin < 0                  ? 0
                                                 : bin < CALIBRATION_BINS ? bin
                                                                          : CALIBRATION_BINS - 1];
    to->images++;
    to->right += outcome->guess == outcome->label;
    to->confidence += share;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : NAN;
}

struct class_figures error_analysis_class(const struct error_analysis *analysis, size_t label)
{
    const struct confusion *confusion = &analysis->confusion;
    const double right = (double)confusion_count(confusion, label, label);
    const size_t images = confusion->totals[label], guessed = confusion->guessed[label];
    return (struct class_figures){.images = images,
                                  .guessed = guessed,
                                  .precision = percent(right, (double)guessed),
                                  .recall = percent(right, (double)images),
                                  .f1 = percent(2 * right, (double)(images + guessed))};
}

double error_analysis_macro_f1(const struct error_analysis *analysis)
{
    double sum = 0;
    size_t classes = 0;
    for (size_t c = 0; c < analysis->confusion.classes; c++) {
        const double f1 = error_analysis_class(analysis, c).f1;
        if (isnan(f1))
            continue;
        sum += f1;
        classes++;
    }
    return classes ? sum / (double)classes : NAN;
}

double error_analysis_calibration(const struct error_analysis *analysis)
{
    double sum = 0;
    size_t images = 0;
    for (size_t b = 0; b < CALIBRATION_BINS; b++) {
        const struct calibration_bin *bin = &analysis->bins[b];
        sum += fabs((double)bin->right - bin->confidence);
        images += bin->images;
    }
    return images ? sum / (double)images : NAN;
}
