/* Reads logs of Keras, which rewrites one line for each epoch:
 *   Train on 60000 samples, validate on 10000 samples
 *   Epoch 1/12
 *   60000/60000 [=====] - 3s 50us/step - loss: 0.25 - acc: 0.92 - val_loss: 0.06 - val_acc: 0.98
 * or, without a progress bar (verbose=2),
 *   - 3s - loss: 0.25 - acc: 0.92
 * Newer versions count steps: 469/469 3s 5ms/step - accuracy: 0.92 - loss: 0.25.
 *
 * The loss is the mean of the epoch so far, so each epoch becomes one point, at its last progress.
 * Progress counts images if the log says "samples" or "/sample"; otherwise the first progress of an
 * epoch, which is one batch, shows whether it counts images or steps. So points are created at the
 * end of the log. */
#include "exchange/logs/internal.h"

#include "base/language.h"
#include "base/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct keras_epoch {
    uint64_t pass;                   /* number of the epoch within the log */
    uint64_t number, done, total;    /* total 0: unknown to Keras */
    double loss, seconds;            /* NaN: not in the log */
    double unit_seconds;             /* for an image or a step; NaN: not in the log */
    double val_loss, accuracy, top5; /* validation results; NaN: none */
    double rate;                     /* learning rate; NaN: not in the log */
};

/* --- lines --- */

static bool starts_epoch(struct keras_state *keras, const char *line)
{
    unsigned long number, count;
    if (sscanf(line, "Epoch %lu/%lu", &number, &count) != 2 || number == 0 || number > count ||
        count > 10000000)
        return false;
    keras->epoch = number;
    keras->passes++;
    keras->epochs = count;
    keras->done = keras->total = 0;
    return true;
}

/* Reads progress such as "  128/60000 " or "469/Unknown ". Returns the text after it, or the line
 * if there is none. */
static const char *read_progress(struct keras_state *keras, const char *line)
{
    char *end;
    const char *at = line + strspn(line, " ");
    const unsigned long done = isdigit((unsigned char)at[0]) ? strtoul(at, &end, 10) : 0;
    if (done == 0 || done > 1000000000 || end[0] != '/')
        return line;
    if (strncmp(end, "/Unknown", 8) == 0) {
        keras->done = done;
        keras->total = 0;
        return end + 8;
    }
    const unsigned long total = isdigit((unsigned char)end[1]) ? strtoul(end + 1, &end, 10) : 0;
    if (total < done || total > 1000000000)
        return line;
    keras->done = done;
    keras->total = total;
    if (done < total && (keras->first == 0 || done < keras->first))
        keras->first = done;
    return end;
}

/* Returns the seconds of the epoch in "3s", ignoring the "3s/epoch" that some versions add. */
static double read_seconds(const char *text)
{
    for (const char *at = text; at[0]; at++) {
        char *end;
        if (!isdigit((unsigned char)at[0]) || (at > text && !strchr(" -", at[-1])))
            continue;
        const double value = strtod(at, &end);
        if (end[0] == 's' && (end[1] == ' ' || end[1] == '\0'))
            return value;
        at = end - 1;
    }
    return NAN;
}

/* Returns the seconds in "50us/step", "5ms/step" or "1s/sample". */
static double read_unit(const char *text, const char *word)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
    const char *at = strstr(text, word);
    while (at && at > text && at[-1] != ' ')
        at--;
    double value;
    const char *unit = at ? import_number(at, &value) : NULL;
    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
        if (strncmp(unit, units[i].name, strlen(units[i].name)) == 0)
            return value * units[i].seconds;
    return NAN;
}

/* Finds the next pair " - KEY: VALUE" at or after *at, and moves *at behind it. Returns false if
 * there is none; a key without a number counts as damage, in *damaged. */
static bool next_pair(const char **at, char key[64], double *value, size_t *damaged)
{
    while ((*at = strstr(*at, "- "))) {
        int length = 0;
        *at += 2;
        if (sscanf(*at, "%63[^: ]:%n", key, &length) != 1 || length == 0)
            continue;
        if (import_number(*at + length, value))
            return true;
        *damaged += strncmp(key, "ETA", 3) != 0;
    }
    return false;
}

/* Stores the value of a metric. Of several accuracies of validations, as a model with several
 * outputs has them, the chosen one counts. */
static void store_metric(struct import_reader *reader, struct keras_epoch *epoch, const char *key,
                         double value)
{
    bool replaced;
    const enum import_quantity quantity = import_names_offer(&reader->names, key, false, &replaced);
    if (quantity == IMPORT_LOSS)
        epoch->loss = value;
    else if (quantity == IMPORT_VAL_LOSS)
        epoch->val_loss = value;
    else if (quantity == IMPORT_TOP5)
        epoch->top5 = 100 * value;
    else if (quantity == IMPORT_TOP1)
        epoch->accuracy = 100 * value;
    else if (quantity == IMPORT_RATE)
        epoch->rate = value;
}

/* Reads the pairs " - KEY: VALUE". All names are offered before the values are stored, so that the
 * best ones are chosen. */
static void read_metrics(struct import_reader *reader, struct keras_epoch *epoch, const char *text)
{
    char key[64];
    double value;
    bool replaced;
    size_t damaged = 0;
    for (const char *at = text; next_pair(&at, key, &value, &damaged);)
        import_names_offer(&reader->names, key, false, &replaced);
    reader->log->notes.damaged += damaged;
    for (const char *at = text; next_pair(&at, key, &value, &damaged);)
        store_metric(reader, epoch, key, value);
}

/* Stores the epoch: the last progress shown replaces earlier ones. If a training starts again, it
 * replaces the epochs that it repeats. */
static bool store_epoch(struct import_reader *reader, const struct keras_epoch *epoch)
{
    struct keras_state *keras = &reader->keras;
    while (keras->count > 0) {
        const struct keras_epoch *last = &keras->shown[keras->count - 1];
        if (last->number < epoch->number)
            break;
        reader->log->notes.replaced += last->pass != epoch->pass;
        keras->count--;
    }
    if (!memory_grow(&keras->shown, &keras->capacity, keras->count + 1, sizeof *keras->shown,
                     "the log's epochs", reader->error))
        return false;
    keras->shown[keras->count++] = *epoch;
    return true;
}

static bool take_progress(struct import_reader *reader, const char *line)
{
    struct keras_state *keras = &reader->keras;
    struct keras_epoch epoch = {.number = keras->epoch,
                                .pass = keras->passes,
                                .loss = NAN,
                                .val_loss = NAN,
                                .accuracy = NAN,
                                .top5 = NAN,
                                .unit_seconds = NAN,
                                .rate = NAN};
    const char *rest = read_progress(keras, line);
    if (rest == line && strncmp(line + strspn(line, " "), "- ", 2) != 0)
        return true;
    epoch.done = keras->done;
    epoch.total = keras->total;
    read_metrics(reader, &epoch, rest);
    epoch.seconds =
        epoch.done < epoch.total ? NAN : read_seconds(rest); /* earlier lines show the time left */
    if (strstr(rest, "/sample"))
        keras->in_images = true;
    epoch.unit_seconds = read_unit(rest, strstr(rest, "/sample") ? "/sample" : "/step");
    return isnan(epoch.loss) || store_epoch(reader, &epoch);
}

static void take_fact(struct import_reader *reader, const char *line)
{
    unsigned long images;
    struct imported_log *log = reader->log;
    if (sscanf(line, "Train on %lu samples", &images) == 1) {
        log->images = images;
        reader->keras.in_images = true;
    }
    if (!log->network[0] && strncmp(line, "Model: ", 7) == 0)
        import_find_quoted(line, "Model: ", log->network, sizeof log->network);
    if (strcasestr(line, "/device:gpu:"))
        snprintf(log->device, sizeof log->device, "cuda");
}

static bool take(struct import_reader *reader, const char *line)
{
    if (starts_epoch(&reader->keras, line))
        return true;
    if (reader->keras.epoch > 0 && strstr(line, "- "))
        return take_progress(reader, line);
    take_fact(reader, line);
    return true;
}

/* --- points --- */

/* Finds out whether progress counts images or steps, and the batch. */
static void find_batch(struct import_reader *reader)
{
    const struct import_request *request = reader->request;
    struct imported_log *log = reader->log;
    struct keras_state *keras = &reader->keras;
    const uint64_t total = keras->count > 0 ? keras->shown[0].total : 0;
    keras->in_images |= keras->first > 1 || (total > 0 && request->images == total);
    if (keras->in_images && total > 0)
        log->images = total;
    if (keras->in_images)
        log->batch = keras->first;
    if (request->batch)
        log->batch = request->batch;
    if (request->images)
        log->images = request->images;
}

/* Returns the number of steps of `images`, or 0 if unknown. */
static uint64_t steps_of(const struct imported_log *log, uint64_t images)
{
    return log->batch > 0 ? (images + log->batch - 1) / log->batch : 0;
}

static uint64_t steps_done(const struct import_reader *reader, const struct keras_epoch *epoch)
{
    if (epoch->done == 0) /* with verbose=2 the line is the whole epoch */
        return steps_of(reader->log, reader->log->images);
    return reader->keras.in_images ? steps_of(reader->log, epoch->done) : epoch->done;
}

static uint64_t steps_in_epoch(const struct import_reader *reader, const struct keras_epoch *epoch)
{
    if (epoch->total == 0)
        return steps_done(reader, epoch);
    return reader->keras.in_images ? steps_of(reader->log, epoch->total) : epoch->total;
}

static double iteration_seconds(const struct import_reader *reader, const struct keras_epoch *epoch)
{
    const double of_unit = epoch->unit_seconds;
    if (!isnan(of_unit))
        return reader->keras.in_images ? of_unit * (double)reader->log->batch : of_unit;
    return epoch->seconds > 0 ? epoch->seconds / (double)steps_done(reader, epoch) : NAN;
}

static bool add_epoch(struct import_reader *reader, const struct keras_epoch *epoch)
{
    struct imported_log *log = reader->log;
    const uint64_t done = steps_done(reader, epoch), all = steps_in_epoch(reader, epoch);
    const double before = reader->now, in_iteration = iteration_seconds(reader, epoch);
    const double took = isnan(epoch->seconds) ? in_iteration * (double)done : epoch->seconds;
    reader->now = before + (isnan(took) ? 0 : took);
    reader->rate = 1 / in_iteration;
    log->max_iterations = reader->keras.epochs * all;
    log->finished = epoch->number == reader->keras.epochs && done == all;
    const uint64_t iteration = (epoch->number - 1) * all + done;
    if (!import_add_point(reader, iteration, (float)epoch->loss, NAN))
        return false;
    const float at = (float)((double)(epoch->number - 1) + (double)done / (double)all);
    import_last_point(log)->epoch = at;
    if (isnan(took))
        import_last_point(log)->seconds = NAN;
    if (!isnan(epoch->rate))
        import_last_point(log)->learning_rate = (float)epoch->rate;
    if (isnan(epoch->val_loss) && isnan(epoch->accuracy))
        return true;
    if (!import_add_validation(reader, iteration))
        return false;
    struct series_validation *test = import_last_validation(log);
    test->epoch = at;
    test->loss = (float)epoch->val_loss;
    test->top1 = (float)epoch->accuracy;
    test->top5 = (float)epoch->top5;
    return true;
}

/* Leaves out the epoch in progress while the log grows: its values still change. */
static void hold_last(struct import_reader *reader)
{
    struct keras_state *keras = &reader->keras;
    if (!reader->live || keras->count == 0)
        return;
    const struct keras_epoch *last = &keras->shown[keras->count - 1];
    const bool complete = last->pass < keras->passes ||
                          (last->done == last->total && reader->idle >= IMPORT_HELD_SECONDS);
    keras->count -= !complete;
}

static bool settle(struct import_reader *reader)
{
    const struct keras_state *keras = &reader->keras;
    bool good = true;
    hold_last(reader);
    find_batch(reader);
    reader->now = reader->started = 0;
    reader->log->epoch_means = true;
    for (size_t i = 0; good && i < keras->count; i++) {
        if (steps_done(reader, &keras->shown[i]) == 0)
            good = error_set(reader->error, ERROR_INPUT, reader->request->path,
                             reader->log->images ? N_("give --batch")
                                                 : N_("give --batch and --images"),
                             "its epochs do not say how many iterations they have");
        else
            good = add_epoch(reader, &keras->shown[i]);
    }
    return good;
}

const struct import_dialect import_keras = {.name = "keras", .take = take, .settle = settle};
