/* Builds the grid of a sweep and expands it into configurations.
 *
 * Values are parsed by config_set and stored as config_get prints them, so that 0.10 and 0.1 are
 * one value. Axes are stored in the order in which they vary. So the order of the cells depends on
 * the grid alone, not on how it was written down.
 */
#include "studies/sweep/sweep_grid.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/network/network.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct sweep_preset sweep_presets[] = {
    {"overfit", N_("AlexNet and GoogLeNet, one class, batches 1 to 512 (Trindade 2017)"),
     "alexnet,googlenet", "none", "1..512", "overfit", "tench"},
    {"cifar", N_("SqueezeNet and the ResNets in every technique (Gondim Santos 2019)"),
     "squeezenet,resnet20,resnet56,resnet110", "none,dsc,shuffle,shift", "128", "cifar", "shapes"},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};

void sweep_grid_begin(struct sweep_grid *grid)
{
    *grid = (struct sweep_grid){0};
    config_defaults(&grid->base);
}

static void free_axis(struct sweep_axis *axis)
{
    for (size_t i = 0; i < axis->count; i++)
        free(axis->values[i]);
    free(axis->values);
    *axis = (struct sweep_axis){0};
}

void sweep_grid_free(struct sweep_grid *grid)
{
    for (size_t i = 0; i < grid->axis_count; i++)
        free_axis(&grid->axes[i]);
    grid->axis_count = 0;
}

/* --- axes --- */

/* Returns the key of the setting that a name such as "networks" stands for. */
static const char *key_of(const char *name)
{
    for (size_t i = 0; i < config_field_count; i++)
        if (config_fields[i].grid.plural && strcmp(config_fields[i].grid.plural, name) == 0)
            return config_fields[i].key;
    return name;
}

const struct sweep_axis *sweep_grid_axis(const struct sweep_grid *grid, const char *key)
{
    for (size_t i = 0; i < grid->axis_count; i++)
        if (strcmp(grid->axes[i].field->key, key_of(key)) == 0)
            return &grid->axes[i];
    return NULL;
}

bool sweep_grid_varies(const struct sweep_grid *grid, const char *key)
{
    const struct sweep_axis *axis = sweep_grid_axis(grid, key);
    return axis && axis->count > 1;
}

/* Returns the position of an axis in the order of variation: the lowest varies slowest. */
static long rank(const struct config_field *field)
{
    return field->grid.place * CONFIG_MAX_FIELDS + (field - config_fields);
}

static struct sweep_axis *find_or_add(struct sweep_grid *grid, const struct config_field *field,
                                      struct error *error)
{
    struct sweep_axis *found = (struct sweep_axis *)sweep_grid_axis(grid, field->key);
    if (found)
        return found;
    if (grid->axis_count == SWEEP_AXES) {
        error_set(error, ERROR_USAGE, field->key, _("make two sweeps of it"),
                  _("more than %d settings vary"), SWEEP_AXES);
        return NULL;
    }
    size_t at = grid->axis_count;
    while (at > 0 && rank(grid->axes[at - 1].field) > rank(field))
        at--;
    memmove(&grid->axes[at + 1], &grid->axes[at], (grid->axis_count - at) * sizeof *grid->axes);
    grid->axes[at] = (struct sweep_axis){.field = field};
    grid->axis_count++;
    return &grid->axes[at];
}

void sweep_grid_clear(struct sweep_grid *grid, const char *key)
{
    const struct sweep_axis *found = sweep_grid_axis(grid, key);
    if (!found)
        return;
    size_t at = (size_t)(found - grid->axes);
    free_axis(&grid->axes[at]);
    memmove(&grid->axes[at], &grid->axes[at + 1], (--grid->axis_count - at) * sizeof *grid->axes);
}

static bool add_value(struct sweep_grid *grid, const struct config_field *field, const char *value,
                      struct error *error)
{
    char text[1024];
    struct run_config parsed = grid->base;
    if (!config_set(&parsed, field->key, value, error))
        return false;
    config_get(&parsed, field->key, text, sizeof text);
    struct sweep_axis *axis = find_or_add(grid, field, error);
    if (!axis)
        return false;
    for (size_t i = 0; i < axis->count; i++)
        if (strcmp(axis->values[i], text) == 0)
            return true;
    if (axis->count == SWEEP_MAX_CELLS)
        return error_set(error, ERROR_USAGE, field->key, _("make several sweeps of it"),
                         _("it takes more than %d values"), SWEEP_MAX_CELLS);
    if (!memory_grow(&axis->values, &axis->capacity, axis->count + 1, sizeof *axis->values,
                     "an axis", error))
        return false;
    char *copy = memory_copy_text(text, error);
    if (copy)
        axis->values[axis->count++] = copy;
    return copy;
}

/* Adds the powers of two from the first number to the last. */
static bool add_powers(struct sweep_grid *grid, const struct config_field *field, size_t low,
                       size_t high, struct error *error)
{
    char number[24];
    bool added = true;
    for (size_t left = high / low; added && left > 0; left /= 2, low *= 2) {
        snprintf(number, sizeof number, "%zu", low);
        added = add_value(grid, field, number, error);
    }
    return added;
}

/* Adds the whole numbers from low to high. */
static bool add_numbers(struct sweep_grid *grid, const struct config_field *field, size_t low,
                        size_t high, struct error *error)
{
    char number[24];
    bool added = true;
    for (size_t value = low; added && value <= high; value++) {
        snprintf(number, sizeof number, "%zu", value);
        added = add_value(grid, field, number, error);
    }
    return added;
}

/* Refuses a range for a setting that is not a whole number, since its step is unknown. */
static bool refuse_range(const char *value, struct error *error)
{
    return error_set(error, ERROR_USAGE, value, _("list the values, as in lr=0.1,0.01,0.001"),
                     _("ranges are for whole numbers, such as seed=1..5"));
}

/* Adds the values of a range such as "1..512": powers of two for batches, each whole number for
 * other counts. Returns false if `value` is no range; *done is set to whether its values could be
 * added. */
static bool add_range(struct sweep_grid *grid, const struct config_field *field, const char *value,
                      bool *done, struct error *error)
{
    char low_text[24];
    size_t low, high;
    const char *dots = strstr(value, "..");
    if (dots && field->kind == CONFIG_NUMBER) {
        *done = refuse_range(value, error);
        return true;
    }
    if (field->kind != CONFIG_COUNT || !dots || (size_t)(dots - value) >= sizeof low_text)
        return false;
    snprintf(low_text, sizeof low_text, "%.*s", (int)(dots - value), value);
    *done = text_to_size(low_text, &low) && text_to_size(dots + 2, &high) && low > 0 && low <= high;
    if (!*done) {
        error_set(error, ERROR_USAGE, value, _("give the lower number first, as in 1..512"),
                  _("this is not a range of numbers from 1 up"));
        return true;
    }
    if ((double)low < field->low || (double)high > field->high)
        *done = error_set(error, ERROR_USAGE, value, _("give a range within these"),
                          _("%s takes numbers from %.15g to %.15g"), field->key, field->low,
                          field->high);
    else if (strcmp(field->key, KEY(batch)) == 0)
        *done = add_powers(grid, field, low, high, error);
    else
        *done = add_numbers(grid, field, low, high, error);
    return true;
}

bool sweep_grid_add(struct sweep_grid *grid, const char *key, const char *value,
                    struct error *error)
{
    const struct config_field *field = config_find(key_of(key));
    bool done = false;
    if (!field || strcmp(field->key, KEY(preset)) == 0)
        return error_set(error, ERROR_USAGE, key, _("the settings are those of tinca train --help"),
                         _("there is no setting of this name that could vary"));
    return add_range(grid, field, value, &done, error) ? done
                                                       : add_value(grid, field, value, error);
}

static bool make_axis_absolute(struct sweep_axis *axis, struct error *error)
{
    char absolute[1024];
    for (size_t i = 0; i < axis->count; i++) {
        if (!config_absolute_value(axis->field->key, axis->values[i], absolute, axis->field->size,
                                   error))
            return false;
        char *copy = memory_copy_text(absolute, error);
        if (!copy)
            return false;
        free(axis->values[i]);
        axis->values[i] = copy;
    }
    return true;
}

bool sweep_grid_make_absolute(struct sweep_grid *grid, struct error *error)
{
    bool made = config_make_absolute(&grid->base, error);
    for (size_t a = 0; made && a < grid->axis_count; a++)
        if (grid->axes[a].field->kind == CONFIG_TEXT)
            made = make_axis_absolute(&grid->axes[a], error);
    return made;
}

/* Returns the end of a value in a list. In `cuda:0,1` the numbers belong to the device before them.
 */
static char *end_of_value(char *value, const char *key, char separator)
{
    char *end = strchr(value, separator);
    while (end && separator == ',' && strcmp(key_of(key), KEY(device)) == 0 && strchr(value, ':') &&
           strchr(value, ':') < end && isdigit((unsigned char)end[1]))
        end = strchr(end + 1, separator);
    return end;
}

/* Returns what separates the values of a list. Commas belong to the values of settings that are
 * lists themselves: class-weights, and augment unless they separate words such as yes and no. */
static char separator_of(const char *key, const char *values)
{
    struct augmentation unused;
    const bool weights = strcmp(key_of(key), KEY(class_weights)) == 0;
    const bool augment =
        strcmp(key_of(key), KEY(augment)) == 0 && augmentation_parse(&unused, values, NULL);
    return strchr(values, ';') || weights || augment ? ';' : ',';
}

bool sweep_grid_vary(struct sweep_grid *grid, const char *key, const char *values,
                     struct error *error)
{
    char separator = separator_of(key, values);
    char *copy = memory_copy_text(values, error);
    bool added = copy;
    for (char *value = copy, *end; added && value; value = end) {
        end = end_of_value(value, key, separator);
        if (end)
            *end++ = '\0';
        added = sweep_grid_add(grid, key, value, error);
    }
    free(copy);
    return added;
}

bool sweep_grid_vary_setting(struct sweep_grid *grid, const char *setting, struct error *error)
{
    char key[64];
    const char *equals = strchr(setting, '=');
    if (!equals || (size_t)(equals - setting) >= sizeof key)
        return error_set(error, ERROR_USAGE, setting, _("write it as in seed=1,2,3"),
                         _("this does not say which setting takes which values"));
    snprintf(key, sizeof key, "%.*s", (int)(equals - setting), setting);
    sweep_grid_clear(grid, key);
    return sweep_grid_vary(grid, key, equals + 1, error);
}

/* --- grids of the studies --- */

static bool vary_unless_there(struct sweep_grid *grid, const char *key, const char *values,
                              struct error *error)
{
    return sweep_grid_axis(grid, key) || sweep_grid_vary(grid, key, values, error);
}

static bool add_devices(struct sweep_grid *grid, struct error *error)
{
    const char *name;
    bool added = true;
    if (sweep_grid_axis(grid, KEY(device)))
        return true;
    for (size_t i = 0; added && (name = config_suggestion(KEY(device), i)); i++)
        added = strcmp(name, "reference") == 0 || sweep_grid_vary(grid, KEY(device), name, error);
    return added;
}

bool sweep_grid_apply(struct sweep_grid *grid, const char *preset, struct error *error)
{
    const struct sweep_preset *found = sweep_presets;
    while (found->name && strcmp(found->name, preset) != 0)
        found++;
    if (!found->name)
        return error_set(error, ERROR_USAGE, preset, _("give overfit or cifar"),
                         _("there is no grid of this name"));
    if (!grid->name[0])
        snprintf(grid->name, sizeof grid->name, "%s", found->name);
    if (!config_is_given(&grid->base, KEY(data)) &&
        !config_set(&grid->base, KEY(data), found->data, error))
        return false;
    return (training_settings(&grid->base).preset[0] ||
            config_set(&grid->base, KEY(preset), found->preset, error)) &&
           vary_unless_there(grid, KEY(network), found->networks, error) &&
           vary_unless_there(grid, KEY(technique), found->techniques, error) &&
           vary_unless_there(grid, KEY(batch), found->batches, error) && add_devices(grid, error);
}

/* --- completing the grid --- */

/* Replaces characters that do not belong in a file name by '_'. */
static void clean(char *text)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("._-", *text))
            *text = '_';
}

static void find_name(struct sweep_grid *grid)
{
    const struct sweep_axis *networks = sweep_grid_axis(grid, KEY(network));
    char data[24];
    size_t used = 0;
    for (size_t i = 0; i < networks->count && used < 36; i++)
        used += (size_t)snprintf(grid->name + used, sizeof grid->name - used, "%.20s-",
                                 file_base_name(networks->values[i]));
    snprintf(data, sizeof data, "%.*s", (int)strcspn(data_settings(&grid->base).data, ":,"),
             data_settings(&grid->base).data);
    snprintf(grid->name + used, sizeof grid->name - used, "%s", data);
    clean(grid->name);
}

static bool check_networks(const struct sweep_grid *grid, struct error *error)
{
    const struct sweep_axis *networks = sweep_grid_axis(grid, KEY(network));
    for (size_t i = 0; i < networks->count; i++) {
        const struct network_request request = {.network = networks->values[i]};
        struct network *network = network_build(&request, error);
        if (!network)
            return false;
        network_free(network);
    }
    return true;
}

static bool check_name(struct sweep_grid *grid, struct error *error)
{
    char cleaned[sizeof grid->name];
    memcpy(cleaned, grid->name, sizeof cleaned);
    clean(cleaned);
    return (strcmp(cleaned, grid->name) == 0 && grid->name[0] != '.') ||
           error_set(error, ERROR_USAGE, grid->name, _("use letters, digits, '.', '_' and '-'"),
                     _("this cannot be the name of a sweep"));
}

/* Makes the seeds of the setting seeds an axis, unless they are one. */
static bool vary_seeds(struct sweep_grid *grid, struct error *error)
{
    const size_t count = record_settings(&grid->base).seeds;
    const struct sweep_axis *axis = sweep_grid_axis(grid, KEY(seed));
    if (sweep_grid_axis(grid, KEY(seeds)) || sweep_grid_axis(grid, KEY(seed_group)))
        return error_set(error, ERROR_USAGE, "--vary", _("give --seeds N alone"),
                         _("the number of seeds cannot vary within a sweep"));
    if (count < 2 || (axis && axis->count == count))
        return true;
    if (axis)
        return error_set(error, ERROR_USAGE, OPTION(seeds), _("give one of them"),
                         _("the sweep varies the seed, too"));
    for (size_t i = 0; i < count; i++) {
        char seed[32];
        snprintf(seed, sizeof seed, "%zu", training_settings(&grid->base).seed + i);
        if (!sweep_grid_add(grid, KEY(seed), seed, error))
            return false;
    }
    return true;
}

bool sweep_grid_complete(struct sweep_grid *grid, struct error *error)
{
    if (!vary_seeds(grid, error))
        return false;
    char value[512];
    for (size_t i = 0; i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        if (config_fields[i].grid.plural &&
            !vary_unless_there(grid, key, config_get(&grid->base, key, value, sizeof value), error))
            return false;
    }
    if (!grid->name[0])
        find_name(grid);
    size_t cells = sweep_grid_cells(grid);
    if (cells > SWEEP_MAX_CELLS)
        return error_set(error, ERROR_USAGE, grid->name, _("make several sweeps of it"),
                         _("its grid has %zu cells; at most %d can be"), cells, SWEEP_MAX_CELLS);
    return check_name(grid, error) && check_networks(grid, error);
}

/* --- cells --- */

size_t sweep_grid_cells(const struct sweep_grid *grid)
{
    size_t cells = 1;
    for (size_t i = 0; i < grid->axis_count && cells <= SWEEP_MAX_CELLS; i++)
        cells *= grid->axes[i].count;
    return cells;
}

size_t sweep_grid_value_index(const struct sweep_grid *grid, size_t index, size_t axis)
{
    for (size_t i = grid->axis_count; --i > axis;)
        index /= grid->axes[i].count;
    return index % grid->axes[axis].count;
}

size_t sweep_grid_columns(const struct sweep_grid *grid)
{
    return grid->axes[grid->axis_count - 1].count;
}

size_t sweep_grid_devices(const struct sweep_grid *grid)
{
    return grid->axes[grid->axis_count - 2].count;
}

/* Returns whether a setting is left out of the hash. What does not change the work of a cell counts
 * if the grid varies it. */
static bool is_left_out(const struct sweep_grid *grid, const struct run_config *config,
                        const struct config_field *field)
{
    return !config_counts(config, field) ||
           ((field->ignored_by & COMPARE_CELLS) && !sweep_grid_varies(grid, field->key));
}

/* Returns the FNV-1a hash (Fowler, Noll, Vo) of the settings that differ from the defaults. So a
 * setting added by a later version changes no id as long as it has its default. */
static uint32_t hash_config(const struct sweep_grid *grid, const struct run_config *config)
{
    struct run_config defaults;
    char value[1024], fallback[1024];
    uint64_t hash = UINT64_C(14695981039346656037);
    config_defaults(&defaults);
    for (size_t i = 0; i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        config_get(config, key, value, sizeof value);
        config_get(&defaults, key, fallback, sizeof fallback);
        if (strcmp(value, fallback) == 0 || is_left_out(grid, config, &config_fields[i]))
            continue;
        const char *const parts[] = {key, "=", value, "\n"};
        for (size_t p = 0; p < 4; p++)
            for (const char *c = parts[p]; *c; c++)
                hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    }
    return (uint32_t)(hash ^ hash >> 32);
}

static void make_id(const struct sweep_grid *grid, const struct run_config *config, char *id)
{
    const struct network_settings network = network_settings(config);
    const char *technique = config_find(KEY(technique))->choices[network.technique];
    snprintf(id, SWEEP_ID, "%.32s%s%s-b%03zu-%.16s-%08" PRIx32, file_base_name(network.network),
             network.technique ? "-" : "", network.technique ? technique : "",
             training_settings(config).batch, machine_settings(config).device,
             hash_config(grid, config));
    clean(id);
}

/* Gives cells that differ in their seed only the same group: the sweep's name and a hash of the
 * other settings. */
static void name_seed_group(const struct sweep_grid *grid, struct run_config *config)
{
    struct run_config same = *config;
    char group[64];
    if (record_settings(config).seeds < 2)
        return;
    config_put_count(&same, KEY(seed), 0);
    snprintf(group, sizeof group, "%.40s-%08" PRIx32, grid->name, hash_config(grid, &same));
    config_put(config, KEY(seed_group), group, NULL);
}

bool sweep_grid_cell(const struct sweep_grid *grid, size_t index, struct run_config *config,
                     char *id, struct error *error)
{
    *config = grid->base;
    for (size_t a = 0; a < grid->axis_count; a++) {
        const struct sweep_axis *axis = &grid->axes[a];
        const char *value = axis->values[sweep_grid_value_index(grid, index, a)];
        if (!config_set(config, axis->field->key, value, error))
            return false;
    }
    make_id(grid, config, id);
    name_seed_group(grid, config);
    return true;
}

/* Writes the short name of a network, "resnet20", or "mine" for "nets/mine.json". Returns its
 * length. */
static size_t write_network(const char *network, char *text, size_t size)
{
    const char *name = file_base_name(network);
    const size_t stem = network_path_stem(name);
    return (size_t)snprintf(text, size, "%.*s", stem < 64 ? (int)stem : 64, name);
}

/* Returns whether an axis has several values that not every grid has. */
static bool is_varied_setting(const struct sweep_grid *grid, size_t axis)
{
    return grid->axes[axis].count > 1 && !grid->axes[axis].field->grid.plural;
}

bool sweep_grid_varies_settings(const struct sweep_grid *grid)
{
    bool varies = false;
    for (size_t a = 0; a < grid->axis_count; a++)
        varies = varies || is_varied_setting(grid, a);
    return varies;
}

char *sweep_grid_settings_label(const struct sweep_grid *grid, size_t index, char *text,
                                size_t size)
{
    char shown[1024];
    size_t used = 0;
    text[0] = '\0';
    for (size_t a = 0; a < grid->axis_count && used < size; a++) {
        const struct sweep_axis *axis = &grid->axes[a];
        const char *value = axis->values[sweep_grid_value_index(grid, index, a)],
                   *key = axis->field->key;
        if (is_varied_setting(grid, a))
            used += (size_t)snprintf(text + used, size - used, "%s%s %s", used > 0 ? ", " : "", key,
                                     config_short_value(key, value, shown, sizeof shown));
    }
    return text;
}

char *sweep_grid_row_label(const struct sweep_grid *grid, size_t row, bool with_device, char *text,
                           size_t size)
{
    char shown[1024];
    size_t cell = row * sweep_grid_columns(grid), used = 0;
    for (size_t a = 0; a + 1 < grid->axis_count && used < size; a++) {
        const struct sweep_axis *axis = &grid->axes[a];
        const char *value = axis->values[sweep_grid_value_index(grid, cell, a)],
                   *key = axis->field->key;
        bool device = strcmp(key, KEY(device)) == 0;
        if (a == 0)
            used += write_network(value, text, size);
        else if (a == 1 && strcmp(value, "none") != 0)
            used += (size_t)snprintf(text + used, size - used, "-%s", value);
        else if (device && axis->count > 1 && with_device)
            used += (size_t)snprintf(text + used, size - used, ", %s", value);
        else if (is_varied_setting(grid, a))
            used += (size_t)snprintf(text + used, size - used, ", %s %s", key,
                                     config_short_value(key, value, shown, sizeof shown));
    }
    return text;
}
