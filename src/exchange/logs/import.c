/* Turns the logs in a file into run folders. A table of the studies (import_csv.c) has one for each
 * training; any other log is a stream that ends (import_stream.c) and has one. */
#include "exchange/logs/import.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "data/formats/gzip_file.h"
#include "exchange/logs/import_log.h"
#include "exchange/logs/import_run.h"
#include "exchange/logs/import_stream.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_name.h"
#include "runs/history/run_trash.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
