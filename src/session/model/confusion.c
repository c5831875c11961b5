#include "session/model/confusion.h"

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
