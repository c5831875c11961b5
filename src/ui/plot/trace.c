/* One table describes the traces. Functions read names, letters and units from it, and read values
 * at the offset that it gives within a point or a validation. */
#include "ui/plot/trace.h"

#include "base/language.h"
#include "base/memory.h"
#include "ui/terminal/keys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* Returns whether a run of this kind can have values of the trace. */
static bool trace_is_possible(const struct series *series, enum trace trace)
{
    enum run_kind runs = traces[trace].runs;
    if (runs == ANY || runs == TAUGHT)
        return runs == ANY || trace_has_values(series, trace);
    return trace_has_values(series, trace) || (runs == ADVERSARIAL) == trace_is_adversarial(series);
}

/* --- trace choice ---
 *
 * The predefined sets of curves are rows of one table. A row is offered if it fits the kind of run
 * and its main trace has values; the user walks through the offered rows in order. */

static const struct {
    const char *name;
    enum run_kind runs;
    enum trace needed; /* the set is offered if this trace has values */
    unsigned traces;
} curve_sets[] = {
    {N_("the loss"), CLASSIFIERS, TRACE_SMOOTHED,
     TRACE_BIT(TRACE_SMOOTHED) | TRACE_BIT(TRACE_RAW) | TRACE_BIT(TRACE_VALIDATION)},
    {N_("the three losses"), ADVERSARIAL, TRACE_SMOOTHED,
     TRACE_BIT(TRACE_SMOOTHED) | TRACE_BIT(TRACE_DISCRIMINATOR) | TRACE_BIT(TRACE_L1)},
    {N_("generator loss"), ADVERSARIAL, TRACE_SMOOTHED,
     TRACE_BIT(TRACE_SMOOTHED) | TRACE_BIT(TRACE_RAW)},
    {N_("discriminator loss"), ADVERSARIAL, TRACE_DISCRIMINATOR,
     TRACE_BIT(TRACE_DISCRIMINATOR) | TRACE_BIT(TRACE_DISCRIMINATOR_RAW)},
    {N_("L1"), ADVERSARIAL, TRACE_L1, /* the validation loss of a generator is L1 */
     TRACE_BIT(TRACE_L1) | TRACE_BIT(TRACE_L1_RAW) | TRACE_BIT(TRACE_VALIDATION)},
    {N_("top-1 and top-5 accuracy"), CLASSIFIERS, TRACE_TOP1,
     TRACE_BIT(TRACE_TOP1) | TRACE_BIT(TRACE_TOP5)},
    {N_("pixel accuracy"), ADVERSARIAL, TRACE_PIXELS, TRACE_BIT(TRACE_PIXELS)},
    {N_("loss and accuracy"), CLASSIFIERS, TRACE_TOP1,
     TRACE_BIT(TRACE_SMOOTHED) | TRACE_BIT(TRACE_VALIDATION) | TRACE_BIT(TRACE_TOP1)},
    {N_("Caffe's running mean and the exact one"), CLASSIFIERS, TRACE_CAFFE,
     TRACE_BIT(TRACE_CAFFE) | TRACE_BIT(TRACE_MEAN)},
    {N_("milliseconds per image"), ANY, TRACE_MS, TRACE_BIT(TRACE_MS)},
    {N_("the loss and its two parts"), CLASSIFIERS, TRACE_LABELS,
     TRACE_BIT(TRACE_SMOOTHED) | TRACE_BIT(TRACE_LABELS) | TRACE_BIT(TRACE_TEACHER)},
};
enum { CURVE_SETS = sizeof curve_sets / sizeof *curve_sets };

static bool is_offered(size_t curve_set, const struct series *series)
{
    enum run_kind runs = trace_is_adversarial(series) ? ADVERSARIAL : CLASSIFIERS;
    return (curve_sets[curve_set].runs == ANY || curve_sets[curve_set].runs == runs) &&
           trace_has_values(series, curve_sets[curve_set].needed);
}

/* Returns the first offered set from `curve_set` on, beginning again after the last one. */
static size_t offered_from(size_t curve_set, const struct series *series)
{
    for (size_t tried = 0; tried < CURVE_SETS; tried++, curve_set++)
        if (is_offered(curve_set % CURVE_SETS, series))
            return curve_set % CURVE_SETS;
    return 0;
}

/* Returns the set in use, or the first one offered if that set does not fit this run. */
static size_t curve_set_of(const struct trace_choice *choice, const struct series *series)
{
    return is_offered(choice->curve_set, series) ? choice->curve_set : offered_from(0, series);
}

unsigned trace_choice_shown(const struct trace_choice *choice, const struct series *series)
{
    unsigned shown = 0;
    unsigned wanted =
        choice->custom ? choice->chosen : curve_sets[curve_set_of(choice, series)].traces;
    for (enum trace trace = 0; trace < TRACES; trace++)
        if (wanted & TRACE_BIT(trace) && trace_has_values(series, trace))
            shown |= TRACE_BIT(trace);
    return shown;
}

const char *trace_choice_next(struct trace_choice *choice, const struct series *series)
{
    choice->curve_set = offered_from(choice->custom ? 0 : curve_set_of(choice, series) + 1, series);
    choice->custom = false;
    return gettext(curve_sets[choice->curve_set].name);
}

/* --- the list --- */

size_t trace_list_items(const struct series *series, enum trace items[TRACES])
{
    static const enum trace order[TRACES] = {
        TRACE_SMOOTHED, TRACE_RAW,    TRACE_DISCRIMINATOR, TRACE_DISCRIMINATOR_RAW,
        TRACE_L1,       TRACE_L1_RAW, TRACE_LABELS,        TRACE_TEACHER,
        TRACE_CAFFE,    TRACE_MEAN,   TRACE_VALIDATION,    TRACE_TOP1,
        TRACE_TOP5,     TRACE_PIXELS, TRACE_RATE,          TRACE_MS};
    size_t count = 0;
    for (size_t i = 0; i < TRACES; i++)
        if (trace_is_possible(series, order[i]))
            items[count++] = order[i];
    return count;
}

void trace_list_open(struct trace_choice *choice, const struct series *series, unsigned shown)
{
    if (!choice->custom) /* include curves of the set that have no values yet */
        choice->chosen = shown | curve_sets[curve_set_of(choice, series)].traces;
    choice->open = true;
}

static void toggle(struct trace_choice *choice, enum trace trace)
{
    choice->custom = true;
    choice->chosen ^= TRACE_BIT(trace);
}

static bool toggle_letter(struct trace_choice *choice, const struct series *series,
                          const enum trace *items, size_t count, int key)
{
    for (size_t i = 0; i < count; i++)
        if (trace_letter(items[i], trace_is_adversarial(series)) == key) {
            choice->selected = i;
            toggle(choice, items[i]);
            return true;
        }
    return false;
}

void trace_list_key(struct trace_choice *choice, const struct series *series, int key)
{
    enum trace items[TRACES];
    size_t count = trace_list_items(series, items);
    if (choice->selected >= count)
        choice->selected = 0;
    if (toggle_letter(choice, series, items, count, key))
        return;
    if (key == ' ')
        toggle(choice, items[choice->selected]);
    else if (key == UI_ENTER || key == UI_ESCAPE || key == 'Y' || key == 'q')
        choice->open = false;
    else if (key == UI_UP || key == UI_BACK_TAB)
        choice->selected = (choice->selected + count - 1) % count;
    else if (key == UI_DOWN || key == UI_TAB)
        choice->selected = (choice->selected + 1) % count;
    else if (key == UI_HOME || key == UI_END)
        choice->selected = key == UI_HOME ? 0 : count - 1;
}

/* --- smoothing ---
 *
 * The average of strength w after n values x is sum(w^(n-i) x_i) / sum(w^(n-i)): the divisor
 * removes the bias that an average which starts at zero has, as in TensorBoard. */

const char *const smoothing_names[] = {"auto", "0", "0.6", "0.9", "0.97", "0.99", "0.999", NULL};

static const struct smoothed nothing = {.values = {NAN, NAN, NAN, NAN, NAN}};

double smoothing_strength(size_t choice)
{
    static const double strengths[] = {-1, 0, 0.6, 0.9, 0.97, 0.99, 0.999};
    return strengths[choice];
}

char *smoothing_words(size_t choice, const struct series *series, char *text, size_t size)
{
    text[0] = '\0';
    if (choice > 0 && smoothing_strength(choice) == 0)
        snprintf(text, size, "%s", _("unsmoothed"));
    else if (choice > 0)
        snprintf(text, size, _("EMA %s"), smoothing_names[choice]);
    else if (series->window)
        snprintf(text, size, _("mean of %zu"), series->window);
    return text;
}

void smoothing_clear(struct smoothing *smoothing, size_t choice)
{
    smoothing->choice = choice;
    smoothing->newest = nothing;
    smoothing->count = 0;
}

void smoothing_free(struct smoothing *smoothing)
{
    free(smoothing->states);
    *smoothing = (struct smoothing){0};
}

/* Adds a value to the average of a trace. NaN and infinity leave a gap and do not count. */
static void average_value(struct smoothed *state, enum trace trace, float value, double strength)
{
    state->values[trace] = NAN;
    if (!isfinite(value))
        return;
    state->sums[trace] = strength * state->sums[trace] + (1 - strength) * (double)value;
    state->weights[trace] = strength * state->weights[trace] + (1 - strength);
    state->values[trace] = state->sums[trace] / state->weights[trace];
}

void smoothing_step(const struct smoothing *smoothing, struct smoothed *state,
                    const struct series *series, size_t index)
{
    const struct series_point *point = &series->points[index];
    const float values[TRACES_SMOOTHED] = {point->loss, point->loss_discriminator, point->loss_l1,
                                           point->loss_labels, point->loss_teacher};
    const double strength = smoothing_strength(smoothing->choice);
    if (smoothing->choice > 0) {
        for (enum trace trace = 0; trace < TRACES_SMOOTHED; trace++)
            average_value(state, trace, values[trace], strength);
        return;
    }
    state->values[TRACE_SMOOTHED] = series_smoothed(series, state->values[TRACE_SMOOTHED], index);
    for (enum trace trace = TRACE_SMOOTHED + 1; trace < TRACES_SMOOTHED; trace++)
        state->values[trace] = series_smooth(state->values[trace], values[trace], index + 1);
}

bool smoothing_extend(struct smoothing *smoothing, const struct series *series, size_t count,
                      struct error *error)
{
    if (smoothing->count == 0)
        smoothing->newest = nothing;
    if (!memory_grow(&smoothing->states, &smoothing->capacity, count / SMOOTHING_STRIDE + 1,
                     sizeof *smoothing->states, "the smoothed curves", error))
        return false;
    for (; smoothing->count < count; smoothing->count++) {
        if (smoothing->count % SMOOTHING_STRIDE == 0)
            smoothing->states[smoothing->count / SMOOTHING_STRIDE] = smoothing->newest;
        smoothing_step(smoothing, &smoothing->newest, series, smoothing->count);
    }
    return true;
}

struct smoothed smoothing_state_before(const struct smoothing *smoothing,
                                       const struct series *series, size_t index)
{
    if (index == smoothing->count)
        return smoothing->count > 0 ? smoothing->newest : nothing;
    struct smoothed state = smoothing->states[index / SMOOTHING_STRIDE];
    for (size_t i = index / SMOOTHING_STRIDE * SMOOTHING_STRIDE; i < index; i++)
        smoothing_step(smoothing, &state, series, i);
    return state;
}
