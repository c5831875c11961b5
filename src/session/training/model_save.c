/* The models and pictures that a run saves, besides its best model and its checkpoints. */
#include "session/training/model_save.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/files/output_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Saves the networks that were trained beside the one that is saved as the model. */
static bool save_others(struct trainer *trainer, struct error *error)
{
    struct method_network networks[METHOD_NETWORKS];
    const size_t count = method_networks(&trainer->prepared.method, networks);
    bool saved = true;
    for (size_t i = 1; saved && i < count; i++) {
        char name[48];
        snprintf(name, sizeof name, "%s.safetensors", networks[i].name);
        char *path = file_join(trainer->run->directory, name);
        saved = path ? weights_save(networks[i].weights, trainer_save_format(trainer), path, NULL,
                                    error)
                     : error_set_memory(error, "a path", 0);
        free(path);
    }
    return saved;
}

bool model_save(struct trainer *trainer, struct error *error)
{
    struct model_facts facts = prepare_model_facts(&trainer->prepared);
    if (!save_others(trainer, error))
        return false;
    char *path = file_join(trainer->run->directory, "weights.safetensors");
    bool saved = path ? model_file_save(&facts, prepare_model_weights(&trainer->prepared),
                                        trainer_save_format(trainer), path, error)
                      : error_set_memory(error, "a path", 0);
    free(path);
    return saved;
}

/* --- --save --- */

bool model_save_copy(struct trainer *trainer)
{
    const struct run *run = trainer->run;
    const bool best = strcmp(run->config.preset, "cifar") == 0 && trainer->has_best;
    if (!run->save_path)
        return true;
    char *path = file_join(run->directory, best ? "best.safetensors" : "weights.safetensors");
    bool saved = path ? output_file_copy(run->save_path, path, trainer->error)
                      : error_set_memory(trainer->error, "a path", 0);
    free(path);
    return saved;
}

void model_save_without_folder(struct trainer *trainer)
{
    struct error unsaved;
    const struct model_facts facts = prepare_model_facts(&trainer->prepared);
    if (trainer->run->save_path)
        model_file_save(&facts, prepare_model_weights(&trainer->prepared),
                        trainer_save_format(trainer), trainer->run->save_path, &unsaved);
}

/* --- pictures --- */

void model_save_samples(struct trainer *trainer)
{
    char name[48];
    struct error failed;
    const struct samples *samples = &trainer->prepared.samples;
    if (samples->count == 0 || trainer->sample_iteration == trainer->moment.iteration ||
        !trainer_owns_folder(trainer, true))
        return;
    snprintf(name, sizeof name, "sample-%04.0f.png", ceil(trainer->moment.epoch));
    char *path = file_join(trainer->run->directory, name);
    bool saved =
        path ? samples_write(samples, path, &failed) : error_set_memory(&failed, "a path", 0);
    if (saved)
        run_events_add_generated(&trainer->events, path);
    else
        trainer_record_lost(trainer, &failed);
    free(path);
    trainer->sample_iteration = trainer->moment.iteration;
    trainer_restart_clock(trainer);
}
