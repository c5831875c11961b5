/* Functions for all parts of a run: they read its clock, add findings, publish the snapshot that
 * views read, check whether its folder still belongs to it, and call its observers. */
#include "training/observer.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>

struct trainer_settings trainer_settings(const struct run_config *config)
{
    return (struct trainer_settings){.network = network_settings(config),
                                     .data = data_settings(config),
                                     .training = training_settings(config),
                                     .measurement = measurement_settings(config),
                                     .machine = machine_settings(config),
                                     .record = record_settings(config)};
}

/* --- time --- */

double trainer_seconds(const struct trainer *trainer, uint64_t now)
{
    const struct run_clock *clock = &trainer->clock;
    return clock->earlier_seconds + clock_seconds(clock->start + clock->paused, now);
}

struct execution *trainer_execution(const struct trainer *trainer)
{
    return method_execution(&trainer->prepared.method);
}

void trainer_restart_clock(struct trainer *trainer)
{
    execution_wait(trainer_execution(trainer));
    trainer->clock.in_flight = false;
    trainer->clock.iteration = clock_nanoseconds();
}

double trainer_rate(const struct trainer *trainer)
{
    return lr_schedule_rate(&trainer->schedule, &trainer->lr_schedule_state,
                            trainer->moment.iteration);
}

bool trainer_is_over(const struct trainer *trainer)
{
    return trainer->ended || trainer->moment.iteration >= trainer->now.iterations;
}

/* --- the state that readers see --- */

void trainer_publish(struct trainer *trainer)
{
    snapshot_publish(&trainer->run->snapshot, &trainer->now);
}

void trainer_set_status(struct trainer *trainer, enum run_status status)
{
    trainer->now.status = status;
    trainer_publish(trainer);
}

void trainer_add_finding(struct trainer *trainer, const struct finding *finding)
{
    if (!run_state_add_finding(trainer->run, finding))
        return; /* there is no room: the first findings matter most */
    trainer->now.finding_count++;
    journal_add_finding(&trainer->run->journal, finding);
}

void trainer_note(struct trainer *trainer, enum finding_kind kind, const char *format, ...)
{
    va_list arguments;
    struct finding finding = {
        .kind = kind, .iteration = trainer->moment.iteration, .epoch = trainer->moment.epoch};
    va_start(arguments, format);
    vsnprintf(finding.text, sizeof finding.text, format, arguments);
    va_end(arguments);
    trainer_add_finding(trainer, &finding);
}

/* --- the folder, and files that cannot be written --- */

bool trainer_owns_folder(struct trainer *trainer, bool now)
{
    static const uint64_t interval = 250000000; /* nanoseconds */
    const uint64_t time = clock_nanoseconds();
    if (trainer->folder_lost || (!now && time - trainer->clock.checked < interval))
        return !trainer->folder_lost;
    trainer->clock.checked = time;
    trainer->folder_lost =
        !run_hold_check(&trainer->run->hold, trainer->run->directory, trainer->error);
    return !trainer->folder_lost;
}

void trainer_record_lost(struct trainer *trainer, const struct error *error)
{
    if (trainer->refusals.lost.kind == ERROR_NONE)
        trainer->refusals.lost = *error;
}

const struct error *trainer_find_refusal(const struct trainer *trainer)
{
    const struct error *unsaved = &trainer->refusals.unsaved;
    return unsaved->kind != ERROR_NONE ? unsaved : &trainer->run->journal.trouble;
}

void trainer_report_unsaved(struct trainer *trainer)
{
    struct refusals *refusals = &trainer->refusals;
    const struct error *trouble = trainer_find_refusal(trainer);
    if (trouble->kind == ERROR_NONE)
        trouble = &refusals->tolerated;
    if (trouble->kind == ERROR_NONE && !refusals->reported)
        return;
    refusals->reported = trouble->kind != ERROR_NONE;
    trainer->now.error = *trouble;
}

/* --- the observers, in their order --- */

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
    bool synced = true;
    struct error other;
    for (size_t i = 0; trainer->states && trainer->observers[i]; i++) {
        const struct observer *observer = trainer->observers[i];
        if (observer->sync && !observer->sync(trainer->states[i], trainer, synced ? error : &other))
            synced = false;
    }
    return synced;
}

bool observers_finish(struct trainer *trainer)
{
    ASK(finish, trainer);
}

bool observers_test(struct trainer *trainer)
{
    ASK(test, trainer);
}
