/* Reads logs of Caffe. "Iteration N, loss = X" is its running mean, with N counted from 0. The loss
 * of an iteration is the sum of the "(* w = V loss)" in the "Train net output" lines after it.
 * "Iteration N, Testing net (#0)" starts a test. */
#include "exchange/logs/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define DAY 86400.0

/* Returns the time in glog's "I0314 15:09:26.535897 " in seconds, without the year, which glog
 * omits. */
static double clock_of(const char *line)
{
    struct tm parts = {.tm_year = 100};
    double seconds;
    if (!line[0] || !strchr("IWEF", line[0]) ||
        sscanf(line + 1, "%2d%2d %2d:%2d:%lf", &parts.tm_mon, &parts.tm_mday, &parts.tm_hour,
               &parts.tm_min, &seconds) != 5)
        return NAN;
    parts.tm_mon--;
    return (double)timegm(&parts) + seconds;
}

/* Returns the time like clock_of, but continues it if the log runs past the end of a year. */
static double clock_on(struct import_reader *reader, const char *line)
{
    const double now = clock_of(line) + reader->caffe.year;
    if (!(now < reader->now - 180 * DAY))
        return now;
    reader->caffe.year += 366 * DAY;
    return now + 366 * DAY;
}

/* --- outputs --- */

static void take_test_output(struct imported_log *log, const char *name, double value, bool is_loss,
                             double weighted)
{
    struct series_validation *test = import_last_validation(log);
    if (is_loss)
        test->loss = (isnan(test->loss) ? 0 : test->loss) + (float)weighted;
    else if (strstr(name, "top-5") || strstr(name, "top5") || strstr(name, "top_5"))
        test->top5 = (float)(100 * value);
    else if (strstr(name, "accuracy") || strstr(name, "top-1") || strstr(name, "top1"))
        test->top1 = (float)(100 * value);
}

static void take_train_output(struct import_reader *reader, double weighted)
{
    struct series_point *point = import_last_point(reader->log);
    point->loss = (reader->caffe.printed ? point->loss : 0) + (float)weighted;
    reader->caffe.losses += !reader->caffe.printed;
    reader->caffe.printed = true;
}

/* Finds the weighted loss V in " (* w = V loss)". */
static bool find_weighted(const char *rest, double *weighted)
{
    double weight;
    const char *at = strstr(rest, "(* ");
    at = at ? import_number(at + 3, &weight) : NULL;
    at = at && strncmp(at, " = ", 3) == 0 ? import_number(at + 3, weighted) : NULL;
    return at;
}

/* Adds the loss of a line "    Train net output #0: loss1/loss1 = 7.1 (* 0.3 = 2.13 loss)". */
static void take_output(struct import_reader *reader, const char *line)
{
    char name[64];
    unsigned index;
    int length = 0;
    double value, weighted = NAN;
    const bool train = strstr(line, "Train net output");
    const char *at = strstr(line, " net output #");
    sscanf(at, " net output #%u: %63s =%n", &index, name, &length);
    const char *rest = length > 0 ? import_number(at + length, &value) : NULL;
    const bool weighs = rest && strstr(rest, "(*");
    if (!rest || (weighs && !find_weighted(rest, &weighted)))
        reader->log->notes.damaged++;
    else if (index < reader->caffe.outputs)
        return; /* the log contains this line twice */
    else if (!train && reader->caffe.testing && import_last_validation(reader->log))
        take_test_output(reader->log, name, value, weighs, weighted);
    else if (train && weighs && !reader->caffe.testing && import_last_point(reader->log))
        take_train_output(reader, weighted);
    if (rest)
        reader->caffe.outputs = index + 1;
}

/* --- iterations --- */

static bool take_test(struct import_reader *reader, const char *at, uint64_t iteration)
{
    const bool first = !strstr(at, "(#") || strstr(at, "(#0)"); /* the first of several test nets */
    reader->caffe.testing = first;
    if (first)
        return import_add_validation(reader, iteration);
    reader->caffe.outputs = ~0u;
    return true;
}

/* Stores the learning rate. Older versions print it before the loss of the iteration, newer ones
 * after it. */
static void take_rate(struct import_reader *reader, uint64_t iteration, double rate)
{
    struct series_point *point = import_last_point(reader->log);
    import_add_rate(reader->log, rate);
    if (point && point->iteration == iteration + 1)
        point->learning_rate = (float)rate;
}

static bool take_iteration(struct import_reader *reader, const char *line)
{
    uint64_t iteration;
    double value;
    const char *at = strstr(line, "Iteration ");
    if (!import_find_count(at, "Iteration ", &iteration)) {
        reader->log->notes.damaged++;
        return true;
    }
    if (strstr(at, "Testing net"))
        return take_test(reader, at, iteration);
    if (import_find_number(at, ", lr = ", &value)) {
        take_rate(reader, iteration, value);
        return true;
    }
    const char *rate = strstr(at, " iter/s");
    const char *open = strchr(at, '(');
    reader->caffe.testing = false;
    if (!rate || !open || open > rate || !import_number(open + 1, &reader->rate))
        reader->rate = NAN;
    if (import_find_number(at, ", loss = ", &value))
        return import_add_point(reader, iteration + 1, NAN, (float)value);
    reader->log->notes.damaged++;
    return true;
}

/* --- solver, network, machine --- */

static void take_solver(struct import_reader *reader, const char *line)
{
    double value;
    uint64_t count;
    struct imported_log *log = reader->log;
    if (import_find_number(line, "base_lr:", &value))
        import_add_rate(log, value);
    else if (import_find_number(line, "momentum:", &value))
        log->momentum = value;
    else if (import_find_number(line, "weight_decay:", &value))
        log->weight_decay = value;
    else if (import_find_number(line, "average_loss:", &value) && value >= 1 && value <= 10000)
        log->average_loss = (size_t)value;
    else if (import_find_count(line, "iter_size:", &count))
        reader->caffe.iter_size = (size_t)count;
    else if (strncmp(line, "type:", 5) == 0)
        import_find_quoted(line, "type:", log->solver, sizeof log->solver);
    import_find_count(line, "max_iter:", &log->max_iterations);
    if (strstr(line, "solver_mode: GPU"))
        snprintf(log->device, sizeof log->device, "cuda");
    else if (strstr(line, "solver_mode: CPU"))
        snprintf(log->device, sizeof log->device, "cpu");
}

/* Reads date and host from glog's head of the file. */
static void take_head(struct imported_log *log, const char *line)
{
    unsigned y, m, d, h, n, s;
    sscanf(line, "Running on machine: %127s", log->host);
    if (sscanf(line, "Log file created at: %4u/%2u/%2u %2u:%2u:%2u", &y, &m, &d, &h, &n, &s) == 6)
        snprintf(log->created, sizeof log->created, "%04u-%02u-%02uT%02u:%02u:%02uZ", y % 10000,
                 m % 100, d % 100, h % 100, n % 100, s % 100);
}

static void take_fact(struct import_reader *reader, const char *line)
{
    struct imported_log *log = reader->log;
    uint64_t batch;
    if (strstr(line, "Initializing solver from parameters"))
        reader->caffe.in_solver = true;
    else if (strstr(line, "] "))
        reader->caffe.in_solver = false;
    if (reader->caffe.in_solver)
        take_solver(reader, line);
    else if (strncmp(line, "name: ", 6) == 0 && !log->network[0])
        import_find_quoted(line, "name: ", log->network, sizeof log->network);
    else if (log->batch == 0 && import_find_count(line, "batch_size:", &batch))
        log->batch = (size_t)batch;
    if (strstr(line, "] Use CPU."))
        snprintf(log->device, sizeof log->device, "cpu");
    else if (strstr(line, "] Use GPU") || strstr(line, "] Using GPUs"))
        snprintf(log->device, sizeof log->device, "cuda");
    log->finished |= strstr(line, "Optimization Done") != NULL;
    take_head(log, line);
}

static bool take(struct import_reader *reader, const char *line)
{
    const double now = clock_on(reader, line);
    if (!isnan(now))
        reader->now = now;
    if (strstr(line, " net output #"))
        take_output(reader, line);
    else if (strstr(line, "] Iteration ") || strncmp(line, "Iteration ", 10) == 0)
        return take_iteration(reader, line);
    else
        take_fact(reader, line);
    return true;
}

/* --- the end of the log --- */

/* Removes tests without scores: old versions print scores without names, so they cannot be
 * assigned. */
static void drop_empty_tests(struct imported_log *log)
{
    size_t kept = 0;
    for (size_t i = 0; i < log->validation_count; i++) {
        const struct series_validation *test = &log->validations[i];
        if (!isnan(test->loss) || !isnan(test->top1) || !isnan(test->top5))
            log->validations[kept++] = *test;
    }
    log->validation_count = kept;
}

/* Removes the last point if it has no loss: a forward pass after the last iteration, or a truncated
 * log. */
static void drop_last(struct import_reader *reader)
{
    struct imported_log *log = reader->log;
    const struct series_point *last = import_last_point(log);
    if (!last || reader->caffe.printed)
        return;
    const bool behind = log->max_iterations > 0 && last->iteration > log->max_iterations;
    if (!behind && reader->caffe.losses == 0)
        return;
    log->count--;
    log->notes.damaged += !behind && !log->finished && !reader->live;
}

static bool settle(struct import_reader *reader)
{
    struct imported_log *log = reader->log;
    drop_last(reader);
    drop_empty_tests(log);
    log->mean_only = reader->caffe.losses == 0;
    for (size_t i = 0; log->mean_only && i < log->count; i++)
        log->points[i].loss = log->points[i].loss_caffe;
    if (reader->caffe.iter_size > 1)
        log->batch *= reader->caffe.iter_size;
    return true;
}

const struct import_dialect import_caffe = {.name = "caffe", .take = take, .settle = settle};
