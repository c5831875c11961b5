/* The energy of a run is a sum of laps of the meter. */
#include "session/training/energy.h"

#include "base/language.h"

#include <stdio.h>

/* Forgets the sums, which would miss a part of the run, and keeps the reason. */
static void give_up(struct trainer *trainer, const struct energy *lap)
{
    struct run_snapshot *now = &trainer->now;
    now->energy_joules = now->energy_seconds = now->energy_images = 0;
    snprintf(now->energy_unknown, sizeof now->energy_unknown, "%s", lap->why_unknown);
    energy_end(trainer);
}

void energy_begin(struct trainer *trainer)
{
    trainer->now.energy_unknown[0] = '\0';
    trainer->energy_iteration = trainer->moment.iteration;
    trainer->energy = energy_meter_begin(trainer->prepared.device, NULL);
    const struct energy lap = energy_meter_lap(trainer->energy);
    if (!lap.known)
        give_up(trainer, &lap);
}

void energy_step(struct trainer *trainer, uint64_t now)
{
    static const uint64_t interval = 1000000000; /* nanoseconds */
    if (now - trainer->energy_added < interval)
        return;
    trainer->energy_added = now;
    energy_add(trainer);
}

void energy_add(struct trainer *trainer)
{
    struct run_snapshot *now = &trainer->now;
    if (!trainer->energy || now->status == RUN_PAUSED)
        return;
    const struct energy lap = energy_meter_lap(trainer->energy);
    if (!lap.known) {
        give_up(trainer, &lap);
        return;
    }
    now->energy_joules += lap.joules;
    now->energy_seconds += lap.seconds;
    now->energy_images += (double)(trainer->moment.iteration - trainer->energy_iteration) *
                          (double)trainer->run->config.batch;
    trainer->energy_iteration = trainer->moment.iteration;
}

void energy_add_last(struct trainer *trainer)
{
    struct run_snapshot *now = &trainer->now;
    energy_add(trainer);
    if (!trainer->energy)
        return;
    const bool is_short = now->energy_seconds < energy_meter_least_seconds(trainer->energy);
    if (!is_short && run_snapshot_has_energy(now))
        return;
    now->energy_joules = now->energy_seconds = now->energy_images = 0;
    snprintf(now->energy_unknown, sizeof now->energy_unknown, "%s",
             is_short ? _("the run is too short for the energy counters")
                      : _("the energy counters did not change during the run"));
}

void energy_skip(struct trainer *trainer)
{
    if (!trainer->energy)
        return;
    const struct energy lap = energy_meter_lap(trainer->energy);
    if (!lap.known)
        give_up(trainer, &lap);
}

void energy_end(struct trainer *trainer)
{
    energy_meter_end(trainer->energy);
    trainer->energy = NULL;
}
