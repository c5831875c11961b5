/* The state that all parts of a run share: its clock, its findings, the snapshot that views read,
 * and whether its folder still belongs to it. */
#include "session/training/trainer.h"

#include "base/clock.h"

#include <stdio.h>

static const uint64_t check_interval = 250000000; /* nanoseconds */

double trainer_seconds(const struct trainer *trainer, uint64_t now)
{
    return trainer->earlier_seconds + clock_seconds(trainer->start_time + trainer->paused, now);
}

enum weights_format trainer_save_format(const struct trainer *trainer)
{
    return (enum weights_format)trainer->run->config.save_precision;
}

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

bool trainer_owns_folder(struct trainer *trainer, bool now)
{
    const uint64_t time = clock_nanoseconds();
    if (trainer->folder_lost || (!now && time - trainer->checked_at < check_interval))
        return !trainer->folder_lost;
    trainer->checked_at = time;
    trainer->folder_lost =
        !run_hold_check(&trainer->run->hold, trainer->run->directory, trainer->error);
    return !trainer->folder_lost;
}

/* --- what the disk refuses --- */

void trainer_record_lost(struct trainer *trainer, const struct error *error)
{
    if (trainer->saving.lost.kind == ERROR_NONE)
        trainer->saving.lost = *error;
}

void trainer_add_weights(struct trainer *trainer, bool last)
{
    if (!trainer->events.file.path)
        return;
    execution_wait(trainer_execution(trainer));
    run_events_add_weights(&trainer->events, &trainer->prepared,
                           trainer_seconds(trainer, clock_nanoseconds()), last);
    run_events_flush(&trainer->events);
    trainer_restart_clock(trainer);
}

void trainer_check_events(struct trainer *trainer, bool last)
{
    struct error error;
    char text[1100];
    struct finding finding = {.kind = FINDING_TENSORBOARD,
                              .iteration = trainer->events.written,
                              .epoch = trainer->moment.epoch};
    if (run_events_check(&trainer->events, last, &error))
        return;
    snprintf(finding.text, sizeof finding.text, "%.319s", error_format(&error, text, sizeof text));
    trainer_add_finding(trainer, &finding);
    trainer_record_lost(trainer, &error);
}

const struct error *trainer_find_refusal(const struct trainer *trainer)
{
    const struct error *unsaved = &trainer->saving.unsaved;
    return unsaved->kind != ERROR_NONE ? unsaved : &trainer->run->journal.trouble;
}

void trainer_report_unsaved(struct trainer *trainer)
{
    struct saving *saving = &trainer->saving;
    const struct error *trouble = trainer_find_refusal(trainer);
    if (trouble->kind == ERROR_NONE)
        trouble = &trainer->events.file.trouble;
    if (trouble->kind == ERROR_NONE && !saving->reported)
        return;
    saving->reported = trouble->kind != ERROR_NONE;
    trainer->now.error = *trouble;
}

/* --- the time of iterations --- */

struct execution *trainer_execution(const struct trainer *trainer)
{
    return method_execution(&trainer->prepared.method);
}

void trainer_restart_clock(struct trainer *trainer)
{
    execution_wait(trainer_execution(trainer));
    trainer->in_flight = false;
    trainer->iteration_start = clock_nanoseconds();
}

/* --- inspections --- */

void trainer_report_inspection_error(struct trainer *trainer, const struct error *failed)
{
    trainer->now.error = *failed;
    trainer_publish(trainer);
}

void trainer_finish_inspection(struct trainer *trainer, bool last)
{
    struct error failed;
    const uint64_t began = clock_nanoseconds();
    if (!inspector_is_complete(&trainer->inspector, last))
        return;
    struct inspection *seen = inspector_end(&trainer->inspector, &trainer->prepared, &failed);
    bool good = seen && inspection_save(seen, trainer->run->directory, &failed);
    if (seen) {
        trainer->inspected = seen->iteration + seen->iterations - 1;
        trainer->weights_inspected = seen->networks[0].tensor_count > 0;
        const uint64_t took = clock_nanoseconds() - began;
        trainer->iteration_start += took;
        seen->cost += 1e-9 * (double)took;
        run_state_put_inspection(trainer->run, seen);
    }
    if (!good)
        trainer_report_inspection_error(trainer, &failed);
}
