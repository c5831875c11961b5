/* Each detector compares one event with what the watcher has seen before, and writes the finding as
 * a sentence with its numbers. */
#include "runs/findings/watcher.h"

#include "base/language.h"
#include "base/text.h"
#include "runs/findings/overfitting.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static bool __attribute__((format(printf, 4, 5)))
report(struct finding *finding, enum finding_kind kind, struct moment when, const char *format, ...)
{
    va_list arguments;
    *finding = (struct finding){.kind = kind, .iteration = when.iteration, .epoch = when.epoch};
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, gettext(format), arguments);
    va_end(arguments);
    return true;
}

static bool find_negative(struct watcher *watcher, struct moment now, float loss,
                          const struct loss_meter *meter, struct finding *finding)
{
    if (!(meter->caffe < 0) || watcher->negative_reported)
        return false;
    watcher->negative_reported = true;
    return report(finding, FINDING_NEGATIVE_LOSS, now,
                  N_("Caffe would print %.6g at iteration %llu, but the loss is %.6g and was "
                     "never negative. Its float32 mean over %zu only adds differences: rounding "
                     "against early losses (up to %.3g) leaves a residue of either sign "
                     "(BVLC/caffe issue 3029)."),
                  (double)meter->caffe, (unsigned long long)now.iteration, (double)loss,
                  meter->size, (double)watcher->largest_loss);
}

/* Detects a positive mean of which more than half is residue. */
static bool find_residue(struct watcher *watcher, struct moment now, const struct loss_meter *meter,
                         struct finding *finding)
{
    const double caffe = (double)meter->caffe;
    if (!(caffe > 0 && caffe - meter->exact > meter->exact) || watcher->residue_reported)
        return false;
    watcher->residue_reported = true;
    return report(
        finding, FINDING_RESIDUE, now,
        N_("Caffe would print %.6g at iteration %llu, but the exact mean of the same losses is "
           "%.6g (window %zu). The rest is a residue of rounding against early losses "
           "(up to %.3g), as negative losses are."),
        caffe, (unsigned long long)now.iteration, meter->exact, meter->size,
        (double)watcher->largest_loss);
}

bool watcher_loss(struct watcher *watcher, struct moment now, float loss,
                  const struct loss_meter *meter, struct finding *finding)
{
    if (loss > watcher->largest_loss)
        watcher->largest_loss = loss;
    return find_negative(watcher, now, loss, meter, finding) ||
           find_residue(watcher, now, meter, finding);
}

/* Fills the finding of a rise. It began at the validation with the lowest loss of its first
 * window. */
static bool report_overfitting(const struct series *series, const struct overfitting_rise *rise,
                               struct finding *finding)
{
    const struct series_validation *at = series->validations;
    size_t best = rise->lowest;
    for (size_t i = best; i < rise->lowest + OVERFITTING_WINDOW; i++)
        if (at[i].loss < at[best].loss)
            best = i;
    const size_t window = OVERFITTING_WINDOW - 1;
    const struct moment since = {at[best].iteration, (double)at[best].epoch};
    return report(
        finding, FINDING_OVERFITTING, since,
        N_("median validation loss %.4g in epochs %.4g to %.4g, %.4g in epochs %.4g to "
           "%.4g (lowest): the rise of %.3g is more than noise (standard error %.2g); "
           "the training loss still falls, %.4g to %.4g"),
        rise->loss_last, (double)at[rise->last].epoch, (double)at[rise->last + window].epoch,
        rise->loss_lowest, (double)at[rise->lowest].epoch, (double)at[rise->lowest + window].epoch,
        rise->loss_last - rise->loss_lowest, rise->error, rise->train_lowest, rise->train_last);
}

bool watcher_validation(struct watcher *watcher, struct moment now, const struct series *series,
                        double image_error, struct finding *finding)
{
    struct overfitting_rise rise;
    const float loss = series->validations[series_validation_count(series) - 1].loss;
    if (!isfinite(loss)) {
        bool first = !watcher->validation_reported;
        watcher->validation_reported = true;
        return first && report(finding, FINDING_DIVERGENCE, now,
                               N_("the validation loss at iteration %llu is NaN or infinite"),
                               (unsigned long long)now.iteration);
    }
    if (watcher->overfitting_reported || !overfitting_test(series, image_error, &rise))
        return false;
    watcher->overfitting_reported = true;
    return report_overfitting(series, &rise, finding);
}

bool watcher_memory(struct watcher *watcher, struct moment now, uint64_t expected,
                    uint64_t measured, struct finding *finding)
{
    const uint64_t slack = (uint64_t)64 << 20; /* allocators, libraries, thread stacks */
    char is[32], was[32];
    if (watcher->memory_reported || measured <= expected + expected / 4 + slack)
        return false;
    watcher->memory_reported = true;
    return report(finding, FINDING_MEMORY, now,
                  N_("the process takes %s, more than the %s that were forecast"),
                  text_bytes(measured, is, sizeof is), text_bytes(expected, was, sizeof was));
}

bool watcher_data(struct watcher *watcher, struct moment now, uint64_t skipped, const char *data,
                  const char *names, struct finding *finding)
{
    if (skipped <= watcher->skipped)
        return false;
    watcher->skipped = skipped;
    return report(finding, FINDING_DATA, now,
                  ngettext("%llu image of %.60s could not be read and was left out: %s",
                           "%llu images of %.60s could not be read and were left out: %s", skipped),
                  (unsigned long long)skipped, data, names);
}

void watcher_divergence(struct moment now, float loss, const struct bad_layer *layer,
                        struct finding *finding)
{
    const char *what = isnan(loss) ? "NaN" : _("infinite");
    if (layer)
        report(
            finding, FINDING_DIVERGENCE, now,
            layer->in_weights
                ? N_("the loss of iteration %llu is %s: the first layer with weights that are NaN "
                     "or infinite is %s; the run stops. Try a smaller learning rate.")
                : N_("the loss of iteration %llu is %s: the first layer whose output is NaN or "
                     "infinite is %s; the run stops. Try a smaller learning rate."),
            (unsigned long long)now.iteration, what, layer->node);
    else
        report(finding, FINDING_DIVERGENCE, now,
               N_("the loss of iteration %llu is %s, although every layer is finite; the run "
                  "stops. Try a smaller learning rate."),
               (unsigned long long)now.iteration, what);
}

void watcher_plateau(struct moment now, double old_rate, double new_rate, size_t seen, bool last,
                     struct finding *finding)
{
    if (last)
        report(finding, FINDING_PLATEAU, now,
               N_("plateau %zu: the loss has not improved for 10 epochs again; the run ends"),
               seen);
    else
        report(finding, FINDING_PLATEAU, now,
               N_("plateau %zu: the loss has not improved for 10 epochs; the learning rate goes "
                  "from %.4g to %.4g"),
               seen, old_rate, new_rate);
}

void watcher_early_stop(struct moment now, const struct early_stopping_settings *settings,
                        double best, struct finding *finding)
{
    report(finding, FINDING_EARLY_STOP, now,
           settings->metric == EARLY_STOPPING_LOSS
               ? N_("%zu validations in a row are no better than the best loss, %.4g: the run ends")
               : N_("%zu validations in a row are no better than the best top-1, %.4g %%: the run "
                    "ends"),
           settings->patience, best);
}

void watcher_time(struct moment now, double seconds, struct finding *finding)
{
    char time[32];
    report(finding, FINDING_TIME, now,
           N_("the run has trained for its maximum time, %s, and stops; it can be resumed"),
           text_duration(seconds, time, sizeof time));
}
