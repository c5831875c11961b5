/* What a run writes to survive: when a checkpoint is due, what it costs, and what happens when the
 * disk refuses.
 *
 * Checkpoints are due by time and at the end of epochs, but never so often that they take more than
 * the share of the run's time that they are allowed: the seconds spent so far and those that the
 * next one will probably take are compared with the time that the run has taken. What cannot be
 * written costs the run nothing: it is told, and tried again. A checkpoint is only written when all
 * that it builds on (the journal, the best model) has reached the disk. */
#include "session/run/checkpoint.h"
#include "session/run/experiment.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* --- when --- */

/* Before the first one it is not known how fast the disk is. */
static double expected_seconds(const struct trainer *trainer)
{
    const double pause = 0.01, bytes_a_second = 4e8;
    if (trainer->keeping.cost > 0)
        return trainer->keeping.cost;
    return pause + (double)checkpoint_bytes(trainer) / bytes_a_second;
}

static bool is_affordable(const struct trainer *trainer, uint64_t now)
{
    const double share = trainer->run->config.checkpoint_share / 100;
    return share >= 1 || trainer->now.checkpoint_seconds + expected_seconds(trainer) <=
                             share * trainer_seconds(trainer, now);
}

static bool is_due(const struct trainer *trainer, bool epoch_over)
{
    const uint64_t now = trainer->mark;
    const double interval = trainer->run->config.checkpoint;
    if (trainer->keeping.wanted)
        return true;
    const bool in_time = interval > 0 && clock_seconds(trainer->keeping.tried, now) >= interval;
    return (in_time || epoch_over) && is_affordable(trainer, now);
}

void trainer_keep(struct trainer *trainer, bool epoch_over)
{
    const bool over =
        trainer->stop || trainer->ended || trainer->moment.iteration == trainer->now.iterations;
    if (!over && is_due(trainer, epoch_over) && trainer_holds(trainer, true))
        trainer_checkpoint(trainer);
}

/* --- the best model --- */

static bool write_best(struct trainer *trainer, float *values)
{
    const struct model_facts facts = prepare_model_facts(&trainer->prepared);
    const struct weights weights = {.graph = trainer->prepared.weights.graph, .values = values};
    char *path = file_join(trainer->run->directory, "best.safetensors");
    bool written = path ? model_file_save(&facts, &weights, path, &trainer->keeping.unsaved)
                        : error_set_memory(&trainer->keeping.unsaved, "a path", 0);
    free(path);
    return written;
}

static void forget_best(struct trainer *trainer)
{
    free(trainer->keeping.best);
    trainer->keeping.best = NULL;
}

void trainer_keep_best(struct trainer *trainer)
{
    const struct weights *weights = &trainer->prepared.weights;
    const size_t count = weights->graph->total_floats;
    forget_best(trainer);
    if (!trainer_holds(trainer, true))
        return;
    if (!weights_fetch(weights, &trainer->keeping.unsaved)) {
        trainer_lose(trainer, &trainer->keeping.unsaved);
        return;
    }
    if (write_best(trainer, weights->values))
        return;
    trainer->keeping.best =
        memory_new_aligned(count, sizeof *weights->values, "the best model", NULL);
    if (trainer->keeping.best)
        memcpy(trainer->keeping.best, weights->values, count * sizeof *weights->values);
    else
        trainer_lose(trainer, &trainer->keeping.unsaved);
    trainer_tell(trainer);
}

static bool write_waiting_best(struct trainer *trainer)
{
    if (!trainer->keeping.best)
        return true;
    if (!write_best(trainer, trainer->keeping.best))
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
    if (json_add_string(event, "event", "checkpoint") &&
        json_add_count(event, "iteration", trainer->moment.iteration) &&
        json_add_number(event, "seconds", seconds) && json_add_count(event, "bytes", bytes))
        journal_add_event(&trainer->run->journal, "checkpoint", event);
    else
        json_free(event);
}

static bool write_checkpoint(struct trainer *trainer, uint64_t *bytes)
{
    struct keeping *keeping = &trainer->keeping;
    struct journal *journal = &trainer->run->journal;
    if (!write_waiting_best(trainer) || !experiment_write(trainer, &keeping->unsaved))
        return false;
    if (!journal_sync(journal)) {
        keeping->unsaved = journal->trouble;
        return false;
    }
    return checkpoint_write(trainer, bytes, &keeping->unsaved);
}

bool trainer_checkpoint(struct trainer *trainer)
{
    struct keeping *keeping = &trainer->keeping;
    const uint64_t began = clock_nanoseconds();
    uint64_t bytes = 0;
    const bool written = write_checkpoint(trainer, &bytes);
    keeping->tried = trainer->mark = clock_nanoseconds();
    keeping->cost = clock_seconds(began, keeping->tried);
    keeping->wanted = false;
    trainer->now.checkpoint_seconds += keeping->cost;
    if (written) {
        keeping->unsaved = (struct error){0};
        note_checkpoint(trainer, keeping->cost, bytes);
    }
    trainer_tell(trainer);
    trainer_publish(trainer);
    return written;
}

/* --- what the disk refuses --- */

enum { LAST_TRIES = 3 }; /* at the end: a failed sync may be about pages that are dropped by now */

void trainer_lose(struct trainer *trainer, const struct error *error)
{
    if (trainer->keeping.lost.kind == ERROR_NONE)
        trainer->keeping.lost = *error;
}

void trainer_tell(struct trainer *trainer)
{
    struct keeping *keeping = &trainer->keeping;
    const struct error *trouble =
        keeping->unsaved.kind != ERROR_NONE ? &keeping->unsaved : &trainer->run->journal.trouble;
    if (trouble->kind == ERROR_NONE && !keeping->told)
        return;
    keeping->told = trouble->kind != ERROR_NONE;
    trainer->now.error = *trouble;
}

bool trainer_keep_last(struct trainer *trainer)
{
    struct journal *journal = &trainer->run->journal;
    if (!write_waiting_best(trainer) || !experiment_write(trainer, &trainer->keeping.unsaved))
        trainer_lose(trainer, &trainer->keeping.unsaved);
    forget_best(trainer);
    bool synced = false;
    for (int tries = 0; tries < LAST_TRIES && !synced; tries++)
        synced = journal_sync(journal);
    if (!synced)
        trainer_lose(trainer, &journal->trouble);
    else if (journal->lost > 0) {
        struct error lost;
        error_set(&lost, ERROR_SYSTEM, journal->path, "the model is not affected", "%s",
                  _("some records could not be written: the curves have gaps"));
        trainer_lose(trainer, &lost);
    }
    return synced;
}
