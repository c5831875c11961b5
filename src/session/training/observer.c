/* The calls of a run's observers, in their order (observers.c). */
#include "session/training/observer.h"

void *observer_state(const struct trainer *trainer, const struct observer *observer)
{
    for (size_t i = 0; trainer->observers[i]; i++)
        if (trainer->observers[i] == observer)
            return trainer->states[i];
    return NULL;
}

/* Calls a function of all observers that have it. Returns false as soon as one does, else true. */
#define ASK(function, ...)                                                                         \
    for (size_t i = 0; trainer->states && trainer->observers[i]; i++)                              \
        if (trainer->observers[i]->function &&                                                     \
            !trainer->observers[i]->function(trainer->states[i], __VA_ARGS__))                     \
            return false;                                                                          \
    return true

bool observers_open(struct trainer *trainer)
{
    ASK(open, trainer);
}

bool observers_between(struct trainer *trainer, bool epoch_over)
{
    ASK(between, trainer, epoch_over);
}

bool observers_sync(struct trainer *trainer, struct error *error)
{
    ASK(sync, trainer, error);
}

bool observers_finish(struct trainer *trainer)
{
    ASK(finish, trainer);
}

bool observers_test(struct trainer *trainer)
{
    ASK(test, trainer);
}
