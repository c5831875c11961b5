/* A resumed run's beginning, in its worker.
 *
 * The order matters: until the checkpoint has been read to its end, and fits, nothing in the run's
 * directory is changed, so that a run that cannot go on now can do so later. */
#include "base/file.h"
#include "session/checkpoint.h"
#include "session/experiment.h"
#include "session/run_directory.h"
#include "session/run_files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- finding the checkpoint --- */

/* Kernels of different instruction sets, and different GPUs, round in different places. */
static void compare_machines(struct trainer *trainer)
{
    char now[64];
    device_computes_with(trainer->run->config.device, now, sizeof now);
    const char *then = checkpoint_kernels(&trainer->checkpoint);
    if (then && strcmp(now, then) != 0 && trainer->now.error.kind == ERROR_NONE)
        error_set(&trainer->now.error, ERROR_UNSUPPORTED, trainer->run->early_facts.id,
                  "go on where it was begun to keep every bit",
                  "it was computed with %s, and goes on with %s: the last digits may differ", then,
                  now);
}

bool resume_look(struct trainer *trainer, uint64_t *iteration)
{
    *iteration = 0;
    if (!checkpoint_open(trainer->run->directory, &trainer->checkpoint, &trainer->now.error,
                         trainer->error))
        return false;
    if (!trainer->checkpoint.file)
        return true;
    compare_machines(trainer);
    return checkpoint_place(&trainer->checkpoint, iteration, &trainer->run_journal, trainer->error);
}

/* --- going on --- */

static void remove_summary(const struct run *run)
{
    char *path = file_join(run->directory, "summary.json");
    if (path)
        unlink(path);
    free(path);
}

/* From here on the run is on. */
static bool take_over(struct trainer *trainer, uint64_t journal)
{
    struct run *run = trainer->run;
    if (run->changed && !run_files_write_config(run, trainer->error))
        return false;
    if (!journal_open(&run->journal, run->directory, journal, trainer->error))
        return false;
    remove_summary(run);
    run_directory_clear_parts(run->directory);
    return true;
}

static bool count_point(void *context, const struct json *line, struct error *error)
{
    struct series_point point;
    uint64_t *points = context;
    (void)error;
    *points += journal_read_point(line, &point);
    return true;
}

static void note_resumption(struct trainer *trainer)
{
    struct json *event = json_new_object();
    if (json_add_string(event, "event", "resume") &&
        json_add_count(event, "iteration", trainer->moment.iteration) &&
        json_add_count(event, "threads", trainer->prepared.device->threads))
        journal_add_event(&trainer->run->journal, "resume", event);
    else
        json_free(event);
}

/* What the checkpoint does not hold is in the journal: the curves, the findings, the tempo. */
static bool read_back(struct trainer *trainer)
{
    struct run_snapshot *now = &trainer->now, read = *now;
    if (!run_state_read_journal(trainer->run, &read, &trainer->tempo, trainer->error))
        return false;
    now->finding_count = read.finding_count;
    now->iteration = now->begun_at = now->checkpoint_iteration = trainer->moment.iteration;
    now->epoch = trainer->moment.epoch;
    now->loss = read.loss;
    now->loss_caffe = trainer->meter.caffe;
    now->loss_mean = trainer->meter.exact;
    now->loss_discriminator = read.loss_discriminator;
    now->loss_l1 = read.loss_l1;
    now->learning_rate = read.learning_rate;
    now->ms_per_image_median = read.ms_per_image_median;
    now->elapsed_seconds = trainer->before = trainer->seconds_kept;
    trainer->fed = now->feed_wait_seconds;
    return true;
}

/* What a run recorded that was killed before its first checkpoint: it is computed again, but not
 * thrown away. A journal without a single iteration is. */
static bool put_journal_aside(struct trainer *trainer)
{
    struct run *run = trainer->run;
    char *path = file_join(run->directory, "journal.jsonl");
    char *aside = file_join(run->directory, "journal.previous.jsonl");
    uint64_t points = 0;
    bool done = path && aside;
    if (!done)
        error_set_memory(trainer->error, "a path", 0);
    else if (journal_read(path, count_point, &points, NULL) && points > 0) {
        done = rename(path, aside) == 0 ||
               error_set_errno(trainer->error, path, "check the disk", "cannot be renamed");
        if (done && trainer->now.error.kind == ERROR_NONE)
            error_set(&trainer->now.error, ERROR_INTERRUPTED, run->early_facts.id,
                      "nothing is to be done",
                      "it had no checkpoint yet and begins again with its first iteration; the "
                      "%llu that it had recorded are kept as journal.previous.jsonl",
                      (unsigned long long)points);
    }
    free(path);
    free(aside);
    return done;
}

bool resume_begin(struct trainer *trainer)
{
    bool known;
    if (!experiment_check(trainer, &known))
        return false;
    if (!trainer->checkpoint.file)
        return put_journal_aside(trainer) && take_over(trainer, 0) && worker_begin(trainer);
    if (!checkpoint_restore(trainer, &trainer->checkpoint, trainer->error))
        return false;
    if (!take_over(trainer, trainer->run_journal) || !read_back(trainer))
        return false;
    const struct run_facts facts = worker_describe(trainer);
    run_state_publish(trainer->run, &facts);
    note_resumption(trainer);
    safetensors_close(&trainer->checkpoint);
    return true;
}
