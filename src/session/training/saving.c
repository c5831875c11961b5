/* Checkpoints and the best model: when they are written, what they cost, and what happens when the
 * disk refuses.
 *
 * A checkpoint is due by time and at the end of epochs. All checkpoints together take at most the
 * configured share of the run's time: the seconds spent so far plus the expected seconds of the
 * next one are compared with the time that the run has taken. If the disk refuses, the run goes on,
 * the snapshot reports the error, and the next checkpoint tries once more; but a run of several
 * ranks ends, so that a cluster does not compute what may be lost. A checkpoint is written only
 * when everything that it depends on (the journal, the best model) is on the disk. TensorBoard's
 * event file is synced before it as well, but a refusal there stops nothing. */
#include "session/training/saving.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "session/ranks/ranks.h"
#include "session/record/last_checkpoint.h"
#include "session/training/checkpoint.h"
#include "session/training/experiment.h"

#include <stdlib.h>
#include <string.h>

/* --- when --- */

/* Returns the expected seconds of the next checkpoint; before the first one, at a typical speed. */
static double expected_seconds(const struct trainer *trainer)
{
    const double pause = 0.01, bytes_per_second = 4e8;
    if (trainer->saving.cost > 0)
        return trainer->saving.cost;
    return pause + (double)checkpoint_bytes(trainer) / bytes_per_second;
}

static bool is_affordable(const struct trainer *trainer, uint64_t now)
{
    const double share = trainer->run->config.checkpoint_share / 100;
    return share >= 1 || trainer->now.checkpoint_seconds + expected_seconds(trainer) <=
                             share * trainer_seconds(trainer, now);
}

static bool is_due(const struct trainer *trainer, bool epoch_over)
{
    const uint64_t now = trainer->iteration_start;
    const double interval = trainer->run->config.checkpoint;
    if (trainer->saving.requested)
        return true;
    const bool in_time = interval > 0 && clock_seconds(trainer->saving.tried, now) >= interval;
    return (in_time || epoch_over) && is_affordable(trainer, now);
}

/* Returns whether the run may go on after what the disk has refused. */
static bool tolerates_refusal(struct trainer *trainer)
{
    const struct cluster *cluster = trainer->run->cluster;
    const struct error *refusal = trainer_find_refusal(trainer);
    if (!cluster || refusal->kind == ERROR_NONE)
        return true;
    error_set(trainer->error, refusal->kind, refusal->what,
              trainer->now.checkpoints > 0
                  ? N_("look at the disk; tinca resume goes on from the last checkpoint")
                  : N_("look at the disk; tinca resume starts the run over"),
              "%s", refusal->why);
    return ranks_name_error(cluster, trainer->error);
}

bool saving_step(struct trainer *trainer, bool epoch_over)
{
    const bool over =
        trainer->stop || trainer->ended || trainer->moment.iteration == trainer->now.iterations;
    if (!over && is_due(trainer, epoch_over) && trainer_owns_folder(trainer, true))
        saving_checkpoint(trainer);
    return tolerates_refusal(trainer);
}

/* --- the best model --- */

/* Lets the other ranks notice if this one hangs while it saves. Returns what end_saving needs. */
static enum cluster_activity begin_saving(const struct trainer *trainer)
{
    return cluster_set_activity(trainer->run->cluster, CLUSTER_SAVING, 0);
}

/* Goes on with what a save has interrupted, which may be the batch of a validation. */
static void end_saving(const struct trainer *trainer, enum cluster_activity before)
{
    cluster_set_activity(trainer->run->cluster, before, 0);
}

static bool write_best(struct trainer *trainer, float *values)
{
    const struct model_facts facts = prepare_model_facts(&trainer->prepared);
    const enum weights_format format = trainer_save_format(trainer);
    const struct weights weights = {.graph = trainer->prepared.weights.graph, .values = values};
    char *path = file_join(trainer->run->directory, "best.safetensors");
    const enum cluster_activity before = begin_saving(trainer);
    bool written = path ? model_file_save(&facts, &weights, format, path, &trainer->saving.unsaved)
                        : error_set_memory(&trainer->saving.unsaved, "a path", 0);
    end_saving(trainer, before);
    free(path);
    return written;
}

static void forget_best(struct trainer *trainer)
{
    free(trainer->saving.best);
    trainer->saving.best = NULL;
}

void saving_best(struct trainer *trainer)
{
    const struct weights *weights = prepare_model_weights(&trainer->prepared);
    const size_t count = weights->graph->total_floats;
    forget_best(trainer);
    if (!trainer_owns_folder(trainer, true))
        return;
    if (!weights_fetch(weights, &trainer->saving.unsaved)) {
        trainer_record_lost(trainer, &trainer->saving.unsaved);
        return;
    }
    if (write_best(trainer, weights->values))
        return;
    trainer->saving.best =
        memory_new_aligned(count, sizeof *weights->values, "the best model", NULL);
    if (trainer->saving.best)
        memcpy(trainer->saving.best, weights->values, count * sizeof *weights->values);
    else
        trainer_record_lost(trainer, &trainer->saving.unsaved);
    trainer_report_unsaved(trainer);
}

static bool write_waiting_best(struct trainer *trainer)
{
    if (!trainer->saving.best)
        return true;
    if (!write_best(trainer, trainer->saving.best))
        return false;
    forget_best(trainer);
    return true;
}

/* --- a checkpoint --- */

static void note_checkpoint(struct trainer *trainer, double seconds, uint64_t bytes)
{
    struct json *event = json_new_object();
    trainer->now.checkpoints++;
    trainer->now.checkpoint_iteration = trainer->moment.iteration;
    last_checkpoint_set(trainer->run->directory, trainer->moment.iteration);
    if (json_add_string(event, "event", "checkpoint") &&
        json_add_count(event, "iteration", trainer->moment.iteration) &&
        json_add_number(event, "seconds", seconds) && json_add_count(event, "bytes", bytes))
        journal_add_event(&trainer->run->journal, "checkpoint", event);
    else
        json_free(event);
}

static bool write_checkpoint(struct trainer *trainer, uint64_t *bytes)
{
    struct saving *saving = &trainer->saving;
    struct journal *journal = &trainer->run->journal;
    if (!write_waiting_best(trainer) || !experiment_write(trainer, &saving->unsaved) ||
        !correct_images_write(&trainer->correct, trainer->run->directory, &saving->unsaved))
        return false;
    if (!journal_sync(journal)) {
        saving->unsaved = journal->trouble;
        return false;
    }
    run_events_sync(&trainer->events);
    return checkpoint_write(trainer, bytes, &saving->unsaved);
}

bool saving_checkpoint(struct trainer *trainer)
{
    struct saving *saving = &trainer->saving;
    const uint64_t began = clock_nanoseconds();
    uint64_t bytes = 0;
    const enum cluster_activity before = begin_saving(trainer);
    const bool written = write_checkpoint(trainer, &bytes);
    end_saving(trainer, before);
    saving->tried = clock_nanoseconds();
    saving->cost = clock_seconds(began, saving->tried);
    saving->requested = false;
    trainer_restart_clock(trainer);
    trainer->now.checkpoint_seconds += saving->cost;
    if (written) {
        saving->unsaved = (struct error){0};
        note_checkpoint(trainer, saving->cost, bytes);
    }
    trainer_report_unsaved(trainer);
    trainer_publish(trainer);
    return written;
}

/* --- the end of the run --- */

/* How often the end of a run syncs the journal: fsync reports each write error of the kernel once,
 * so the next call can succeed. */
enum { LAST_TRIES = 3 };

bool saving_finish(struct trainer *trainer)
{
    struct journal *journal = &trainer->run->journal;
    if (!write_waiting_best(trainer) || !experiment_write(trainer, &trainer->saving.unsaved) ||
        !correct_images_write(&trainer->correct, trainer->run->directory, &trainer->saving.unsaved))
        trainer_record_lost(trainer, &trainer->saving.unsaved);
    forget_best(trainer);
    bool synced = false;
    for (int tries = 0; tries < LAST_TRIES && !synced; tries++)
        synced = journal_sync(journal);
    if (!synced)
        trainer_record_lost(trainer, &journal->trouble);
    else if (journal->lost > 0) {
        struct error lost;
        error_set(&lost, ERROR_SYSTEM, journal->path, "the model is not affected", "%s",
                  _("some records could not be written: the curves have gaps"));
        trainer_record_lost(trainer, &lost);
    }
    return synced;
}
