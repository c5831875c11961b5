/* A CSV file has exactly one row for each picture, also for one that cannot be read, in the order
 * of the pictures: the number of its complete rows is where an interrupted prediction continues. */
#include "session/model/predict_rows.h"

#include "base/escape/csv.h"
#include "base/escape/visible.h"
#include "base/files/lines.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_ROW = 16 << 20 };

/* --- CSV --- */

static void append_heading(const struct predict_rows *rows, struct text *text)
{
    text_append(text, "image,error,guess,guess_name,probability");
    for (size_t i = 1; i <= rows->top; i++)
        text_append(text, ",top%zu,top%zu_probability", i, i);
    for (size_t c = 0; c < rows->model->network->classes; c++)
        text_append(text, ",logit_%zu", c);
}

/* Appends a row. Without numbers, guess and probabilities are empty. */
static void append_csv(const struct predict_rows *rows, const char *path, const float *logits,
                       const struct error *broken, struct text *text)
{
    const bool numbers = logits && rows->ranked;
    const struct model *model = rows->model;
    csv_append(text, path);
    text_append(text, ",");
    csv_append(text, broken ? broken->why : "");
    if (numbers) {
        text_append(text, ",%zu,", rows->predictions[0].label);
        csv_append(text, model->class_names[rows->predictions[0].label]);
        text_append(text, ",%.9g", (double)rows->predictions[0].probability);
    } else {
        text_append(text, ",,,");
    }
    for (size_t i = 0; i < rows->top; i++) {
        text_append(text, ",");
        if (numbers)
            csv_append(text, model->class_names[rows->predictions[i].label]);
        text_append(text, ",");
        if (numbers)
            text_append(text, "%.9g", (double)rows->predictions[i].probability);
    }
    for (size_t c = 0; c < model->network->classes; c++)
        if (logits)
            text_append(text, ",%.9g", (double)logits[c]);
        else
            text_append(text, ",");
    text_append(text, "\n");
}

/* --- JSON --- */

static bool add_classes(const struct predict_rows *rows, const float *logits, struct json *object)
{
    struct json *classes = json_add_array(object, "classes");
    bool added = classes;
    for (size_t i = 0; added && rows->ranked && i < rows->top; i++) {
        const struct prediction *prediction = &rows->predictions[i];
        struct json *row = json_add_object(classes, NULL);
        added = json_add_count(row, "label", prediction->label) &&
                json_add_string(row, "class", rows->model->class_names[prediction->label]) &&
                json_add_float(row, "probability", prediction->probability) &&
                json_add_float(row, "logit", logits[prediction->label]);
    }
    struct json *all = added ? json_add_array(object, "logits") : NULL;
    for (size_t c = 0; all && added && c < rows->model->network->classes; c++)
        added = json_add_float(all, NULL, logits[c]);
    return all && added;
}

static bool add_json(const struct predict_rows *rows, const char *path, const float *logits,
                     const struct error *broken, struct json *object)
{
    return json_add_string(object, "image", path) &&
           (broken ? json_add_string(object, "error", broken->why)
                   : add_classes(rows, logits, object));
}

static bool append_json(const struct predict_rows *rows, const char *path, const float *logits,
                        const struct error *broken, struct text *text, struct error *error)
{
    struct json *object = json_new_object();
    const bool added = add_json(rows, path, logits, broken, object) ||
                       error_set_memory(error, "the predictions", 0);
    char *line = added ? json_print_utf8(object, false, error) : NULL;
    if (line)
        text_append(text, "%s\n", line);
    free(line);
    json_free(object);
    return line;
}

/* --- text --- */

static void append_text(const struct predict_rows *rows, const char *path, struct text *text)
{
    visible_append(text, path);
    text_append(text, "\n");
    if (!rows->ranked)
        text_append(text, "  %s\n", _("no class: the network's output is NaN"));
    for (size_t i = 0; rows->ranked && i < rows->top; i++) {
        const struct prediction *prediction = &rows->predictions[i];
        text_append(text, "  %6.2f %%  ", 100.0 * (double)prediction->probability);
        visible_append(text, rows->model->class_names[prediction->label]);
        text_append(text, "\n");
    }
}

/* --- the file --- */

static bool refuse_row(const struct predict_rows *rows, size_t number, struct error *error)
{
    return error_set(error, ERROR_INPUT, rows->path,
                     "give the same pictures and options again, or begin without --continue",
                     "row %zu is not that of picture %s", number + 1,
                     number < rows->count ? rows->paths[number] : "-");
}

/* Checks that a row is that of picture number `done`, and counts it. */
static bool take_row(struct predict_rows *rows, const char *line, struct error *error)
{
    struct text field = {0};
    if (rows->done == rows->count)
        return refuse_row(rows, rows->done, error);
    csv_append(&field, rows->paths[rows->done]);
    text_append(&field, ",");
    if (field.failed) {
        text_free(&field);
        return error_set_memory(error, rows->path, 0);
    }
    const bool same = strncmp(line, field.data, field.length) == 0;
    rows->broken += same && line[field.length] != ',';
    text_free(&field);
    if (!same)
        return refuse_row(rows, rows->done, error);
    rows->done++;
    return true;
}

static bool read_rows(struct predict_rows *rows, uint64_t *end, struct error *error)
{
    struct lines lines;
    struct text heading = {0};
    size_t length;
    if (!lines_open(&lines, rows->path, LONGEST_ROW, error))
        return false;
    append_heading(rows, &heading);
    struct error failure = {0};
    const char *line = lines_next(&lines, &length, &failure);
    bool read = !heading.failed || error_set_memory(error, rows->path, 0);
    if (read && line && strcmp(line, heading.data) != 0)
        read = error_set(error, ERROR_INPUT, rows->path,
                         "give the same model and options again, or begin without --continue",
                         "its heading is not that of this prediction");
    *end = read && line ? lines_offset(&lines) : 0;
    while (read && line && (line = lines_next(&lines, &length, &failure))) {
        read = take_row(rows, line, error);
        *end = lines_offset(&lines);
    }
    if (read && failure.kind != ERROR_NONE) {
        read = false;
        *error = failure;
    }
    lines_close(&lines);
    text_free(&heading);
    return read;
}

/* Opens the file behind the rows that it has. */
static bool continue_file(struct predict_rows *rows, bool *begun, struct error *error)
{
    uint64_t end = 0;
    *begun = false;
    if (!file_exists(rows->path))
        return true; /* nothing was written before the interruption */
    if (!read_rows(rows, &end, error))
        return false;
    if (end == 0)
        return true;
    *begun = true;
    rows->stream = fopen(rows->path, "r+b");
    return (rows->stream && ftruncate(fileno(rows->stream), (off_t)end) == 0 &&
            fseeko(rows->stream, 0, SEEK_END) == 0) ||
           error_set_errno(error, rows->path, "check its permissions", "cannot be continued");
}

static bool begin_file(struct predict_rows *rows, struct error *error)
{
    rows->stream = rows->standard;
    if (rows->path && !output_file_is_stdout(rows->path))
        rows->stream = fopen(rows->path, "wb");
    if (!rows->stream)
        return error_set_errno(error, rows->path, "name another file", "cannot be written");
    if (rows->format != PREDICT_CSV)
        return true;
    struct text heading = {0};
    append_heading(rows, &heading);
    text_append(&heading, "\n");
    fputs(heading.data ? heading.data : "", rows->stream);
    const bool written = !heading.failed || error_set_memory(error, "the predictions", 0);
    text_free(&heading);
    return written;
}

bool predict_rows_open(struct predict_rows *rows, bool continues, struct error *error)
{
    bool begun = false;
    rows->predictions = memory_new(rows->top, sizeof *rows->predictions, "the predictions", error);
    if (!rows->predictions || (continues && !continue_file(rows, &begun, error)))
        return false;
    return begun || begin_file(rows, error);
}

bool predict_rows_add(struct predict_rows *rows, size_t index, const float *logits,
                      const struct error *broken, struct error *error)
{
    const char *path = rows->paths[index];
    struct text text = {0};
    rows->broken += broken != NULL;
    rows->ranked = logits && model_choose_top(logits, rows->model->network->classes, rows->top,
                                              rows->predictions);
    if (rows->format == PREDICT_DOCUMENT)
        return broken || add_json(rows, path, logits, NULL, json_add_object(rows->list, NULL)) ||
               error_set_memory(error, "the JSON document", 0);
    bool made = true;
    if (rows->format == PREDICT_CSV)
        append_csv(rows, path, logits, broken, &text);
    else if (rows->format == PREDICT_JSON)
        made = append_json(rows, path, logits, broken, &text, error);
    else if (!broken)
        append_text(rows, path, &text);
    made = made && (!text.failed || error_set_memory(error, "the predictions", 0));
    if (made && text.data)
        fwrite(text.data, 1, text.length, rows->stream);
    text_free(&text);
    return made;
}

bool predict_rows_flush(struct predict_rows *rows, struct error *error)
{
    return !rows->stream || (fflush(rows->stream) == 0 && !ferror(rows->stream)) ||
           error_set_errno(error, rows->path ? rows->path : "standard output", "is the disk full?",
                           "writing failed");
}

void predict_rows_close(struct predict_rows *rows)
{
    if (rows->stream && rows->stream != rows->standard)
        fclose(rows->stream);
    rows->stream = NULL;
    free(rows->predictions);
    rows->predictions = NULL;
}
