/* sweep_disk.h: forecasts the disk space that the rest of a sweep takes.
 *
 * A finished run keeps its last model, with validation the best one, and its journal. A run that is
 * on has a checkpoint besides, twice while the next one replaces it. */
#ifndef TINCA_STUDIES_SWEEP_SWEEP_DISK_H
#define TINCA_STUDIES_SWEEP_SWEEP_DISK_H

#include "studies/sweep/sweep_estimate.h"

#include <stdint.h>

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

#endif
