/* The snapshot has all figures, so a list needs no curves. That of a run of an earlier version
 * lacks the best validation loss, which its curves give. */
#include "runs/values/run_snapshot.h"

#include "base/json/json.h"
#include "base/language.h"
#include "runs/values/series.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const char *const status_names[] = {[RUN_PREPARING] = N_("preparing"),
                                           [RUN_RUNNING] = N_("running"),
                                           [RUN_PAUSED] = N_("paused"),
                                           [RUN_VALIDATING] = N_("validating"),
                                           [RUN_DONE] = N_("done"),
                                           [RUN_STOPPED] = N_("stopped"),
                                           [RUN_FAILED] = N_("failed"),
                                           [RUN_REFUSED] = N_("refused"),
                                           [RUN_INTERRUPTED] = N_("interrupted")};

const char *run_status_name(enum run_status status)
{
    return status_names[status];
}

bool run_status_is_over(enum run_status status)
{
    return status >= RUN_DONE;
}

/* --- causes --- */

/* An error that wraps another one keeps only its text, in this locale; one that was read from a
 * file without the name of its cause may be in English. */
enum run_cause run_cause_of_error(const struct error *error)
{
    const char *const full[] = {strerror(ENOSPC),          strerror(EDQUOT),      strerror(EFBIG),
                                "No space left on device", "Disk quota exceeded", "File too large"};
    if (error->kind == ERROR_MEMORY)
        return RUN_CAUSE_MEMORY;
    if (error->disk_full)
        return RUN_CAUSE_DISK;
    for (size_t i = 0; error->kind != ERROR_NONE && i < sizeof full / sizeof *full; i++)
        if (strstr(error->why, full[i]))
            return RUN_CAUSE_DISK;
    return RUN_CAUSE_OTHER;
}

static const char *const cause_names[] = {
    [RUN_CAUSE_OTHER] = "other", [RUN_CAUSE_MEMORY] = "memory", [RUN_CAUSE_DISK] = "disk"};

const char *run_cause_name(const struct error *error)
{
    return cause_names[run_cause_of_error(error)];
}

void run_cause_take(struct error *error, const char *name)
{
    if (name && strcmp(name, cause_names[RUN_CAUSE_MEMORY]) == 0)
        error->kind = ERROR_MEMORY;
    error->disk_full = name && strcmp(name, cause_names[RUN_CAUSE_DISK]) == 0;
}

enum run_cause run_cause_of(const struct run_snapshot *snapshot)
{
    return snapshot->status == RUN_FAILED || snapshot->status == RUN_INTERRUPTED
               ? run_cause_of_error(&snapshot->error)
               : RUN_CAUSE_OTHER;
}

const char *run_snapshot_word(const struct run_snapshot *snapshot)
{
    const enum run_cause cause = run_cause_of(snapshot);
    if (snapshot->status == RUN_FAILED && snapshot->error.kind == ERROR_DIVERGED)
        return N_("diverged");
    return cause == RUN_CAUSE_MEMORY ? N_("out of memory")
           : cause == RUN_CAUSE_DISK ? N_("disk full")
                                     : run_status_name(snapshot->status);
}

/* --- figures --- */

/* Returns a result, which was computed as a float, as the number that its shortest decimals mean,
 * so that it has the same digits in every list and file. */
static double result(double value)
{
    return json_float((float)value);
}

/* Returns the lowest finite loss of the validations; NaN: there is none. */
static double lowest_validation_loss(const struct series *series)
{
    double lowest = NAN;
    for (size_t i = 0, count = series_validation_count(series); i < count; i++) {
        const double loss = (double)series->validations[i].loss;
        if (isfinite(loss) && !(loss >= lowest))
            lowest = loss;
    }
    return result(lowest);
}

struct run_figures run_figures_of(const struct run_snapshot *now, const struct series *series)
{
    struct run_figures figures = run_figures_unknown();
    figures.has_loss = now->iteration > 0;
    figures.has_validation = now->validation.known;
    if (figures.has_loss)
        figures.loss = result((double)now->loss);
    if (now->validation.known) {
        figures.validation_loss = result(now->validation.loss);
        figures.top1 = result(now->validation.top1);
        figures.top5 = result(now->validation.top5);
        /* of a network without classes the snapshot has no best accuracy, but may have a zero */
        figures.best_top1 =
            isnan(now->validation.top1) ? (double)NAN : result(now->validation.best_top1);
        figures.best_validation_loss = result(now->validation.best_loss);
    }
    if (now->test.images > 0) {
        figures.test_loss = result(now->test.loss);
        figures.test_top1 = result(now->test.top1);
        figures.test_top5 = result(now->test.top5);
    }
    if (series)
        figures.best_validation_loss = lowest_validation_loss(series);
    return figures;
}
