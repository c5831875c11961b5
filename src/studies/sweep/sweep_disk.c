/* The sizes of models and checkpoints follow from the forecast of memory, which counts weights and
 * the solver's values as float32. */
#include "studies/sweep/sweep_disk.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/text.h"
#include "runs/folder/run_directory.h"
#include "runs/settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

enum {
    JOURNAL_LINE = 210, /* bytes of an iteration, at most */
    SMALL_FILES = 20000 /* configuration, network, profile, summary, headers */
};

static uint64_t models_bytes(const struct sweep_cell *cell)
{
    const bool half = record_settings(&cell->config).save_precision != 0;
    const uint64_t one = half ? cell->weight_bytes / 2 : cell->weight_bytes;
    return data_settings(&cell->config).validate[0] ? 2 * one : one;
}

static uint64_t checkpoint_bytes(const struct sweep_cell *cell)
{
    return 2 * (cell->weight_bytes + cell->solver_bytes);
}

/* Adds the checkpoints of the `jobs` largest cells. */
static uint64_t largest_checkpoints(const struct sweep *sweep, size_t jobs)
{
    uint64_t sum = 0, bound = UINT64_MAX;
    while (jobs > 0) { /* all cells of one size at a time, from the largest size on */
        uint64_t largest = 0, bytes;
        size_t count = 0;
        for (size_t i = 0; i < sweep->count; i++) {
            bytes = sweep_is_due(sweep, i) ? checkpoint_bytes(&sweep->cells[i]) : 0;
            if (bytes >= bound || bytes < largest || bytes == 0)
                continue;
            count = bytes > largest ? 1 : count + 1;
            largest = bytes;
        }
        if (count == 0)
            break;
        count = count < jobs ? count : jobs;
        sum += count * largest;
        jobs -= count;
        bound = largest;
    }
    return sum;
}

struct sweep_disk sweep_disk_left(const struct sweep_estimate *estimate, const struct sweep *sweep,
                                  size_t jobs)
{
    struct sweep_disk disk = {0};
    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_cell *cell = &sweep->cells[i];
        if ((cell->state != SWEEP_RUNNING && !sweep_is_due(sweep, i)) || !cell->forecast_known)
            continue;
        const double images = sweep_estimate_images(estimate, &cell->config);
        const double iterations = images / (double)training_settings(&cell->config).batch;
        disk.bytes += models_bytes(cell) + SMALL_FILES + (uint64_t)(iterations * JOURNAL_LINE);
        disk.unknown += images <= 0;
    }
    disk.at_once = largest_checkpoints(sweep, jobs);
    return disk;
}

void sweep_disk_measure_free(struct sweep_disk *disk)
{
    struct statvfs system;
    char *home = run_directory_home(NULL);
    /* before the first run the folder is missing; it will be made on the same disk as one above it
     */
    for (char *slash; home && !file_exists(home) && (slash = strrchr(home, '/')) && slash > home;)
        *slash = '\0';
    if (home && statvfs(home, &system) == 0)
        disk->free = (uint64_t)system.f_bavail * system.f_frsize;
    free(home);
}

bool sweep_disk_lacks(const struct sweep_disk *disk)
{
    return disk->free > 0 && disk->bytes + disk->at_once > disk->free;
}

char *sweep_disk_text(const struct sweep_disk *disk, char *text, size_t size)
{
    char needed[32], available[32];
    text_bytes(disk->bytes + disk->at_once, needed, sizeof needed);
    text_bytes(disk->free, available, sizeof available);
    if (disk->free == 0)
        snprintf(text, size, disk->unknown > 0 ? _("at least %s") : _("about %s"), needed);
    else
        snprintf(text, size,
                 disk->unknown > 0 ? _("at least %s of %s that are free")
                                   : _("about %s of %s that are free"),
                 needed, available);
    return text;
}
