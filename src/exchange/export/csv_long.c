/* Writes one table of all values, a row each ("tidy", Wickham 2014), so that a reader needs to know
 * neither the networks nor which series a run has. */
#include "base/decimal.h"
#include "base/escape/csv.h"
#include "base/files/output_file.h"
#include "base/json/json.h"
#include "base/text.h"
#include "exchange/export/export_tables.h"
#include "runs/folder/run_rows.h"
#include "runs/values/series.h"

#include <math.h>
#include <string.h>

enum { ROW_SIZE = 64 + 5 * DECIMAL_SIZE };
_Static_assert((int)DECIMAL_SIZE >= (int)JSON_FLOAT_SIZE, "a cell holds a float");

/* The table that is being written. */
struct table {
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
static bool put_rows(const struct table *table, const struct series_column *columns, size_t count,
                     const void *row, uint64_t step, float epoch, float seconds)
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
static bool put_test(const struct table *table, const struct run *run)
{
    struct run_snapshot end;
    struct series_validation row;
    run_snapshot(run, &end);
    return !series_test_row(&end, &row) ||
           put_rows(table, series_test_columns, series_test_column_count, &row, row.iteration,
                    row.epoch, row.seconds);
}

static bool put_run(FILE *stream, const struct run *run, struct error *error)
{
    struct text name = {0};
    struct table table = {.stream = stream};
    const struct run_rows rows = {&table, put_point, put_validation};
    csv_append(&name, run_facts(run)->id);
    table.run = name.data;
    const bool put = name.failed ? error_set_memory(error, "the table", 0)
                                 : run_rows_read(run_facts(run)->directory, &rows, error) &&
                                       put_test(&table, run);
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
