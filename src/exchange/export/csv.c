/* Writes the studies' CSV files (Trindade 2017): one with a row for each iteration, one with a row
 * for each run. */
#include "base/escape/csv.h"
#include "base/decimal.h"
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/host/host.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "exchange/export/export.h"
#include "exchange/export/internal.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
