/* Checks whether the files of a run agree with each other, and whether all necessary files exist.
 * Little can be said about a run that is training, because it replaces its files one by one. */
#include "training/check/internal.h"

#include "base/language.h"
#include "runs/folder/run_prune.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Reports a file that is missing, and why it should exist, unless tinca runs --prune deleted it. */
static void require(struct check *check, const char *file, enum run_problem_severity severity,
                    enum check_remedy remedy, const char *why)
{
    if (check_state(check, file)->presence == FILE_ABSENT &&
        !run_prune_has_deleted(check->directory, file))
        check_report(check, file, severity, remedy, _("it is missing: %s"), why);
}

/* --- summary and journal --- */

/* Returns whether two values of float32 precision are equal; values that are not finite are null in
 * both files. */
static bool is_same(double a, double b)
{
    return (!isfinite(a) && !isfinite(b)) || (float)a == (float)b;
}

static void differ(struct check *check, const char *what, double summary, double journal)
{
    check_report(check, "summary.json", RUN_PROBLEM_ERROR, REMEDY_SUMMARY,
                 _("its %s is %.9g, but the journal's is %.9g"), what, summary, journal);
}

static void compare_end(struct check *check)
{
    const struct run_snapshot *end = &check->summary.snapshot;
    const struct check_record *record = &check->record;
    if (end->iteration != record->last.iteration) {
        differ(check, "iteration", (double)end->iteration, (double)record->last.iteration);
        return;
    }
    if (record->points > 0 && !is_same((double)end->loss, (double)record->last.loss))
        differ(check, "loss", (double)end->loss, (double)record->last.loss);
    else if (record->points > 0 &&
             !is_same((double)end->loss_caffe, (double)record->last.loss_caffe))
        differ(check, "loss_caffe", (double)end->loss_caffe, (double)record->last.loss_caffe);
    else if (record->points > 0 && !is_same(end->loss_mean, (double)record->last.loss_mean))
        differ(check, "loss_mean", end->loss_mean, (double)record->last.loss_mean);
    if (record->points > 0 && !is_same(end->epoch, (double)record->last.epoch))
        differ(check, "epoch", end->epoch, (double)record->last.epoch);
    if (record->points > 0 && !is_same(end->learning_rate, (double)record->last.learning_rate))
        differ(check, "learning_rate", end->learning_rate, (double)record->last.learning_rate);
    if (end->iterations < end->iteration)
        differ(check, "iterations", (double)end->iterations, (double)end->iteration);
}

static void compare_validations(struct check *check)
{
    const struct run_snapshot *end = &check->summary.snapshot;
    const struct check_record *record = &check->record;
    const struct series_validation *last = &record->last_validation;
    if (end->validation.known != (record->validations > 0)) {
        differ(check, "has_validation", end->validation.known, record->validations > 0);
        return;
    }
    if (!end->validation.known)
        return;
    if (!is_same(end->validation.loss, (double)last->loss))
        differ(check, "validation_loss", end->validation.loss, (double)last->loss);
    if (!is_same(end->validation.top1, (double)last->top1))
        differ(check, "top1", end->validation.top1, (double)last->top1);
    if (!is_same(end->validation.top5, (double)last->top5))
        differ(check, "top5", end->validation.top5, (double)last->top5);
    if (!is_same(end->validation.best_top1, record->best_top1))
        differ(check, "best_top1", end->validation.best_top1, record->best_top1);
    if (!isnan(end->validation.best_loss) && /* NaN: an earlier version did not record it */
        !is_same(end->validation.best_loss, record->best_validation_loss))
        differ(check, "best_validation_loss", end->validation.best_loss,
               record->best_validation_loss);
}

static void compare_tests(struct check *check)
{
    const struct run_test *end = &check->summary.snapshot.test, *record = &check->record.test;
    if (end->images != record->images) {
        differ(check, "test images", (double)end->images, (double)record->images);
        return;
    }
    if (end->images == 0)
        return;
    if (!is_same(end->loss, record->loss))
        differ(check, "test loss", end->loss, record->loss);
    if (!is_same(end->top1, record->top1))
        differ(check, "test top1", end->top1, record->top1);
}

/* Compares the summary with the journal, if the journal is sound. */
static void compare_summary(struct check *check)
{
    const struct run_snapshot *end = &check->summary.snapshot;
    if (!check_is_sound(check, check->journal) || !check->summary.read || check->alive)
        return;
    if (end->status == RUN_DONE && end->iteration < end->iterations && !check->record.has_plateau)
        differ(check, "iteration", (double)end->iteration, (double)end->iterations);
    if (check->record.torn)
        check_report(check, check->journal, RUN_PROBLEM_WARNING, REMEDY_NONE,
                     _("its last line is torn, although the run ended"));
    else if (!check->record.ended)
        check_report(check, check->journal, RUN_PROBLEM_WARNING, REMEDY_NONE,
                     _("it does not say that the run ended, but summary.json does"));
    compare_end(check);
    compare_validations(check);
    compare_tests(check);
}

/* Compares the configuration with the journal. A resumed run may be longer than at its start, and a
 * fork, whose journal begins with its ancestor's, shorter; but the length of an epoch never
 * changes. */
static void compare_config(struct check *check)
{
    const struct check_record *record = &check->record;
    const struct training_settings training = training_settings(&check->config);
    const enum technique technique = (enum technique)network_settings(&check->config).technique;
    const double per_epoch = round((double)record->snapshot.iterations / record->snapshot.epochs);
    const size_t asked = training.has_iterations
                             ? training.iterations
                             : training.epochs * (record->facts.images / training.batch);
    if (!record->started || record->facts.images < training.batch || !(per_epoch >= 1))
        return;
    if (per_epoch != (double)(record->facts.images / training.batch))
        check_report(check, "config.json", RUN_PROBLEM_ERROR, REMEDY_CONFIG,
                     _("its batch is %zu, but the journal's epochs are of %.0f iterations with %zu "
                       "images"),
                     training.batch, per_epoch, record->facts.images);
    else if (asked < record->snapshot.iterations && !check->facts.fork.ancestor[0])
        check_report(check, "config.json", RUN_PROBLEM_ERROR, REMEDY_CONFIG,
                     _("it asks for %zu iterations, but the journal says %llu"), asked,
                     (unsigned long long)record->snapshot.iterations);
    else if (strcmp(technique_name(technique), record->facts.technique) != 0 &&
             technique != TECHNIQUE_NONE)
        check_report(check, "config.json", RUN_PROBLEM_ERROR, REMEDY_CONFIG,
                     _("its technique is %s, but the journal's is %s"), technique_name(technique),
                     record->facts.technique);
}

/* --- necessary files --- */

static enum run_status status_of(const struct check *check)
{
    return check->summary.read ? check->summary.snapshot.status : RUN_INTERRUPTED;
}

/* Requires a journal if the run has already written other files. */
static void require_journal(struct check *check)
{
    static const char *const later[] = {"summary.json", "weights.safetensors", "best.safetensors",
                                        "checkpoint.safetensors",
                                        "checkpoint.previous.safetensors"};
    bool began = false;
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        began |= check_state(check, later[i])->presence != FILE_ABSENT;
    if (began)
        require(check, check->journal, RUN_PROBLEM_ERROR, REMEDY_RECORD,
                _("it holds the run's curves"));
    else
        require(check, check->journal, RUN_PROBLEM_WARNING, REMEDY_RESUME,
                _("the run's process was killed before its first iteration"));
}

/* Requires the start event in the journal of a run that has ended, unless its preparation failed.
 */
static void require_start(struct check *check)
{
    const struct check_record *record = &check->record;
    const enum run_status status = status_of(check);
    if (check->alive || !check->record.read || record->started)
        return;
    if (status == RUN_DONE || status == RUN_STOPPED || record->points > 0)
        check_report(check, check->journal, RUN_PROBLEM_ERROR, REMEDY_RECORD,
                     _("it does not contain the run's start"));
    else if (status == RUN_INTERRUPTED)
        check_report(check, check->journal, RUN_PROBLEM_WARNING, REMEDY_RESUME,
                     _("it is empty: the run's process was killed before its first iteration"));
}

static void require_models(struct check *check)
{
    const struct check_record *record = &check->record;
    const enum run_status status = status_of(check);
    const bool saved = status == RUN_DONE || (status == RUN_STOPPED && record->last.iteration > 0);
    if (saved)
        require(check, "weights.safetensors", RUN_PROBLEM_ERROR, REMEDY_MODEL,
                _("the run ended and saved its model"));
    if (saved && record->facts.discriminator_parameters > 0)
        require(check, "discriminator.safetensors", RUN_PROBLEM_ERROR, REMEDY_MODEL,
                _("the run ended and saved its discriminator"));
    /* the journal's line is written before the model, so a run that was killed just then has none
     */
    if (record->validations > 0 && (saved || record->goes_on_after_validation) &&
        (!isnan(record->last_validation.loss) || !isnan(record->best_top1)))
        require(check, "best.safetensors", RUN_PROBLEM_ERROR, REMEDY_MODEL,
                _("the journal has a validation"));
}

/* Requires the ancestor's weights if the run is a fork that took only these and has no checkpoint
 * yet. */
static void require_ancestor(struct check *check)
{
    if (check->facts.fork.weights_only && status_of(check) != RUN_DONE &&
        !check_has_diverged(check) && !check_is_here(check, "checkpoint.safetensors") &&
        !check_is_here(check, "checkpoint.previous.safetensors"))
        require(check, "ancestor.safetensors", RUN_PROBLEM_ERROR, REMEDY_ANCESTOR,
                _("the run begins with these weights"));
}

static void require_checkpoints(struct check *check)
{
    const enum run_status status = status_of(check);
    const bool needed = (status == RUN_STOPPED && check->record.last.iteration > 0) ||
                        (status == RUN_INTERRUPTED && check->record.checkpoints > 0);
    static const char *const names[] = {"checkpoint.safetensors",
                                        "checkpoint.previous.safetensors"};
    /* a process that was killed between two renames leaves only the previous checkpoint */
    if (needed && status == RUN_INTERRUPTED && check_is_here(check, names[1]))
        require(check, names[0], RUN_PROBLEM_WARNING, REMEDY_CHECKPOINT,
                _("the process was killed when it replaced it"));
    else if (needed)
        require(check, names[0], RUN_PROBLEM_ERROR, REMEDY_CHECKPOINT,
                _("the run can go on only from a checkpoint"));
    for (size_t i = 0; status == RUN_DONE && i < 2; i++)
        if (check_is_here(check, names[i]))
            check_report(check, names[i], RUN_PROBLEM_WARNING, REMEDY_DELETE,
                         _("the run is complete and no longer needs it"));
}

void check_consistency(struct check *check)
{
    const bool imported = check->facts.imported[0];
    if (check->alive)
        return;
    require_journal(check);
    require(check, "lock", RUN_PROBLEM_WARNING, REMEDY_RESUME,
            _("it shows whether a process has the run"));
    compare_summary(check);
    require_start(check);
    if (imported)
        require(check, "summary.json", RUN_PROBLEM_ERROR, REMEDY_SUMMARY,
                _("an imported run has one"));
    if (imported || !check->record.read)
        return;
    compare_config(check);
    require_models(check);
    require_checkpoints(check);
    require_ancestor(check);
    if (check->record.ended && check_state(check, "summary.json")->presence == FILE_ABSENT)
        check_report(check, "summary.json", RUN_PROBLEM_WARNING, REMEDY_SUMMARY,
                     _("it is missing, although the journal says that the run ended"));
}
