/* A log is read line by line; progress that overwrites itself (carriage returns, backspaces) counts
 * as lines too. What a line may say stands in two tables, one a framework; a line that none of the
 * rows knows is passed over.
 *
 * Caffe's "Iteration N, loss = X" is its running mean, and counts from 0; the losses of the
 * iteration are the "(* w = V loss)" of its "Train net output" lines, to be summed. */
#include "session/import_log.h"

#include "base/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { MAX_ITERATION = 1000000000 };

struct reader {
    struct imported_log *log;
    struct error *error;
    bool testing;        /* outputs that follow are of a test, not of a training iteration */
    bool in_solver;      /* within the solver's parameters */
    double now, started; /* seconds that the line's own clock shows; NaN: it has none */
    double rate;         /* iterations a second that the log named last; NaN: none */
    size_t printed;      /* iterations with a loss of their own */
};

/* --- small parts --- */

/* The number after `key` in the line, spaces, '=' and ':' between them. */
static const char *find_number(const char *line, const char *key, double *value)
{
    const char *at = strcasestr(line, key);
    char *end;
    if (!at)
        return NULL;
    at += strlen(key);
    at += strspn(at, " =:\t");
    *value = strtod(at, &end);
    return end > at ? end : NULL;
}

static bool find_count(const char *line, const char *key, uint64_t *value)
{
    double number;
    if (!find_number(line, key, &number) || !(number >= 0 && number <= MAX_ITERATION))
        return false;
    *value = (uint64_t)number;
    return true;
}

/* The text in quotes after `key`, in small letters. */
static void find_quoted(const char *line, const char *key, char *text, size_t size)
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

/* glog's "I0314 15:09:26.535897 ", a day of any year. */
static double clock_of(const char *line)
{
    struct tm parts = {.tm_year = 100};
    double seconds;
    if (!strchr("IWEF", line[0]) ||
        sscanf(line + 1, "%2d%2d %2d:%2d:%lf", &parts.tm_mon, &parts.tm_mday, &parts.tm_hour,
               &parts.tm_min, &seconds) != 5)
        return NAN;
    parts.tm_mon--;
    return (double)timegm(&parts) + seconds;
}

/* --- points --- */

static struct series_point *last_point(struct imported_log *log)
{
    return log->count > 0 ? &log->points[log->count - 1] : NULL;
}

/* Where the log goes back, it was resumed there: what comes later holds. */
static void go_back(struct imported_log *log, uint64_t iteration)
{
    while (log->count > 0 && log->points[log->count - 1].iteration >= iteration) {
        log->count--;
        log->replaced++;
    }
}

/* Milliseconds of one iteration, by the log's own word or by its clock. */
static double time_of(const struct reader *reader, const struct series_point *before,
                      uint64_t iteration)
{
    if (reader->rate > 0)
        return 1e3 / reader->rate;
    const double seconds = reader->now - reader->started;
    if (!before || !(seconds > (double)before->seconds))
        return NAN;
    return 1e3 * (seconds - (double)before->seconds) / (double)(iteration - before->iteration);
}

static bool add_point(struct reader *reader, uint64_t iteration, float loss, float caffe)
{
    struct imported_log *log = reader->log;
    go_back(log, iteration);
    if (isnan(reader->started))
        reader->started = reader->now;
    if (!memory_grow(&log->points, &log->capacity, log->count + 1, sizeof *log->points,
                     "the log's iterations", reader->error))
        return false;
    const struct series_point *before = last_point(log);
    log->points[log->count++] =
        (struct series_point){.iteration = iteration,
                              .epoch = NAN,
                              .loss = loss,
                              .loss_caffe = caffe,
                              .loss_mean = NAN,
                              .loss_discriminator = NAN,
                              .loss_l1 = NAN,
                              .learning_rate = (float)log->learning_rate,
                              .ms_per_image = (float)time_of(reader, before, iteration),
                              .seconds = (float)(reader->now - reader->started)};
    return true;
}

static bool add_validation(struct reader *reader, uint64_t iteration)
{
    struct imported_log *log = reader->log;
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
                                   .seconds = (float)(reader->now - reader->started)};
    return true;
}

/* --- Caffe --- */

static void take_test_output(struct imported_log *log, const char *name, double value, bool is_loss,
                             double weighted)
{
    struct series_validation *test = &log->validations[log->validation_count - 1];
    if (is_loss)
        test->loss = (isnan(test->loss) ? 0 : test->loss) + (float)weighted;
    else if (strstr(name, "top-5") || strstr(name, "top5") || strstr(name, "top_5"))
        test->top5 = (float)(100 * value);
    else if (strstr(name, "accuracy") || strstr(name, "top-1") || strstr(name, "top1"))
        test->top1 = (float)(100 * value);
}

/* "    Train net output #0: loss1/loss1 = 7.1 (* 0.3 = 2.13 loss)" */
static void take_output(struct reader *reader, const char *line)
{
    char name[64];
    double value, weight, weighted;
    struct series_point *point = last_point(reader->log);
    const bool train = strstr(line, "Train net output");
    const char *at = strstr(line, " net output #");
    const int parts = sscanf(at, " net output #%*d: %63s = %lf (* %lf = %lf loss)", name, &value,
                             &weight, &weighted);
    if (parts < 2 || (parts > 2 && parts < 4))
        reader->log->damaged++;
    else if (!train && reader->log->validation_count > 0)
        take_test_output(reader->log, name, value, parts == 4, weighted);
    else if (train && parts == 4 && point && !reader->testing) {
        reader->printed += isnan(point->loss);
        point->loss = (isnan(point->loss) ? 0 : point->loss) + (float)weighted;
    }
}

static bool take_iteration(struct reader *reader, const char *line)
{
    uint64_t iteration;
    double value;
    const char *at = strstr(line, "Iteration ");
    if (!find_count(at, "Iteration ", &iteration)) {
        reader->log->damaged++;
        return true;
    }
    reader->testing = strstr(at, "Testing net");
    if (reader->testing)
        return add_validation(reader, iteration);
    if (find_number(at, ", lr = ", &value)) {
        reader->log->learning_rate = value;
        if (last_point(reader->log))
            last_point(reader->log)->learning_rate = (float)value;
        return true;
    }
    const char *rate = strstr(at, " iter/s");
    const char *open = strchr(at, '(');
    reader->rate = rate && open && open < rate ? strtod(open + 1, NULL) : NAN;
    if (find_number(at, ", loss = ", &value))
        return add_point(reader, iteration + 1, NAN, (float)value);
    reader->log->damaged++;
    return true;
}

static void take_solver(struct imported_log *log, const char *line)
{
    double value;
    if (find_number(line, "base_lr:", &value))
        log->learning_rate = value;
    else if (find_number(line, "momentum:", &value))
        log->momentum = value;
    else if (find_number(line, "weight_decay:", &value))
        log->weight_decay = value;
    else if (find_number(line, "average_loss:", &value) && value >= 1 && value <= 10000)
        log->average_loss = (size_t)value;
    else if (strncmp(line, "type:", 5) == 0)
        find_quoted(line, "type:", log->solver, sizeof log->solver);
    find_count(line, "max_iter:", &log->max_iterations);
    if (strstr(line, "solver_mode: GPU"))
        snprintf(log->device, sizeof log->device, "cuda");
    else if (strstr(line, "solver_mode: CPU"))
        snprintf(log->device, sizeof log->device, "cpu");
}

static void take_caffe_fact(struct reader *reader, const char *line)
{
    struct imported_log *log = reader->log;
    uint64_t batch;
    if (strstr(line, "Initializing solver from parameters"))
        reader->in_solver = true;
    else if (strstr(line, "] "))
        reader->in_solver = false;
    if (reader->in_solver)
        take_solver(log, line);
    else if (strncmp(line, "name: ", 6) == 0 && !log->network[0])
        find_quoted(line, "name: ", log->network, sizeof log->network);
    else if (log->batch == 0 && find_count(line, "batch_size:", &batch))
        log->batch = (size_t)batch;
    if (strstr(line, "] Use CPU."))
        snprintf(log->device, sizeof log->device, "cpu");
    else if (strstr(line, "] Use GPU") || strstr(line, "] Using GPUs"))
        snprintf(log->device, sizeof log->device, "cuda");
    log->finished |= strstr(line, "Optimization Done") != NULL;
    sscanf(line, "Running on machine: %127s", log->host);
    int y, m, d, h, n, s;
    if (sscanf(line, "Log file created at: %4d/%2d/%2d %2d:%2d:%2d", &y, &m, &d, &h, &n, &s) == 6)
        snprintf(log->created, sizeof log->created, "%04u-%02u-%02uT%02u:%02u:%02uZ",
                 (unsigned)y % 10000, (unsigned)m % 100, (unsigned)d % 100, (unsigned)h % 100,
                 (unsigned)n % 100, (unsigned)s % 100);
}

static bool take_caffe(struct reader *reader, const char *line)
{
    reader->now = clock_of(line);
    if (strstr(line, " net output #"))
        take_output(reader, line);
    else if (strstr(line, "] Iteration ") || strncmp(line, "Iteration ", 10) == 0)
        return take_iteration(reader, line);
    else
        take_caffe_fact(reader, line);
    return true;
}

/* --- TensorFlow --- */

/* "step 10, loss = 4.66 (347.6 examples/sec; 0.368 sec/batch)", "Step 10: loss = 2.3 (0.005 sec)",
 * "loss = 2.3, step = 100 (0.5 sec)", "global step 100: loss = 2.3", "Iter 100, ... Loss= 2.3" */
static bool take_tensorflow(struct reader *reader, const char *line)
{
    uint64_t step, batch;
    double loss, rate;
    const char *unit = strcasestr(line, "sec/batch");
    if (!unit)
        unit = strcasestr(line, "sec/step");
    if (find_number(line, "global_step/sec", &rate))
        reader->rate = rate;
    else if (unit) {
        while (unit > line && !strchr("(;", unit[-1]))
            unit--;
        rate = 1 / strtod(unit, NULL);
        reader->rate = isfinite(rate) ? rate : NAN;
    }
    if (reader->log->batch == 0 &&
        (find_count(line, "batch_size", &batch) || find_count(line, "batch size", &batch)))
        reader->log->batch = (size_t)batch;
    if (strcasestr(line, "/gpu:0") || strcasestr(line, "/device:gpu"))
        snprintf(reader->log->device, sizeof reader->log->device, "cuda");
    const bool named = find_count(line, "step", &step) || find_count(line, "iter", &step) ||
                       find_count(line, "iteration", &step);
    if (!named || !strcasestr(line, "loss"))
        return true;
    if (find_number(line, "loss", &loss))
        return add_point(reader, step, (float)loss, NAN);
    reader->log->damaged++;
    return true;
}

/* --- the whole --- */

/* Steps counted from 0 count from 1 here; a last forward pass after the training is no iteration.
 */
static void settle(struct reader *reader)
{
    struct imported_log *log = reader->log;
    const bool from_zero = log->count > 0 && log->points[0].iteration == 0;
    for (size_t i = 0; from_zero && i < log->count; i++)
        log->points[i].iteration++;
    if (log->framework != IMPORT_CAFFE)
        return;
    log->mean_only = reader->printed == 0;
    if (reader->printed > 0 && isnan(log->points[log->count - 1].loss) &&
        log->points[log->count - 1].iteration > log->max_iterations)
        log->count--;
    for (size_t i = 0; log->mean_only && i < log->count; i++)
        log->points[i].loss = log->points[i].loss_caffe;
}

bool import_log_read(struct imported_log *log, enum import_framework framework, char *text,
                     struct error *error)
{
    *log = (struct imported_log){
        .framework = framework, .learning_rate = NAN, .momentum = NAN, .weight_decay = NAN};
    struct reader reader = {.log = log, .error = error, .now = NAN, .started = NAN, .rate = NAN};
    bool good = true;
    for (char *rest = text, *line; good && (line = strsep(&rest, "\r\n\b"));)
        if (line[0])
            good = framework == IMPORT_CAFFE ? take_caffe(&reader, line)
                                             : take_tensorflow(&reader, line);
    settle(&reader);
    return good;
}

void import_log_free(struct imported_log *log)
{
    free(log->points);
    free(log->validations);
    *log = (struct imported_log){0};
}
