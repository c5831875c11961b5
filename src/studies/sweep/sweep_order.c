/* The size of a cell is the work of its run: FLOPs of an image x images of all epochs. Only the
 * order of sizes counts, so the number of images in a data set is looked up only if some cells
 * differ in it: if the grid varies the data, or some cells count iterations and others epochs. */
#include "studies/sweep/sweep_order.h"

#include "base/memory.h"
#include "data/dataset/dataset.h"
#include "runs/settings/config_data.h"
#include "runs/settings/settings.h"
#include "training/prepare/prepare.h"

#include <stdlib.h>
#include <string.h>

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
static double flops_of(const struct sweep_cell *cell)
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
    return flops_of(cell) * images;
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
