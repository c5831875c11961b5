/* Reads a log line by line. Progress that overwrites itself (carriage returns, backspaces) also
 * counts as lines, and colours are removed. Each framework's reader takes the lines that it knows
 * and ignores the others.
 *
 * If the last line is incomplete, its last word, which may be a truncated number, is dropped.
 */
#include "session/import/import_log.h"

#include "base/language.h"
#include "base/memory.h"
#include "session/import/import_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct import_dialect *const dialects[] = {&import_caffe, &import_keras,
                                                        &import_tensorflow};
#define DIALECTS (sizeof dialects / sizeof *dialects)

/* --- text --- */

/* Removes escape sequences (ESC [ parameters letter), which colour text and move the cursor. */
static void strip_escapes(char *text)
{
    char *out = text;
    for (const char *in = text; *in;) {
        if (in[0] != '\033' || in[1] != '[') {
            *out++ = *in++;
            continue;
        }
        in += 2;
        in += strspn(in, "0123456789;?");
        in += *in != '\0';
    }
    *out = '\0';
}

static void strip_torn_word(char *text)
{
    size_t length = strlen(text);
    if (length == 0 || text[length - 1] == '\n')
        return;
    while (length > 0 && !strchr(" ,\n\r\b", text[length - 1]))
        length--;
    text[length] = '\0';
}

/* --- one framework --- */

static bool read_as(struct imported_log *log, const struct import_dialect *dialect,
                    const struct import_request *request, char *text, struct error *error)
{
    struct import_reader reader = {.log = log,
                                   .request = request,
                                   .error = error,
                                   .asked = request->framework,
                                   .now = NAN,
                                   .started = NAN,
                                   .rate = NAN};
    bool good = true;
    for (char *rest = text, *line; good && (line = strsep(&rest, "\r\n\b"));)
        if (line[0])
            good = dialect->take(&reader, line);
    if (good && dialect->settle)
        good = dialect->settle(&reader);
    free(reader.shown);
    /* steps are counted from 1 here */
    const bool from_zero = log->count > 0 && log->points[0].iteration == 0;
    for (size_t i = 0; from_zero && i < log->count; i++)
        log->points[i].iteration++;
    return good;
}

static bool try_dialect(struct imported_logs *logs, const struct import_dialect *dialect,
                        const struct import_request *request, const char *text, struct error *error)
{
    char *copy = memory_copy_text(text, error);
    struct imported_log *log = copy ? import_logs_add(logs, dialect->name, error) : NULL;
    const bool good = log && read_as(log, dialect, request, copy, error);
    free(copy);
    if (good && log->count == 0) {
        free(log->points);
        free(log->validations);
        logs->count--;
    }
    return good;
}

/* --- reading a log --- */

static bool refuse_no_loss(const struct import_request *request, const char *text,
                           struct error *error)
{
    if (!text[strspn(text, " \t\r\n")])
        return error_set(error, ERROR_INPUT, request->path,
                         "give the text that the framework printed while it trained",
                         "the file is empty");
    return error_set(error, ERROR_INPUT, request->path,
                     "give what Caffe, TensorFlow or Keras printed while it trained, or the "
                     "studies' loss_*.csv or times_*.csv",
                     "no line contains a loss; looked for Caffe's \"Iteration N, loss = X\", "
                     "TensorFlow's \"step N, loss = X\", Keras's \"Epoch 1/N\" with \"- loss: X\", "
                     "and the row \"#network,mode,batch,...\"");
}

static bool refuse_mixture(const struct import_request *request, const struct imported_logs *logs,
                           struct error *error)
{
    const struct imported_log *one = &logs->logs[0], *other = &logs->logs[1];
    return error_set(error, ERROR_INPUT, request->path,
                     "name the framework whose lines are meant (--framework), or split the file",
                     "it has lines of %s (%zu) and of %s (%zu)", one->framework, one->count,
                     other->framework, other->count);
}

bool import_logs_read(struct imported_logs *logs, const struct import_request *request, char *text,
                      struct error *error)
{
    *logs = (struct imported_logs){0};
    strip_torn_word(text);
    if (import_csv_is(text))
        return import_csv_read(logs, request, text, error);
    strip_escapes(text);
    bool good = true;
    for (size_t i = 0; good && i < DIALECTS; i++)
        if (!request->framework || strcmp(request->framework, dialects[i]->name) == 0)
            good = try_dialect(logs, dialects[i], request, text, error);
    if (good && logs->count == 0)
        return refuse_no_loss(request, text, error);
    if (good && logs->count > 1)
        return refuse_mixture(request, logs, error);
    return good;
}

struct imported_log *import_logs_add(struct imported_logs *logs, const char *framework,
                                     struct error *error)
{
    if (!memory_grow(&logs->logs, &logs->capacity, logs->count + 1, sizeof *logs->logs, "the logs",
                     error))
        return NULL;
    struct imported_log *log = &logs->logs[logs->count++];
    *log = (struct imported_log){.learning_rate = NAN, .momentum = NAN, .weight_decay = NAN};
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
