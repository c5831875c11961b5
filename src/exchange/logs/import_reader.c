/* Finds numbers and names in lines, adds points and validations to a log, and logs to a list. Logs
 * repeat lines and go back after a resumed training, so a new point replaces what the log had from
 * there on. */
#include "exchange/logs/internal.h"

#include "base/json/json.h"
#include "base/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ITERATION = 1000000000 };

/* --- parts of a line --- */

const char *import_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (end == text)
        return NULL;
    if (end[0] != '#')
        return end;
    *value = strncmp(end, "#INF", 4) == 0 ? copysign(INFINITY, *value) : NAN;
    return end + strcspn(end, " \t,)");
}

const char *import_find_number(const char *line, const char *key, double *value)
{
    const char *at = strcasestr(line, key);
    if (!at)
        return NULL;
    at += strlen(key);
    return import_number(at + strspn(at, " =:\t"), value);
}

bool import_find_count(const char *line, const char *key, uint64_t *value)
{
    double number;
    if (!import_find_number(line, key, &number) || !(number >= 0 && number <= MAX_ITERATION))
        return false;
    *value = (uint64_t)number;
    return true;
}

void import_find_quoted(const char *line, const char *key, char *text, size_t size)
{
    const char *at = strstr(line, key), *end;
    if (!at || !(at = strchr(at, '"')) || !(end = strchr(++at, '"')))
        return;
    size_t length = 0;
    for (; at < end && length + 1 < size; at++)
        if (isalnum((unsigned char)*at) || strchr("._-", *at))
            text[length++] = (char)tolower((unsigned char)*at);
    text[length] = '\0';
}

/* --- points --- */

struct series_point *import_last_point(struct imported_log *log)
{
    return log->count > 0 ? &log->points[log->count - 1] : NULL;
}

struct series_validation *import_last_validation(struct imported_log *log)
{
    return log->validation_count > 0 ? &log->validations[log->validation_count - 1] : NULL;
}

/* Removes the validations from `iteration` on, which the log repeats. */
static void drop_validations(struct imported_log *log, uint64_t iteration)
{
    while (log->validation_count > 0 && import_last_validation(log)->iteration >= iteration)
        log->validation_count--;
}

static void drop_from(const struct import_reader *reader, uint64_t iteration)
{
    struct imported_log *log = reader->log;
    const size_t before = log->count;
    while (log->count > 0 && import_last_point(log)->iteration >= iteration)
        log->count--;
    log->notes.replaced += reader->joined ? 0 : before - log->count;
    if (log->count < before)
        drop_validations(log, iteration);
}

/* Returns the milliseconds of one iteration, as printed or from the times of the lines. */
static double time_of(const struct import_reader *reader, const struct series_point *before,
                      uint64_t iteration)
{
    if (reader->rate > 0)
        return 1e3 / reader->rate;
    const double seconds = reader->now - reader->started;
    if (!before || !(seconds > (double)before->seconds))
        return NAN;
    return 1e3 * (seconds - (double)before->seconds) / (double)(iteration - before->iteration);
}

static bool same(float a, float b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Returns whether the line repeats the last point: a log written to screen and file has each line
 * twice. */
static bool is_repeated(const struct series_point *last, uint64_t iteration, float loss,
                        float caffe)
{
    return last && last->iteration == iteration && same(last->loss_caffe, caffe) &&
           (isnan(loss) || same(last->loss, loss));
}

/* Returns the seconds from the first line with a time; NaN if there is none, or the time lies
 * before it: a column "time" may hold durations. */
static float seconds_since_start(const struct import_reader *reader)
{
    const double seconds = reader->now - reader->started;
    return seconds >= 0 ? (float)seconds : NAN;
}

bool import_add_point(struct import_reader *reader, uint64_t iteration, float loss, float caffe)
{
    struct imported_log *log = reader->log;
    if (is_repeated(import_last_point(log), iteration, loss, caffe))
        return true;
    drop_from(reader, iteration);
    if (isnan(reader->started))
        reader->started = reader->now;
    if (!memory_grow(&log->points, &log->capacity, log->count + 1, sizeof *log->points,
                     "the log's iterations", reader->error))
        return false;
    const struct series_point *before = import_last_point(log);
    log->points[log->count++] =
        (struct series_point){.iteration = iteration,
                              .epoch = NAN,
                              .loss = loss,
                              .loss_caffe = caffe,
                              .loss_mean = NAN,
                              .loss_discriminator = NAN,
                              .loss_l1 = NAN,
                              .loss_labels = NAN,
                              .loss_teacher = NAN,
                              .learning_rate = (float)log->learning_rate,
                              .ms_per_image = (float)time_of(reader, before, iteration),
                              .seconds = seconds_since_start(reader)};
    reader->caffe.outputs = 0;
    reader->caffe.printed = false;
    return true;
}

void import_add_rate(struct imported_log *log, double rate)
{
    /* event files and some tables have the float next to the rate: 0.1f becomes 0.1 again */
    const bool single = isfinite(rate) && (double)(float)rate == rate;
    log->learning_rate = single ? json_float((float)rate) : rate;
    if (isfinite(rate) && !(log->highest_rate >= log->learning_rate))
        log->highest_rate = log->learning_rate;
}

bool import_add_validation(struct import_reader *reader, uint64_t iteration)
{
    struct imported_log *log = reader->log;
    drop_validations(log, iteration);
    if (!memory_grow(&log->validations, &log->validation_capacity, log->validation_count + 1,
                     sizeof *log->validations, "the log's tests", reader->error))
        return false;
    if (isnan(reader->started))
        reader->started = reader->now;
    log->validations[log->validation_count++] =
        (struct series_validation){.iteration = iteration,
                                   .epoch = NAN,
                                   .loss = NAN,
                                   .top1 = NAN,
                                   .top5 = NAN,
                                   .pixel_accuracy = NAN,
                                   .loss_error = NAN,
                                   .seconds = seconds_since_start(reader)};
    reader->caffe.outputs = 0;
    return true;
}

/* --- lists of logs --- */

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
        scalars_free(&logs->logs[i].scalars);
    }
    free(logs->logs);
    *logs = (struct imported_logs){0};
}

/* --- lines that are not as they were written --- */

/* Lines that are not as the framework wrote them: coloured, wrapped by a terminal, or run together
 * because their line breaks were lost.
 *
 * A record begins within a line where the frameworks begin one: glog's "I1103 10:11:12.0", a date
 * and a time, "INFO:tensorflow:", "Epoch 3/12", or the progress "  128/60000 [" of Keras, whose
 * first number is as wide as its second; so its digits can be told from those of a number before
 * it. */

void import_strip_escapes(char *text)
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

/* --- run-on lines --- */

/* Returns whether the text has the form of the pattern, in which 0 stands for a digit. */
static bool has_form(const char *text, const char *pattern)
{
    for (; *pattern; text++, pattern++)
        if (*pattern == '0' ? !isdigit((unsigned char)*text) : *text != *pattern)
            return false;
    return true;
}

static bool begins_record(const char *at)
{
    unsigned number, count;
    return (strchr("IWEF", *at) && has_form(at + 1, "0000 00:00:00.0")) ||
           has_form(at, "0000-00-00 00:00:00") || has_form(at, "INFO:tensorflow:") ||
           (at[0] == 'E' && sscanf(at, "Epoch %9u/%9u", &number, &count) == 2);
}

/* Returns where the progress of Keras with its '/' at `slash` begins, or NULL if it is none. */
static const char *progress_at(const char *line, const char *slash)
{
    const size_t width = strspn(slash + 1, "0123456789");
    const char *after = slash + 1 + width;
    if (width == 0 || width > 10 || (size_t)(slash - line) < width || after[0] != ' ' ||
        (after[1] != '[' && strncmp(after + 1, "\xe2\x94\x81", 3) != 0))
        return NULL;
    const char *from = slash - width;
    const size_t blank = strspn(from, " ");
    if (blank + strspn(from + blank, "0123456789") != width || blank == width)
        return NULL;
    const char *drawn = from; /* the bar of tqdm stands before its numbers, that of Keras behind */
    while (drawn > line && drawn[-1] == ' ')
        drawn--;
    const bool tqdm = drawn > line && drawn[-1] == '|';
    const bool epoch = from - line >= 6 && strncmp(from - 6, "Epoch ", 6) == 0; /* Lightning's */
    return tqdm || epoch ? NULL : from;
}

size_t import_first_record(const char *line)
{
    const size_t blank = strspn(line, " ");
    for (const char *at = line + blank + (line[blank] != '\0'); *at; at++) {
        const char *progress = *at == '/' ? progress_at(line, at) : NULL;
        if (begins_record(at))
            return (size_t)(at - line);
        if (progress && progress > line + blank)
            return (size_t)(progress - line);
    }
    return strlen(line);
}

/* --- wrapped lines --- */

/* Returns whether the line begins with a number, or with the rest of one, behind which a value
 * ends. */
static bool is_number_rest(const char *line)
{
    const size_t length = strspn(line, "0123456789.eE+-");
    const char *after = line + length;
    double value;
    return length > 0 && strpbrk(line, "0123456789") < after &&
           import_number(line, &value) == after &&
           (!*after || strncmp(after, " - ", 3) == 0 || *after == ')' || *after == ',' ||
            *after == ']' || strncmp(after, " (", 2) == 0);
}

static bool is_key_rest(const char *line)
{
    double value;
    const size_t length =
        strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    const char *after = line + length + strspn(line + length, " ");
    return length > 0 && length < 64 && (*after == ':' || *after == '=') &&
           import_number(after + 1, &value);
}

/* Returns whether the line ends within a key: its last pair has no value yet. */
static bool ends_in_key(const char *line)
{
    const char *dash = NULL;
    for (const char *at = line; (at = strstr(at, " - ")); at += 3)
        dash = at + 3;
    const char *comma = strrchr(line, ',');
    const char *last = dash && (!comma || dash > comma) ? dash : comma ? comma + 1 : NULL;
    return last && last[strspn(last, " ")] && !strpbrk(last, ":=(") &&
           isalpha((unsigned char)last[strspn(last, " ")]);
}

/* Returns whether the line has a single value below a bar of Lightning that had no room for it. */
static bool is_value_of_bar(const char *before, const char *line)
{
    return strncmp(before, "Epoch ", 6) == 0 && strstr(before, "it/s ") &&
           strncmp(line, "    ", 4) == 0 && is_key_rest(line + strspn(line, " "));
}

bool import_is_rest(const char *before, const char *line, bool *space)
{
    const size_t length = strlen(before);
    *space = is_value_of_bar(before, line);
    if (*space)
        return true;
    if (length < 20 ||
        (!strstr(before, "loss") && !strstr(before, "Iteration ") && !strstr(before, "step")))
        return false;
    const char *end = before + length;
    while (end > before && end[-1] == ' ')
        end--;
    const char last = end > before ? end[-1] : '\0';
    if (last == ':' || last == '=') {
        *space = *end != ' ';
        return is_number_rest(line);
    }
    if (last == '-' && end - before > 1 && end[-2] == ' ') {
        *space = *end != ' ';
        return is_key_rest(line);
    }
    if (strncmp(line, "- ", 2) == 0 && isdigit((unsigned char)last) && strstr(before, " - ")) {
        *space = true;
        return is_key_rest(line + 2);
    }
    if (*end == ' ' || !last)
        return false;
    if (isdigit((unsigned char)last) || last == '.') /* not the head of a table: step,loss,top5 */
        return strpbrk(before, "=:") && is_number_rest(line);
    return (isalpha((unsigned char)last) || last == '_') && ends_in_key(before) &&
           is_key_rest(line);
}
