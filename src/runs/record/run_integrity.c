/* Compares what checkpoint and summary recorded about the journal with the journal. */
#include "runs/record/run_integrity.h"

#include "base/files/file.h"
#include "base/text.h"
#include "runs/folder/journal.h"
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
    uint64_t iteration, journal, per_epoch, seen;
    const char *text = safetensors_metadata(checkpoint, "tinca.epoch");
    if (!checkpoint_place(checkpoint, &iteration, &journal, error))
        return false;
    const bool read = read_count(checkpoint, "tinca.per_epoch", &per_epoch) &&
                      read_count(checkpoint, "tinca.losses_seen", &seen) && per_epoch > 0 && text;
    const double epoch = read ? strtod(text, NULL) : NAN;
    if (read && iteration > 0 && iteration <= iterations_of(config, per_epoch) && journal > 0 &&
        seen <= iteration && fabs(epoch * (double)per_epoch - (double)iteration) < 0.5)
        return true;
    return error_set(error, ERROR_INPUT, checkpoint->path, "bring back a copy of it",
                     "the checkpoint is damaged: this run has no iteration %llu",
                     (unsigned long long)iteration);
}

/* --- the journal --- */

struct last_point {
    uint64_t iteration;
};

static bool take_last(void *context, const struct journal_line *line, struct error *error)
{
    struct last_point *last = context;
    (void)error;
    if (line->point)
        last->iteration = line->point->iteration;
    return true;
}

/* Checks a journal without a checksum: its first `length` bytes must reach `iteration`. */
static bool check_reach(const char *path, uint64_t length, uint64_t iteration, struct error *error)
{
    struct last_point last = {0};
    if (!journal_read_first(path, length, take_last, &last, error))
        return false;
    return last.iteration >= iteration ||
           error_set(error, ERROR_INPUT, path,
                     "bring back a copy of it, or let tinca resume compute it again",
                     "the journal is damaged: it ends at iteration %llu of %llu",
                     (unsigned long long)last.iteration, (unsigned long long)iteration);
}

static bool check_sum(const char *path, uint64_t length, uint32_t expected, struct error *error)
{
    uint32_t sum;
    if (!journal_checksum(path, length, &sum, error))
        return false;
    return sum == expected ||
           error_set(error, ERROR_INPUT, path,
                     "bring back a copy of it, or let tinca resume compute it again",
                     "the journal is damaged: its first %llu bytes are not those that were written",
                     (unsigned long long)length);
}

bool run_integrity_check_journal(const char *directory, const struct safetensors *checkpoint,
                                 struct error *error)
{
    uint64_t iteration, length;
    uint32_t expected, sum;
    char *path = file_join(directory, "journal.jsonl");
    if (!path)
        return error_set_memory(error, "a path", 0);
    bool good = checkpoint_place(checkpoint, &iteration, &length, error);
    if (good && checkpoint_journal_sum(checkpoint, &expected))
        good = check_sum(path, length, expected, error);
    else if (good)
        good = journal_checksum(path, length, &sum, error) &&
               check_reach(path, length, iteration, error);
    free(path);
    return good;
}

static bool check_length(const char *path, uint64_t length, struct error *error)
{
    struct stat status;
    if (stat(path, &status) != 0 || (uint64_t)status.st_size <= length)
        return true; /* a shorter one: check_sum says so */
    return error_set(error, ERROR_INPUT, path, "remove what was added",
                     "the journal holds %llu bytes, but %llu were written",
                     (unsigned long long)status.st_size, (unsigned long long)length);
}

bool run_integrity_check_end(const char *directory, const struct journal_sum *sum,
                             struct error *error)
{
    struct run_snapshot end = {0};
    uint64_t length;
    uint32_t expected;
    char *path = file_join(directory, "journal.jsonl");
    if (!path)
        return error_set_memory(error, "a path", 0);
    bool good = true;
    if (run_files_read_journal_crc32(directory, &length, &expected))
        good = check_length(path, length, error) &&
               ((sum && sum->length == length && sum->crc32 == expected) ||
                check_sum(path, length, expected, error));
    else if (run_files_read_summary(directory, &end) && end.iteration > 0)
        good = check_reach(path, UINT64_MAX, end.iteration, error);
    free(path);
    return good;
}
