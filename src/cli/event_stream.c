/* The journal is read from its file, because it has every event in order: a snapshot has only the
 * present state. */
#include "cli/internal.h"

#include "base/files/file.h"
#include "base/json/json.h"
#include "cli/output.h"
#include "runs/values/run_facts.h"
#include "runs/values/run_snapshot.h"

#include <stdlib.h>
#include <string.h>

/* Prints a document as a line, and frees it. */
static void print_line(struct json *object, bool complete)
{
    char *text = complete ? json_print_utf8(object, false, NULL) : NULL;
    if (text)
        output_print("%s\n", text);
    fflush(stdout);
    free(text);
    json_free(object);
}

bool event_stream_begin(struct event_stream *stream, const struct run *run, struct error *error)
{
    const struct run_facts *facts = run_facts(run);
    struct json *object = json_new_object();
    *stream = (struct event_stream){.path = file_join(facts->directory, "journal.jsonl")};
    if (!stream->path) {
        json_free(object);
        return error_set_memory(error, "a path", 0);
    }
    print_line(object, json_add_string(object, "event", "run") &&
                           json_add_string(object, "id", facts->id) &&
                           json_add_string(object, "directory", facts->directory));
    return true;
}

void event_stream_print(struct event_stream *stream)
{
    char *line = NULL;
    size_t size = 0;
    if (!stream->file && !(stream->file = fopen(stream->path, "r")))
        return;
    clearerr(stream->file);
    for (;;) {
        const long start = ftell(stream->file);
        const ssize_t length = getline(&line, &size, stream->file);
        if (length > 0 && line[length - 1] != '\n') /* the rest of it is not written yet */
            fseek(stream->file, start, SEEK_SET);
        if (length <= 0 || line[length - 1] != '\n')
            break;
        output_print("%.*s\n", (int)(length - 1), line);
    }
    fflush(stdout);
    free(line);
}

void event_stream_end(struct event_stream *stream, const struct run *run)
{
    struct run_snapshot snapshot;
    char message[1200];
    struct json *object = json_new_object();
    run_snapshot(run, &snapshot);
    event_stream_print(stream);
    const bool failed = snapshot.error.kind != ERROR_NONE;
    print_line(object,
               json_add_string(object, "event", "result") &&
                   json_add_string(object, "status", run_status_name(snapshot.status)) &&
                   (failed ? json_add_string(object, "error",
                                             error_format(&snapshot.error, message, sizeof message))
                           : json_add_null(object, "error")));
    if (stream->file)
        fclose(stream->file);
    free(stream->path);
    *stream = (struct event_stream){0};
}
