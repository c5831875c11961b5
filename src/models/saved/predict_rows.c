/* A CSV file has exactly one row for each picture, also for one that cannot be read, in the order
 * of the pictures: an interrupted prediction continues after its complete rows. A power failure may
 * leave anything in the last of them, so each row is compared with the one that would be written
 * for its logits. Rows are kept up to the first picture that was changed since they were written,
 * and the network must compute the last of them again, to the last bit: batches begin where those
 * of an uninterrupted prediction do.
 *
 * The array of the raw outputs has its header, with the number of all pictures, from the beginning;
 * the outputs are appended batch by batch. */
#include "models/saved/predict_rows.h"

#include "base/escape/csv.h"
#include "base/escape/visible.h"
#include "base/files/lines.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/portable/portable.h"
#include "data/formats/npy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- the raw outputs --- */

enum { HEADER = 256 };

static size_t write_header(uint8_t *header, const struct model *model, size_t pictures)
{
    const struct graph *graph = &model->network->graph;
    const struct shape shape = graph->nodes[graph->output].output;
    const size_t sides[] = {pictures, shape.channels, shape.height, shape.width};
    return npy_header_write(header, "<f4", sides, shape.height == 1 && shape.width == 1 ? 2 : 4);
}

/* Returns whether the bytes are only zeros, as after a power failure. */
static bool is_empty(const uint8_t *bytes, size_t length)
{
    size_t zeros = 0;
    while (zeros < length && bytes[zeros] == 0)
        zeros++;
    return zeros == length;
}

/* Opens the outputs of an interrupted prediction, behind their header; leaves raw->earlier NULL if
 * the header is lost. */
static bool open_earlier(struct predict_raw *raw, const uint8_t *header, struct error *error)
{
    uint8_t found[HEADER];
    raw->earlier = file_open_stream(raw->output.earlier, error);
    if (!raw->earlier)
        return false;
    const size_t length = fread(found, 1, raw->header, raw->earlier);
    if (length == raw->header && memcmp(found, header, length) == 0)
        return true;
    fclose(raw->earlier);
    raw->earlier = NULL;
    return length < raw->header || is_empty(found, length) ||
           error_set(error, ERROR_INPUT, raw->output.earlier, "begin without --continue",
                     "it is not the array of this prediction");
}

bool predict_raw_open(struct predict_raw *raw, const struct model *model, size_t pictures,
                      bool continues, struct error *error)
{
    const struct graph *graph = &model->network->graph;
    uint8_t header[HEADER];
    if (!raw->path)
        return true;
    raw->pictures = pictures;
    raw->header = write_header(header, model, pictures);
    raw->values = shape_count(graph->nodes[graph->output].output);
    return output_file_open_part(&raw->output, raw->path, OUTPUT_BINARY, continues, error) &&
           (!raw->output.earlier || open_earlier(raw, header, error));
}

/* Returns whether two values are equal; NaN equals NaN. */
static bool agree(float a, float b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Returns whether the next output of the interrupted prediction is that of a row with these logits
 * (NULL: NaN). True if there is no array. */
static bool predict_raw_matches(struct predict_raw *raw, const float *logits, size_t classes)
{
    bool same = !raw->path || raw->earlier;
    for (size_t i = 0; raw->earlier && i < raw->values; i++) {
        float value;
        same = same && fread(&value, sizeof value, 1, raw->earlier) == 1 &&
               (i >= classes || agree(value, logits ? logits[i] : NAN));
    }
    return same;
}

bool predict_raw_begin(struct predict_raw *raw, const struct model *model, size_t done,
                       struct error *error)
{
    uint8_t header[HEADER];
    if (!raw->path)
        return true;
    if (done > 0)
        return output_file_cut(&raw->output, raw->header + done * raw->values * sizeof(float),
                               error);
    if (raw->output.earlier && !output_file_cut(&raw->output, 0, error))
        return false;
    fwrite(header, 1, write_header(header, model, raw->pictures), raw->output.stream);
    return predict_raw_flush(raw, error);
}

void predict_raw_add(struct predict_raw *raw, const float *output)
{
    const float nothing = NAN;
    FILE *stream = raw->output.stream;
    for (size_t i = 0; stream && !output && i < raw->values; i++)
        fwrite(&nothing, sizeof nothing, 1, stream);
    if (stream && output)
        fwrite(output, sizeof *output, raw->values, stream);
}

bool predict_raw_flush(struct predict_raw *raw, struct error *error)
{
    return !raw->output.stream || output_file_flush(&raw->output, error);
}

bool predict_raw_commit(struct predict_raw *raw, struct error *error)
{
    return !raw->output.stream || output_file_commit(&raw->output, error);
}

void predict_raw_close(struct predict_raw *raw)
{
    if (raw->earlier)
        fclose(raw->earlier);
    raw->earlier = NULL;
    output_file_leave(&raw->output);
}

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

/* Appends a row. If the logits have no order, guess and probabilities are empty. */
static void append_csv(const struct predict_rows *rows, const char *path, const float *logits,
                       const struct error *broken, struct text *text)
{
    const bool ranked = logits && rows->ranked;
    const struct model *model = rows->model;
    csv_append(text, path);
    text_append(text, ",");
    csv_append(text, broken ? broken->why : "");
    if (ranked) {
        text_append(text, ",%zu,", rows->predictions[0].label);
        csv_append(text, model->class_names[rows->predictions[0].label]);
        text_append(text, ",%.9g", (double)rows->predictions[0].probability);
    } else {
        text_append(text, ",,,");
    }
    for (size_t i = 0; i < rows->top; i++) {
        text_append(text, ",");
        if (ranked)
            csv_append(text, model->class_names[rows->predictions[i].label]);
        text_append(text, ",");
        if (ranked)
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

/* --- the rows of an interrupted prediction --- */

static const char same_again[] =
    N_("give the same model, pictures and options again, or begin without --continue");

/* A row that was read. */
struct old_row {
    const char *line, *behind; /* the row, and the text after its picture's name */
    const float *logits;       /* NULL: the picture could not be read */
};

static bool refuse_row(const struct predict_rows *rows, struct error *error)
{
    const size_t number = rows->done;
    return error_set(error, ERROR_INPUT, rows->output.earlier, same_again,
                     "row %zu is not that of picture %s", number + 1,
                     number < rows->count ? rows->paths[number] : "-");
}

/* Returns the text after `count` fields and their commas; NULL if there are fewer. */
static const char *skip_fields(const char *text, size_t count)
{
    for (; text && count > 0; count--) {
        const char *end = text[0] == '"' ? strchr(text + 1, '"') : text;
        while (end && end[0] == '"' && end[1] == '"')
            end = strchr(end + 2, '"');
        end = end ? end + strcspn(end, ",") : NULL;
        text = end && *end ? end + 1 : NULL;
    }
    return text;
}

static void read_logits(const char *text, float *logits, size_t classes)
{
    for (size_t c = 0; c < classes; c++) {
        char *end;
        logits[c] = strtof(text, &end);
        text = *end ? end + 1 : end;
    }
}

/* Splits a row. Returns whether it is the one that append_csv writes for its logits, or for a
 * picture that cannot be read; else it is damaged. */
static bool split_row(struct predict_rows *rows, const char *line, struct old_row *row)
{
    const size_t classes = rows->model->network->classes;
    struct text wanted = {0};
    *row = (struct old_row){.line = line, .behind = skip_fields(line, 1)};
    const char *reason = row->behind, *guess = skip_fields(reason, 1);
    const char *logits = skip_fields(guess, 3 + 2 * rows->top);
    if (!logits)
        return false;
    if (reason[0] == ',') {
        read_logits(logits, rows->old, classes);
        rows->ranked = model_choose_top(rows->old, classes, rows->top, rows->predictions);
        row->logits = rows->old;
    }
    append_csv(rows, "", row->logits, NULL, &wanted); /* begins with ",," */
    const bool whole = !wanted.failed && strlen(guess) + 3 == wanted.length &&
                       memcmp(guess, wanted.data + 2, strlen(guess)) == 0;
    text_free(&wanted);
    return whole;
}

static bool is_of_picture(const struct predict_rows *rows, const struct old_row *row)
{
    struct text name = {0};
    csv_append(&name, rows->paths[rows->done]);
    text_append(&name, ",");
    const bool is = !name.failed && (size_t)(row->behind - row->line) == name.length &&
                    memcmp(row->line, name.data, name.length) == 0;
    text_free(&name);
    return is;
}

static bool is_since(struct timespec time, struct timespec written)
{
    return time.tv_sec > written.tv_sec ||
           (time.tv_sec == written.tv_sec && time.tv_nsec >= written.tv_nsec);
}

/* Returns whether the row's picture was changed or removed since the earlier rows were written. */
static bool is_outdated(const struct predict_rows *rows, const struct old_row *row)
{
    struct stat picture;
    if (stat(rows->paths[rows->done], &picture) != 0)
        return row->logits;
    return is_since(picture.st_mtim, rows->written) || is_since(picture.st_ctim, rows->written);
}

/* Counts a row, which must be that of picture number `done`. Sets *whole to false instead if it is
 * damaged or outdated, or its output is not in the array: the prediction continues there. */
static bool take_row(struct predict_rows *rows, const char *line, size_t length,
                     struct predict_raw *raw, bool *whole, struct error *error)
{
    struct old_row row;
    *whole = strlen(line) == length && split_row(rows, line, &row);
    if (!*whole)
        return true;
    if (rows->done == rows->count || !is_of_picture(rows, &row))
        return refuse_row(rows, error);
    *whole = !is_outdated(rows, &row) &&
             predict_raw_matches(raw, row.logits, rows->model->network->classes);
    if (!*whole)
        return true;
    if (row.logits) {
        memcpy(rows->last, row.logits, rows->model->network->classes * sizeof *rows->last);
        rows->first = rows->done;
        rows->has_last = true;
    }
    rows->broken += !row.logits;
    rows->done++;
    return true;
}

/* Reads the rows behind the heading. Sets *end to the end of the rows that are kept. */
static bool read_rows(struct predict_rows *rows, struct lines *lines, struct predict_raw *raw,
                      uint64_t *end, struct error *error)
{
    struct error failure = {0};
    size_t length;
    const char *line;
    bool whole = true;
    while (whole && (line = lines_next(lines, &length, &failure))) {
        if (!take_row(rows, line, length, raw, &whole, error))
            return false;
        *end = whole ? lines_offset(lines) : *end;
    }
    if (failure.kind == ERROR_NONE)
        return true;
    *error = failure;
    return false;
}

/* Reads the file of an interrupted prediction. *end is 0 if nothing of it can be kept. */
static bool read_earlier(struct predict_rows *rows, struct predict_raw *raw, uint64_t *end,
                         struct error *error)
{
    struct lines lines;
    struct text heading = {0};
    struct stat status;
    size_t length;
    if (stat(rows->output.earlier, &status) == 0)
        rows->written = status.st_mtim;
    if (!lines_open(&lines, rows->output.earlier, LONGEST_ROW, error))
        return false;
    append_heading(rows, &heading);
    const char *line = lines_next(&lines, &length, NULL);
    bool read = !heading.failed || error_set_memory(error, rows->path, 0);
    if (read && line && strlen(line) == length) { /* a power failure may leave zeros */
        *end = lines_offset(&lines);
        read = strcmp(line, heading.data) == 0
                   ? read_rows(rows, &lines, raw, end, error)
                   : error_set(error, ERROR_INPUT, rows->output.earlier, same_again,
                               "its heading is not that of this prediction");
    }
    lines_close(&lines);
    text_free(&heading);
    return read;
}

/* Checks that the output of the last row that has one is still computed. Other bits come from
 * another model, precision or device, whose rows must not be mixed. */
static bool check_last(const struct predict_rows *rows, size_t index, const float *logits,
                       struct error *error)
{
    bool same = logits;
    if (index != rows->first || !rows->has_last)
        return true;
    for (size_t c = 0; same && c < rows->model->network->classes; c++)
        same = rows->last[c] == logits[c] || (isnan(rows->last[c]) && isnan(logits[c]));
    return same || error_set(error, ERROR_INPUT, rows->output.earlier, same_again,
                             "row %zu is not what this model computes for %s, with this device and "
                             "precision",
                             index + 1, rows->paths[index]);
}

/* --- the file --- */

static bool write_heading(struct predict_rows *rows, struct error *error)
{
    struct text heading = {0};
    append_heading(rows, &heading);
    text_append(&heading, "\n");
    fputs(heading.data ? heading.data : "", rows->stream);
    const bool written = !heading.failed || error_set_memory(error, "the predictions", 0);
    text_free(&heading);
    return written;
}

static bool allocate(struct predict_rows *rows, struct error *error)
{
    const size_t classes = rows->model->network->classes;
    rows->predictions = memory_new(rows->top, sizeof *rows->predictions, "the predictions", error);
    rows->last = memory_new(2 * classes, sizeof *rows->last, "the predictions", error);
    rows->old = rows->last ? rows->last + classes : NULL;
    return rows->predictions && rows->last;
}

bool predict_rows_open(struct predict_rows *rows, bool continues, struct predict_raw *raw,
                       struct error *error)
{
    uint64_t end = 0;
    if (!allocate(rows, error) ||
        (rows->path &&
         !output_file_open_part(&rows->output, rows->path, OUTPUT_TEXT, continues, error)))
        return false;
    rows->stream = rows->path ? rows->output.stream : rows->standard;
    if (rows->output.earlier &&
        (!read_earlier(rows, raw, &end, error) || !output_file_cut(&rows->output, end, error)))
        return false;
    rows->first = rows->has_last ? rows->first : rows->done;
    return end > 0 || rows->format != PREDICT_CSV || write_heading(rows, error);
}

bool predict_rows_add(struct predict_rows *rows, size_t index, const float *logits,
                      const struct error *broken, struct error *error)
{
    const char *path = rows->paths[index];
    struct text text = {0};
    if (index < rows->done)
        return check_last(rows, index, logits, error);
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
    if (rows->output.stream)
        return output_file_flush(&rows->output, error);
    return !rows->stream || (fflush(rows->stream) == 0 && !ferror(rows->stream)) ||
           error_set_errno(error, "standard output", "is the disk full?", "writing failed");
}

const char *predict_rows_part(const struct predict_rows *rows)
{
    return rows->format == PREDICT_CSV ? rows->output.part : NULL;
}

bool predict_rows_commit(struct predict_rows *rows, struct error *error)
{
    return !rows->output.stream || output_file_commit(&rows->output, error);
}

void predict_rows_close(struct predict_rows *rows)
{
    output_file_leave(&rows->output);
    rows->stream = NULL;
    free(rows->predictions);
    free(rows->last);
    rows->predictions = NULL;
    rows->last = rows->old = NULL;
}
