/* One table describes the traces. Functions read names, letters and units from it, and read values
 * at the offset that it gives within a point or a validation. */
#include "ui/plot/trace.h"

#include "base/language.h"

#include <math.h>

/* The kinds of runs that have a trace. */
enum run_kind { ANY, CLASSIFIERS, ADVERSARIAL, TAUGHT };

static const struct {
    const char *name, *legend;
    const char *adversarial_name, *adversarial_legend; /* NULL: the same */
    char letter, adversarial_letter;                   /* '\0': the same */
    enum trace_unit unit;
    enum trace_kind kind;
    enum role role;
    enum run_kind runs;
    size_t offset; /* offset of the value in struct series_point or struct series_validation */
} traces[TRACES] = {
    [TRACE_SMOOTHED] = {N_("smoothed loss"), N_("smoothed"), N_("generator loss"), N_("generator"),
                        'S', 'G', UNIT_LOSS, TRACE_IS_LINE, ROLE_SMOOTHED, ANY,
                        offsetof(struct series_point, loss)},
    [TRACE_DISCRIMINATOR] = {N_("discriminator loss"), N_("discriminator"), NULL, NULL, 'D', '\0',
                             UNIT_LOSS, TRACE_IS_LINE, ROLE_SERIES + 1, ADVERSARIAL,
                             offsetof(struct series_point, loss_discriminator)},
    [TRACE_L1] = {N_("L1"), N_("L1"), NULL, NULL, 'L', '\0', UNIT_LOSS, TRACE_IS_LINE,
                  ROLE_SERIES + 2, ADVERSARIAL, offsetof(struct series_point, loss_l1)},
    [TRACE_LABELS] = {N_("loss of the labels"), N_("labels"), NULL, NULL, 'H', '\0', UNIT_LOSS,
                      TRACE_IS_LINE, ROLE_SERIES + 1, TAUGHT,
                      offsetof(struct series_point, loss_labels)},
    [TRACE_TEACHER] = {N_("loss against the teacher"), N_("teacher"), NULL, NULL, 'T', '\0',
                       UNIT_LOSS, TRACE_IS_LINE, ROLE_SERIES + 2, TAUGHT,
                       offsetof(struct series_point, loss_teacher)},
    [TRACE_MEAN] = {N_("exact running mean"), N_("exact mean"), NULL, NULL, 'E', '\0', UNIT_LOSS,
                    TRACE_IS_LINE, ROLE_SERIES + 3, CLASSIFIERS,
                    offsetof(struct series_point, loss_mean)},
    [TRACE_CAFFE] = {N_("Caffe's running mean"), N_("Caffe's mean"), NULL, NULL, 'C', '\0',
                     UNIT_LOSS, TRACE_IS_LINE, ROLE_SERIES + 4, CLASSIFIERS,
                     offsetof(struct series_point, loss_caffe)},
    [TRACE_RAW] = {N_("raw loss"), N_("raw"), N_("raw generator loss"), N_("raw generator"), 'r',
                   'g', UNIT_LOSS, TRACE_IS_RAW, ROLE_RAW, ANY,
                   offsetof(struct series_point, loss)},
    [TRACE_DISCRIMINATOR_RAW] = {N_("raw discriminator loss"), N_("raw discriminator"), NULL, NULL,
                                 'd', '\0', UNIT_LOSS, TRACE_IS_RAW, ROLE_RAW, ADVERSARIAL,
                                 offsetof(struct series_point, loss_discriminator)},
    [TRACE_L1_RAW] = {N_("raw L1"), N_("raw L1"), NULL, NULL, 'l', '\0', UNIT_LOSS, TRACE_IS_RAW,
                      ROLE_RAW, ADVERSARIAL, offsetof(struct series_point, loss_l1)},
    [TRACE_MS] = {N_("ms/image"), N_("ms/image"), NULL, NULL, 'M', '\0', UNIT_MS, TRACE_IS_LINE,
                  ROLE_SERIES + 5, ANY, offsetof(struct series_point, ms_per_image)},
    [TRACE_RATE] = {N_("learning rate"), N_("learning rate"), NULL, NULL, 'R', '\0', UNIT_RATE,
                    TRACE_IS_LINE, ROLE_RATE, ANY, offsetof(struct series_point, learning_rate)},
    [TRACE_VALIDATION] = {N_("validation loss"), N_("validation"), NULL, NULL, 'o', '\0', UNIT_LOSS,
                          TRACE_IS_VALIDATION, ROLE_VALIDATION, ANY,
                          offsetof(struct series_validation, loss)},
    [TRACE_TOP1] = {N_("top-1 accuracy (%)"), N_("top-1"), NULL, NULL, '1', '\0', UNIT_PERCENT,
                    TRACE_IS_VALIDATION, ROLE_VALIDATION, CLASSIFIERS,
                    offsetof(struct series_validation, top1)},
    [TRACE_TOP5] = {N_("top-5 accuracy (%)"), N_("top-5"), NULL, NULL, '5', '\0', UNIT_PERCENT,
                    TRACE_IS_VALIDATION, ROLE_SERIES + 3, CLASSIFIERS,
                    offsetof(struct series_validation, top5)},
    [TRACE_PIXELS] = {N_("pixel accuracy (%)"), N_("pixels"), NULL, NULL, 'p', '\0', UNIT_PERCENT,
                      TRACE_IS_VALIDATION, ROLE_VALIDATION, ADVERSARIAL,
                      offsetof(struct series_validation, pixel_accuracy)},
};

const char *trace_name(enum trace trace, bool adversarial)
{
    const char *other = traces[trace].adversarial_name;
    return gettext(adversarial && other ? other : traces[trace].name);
}

const char *trace_legend(enum trace trace, bool adversarial)
{
    const char *other = traces[trace].adversarial_legend;
    return gettext(adversarial && other ? other : traces[trace].legend);
}

const char *trace_unit_name(enum trace_unit unit, bool adversarial)
{
    static const char *const names[UNITS] = {N_("loss"), N_("accuracy (%)"), N_("ms/image"),
                                             N_("learning rate")};
    return unit == UNIT_LOSS && adversarial ? _("losses") : gettext(names[unit]);
}

char trace_letter(enum trace trace, bool adversarial)
{
    char other = traces[trace].adversarial_letter;
    return adversarial && other ? other : traces[trace].letter;
}

enum trace_unit trace_unit(enum trace trace)
{
    return traces[trace].unit;
}

enum trace_kind trace_kind(enum trace trace)
{
    return traces[trace].kind;
}

enum role trace_role(enum trace trace)
{
    return traces[trace].role;
}

/* --- values --- */

static float value_at(const void *record, enum trace trace)
{
    return *(const float *)(const void *)((const char *)record + traces[trace].offset);
}

const float *trace_values(const struct series_point *points, enum trace trace)
{
    return (const float *)(const void *)((const char *)points + traces[trace].offset);
}

float trace_point_value(const struct series_point *point, enum trace trace)
{
    return trace < TRACES_PER_ITERATION ? value_at(point, trace) : NAN;
}

float trace_validation_value(const struct series_validation *validation, enum trace trace)
{
    return trace < TRACES_PER_ITERATION ? NAN : value_at(validation, trace);
}

bool trace_is_adversarial(const struct series *series)
{
    /* such a run has a discriminator loss from its first iteration on */
    return trace_has_values(series, TRACE_DISCRIMINATOR);
}

/* Returns whether one of the first or last points has a value: a log that gives none at its
 * beginning and end gives none at all. All points would be too many to look at in every frame. */
static bool ends_have_values(const struct series *series, enum trace trace)
{
    enum { ENDS = 512 };
    const size_t count = series_count(series);
    for (size_t i = 0; i < count && i < ENDS; i++)
        if (isfinite(value_at(&series->points[i], trace)) ||
            isfinite(value_at(&series->points[count - 1 - i], trace)))
            return true;
    return false;
}

bool trace_has_values(const struct series *series, enum trace trace)
{
    if (trace < TRACES_PER_ITERATION && traces[trace].unit != UNIT_LOSS)
        return ends_have_values(series, trace);
    if (trace < TRACES_PER_ITERATION)
        return series_count(series) > 0 &&
               ((traces[trace].runs != ADVERSARIAL && traces[trace].runs != TAUGHT) ||
                isfinite(value_at(&series->points[0], trace)));
    for (size_t i = 0; i < series_validation_count(series); i++)
        if (isfinite(value_at(&series->validations[i], trace)))
            return true;
    return false;
}

bool trace_is_possible(const struct series *series, enum trace trace)
{
    enum run_kind runs = traces[trace].runs;
    if (runs == ANY || runs == TAUGHT)
        return runs == ANY || trace_has_values(series, trace);
    return trace_has_values(series, trace) || (runs == ADVERSARIAL) == trace_is_adversarial(series);
}
