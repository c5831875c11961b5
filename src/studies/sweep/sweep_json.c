/* Writes the results of a sweep as one JSON document: for every cell the varying settings, the
 * state and the figures. */
#include "studies/sweep/sweep_after.h"
#include "studies/sweep/sweep_estimate.h"
#include "studies/sweep/sweep_table.h"

#include <math.h>

static bool add_settings(struct json *object, const struct sweep *sweep, size_t index)
{
    const struct sweep_grid *grid = &sweep->grid;
    bool added = object;
    for (size_t a = 0; added && a < grid->axis_count; a++) {
        const struct sweep_axis *axis = &grid->axes[a];
        added = sweep_grid_add_value(object, axis->field->key, axis->field,
                                     axis->values[sweep_grid_value_index(grid, index, a)]);
    }
    return added;
}

static bool add_reason(struct json *object, const struct error *reason)
{
    char text[1200];
    return reason->kind == ERROR_NONE
               ? json_add_null(object, "reason")
               : json_add_string(object, "reason", error_format(reason, text, sizeof text));
}

/* Adds a count, or null if it is not known. */
static bool add_known(struct json *object, const char *key, uint64_t value, bool known)
{
    return known ? json_add_count(object, key, value) : json_add_null(object, key);
}

static bool add_figures(struct json *object, const struct sweep_cell *cell)
{
    const struct sweep_result *result = &cell->result;
    if (!sweep_is_computed(cell) || !result->known)
        return json_add_null(object, "result");
    const struct run_figures *known = &result->figures;
    const uint64_t memory = figure_to_count(known->peak_memory);
    const uint64_t negative = figure_to_count(known->first_negative_iteration);
    struct json *figures = json_add_object(object, "result");
    return json_add_number(figures, "ms_per_image", known->training_ms) &&
           add_known(figures, "memory_bytes", memory, memory > 0) &&
           json_add_number(figures, "loss", known->loss) &&
           json_add_number(figures, "loss_caffe", result->loss_caffe) &&
           add_known(figures, "first_negative_iteration", negative, negative > 0) &&
           json_add_number(figures, "top1", known->top1) &&
           json_add_number(figures, "test_loss", known->test_loss) &&
           json_add_number(figures, "test_top1", known->test_top1) &&
           json_add_count(figures, "iterations", result->iterations) &&
           json_add_count(figures, "images", result->images) &&
           json_add_count(figures, "threads", result->threads) &&
           json_add_number(figures, "seconds", known->seconds);
}

static bool add_cell(struct json *cells, const struct sweep *sweep, size_t index,
                     const struct sweep_estimate *estimate)
{
    const struct sweep_cell *cell = &sweep->cells[index];
    struct json *object = json_add_object(cells, NULL);
    double seconds = estimate ? sweep_estimate_cell(estimate, cell) : -1;
    return json_add_string(object, "id", cell->id) && add_settings(object, sweep, index) &&
           json_add_string(object, "state", sweep_state_name(cell->state)) &&
           add_reason(object, &cell->reason) &&
           (cell->run[0] ? json_add_string(object, "run", cell->run)
                         : json_add_null(object, "run")) &&
           add_known(object, "memory_forecast_bytes", cell->memory_needed, cell->forecast_known) &&
           json_add_number(object, "estimated_seconds", seconds < 0 ? (double)NAN : seconds) &&
           add_figures(object, cell) &&
           (sweep->grid.after_count == 0 || sweep_after_to_json(sweep, index, object));
}

/* --- speed-ups --- */

static bool add_speedup(struct json *list, const struct sweep *sweep, size_t slow, size_t fast,
                        size_t column)
{
    double factor = sweep_speedup(sweep, slow, fast, column);
    if (isnan(factor))
        return true;
    size_t columns = sweep_grid_columns(&sweep->grid);
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "slow", sweep->cells[slow * columns + column].id) &&
           json_add_string(object, "fast", sweep->cells[fast * columns + column].id) &&
           json_add_number(object, "factor", factor) && json_add_null(object, "verdict");
}

static bool add_speedups(struct json *list, const struct sweep *sweep)
{
    size_t columns = sweep_grid_columns(&sweep->grid), devices = sweep_grid_devices(&sweep->grid);
    size_t rows = sweep->count / columns;
    bool added = list;
    for (size_t fast = 0; fast < rows; fast++)
        for (size_t d = 0; d < devices; d++)
            for (size_t column = 0; added && column < columns && d != fast % devices; column++)
                added = add_speedup(list, sweep, fast / devices * devices + d, fast, column);
    return added;
}

/* --- the document --- */

/* Adds the forecast of the disk space for one run at a time. */
static bool add_disk(struct json *root, const struct sweep *sweep,
                     const struct sweep_estimate *estimate)
{
    struct sweep_disk disk = sweep_disk_left(estimate, sweep, 1);
    sweep_disk_measure_free(&disk);
    struct json *object = json_add_object(root, "disk");
    return json_add_count(object, "forecast_bytes", disk.bytes) &&
           json_add_count(object, "checkpoint_bytes", disk.at_once) &&
           json_add_count(object, "unknown_lengths", disk.unknown) &&
           add_known(object, "free_bytes", disk.free, disk.free > 0);
}

static bool add_counts(struct json *object, const struct sweep *sweep)
{
    size_t counts[SWEEP_STATES];
    bool added = object;
    sweep_count(sweep, counts);
    for (size_t i = 0; added && i < SWEEP_STATES; i++)
        added = json_add_count(object, sweep_state_name((enum sweep_state)i), counts[i]);
    return added;
}

struct json *sweep_to_json(const struct sweep *sweep, const struct sweep_estimate *estimate)
{
    struct json *root = json_new_object();
    bool added = json_add_string(root, "format", "tinca-sweep-results") &&
                 json_add_count(root, "version", 1) &&
                 json_add_string(root, "name", sweep->grid.name) &&
                 add_counts(json_add_object(root, "states"), sweep) &&
                 (!estimate || add_disk(root, sweep, estimate));
    struct json *cells = added ? json_add_array(root, "cells") : NULL;
    added = cells;
    for (size_t i = 0; added && i < sweep->count; i++)
        added = add_cell(cells, sweep, i, estimate);
    if (added && add_speedups(json_add_array(root, "speedups"), sweep) &&
        sweep_seeds_to_json(sweep, json_add_array(root, "groups")))
        return root;
    json_free(root);
    return NULL;
}
