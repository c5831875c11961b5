/* Compares what checkpoint and summary recorded about the journal with the journal. */
#include "runs/record/run_integrity.h"

#include "base/files/file.h"
#include "base/text.h"
#include "runs/folder/run_files.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

/* --- a checkpoint's position --- */

static bool read_count(const struct safetensors *file, const char *key, uint64_t *value)
{
    const char *text = safetensors_metadata(file, key);
    return text && text_to_uint64(text, value);
}

/* Returns the configured iterations of the run, at most UINT64_MAX. */
static uint64_t iterations_of(const struct run_config *config, uint64_t per_epoch)
{
    uint64_t all;
    const struct training_settings training = training_settings(config);
    if (training.has_iterations)
        return training.iterations;
    return __builtin_mul_overflow(per_epoch, (uint64_t)training.epochs, &all) ? UINT64_MAX : all;
}

bool run_integrity_check_place(const struct safetensors *checkpoint,
                               const struct run_config *config, struct error *error)
{
    uint64_t iteration, per_epoch, seen;
    struct journal_mark journal;
    const char *text = safetensors_metadata(checkpoint, "tinca.epoch");
    if (!checkpoint_place(checkpoint, &iteration, &journal, error))
        return false;
    const bool read = read_count(checkpoint, "tinca.per_epoch", &per_epoch) &&
                      read_count(checkpoint, "tinca.losses_seen", &seen) && per_epoch > 0 && text;
    const double epoch = read ? strtod(text, NULL) : NAN;
    if (read && iteration > 0 && iteration <= iterations_of(config, per_epoch) &&
        journal.length > 0 && seen <= iteration &&
        fabs(epoch * (double)per_epoch - (double)iteration) < 0.5)
        return true;
    return error_set(error, ERROR_INPUT, checkpoint->path, "bring back a copy of it",
                     "the checkpoint is damaged: this run has no iteration %llu",
                     (unsigned long long)iteration);
}

/* --- the journal --- */

static bool take_last(void *context, const struct journal_line *line, struct error *error)
{
    uint64_t *last = context;
    (void)error;
    if (line->point)
        *last = line->point->iteration;
    return true;
}

/* Checks a journal of an early version, without a checksum: up to the mark (NULL: its end) it must
 * reach `iteration`. */
static bool check_reach(const char *directory, const struct journal_mark *mark, uint64_t iteration,
                        struct error *error)
{
    uint64_t last = 0;
    if (!journal_read(directory, mark, take_last, &last, NULL, error))
        return false;
    char *path = last < iteration ? journal_path(directory, NULL, error) : NULL;
    if (path)
        error_set(error, ERROR_INPUT, path,
                  "bring back a copy of it, or let tinca resume compute it again",
                  "the journal is damaged: it ends at iteration %llu of %llu",
                  (unsigned long long)last, (unsigned long long)iteration);
    free(path);
    return last >= iteration;
}

bool run_integrity_check_journal(const char *directory, const struct safetensors *checkpoint,
                                 struct error *error)
{
    uint64_t iteration;
    struct journal_mark mark;
    return checkpoint_place(checkpoint, &iteration, &mark, error) &&
           journal_verify(directory, &mark, error) &&
           (mark.has_sum || check_reach(directory, &mark, iteration, error));
}

/* Checks that nothing follows the end of the journal. */
static bool check_length(const char *directory, const struct journal_mark *mark,
                         struct error *error)
{
    struct stat status;
    char *path = file_join(directory, mark->is_text ? JOURNAL_TEXT_FILE : JOURNAL_FILE);
    if (!path)
        return error_set_memory(error, "the journal's path", 0);
    /* journal_verify reports a shorter one */
    const bool longer = stat(path, &status) == 0 && (uint64_t)status.st_size > mark->length;
    if (longer)
        error_set(error, ERROR_INPUT, path, "remove what was added",
                  "the journal holds %llu bytes, but %llu were written",
                  (unsigned long long)status.st_size, (unsigned long long)mark->length);
    free(path);
    return !longer;
}

static bool is_what_was_read(const struct journal_mark *mark, const struct journal_found *found)
{
    return found && !found->is_text && !mark->is_text && found->faults == 0 &&
           found->length == mark->length && found->sum == mark->sum;
}

bool run_integrity_check_end(const char *directory, const struct journal_found *found,
                             struct error *error)
{
    struct run_snapshot end = {0};
    struct journal_mark mark;
    if (run_files_read_end(directory, &mark))
        return check_length(directory, &mark, error) &&
               (is_what_was_read(&mark, found) || journal_verify(directory, &mark, error));
    return !run_files_read_summary(directory, &end) || end.iteration == 0 ||
           check_reach(directory, NULL, end.iteration, error);
}
