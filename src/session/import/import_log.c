/* Reads a whole log: a table of the studies (import_csv.c), or a stream that ends
 * (import_stream.c). */
#include "session/import/import_log.h"

#include "base/memory.h"
#include "session/import/import_stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const import_frameworks[] = {"caffe", "tensorflow", "keras",       "lightning",
                                         "csv",   "jsonl",      "tensorboard", NULL};

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

struct imported_log *import_logs_add(struct imported_logs *logs, const char *framework,
                                     struct error *error)
{
    if (!memory_grow(&logs->logs, &logs->capacity, logs->count + 1, sizeof *logs->logs, "the logs",
                     error))
        return NULL;
    struct imported_log *log = &logs->logs[logs->count++];
    *log = (struct imported_log){
        .learning_rate = NAN, .momentum = NAN, .weight_decay = NAN, .highest_rate = NAN};
    snprintf(log->framework, sizeof log->framework, "%s", framework);
    return log;
}

void import_logs_free(struct imported_logs *logs)
{
    for (size_t i = 0; i < logs->count; i++) {
        free(logs->logs[i].points);
        free(logs->logs[i].validations);
    }
    free(logs->logs);
    *logs = (struct imported_logs){0};
}
