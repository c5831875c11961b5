/* An .npz file of NumPy is a ZIP archive of .npy arrays, written one after another. Texts become
 * arrays without dimensions of the type str, whose characters have four bytes. */
#include "exchange/export/internal.h"

#include "base/host/memory_room.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "data/formats/npy.h"
#include "engine/weights/safetensors.h"
#include "exchange/export/export.h"
#include "exchange/frame/exchange.h"
#include "runs/folder/run_rows.h"
#include "runs/values/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An .npz file of NumPy that is being written: a ZIP archive of .npy arrays. */

struct npz_file {
    struct output_file output;
    struct zip_writer zip;
};

enum { HEADER_MOST = 256, NAME_MOST = 300 };

/* Begins the file. Returns false with an error. */
static bool npz_file_open(struct npz_file *npz, const char *path, struct error *error)
{
    *npz = (struct npz_file){.zip = {.stream = NULL}};
    if (!output_file_open(&npz->output, path, OUTPUT_BINARY, error))
        return false;
    npz->zip.stream = npz->output.stream;
    return true;
}

/* Adds an array in row order; `type` is as in NumPy, "<f4". Returns false with an error. */
static bool npz_file_add(struct npz_file *npz, const char *name, const char *type,
                         const size_t *shape, size_t dimensions, const void *data, size_t bytes,
                         struct error *error)
{
    uint8_t header[HEADER_MOST];
    char member[NAME_MOST];
    const size_t length = npy_header_write(header, type, shape, dimensions);
    if ((size_t)snprintf(member, sizeof member, "%s.npy", name) >= sizeof member)
        return error_set(error, ERROR_INPUT, name, NULL, "the name is too long for an array");
    return zip_writer_add(&npz->zip, member, header, length, data, bytes, error);
}

/* Decodes UTF-8, and any byte that is none as itself. Returns the number of characters. */
static size_t decode(const char *text, uint32_t *out)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t count = 0;
    while (*at) {
        const size_t more = *at >= 0xf0 && *at < 0xf5 ? 3 : *at >= 0xe0 ? 2 : *at >= 0xc2 ? 1 : 0;
        uint32_t character = *at < 0xf5 && more > 0 ? *at & (0x3fu >> more) : *at;
        size_t taken = 0;
        while (taken < more && (at[1 + taken] & 0xc0) == 0x80)
            character = character << 6 | (at[1 + taken++] & 0x3f);
        const bool valid =
            taken == more && character < 0x110000 && !(character >= 0xd800 && character < 0xe000);
        out[count++] = valid ? character : *at;
        at += valid ? 1 + more : 1;
    }
    return count;
}

/* Adds a text, as an array without dimensions of NumPy's type str. Returns false with an error. */
static bool npz_file_add_text(struct npz_file *npz, const char *name, const char *text,
                              struct error *error)
{
    char type[24];
    uint32_t *characters = memory_new(strlen(text) + 1, sizeof *characters, "a text", error);
    if (!characters)
        return false;
    const size_t count = decode(text, characters);
    snprintf(type, sizeof type, "<U%zu", count > 0 ? count : 1);
    const bool added = npz_file_add(npz, name, type, NULL, 0, characters,
                                    (count > 0 ? count : 1) * sizeof *characters, error);
    free(characters);
    return added;
}

/* Completes the file if `complete`, or else leaves the target unchanged. Frees it in any case.
 * Returns false if it is not complete, or with an error if it cannot be written. */
static bool npz_file_close(struct npz_file *npz, bool complete, struct error *error)
{
    if (complete) {
        zip_writer_end(&npz->zip);
        return output_file_commit(&npz->output, error);
    }
    zip_writer_abandon(&npz->zip);
    output_file_abandon(&npz->output);
    return false;
}

/* --- models --- */

/* NumPy's types by enum safetensors_type. */
static const char *const types[] = {
    [SAFETENSORS_F32] = "<f4", [SAFETENSORS_I32] = "<i4",  [SAFETENSORS_U8] = "|u1",
    [SAFETENSORS_I64] = "<i8", [SAFETENSORS_BF16] = "<f4", [SAFETENSORS_F16] = "<f2",
    [SAFETENSORS_I8] = "|i1"};

static bool add_entry(struct npz_file *npz, struct safetensors *file,
                      const struct safetensors_entry *entry, struct error *error)
{
    const bool widened = entry->type == SAFETENSORS_BF16;
    const size_t count = (size_t)safetensors_count(entry);
    const size_t bytes = widened ? count * sizeof(float) : (size_t)entry->bytes;
    void *data = memory_room_check(file->path, bytes, error)
                     ? memory_new_aligned(bytes > 0 ? bytes : 1, 1, entry->name, error)
                     : NULL;
    const bool added = data &&
                       (widened ? safetensors_read_floats(file, entry, 0, count, data, error)
                                : safetensors_read(file, entry, data, error)) &&
                       npz_file_add(npz, entry->name, types[entry->type], entry->dims, entry->rank,
                                    data, bytes, error);
    free(data);
    return added;
}

/* Writes the arrays of a saved model under their names. bf16, which NumPy does not have, becomes
 * float32. */
bool npz_export_model(const struct model_export *export, const char *path,
                      struct exchange_report *report, struct error *error)
{
    const char *model = export->model;
    (void)report;
    struct safetensors file;
    struct npz_file npz;
    if (!safetensors_open(&file, model, error))
        return false;
    bool added = !safetensors_has_checksum(&file) || safetensors_check(&file, error);
    const bool opened = added && npz_file_open(&npz, path, error);
    for (size_t i = 0; opened && added && i < file.count; i++)
        added = add_entry(&npz, &file, &file.entries[i], error);
    safetensors_close(&file);
    return opened && npz_file_close(&npz, added, error);
}

/* --- runs --- */

/* A run's rows are read into memory, and then written column by column. */

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
