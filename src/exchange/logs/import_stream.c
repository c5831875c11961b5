/* Text is cut into lines; progress that overwrites itself (carriage returns, backspaces) also
 * counts as lines. Each line goes to the reader of the framework that claims it, or to all that
 * claim none, which take the lines that they know. Each reader has a log of its own, so that a
 * mixture shows.
 *
 * A log is settled at its end only: that works on a copy, so that it can be asked for while the
 * source grows. */
#include "exchange/logs/import_stream.h"

#include "base/files/content.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "exchange/logs/internal.h"
#include "exchange/tensorboard/event_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct import_dialect *const dialects[] = {
    &import_table, &import_jsonl,      &import_lightning, &import_caffe,
    &import_keras, &import_tensorflow, &import_events};
enum {
    DIALECTS = sizeof dialects / sizeof *dialects,
    EVENTS = DIALECTS - 1, /* the place of import_events */
    PLACES = 2,
    LINE_MOST = 1 << 20, /* bytes; a longer line is damage */
    POINTS_MOST = 1 << 24
};

/* A file that is being read. */
struct place {
    bool validation;
    bool decided, events; /* whether it is an event file, once enough bytes are there */
    bool too_long;        /* the line is too long and is skipped */
    struct text line;     /* the incomplete line, or the first bytes of a file */
    struct event_reader *reader;
};

struct import_stream {
    const struct import_request *request;
    struct place places[PLACES];
    size_t at; /* the place of the next bytes */
    bool something;
    struct text before; /* the last line that ended with a newline; empty: none */
    struct import_reader readers[DIALECTS];
    struct imported_log logs[DIALECTS];
    size_t damage_before[DIALECTS]; /* damage before the last line */
};

const struct import_dialect import_events = {.name = "tensorboard", .settle = import_rows_settle};

/* --- beginning and end --- */

static bool is_asked(const struct import_stream *stream, size_t dialect)
{
    const char *framework = stream->request->framework;
    return !framework || strcmp(framework, dialects[dialect]->name) == 0;
}

struct import_stream *import_stream_create(const struct import_request *request,
                                           struct error *error)
{
    struct import_stream *stream = memory_new(1, sizeof *stream, "a log", error);
    struct import_names names = {0};
    if (!stream || !import_names_give(&names, request->columns, error)) {
        free(stream);
        return NULL;
    }
    stream->request = request;
    for (size_t i = 0; i < DIALECTS; i++) {
        stream->logs[i] = (struct imported_log){.learning_rate = (double)NAN,
                                                .momentum = (double)NAN,
                                                .weight_decay = (double)NAN,
                                                .highest_rate = (double)NAN};
        snprintf(stream->logs[i].framework, sizeof stream->logs[i].framework, "%s",
                 dialects[i]->name);
        stream->readers[i] =
            (struct import_reader){.log = &stream->logs[i],
                                   .request = request,
                                   .asked = request->framework,
                                   .now = (double)NAN,
                                   .started = (double)NAN,
                                   .rate = (double)NAN,
                                   .names = names,
                                   .rows.epoch = (double)NAN,
                                   .lightning = {(double)NAN, (double)NAN, (double)NAN, false}};
    }
    return stream;
}

void import_stream_free(struct import_stream *stream)
{
    if (!stream)
        return;
    for (size_t i = 0; i < PLACES; i++) {
        text_free(&stream->places[i].line);
        event_reader_free(stream->places[i].reader);
    }
    text_free(&stream->before);
    for (size_t i = 0; i < DIALECTS; i++) {
        free(stream->readers[i].keras.shown);
        free(stream->readers[i].table.columns);
        free(stream->logs[i].points);
        free(stream->logs[i].validations);
        scalars_free(&stream->logs[i].scalars);
        free(stream->readers[i].others);
    }
    free(stream);
}

void import_stream_begin_file(struct import_stream *stream, size_t place, bool validation)
{
    struct place *file = &stream->places[place];
    text_free(&file->line);
    event_reader_free(file->reader);
    *file = (struct place){.validation = validation};
    stream->at = place;
    stream->before.length = 0;
}

void import_stream_choose(struct import_stream *stream, size_t place)
{
    stream->at = place;
}

bool import_stream_is_empty(const struct import_stream *stream)
{
    return !stream->something;
}

/* --- lines --- */

/* Gives a line to one reader. */
static bool give(struct import_stream *stream, size_t i, const char *line, double arrival,
                 struct error *error)
{
    struct import_reader *reader = &stream->readers[i];
    reader->error = error;
    if (dialects[i]->without_times && !isnan(arrival))
        reader->now = arrival;
    if (reader->log->count >= POINTS_MOST)
        return error_set(error, ERROR_INPUT, stream->request->path,
                         N_("log fewer values, one every ten iterations for example"),
                         "it has more than %d iterations", POINTS_MOST);
    return dialects[i]->take(reader, line);
}

static bool give_record(struct import_stream *stream, const char *line, double arrival,
                        struct error *error)
{
    bool claimed = false, good = true;
    for (size_t i = 0; good && !claimed && i < DIALECTS; i++) {
        if (!dialects[i]->claims || !is_asked(stream, i) ||
            !dialects[i]->claims(&stream->readers[i], line))
            continue;
        claimed = true;
        good = give(stream, i, line, arrival, error);
    }
    for (size_t i = 0; good && !claimed && i < DIALECTS; i++)
        if (dialects[i]->take && !dialects[i]->claims && is_asked(stream, i))
            good = give(stream, i, line, arrival, error);
    for (size_t i = 0; i < DIALECTS; i++)
        stream->readers[i].begun = true;
    return good;
}

/* Gives the records of a line, one after another. Returns where the last one begins; NULL with an
 * error. */
static char *give_records(struct import_stream *stream, char *line, double arrival,
                          struct error *error)
{
    for (;;) {
        const size_t length = import_first_record(line);
        const char next = line[length];
        line[length] = '\0';
        const bool good = give_record(stream, line, arrival, error);
        line[length] = next;
        if (!good || !next)
            return good ? line : NULL;
        line += length;
    }
}

/* Puts the rest of a wrapped line behind its beginning. Returns false if it is no such rest, or if
 * memory runs out. */
static bool join(struct import_stream *stream, const char *line)
{
    bool space;
    struct text *before = &stream->before;
    if (before->length == 0 || before->length > LINE_MOST ||
        !import_is_rest(before->data, line, &space))
        return false;
    text_append(before, "%s%s", space ? " " : "", line);
    return !before->failed;
}

static void remember_damage(struct import_stream *stream, bool back)
{
    for (size_t i = 0; i < DIALECTS; i++) {
        if (back)
            stream->logs[i].notes.damaged = stream->damage_before[i];
        stream->damage_before[i] = stream->logs[i].notes.damaged;
        stream->readers[i].joined = back;
    }
}

/* Takes a line. `whole`: it ended with a newline, so that a rest may follow on the next one. */
static bool take_line(struct import_stream *stream, char *line, bool whole, double arrival,
                      struct error *error)
{
    import_strip_escapes(line);
    if (!line[strspn(line, " \t")])
        return true;
    stream->something = true;
    const bool joined = join(stream, line);
    remember_damage(stream, joined);
    char *last = give_records(stream, joined ? stream->before.data : line, arrival, error);
    if (!last)
        return false;
    char *kept = whole ? memory_copy_text(last, error) : NULL;
    stream->before.length = 0;
    if (kept)
        text_append(&stream->before, "%s", kept);
    free(kept);
    return true;
}

static void damage(struct import_stream *stream)
{
    for (size_t i = 0; i < DIALECTS; i++)
        stream->logs[i].notes.damaged++;
}

static bool ends_line(char byte)
{
    return byte == '\n' || byte == '\r' || byte == '\b';
}

/* Adds bytes to the line, with spaces for NUL. */
static void add_to_line(struct place *place, const char *bytes, size_t count)
{
    const size_t from = place->line.length;
    if (place->too_long)
        return;
    text_append_bytes(&place->line, bytes, count);
    for (size_t i = from; i < place->line.length; i++)
        if (!place->line.data[i])
            place->line.data[i] = ' ';
    place->too_long = place->line.length >= LINE_MOST;
}

/* Takes the text of a place up to its last line end. */
static bool take_text(struct import_stream *stream, const char *bytes, size_t count, double arrival,
                      struct error *error)
{
    struct place *place = &stream->places[stream->at];
    for (size_t at = 0; at < count;) {
        size_t end = at;
        while (end < count && !ends_line(bytes[end]))
            end++;
        add_to_line(place, bytes + at, end - at);
        at = end + 1;
        if (end == count)
            break;
        if (place->too_long)
            damage(stream);
        else if (place->line.length > 0 &&
                 !take_line(stream, place->line.data, bytes[end] == '\n', arrival, error))
            return false;
        place->line.length = 0;
        place->too_long = false;
    }
    return !place->line.failed || error_set_memory(error, "a line", 0);
}

/* --- event files --- */

/* Returns whether the steps of a tag are of the kind that those of the loss are. Keras writes each
 * validation twice: with epochs as steps (epoch_loss) and with iterations
 * (evaluation_loss_vs_iterations). The latter fit batch_loss only. */
static bool steps_fit(const struct import_reader *reader, const char *tag)
{
    return !strstr(tag, "_vs_iterations") ||
           strncmp(reader->names.chosen[IMPORT_LOSS].text, "batch_", 6) == 0;
}

static bool take_scalar(void *context, const struct event_value *scalar, struct error *error)
{
    struct import_stream *stream = context;
    struct import_reader *reader = &stream->readers[EVENTS];
    struct import_row row = import_row_new();
    reader->error = error;
    reader->rows.of_validation = stream->places[stream->at].validation;
    if (!steps_fit(reader, scalar->tag))
        return true;
    import_row_offer(reader, scalar->tag);
    import_row_put(reader, &row, scalar->tag, scalar->value);
    bool any = false;
    for (size_t i = 0; i < IMPORT_QUANTITIES; i++)
        any |= row.has[i];
    if (!any || row.has[IMPORT_STEP] || row.has[IMPORT_TIME])
        return true;
    if (row.has[IMPORT_LOSS])
        reader->rows.steps_are_epochs = strncmp(scalar->tag, "epoch_", 6) == 0;
    if (row.has[IMPORT_EPOCH]) /* Lightning's; the steps of other tags are the same */
        return true;
    row.has[IMPORT_STEP] = row.has[IMPORT_TIME] = true;
    row.values[IMPORT_STEP] = (double)scalar->step;
    row.values[IMPORT_TIME] = scalar->wall;
    if (reader->log->count >= POINTS_MOST)
        return error_set(error, ERROR_INPUT, stream->request->path,
                         N_("log fewer values, one every ten iterations for example"),
                         "it has more than %d iterations", POINTS_MOST);
    return import_row_take(reader, &row);
}

static bool take_events(struct import_stream *stream, const char *bytes, size_t count,
                        struct error *error)
{
    struct place *place = &stream->places[stream->at];
    if (!is_asked(stream, EVENTS))
        return error_set(error, ERROR_INPUT, stream->request->path, "leave --framework out",
                         "it is an event file of TensorBoard");
    if (!place->reader && !(place->reader = event_reader_create(error)))
        return false;
    stream->something = true;
    const size_t before = event_reader_damaged(place->reader);
    const bool good = event_reader_feed(place->reader, bytes, count, take_scalar, stream, error);
    stream->logs[EVENTS].notes.damaged += event_reader_damaged(place->reader) - before;
    return good;
}

/* --- bytes --- */

/* Returns whether a file with these first bytes can be one of events, as far as they tell: its
 * first record is short, so that the upper bytes of its length are 0. */
static bool may_be_events(const struct text *head)
{
    for (size_t i = 2; i < 8 && i < head->length; i++)
        if (head->data[i])
            return false;
    return true;
}

/* Decides whether a file is one of events, once its first bytes are there. Returns whether it is
 * decided. */
static bool decide(struct place *place, bool ended)
{
    const struct text *head = &place->line;
    if (!ended && head->length < CONTENT_EVENT_HEAD && may_be_events(head))
        return false;
    place->decided = true;
    place->events = head->length > 0 && content_is_events(head->data, head->length);
    return true;
}

static bool feed_decided(struct import_stream *stream, const char *bytes, size_t count,
                         double arrival, struct error *error)
{
    return stream->places[stream->at].events ? take_events(stream, bytes, count, error)
                                             : take_text(stream, bytes, count, arrival, error);
}

/* Gives the first bytes of a file to its reader. */
static bool feed_head(struct import_stream *stream, double arrival, struct error *error)
{
    struct place *place = &stream->places[stream->at];
    struct text head = place->line;
    place->line = (struct text){0};
    const bool good =
        head.length == 0 || feed_decided(stream, head.data, head.length, arrival, error);
    text_free(&head);
    return good;
}

bool import_stream_feed(struct import_stream *stream, const char *bytes, size_t count,
                        double arrival, struct error *error)
{
    struct place *place = &stream->places[stream->at];
    if (place->decided)
        return feed_decided(stream, bytes, count, arrival, error);
    text_append_bytes(&place->line, bytes, count);
    if (place->line.failed)
        return error_set_memory(error, "the log", 0);
    return !decide(place, false) || feed_head(stream, arrival, error);
}

/* --- the end --- */

/* Drops the last word of an incomplete line, which may be a torn number. An object of JSON says
 * itself whether it is complete. */
static void strip_torn_word(struct text *line)
{
    if (line->length == 0 || line->data[strspn(line->data, " ")] == '{')
        return;
    while (line->length > 0 && !strchr(" ,", line->data[line->length - 1]))
        line->length--;
    line->data[line->length] = '\0';
}

bool import_stream_end(struct import_stream *stream, struct error *error)
{
    bool good = true;
    for (size_t i = 0; good && i < PLACES; i++) {
        struct place *place = &stream->places[i];
        stream->at = i;
        if (!place->decided && decide(place, true))
            good = feed_head(stream, (double)NAN, error);
        if (!good || place->events || place->line.length == 0 || place->too_long)
            continue;
        strip_torn_word(&place->line);
        if (place->line.length > 0)
            good = take_line(stream, place->line.data, false, (double)NAN, error);
        place->line.length = 0;
    }
    return good;
}

/* --- the logs --- */

static bool copy_values(struct imported_log *to, const struct imported_log *from,
                        struct error *error)
{
    const size_t points = from->count, tests = from->validation_count;
    *to = *from;
    to->capacity = points;
    to->validation_capacity = tests;
    to->points = memory_new(points, sizeof *to->points, "the log's iterations", error);
    to->scalars = (struct scalars){0};
    to->validations = memory_new(tests, sizeof *to->validations, "the log's tests", error);
    if (!to->points || !to->validations)
        return false;
    if (points > 0)
        memcpy(to->points, from->points, points * sizeof *to->points);
    if (tests > 0)
        memcpy(to->validations, from->validations, tests * sizeof *to->validations);
    return scalars_copy(&to->scalars, &from->scalars, error);
}

/* Leaves out the last values of a log that grows: other values of the same step may follow. */
static void hold_last(struct imported_log *log, double idle)
{
    if (idle >= 0.5)
        return;
    log->count -= log->count > 0;
    log->validation_count -= log->validation_count > 0;
}

static void note_names(struct imported_log *log, const struct import_names *names)
{
    struct import_notes *notes = &log->notes;
    snprintf(notes->top1_name, sizeof notes->top1_name, "%s", names->chosen[IMPORT_TOP1].text);
    notes->several_top1 = names->several && !names->chosen[IMPORT_TOP1].given;
    snprintf(notes->left_out, sizeof notes->left_out, "%s", names->chosen[IMPORT_ACCURACY].text);
    for (size_t i = 0; i < log->validation_count; i++)
        if (!isnan(log->validations[i].top1))
            notes->left_out[0] = '\0';
}

/* Settles a copy of what a reader has. */
static bool settle(const struct import_stream *stream, size_t i, bool live, double idle,
                   struct imported_log *log, struct error *error)
{
    struct import_reader reader = stream->readers[i];
    if (!copy_values(log, &stream->logs[i], error))
        return false;
    reader.log = log;
    reader.error = error;
    reader.live = live;
    reader.idle = idle;
    note_names(log, &reader.names);
    if (live && dialects[i] != &import_keras)
        hold_last(log, idle);
    if (dialects[i]->settle && !dialects[i]->settle(&reader))
        return false;
    /* steps are counted from 1 here */
    const bool from_zero = log->count > 0 && log->points[0].iteration == 0;
    for (size_t k = 0; from_zero && k < log->count; k++)
        log->points[k].iteration++;
    return true;
}

bool import_stream_logs(const struct import_stream *stream, bool live, double idle,
                        struct imported_logs *logs, struct error *error)
{
    *logs = (struct imported_logs){0};
    for (size_t i = 0; i < DIALECTS; i++) {
        const struct import_reader *reader = &stream->readers[i];
        if (reader->log->count == 0 && reader->keras.count == 0)
            continue;
        struct imported_log *log = import_logs_add(logs, dialects[i]->name, error);
        if (!log || !settle(stream, i, live, idle, log, error))
            return false;
        if (log->count > 0)
            continue;
        free(log->points);
        free(log->validations);
        scalars_free(&log->scalars);
        logs->count--;
    }
    return true;
}

/* --- refusals --- */

bool import_stream_refuse(const struct import_request *request, const struct imported_logs *logs,
                          bool empty, struct error *error)
{
    if (logs->count > 1) {
        const struct imported_log *one = &logs->logs[0], *other = &logs->logs[1];
        return error_set(error, ERROR_INPUT, request->path,
                         "name the framework whose lines are meant (--framework), or split the "
                         "file",
                         "it has lines of %s (%zu) and of %s (%zu)", one->framework, one->count,
                         other->framework, other->count);
    }
    if (empty)
        return error_set(error, ERROR_INPUT, request->path,
                         "give the text that the framework printed while it trained",
                         "the file is empty");
    static const enum content read[] = {CONTENT_EVENTS, CONTENT_GZIP, CONTENT_JSON,
                                        CONTENT_UNKNOWN};
    error_set(error, ERROR_INPUT, request->path,
              "give what Caffe, TensorFlow, Keras or PyTorch Lightning printed while it "
              "trained, JSON lines, a table with a column loss, an event file of "
              "TensorBoard, or the studies' loss_*.csv or times_*.csv",
              "no line contains a loss; looked for Caffe's \"Iteration N, loss = X\", "
              "TensorFlow's \"step N, loss = X\", Keras's \"Epoch 1/N\" with \"- loss: X\", "
              "Lightning's \"Epoch 0: 50%%|...\", {\"step\": N, \"loss\": X}, "
              "and the row \"#network,mode,batch,...\"");
    return request->input > 0 ? false : content_explain(request->path, read, error);
}
