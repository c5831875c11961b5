/* Estimates the duration of cells from measured runs. The list of measured runs is small
 * (hundreds), so each estimate searches all of it for the most similar one. */
#include "studies/sweep/sweep_estimate.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/dataset/dataset.h"
#include "runs/folder/run_directory.h"
#include "runs/record/run_open.h"
#include "runs/settings/config_data.h"
#include "runs/settings/settings.h"
#include "training/prepare/prepare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

void sweep_estimate_free(struct sweep_estimate *estimate)
{
    free(estimate->measured);
    *estimate = (struct sweep_estimate){0};
}

/* --- adding measured runs --- */

/* Returns whether the network has its standard width: others have different FLOPs. */
static bool is_plain(const struct run_config *config)
{
    const struct network_settings network = network_settings(config);
    return network.width_rate == 0 && network.block_rate == 0 && !network.widths[0];
}

static bool add_measured(struct sweep_estimate *estimate, const struct run_config *config,
                         const struct sweep_measured *figures, struct error *error)
{
    const struct network_settings network = network_settings(config);
    const struct machine_settings machine = machine_settings(config);
    if (!memory_grow(&estimate->measured, &estimate->capacity, estimate->count + 1,
                     sizeof *estimate->measured, "an estimate", error))
        return false;
    struct sweep_measured *measured = &estimate->measured[estimate->count++];
    *measured = *figures;
    snprintf(measured->network, sizeof measured->network, "%.63s", network.network);
    snprintf(measured->device, sizeof measured->device, "%s", machine.device);
    snprintf(measured->data, sizeof measured->data, "%.127s", data_settings(config).data);
    measured->technique = network.technique;
    measured->batch = training_settings(config).batch;
    measured->threads = machine.threads;
    measured->plain = is_plain(config);
    return true;
}

bool sweep_estimate_add_cell(struct sweep_estimate *estimate, const struct sweep_cell *cell,
                             struct error *error)
{
    const struct sweep_result *result = &cell->result;
    double images = (double)result->iterations * (double)training_settings(&cell->config).batch;
    if (!result->known || !(result->figures.seconds > 0) || images <= 0)
        return true;
    const struct sweep_measured figures = {.flops = (double)cell->flops,
                                           .seconds_per_image = result->figures.seconds / images,
                                           .images = (double)result->images};
    return add_measured(estimate, &cell->config, &figures, error);
}

/* Returns the FLOPs of a run's network: those of a known run of the same network, or else of one
 * that is built, which is slower. */
static double flops_of(const struct sweep_estimate *estimate, const struct run_config *config)
{
    const struct network_settings network = network_settings(config);
    for (size_t i = 0; i < estimate->count && is_plain(config); i++)
        if (estimate->measured[i].plain && estimate->measured[i].technique == network.technique &&
            strcmp(estimate->measured[i].network, network.network) == 0)
            return estimate->measured[i].flops;
    return (double)prepare_flops(config);
}

bool sweep_estimate_add_run(struct sweep_estimate *estimate, const char *directory,
                            struct error *error)
{
    struct run_outline outline;
    if (!run_peek(directory, &outline, NULL))
        return true;
    const struct run_snapshot *now = &outline.snapshot;
    double images = (double)now->iteration * (double)training_settings(&outline.config).batch;
    bool over = now->status == RUN_DONE || now->status == RUN_STOPPED;
    if (!over || images <= 0 || !(now->elapsed_seconds > 0))
        return true;
    const struct sweep_measured figures = {.flops = flops_of(estimate, &outline.config),
                                           .seconds_per_image = now->elapsed_seconds / images,
                                           .images = now->epoch > 0 ? images / now->epoch : 0};
    return add_measured(estimate, &outline.config, &figures, error);
}

bool sweep_estimate_add_runs(struct sweep_estimate *estimate, size_t limit, struct error *error)
{
    char **ids;
    size_t count;
    char *home = run_directory_home(error);
    bool listed = home && run_directory_list(&ids, &count, error), added = listed;
    for (size_t i = 0; listed && i < count; i++) {
        char *directory = added && count - i <= limit ? file_join(home, ids[i]) : NULL;
        added = added && (!directory || sweep_estimate_add_run(estimate, directory, error));
        free(directory);
        free(ids[i]);
    }
    if (listed)
        free(ids);
    free(home);
    return added;
}

/* --- estimating --- */

/* Returns how much a measured run differs from a cell, or infinity if the two cannot be
 * compared. */
static double distance(const struct sweep_measured *measured, const struct sweep_cell *cell)
{
    const struct run_config *config = &cell->config;
    bool same = strcmp(measured->network, network_settings(config).network) == 0;
    if (strcmp(measured->device, machine_settings(config).device) != 0 ||
        measured->threads != machine_settings(config).threads)
        return (double)INFINITY;
    if (!(same && measured->technique == network_settings(config).technique) &&
        !(measured->flops > 0))
        return (double)INFINITY;
    double unlike =
        same ? measured->technique == network_settings(config).technique ? 0 : 100 : 200;
    if (measured->flops > 0 && cell->flops > 0)
        unlike += fabs(log2(measured->flops / (double)cell->flops));
    return unlike + fabs(log2((double)measured->batch / (double)training_settings(config).batch));
}

/* Returns the number of images in an epoch of this data, or 0 if unknown. */
static double images_of(const struct sweep_estimate *estimate, const char *data)
{
    for (size_t i = estimate->count; i-- > 0;)
        if (estimate->measured[i].images > 0 && strcmp(estimate->measured[i].data, data) == 0)
            return estimate->measured[i].images;
    return 0;
}

double sweep_estimate_images(const struct sweep_estimate *estimate, const struct run_config *config)
{
    const struct training_settings training = training_settings(config);
    double batch = (double)training.batch;
    if (training.has_iterations)
        return (double)training.iterations * batch;
    double images = images_of(estimate, data_settings(config).data);
    return floor(images / batch) * batch * (double)training.epochs;
}

double sweep_estimate_cell(const struct sweep_estimate *estimate, const struct sweep_cell *cell)
{
    const struct sweep_measured *best = NULL;
    double least = (double)INFINITY, images = sweep_estimate_images(estimate, &cell->config);
    for (size_t i = 0; i < estimate->count; i++) {
        double unlike = distance(&estimate->measured[i], cell);
        if (unlike <= least && isfinite(unlike)) { /* the latest of equally similar ones */
            best = &estimate->measured[i];
            least = unlike;
        }
    }
    if (!best || images <= 0)
        return -1;
    double ratio = best->flops > 0 && cell->flops > 0 ? (double)cell->flops / best->flops : 1;
    return best->seconds_per_image * ratio * images;
}

struct sweep_time sweep_estimate_left(const struct sweep_estimate *estimate,
                                      const struct sweep *sweep)
{
    struct sweep_time time = {0};
    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_cell *cell = &sweep->cells[i];
        bool on = cell->state == SWEEP_RUNNING;
        if (!on && !sweep_is_due(sweep, i))
            continue;
        double seconds = sweep_estimate_cell(estimate, cell), part = 0;
        if (on && cell->iterations > 0)
            part = (double)cell->iteration / (double)cell->iterations;
        time.seconds += seconds >= 0 ? seconds * (1 - part) : 0;
        time.known += seconds >= 0;
        time.unknown += seconds < 0;
    }
    return time;
}

char *sweep_time_text(const struct sweep_time *time, size_t jobs, char *text, size_t size)
{
    char duration[32];
    text_duration(time->seconds / (double)jobs, duration, sizeof duration);
    if (time->known == 0 && time->unknown > 0)
        snprintf(text, size, "%s", _("not known yet"));
    else if (time->unknown > 0)
        snprintf(text, size,
                 ngettext("about %s, and %zu cell that cannot be estimated yet",
                          "about %s, and %zu cells that cannot be estimated yet", time->unknown),
                 duration, time->unknown);
    else
        snprintf(text, size, _("about %s"), duration);
    return text;
}

/* --- disk space --- */

/* The sizes of models and checkpoints follow from the forecast of memory, which counts weights and
 * the solver's values as float32. */

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

/* --- order of the cells --- */

/* The size of a cell is the work of its run: FLOPs of an image x images of all epochs. Only the
 * order of sizes counts, so the number of images in a data set is looked up only if some cells
 * differ in it: if the grid varies the data, or some cells count iterations and others epochs. */

struct sized {
    size_t cell;
    double size;
};

/* The last data set that was opened, for the cells that follow. */
struct data_size {
    char spec[CONFIG_SPEC];
    double images; /* 0: it cannot be opened, which its cells will say */
};

/* Returns whether the number of images is the same factor in the sizes of all cells. */
static bool images_are_common(const struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (training_settings(&sweep->cells[i].config).has_iterations ||
            strcmp(data_settings(&sweep->cells[i].config).data,
                   data_settings(&sweep->cells[0].config).data) != 0 ||
            strcmp(data_settings(&sweep->cells[i].config).validate,
                   data_settings(&sweep->cells[0].config).validate) != 0)
            return false;
    return true;
}

/* Returns the images of the cell's training data. */
static double count_images(struct data_size *last, const struct run_config *config)
{
    char spec[CONFIG_SPEC];
    config_training_spec(config, spec);
    if (strcmp(spec, last->spec) == 0)
        return last->images;
    struct dataset *dataset = dataset_open(spec, "train", NULL, NULL);
    last->images = dataset ? (double)dataset_facts(dataset)->images : 0;
    dataset_free(dataset);
    memcpy(last->spec, spec, sizeof spec);
    return last->images;
}

/* Returns the FLOPs of an image. */
static double image_flops(const struct sweep_cell *cell)
{
    return (double)(cell->forecast_known ? cell->flops : prepare_flops(&cell->config));
}

static double size_of(const struct sweep_cell *cell, const struct sweep_estimate *estimate,
                      bool common, struct data_size *last)
{
    const struct run_config *config = &cell->config;
    if (sweep_is_computed(cell))
        return 0;
    double images =
        common ? (double)training_settings(config).epochs : sweep_estimate_images(estimate, config);
    if (images <= 0)
        images = count_images(last, config) * (double)training_settings(config).epochs;
    return image_flops(cell) * images;
}

static int larger_first(const void *a, const void *b)
{
    const struct sized *one = a, *other = b;
    if (one->size != other->size)
        return one->size < other->size ? 1 : -1;
    return one->cell > other->cell ? 1 : -1;
}

size_t *sweep_order_make(const struct sweep *sweep, const struct sweep_estimate *estimate,
                         struct error *error)
{
    struct data_size last = {0};
    const bool common = images_are_common(sweep);
    struct sized *sized = memory_new(sweep->count, sizeof *sized, "a sweep", error);
    size_t *order = sized ? memory_new(sweep->count, sizeof *order, "a sweep", error) : NULL;
    for (size_t i = 0; order && i < sweep->count; i++)
        sized[i] = (struct sized){i, size_of(&sweep->cells[i], estimate, common, &last)};
    if (order)
        qsort(sized, sweep->count, sizeof *sized, larger_first);
    for (size_t i = 0; order && i < sweep->count; i++)
        order[i] = sized[i].cell;
    free(sized);
    return order;
}
