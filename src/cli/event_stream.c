/* The journal is read from its file, because it has every event in order: a snapshot has only the
 * present state. */
#include "cli/internal.h"

#include "base/json/json.h"
#include "base/memory.h"
#include "base/text.h"
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
    *stream = (struct event_stream){.directory = memory_copy_text(facts->directory, error)};
    if (!stream->directory) {
        json_free(object);
        return false;
    }
    print_line(object, json_add_string(object, "event", "run") &&
                           json_add_string(object, "id", facts->id) &&
                           json_add_string(object, "directory", facts->directory));
    return true;
}

static bool print_entry(void *context, const struct journal_line *line, struct error *error)
{
    struct text *text = context;
    (void)error;
    text->length = 0;
    journal_print_line(text, line);
    if (!text->failed)
        output_print("%.*s\n", (int)text->length, text->data);
    return true;
}

void event_stream_print(struct event_stream *stream)
{
    enum journal_tail_result news;
    struct text text = {0};
    do {
        news = journal_tail_read(&stream->tail, stream->directory, print_entry, &text, NULL);
        if (news == JOURNAL_CUT)
            journal_tail_free(&stream->tail);
    } while (news == JOURNAL_MORE);
    text_free(&text);
    fflush(stdout);
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
    journal_tail_free(&stream->tail);
    free(stream->directory);
    *stream = (struct event_stream){0};
}
