/* The order matters: until the checkpoint has been read to its end, and fits, nothing in the run's
 * directory is changed, so that a run that cannot go on now can do so later. */
#include "session/resume.h"

#include "base/file.h"
#include "base/host.h"
#include "session/checkpoint.h"
#include "session/run_directory.h"
#include "session/run_files.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- what may go on, and what may change --- */

bool resume_allows(const struct run_snapshot *snapshot, const char *id, struct error *error)
{
    switch (snapshot->status) {
    case RUN_DONE:
        return error_set(error, ERROR_USAGE, id, "tinca train with more epochs makes another one",
                         "this run is complete: there is nothing left to do");
    case RUN_FAILED:
        if (snapshot->error.kind == ERROR_DIVERGED)
            return error_set(error, ERROR_USAGE, id, "train again with a smaller learning rate",
                             "its loss stopped being a number, and would do so again");
        return true;
    case RUN_STOPPED:
    case RUN_REFUSED:
    case RUN_INTERRUPTED:
        return true;
    default:
        return error_set(error, ERROR_USAGE, id, "wait for its end, or stop it", "this run is on");
    }
}

const char *const resume_fields[] = {"threads",    "epochs",           "iterations",
                                     "checkpoint", "checkpoint-share", NULL};

/* Whether what has been computed so far would have been another in a longer run. */
static bool depends_on_length(const struct run_config *config)
{
    return config->schedule == SCHEDULE_POLY || config->schedule == SCHEDULE_COSINE ||
           config->schedule == SCHEDULE_LINEAR ||
           (config->schedule == SCHEDULE_STEP && config->step_size == 0);
}

static bool check_length(const struct run_config *config, const struct run_config *changes,
                         struct error *error)
{
    const bool counts = config_is_given(changes, "iterations");
    const size_t old = config->has_iterations ? config->iterations : config->epochs;
    const size_t wanted = counts ? changes->iterations : changes->epochs;
    const char *what = counts ? "--iterations" : "--epochs";
    if (!counts && !config_is_given(changes, "epochs"))
        return true;
    if (counts != config->has_iterations)
        return error_set(error, ERROR_USAGE, what,
                         config->has_iterations ? "give --iterations" : "give --epochs",
                         "the run's length was given in the other unit");
    if (wanted < old)
        return error_set(error, ERROR_USAGE, what, "s stops a run",
                         "a resumed run can become longer, not shorter: it is to have %zu", old);
    if (wanted > old && depends_on_length(config))
        return error_set(error, ERROR_USAGE, what, "train a longer run from its start",
                         "the schedule %s spreads over the whole run: what has been trained would "
                         "have been another",
                         schedule_name((enum schedule_kind)config->schedule));
    return true;
}

bool resume_change(struct run_config *config, const struct run_config *changes, bool *changed,
                   struct error *error)
{
    char value[64], old[64];
    *changed = false;
    if (!check_length(config, changes, error))
        return false;
    for (size_t i = 0; resume_fields[i]; i++) {
        const char *key = resume_fields[i];
        if (!config_is_given(changes, key))
            continue;
        config_get(changes, key, value, sizeof value);
        config_get(config, key, old, sizeof old);
        *changed |= strcmp(value, old) != 0;
        if (!config_set(config, key, value, error))
            return false;
    }
    return true;
}

/* --- finding the checkpoint --- */

/* Kernels of different instruction sets round in different places. */
static void compare_machines(struct trainer *trainer)
{
    const char *now = instruction_set_name(host_instruction_set());
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

bool resume_begin(struct trainer *trainer)
{
    if (!trainer->checkpoint.file)
        return take_over(trainer, 0) && worker_begin(trainer);
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
