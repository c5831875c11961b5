/* The calls of the observers, and their states.
 *
 * The order of observers.inc matters in these places. The utilisation completes the point that
 * journal and event file record. Records come before the findings about them. Samples come before
 * the histograms in the event file. The best model is saved before a validation may end the run.
 * What the inspector measures includes the average of the weights. */
#include "session/training/observer.h"

#include "base/memory.h"

#include <stdlib.h>

#define OBSERVER(name) extern const struct observer observer_##name;
#include "session/training/observers.inc"
#undef OBSERVER
#define OBSERVER(name) &observer_##name,
static const struct observer *const observers[] = {
#include "session/training/observers.inc"
};
#undef OBSERVER
enum { OBSERVERS = sizeof observers / sizeof *observers };

const struct observer *observers_number(size_t number)
{
    return number < OBSERVERS ? observers[number] : NULL;
}

/* --- states --- */

bool observers_create(struct trainer *trainer)
{
    trainer->states = memory_new(OBSERVERS, sizeof *trainer->states, "the run", trainer->error);
    bool made = trainer->states;
    for (size_t i = 0; made && i < OBSERVERS; i++)
        if (observers[i]->state_bytes > 0)
            made = (trainer->states[i] =
                        memory_new(1, observers[i]->state_bytes, "the run", trainer->error));
    for (size_t i = 0; made && i < OBSERVERS; i++)
        if (observers[i]->create)
            observers[i]->create(trainer->states[i], trainer);
    return made;
}

void observers_free(struct trainer *trainer)
{
    for (size_t i = 0; trainer->states && i < OBSERVERS; i++) {
        if (observers[i]->close && trainer->states[i])
            observers[i]->close(trainer->states[i], trainer);
        free(trainer->states[i]);
    }
    free(trainer->states);
    trainer->states = NULL;
}

void *observer_state(const struct trainer *trainer, const struct observer *observer)
{
    for (size_t i = 0; i < OBSERVERS; i++)
        if (observers[i] == observer)
            return trainer->states[i];
    return NULL;
}

/* --- calls --- */

/* Calls a function of all observers that have it; the second macro stops when one returns false,
 * and returns whether all returned true. */
#define TELL(function, ...)                                                                        \
    for (size_t i = 0; trainer->states && i < OBSERVERS; i++)                                      \
        if (observers[i]->function)                                                                \
    observers[i]->function(trainer->states[i], __VA_ARGS__)
#define ASK(function, ...)                                                                         \
    for (size_t i = 0; trainer->states && i < OBSERVERS; i++)                                      \
        if (observers[i]->function && !observers[i]->function(trainer->states[i], __VA_ARGS__))    \
            return false;                                                                          \
    return true

bool observers_open(struct trainer *trainer)
{
    ASK(open, trainer);
}

void observers_begin(struct trainer *trainer)
{
    TELL(begin, trainer);
}

void observers_before_step(struct trainer *trainer)
{
    TELL(before_step, trainer);
}

void observers_after_step(struct trainer *trainer)
{
    TELL(after_step, trainer);
}

void observers_after_iteration(struct trainer *trainer, struct iteration *iteration)
{
    TELL(after_iteration, trainer, iteration);
}

bool observers_between(struct trainer *trainer, bool epoch_over)
{
    ASK(between, trainer, epoch_over);
}

void observers_before_validation(struct trainer *trainer)
{
    TELL(before_validation, trainer);
}

void observers_after_validation(struct trainer *trainer, const struct evaluation *evaluation,
                                const struct series_validation *row)
{
    TELL(after_validation, trainer, evaluation, row);
}

void observers_after_epoch(struct trainer *trainer)
{
    TELL(after_epoch, trainer);
}

void observers_after_picture(struct trainer *trainer, const char *path)
{
    TELL(after_picture, trainer, path);
}

void observers_obey(struct trainer *trainer, const struct commands *commands)
{
    TELL(obey, trainer, commands);
}

void observers_pause(struct trainer *trainer, bool on)
{
    TELL(pause, trainer, on);
}

bool observers_sync(struct trainer *trainer, struct error *error)
{
    ASK(sync, trainer, error);
}

void observers_save(struct trainer *trainer)
{
    TELL(save, trainer);
}

void observers_list_arrays(const struct trainer *trainer, struct checkpoint_arrays *arrays)
{
    TELL(list_arrays, trainer, arrays);
}

void observers_restore(struct trainer *trainer)
{
    TELL(restore, trainer);
}

void observers_trained(struct trainer *trainer)
{
    TELL(trained, trainer);
}

void observers_secure(struct trainer *trainer)
{
    TELL(secure, trainer);
}

bool observers_finish(struct trainer *trainer)
{
    ASK(finish, trainer);
}

bool observers_test(struct trainer *trainer)
{
    ASK(test, trainer);
}

void observers_end(struct trainer *trainer, enum run_status status, bool writes)
{
    TELL(end, trainer, status, writes);
}

void observers_afterwards(struct trainer *trainer, enum run_status status)
{
    TELL(afterwards, trainer, status);
}
