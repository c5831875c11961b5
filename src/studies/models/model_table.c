/* Gathers the rows of the table, and measures them. What follows from several rows is in
 * model_comparison.c. */
#include "studies/models/model_table.h"
#include "models/list/model_list.h"

#include "base/files/file.h"
#include "base/host/host.h"
#include "base/memory.h"
#include "models/measure/measurement.h"
#include "runs/folder/run_directory.h"
#include "runs/record/run_open.h"
#include "runs/settings/config_data.h"
#include "runs/settings/config_paths.h"
#include "runs/values/run_snapshot.h"

#include <dirent.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names --- */

char *model_origin_name(const char *name, const char *technique, char origin[MODEL_NAME])
{
    char suffix[32];
    const char *plus = strrchr(name, '+');
    if (plus) {
        snprintf(origin, MODEL_NAME, "%.*s", (int)(plus - name), name);
        return origin;
    }
    snprintf(suffix, sizeof suffix, "-%s", technique);
    const char *found = strstr(name, suffix);
    if (!technique[0] || strcmp(technique, "none") == 0 || !found)
        origin[0] = '\0';
    else
        snprintf(origin, MODEL_NAME, "%.*s%s", (int)(found - name), name, found + strlen(suffix));
    return origin;
}

/* Writes the name without the chain and without the technique before training. A network that a
 * technique after training has made knows of the one before only by its name. */
static void set_names(struct model_row *row)
{
    static const char *const techniques[] = {"dsc", "shuffle", "shift"};
    char plain[MODEL_NAME];
    const struct model_description *facts = &row->figures.facts;
    model_origin_name(facts->name, facts->technique, row->origin);
    snprintf(plain, sizeof plain, "%s", facts->name);
    plain[strcspn(plain, "+")] = '\0';
    row->base[0] = '\0';
    for (size_t i = 0; !row->base[0] && i < sizeof techniques / sizeof *techniques; i++)
        model_origin_name(plain, techniques[i], row->base);
    if (!row->base[0])
        snprintf(row->base, sizeof row->base, "%s", plain);
}

/* --- figures of a row --- */

static void forget(struct model_row *row)
{
    row->source = MODEL_ACCURACY_UNKNOWN;
    row->timed = false;
    row->now = (struct model_measured){.top1 = (double)NAN,
                                       .top1_low = (double)NAN,
                                       .top1_high = (double)NAN,
                                       .loss = (double)NAN,
                                       .ms = (double)NAN,
                                       .ms_low = (double)NAN,
                                       .ms_high = (double)NAN,
                                       .ms_mean = (double)NAN,
                                       .ms_ci95 = (double)NAN,
                                       .joules = (double)NAN};
}

/* Takes the times of an entry. */
static void take_times(struct model_row *row, const struct model_measured *from)
{
    struct model_measured *now = &row->now;
    now->timed = from->timed;
    now->ms = from->ms;
    now->ms_low = from->ms_low;
    now->ms_high = from->ms_high;
    now->ms_mean = from->ms_mean;
    now->ms_ci95 = from->ms_ci95;
    now->joules = from->joules;
    now->on = from->on;
    snprintf(now->energy_unknown, sizeof now->energy_unknown, "%s", from->energy_unknown);
    row->timed = isfinite(now->ms);
}

/* Sets what was measured of the file, if anything was. */
static void take_figures(const struct model_table *table, struct model_row *row)
{
    const struct model_measured *found =
        row->data[0]
            ? model_figures_find(&row->figures, row->data_key, table->device, table->threads)
            : NULL;
    const struct model_measured *times =
        model_figures_times(&row->figures, table->device, table->threads);
    if (found) {
        const struct model_measured before = row->now;
        row->now = *found;
        if (!isfinite(found->ms))
            take_times(row, &before);
        row->source = isfinite(found->top1) ? MODEL_ACCURACY_MEASURED : MODEL_ACCURACY_UNKNOWN;
    }
    if (times)
        take_times(row, times);
}

static void set_data(struct model_row *row, const char *spec)
{
    if (!config_absolute_value(KEY(data), spec, row->data, sizeof row->data, NULL))
        snprintf(row->data, sizeof row->data, "%s", spec);
    if (row->data[0])
        model_data_key(row->data, row->data_key);
}

/* Sets the accuracy from the validations of the run, if they were on the row's data. */
static void take_validation(struct model_row *row, const struct run_outline *outline)
{
    char spec[CONFIG_SPEC], key[MODEL_DATA_KEY];
    const struct run_figures figures = run_figures_of(&outline->snapshot, NULL);
    const char *file = file_base_name(row->path);
    const size_t images = outline->facts.validation_images;
    const double top1 = strcmp(file, "best.safetensors") == 0 ? figures.best_top1 : figures.top1;
    config_validation_spec(&outline->config, spec);
    if (!spec[0] || !isfinite(top1) || images == 0 ||
        strcmp(model_data_key(spec, key), row->data_key) != 0)
        return;
    row->source = MODEL_ACCURACY_VALIDATION;
    row->now.top1 = top1;
    row->now.images = images;
    statistics_wilson((size_t)lround(top1 / 100 * (double)images), images, &row->now.top1_low,
                      &row->now.top1_high);
}

/* Sets the time from tinca measure, if it measured the present model on the row's data, here. */
static void take_measurement(const struct model_table *table, struct model_row *row,
                             const char *directory)
{
    struct measurements list;
    char key[MODEL_DATA_KEY];
    if (!measurements_read(&list, directory, NULL))
        return;
    const struct measurement *found = measurements_find(&list, table->device);
    const struct measured_on here = measured_on_here(table->device, table->threads);
    if (found && strcmp(model_data_key(found->data, key), row->data_key) == 0 &&
        measured_on_is(&found->on, &here)) {
        row->timed = true;
        row->now.ms = found->ms_per_image.median;
        row->now.ms_mean = found->ms_per_image.mean;
        row->now.ms_ci95 = found->ms_per_image.ci95;
        row->now.joules = found->joules_per_image;
        row->now.on = found->on;
        row->now.timed = found->images;
        snprintf(row->now.energy_unknown, sizeof row->now.energy_unknown, "%s",
                 found->energy_unknown);
    }
    measurements_free(&list);
}

/* --- gathering --- */

struct gathering {
    struct model_table *table;
    const struct model_table_request *request;
    struct checksum_cache *cache;
};

static bool is_known(const struct model_table *table, const char *path)
{
    char *mine = realpath(path, NULL);
    bool known = false;
    for (size_t i = 0; mine && !known && i < table->count; i++)
        known = strcmp(table->rows[i].path, mine) == 0;
    free(mine);
    return known;
}

/* Returns the row before `row` with equal contents, or NULL. */
static struct model_row *find_equal(struct model_table *table, const struct model_row *row)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].figures.key, row->figures.key) == 0)
            return &table->rows[i];
    return NULL;
}

/* Adds the row of a file, whose data and figures the caller sets; a file whose contents have a row
 * counts as a copy of it, and that row is returned. Returns NULL with an error. */
static struct model_row *add_row(struct gathering *gathering, const char *path, const char *shown,
                                 struct error *error)
{
    struct model_table *table = gathering->table;
    if (!memory_grow(&table->rows, &table->capacity, table->count + 1, sizeof *table->rows,
                     "the table of models", error))
        return NULL;
    struct model_row *row = &table->rows[table->count];
    *row = (struct model_row){.origin_row = MODEL_NO_ROW};
    char *absolute = realpath(path, NULL);
    const bool fits = snprintf(row->path, sizeof row->path, "%s", absolute ? absolute : path) <
                      (int)sizeof row->path;
    free(absolute);
    snprintf(row->shown, sizeof row->shown, "%s", shown);
    if (!fits) {
        error_set(error, ERROR_USAGE, path, "move it", "its path is too long");
        return NULL;
    }
    if (!model_figures_read(&row->figures, gathering->cache, row->path, error))
        return NULL;
    struct model_row *equal = find_equal(table, row);
    if (equal) {
        model_figures_free(&row->figures);
        equal->copies++;
        return equal;
    }
    forget(row);
    set_names(row);
    table->count++;
    return row;
}

static bool add_run(struct gathering *gathering, const char *directory, struct error *error)
{
    struct run_outline *outline = memory_new(1, sizeof *outline, "a run", error);
    char spec[CONFIG_SPEC];
    char *path = NULL;
    bool added = outline && run_peek(directory, outline, error) &&
                 run_trained_by_tinca(outline->facts.imported, outline->facts.id, error) &&
                 (path = measurement_model_path(directory, NULL, error));
    if (added && !is_known(gathering->table, path)) {
        struct model_row *row = add_row(gathering, path, outline->facts.id, error);
        added = row;
        if (row && !row->of_run) { /* a file that was named may be a copy of the run's model */
            snprintf(row->path, sizeof row->path, "%s", path);
            row->of_run = true;
            config_training_spec(&outline->config, spec);
            snprintf(row->training, sizeof row->training, "%s", spec);
            set_data(row, gathering->request->data ? gathering->request->data
                                                   : config_measured_spec(&outline->config, spec));
            take_measurement(gathering->table, row, directory);
            take_validation(row, outline);
            take_figures(gathering->table, row);
        }
    }
    free(path);
    free(outline);
    return added;
}

static bool holds_run(const char *path)
{
    char *config = file_join(path, "config.json");
    const bool holds = config && file_exists(config);
    free(config);
    return holds;
}

/* Sets what a model file of a run's folder is trained and measured on. */
static void set_data_of_folder(struct model_row *row, bool sets_data)
{
    char spec[CONFIG_SPEC], folder[sizeof row->path];
    struct run_outline *outline = memory_new(1, sizeof *outline, "a run", NULL);
    snprintf(folder, sizeof folder, "%s", row->path);
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    if (outline && slash && holds_run(folder) && run_peek(folder, outline, NULL)) {
        snprintf(row->training, sizeof row->training, "%s",
                 config_training_spec(&outline->config, spec));
        if (sets_data)
            set_data(row, config_measured_spec(&outline->config, spec));
    }
    free(outline);
}

static bool add_file(struct gathering *gathering, const char *path, struct error *error)
{
    if (is_known(gathering->table, path))
        return true;
    struct model_row *row = add_row(gathering, path, path, error);
    if (!row || row->copies > 0)
        return row;
    const struct model_measured *latest = model_figures_latest(&row->figures);
    if (gathering->request->data || latest)
        set_data(row, gathering->request->data ? gathering->request->data : latest->data);
    set_data_of_folder(row, !row->data[0]);
    take_figures(gathering->table, row);
    return true;
}

static void skip(struct model_table *table, const struct error *error)
{
    if (table->skipped++ == 0)
        table->first_skipped = *error;
}

static bool is_model_name(const char *name)
{
    static const char ending[] = ".safetensors";
    const size_t length = strlen(name), least = sizeof ending - 1;
    return name[0] != '.' && length > least && strcmp(name + length - least, ending) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the model files of a folder, in the order of their names; others are skipped. */
static bool add_folder(struct gathering *gathering, const char *path, struct error *error)
{
    char **names = NULL;
    size_t count = 0, capacity = 0;
    DIR *directory = opendir(path);
    bool listed =
        directory || error_set_errno(error, path, "give a folder of models", "it cannot be opened");
    for (struct dirent *entry; directory && listed && (entry = readdir(directory));) {
        if (!is_model_name(entry->d_name))
            continue;
        listed = memory_grow(&names, &capacity, count + 1, sizeof *names, "a folder", error) &&
                 (names[count] = file_join(path, entry->d_name));
        count += listed;
    }
    if (directory)
        closedir(directory);
    if (count > 0)
        qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++) {
        struct error why;
        if (listed && !add_file(gathering, names[i], &why))
            skip(gathering->table, &why);
        free(names[i]);
    }
    free(names);
    return listed;
}

/* Adds what an operand names: a file, a folder of models, or a run. */
static bool add_operand(struct gathering *gathering, const char *operand, struct error *error)
{
    if (file_is_directory(operand) && !holds_run(operand))
        return add_folder(gathering, operand, error);
    if (!file_is_directory(operand) &&
        (file_exists(operand) || strchr(operand, '/') || is_model_name(operand)))
        return add_file(gathering, operand, error);
    char *directory = run_directory_find(operand, error);
    const bool added = directory && add_run(gathering, directory, error);
    free(directory);
    return added;
}

/* Adds the models that techniques after training have made in sweeps: sweeps/NAME/CELL/after/RUN/.
 */
static void add_sweeps(struct gathering *gathering)
{
    glob_t found;
    char *home = run_directory_beside("sweeps", NULL);
    char *pattern = home ? file_join(home, "*/*/after/*/*.safetensors") : NULL;
    if (pattern && glob(pattern, GLOB_NOESCAPE, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            struct error why;
            if (!add_file(gathering, found.gl_pathv[i], &why))
                skip(gathering->table, &why);
        }
        globfree(&found);
    }
    free(pattern);
    free(home);
}

/* Adds a file that a command has written, to be measured on the same data set. */
static void add_listed(void *context, const char *path, const char *data)
{
    struct gathering *gathering = context;
    struct model_table *table = gathering->table;
    const size_t before = table->count;
    struct error why;
    if (!add_file(gathering, path, &why)) {
        skip(table, &why);
    } else if (table->count > before && !table->rows[before].data[0] && data[0]) {
        set_data(&table->rows[before], data);
        take_figures(table, &table->rows[before]);
    }
}

/* Adds the model of each run on disk, the models of sweeps, and the files that tinca advise --apply
 * and other commands have made. Runs without a model are no rows, and no error. */
static bool add_all(struct gathering *gathering, struct error *error)
{
    char **ids, *home = run_directory_home(error);
    size_t count = 0;
    if (!home || !run_directory_list(&ids, &count, error)) {
        free(home);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct error why;
        char *directory = file_join(home, ids[i]);
        char *model = directory ? measurement_model_path(directory, NULL, NULL) : NULL;
        if (model && !add_run(gathering, directory, &why))
            skip(gathering->table, &why);
        free(model);
        free(directory);
        free(ids[i]);
    }
    free(ids);
    free(home);
    char *made = run_directory_beside("models", error);
    const size_t first = gathering->table->count;
    const bool added = made && (!file_is_directory(made) || add_folder(gathering, made, error));
    for (size_t i = first; i < gathering->table->count; i++)
        gathering->table->rows[i].of_advice = true;
    free(made);
    add_sweeps(gathering);
    model_list_each(add_listed, gathering);
    return added;
}

/* Gives rows of which no data set is known that of what they were made from. */
static void inherit_data(struct model_table *table)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < table->count; i++)
            for (size_t k = 0; !table->rows[i].data[0] && k < table->count; k++) {
                struct model_row *row = &table->rows[i];
                const struct model_row *from = &table->rows[k];
                if (!from->data[0] || !model_row_is_made_from(row, from))
                    continue;
                set_data(row, from->data);
                snprintf(row->training, sizeof row->training, "%s", from->training);
                take_figures(table, row);
                changed = true;
            }
    }
}

bool model_table_read(struct model_table *table, const struct model_table_request *request,
                      struct error *error)
{
    *table = (struct model_table){.threads = request->threads};
    snprintf(table->device, sizeof table->device, "%s", request->device ? request->device : "cpu");
    struct gathering gathering = {table, request, model_figures_cache()};
    bool read = true;
    for (size_t i = 0; read && i < request->operand_count; i++)
        read = add_operand(&gathering, request->operands[i], error);
    if (read && !request->only_operands)
        read = add_all(&gathering, error);
    checksum_cache_close(gathering.cache);
    inherit_data(table);
    if (read)
        model_table_complete(table);
    return read;
}

void model_table_free(struct model_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        model_figures_free(&table->rows[i].figures);
        free(table->rows[i].layers.list);
    }
    free(table->rows);
    *table = (struct model_table){0};
}

void model_table_read_layers(struct model_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        struct model_row *row = &table->rows[i];
        if (row->layers.count == 0 && strstr(row->figures.facts.name, "+quantize"))
            model_layers_read(row->path, &row->layers, NULL);
    }
}

/* --- measuring --- */

/* Fills the rows that a row was made from, its origin first. Returns their number. */
static size_t find_ancestors(const struct model_table *table, size_t row,
                             size_t ancestors[TURNS_MODELS - 1])
{
    size_t count = 0;
    while (count < TURNS_MODELS - 1 && table->rows[row].origin_row != MODEL_NO_ROW) {
        row = table->rows[row].origin_row;
        ancestors[count++] = row;
    }
    return count;
}

bool model_table_lacks_turns(const struct model_table *table, size_t row)
{
    size_t ancestors[TURNS_MODELS - 1];
    const size_t count = find_ancestors(table, row, ancestors);
    bool lacks = false;
    for (size_t i = 0; i < count; i++)
        lacks |= !model_figures_pair(&table->rows[row].figures,
                                     table->rows[ancestors[i]].figures.facts.checksum,
                                     table->device, table->threads);
    return lacks;
}

/* Lets a row take turns with those that it was made from. */
static bool measure_pairs(struct model_table *table, size_t row,
                          const struct model_measure_request *request, struct error *error)
{
    size_t ancestors[TURNS_MODELS - 1];
    const char *paths[TURNS_MODELS] = {table->rows[row].path};
    const size_t count = find_ancestors(table, row, ancestors);
    for (size_t i = 0; i < count; i++)
        paths[i + 1] = table->rows[ancestors[i]].path;
    return count == 0 ||
           model_measure_pairs(paths, count + 1, request, &table->rows[row].figures, error);
}

bool model_table_is_measured(const struct model_table *table, size_t row)
{
    const struct model_row *model = &table->rows[row];
    return model->data[0] &&
           model_figures_find(&model->figures, model->data_key, table->device, table->threads) &&
           model_figures_times(&model->figures, table->device, table->threads) &&
           !model_table_lacks_turns(table, row);
}

bool model_table_measure(struct model_table *table, size_t row, size_t timed,
                         evaluation_progress *progress, void *context, struct error *error)
{
    struct model_row *model = &table->rows[row];
    const bool again = model_table_is_measured(table, row);
    struct model_measure_request request = {.data = model->data,
                                            .device = table->device,
                                            .threads = table->threads,
                                            .timed = timed,
                                            .progress = progress,
                                            .context = context};
    if (!model->data[0])
        return error_set(error, ERROR_USAGE, model->shown, "give --data SPEC",
                         "it is not known which data set it is to be measured on");
    request.only_accuracy =
        !again && model_figures_times(&model->figures, table->device, table->threads);
    if ((again || !request.only_accuracy ||
         !model_figures_find(&model->figures, model->data_key, table->device, table->threads)) &&
        !model_measure_file(model->path, &request, &model->figures, error))
        return false;
    if ((again || model_table_lacks_turns(table, row)) &&
        !measure_pairs(table, row, &request, error))
        return false;
    model_data_key(model->data, model->data_key);
    take_figures(table, model);
    return true;
}
