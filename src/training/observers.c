/* The observers of every run.
 *
 * Their order (observers.inc) matters in these places. The utilisation completes the point that
 * journal and event file record. Records come before the findings about them. Samples come before
 * the histograms in the event file. The best model is saved before a validation may end the run.
 */
#include "training/observer.h"

#include "base/memory.h"
#include "training/checkpoint.h"

#include <stdlib.h>

#define OBSERVER(name) extern const struct observer observer_##name;
#include "training/observers.inc"
#undef OBSERVER
#define OBSERVER(name) &observer_##name,
static const struct observer *const list[] = {
#include "training/observers.inc"
    NULL};
#undef OBSERVER
enum { OBSERVERS = sizeof list / sizeof *list - 1 };

bool observers_create(struct trainer *trainer)
{
    trainer->observers = list;
    trainer->states = memory_new(OBSERVERS, sizeof *trainer->states, "the run", trainer->error);
    for (size_t i = 0; trainer->states && i < OBSERVERS; i++)
        if (list[i]->state_bytes > 0 &&
            !(trainer->states[i] =
                  memory_new(1, list[i]->state_bytes, "the run", trainer->error))) {
            observers_free(trainer);
            return false;
        }
    for (size_t i = 0; trainer->states && i < OBSERVERS; i++)
        if (list[i]->create)
            list[i]->create(trainer->states[i], trainer);
    return trainer->states;
}

void observers_free(struct trainer *trainer)
{
    for (size_t i = 0; trainer->states && i < OBSERVERS; i++) {
        if (list[i]->close && trainer->states[i])
            list[i]->close(trainer->states[i], trainer);
        free(trainer->states[i]);
    }
    free(trainer->states);
    trainer->states = NULL;
}

/* --- on each rank --- */

static uint64_t bytes_of_all(const struct run_extent *extent)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < OBSERVERS; i++)
        if (list[i]->bytes && (extent->rank == 0 || list[i]->on_all_ranks.prepare))
            bytes += list[i]->bytes(extent);
    return bytes;
}

static uint64_t most_at_rest(const struct run_extent *extent)
{
    uint64_t most = 0;
    for (size_t i = 0; i < OBSERVERS; i++) {
        const uint64_t bytes = list[i]->at_rest && extent->rank == 0 ? list[i]->at_rest(extent) : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static bool check_all(const struct preparation *prepared, struct error *error)
{
    for (size_t i = 0; i < OBSERVERS; i++)
        if (list[i]->on_all_ranks.check && !list[i]->on_all_ranks.check(prepared, error))
            return false;
    return true;
}

static bool prepare_all(struct preparation *prepared, struct error *error)
{
    for (size_t i = 0; i < OBSERVERS; i++)
        if (list[i]->on_all_ranks.prepare && !list[i]->on_all_ranks.prepare(prepared, error))
            return false;
    return true;
}

static void follow_all(struct preparation *prepared, uint64_t iteration)
{
    for (size_t i = 0; i < OBSERVERS; i++)
        if (list[i]->on_all_ranks.follow)
            list[i]->on_all_ranks.follow(prepared, iteration);
}

const struct run_besides observers_besides = {.bytes = bytes_of_all,
                                              .at_rest = most_at_rest,
                                              .check = check_all,
                                              .prepare = prepare_all,
                                              .follow = follow_all};

/* --- numbers and arrays in checkpoints --- */

const char *checkpoint_missing(const struct safetensors *file)
{
    return checkpoint_find_missing(file, list);
}

const char *checkpoint_next_prefix(const struct run_config *config, size_t *next)
{
    while (*next < OBSERVERS) {
        const struct saved_arrays *arrays = list[(*next)++]->arrays;
        if (arrays && arrays->are_used(config))
            return arrays->prefix;
    }
    return NULL;
}
