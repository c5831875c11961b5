/* The calls of a run's observers, in their order (observers.c). */
#include "session/training/observer.h"

void *observer_state(const struct trainer *trainer, const struct observer *observer)
{
    for (size_t i = 0; trainer->observers[i]; i++)
        if (trainer->observers[i] == observer)
            return trainer->states[i];
    return NULL;
}

/* Calls a function of all observers that have it; does nothing if they could not be created. The
 * second macro returns false as soon as one of them does, else true. */
#define TELL(function, ...)                                                                        \
    for (size_t i = 0; trainer->states && trainer->observers[i]; i++)                              \
        if (trainer->observers[i]->function)                                                       \
    trainer->observers[i]->function(trainer->states[i], __VA_ARGS__)
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
