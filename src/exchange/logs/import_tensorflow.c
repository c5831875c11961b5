/* Reads logs of TensorFlow programs. TensorFlow itself prints no losses; its estimators, slim and
 * the tutorials each have a format of their own:
 *   INFO:tensorflow:loss = 2.3, step = 100 (0.5 sec)         seconds since the previous line
 *   INFO:tensorflow:global step 100: loss = 2.3 (0.5 sec/step)
 *   2017-03-01 12:00:00: step 10, loss = 4.66 (347.6 examples/sec; 0.368 sec/batch)
 *   Step 10: loss = 2.3 (0.005 sec)                          seconds of that step
 *   Iter 100, Minibatch Loss= 2.3
 *   INFO:tensorflow:Saving dict for global step 100: accuracy = 0.9, loss = 0.3     a test
 * So every line that contains a step and a loss counts. */
#include "exchange/logs/internal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Finds a whole word such as "step", also after "prefix_", but not within "steps_per_epoch" or
 * "timestep", and reads the number after it. Returns where the word begins, or NULL. */
static const char *find_word(const char *line, const char *word, double *value)
{
    for (const char *at = line; (at = strcasestr(at, word)); at++) {
        const char *rest = at + strlen(word);
        if (at > line && isalnum((unsigned char)at[-1]))
            continue;
        rest += rest[0] == 's';
        if (import_number(rest + strspn(rest, " =:#\t"), value))
            return at;
    }
    return NULL;
}

static const char *find_step(const char *line, uint64_t *step)
{
    static const char *const words[] = {"step", "iteration", "iter"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        double number;
        const char *at = find_word(line, words[i], &number);
        if (at && number >= 0 && number <= 1e9 && number == floor(number)) {
            *step = (uint64_t)number;
            return at;
        }
    }
    return NULL;
}

/* Finds the loss of the step, and ignores losses over other images. */
static const char *find_loss(const char *line, double *loss)
{
    static const char *const others[] = {"val_", "eval_", "test_", "validation_",
                                         "regularization_"};
    const char *at = line;
    while ((at = find_word(at, "loss", loss))) {
        bool other = false;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            const size_t length = strlen(others[i]);
            other |=
                (size_t)(at - line) >= length && strncasecmp(at - length, others[i], length) == 0;
        }
        if (!other)
            return at;
        at++;
    }
    return NULL;
}

/* Reads the number before `unit` in parentheses. */
static bool find_before(const char *line, const char *unit, double *value)
{
    const char *at = strcasestr(line, unit);
    while (at && at > line && !strchr("(;", at[-1]))
        at--;
    return at && at > line && import_number(at, value);
}

/* Stores the iterations per second, if the line has them. */
static void take_rate(struct import_reader *reader, const char *line, uint64_t steps)
{
    double value;
    if (import_find_number(line, "global_step/sec", &value))
        reader->rate = value;
    else if (find_before(line, "sec/batch", &value) || find_before(line, "sec/step", &value))
        reader->rate = value > 0 ? 1 / value : NAN;
    else if (steps > 0 && find_before(line, " sec)", &value))
        reader->rate = value > 0 ? (double)steps / value : NAN;
}

static void take_fact(struct import_reader *reader, const char *line)
{
    uint64_t batch;
    struct imported_log *log = reader->log;
    if (log->batch == 0 && (import_find_count(line, "batch_size", &batch) ||
                            import_find_count(line, "batch size", &batch)))
        log->batch = (size_t)batch;
    if (strcasestr(line, "/gpu:0") || strcasestr(line, "/device:gpu"))
        snprintf(log->device, sizeof log->device, "cuda");
    log->finished |= strstr(line, "Loss for final step") != NULL;
}

static bool take_test(struct import_reader *reader, const char *line, uint64_t step)
{
    double value;
    if (!import_add_validation(reader, step))
        return false;
    struct series_validation *test = import_last_validation(reader->log);
    if (find_loss(line, &value) || import_find_number(line, "loss", &value))
        test->loss = (float)value;
    if (import_find_number(line, "accuracy", &value))
        test->top1 = (float)(100 * value);
    return true;
}

/* Returns the steps since the previous line, if the printed seconds are those of all of them. */
static uint64_t steps_since(const struct import_reader *reader, uint64_t step, bool loss_first)
{
    const struct series_point *last = import_last_point(reader->log);
    if (!loss_first)
        return 1;
    return last && last->iteration < step ? step - last->iteration : 0;
}

static bool take(struct import_reader *reader, const char *line)
{
    uint64_t step;
    double loss;
    take_fact(reader, line);
    const bool caffe = strstr(line, "] Iteration ") || strncmp(line, "Iteration ", 10) == 0;
    if ((caffe && !reader->asked) || strstr(line, "Loss for final step"))
        return true;
    const char *at = find_step(line, &step);
    if (at && strstr(line, "Saving dict for"))
        return take_test(reader, line, step);
    if (!at || !strcasestr(line, "loss")) {
        take_rate(reader, line, 0);
        return true;
    }
    const char *named = find_loss(line, &loss);
    if (named) {
        take_rate(reader, line, steps_since(reader, step, named < at));
        return import_add_point(reader, step, (float)loss, NAN);
    }
    reader->log->notes.damaged += !strcasestr(line, "_loss");
    return true;
}

const struct import_dialect import_tensorflow = {
    .name = "tensorflow", .take = take, .without_times = true};
