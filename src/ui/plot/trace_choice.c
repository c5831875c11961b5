/* The predefined sets of curves are rows of one table. A row is offered if it fits the kind of run
 * and its main trace has values; the user walks through the offered rows in order. */
#include "ui/plot/trace_choice.h"

#include "base/language.h"
#include "ui/terminal/keys.h"

/* The kinds of runs that a set is offered for. */
enum run_kind { BOTH, CLASSIFIERS, ADVERSARIAL };

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
    {N_("milliseconds per image"), BOTH, TRACE_MS, TRACE_BIT(TRACE_MS)},
    {N_("the loss and its two parts"), CLASSIFIERS, TRACE_LABELS,
     TRACE_BIT(TRACE_SMOOTHED) | TRACE_BIT(TRACE_LABELS) | TRACE_BIT(TRACE_TEACHER)},
};
enum { CURVE_SETS = sizeof curve_sets / sizeof *curve_sets };

static bool is_offered(size_t curve_set, const struct series *series)
{
    enum run_kind runs = trace_is_adversarial(series) ? ADVERSARIAL : CLASSIFIERS;
    return (curve_sets[curve_set].runs == BOTH || curve_sets[curve_set].runs == runs) &&
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
