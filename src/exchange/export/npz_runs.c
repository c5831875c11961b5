/* A run's rows are read into memory, and then written column by column. */
#include "base/json/json.h"
#include "base/memory.h"
#include "exchange/export/export_tables.h"
#include "exchange/export/internal.h"
#include "runs/folder/run_rows.h"
#include "runs/values/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 280 };

struct rows {
    struct series_point *points;
    struct series_validation *validations;
    size_t point_count, point_capacity, validation_count, validation_capacity;
};

static bool take_point(void *context, const struct series_point *point, struct error *error)
{
    struct rows *rows = context;
    if (!memory_grow(&rows->points, &rows->point_capacity, rows->point_count + 1,
                     sizeof *rows->points, "the iterations", error))
        return false;
    rows->points[rows->point_count++] = *point;
    return true;
}

static bool take_validation(void *context, const struct series_validation *validation,
                            struct error *error)
{
    struct rows *rows = context;
    if (!memory_grow(&rows->validations, &rows->validation_capacity, rows->validation_count + 1,
                     sizeof *rows->validations, "the validations", error))
        return false;
    rows->validations[rows->validation_count++] = *validation;
    return true;
}

/* The rows of one kind, and where their arrays go. */
struct table {
    struct npz_file *npz;
    const char *prefix; /* "RUN/", or "" */
    const void *rows;
    size_t count, size; /* rows, and bytes of a row */
};

/* Adds an array of one member of the rows. */
static bool add_array(const struct table *table, const struct series_column *column,
                      struct error *error)
{
    const size_t item = column->is_count ? sizeof(uint64_t) : sizeof(float);
    char name[NAME_SIZE];
    char *values = memory_new(table->count, item, column->name, error);
    if (!values)
        return false;
    for (size_t i = 0; i < table->count; i++)
        memcpy(values + i * item, (const char *)table->rows + i * table->size + column->offset,
               item);
    snprintf(name, sizeof name, "%s%s", table->prefix, column->name);
    const bool added = npz_file_add(table->npz, name, column->is_count ? "<i8" : "<f4",
                                    &table->count, 1, values, table->count * item, error);
    free(values);
    return added;
}

/* Returns whether any row has a value in the column. */
static bool has_values(const struct table *table, const struct series_column *column)
{
    for (size_t i = 0; i < table->count; i++)
        if (series_column_has(column, (const char *)table->rows + i * table->size))
            return true;
    return false;
}

/* Adds the columns that say where the rows are, and those that have values. */
static bool add_table(const struct table *table, const struct series_column *places,
                      const struct series_column *columns, size_t count, struct error *error)
{
    bool added = true;
    for (size_t i = 0; added && i < 3; i++)
        added = add_array(table, &places[i], error);
    for (size_t i = 0; added && i < count; i++)
        if (has_values(table, &columns[i]))
            added = add_array(table, &columns[i], error);
    return added;
}

static bool add_rows(struct npz_file *npz, const char *prefix, const struct rows *rows,
                     struct error *error)
{
    static const struct series_column point_places[3] = {
        {"iteration", offsetof(struct series_point, iteration), true, true},
        {"epoch", offsetof(struct series_point, epoch), false, true},
        {"seconds", offsetof(struct series_point, seconds), false, true}};
    static const struct series_column validation_places[3] = {
        {"validation/iteration", offsetof(struct series_validation, iteration), true, true},
        {"validation/epoch", offsetof(struct series_validation, epoch), false, true},
        {"validation/seconds", offsetof(struct series_validation, seconds), false, true}};
    const struct table points = {npz, prefix, rows->points, rows->point_count,
                                 sizeof *rows->points};
    const struct table validations = {npz, prefix, rows->validations, rows->validation_count,
                                      sizeof *rows->validations};
    return add_table(&points, point_places, series_point_columns, series_point_column_count,
                     error) &&
           (rows->validation_count == 0 ||
            add_table(&validations, validation_places, series_validation_columns,
                      series_validation_column_count, error));
}

/* Adds the result on the test set, if there is one, as arrays of one value. */
static bool add_test(struct npz_file *npz, const char *prefix, const struct run *run,
                     struct error *error)
{
    struct run_snapshot end;
    struct series_validation row;
    bool added = true;
    run_snapshot(run, &end);
    const bool has = series_test_row(&end, &row);
    const struct table table = {npz, prefix, &row, 1, sizeof row};
    for (size_t i = 0; added && has && i < series_test_column_count; i++)
        if (has_values(&table, &series_test_columns[i]))
            added = add_array(&table, &series_test_columns[i], error);
    return added;
}

static bool add_config(struct npz_file *npz, const char *prefix, const struct run *run,
                       struct error *error)
{
    char name[NAME_SIZE];
    struct json *tree = json_new_object();
    const bool complete = run_facts(run)->imported[0] ? config_given_to_json(run_config(run), tree)
                                                      : config_to_json(run_config(run), tree);
    char *text = complete ? json_print_utf8(tree, false, error) : NULL;
    if (!complete)
        error_set_memory(error, "the configuration", 0);
    snprintf(name, sizeof name, "%sconfig", prefix);
    const bool added = text && npz_file_add_text(npz, name, text, error);
    free(text);
    json_free(tree);
    return added;
}

static bool add_run(struct npz_file *npz, const char *prefix, const struct run *run,
                    struct error *error)
{
    struct rows rows = {0};
    const struct run_rows visit = {&rows, take_point, take_validation};
    const bool added = run_rows_read(run_facts(run)->directory, &visit, error) &&
                       add_rows(npz, prefix, &rows, error) && add_test(npz, prefix, run, error) &&
                       add_config(npz, prefix, run, error);
    free(rows.points);
    free(rows.validations);
    return added;
}

bool export_npz(struct run *const *runs, size_t count, const char *path, struct error *error)
{
    struct npz_file npz;
    char prefix[RUN_ID_SIZE + 2] = "";
    bool added = true;
    if (!npz_file_open(&npz, path, error))
        return false;
    for (size_t i = 0; added && i < count; i++) {
        if (count > 1)
            snprintf(prefix, sizeof prefix, "%s/", run_facts(runs[i])->id);
        added = add_run(&npz, prefix, runs[i], error);
    }
    return npz_file_close(&npz, added, error);
}
