/* Starts a resumed run.
 *
 * The order matters: nothing in the run's folder changes until the whole checkpoint has been read
 * and fits, so that a run that cannot continue now can do so later. */
#include "training/observer.h"

#include "base/character.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/text.h"
#include "engine/execution/numerics.h"
#include "runs/folder/computed_with.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_files.h"
#include "runs/folder/run_json.h"
#include "runs/record/run_integrity.h"
#include "runs/record/run_reading.h"
#include "runs/values/run_snapshot.h"
#include "training/checkpoint.h"

#include <config.h>
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
    struct safetensors *file = &trainer->resumption.file;
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
    struct error error;
    if (trainer->resumption.journal.has_sum)
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
    const struct safetensors *file = &trainer->resumption.file;
    *iteration = 0;
    for (int i = 0; i < 2 && fitness != FITS; i++) {
        struct error error = {0};
        fitness = try_checkpoint(trainer, i == 1, &error);
        trainer->resumption.previous = i == 1;
        alone |= fitness == ALONE;
        if (first.kind == ERROR_NONE)
            first = error;
    }
    alone |= trainer->run->damage.kind != ERROR_NONE; /* damage of a complete run */
    trainer->resumption.journal_damaged = fitness != FITS && alone;
    if (fitness != FITS && first.kind != ERROR_NONE && !alone) {
        *trainer->error = first;
        return false;
    }
    notice(trainer, &first);
    if (fitness != FITS)
        return true;
    if (!checkpoint_place(file, iteration, &trainer->resumption.journal, trainer->error))
        return false;
    note_missing_sum(trainer);
    return kernel_choices_read(checkpoint_text(file, "chosen"), &trainer->resumption.choices,
                               trainer->error);
}

/* --- the same arithmetic --- */

/* Writes the advice which version can resume the run. A build between two releases has the version
 * of the release before, which does not identify it. */
static void advise(const struct safetensors *checkpoint, char *advice, size_t size)
{
    const char *version = checkpoint_text(checkpoint, "version");
    if (version && strcmp(version, PACKAGE_VERSION) != 0)
        snprintf(advice, size, _("resume it with tinca %.40s, or train another run"), version);
    else
        snprintf(advice, size, "%s",
                 _("resume it with the version of tinca that wrote it, or train another run"));
}

/* Returns false with an error if the checkpoint's version computes this network differently on this
 * device; the error names the version that can resume it. A checkpoint without a record of its
 * arithmetic has numerics version 1. */
static bool check_arithmetic(const struct safetensors *checkpoint, const struct graph *graph,
                             const char *device, struct error *error)
{
    char advice[160];
    size_t numerics = 1;
    const char *recorded = checkpoint_text(checkpoint, "numerics");
    if (recorded && !text_to_size(recorded, &numerics))
        numerics = NUMERICS_VERSION + 1;
    const char *change = numerics_change(numerics, graph, device);
    if (!change)
        return true;
    advise(checkpoint, advice, sizeof advice);
    return error_set(error, ERROR_UNSUPPORTED, checkpoint->path, advice,
                     "it was computed with numerics version %zu, and this is version %d: %s",
                     numerics, NUMERICS_VERSION, language_text(change));
}

/* Adds findings about differences between the checkpoint and this process that may change the last
 * digits, or about another version. */
static void report_arithmetic(struct trainer *trainer)
{
    static const char *const words[COMPUTED_WITH] = {
        [COMPUTED_PROGRAM] =
            N_("it was computed with tinca %.80s, and goes on with tinca %.80s, whose "
               "arithmetic is the same"),
        [COMPUTED_KERNELS] =
            N_("it was computed with %.80s, and goes on with %.80s: the last digits may "
               "differ"),
        [COMPUTED_BLAS] =
            N_("it was computed with %.80s, and goes on with %.80s: the last digits may "
               "differ")};
    char text[320];
    struct computed_with here;
    computed_with_here(&here, trainer->settings.machine.device,
                       (enum device_precision)trainer->settings.machine.precision);
    for (size_t i = 0; i < COMPUTED_WITH; i++) {
        const char *then = checkpoint_text(&trainer->resumption.file, here.keys[i]);
        if (!words[i] || !then || !here.values[i][0] || strcmp(then, here.values[i]) == 0)
            continue;
        snprintf(text, sizeof text, language_text(words[i]), then, here.values[i]);
        trainer_note(trainer, FINDING_RESUME, "%s", character_replace_hidden(text));
    }
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
    if (removed && trainer->resumption.previous && trainer->resumption.file.file)
        checkpoint_remove_last(run->directory);
    return removed;
}

/* Prepares the folder for writing: from here on its files change. */
static bool take_over(struct trainer *trainer, const struct journal_mark *journal)
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

/* Reads the data that the checkpoint lacks from the journal: curves, findings, times. */
static bool read_back(struct trainer *trainer)
{
    struct run_snapshot *now = &trainer->now, read = *now;
    if (!run_state_read_journal(trainer->run, &trainer->resumption.journal, &read, &trainer->tempo,
                                trainer->error))
        return false;
    now->finding_count = read.finding_count;
    now->iteration = now->begun_at = now->checkpoint.iteration = trainer->moment.iteration;
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
    now->elapsed_seconds = trainer->clock.earlier_seconds = trainer->resumption.seconds;
    return true;
}

static void note_beginning(struct trainer *trainer, const char *aside, uint64_t points)
{
    struct error error;
    const char *id = trainer->run->early_facts.id;
    if (trainer->resumption.journal_damaged) /* replaces the error that reported the damage */
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
 * its iterations are computed again, but their record is kept. A journal without any iteration is
 * overwritten; one that cannot be read ends the resumption. */
static bool put_journal_aside(struct trainer *trainer)
{
    struct run *run = trainer->run;
    char name[32];
    bool is_text;
    struct error unread = {0};
    char *path = journal_path(run->directory, &is_text, trainer->error);
    snprintf(name, sizeof name, "journal.%s%s",
             trainer->resumption.journal_damaged ? "damaged" : "previous",
             path && is_text ? ".jsonl" : "");
    char *aside = file_join(run->directory, name);
    uint64_t points = 0;
    bool done = path && aside;
    if (!done)
        error_set_memory(trainer->error, "a path", 0);
    else {
        const bool read =
            journal_read_file(path, is_text, UINT64_MAX, count_point, &points, NULL, &unread);
        done = trainer->resumption.journal_damaged || read || unread.kind == ERROR_INPUT;
        if (!done)
            *trainer->error = unread;
        else if (trainer->resumption.journal_damaged || points > 0)
            done = rename(path, aside) == 0 || errno == ENOENT ||
                   error_set_errno(trainer->error, path, "check the disk", "cannot be renamed");
        if (done)
            note_beginning(trainer, name, points);
    }
    free(path);
    free(aside);
    if (done && trainer->resumption.journal_damaged)
        checkpoint_remove(run->directory); /* they belong to the old journal */
    return done;
}

/* Begins the schedule of a fork with another rate or schedule; its own checkpoints restore it
 * later. */
static void begin_schedule(struct trainer *trainer)
{
    const struct run_fork *fork = &trainer->run->early_facts.fork;
    if (!fork->fresh_schedule || trainer->moment.iteration != fork->iteration)
        return;
    trainer->lr_schedule_state = lr_schedule_begin();
    trainer->ended = false;
}

/* Sets which model the network was made from (tinca.parent), as the checkpoint has recorded. */
static void read_parent(struct trainer *trainer)
{
    char *parent = trainer->prepared.parent;
    const char *text = checkpoint_text(&trainer->resumption.file, "parent");
    if (text)
        snprintf(parent, sizeof trainer->prepared.parent, "%s", text);
}

/* Makes the run ready to begin again, without a checkpoint. */
static bool start_over(struct trainer *trainer)
{
    const struct run_fork *fork = &trainer->run->early_facts.fork;
    if (fork->ancestor[0] && !fork->weights_only)
        return error_set(trainer->error, ERROR_INPUT, trainer->run->directory,
                         "fork the ancestor again",
                         "the checkpoint that this fork began with is missing or damaged");
    return put_journal_aside(trainer) && take_over(trainer, NULL);
}

bool resume_restore(struct trainer *trainer)
{
    bool *known = &trainer->resumption.known;
    struct run_snapshot *now = &trainer->now;
    struct safetensors *file = &trainer->resumption.file;
    if (!experiment_check(trainer, known))
        return false;
    if (!file->file)
        return start_over(trainer);
    read_parent(trainer);
    now->validation.best_loss = (double)NAN;
    if (!check_arithmetic(file, &trainer->prepared.network->graph, trainer->settings.machine.device,
                          trainer->error) ||
        !checkpoint_restore(trainer, file, trainer->error))
        return false;
    begin_schedule(trainer);
    if (!read_back(trainer) || (!*known && !experiment_make(trainer)) ||
        !take_over(trainer, &trainer->resumption.journal))
        return false;
    if (isnan(now->validation.best_loss)) /* none yet, or of an earlier version */
        now->validation.best_loss =
            run_figures_of(now, &trainer->run->own_series).best_validation_loss;
    return true;
}

void resume_report(struct trainer *trainer)
{
    report_arithmetic(trainer);
    if (!trainer->resumption.known)
        trainer_note(trainer, FINDING_RESUME, "%s",
                     _("its network.json or data.json is missing, as in runs that an earlier "
                       "version of tinca began: whether network and data have changed since is not "
                       "known"));
    safetensors_close(&trainer->resumption.file);
}
