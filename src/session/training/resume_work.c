/* The start of a resumed run.
 *
 * The order matters: nothing in the run's folder changes until the whole checkpoint has been read
 * and fits, so that a run that cannot continue now can do so later. */
#include "session/training/resume_work.h"

#include "base/files/file.h"
#include "session/files/checkpoint_position.h"
#include "session/files/computed_with.h"
#include "session/files/kernel_choices.h"
#include "session/files/run_directory.h"
#include "session/files/run_files.h"
#include "session/files/run_killed.h"
#include "session/record/run_integrity.h"
#include "session/record/run_reading.h"
#include "session/training/begin.h"
#include "session/training/checkpoint.h"
#include "session/training/experiment.h"
#include "session/training/resume_arithmetic.h"
#include "session/values/run_figures.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- finding the checkpoint --- */

/* Puts an error into the snapshot, unless it has one. */
static void notice(struct trainer *trainer, const struct error *error)
{
    if (trainer->now.error.kind == ERROR_NONE)
        trainer->now.error = *error;
}

enum fitness {
    FITS,
    MISSING,
    DAMAGED, /* the file is incomplete, or belongs to another run */
    ALONE    /* the file is good, but the journal is not the one it was written with */
};

/* Opens a checkpoint and returns how it fits the run; *error says why it does not. */
static enum fitness try_checkpoint(struct trainer *trainer, bool previous, struct error *error)
{
    struct safetensors *file = &trainer->checkpoint;
    const struct run *run = trainer->run;
    if (!checkpoint_open(run->directory, previous, file, error))
        return DAMAGED;
    if (!file->file)
        return MISSING;
    enum fitness fitness = FITS;
    if (!run_integrity_check_place(file, &run->config, error))
        fitness = DAMAGED;
    else if (!run_integrity_check_journal(run->directory, file, error))
        fitness = error->kind == ERROR_INPUT ? ALONE : DAMAGED;
    if (fitness != FITS)
        safetensors_close(file);
    return fitness;
}

/* Reports that a checkpoint of an earlier version has no checksum of the journal, and is accepted.
 */
static void note_missing_sum(struct trainer *trainer)
{
    uint32_t sum;
    struct error error;
    if (checkpoint_journal_sum(&trainer->checkpoint, &sum))
        return;
    error_set(
        &error, ERROR_UNSUPPORTED, trainer->run->early_facts.id, "nothing is to be done",
        "its checkpoint is of an earlier version of tinca and has no checksum of the journal: "
        "the curves are taken as they are");
    notice(trainer, &error);
}

bool resume_find_checkpoint(struct trainer *trainer, uint64_t *iteration)
{
    enum fitness fitness = MISSING;
    bool alone = false;
    struct error first = {0};
    *iteration = 0;
    for (int i = 0; i < 2 && fitness != FITS; i++) {
        struct error error = {0};
        fitness = try_checkpoint(trainer, i == 1, &error);
        trainer->previous_checkpoint = i == 1;
        alone |= fitness == ALONE;
        if (first.kind == ERROR_NONE)
            first = error;
    }
    alone |= trainer->run->damage.kind != ERROR_NONE; /* damage of a complete run */
    trainer->journal_damaged = fitness != FITS && alone;
    if (fitness != FITS && first.kind != ERROR_NONE && !alone) {
        *trainer->error = first;
        return false;
    }
    notice(trainer, &first);
    if (fitness != FITS)
        return true;
    note_missing_sum(trainer);
    return checkpoint_place(&trainer->checkpoint, iteration, &trainer->run_journal, trainer->error);
}

bool resume_read_choices(struct trainer *trainer)
{
    const char *text =
        trainer->checkpoint.file ? checkpoint_text(&trainer->checkpoint, "chosen") : NULL;
    return kernel_choices_read(text, &trainer->recorded, trainer->error);
}

void resume_read_parent(struct trainer *trainer)
{
    char *parent = trainer->prepared.parent;
    const char *text =
        trainer->checkpoint.file ? checkpoint_text(&trainer->checkpoint, "parent") : NULL;
    if (text)
        snprintf(parent, sizeof trainer->prepared.parent, "%s", text);
}

/* --- restoring --- */

/* Removes the summary of the earlier end. This must be on the disk before the journal is cut,
 * because a summary beside a shorter journal counts as damage. */
static bool remove_end(const struct trainer *trainer)
{
    const struct run *run = trainer->run;
    char *path = file_join(run->directory, "summary.json");
    if (!path)
        return error_set_memory(trainer->error, "a path", 0);
    const bool removed = (unlink(path) == 0 || errno == ENOENT) && file_sync_directory_of(path);
    if (!removed)
        error_set_errno(trainer->error, path, "check the disk", "cannot be removed");
    free(path);
    run_killed_remove(run->directory);
    if (removed && trainer->previous_checkpoint && trainer->checkpoint.file)
        checkpoint_remove_last(run->directory);
    return removed;
}

/* Takes over the folder: from here on its files change. */
static bool take_over(struct trainer *trainer, uint64_t journal)
{
    struct run *run = trainer->run;
    if (run->changed &&
        !run_files_write_config(run->directory, &run->config, &run->early_facts, trainer->error))
        return false;
    if (!remove_end(trainer) ||
        !journal_open(&run->journal, run->directory, journal, trainer->error))
        return false;
    run_directory_clear_parts(run->directory);
    return true;
}

static bool count_point(void *context, const struct journal_line *line, struct error *error)
{
    uint64_t *points = context;
    (void)error;
    *points += line->point != NULL;
    return true;
}

static void note_resumption(struct trainer *trainer)
{
    struct json *event = json_new_object();
    if (json_add_string(event, "event", "resume") &&
        json_add_count(event, "iteration", trainer->moment.iteration) &&
        json_add_count(event, "threads", trainer->prepared.device->threads) &&
        computed_with_add(event, trainer->run->config.device,
                          (enum device_precision)trainer->run->config.precision))
        journal_add_event(&trainer->run->journal, "resume", event);
    else
        json_free(event);
}

/* Reads what the checkpoint does not have from the journal: curves, findings, times. */
static bool read_back(struct trainer *trainer)
{
    struct run_snapshot *now = &trainer->now, read = *now;
    if (!run_state_read_journal(trainer->run, trainer->run_journal, &read, &trainer->tempo,
                                trainer->error))
        return false;
    now->finding_count = read.finding_count;
    now->iteration = now->begun_at = now->checkpoint_iteration = trainer->moment.iteration;
    series_add_resume(&trainer->run->own_series, now->begun_at);
    now->epoch = trainer->moment.epoch;
    now->loss = read.loss;
    now->loss_caffe = trainer->meter.caffe;
    now->loss_mean = trainer->meter.exact;
    now->loss_discriminator = read.loss_discriminator;
    now->loss_l1 = read.loss_l1;
    now->learning_rate = read.learning_rate;
    now->loss_scale = read.loss_scale;
    now->skipped_steps = read.skipped_steps;
    now->ms_per_image_median = read.ms_per_image_median;
    now->elapsed_seconds = trainer->earlier_seconds = trainer->run_seconds;
    trainer->earlier_wait = now->feed_wait_seconds;
    return true;
}

static void note_beginning(struct trainer *trainer, const char *aside, uint64_t points)
{
    struct error error;
    const char *id = trainer->run->early_facts.id;
    if (trainer->journal_damaged) /* replaces the error that said so */
        error_set(&trainer->now.error, ERROR_INPUT, id, "nothing is to be done",
                  "its journal is damaged: it begins again with its first iteration, so that its "
                  "curves become whole; what is left of the journal is kept as %s",
                  aside);
    else if (points > 0) {
        error_set(&error, ERROR_INTERRUPTED, id, "nothing is to be done",
                  "it had no checkpoint yet and begins again with its first iteration; the %llu "
                  "that it had recorded are kept as %s",
                  (unsigned long long)points, aside);
        notice(trainer, &error);
    }
}

/* Renames the journal of a run that was killed before its first checkpoint, or a damaged journal:
 * its iterations are computed once more, but their record is kept. A journal without any iteration
 * is overwritten. */
static bool put_journal_aside(struct trainer *trainer)
{
    struct run *run = trainer->run;
    const char *name =
        trainer->journal_damaged ? "journal.damaged.jsonl" : "journal.previous.jsonl";
    char *path = file_join(run->directory, "journal.jsonl");
    char *aside = file_join(run->directory, name);
    uint64_t points = 0;
    bool done = path && aside;
    if (!done)
        error_set_memory(trainer->error, "a path", 0);
    else {
        const bool read = journal_read(path, count_point, &points, NULL);
        if (trainer->journal_damaged || (read && points > 0))
            done = rename(path, aside) == 0 || errno == ENOENT ||
                   error_set_errno(trainer->error, path, "check the disk", "cannot be renamed");
        if (done)
            note_beginning(trainer, name, points);
    }
    free(path);
    free(aside);
    if (done && trainer->journal_damaged)
        checkpoint_remove(run->directory); /* they belong to the old journal */
    return done;
}

/* A fork with another rate or schedule begins that anew; its own checkpoints restore it. */
static void begin_schedule(struct trainer *trainer)
{
    const struct run_fork *fork = &trainer->run->early_facts.fork;
    if (!fork->fresh_schedule || trainer->moment.iteration != fork->iteration)
        return;
    trainer->lr_schedule_state = lr_schedule_begin();
    trainer->ended = false;
}

bool resume_restore(struct trainer *trainer)
{
    bool known;
    if (!experiment_check(trainer, &known))
        return false;
    if (!trainer->checkpoint.file && trainer->run->early_facts.fork.ancestor[0] &&
        !trainer->run->early_facts.fork.weights_only)
        return error_set(trainer->error, ERROR_INPUT, trainer->run->directory,
                         "fork the ancestor again",
                         "the checkpoint that this fork began with is missing or damaged");
    if (!trainer->checkpoint.file)
        return put_journal_aside(trainer) && take_over(trainer, 0) && begin_run(trainer);
    trainer->now.best_validation_loss = (double)NAN;
    if (!resume_arithmetic_check(&trainer->checkpoint, &trainer->prepared.network->graph,
                                 trainer->run->config.device, trainer->error) ||
        !checkpoint_restore(trainer, &trainer->checkpoint, trainer->error))
        return false;
    begin_schedule(trainer);
    if (!read_back(trainer) || (!known && !experiment_make(trainer)) ||
        !take_over(trainer, trainer->run_journal))
        return false;
    if (isnan(trainer->now.best_validation_loss)) /* none yet, or of an earlier version */
        trainer->now.best_validation_loss =
            run_figures_of(&trainer->now, &trainer->run->own_series).best_validation_loss;
    const struct run_facts facts = begin_facts(trainer);
    run_state_publish(trainer->run, &facts);
    note_resumption(trainer);
    begin_events(trainer, &facts, trainer->moment.iteration);
    resume_arithmetic_report(trainer);
    if (!known) {
        resume_arithmetic_report_unknown(trainer);
        experiment_write(trainer, &trainer->saving.unsaved);
    }
    safetensors_close(&trainer->checkpoint);
    return true;
}
