#include "ui/plot/trace_choice.h"

#include "base/language.h"
#include "ui/terminal/keys.h"

enum runs { BOTH, CLASSIFIERS, CONTESTS };

static const struct {
    const char *name;
    enum runs runs;
    enum trace needed; /* the picture is offered when this one has values */
    unsigned traces;
} pictures[] = {
    {N_("the loss"), CLASSIFIERS, TRACE_SMOOTHED,
     TRACE_BIT(TRACE_SMOOTHED) | TRACE_BIT(TRACE_RAW) | TRACE_BIT(TRACE_VALIDATION)},
    {N_("the three losses"), CONTESTS, TRACE_SMOOTHED,
     TRACE_BIT(TRACE_SMOOTHED) | TRACE_BIT(TRACE_DISCRIMINATOR) | TRACE_BIT(TRACE_L1)},
    {N_("generator loss"), CONTESTS, TRACE_SMOOTHED,
     TRACE_BIT(TRACE_SMOOTHED) | TRACE_BIT(TRACE_RAW)},
    {N_("discriminator loss"), CONTESTS, TRACE_DISCRIMINATOR,
     TRACE_BIT(TRACE_DISCRIMINATOR) | TRACE_BIT(TRACE_DISCRIMINATOR_RAW)},
    {N_("L1"), CONTESTS, TRACE_L1, /* which is what the generator is validated by */
     TRACE_BIT(TRACE_L1) | TRACE_BIT(TRACE_L1_RAW) | TRACE_BIT(TRACE_VALIDATION)},
    {N_("top-1 and top-5 accuracy"), CLASSIFIERS, TRACE_TOP1,
     TRACE_BIT(TRACE_TOP1) | TRACE_BIT(TRACE_TOP5)},
    {N_("pixel accuracy"), CONTESTS, TRACE_PIXELS, TRACE_BIT(TRACE_PIXELS)},
    {N_("loss and accuracy"), CLASSIFIERS, TRACE_TOP1,
     TRACE_BIT(TRACE_SMOOTHED) | TRACE_BIT(TRACE_VALIDATION) | TRACE_BIT(TRACE_TOP1)},
    {N_("Caffe's running mean and the exact one"), CLASSIFIERS, TRACE_CAFFE,
     TRACE_BIT(TRACE_CAFFE) | TRACE_BIT(TRACE_MEAN)},
    {N_("milliseconds per image"), BOTH, TRACE_MS, TRACE_BIT(TRACE_MS)},
};
enum { PICTURES = sizeof pictures / sizeof *pictures };

static bool is_offered(size_t picture, const struct series *series)
{
    enum runs runs = trace_is_adversarial(series) ? CONTESTS : CLASSIFIERS;
    return (pictures[picture].runs == BOTH || pictures[picture].runs == runs) &&
           trace_has_values(series, pictures[picture].needed);
}

/* Another kind of run than the picture was chosen for has others. */
static size_t offered_from(size_t picture, const struct series *series)
{
    for (size_t tried = 0; tried < PICTURES; tried++, picture++)
        if (is_offered(picture % PICTURES, series))
            return picture % PICTURES;
    return 0;
}

static size_t picture_of(const struct trace_choice *choice, const struct series *series)
{
    return is_offered(choice->curve_set, series) ? choice->curve_set : offered_from(0, series);
}

unsigned trace_choice_shown(const struct trace_choice *choice, const struct series *series)
{
    unsigned shown = 0;
    unsigned wanted = choice->custom ? choice->chosen : pictures[picture_of(choice, series)].traces;
    for (enum trace trace = 0; trace < TRACES; trace++)
        if (wanted & TRACE_BIT(trace) && trace_has_values(series, trace))
            shown |= TRACE_BIT(trace);
    return shown;
}

const char *trace_choice_next(struct trace_choice *choice, const struct series *series)
{
    choice->curve_set = offered_from(choice->custom ? 0 : picture_of(choice, series) + 1, series);
    choice->custom = false;
    return gettext(pictures[choice->curve_set].name);
}

/* --- the list --- */

size_t trace_list_items(const struct series *series, enum trace items[TRACES])
{
    static const enum trace order[TRACES] = {
        TRACE_SMOOTHED,   TRACE_RAW,    TRACE_DISCRIMINATOR, TRACE_DISCRIMINATOR_RAW,
        TRACE_L1,         TRACE_L1_RAW, TRACE_CAFFE,         TRACE_MEAN,
        TRACE_VALIDATION, TRACE_TOP1,   TRACE_TOP5,          TRACE_PIXELS,
        TRACE_RATE,       TRACE_MS};
    size_t count = 0;
    for (size_t i = 0; i < TRACES; i++)
        if (trace_is_possible(series, order[i]))
            items[count++] = order[i];
    return count;
}

void trace_list_open(struct trace_choice *choice, const struct series *series, unsigned shown)
{
    if (!choice->custom) /* also what has no values yet */
        choice->chosen = shown | pictures[picture_of(choice, series)].traces;
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
