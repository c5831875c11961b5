/* The energy of a run is a sum of laps of the meter. It is the energy of the device, or of the
 * whole processor, from the first iteration to the end: validations and checkpoints are included,
 * pauses are not. A resumed run continues the sums of its checkpoint. The sums are those of the
 * snapshot, which has the reason if there are none. */
#include "training/observer.h"

#include "base/language.h"
#include "models/measure/energy_meter.h"

#include <stdio.h>

struct energy_state {
    struct energy_meter *meter; /* NULL: the energy is not measured, or not any more */
    uint64_t iteration;         /* the first one that is not in now.energy_images */
    uint64_t added;             /* clock_nanoseconds: when after_iteration added last */
};

static void forget(struct run_snapshot *now, const char *why)
{
    now->energy.joules = now->energy.seconds = now->energy.images = 0;
    snprintf(now->energy.unknown, sizeof now->energy.unknown, "%s", why);
}

static void close_meter(struct energy_state *energy)
{
    energy_meter_end(energy->meter);
    energy->meter = NULL;
}

/* Takes a lap. If a counter cannot be read, forgets the sums, which would miss a part of the run,
 * keeps the reason, measures no longer, and returns false. */
static bool take_lap(struct energy_state *energy, struct trainer *trainer, struct energy *lap)
{
    *lap = energy_meter_lap(energy->meter);
    if (lap->known)
        return true;
    forget(&trainer->now, lap->why_unknown);
    close_meter(energy);
    return false;
}

/* Adds the energy used since the last call, unless the run is paused. */
static void add(struct energy_state *energy, struct trainer *trainer)
{
    struct energy lap;
    struct run_snapshot *now = &trainer->now;
    if (!energy->meter || now->status == RUN_PAUSED || !take_lap(energy, trainer, &lap))
        return;
    now->energy.joules += lap.joules;
    now->energy.seconds += lap.seconds;
    now->energy.images += (double)(trainer->moment.iteration - energy->iteration) *
                          (double)trainer->settings.training.batch;
    energy->iteration = trainer->moment.iteration;
}

static void begin(void *state, struct trainer *trainer)
{
    struct energy lap;
    struct energy_state *energy = state;
    trainer->now.energy.unknown[0] = '\0';
    energy->iteration = trainer->moment.iteration;
    energy->meter = energy_meter_begin(trainer->prepared.device, NULL);
    take_lap(energy, trainer, &lap);
}

/* Adds once a second: NVIDIA's library takes some milliseconds to read its counters. */
static void after_iteration(void *state, struct trainer *trainer, struct iteration *iteration)
{
    static const uint64_t interval = 1000000000; /* nanoseconds */
    struct energy_state *energy = state;
    if (iteration->now - energy->added < interval)
        return;
    energy->added = iteration->now;
    add(energy, trainer);
}

/* Excludes the energy used during a pause. */
static void pause_energy(void *state, struct trainer *trainer, bool on)
{
    struct energy lap;
    struct energy_state *energy = state;
    if (on)
        add(energy, trainer);
    else if (energy->meter)
        take_lap(energy, trainer, &lap);
}

static void save(void *state, struct trainer *trainer)
{
    add(state, trainer);
}

static void end(void *state, struct trainer *trainer, enum run_status status, bool writes)
{
    struct energy_state *energy = state;
    struct run_snapshot *now = &trainer->now;
    (void)status;
    (void)writes;
    add(energy, trainer);
    if (!energy->meter)
        return;
    const bool is_short = now->energy.seconds < energy_meter_least_seconds(energy->meter);
    if (is_short || !run_snapshot_has_energy(now))
        forget(now, is_short ? _("the run is too short for the energy counters")
                             : _("the energy counters did not change during the run"));
}

static void close_energy(void *state, struct trainer *trainer)
{
    (void)trainer;
    close_meter(state);
}

static const struct saved_number numbers[] = {
    ADDED_OF_TRAINER(NUMBER, "energy_joules", now.energy.joules),
    ADDED_OF_TRAINER(NUMBER, "energy_seconds", now.energy.seconds),
    ADDED_OF_TRAINER(NUMBER, "energy_images", now.energy.images),
    {0}};

const struct observer observer_energy = {.name = "energy",
                                         .state_bytes = sizeof(struct energy_state),
                                         .numbers = numbers,
                                         .begin = begin,
                                         .after_iteration = after_iteration,
                                         .pause = pause_energy,
                                         .save = save,
                                         .end = end,
                                         .close = close_energy};
