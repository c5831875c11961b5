/* Reads the studies' tables, which csv.c also writes. Each row begins with network,mode,batch and
 * is one iteration (step,loss,time) or one training (avg_time), with times in seconds per
 * iteration. Rows with the same beginning are one training, until the steps start again. Further
 * columns after the figures also identify the training (exchange/export/csv.c). In a table of
 * mean times each training is one point without a loss.
 *
 * The file is named loss_HOST_FRAMEWORK.csv. Losses of Caffe are its running mean; negative
 * losses of any other framework also count as running means.
 */
#include "exchange/logs/import_log.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "data/formats/gzip_file.h"
#include "exchange/logs/import.h"
#include "exchange/logs/import_run.h"
#include "exchange/logs/import_stream.h"
#include "exchange/logs/internal.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_name.h"
#include "runs/history/run_trash.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char head[] = "#network,mode,batch,";
static const char *const frameworks[] = {"caffe", "tensorflow", "keras", "tinca"};

struct table {
    struct imported_logs *logs;
    const struct import_request *request;
    struct error *error;
    char framework[16], host[128];
    bool has_losses;
    size_t further;     /* columns after the figures (exchange/export/csv.c) */
    size_t damaged, at; /* unreadable rows; index of the last row's training */
};

struct row {
    char network[64], mode[8], variant[128]; /* variant: the text of the further columns */
    size_t batch;
    uint64_t step;
    double loss, seconds; /* values of one iteration */
};

/* Returns whether the text is one of the studies' tables. */
static bool import_csv_is(const char *text)
{
    return strncmp(text + strspn(text, "\r\n"), head, sizeof head - 1) == 0;
}

/* --- the name of the file --- */

/* Reads host and framework from "loss_HOST_FRAMEWORK.csv.gz"; without them the framework is "csv".
 */
static void read_name(struct table *table)
{
    char name[160];
    const struct import_request *request = table->request;
    snprintf(name, sizeof name, "%s", file_base_name(request->path));
    snprintf(table->framework, sizeof table->framework, "csv");
    char *end = strcasestr(name, ".csv"), *host = strchr(name, '_');
    if (end)
        *end = '\0';
    char *framework = strrchr(name, '_');
    for (size_t i = 0; framework && i < sizeof frameworks / sizeof *frameworks; i++)
        if (strcasecmp(framework + 1, frameworks[i]) == 0)
            snprintf(table->framework, sizeof table->framework, "%s", frameworks[i]);
    if (framework > host && strcmp(table->framework, "csv") != 0)
        snprintf(table->host, sizeof table->host, "%.*s", (int)(framework - host - 1), host + 1);
    if (strcmp(table->host, "unknown") == 0) /* the name that csv.c writes for an unknown host */
        table->host[0] = '\0';
    if (request->framework)
        snprintf(table->framework, sizeof table->framework, "%s", request->framework);
}

/* --- rows --- */

/* Stores the text of the further columns, ",0.1,3". Returns false if their number is wrong. */
static bool read_variant(const struct table *table, const char *at, struct row *row)
{
    size_t columns = 0;
    for (const char *comma = at; *comma; comma++)
        columns += *comma == ',';
    snprintf(row->variant, sizeof row->variant, "%s", at);
    return columns == table->further;
}

static bool read_row(const struct table *table, const char *line, struct row *row)
{
    double batch, step = 1;
    int length = 0;
    *row = (struct row){.loss = NAN};
    sscanf(line, "%63[^,],%7[^,],%n", row->network, row->mode, &length);
    const char *at = length > 0 ? import_number(line + length, &batch) : NULL;
    if (table->has_losses) {
        at = at && *at == ',' ? import_number(at + 1, &step) : NULL;
        at = at && *at == ',' ? import_number(at + 1, &row->loss) : NULL;
    }
    at = at && *at == ',' ? import_number(at + 1, &row->seconds) : NULL;
    at = at ? at + strspn(at, " \t") : NULL;
    if (!at || (*at && *at != ',') || !read_variant(table, at, row) ||
        !(batch >= 0 && batch <= 65536) || !(step >= 0 && step <= 1e9) || step != floor(step))
        return false;
    row->batch = (size_t)batch;
    row->step = (uint64_t)step;
    return true;
}

static const char *device_of(const char *mode)
{
    return strcasecmp(mode, "GPU") == 0 ? "cuda" : strcasecmp(mode, "CPU") == 0 ? "cpu" : "";
}

/* Returns the training that the row continues, or NULL. */
static struct imported_log *find_log(struct table *table, const struct row *row)
{
    const struct imported_logs *logs = table->logs;
    for (size_t i = 0; i < logs->count; i++) {
        struct imported_log *log = &logs->logs[(table->at + logs->count - i) % logs->count];
        if (strcmp(log->network, row->network) == 0 && log->batch == row->batch &&
            strcmp(log->variant, row->variant) == 0 &&
            strcmp(log->device, device_of(row->mode)) == 0 &&
            import_last_point(log)->iteration < row->step)
            return log;
    }
    return NULL;
}

static struct imported_log *add_log(struct table *table, const struct row *row)
{
    struct imported_log *log = import_logs_add(table->logs, table->framework, table->error);
    if (!log)
        return NULL;
    snprintf(log->network, sizeof log->network, "%s", row->network);
    snprintf(log->device, sizeof log->device, "%s", device_of(row->mode));
    snprintf(log->host, sizeof log->host, "%s", table->host);
    snprintf(log->variant, sizeof log->variant, "%s", row->variant);
    log->batch = row->batch;
    return log;
}

static bool add_row(struct table *table, const struct row *row)
{
    struct imported_log *log = find_log(table, row);
    if (!log && !(log = add_log(table, row)))
        return false;
    table->at = (size_t)(log - table->logs->logs);
    const struct series_point *last = import_last_point(log);
    const double before = last ? (double)last->seconds : 0;
    struct import_reader reader = {.log = log, .error = table->error, .now = NAN, .started = NAN};
    if (!import_add_point(&reader, row->step, (float)row->loss, NAN))
        return false;
    struct series_point *point = import_last_point(log);
    point->learning_rate = NAN;
    point->ms_per_image = (float)(1e3 * row->seconds); /* time of one iteration, see import_log.h */
    point->seconds = (float)(before + row->seconds);
    return true;
}

/* --- reading a table --- */

static void settle(const struct table *table, struct imported_log *log)
{
    const bool from_zero = log->points[0].iteration == 0;
    log->times_only = !table->has_losses || (log->count == 1 && isnan(log->points[0].loss));
    log->mean_only = table->has_losses && strcmp(log->framework, "caffe") == 0;
    for (size_t i = 0; i < log->count; i++) {
        log->points[i].iteration += from_zero;
        log->mean_only |= log->points[i].loss < 0;
    }
    for (size_t i = 0; log->mean_only && i < log->count; i++)
        log->points[i].loss_caffe = log->points[i].loss;
}

static bool read_rows(struct table *table, char *rest)
{
    bool good = true;
    struct row row;
    for (char *line; good && (line = strsep(&rest, "\r\n"));) {
        if (!line[0] || line[0] == '#')
            continue;
        if (read_row(table, line, &row))
            good = add_row(table, &row);
        else
            table->damaged++;
    }
    return good;
}

/* Reads the names of the columns after the batch: the figures, then any number of further ones. */
static bool read_columns(struct table *table, const char *columns)
{
    static const char losses[] = "step,loss,time", times[] = "avg_time";
    table->has_losses = strncmp(columns, losses, sizeof losses - 1) == 0;
    if (!table->has_losses && strncmp(columns, times, sizeof times - 1) != 0)
        return false;
    columns += table->has_losses ? sizeof losses - 1 : sizeof times - 1;
    if (*columns && *columns != ',')
        return false;
    for (; *columns; columns++)
        table->further += *columns == ',';
    return true;
}

/* Reads one of the studies' tables from `text`, and modifies it. */
static bool import_csv_read(struct imported_logs *logs, const struct import_request *request,
                            char *text, struct error *error)
{
    static const char *const advice = N_("give a table with rows network,mode,batch,step,loss,time "
                                         "or network,mode,batch,avg_time");
    struct table table = {.logs = logs, .request = request, .error = error};
    char *line = text + strspn(text, "\r\n");
    char *rest = line + strcspn(line, "\r\n");
    if (*rest)
        *rest++ = '\0';
    if (!read_columns(&table, line + sizeof head - 1))
        return error_set(error, ERROR_INPUT, request->path, advice,
                         "its first row names other columns than the studies' tables");
    read_name(&table);
    if (!read_rows(&table, rest))
        return false;
    if (logs->count == 0)
        return error_set(error, ERROR_INPUT, request->path, advice,
                         "no row of the table can be read");
    logs->logs[0].notes.damaged = table.damaged;
    for (size_t i = 0; i < logs->count; i++)
        settle(&table, &logs->logs[i]);
    return true;
}

/* --- logs as runs --- */

/* Turns the logs in a file into run folders. A table of the studies has one for each
 * training; any other log is a stream that ends (import_stream.c) and has one. */

#define LOG_LIMIT ((size_t)512 << 20)

/* --- reading --- */

/* Cuts off the last word of a table that does not end with a line, and ends the text. */
static void end_text(char *text, size_t size)
{
    if (size > 0 && text[size - 1] != '\n')
        while (size > 0 && !strchr(" ,\n\r\b", text[size - 1]))
            size--;
    text[size] = '\0';
}

static bool read_stream(struct imported_logs *logs, const struct import_request *request,
                        const char *bytes, size_t size, struct error *error)
{
    struct import_stream *stream = import_stream_create(request, error);
    bool good = stream && import_stream_feed(stream, bytes, size, (double)NAN, error) &&
                import_stream_end(stream, error) &&
                import_stream_logs(stream, false, 0, logs, error);
    if (good && logs->count != 1)
        good = import_stream_refuse(request, logs, import_stream_is_empty(stream), error);
    import_stream_free(stream);
    return good;
}

bool import_logs_read(struct imported_logs *logs, const struct import_request *request, char *bytes,
                      size_t size, struct error *error)
{
    *logs = (struct imported_logs){0};
    bytes[size] = '\0';
    if (!import_csv_is(bytes))
        return read_stream(logs, request, bytes, size, error);
    for (size_t i = 0; i < size; i++)
        bytes[i] = bytes[i] ? bytes[i] : ' ';
    end_text(bytes, size);
    return import_csv_read(logs, request, bytes, error);
}

static bool read_file(const struct import_request *request, struct imported_logs *logs,
                      struct error *error)
{
    size_t size;
    uint8_t *bytes = request->input > 0 ? gzip_file_read_open(request->input, request->path,
                                                              LOG_LIMIT, &size, error)
                                        : gzip_file_read(request->path, LOG_LIMIT, &size, error);
    char *text = bytes ? memory_new(size + 1, 1, "the log", error) : NULL;
    if (text && size > 0)
        memcpy(text, bytes, size);
    free(bytes);
    const bool read = text && import_logs_read(logs, request, text, size, error);
    free(text);
    return read;
}

bool import_summarise(const char *path, struct import_summary *summary)
{
    struct error unused;
    struct imported_logs logs = {0};
    const struct import_request request = {.path = path};
    const bool read = read_file(&request, &logs, &unused) && logs.count > 0;
    *summary = (struct import_summary){.trainings = logs.count};
    for (size_t i = 0; read && i < logs.count; i++) {
        summary->points += logs.logs[i].count;
        summary->validations += logs.logs[i].validation_count;
    }
    if (read)
        snprintf(summary->framework, sizeof summary->framework, "%s", logs.logs[0].framework);
    import_logs_free(&logs);
    return read;
}

/* --- runs --- */

/* Names the run as the user wants or, without a wish, like the file, if that can be a name. */
static bool name_run(const struct import_request *request, const struct import_run *run,
                     struct error *error)
{
    const char *directory = import_run_directory(run);
    if (request->name)
        return run_name_write(directory, request->name, error);
    if (request->input == 0)
        run_name_write(directory, file_base_name(request->path), NULL);
    return true;
}

/* Imports a log. `alone`: it is all that the file has, so the run gets a name. */
static bool import_one(const struct import_request *request, struct imported_log *log, bool alone,
                       struct import_result *result, struct error *error)
{
    struct import_run *run = import_run_create(request, log, false, error);
    const bool good = run && import_run_update(run, log, (struct import_memory){0}, error) &&
                      (!alone || name_run(request, run, error)) &&
                      import_run_end(run, log, false, error);
    if (good) {
        *result = (struct import_result){
            .iterations = log->count, .validations = log->validation_count, .notes = log->notes};
        snprintf(result->id, sizeof result->id, "%s", import_run_id(run));
        snprintf(result->framework, sizeof result->framework, "%s", log->framework);
    }
    import_run_free(run);
    return good;
}

static void remove_created_runs(const struct import_results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        char *directory = run_directory_find(results->items[i].id, NULL);
        if (directory)
            run_remove(directory, NULL);
        free(directory);
    }
}

static bool import_all(const struct import_request *request, struct imported_logs *logs,
                       struct import_results *results, struct error *error)
{
    for (size_t i = 0; i < logs->count; i++) {
        if (!memory_grow(&results->items, &results->capacity, i + 1, sizeof *results->items,
                         "what was imported", error) ||
            !import_one(request, &logs->logs[i], logs->count == 1, &results->items[i], error))
            return false;
        results->count++;
    }
    return true;
}

bool import_file(const struct import_request *request, struct import_results *results,
                 struct error *error)
{
    struct imported_logs logs = {0};
    bool good = (!request->name || run_name_check(request->name, error)) &&
                read_file(request, &logs, error);
    if (good && request->name && logs.count > 1)
        good = error_set(error, ERROR_USAGE, "--name", "leave it out: each run has its training's",
                         "%s has %zu trainings", request->path, logs.count);
    good = good && import_all(request, &logs, results, error);
    if (!good) {
        remove_created_runs(results);
        results->count = 0;
    }
    import_logs_free(&logs);
    return good;
}

void import_results_free(struct import_results *results)
{
    free(results->items);
    *results = (struct import_results){0};
}
