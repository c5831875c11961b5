/* sweep_grid.h: the grid of a sweep: one configuration, and the settings that vary.
 *
 * An axis is a setting with its list of values. Networks, techniques, devices and batches are
 * always axes, with at least one value; any other setting can be one. The cells are all
 * combinations in a fixed order: networks vary slowest, then techniques, the other axes in the
 * order of config_fields, devices, and batches fastest. So each row of the studies' tables, in
 * which only the batch varies, is a contiguous range of cells.
 *
 * A cell's id is a hash of its configuration without the number of threads, which changes no
 * result. Cells of different grids with the same id are the same experiment.
 */
#ifndef TINCA_STUDIES_SWEEP_SWEEP_GRID_H
#define TINCA_STUDIES_SWEEP_SWEEP_GRID_H

#include "base/error.h"
#include "base/json/json.h"
#include "runs/folder/run_name.h"
#include "runs/settings/config.h"

#include <stdbool.h>
#include <stddef.h>

enum { SWEEP_AXES = 16, SWEEP_MAX_CELLS = 10000, SWEEP_ID = 96, SWEEP_NAME = 64 };
enum { SWEEP_AFTERS = 16, SWEEP_CHAIN = 240 };

/* The chain that trains the model on for as many epochs as techniques do, and does nothing else:
 * what fine-tuning gains without the technique. */
#define SWEEP_CONTROL "tune"

struct sweep_axis {
    const struct config_field *field;
    char **values; /* as config_get prints them, without duplicates */
    size_t count, capacity;
};

enum { SWEEP_OPERAND = 160 }; /* bytes of a name as shell_operand quotes it in an advice */

struct sweep_grid {
    char name[SWEEP_NAME];                         /* "": sweep_grid_complete chooses one */
    char tags[RUN_TAGS_SIZE], note[RUN_NOTE_SIZE]; /* of the cells' runs; "": none */
    struct run_config base;
    struct sweep_axis axes[SWEEP_AXES];
    size_t axis_count;
    /* the chains of techniques after training (sweep_after.h), which are no part of the cells' IDs:
     * adding one trains nothing again */
    char after[SWEEP_AFTERS][SWEEP_CHAIN];
    size_t after_count;
    size_t after_epochs; /* of fine-tuning in steps that train; 0: none */
};

void sweep_grid_begin(struct sweep_grid *grid); /* the defaults, no axes */
void sweep_grid_free(struct sweep_grid *grid);  /* removes all axes */

/* The grids of the studies: name and a sentence for the user. The last one has the name NULL. */
struct sweep_preset {
    const char *name, *what;
    const char *networks, *techniques, *batches, *preset, *data;
};
extern const struct sweep_preset sweep_presets[];

/* Fills empty axes, preset and data from a study's grid. The devices become all those of this
 * machine except the slow reference. */
bool sweep_grid_apply(struct sweep_grid *grid, const char *preset, struct error *error);

/* Adds a value to the axis of a setting; the key may also be networks, techniques, batches or
 * devices. The range 1..512 adds powers of two for batches and every whole number for other counts.
 */
bool sweep_grid_add(struct sweep_grid *grid, const char *key, const char *value,
                    struct error *error);
/* Adds a list of values, separated by semicolons if it contains one, else by commas. */
bool sweep_grid_vary(struct sweep_grid *grid, const char *key, const char *values,
                     struct error *error);
/* Replaces the values of a setting by the list in "lr=0.1,0.01". */
bool sweep_grid_vary_setting(struct sweep_grid *grid, const char *setting, struct error *error);
/* Removes an axis. */
void sweep_grid_clear(struct sweep_grid *grid, const char *key);

/* Adds chains of techniques, with commas between them; one that is there already is left out.
 * Returns false with an error if a step is not known. */
bool sweep_grid_add_after(struct sweep_grid *grid, const char *list, struct error *error);
/* Returns whether a step of the chain trains: distillation always does, the others for the epochs
 * of the grid. */
bool sweep_grid_trains(const struct sweep_grid *grid, const char *chain);
/* Adds the chain SWEEP_CONTROL if a step of some chain trains. Returns false with an error if there
 * is no room for it. */
bool sweep_grid_add_control(struct sweep_grid *grid, struct error *error);
/* Returns the axis of a setting, or NULL. */
const struct sweep_axis *sweep_grid_axis(const struct sweep_grid *grid, const char *key);
bool sweep_grid_varies(const struct sweep_grid *grid, const char *key); /* has several values */

/* Makes all paths in the grid absolute (config_paths.h). */
bool sweep_grid_make_absolute(struct sweep_grid *grid, struct error *error);

/* Completes the grid with the four fixed axes and a name. Fails for too many cells, an unknown
 * network, or a name that cannot be a file name. */
bool sweep_grid_complete(struct sweep_grid *grid, struct error *error);

/* --- cells of a complete grid --- */

/* Returns the number of cells, or any number above SWEEP_MAX_CELLS if there are too many. */
size_t sweep_grid_cells(const struct sweep_grid *grid);
/* Sets the configuration and the id of a cell; `id` has SWEEP_ID bytes. */
bool sweep_grid_cell(const struct sweep_grid *grid, size_t index, struct run_config *config,
                     char *id, struct error *error);
/* Returns which value of an axis the cell has, as an index into axis->values. */
size_t sweep_grid_value_index(const struct sweep_grid *grid, size_t index, size_t axis);

/* Returns the number of columns of the cells' table, which are the batches: row = index / columns.
 */
size_t sweep_grid_columns(const struct sweep_grid *grid);

/* Returns the number of devices. */
size_t sweep_grid_devices(const struct sweep_grid *grid);
/* Returns whether a setting varies that is no part of the cells' IDs. */
bool sweep_grid_varies_settings(const struct sweep_grid *grid);
/* Writes the cell's values of these settings, "lr 0.1, seed 2". Returns `text`. */
char *sweep_grid_settings_label(const struct sweep_grid *grid, size_t index, char *text,
                                size_t size);

/* Writes what the cells of a row share, "resnet20-shift, lr 0.1, cuda". The device is included if
 * `with_device` is set and there are several. Returns `text`. */
char *sweep_grid_row_label(const struct sweep_grid *grid, size_t row, bool with_device, char *text,
                           size_t size);

/* --- sweep_grid_file.c: {"networks": [...], "batches": ["1..512"], "data": "tench", ...} --- */

/* Reads a grid from a JSON file, in which each setting is a value or an array of values, and "grid"
 * names a study's grid. */
bool sweep_grid_read(struct sweep_grid *grid, const char *path, struct error *error);
/* Returns the grid as JSON, owned by the caller, or NULL if memory runs out. */
struct json *sweep_grid_to_json(const struct sweep_grid *grid);
/* Adds a value of an axis to `parent`, as a number if the setting is numeric. */
bool sweep_grid_add_value(struct json *parent, const char *key, const struct config_field *field,
                          const char *value);

#endif
