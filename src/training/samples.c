/* Writes pictures of a network that makes images: sample-EPOCH.png in the run's folder, at the end
 * of epochs and of the run. A picture that cannot be written is recorded as lost. */
#include "training/observer.h"

#include "base/files/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct samples_state {
    uint64_t iteration; /* of the last picture */
};

static uint64_t bytes_of_samples(const struct run_extent *extent)
{
    return extent->inference ? samples_bytes(extent->network, extent->inference) : 0;
}

static uint64_t bytes_of_picture(const struct run_extent *extent)
{
    return extent->inference ? samples_picture_bytes(extent->network) : 0;
}

static void write_picture(void *state, struct trainer *trainer)
{
    char name[48];
    struct error failed;
    struct samples_state *made = state;
    const struct samples *samples = &trainer->prepared.samples;
    if (samples->count == 0 || made->iteration == trainer->moment.iteration ||
        !trainer_owns_folder(trainer, true))
        return;
    snprintf(name, sizeof name, "sample-%04.0f.png", ceil(trainer->moment.epoch));
    char *path = file_join(trainer->run->directory, name);
    const bool saved =
        path ? samples_write(samples, path, &failed) : error_set_memory(&failed, "a path", 0);
    if (saved)
        TELL_OBSERVERS(trainer, after_picture, path);
    else
        trainer_record_lost(trainer, &failed);
    free(path);
    made->iteration = trainer->moment.iteration;
    trainer_restart_clock(trainer);
}

static bool finish(void *state, struct trainer *trainer)
{
    write_picture(state, trainer);
    return true;
}

static const struct saved_number numbers[] = {
    SAVED(COUNT, "sampled", struct samples_state, iteration), {0}};

const struct observer observer_samples = {.name = "samples",
                                          .state_bytes = sizeof(struct samples_state),
                                          .numbers = numbers,
                                          .bytes = bytes_of_samples,
                                          .at_rest = bytes_of_picture,
                                          .after_epoch = write_picture,
                                          .finish = finish};
