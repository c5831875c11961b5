/* sweep_estimate.h: estimates how long the rest of a sweep takes, from measured runs.
 *
 * The time per image of a cell is that of the most similar measured run, times the ratio of their
 * FLOPs. Similar means: on the same device, then with the same network and technique, then with the
 * nearest batch on a logarithmic scale. Runs of other sweeps and of tinca train count as well if
 * they used as many threads. Views must present the result as an estimate.
 */
#ifndef TINCA_STUDIES_SWEEP_SWEEP_ESTIMATE_H
#define TINCA_STUDIES_SWEEP_SWEEP_ESTIMATE_H

#include "engine/devices/device.h"
#include "studies/sweep/sweep.h"

#include <stdint.h>

struct sweep_measured {
    char network[64], device[DEVICE_NAME_SIZE], data[128];
    size_t technique, batch, threads; /* threads: 0 means all cores */
    bool plain;                       /* the network has standard width */
    double flops;                     /* for one image; 0: unknown */
    double seconds_per_image;
    double images; /* in an epoch of its data; 0: unknown */
};

struct sweep_estimate {
    struct sweep_measured *measured;
    size_t count, capacity;
};

void sweep_estimate_free(struct sweep_estimate *estimate); /* starts as {0}, and is {0} again */

/* Adds the time of a finished cell whose result was read. */
bool sweep_estimate_add_cell(struct sweep_estimate *estimate, const struct sweep_cell *cell,
                             struct error *error);
/* Adds the time of the run in a folder; ignores one that is not finished or cannot be read. */
bool sweep_estimate_add_run(struct sweep_estimate *estimate, const char *directory,
                            struct error *error);
/* Adds the times of the newest saved runs, at most `limit` of them. */
bool sweep_estimate_add_runs(struct sweep_estimate *estimate, size_t limit, struct error *error);

/* Returns how many images a run of this configuration trains on in all its epochs, or 0 if neither
 * its iterations are set nor the images of its data known from a measured run. */
double sweep_estimate_images(const struct sweep_estimate *estimate,
                             const struct run_config *config);

/* Returns the estimated seconds of a cell whose forecast is known, or a negative number if no
 * similar run was measured. */
double sweep_estimate_cell(const struct sweep_estimate *estimate, const struct sweep_cell *cell);

/* The remaining time of all waiting and running cells. */
struct sweep_time {
    double seconds;        /* the sum, as if they ran one after the other */
    size_t known, unknown; /* cells with and without an estimate */
};

/* Returns the time that the waiting and running cells still need. */
struct sweep_time sweep_estimate_left(const struct sweep_estimate *estimate,
                                      const struct sweep *sweep);

/* Writes "about 3:07 min", "about 3:07 min, and 4 cells that cannot be estimated yet" or "not known
 * yet", for `jobs` cells at a time. Returns `text`. */
char *sweep_time_text(const struct sweep_time *time, size_t jobs, char *text, size_t size);

/* --- disk space --- */

/* Forecasts the disk space that the rest of a sweep takes.
 *
 * A finished run keeps its last model, with validation the best one, and its journal. A run that is
 * on has a checkpoint besides, twice while the next one replaces it. */

struct sweep_disk {
    uint64_t bytes;   /* what waiting and running cells will keep */
    uint64_t at_once; /* the checkpoints of `jobs` runs at a time, the largest ones */
    size_t unknown;   /* cells whose number of iterations is not known, so only models count */
    uint64_t free;    /* on the file system of the runs; 0: unknown, or not asked for */
};

/* Returns the forecast for cells whose memory forecast is known. Reads no file. */
struct sweep_disk sweep_disk_left(const struct sweep_estimate *estimate, const struct sweep *sweep,
                                  size_t jobs);

/* Sets disk->free. */
void sweep_disk_measure_free(struct sweep_disk *disk);

/* Returns whether free space is known and too small. */
bool sweep_disk_lacks(const struct sweep_disk *disk);

/* Writes "about 1.20 GiB", "about 1.20 GiB of 35.0 GiB that are free", or "at least ..." if not
 * every number of iterations is known. Returns `text`. */
char *sweep_disk_text(const struct sweep_disk *disk, char *text, size_t size);

/* --- order of the cells --- */

/* The order in which several ranks compute the cells of a sweep: the largest first,
 * so that no large cell begins when all others are done. */

/* Returns the indices of all cells, in descending order of FLOPs of an image times images times
 * epochs, equal ones in the grid's order; the caller frees the array. Cells that wait for
 * techniques after training only come last. Opens a data set if its number of images is needed and
 * no run has recorded it. NULL with an error if memory is short. */
size_t *sweep_order_make(const struct sweep *sweep, const struct sweep_estimate *estimate,
                         struct error *error);

#endif
