/* sweep_grid.h: what a sweep is asked to do: one configuration, and the settings that vary.
 *
 * An axis is a setting with the values that it takes. Networks, techniques, devices and batches
 * are always axes, of one value at least; any other setting may be one. The cells are all
 * combinations, in a fixed order: networks change slowest, then techniques, the other axes in the
 * order of config_fields, devices, and batches fastest. So a row of the studies' tables (all that
 * is not the batch) is a stretch of cells that lie side by side.
 *
 * A cell's id is made from its whole configuration but the number of threads, which changes no
 * result: whatever grid it stands in, the same id is the same experiment.
 */
#ifndef TINCA_SESSION_SWEEP_SWEEP_GRID_H
#define TINCA_SESSION_SWEEP_SWEEP_GRID_H

#include "base/error.h"
#include "base/json/json.h"
#include "session/config/config.h"

#include <stdbool.h>
#include <stddef.h>

enum { SWEEP_AXES = 16, SWEEP_MAX_CELLS = 10000, SWEEP_ID = 96, SWEEP_NAME = 64 };

struct sweep_axis {
    const struct config_field *field;
    char **values; /* as config_get prints them, each once */
    size_t count, capacity;
};

struct sweep_grid {
    char name[SWEEP_NAME]; /* "": sweep_grid_settle finds one */
    struct run_config base;
    struct sweep_axis axes[SWEEP_AXES];
    size_t axis_count;
};

void sweep_grid_begin(struct sweep_grid *grid); /* the defaults, no axes */
void sweep_grid_free(struct sweep_grid *grid);  /* leaves it without axes */

/* The grids of the studies, for people: name and one sentence. NULL name: the end. */
struct sweep_preset {
    const char *name, *what;
    const char *networks, *techniques, *batches, *preset, *data;
};
extern const struct sweep_preset sweep_presets[];

/* Fills axes that have no value yet, preset and data from a study's grid. Devices become all that
 * this machine has but the slow reference. */
bool sweep_grid_apply(struct sweep_grid *grid, const char *preset, struct error *error);

/* Adds a value to the axis of a setting, whose key may also be networks, techniques, batches or
 * devices. 1..512 stands for the powers of two from 1 to 512 where batches vary, and for each whole
 * number where another count does. */
bool sweep_grid_add(struct sweep_grid *grid, const char *key, const char *value,
                    struct error *error);
/* The same of a list, whose values are separated by commas, or by semicolons where one is there. */
bool sweep_grid_vary(struct sweep_grid *grid, const char *key, const char *values,
                     struct error *error);
/* The same of "lr=0.1,0.01", whose list replaces the values that the setting had. */
bool sweep_grid_vary_setting(struct sweep_grid *grid, const char *setting, struct error *error);
/* Takes an axis out. */
void sweep_grid_clear(struct sweep_grid *grid, const char *key);
const struct sweep_axis *sweep_grid_axis(const struct sweep_grid *grid, const char *key);
bool sweep_grid_varies(const struct sweep_grid *grid, const char *key); /* several values */

/* Makes the paths of the grid absolute (config_paths.h). */
bool sweep_grid_make_absolute(struct sweep_grid *grid, struct error *error);

/* Completes the grid: the four axes, a name. Refuses too many cells, a network that does not exist
 * and a name that is no file name. */
bool sweep_grid_settle(struct sweep_grid *grid, struct error *error);

/* --- cells of a settled grid --- */

size_t sweep_grid_cells(const struct sweep_grid *grid);
/* The configuration and id of a cell; `id` holds SWEEP_ID. */
bool sweep_grid_cell(const struct sweep_grid *grid, size_t index, struct run_config *config,
                     char *id, struct error *error);
/* Which value of an axis a cell has. */
size_t sweep_grid_place(const struct sweep_grid *grid, size_t index, size_t axis);

/* The table that cells make: row = index / columns, and the columns are the batches. */
size_t sweep_grid_columns(const struct sweep_grid *grid);
size_t sweep_grid_devices(const struct sweep_grid *grid);
/* "resnet20-shift, lr 0.1, cuda": what the cells of a row share; the device only where there are
 * several and `with_device`. Returns `text`. */
char *sweep_grid_row_label(const struct sweep_grid *grid, size_t row, bool with_device, char *text,
                           size_t size);

/* --- sweep_grid_file.c: {"networks": [...], "batches": ["1..512"], "data": "tench", ...} --- */

/* Every setting may be one value or an array of them; "grid" names a study's. */
bool sweep_grid_read(struct sweep_grid *grid, const char *path, struct error *error);
/* The same as a tree; NULL: out of memory. */
struct json *sweep_grid_to_json(const struct sweep_grid *grid);
/* Adds a value of an axis: as a number where the setting is one. */
bool sweep_grid_add_value(struct json *parent, const char *key, const struct config_field *field,
                          const char *value);

#endif
