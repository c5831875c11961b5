/* sweep_estimate.h: how long the rest of a sweep will take, from what has run.
 *
 * A cell that has not run is taken to need, for an image, what the most similar measured one
 * needed, times the ratio of their FLOPs: on the same device; rather of the same network and
 * technique; then of the nearest batch, on a logarithmic scale. It is an estimate, and is to be
 * called so. Kept runs of other sweeps and of tinca train count as well, where they ran with as
 * many threads.
 */
#ifndef TINCA_SESSION_SWEEP_SWEEP_ESTIMATE_H
#define TINCA_SESSION_SWEEP_SWEEP_ESTIMATE_H

#include "engine/devices/device.h"
#include "session/sweep/sweep.h"

struct sweep_measured {
    char network[64], device[DEVICE_NAME_SIZE], data[128];
    size_t technique, batch, threads; /* threads 0: all cores */
    bool plain;                       /* neither shrunk nor widened */
    double flops;                     /* of one image; 0: not known */
    double seconds_per_image;
    double images; /* in an epoch of its data; 0: not known */
};

struct sweep_estimate {
    struct sweep_measured *measured;
    size_t count, capacity;
};

void sweep_estimate_free(struct sweep_estimate *estimate); /* starts as, and becomes, {0} */

/* Learns from a finished cell whose result is known. */
bool sweep_estimate_add_cell(struct sweep_estimate *estimate, const struct sweep_cell *cell,
                             struct error *error);
/* Learns from a kept run by its folder; one that is not over, or cannot be read, tells nothing. */
bool sweep_estimate_add_run(struct sweep_estimate *estimate, const char *directory,
                            struct error *error);
/* Learns from the newest kept runs, at most `limit` of them. */
bool sweep_estimate_add_runs(struct sweep_estimate *estimate, size_t limit, struct error *error);

/* Seconds that a cell would take whose forecast is known; negative: nothing like it was measured.
 */
double sweep_estimate_cell(const struct sweep_estimate *estimate, const struct sweep_cell *cell);

/* Of all cells that are due, and of those that are on what is left. */
struct sweep_time {
    double seconds;        /* in all, one after the other */
    size_t known, unknown; /* cells that it counts, and those it cannot tell */
};
struct sweep_time sweep_estimate_left(const struct sweep_estimate *estimate,
                                      const struct sweep *sweep);

/* "about 3:07 min", "about 3:07 min, and 4 cells that cannot be told yet", "not known yet". `jobs`
 * divide the time. Returns `text`. */
char *sweep_time_text(const struct sweep_time *time, size_t jobs, char *text, size_t size);

#endif
