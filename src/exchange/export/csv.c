/* Finds the settings that distinguish the runs of a table. Each run is compared only with the first
 * one of the same network, mode and batch, so n runs need n comparisons. */
#include "exchange/export/internal.h"

#include "base/decimal.h"
#include "base/escape/csv.h"
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/host/host.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text.h"
#include "exchange/export/export.h"
#include "runs/folder/run_rows.h"
#include "runs/settings/settings.h"
#include "runs/values/scalars.h"
#include "runs/values/series.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The columns of the studies' CSV files that identify a run.
 *
 * The studies' key is network,mode,batch. If several runs of a table have the same key, further
 * columns hold the settings in which they differ, or the ID if all settings are equal. They follow
 * the studies' columns, so that programs that know only those can ignore them. */

struct csv_key {
    bool *varies; /* [config_field_count] */
    bool with_id;
};

enum { CSV_KEY_SIZE = 128 };

enum { VALUE_SIZE = 1024 };

static const char *mode_of(const struct run *run)
{
    if (strcmp(machine_settings(run_config(run)).device, "unknown") == 0)
        return "unknown"; /* an imported run */
    return strncmp(machine_settings(run_config(run)).device, "cuda", 4) == 0 ? "GPU" : "CPU";
}

/* The key is the beginning of every row, "network,mode,batch". The technique is part of the name,
 * as in the studies. */
static char *csv_key_print(const struct run *run, char text[CSV_KEY_SIZE])
{
    const struct run_facts *facts = run_facts(run);
    char name[64];
    csv_clean(facts->network, name, sizeof name);
    bool plain = strcmp(facts->technique, "none") == 0 || strstr(name, facts->technique);
    snprintf(text, CSV_KEY_SIZE, "%s%s%s,%s,%03zu", name, plain ? "" : "-",
             plain ? "" : facts->technique, mode_of(run), training_settings(run_config(run)).batch);
    return text;
}

/* --- settings in which runs differ --- */

/* Writes a setting as a table shows it: "unknown" if the log of an imported run does not give it.
 */
static void shown_value(const struct run *run, const char *field, char *shown)
{
    char value[VALUE_SIZE] = "unknown";
    if (config_is_known(run_config(run), run_facts(run)->imported, field))
        config_get(run_config(run), field, value, sizeof value);
    csv_clean(value, shown, VALUE_SIZE);
}

/* Returns whether two runs differ in a setting as the table shows it. */
static bool differs(const struct run *a, const struct run *b, const char *field)
{
    char first[VALUE_SIZE], second[VALUE_SIZE];
    shown_value(a, field, first);
    shown_value(b, field, second);
    return strcmp(first, second) != 0;
}

/* Returns whether a setting is part of the key. The key has network and technique; its mode is only
 * the kind of device. */
static bool is_in_head(const char *field)
{
    return strcmp(field, KEY(network)) == 0 || strcmp(field, KEY(technique)) == 0 ||
           strcmp(field, KEY(batch)) == 0;
}

static bool has_equal_settings(const struct csv_key *key, const struct run *a, const struct run *b)
{
    bool equal = true;
    for (size_t f = 0; equal && f < config_field_count; f++)
        equal = !key->varies[f] || !differs(a, b, config_fields[f].key);
    return equal;
}

static void find_columns(struct csv_key *key, struct run *const *runs,
                         const char (*heads)[CSV_KEY_SIZE], size_t count)
{
    for (size_t i = 1; i < count; i++) {
        size_t first = 0;
        while (first < i && strcmp(heads[first], heads[i]) != 0)
            first++;
        for (size_t f = 0; first < i && f < config_field_count; f++)
            key->varies[f] =
                key->varies[f] || (!is_in_head(config_fields[f].key) &&
                                   differs(runs[first], runs[i], config_fields[f].key));
    }
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i && !key->with_id; k++)
            key->with_id =
                strcmp(heads[k], heads[i]) == 0 && has_equal_settings(key, runs[k], runs[i]);
}

/* Frees the columns. */
static void csv_key_free(struct csv_key *key)
{
    free(key->varies);
    *key = (struct csv_key){0};
}

/* Finds the settings that distinguish the `count` runs of a table. csv_key_free frees them. */
static bool csv_key_create(struct csv_key *key, struct run *const *runs, size_t count,
                           struct error *error)
{
    *key = (struct csv_key){0};
    key->varies = memory_new(config_field_count, sizeof *key->varies, "a table", error);
    char(*heads)[CSV_KEY_SIZE] = memory_new(count, sizeof *heads, "a table", error);
    const bool created = key->varies && heads;
    for (size_t i = 0; created && i < count; i++)
        csv_key_print(runs[i], heads[i]);
    if (created)
        find_columns(key, runs, (const char(*)[CSV_KEY_SIZE])heads, count);
    free(heads);
    if (!created)
        csv_key_free(key);
    return created;
}

/* --- writing --- */

/* Writes ",lr,seed": the names of the further columns. */
static void csv_key_write_names(const struct csv_key *key, FILE *stream)
{
    for (size_t f = 0; f < config_field_count; f++)
        if (key->varies[f])
            fprintf(stream, ",%s", config_fields[f].key);
    if (key->with_id)
        fputs(",run", stream);
}

/* Writes ",0.1,3": a run's further columns. */
static void csv_key_write_further(const struct csv_key *key, const struct run *run, FILE *stream)
{
    char shown[VALUE_SIZE];
    for (size_t f = 0; f < config_field_count; f++) {
        if (!key->varies[f])
            continue;
        shown_value(run, config_fields[f].key, shown);
        fprintf(stream, ",%s", shown);
    }
    if (!key->with_id)
        return;
    csv_clean(run_facts(run)->id, shown, sizeof shown);
    fprintf(stream, ",%s", shown);
}

/* --- the studies' tables --- */

/* Writes the studies' CSV files (Trindade 2017): one with a row for each iteration, one with a row
 * for each run. */

static double seconds_of(const struct run *run, const struct series_point *point)
{
    return (double)point->ms_per_image * 1e-3 * (double)training_settings(run_config(run)).batch;
}

/* Writes a loss with the digits of its float32 value, or the words of the studies' files. Returns
 * the length. */
static size_t print_loss(float loss, char text[JSON_FLOAT_SIZE])
{
    return isfinite(loss) ? json_float_text(loss, text)
                          : (size_t)snprintf(text, JSON_FLOAT_SIZE, "%s",
                                             isnan(loss) ? "nan"
                                             : loss > 0  ? "inf"
                                                         : "-inf");
}

static void put_end(FILE *stream, const struct csv_key *key, const struct run *run)
{
    csv_key_write_further(key, run, stream);
    fputc('\n', stream);
}

/* Returns the end of all rows of a run, owned by the caller; NULL if out of memory. */
static char *print_end(const struct csv_key *key, const struct run *run, size_t *length)
{
    char *text = NULL;
    FILE *stream = open_memstream(&text, length);
    if (!stream)
        return NULL;
    put_end(stream, key, run);
    const bool complete = !ferror(stream);
    if (fclose(stream) == 0 && complete)
        return text;
    free(text);
    return NULL;
}

/* Writes the row of each iteration: key, iteration, loss, time, end. */
static void put_losses(FILE *stream, const struct csv_key *key, const struct run *run)
{
    char row[CSV_KEY_SIZE + 2 * DECIMAL_SIZE + JSON_FLOAT_SIZE + 3];
    const struct series *series = run_series(run);
    size_t end_length = 0;
    char *end = print_end(key, run, &end_length);
    csv_key_print(run, row);
    const size_t head = strlen(row);
    row[head] = ',';
    for (size_t i = 0, count = series_count(series); i < count; i++) {
        const struct series_point *point = &series->points[i];
        size_t length = head + 1;
        length += decimal_write_count(point->iteration, row + length);
        row[length++] = ',';
        length += print_loss(point->loss, row + length);
        row[length++] = ',';
        length += decimal_write_six(seconds_of(run, point), row + length);
        fwrite(row, 1, length, stream);
        if (end)
            fwrite(end, 1, end_length, stream);
        else
            put_end(stream, key, run);
    }
    free(end);
}

/* Writes the row of times; some are unknown for imported runs. */
static void put_times(FILE *stream, const struct csv_key *key, const struct run *run)
{
    const struct series *series = run_series(run);
    char head[CSV_KEY_SIZE];
    size_t known = 0;
    double sum = 0;
    for (size_t i = 0, count = series_count(series); i < count; i++)
        if (isfinite(series->points[i].ms_per_image)) {
            sum += seconds_of(run, &series->points[i]);
            known++;
        }
    if (known > 0) {
        fprintf(stream, "%s,%.6g", csv_key_print(run, head), sum / (double)known);
        put_end(stream, key, run);
    }
}

/* --- files: one for each host and framework, as the studies named them --- */

struct source {
    char name[300]; /* "HOST_tinca"; imported runs have the host and framework of their log */
};

static void name_source(const struct run *run, const struct host *host, struct source *source)
{
    char name[sizeof host->name];
    const struct run_facts *facts = run_facts(run);
    const char *from = facts->host[0] ? facts->host : "unknown";
    csv_clean(facts->imported[0] ? from : host->name, name, sizeof name);
    snprintf(source->name, sizeof source->name, "%s_%s", name,
             facts->imported[0] ? facts->imported : "tinca");
}

struct table {
    const char *what, *columns;
    void (*put)(FILE *stream, const struct csv_key *key, const struct run *run);
};

/* Writes the rows of the runs with the same source as run `first`. If `sources` is NULL, it writes
 * the rows of all runs from `first` on. */
static void put_table(FILE *stream, const struct table *table, const struct csv_key *key,
                      struct run *const *runs, const struct source *sources, size_t count,
                      size_t first)
{
    fprintf(stream, "#network,mode,batch,%s", table->columns);
    csv_key_write_names(key, stream);
    fputc('\n', stream);
    for (size_t i = first; i < count; i++)
        if (!sources || strcmp(sources[first].name, sources[i].name) == 0)
            table->put(stream, key, runs[i]);
}

static bool write_table(const struct table *table, const struct csv_key *key,
                        struct run *const *runs, const struct source *sources, size_t count,
                        size_t first, const char *directory, struct error *error)
{
    struct output_file output;
    char name[320];
    snprintf(name, sizeof name, "%s_%s.csv", table->what, sources[first].name);
    char *path = file_join(directory, name);
    bool opened = path ? output_file_open(&output, path, OUTPUT_TEXT, error)
                       : error_set_memory(error, "a path", 0);
    free(path);
    if (!opened)
        return false;
    put_table(output.stream, table, key, runs, sources, count, first);
    return output_file_commit(&output, error);
}

static const struct table losses = {"loss", "step,loss,time", put_losses};
static const struct table times = {"times", "avg_time", put_times};

static bool write_tables(const struct csv_key *key, struct run *const *runs,
                         const struct source *sources, size_t count, const char *directory,
                         struct error *error)
{
    bool written = true;
    for (size_t i = 0; written && i < count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= strcmp(sources[k].name, sources[i].name) == 0;
        written = seen || (write_table(&losses, key, runs, sources, count, i, directory, error) &&
                           write_table(&times, key, runs, sources, count, i, directory, error));
    }
    return written;
}

/* Writes both tables to one stream, with an empty line between them. */
static bool write_stream(const struct csv_key *key, struct run *const *runs, size_t count,
                         const char *name, struct error *error)
{
    struct output_file output;
    if (!output_file_open(&output, name, OUTPUT_TEXT, error))
        return false;
    put_table(output.stream, &losses, key, runs, NULL, count, 0);
    fputc('\n', output.stream);
    put_table(output.stream, &times, key, runs, NULL, count, 0);
    return output_file_commit(&output, error);
}

static bool write_files(const struct csv_key *key, struct run *const *runs, size_t count,
                        const char *directory, struct error *error)
{
    struct host host;
    struct source *sources = memory_new(count, sizeof *sources, "the names of the tables", error);
    host_describe(&host);
    for (size_t i = 0; sources && i < count; i++)
        name_source(runs[i], &host, &sources[i]);
    bool written = sources && file_make_directories(directory, error) &&
                   write_tables(key, runs, sources, count, directory, error);
    free(sources);
    return written;
}

bool export_csv(struct run *const *runs, size_t count, const char *directory, struct error *error)
{
    struct csv_key key;
    if (!csv_key_create(&key, runs, count, error))
        return false;
    const bool written = output_file_is_stream(directory)
                             ? write_stream(&key, runs, count, directory, error)
                             : write_files(&key, runs, count, directory, error);
    csv_key_free(&key);
    return written;
}

/* --- one table of all values --- */

/* Writes one table of all values, a row each ("tidy", Wickham 2014), so that a reader needs to know
 * neither the networks nor which series a run has. */

enum { ROW_SIZE = 64 + 5 * DECIMAL_SIZE };
_Static_assert((int)DECIMAL_SIZE >= (int)JSON_FLOAT_SIZE, "a cell holds a float");

/* The table that is being written. */
struct long_table {
    FILE *stream;
    const char *run; /* the run's ID, escaped */
};

/* Writes a float so that it reads back as the same. Returns the length. */
static size_t print_float(float value, char *text)
{
    if (isfinite(value))
        return json_float_text(value, text);
    const char *word = isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf";
    memcpy(text, word, strlen(word));
    return strlen(word);
}

static size_t print_value(const struct series_column *column, const void *row, char *text)
{
    const double value = series_column_value(column, row);
    return column->is_count ? decimal_write_count((uint64_t)value, text)
                            : print_float((float)value, text);
}

/* Writes a row for each value of an iteration or a validation. */
static bool put_rows(const struct long_table *table, const struct series_column *columns,
                     size_t count, const void *row, uint64_t step, float epoch, float seconds)
{
    char place[3 * DECIMAL_SIZE + 4], line[ROW_SIZE];
    size_t length = decimal_write_count(step, place);
    place[length++] = ',';
    length += print_float(epoch, place + length);
    place[length++] = ',';
    length += print_float(seconds, place + length);
    place[length++] = ',';
    for (size_t i = 0; i < count; i++) {
        if (!series_column_has(&columns[i], row))
            continue;
        const size_t name = strlen(columns[i].name);
        size_t used = 0;
        line[used++] = ',';
        memcpy(line + used, columns[i].name, name);
        used += name;
        line[used++] = ',';
        memcpy(line + used, place, length);
        used += length;
        used += print_value(&columns[i], row, line + used);
        line[used++] = '\n';
        fputs(table->run, table->stream);
        fwrite(line, 1, used, table->stream);
    }
    return true;
}

static bool put_point(void *context, const struct series_point *point, struct error *error)
{
    (void)error;
    return put_rows(context, series_point_columns, series_point_column_count, point,
                    point->iteration, point->epoch, point->seconds);
}

static bool put_validation(void *context, const struct series_validation *validation,
                           struct error *error)
{
    (void)error;
    return put_rows(context, series_validation_columns, series_validation_column_count, validation,
                    validation->iteration, validation->epoch, validation->seconds);
}

/* Writes the result on the test set, if there is one. */
static bool put_test(const struct long_table *table, const struct run *run)
{
    struct run_snapshot end;
    struct series_validation row;
    run_snapshot(run, &end);
    return !series_test_row(&end, &row) ||
           put_rows(table, series_test_columns, series_test_column_count, &row, row.iteration,
                    row.epoch, row.seconds);
}

/* Writes a double so that it reads back as the same. Returns `text`. */
static char *print_double(double value, char text[DECIMAL_SIZE])
{
    if (!isfinite(value)) {
        text[print_float((float)value, text)] = '\0';
        return text;
    }
    snprintf(text, DECIMAL_SIZE, "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, DECIMAL_SIZE, "%.17g", value);
    return text;
}

/* Writes a row for each value of a series of another name. Its epochs are not known. */
static bool put_scalar_series(const struct long_table *table, const struct scalar_series *series,
                              struct error *error)
{
    char seconds[DECIMAL_SIZE], value[DECIMAL_SIZE];
    struct text name = {0}, cell = {0};
    text_append(&name, "scalars/%s", series->name);
    if (!name.failed)
        csv_append(&cell, name.data);
    const bool put = !name.failed && !cell.failed;
    for (size_t i = 0; put && i < series->count; i++)
        fprintf(table->stream, "%s,%s,%" PRIu64 ",NaN,%s,%s\n", table->run, cell.data,
                series->values[i].step, print_double(series->values[i].time, seconds),
                print_double(series->values[i].value, value));
    text_free(&name);
    text_free(&cell);
    return put || error_set_memory(error, "the table", 0);
}

static bool put_scalars(const struct long_table *table, const struct run *run, struct error *error)
{
    bool put = true;
    const struct scalars *scalars = run_scalars(run);
    for (size_t i = 0; put && i < scalars->count; i++)
        put = put_scalar_series(table, &scalars->series[i], error);
    return put;
}

static bool put_run(FILE *stream, const struct run *run, struct error *error)
{
    struct text name = {0};
    struct long_table table = {.stream = stream};
    const struct run_rows rows = {&table, put_point, put_validation};
    csv_append(&name, run_facts(run)->id);
    table.run = name.data;
    const bool put = name.failed ? error_set_memory(error, "the table", 0)
                                 : run_rows_read(run_facts(run)->directory, &rows, error) &&
                                       put_scalars(&table, run, error) && put_test(&table, run);
    text_free(&name);
    return put;
}

bool export_csv_long(struct run *const *runs, size_t count, const char *path, struct error *error)
{
    struct output_file output;
    bool put = true;
    if (!output_file_open(&output, path, OUTPUT_TEXT, error))
        return false;
    fputs("run,series,step,epoch,time,value\n", output.stream);
    for (size_t i = 0; put && i < count; i++)
        put = put_run(output.stream, runs[i], error);
    if (put)
        return output_file_commit(&output, error);
    output_file_abandon(&output);
    return false;
}
