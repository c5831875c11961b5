#include "session/findings/watcher.h"

#include "base/language.h"
#include "base/text.h"

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

/* More than half of a positive mean is residue. */
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

/* Twice in a row above the best, by more than 1 %, while training got better. */
static bool is_overfitting(const struct watcher *watcher, double train_loss, double loss)
{
    return watcher->worse >= 2 && loss > watcher->best_loss * 1.01 &&
           train_loss < watcher->train_at_best;
}

bool watcher_validation(struct watcher *watcher, struct moment now, double train_loss,
                        double validation_loss, struct finding *finding)
{
    if (!isfinite(validation_loss)) {
        bool first = !watcher->validation_reported;
        watcher->validation_reported = true;
        return first && report(finding, FINDING_DIVERGENCE, now,
                               N_("the validation loss at iteration %llu is not a number"),
                               (unsigned long long)now.iteration);
    }
    if (watcher->validations++ == 0 || validation_loss <= watcher->best_loss) {
        watcher->best_loss = validation_loss;
        watcher->train_at_best = train_loss;
        watcher->best_iteration = now.iteration;
        watcher->best_epoch = now.epoch;
        watcher->worse = 0;
        return false;
    }
    watcher->worse++;
    if (watcher->overfitting_reported || !is_overfitting(watcher, train_loss, validation_loss))
        return false;
    watcher->overfitting_reported = true;
    struct moment since = {watcher->best_iteration, watcher->best_epoch};
    return report(finding, FINDING_OVERFITTING, since,
                  N_("since epoch %.4g the validation loss rises (%.4g to %.4g) while the "
                     "training loss falls (%.4g to %.4g): the network learns these images by "
                     "heart"),
                  since.epoch, watcher->best_loss, validation_loss, watcher->train_at_best,
                  train_loss);
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
                  struct finding *finding)
{
    if (skipped <= watcher->skipped)
        return false;
    watcher->skipped = skipped;
    return report(finding, FINDING_DATA, now,
                  ngettext("%llu image of %s could not be read and was left out",
                           "%llu images of %s could not be read and were left out", skipped),
                  (unsigned long long)skipped, data);
}

void watcher_divergence(struct moment now, float loss, const struct bad_layer *layer,
                        struct finding *finding)
{
    const char *what = isnan(loss) ? _("not a number") : _("infinite");
    if (layer)
        report(finding, FINDING_DIVERGENCE, now,
               layer->in_weights
                   ? N_("the loss of iteration %llu is %s: the first weights not finite are those "
                        "of layer %s; the run stops. Try a smaller learning rate.")
                   : N_("the loss of iteration %llu is %s: the first values not finite come out "
                        "of layer %s; the run stops. Try a smaller learning rate."),
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
