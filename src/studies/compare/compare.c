/* Builds the rows of the comparison.
 *
 * Parameters, FLOPs and the validation accuracy come from the run, times only from its
 * measurements, the size from the model file. E_P is of the best validation, because that is the
 * model that a run saves as best. Without validation the accuracies are those that `tinca measure`
 * computed.
 */
#include "studies/compare/compare.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "runs/folder/run_directory.h"
#include "runs/settings/config_data.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- rows --- */

static struct compare_row *new_row(struct comparison *comparison, struct error *error)
{
    if (!memory_grow(&comparison->rows, &comparison->capacity, comparison->count + 1,
                     sizeof *comparison->rows, "the comparison", error))
        return NULL;
    struct compare_row *row = &comparison->rows[comparison->count];
    *row = (struct compare_row){.accuracy = "none", .figures = run_figures_unknown()};
    return row;
}

static bool add_device(struct comparison *comparison, const char *name, struct error *error)
{
    for (size_t i = 0; i < comparison->device_count; i++)
        if (strcmp(comparison->devices[i], name) == 0)
            return true;
    if (comparison->device_count == COMPARE_DEVICES)
        return error_set(error, ERROR_INPUT, name, "compare fewer runs",
                         "these runs were measured on more than %d devices", COMPARE_DEVICES);
    snprintf(comparison->devices[comparison->device_count++], sizeof comparison->devices[0], "%s",
             name);
    return true;
}

/* Writes the network's name without its technique: "resnet20-dsc-0.36" becomes "resnet20-0.36",
 * "resnet20-shuffle (4 groups)" becomes "resnet20". */
static void strip_technique(const char *network, const char *technique, char *base, size_t size)
{
    char suffix[24];
    snprintf(suffix, sizeof suffix, "-%s", technique);
    const char *found = strcmp(technique, "none") == 0 ? NULL : strstr(network, suffix);
    size_t length = strlen(suffix);
    if (found && found[length] && !strchr("- ", found[length]))
        found = NULL;
    snprintf(base, size, "%.*s%s", found ? (int)(found - network) : (int)strlen(network), network,
             found ? found + length : "");
    base[strcspn(base, " ")] = '\0';
}

/* Returns the current measurement over the most images, or NULL. The accuracy does not depend on
 * the device. */
static const struct measurement *widest(const struct measurements *list)
{
    const struct measurement *found = NULL;
    for (size_t i = 0; i < list->count; i++)
        if (!list->entries[i].stale && isfinite(list->entries[i].top1) &&
            (!found || list->entries[i].images > found->images))
            found = &list->entries[i];
    return found;
}

/* Takes the results of a measurement for those of a validation that did not take place. */
static void take_measured(struct run_figures *figures, const struct measurement *measured)
{
    figures->top1 = figures->best_top1 = measured->top1;
    figures->top5 = measured->top5;
    figures->validation_loss = figures->best_validation_loss = measured->loss;
}

/* Sets the results, and the source and the data of the accuracies. */
static void fill_results(struct compare_row *row, const struct run *run)
{
    struct run_snapshot snapshot;
    const struct run_config *config = run_config(run);
    const struct measurement *measured = widest(&row->ms);
    char spec[CONFIG_SPEC], validation[CONFIG_SPEC];
    const char *data = config_measured_spec(config, spec);
    run_snapshot(run, &snapshot);
    row->figures = run_figures_of(&snapshot, run_series(run));
    if (isfinite(row->figures.best_top1)) {
        row->accuracy = "validation";
        data = run_facts(run)->imported[0] ? data_settings(config).data
                                           : config_validation_spec(config, validation);
        row->images = run_facts(run)->validation_images;
    } else if (measured) {
        row->accuracy = "measured";
        data = measured->data;
        take_measured(&row->figures, measured);
        row->images = measured->images;
    }
    snprintf(row->data, sizeof row->data, "%s", data);
}

void compare_row_rate(struct compare_row *row)
{
    row->figures.e_p = row->figures.best_top1 / row->figures.parameters;
}

bool compare_add(struct comparison *comparison, const struct run *run,
                 const struct compare_files *files, struct error *error)
{
    const struct run_facts *facts = run_facts(run);
    struct compare_row *row = new_row(comparison, error);
    if (!row)
        return false;
    comparison->count++;
    if (!measurements_copy(&row->ms, &files->ms, error) ||
        !correct_images_copy(&row->correct, &files->correct, error)) {
        compare_row_free(row);
        comparison->count--;
        return false;
    }
    row->run = run;
    snprintf(row->name, sizeof row->name, "%s", files->name);
    snprintf(row->given, sizeof row->given, "%s", files->given);
    snprintf(row->network, sizeof row->network, "%s", facts->network);
    snprintf(row->technique, sizeof row->technique, "%s", facts->technique);
    strip_technique(row->network, row->technique, row->base, sizeof row->base);
    fill_results(row, run);
    row->figures.parameters = figure_of_count(facts->parameters);
    row->figures.flops = figure_of_count(facts->flops);
    row->figures.training_memory_bytes = figure_of_count(facts->forecast.total);
    row->figures.model_bytes = figure_of_count(files->model_bytes);
    compare_row_rate(row);
    for (size_t i = 0; i < row->ms.count; i++)
        if (!add_device(comparison, row->ms.entries[i].on.device, error))
            return false;
    return true;
}

/* --- files --- */

bool compare_add_run(struct comparison *comparison, const struct run *run, struct error *error)
{
    struct compare_files files;
    bool added = compare_read_files(&files, run_facts(run), error) &&
                 compare_add(comparison, run, &files, error);
    compare_files_free(&files);
    return added;
}

/* --- columns --- */

/* Returns whether a run has a test set: the tables of others have no columns for its results. */
static bool has_tests(const struct comparison *comparison)
{
    for (size_t row = 0; row < comparison->count; row++)
        if (isfinite(comparison->rows[row].figures.test_loss))
            return true;
    return false;
}

/* Lists the columns behind the row's number, and finds out whether any row took turns. */
static void find_columns(struct comparison *comparison)
{
    static const enum figure fixed[] = {FIGURE_TEST_TOP1,  FIGURE_TEST_LOSS,       FIGURE_BEST_TOP1,
                                        FIGURE_TOP1,       FIGURE_VALIDATION_LOSS, FIGURE_LOSS,
                                        FIGURE_PARAMETERS, FIGURE_EFFICIENCY,      FIGURE_FLOPS,
                                        FIGURE_SIZE,       FIGURE_MEMORY};
    struct compare_figure *next = comparison->columns;
    *next++ = (struct compare_figure){.kind = FIGURE_NETWORK};
    for (size_t i = 0; i < comparison->field_count; i++)
        if (comparison->fields[i]->class != SETTINGS_NETWORK) /* the name has those: mlp-w800x400 */
            *next++ =
                (struct compare_figure){.kind = FIGURE_SETTING, .field = comparison->fields[i]};
    for (size_t i = has_tests(comparison) ? 0 : 2; i < sizeof fixed / sizeof *fixed; i++)
        *next++ = (struct compare_figure){.kind = fixed[i]};
    for (size_t d = 0; d < comparison->device_count; d++)
        *next++ = (struct compare_figure){.kind = FIGURE_TIME, .device = d};
    for (size_t d = 0; d < comparison->device_count; d++)
        if (compare_has_energy(comparison, d))
            *next++ = (struct compare_figure){.kind = FIGURE_ENERGY, .device = d};
    comparison->column_count = (size_t)(next - comparison->columns);
    comparison->turns = false;
    for (size_t row = 0; row < comparison->count; row++)
        comparison->turns |= comparison->rows[row].ms.turns_count > 0;
}

/* --- settings --- */

bool compare_add_settings(struct comparison *comparison, struct error *error)
{
    size_t count = 0;
    const struct run_config **configs =
        memory_new(comparison->count, sizeof *configs, "the comparison", error);
    if (!configs)
        return false;
    for (size_t i = 0; i < comparison->count; i++)
        if (comparison->rows[i].run)
            configs[count++] = run_config(comparison->rows[i].run);
    comparison->field_count = config_differences(configs, count, comparison->fields);
    free(configs);
    find_columns(comparison);
    return true;
}

/* --- completing and freeing the table --- */

static bool may_be_measured(const struct compare_row *row)
{
    return row->run && !run_facts(row->run)->imported[0];
}

/* Returns the row of the run `id`, or comparison->count. */
static size_t row_of_run(const struct comparison *comparison, const char *id)
{
    size_t row = 0;
    while (row < comparison->count && !(comparison->rows[row].run &&
                                        strcmp(run_facts(comparison->rows[row].run)->id, id) == 0))
        row++;
    return row;
}

/* Adds a device before the published ones, unless it is there or there is no room. */
static void insert_device(struct comparison *comparison, const char *name)
{
    const size_t place = comparison->device_count - comparison->published_devices;
    for (size_t i = 0; i < place; i++)
        if (strcmp(comparison->devices[i], name) == 0)
            return;
    if (comparison->device_count == COMPARE_DEVICES)
        return;
    memmove(comparison->devices[place + 1], comparison->devices[place],
            comparison->published_devices * sizeof comparison->devices[0]);
    snprintf(comparison->devices[place], sizeof comparison->devices[0], "%s", name);
    comparison->device_count++;
}

/* Gives a row the time of turns that it took as the first model, unless it was measured by itself
 * on that device or has a newer time. Returns false with an error. */
static bool take_time(struct comparison *comparison, size_t row, const struct turns *turns,
                      struct error *error)
{
    const double nan = (double)NAN;
    struct measurements *ms = &comparison->rows[row].ms;
    struct measurement entry = {.on = turns->on,
                                .ms_per_image = {nan, nan, turns->first_ms, nan, nan},
                                .top1 = nan,
                                .top5 = nan,
                                .loss = nan,
                                .joules_per_image = nan,
                                .watts = nan,
                                .in_turns = true};
    const struct measurement *present = measurements_find(ms, turns->on.device);
    if (present && (!present->in_turns || strcmp(present->on.created, turns->on.created) >= 0))
        return true;
    return measurements_place(ms, &entry, error);
}

/* Adds the devices on which rows of the table took turns, as far as there is room, and the times
 * that the turns gave their present models. Returns false with an error. */
static bool add_turns(struct comparison *comparison, const struct measured_turns *turns, size_t row,
                      struct error *error)
{
    const size_t other = row_of_run(comparison, turns->other);
    const struct turns swapped = turns_swapped(&turns->turns);
    if (other == comparison->count)
        return true;
    insert_device(comparison, turns->turns.on.device);
    return (!model_stamp_is_present(&turns->own, &comparison->rows[row].ms.model) ||
            take_time(comparison, row, &turns->turns, error)) &&
           (!model_stamp_is_present(&turns->with, &comparison->rows[other].ms.model) ||
            take_time(comparison, other, &swapped, error));
}

bool compare_complete(struct comparison *comparison, struct error *error)
{
    for (size_t i = 0; i < comparison->count; i++)
        for (size_t k = 0; comparison->rows[i].run && k < comparison->rows[i].ms.turns_count; k++)
            if (!add_turns(comparison, &comparison->rows[i].ms.turns[k], i, error))
                return false;
    size_t measured = comparison->device_count - comparison->published_devices, first = 0;
    while (first < comparison->count && !may_be_measured(&comparison->rows[first]))
        first++;
    if (measured == 0 && first < comparison->count)
        insert_device(comparison, machine_settings(run_config(comparison->rows[first].run)).device);
    find_columns(comparison);
    return true;
}

bool compare_all_pairs(const struct comparison *comparison)
{
    enum { FEW = 4 };
    return comparison->pairs || comparison->count <= FEW;
}

void compare_row_free(struct compare_row *row)
{
    measurements_free(&row->ms);
    correct_images_free(&row->correct);
    free(row->members);
}

bool compare_wilson(const struct compare_row *row, double *low, double *high)
{
    if (row->seeds.runs > 0 || row->images == 0 || isnan(row->figures.best_top1))
        return false;
    const double right = row->figures.best_top1 / 100 * (double)row->images;
    statistics_wilson((size_t)lround(right), row->images, low, high);
    return true;
}

void compare_free(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->count; i++)
        compare_row_free(&comparison->rows[i]);
    free(comparison->rows);
    *comparison = (struct comparison){0};
}

/* --- published rows --- */

const char published_gpu[] = "GTX Titan", published_cpu[] = "i7-7700K";

const struct published_result published_results[] = {
    {"squeezenet", "none", 90.11, 746638, 2.21, 6.61},
    {"squeezenet", "dsc", 87.50, 248670, 2.40, 9.55},
    {"squeezenet", "shift", 87.97, 246926, 2.66, 5.36},
    {"squeezenet", "shuffle", 87.83, 114574, 2.58, 10.23},
    {"resnet20", "none", 86.47, 272762, 1.71, 2.94},
    {"resnet20", "dsc", 80.37, 40810, 2.21, 5.28},
    {"resnet20", "shift", 80.81, 35194, 1.92, 2.07},
    {"resnet20", "shuffle", 81.94, 24682, 2.55, 2.61},
    {"resnet56", "none", 88.79, 856058, 4.45, 8.01},
    {"resnet56", "dsc", 82.51, 120106, 5.83, 17.32},
    {"resnet56", "shift", 84.05, 102394, 4.95, 5.19},
    {"resnet56", "shuffle", 83.36, 67786, 7.00, 7.06},
    {"resnet110", "none", 88.99, 1731002, 7.32, 16.05},
    {"resnet110", "dsc", 83.34, 239050, 11.50, 36.83},
    {"resnet110", "shift", 85.02, 203194, 9.56, 9.90},
    {"resnet110", "shuffle", 83.19, 132442, 13.62, 13.72},
};
const size_t published_result_count = sizeof published_results / sizeof *published_results;

static bool base_is_compared(const struct comparison *comparison, const char *base)
{
    for (size_t i = 0; i < comparison->count; i++)
        if (comparison->rows[i].run && strcmp(comparison->rows[i].base, base) == 0)
            return true;
    return false;
}

static bool add_published_time(struct compare_row *row, const char *device, double ms,
                               struct error *error)
{
    struct measurement entry = {.on.host = "published",
                                .ms_per_image = {NAN, NAN, ms, NAN, NAN},
                                .top1 = row->figures.top1,
                                .top5 = NAN,
                                .loss = NAN,
                                .joules_per_image = NAN,
                                .watts = NAN};
    snprintf(entry.on.device, sizeof entry.on.device, "%s", device);
    return measurements_place(&row->ms, &entry, error);
}

static bool add_published(struct comparison *comparison, const struct published_result *result,
                          struct error *error)
{
    struct compare_row *row = new_row(comparison, error);
    if (!row)
        return false;
    comparison->count++;
    row->figures.top1 = row->figures.best_top1 = result->top1;
    row->figures.parameters = (double)result->parameters;
    compare_row_rate(row);
    row->accuracy = "published";
    bool plain = strcmp(result->technique, "none") == 0;
    snprintf(row->name, sizeof row->name, "published");
    snprintf(row->network, sizeof row->network, "%s%s%s", result->base, plain ? "" : "-",
             plain ? "" : result->technique);
    snprintf(row->base, sizeof row->base, "%s", result->base);
    snprintf(row->technique, sizeof row->technique, "%s", result->technique);
    snprintf(row->data, sizeof row->data, "CIFAR-10");
    return add_published_time(row, published_gpu, result->gpu_ms, error) &&
           add_published_time(row, published_cpu, result->cpu_ms, error);
}

bool compare_add_published(struct comparison *comparison, struct error *error)
{
    bool any = false;
    for (size_t i = 0; i < published_result_count; i++)
        any = any || base_is_compared(comparison, published_results[i].base);
    if (comparison->published_devices > 0)
        return true;
    for (size_t i = 0; i < published_result_count; i++)
        if ((!any || base_is_compared(comparison, published_results[i].base)) &&
            !add_published(comparison, &published_results[i], error))
            return false;
    comparison->published_devices = 2;
    return add_device(comparison, published_gpu, error) &&
           add_device(comparison, published_cpu, error);
}

/* --- comparing two times --- */

/* Returns the row's measurement on a device, current or stale, or NULL. */
static const struct measurement *find_entry(const struct comparison *comparison, size_t row,
                                            size_t device)
{
    const struct measurements *list = &comparison->rows[row].ms;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->entries[i].on.device, comparison->devices[device]) == 0)
            return &list->entries[i];
    return NULL;
}

const struct measurement *compare_time(const struct comparison *comparison, size_t row,
                                       size_t device)
{
    const struct measurement *entry = find_entry(comparison, row, device);
    return entry && !entry->stale ? entry : NULL;
}

const char *compare_precision(const struct measurement *time)
{
    return time->on.precision[0] ? time->on.precision : device_precision_names[PRECISION_FLOAT32];
}

bool compare_is_stale(const struct comparison *comparison, size_t row, size_t device)
{
    const struct measurement *entry = find_entry(comparison, row, device);
    return entry && entry->stale;
}

double compare_joules(const struct comparison *comparison, size_t row, size_t device)
{
    const struct measurement *entry = compare_time(comparison, row, device);
    return entry ? entry->joules_per_image : (double)NAN;
}

const char *compare_energy_unknown(const struct comparison *comparison, size_t row, size_t device)
{
    const struct measurement *entry = compare_time(comparison, row, device);
    return entry && entry->energy_unknown[0] ? entry->energy_unknown : NULL;
}

bool compare_has_energy(const struct comparison *comparison, size_t device)
{
    for (size_t row = 0; row < comparison->count; row++)
        if (isfinite(compare_joules(comparison, row, device)))
            return true;
    return false;
}

double compare_speed_up(const struct comparison *comparison, size_t row, size_t fast, size_t slow)
{
    const struct measurement *x = compare_time(comparison, row, fast);
    const struct measurement *y = compare_time(comparison, row, slow);
    if (!x || !y || fast == slow || strcmp(x->on.host, y->on.host) != 0)
        return NAN;
    return y->ms_per_image.mean / x->ms_per_image.mean;
}

/* --- groups of seeds --- */

/* Merges the rows of a group of seeds (runs/history/seed_group.h) into one row, whose results are
 * means. What does not depend on the seed (size, parameters) is that of the group's first row; so
 * are the times, which hardly do. */

/* Returns the group of a row that is a run; "" if it belongs to none or is merged already. */
static const char *group_of(const struct compare_row *row)
{
    return row->run && row->seeds.runs == 0 ? record_settings(run_config(row->run)).seed_group : "";
}

static size_t count_members(const struct comparison *comparison, const char *group)
{
    size_t count = 0;
    for (size_t i = 0; i < comparison->count; i++)
        count += strcmp(group_of(&comparison->rows[i]), group) == 0;
    return count;
}

/* Fills the first row of a group from all of them. */
static bool merge_results(struct comparison *comparison, size_t first, size_t count,
                          struct error *error)
{
    struct compare_row *row = &comparison->rows[first];
    const char *group = group_of(row);
    struct run_figures *figures = memory_new(count, sizeof *figures, "the comparison", error);
    row->members = memory_new(count, sizeof *row->members, "the comparison", error);
    size_t known = 0;
    for (size_t i = first; figures && row->members && i < comparison->count; i++) {
        if (strcmp(group_of(&comparison->rows[i]), group) != 0)
            continue;
        row->members[known] = comparison->rows[i].run;
        figures[known++] = comparison->rows[i].figures;
    }
    const bool merged =
        figures && row->members && seed_statistics_compute(figures, count, &row->seeds, error);
    free(figures);
    if (!merged)
        return false;
    seed_statistics_take_means(&row->seeds, &row->figures);
    compare_row_rate(row);
    snprintf(row->name, sizeof row->name, "%s@seeds", group);
    row->given[0] = '\0';
    return true;
}

/* Removes the other rows of the group that the row `first` stands for now. */
static void remove_others(struct comparison *comparison, size_t first)
{
    const char *group = record_settings(run_config(comparison->rows[first].run)).seed_group;
    size_t left = first + 1;
    for (size_t i = first + 1; i < comparison->count; i++) {
        if (strcmp(group_of(&comparison->rows[i]), group) == 0)
            compare_row_free(&comparison->rows[i]);
        else
            comparison->rows[left++] = comparison->rows[i];
    }
    comparison->count = left;
}

bool compare_merge_seeds(struct comparison *comparison, const char *group, struct error *error)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const char *found = group_of(&comparison->rows[i]);
        const size_t count = found[0] ? count_members(comparison, found) : 0;
        if (count == 0 || (group ? strcmp(group, found) != 0 : count < 2))
            continue;
        if (!merge_results(comparison, i, count, error))
            return false;
        remove_others(comparison, i);
    }
    return true;
}

/* --- files of a run --- */

/* Returns whether the run's folder is the one in the folder of runs that has its ID as name. */
static bool is_found_by_id(const struct run_facts *facts)
{
    char *home = run_directory_home(NULL);
    char *own = home ? file_join(home, facts->id) : NULL;
    const bool found = own && strcmp(own, facts->directory) == 0;
    free(own);
    free(home);
    return found;
}

/* Names the run as commands accept it: by its ID if that finds it, otherwise by its folder. A
 * search would read all runs for each one whose folder has another name, such as a copy. */
static void name_run(struct compare_files *files, const struct run_facts *facts)
{
    const bool by_id = is_found_by_id(facts), path = strchr(facts->directory, '/');
    snprintf(files->name, sizeof files->name, "%s%s", by_id || path ? "" : "./",
             by_id ? facts->id : facts->directory);
    run_name_read(facts->directory, files->given);
}

bool compare_read_files(struct compare_files *files, const struct run_facts *facts,
                        struct error *error)
{
    struct error damaged;
    *files = (struct compare_files){0};
    name_run(files, facts);
    if (!correct_images_read(&files->correct, facts->directory, &damaged))
        files->correct = (struct correct_images){0}; /* tinca runs --check says why */
    free(measurement_model_path(facts->directory, &files->model_bytes, NULL));
    return measurements_read(&files->ms, facts->directory, error);
}

void compare_files_free(struct compare_files *files)
{
    measurements_free(&files->ms);
    correct_images_free(&files->correct);
}
