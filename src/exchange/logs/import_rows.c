/* A name is split into words at everything that is not a letter or a digit. Each word is of a
 * class: a quantity (loss), a part of the data (val), a filler that says nothing (mean), or
 * unknown. The quantity and the part give the meaning; the fillers and the unknown words give the
 * rank, by which the best of several names is chosen. */
#include "exchange/logs/internal.h"

#include "base/language.h"
#include "base/memory.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum word {
    WORD_UNKNOWN,
    WORD_FILLER,
    WORD_EPOCH,
    WORD_STEP,
    WORD_TRAIN,
    WORD_VALIDATION,
    WORD_LOSS,
    WORD_ACCURACY,
    WORD_TOP,
    WORD_TOP5,
    WORD_FIVE,
    WORD_RATE,
    WORD_LEARNING,
    WORD_TIME,
    WORD_BATCH,
    WORD_SIZE,
    WORD_MEMORY,
    WORD_GLOBAL,
    WORD_AUXILIARY,
    WORDS
};

static const struct {
    const char *text;
    enum word word;
} vocabulary[] = {
    {"mean", WORD_FILLER},
    {"avg", WORD_FILLER},
    {"average", WORD_FILLER},
    {"total", WORD_FILLER},
    {"running", WORD_FILLER},
    {"metric", WORD_FILLER},
    {"metrics", WORD_FILLER},
    {"categorical", WORD_FILLER},
    {"sparse", WORD_FILLER},
    {"binary", WORD_FILLER},
    {"multiclass", WORD_FILLER},
    {"minibatch", WORD_FILLER},
    {"vs", WORD_FILLER},
    {"epoch", WORD_EPOCH},
    {"epochs", WORD_EPOCH},
    {"step", WORD_STEP},
    {"steps", WORD_STEP},
    {"iter", WORD_STEP},
    {"iters", WORD_STEP},
    {"iteration", WORD_STEP},
    {"iterations", WORD_STEP},
    {"train", WORD_TRAIN},
    {"trainer", WORD_TRAIN},
    {"training", WORD_TRAIN},
    {"val", WORD_VALIDATION},
    {"valid", WORD_VALIDATION},
    {"validation", WORD_VALIDATION},
    {"eval", WORD_VALIDATION},
    {"evaluation", WORD_VALIDATION},
    {"test", WORD_VALIDATION},
    {"dev", WORD_VALIDATION},
    {"loss", WORD_LOSS},
    {"acc", WORD_ACCURACY},
    {"acc1", WORD_ACCURACY},
    {"accuracy", WORD_ACCURACY},
    {"top1", WORD_ACCURACY},
    {"top", WORD_TOP},
    {"top5", WORD_TOP5},
    {"acc5", WORD_TOP5},
    {"5", WORD_FIVE},
    {"k", WORD_FIVE},
    {"lr", WORD_RATE},
    {"rate", WORD_RATE},
    {"learning", WORD_LEARNING},
    {"time", WORD_TIME},
    {"timestamp", WORD_TIME},
    {"walltime", WORD_TIME},
    {"wall", WORD_FILLER},
    {"elapsed", WORD_TIME},
    {"seconds", WORD_TIME},
    {"date", WORD_TIME},
    {"datetime", WORD_TIME},
    {"batch", WORD_BATCH},
    {"batchsize", WORD_BATCH},
    {"size", WORD_SIZE},
    {"memory", WORD_MEMORY},
    {"rss", WORD_MEMORY},
    {"bytes", WORD_SIZE},
    {"global", WORD_GLOBAL},
    {"aux", WORD_AUXILIARY},
    {"auxiliary", WORD_AUXILIARY},
    {"aux1", WORD_AUXILIARY},
    {"aux2", WORD_AUXILIARY},
};

static const char *const quantity_names[IMPORT_QUANTITIES] = {
    "step", "epoch", "time",     "loss",  "lr",    "val_loss",
    "top1", "top5",  "accuracy", "batch", "memory"};

/* --- the words of a name --- */

/* Returns the class of the next word of *name, and moves *name behind it; false: none is left. */
static bool next_word(const char **name, enum word *word)
{
    char text[16];
    size_t length = 0;
    const char *at = *name;
    while (*at && !isalnum((unsigned char)*at))
        at++;
    if (!*at)
        return false;
    for (; isalnum((unsigned char)*at); at++)
        if (length + 1 < sizeof text)
            text[length++] = (char)tolower((unsigned char)*at);
    text[length] = '\0';
    *name = at;
    *word = WORD_UNKNOWN;
    for (size_t i = 0; i < sizeof vocabulary / sizeof *vocabulary; i++)
        if (text[0] == vocabulary[i].text[0] && strcmp(text, vocabulary[i].text) == 0)
            *word = vocabulary[i].word;
    return true;
}

/* Counts the words of each class. A learning rate ends with its name: what follows (lr-SGD,
 * lr/group0) names the optimizer. Returns the number of words. */
static unsigned count_words(const char *name, unsigned counts[WORDS])
{
    unsigned words = 0;
    enum word word;
    memset(counts, 0, WORDS * sizeof *counts);
    while (next_word(&name, &word)) {
        counts[word]++;
        words++;
        if (word == WORD_RATE)
            break;
    }
    return words;
}

static enum import_quantity loss_or_accuracy(const unsigned *counts)
{
    const bool validation = counts[WORD_VALIDATION] > 0;
    if (counts[WORD_LOSS])
        return validation ? IMPORT_VAL_LOSS : IMPORT_LOSS;
    if (counts[WORD_TOP5] || (counts[WORD_TOP] && counts[WORD_FIVE]))
        return validation ? IMPORT_TOP5 : IMPORT_UNKNOWN;
    return validation ? IMPORT_TOP1 : IMPORT_ACCURACY;
}

enum import_quantity import_name_means(const char *name, int *rank)
{
    unsigned counts[WORDS];
    const unsigned words = count_words(name, counts);
    const unsigned fillers = counts[WORD_FILLER] + counts[WORD_STEP] + counts[WORD_BATCH];
    *rank = (int)(fillers + 3 * counts[WORD_EPOCH] + 10 * counts[WORD_UNKNOWN] +
                  30 * counts[WORD_AUXILIARY]);
    if (counts[WORD_RATE] && words <= counts[WORD_RATE] + counts[WORD_LEARNING] +
                                          counts[WORD_TRAIN] + counts[WORD_EPOCH] + fillers)
        return IMPORT_RATE;
    if (counts[WORD_LOSS] || counts[WORD_ACCURACY] || counts[WORD_TOP5] ||
        (counts[WORD_TOP] && counts[WORD_FIVE]))
        return loss_or_accuracy(counts);
    *rank = (int)(words - 1);
    if (counts[WORD_STEP] && words == counts[WORD_STEP] + counts[WORD_GLOBAL] + counts[WORD_TRAIN])
        return IMPORT_STEP;
    if (counts[WORD_EPOCH] && words == counts[WORD_EPOCH] + counts[WORD_TRAIN])
        return IMPORT_EPOCH;
    if (counts[WORD_TIME] && words == counts[WORD_TIME] + counts[WORD_FILLER])
        return IMPORT_TIME;
    if (counts[WORD_BATCH] && counts[WORD_SIZE] && words == 2)
        return IMPORT_BATCH;
    if (counts[WORD_MEMORY] && words == counts[WORD_MEMORY] + counts[WORD_SIZE])
        return IMPORT_MEMORY;
    return IMPORT_UNKNOWN;
}

/* --- the user's choice --- */

static bool refuse(const char *entry, const char *why, struct error *error)
{
    return error_set(error, ERROR_USAGE, "--columns",
                     N_("write QUANTITY=NAME,... with a quantity of step, epoch, time, loss, lr, "
                        "val_loss, top1, top5, accuracy, batch, memory"),
                     why, entry);
}

static bool give(struct import_names *names, const char *entry, size_t length, struct error *error)
{
    char text[2 * IMPORT_NAME_SIZE];
    snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : sizeof text - 1),
             entry);
    char *name = strchr(text, '=');
    if (!name || !name[1])
        return refuse(text, N_("\"%s\" names no column"), error);
    *name++ = '\0';
    if (strlen(name) >= IMPORT_NAME_SIZE)
        return refuse(name, N_("the name \"%s\" is too long"), error);
    for (size_t i = 0; i < IMPORT_QUANTITIES; i++) {
        struct import_name *chosen = &names->chosen[i];
        if (strcmp(text, quantity_names[i]) != 0)
            continue;
        *chosen = (struct import_name){.given = true};
        snprintf(chosen->text, sizeof chosen->text, "%s", name);
        return true;
    }
    return refuse(text, N_("\"%s\" is no quantity"), error);
}

bool import_names_give(struct import_names *names, const char *columns, struct error *error)
{
    bool good = true;
    for (const char *at = columns; good && at && *at;) {
        const size_t length = strcspn(at, ",");
        good = give(names, at, length, error);
        at += length;
        at += *at == ',';
    }
    return good;
}

/* --- choosing --- */

/* Returns the quantity for which the user gave this name. */
static enum import_quantity given_for(const struct import_names *names, const char *name)
{
    for (size_t i = 0; i < IMPORT_QUANTITIES; i++)
        if (names->chosen[i].given && strcmp(names->chosen[i].text, name) == 0)
            return (enum import_quantity)i;
    return IMPORT_UNKNOWN;
}

/* Returns the quantity of a name that stands where the values of validations are. */
static enum import_quantity of_validation(enum import_quantity quantity)
{
    return quantity == IMPORT_LOSS       ? IMPORT_VAL_LOSS
           : quantity == IMPORT_ACCURACY ? IMPORT_TOP1
           : quantity == IMPORT_RATE     ? IMPORT_UNKNOWN
                                         : quantity;
}

enum import_quantity import_names_offer(struct import_names *names, const char *name,
                                        bool validation, bool *replaced)
{
    int rank;
    *replaced = false;
    enum import_quantity quantity = given_for(names, name);
    if (quantity != IMPORT_UNKNOWN)
        return quantity;
    quantity = import_name_means(name, &rank);
    if (validation)
        quantity = of_validation(quantity);
    if (quantity == IMPORT_UNKNOWN || strlen(name) >= IMPORT_NAME_SIZE)
        return IMPORT_UNKNOWN;
    struct import_name *chosen = &names->chosen[quantity];
    if (chosen->given)
        return IMPORT_UNKNOWN;
    const bool same = strcmp(chosen->text, name) == 0;
    names->several |= quantity == IMPORT_TOP1 && chosen->text[0] && !same;
    if (chosen->text[0] && !same && rank >= chosen->rank)
        return IMPORT_UNKNOWN;
    *replaced = chosen->text[0] && !same;
    chosen->rank = rank;
    memmove(chosen->text, name, strlen(name) + 1);
    return quantity;
}

/* --- rows --- */

/* A row has a step, or an epoch, or neither. Without a step, rows whose epochs are whole numbers
 * and grow are one point for each epoch; otherwise the rows with a loss are counted. Values of the
 * same step complete each other, since event files have each of them alone. If steps go back, the
 * training was started again there, and later values replace earlier ones. */

enum { MAX_STEP = 1000000000 };

struct import_row import_row_new(void)
{
    struct import_row row;
    memset(&row, 0, sizeof row);
    for (size_t i = 0; i < IMPORT_QUANTITIES; i++)
        row.values[i] = (double)NAN;
    return row;
}

/* --- names --- */

/* Forgets the losses or the accuracies that came under a name which fits less. */
static void forget(struct import_reader *reader, enum import_quantity quantity)
{
    struct imported_log *log = reader->log;
    if (quantity == IMPORT_LOSS)
        log->count = 0;
    for (size_t i = 0; i < log->validation_count; i++) {
        struct series_validation *test = &log->validations[i];
        if (quantity == IMPORT_VAL_LOSS)
            test->loss = (float)NAN;
        else if (quantity == IMPORT_TOP1)
            test->top1 = (float)NAN;
        else if (quantity == IMPORT_TOP5)
            test->top5 = (float)NAN;
    }
}

void import_row_offer(struct import_reader *reader, const char *name)
{
    bool replaced;
    const enum import_quantity quantity =
        import_names_offer(&reader->names, name, reader->rows.of_validation, &replaced);
    if (replaced)
        forget(reader, quantity);
}

/* Keeps a value whose name means no quantity, or counts it as lost. */
static void put_other(struct import_reader *reader, const char *name, double value)
{
    const size_t place = scalars_find(&reader->log->scalars, name, NULL);
    if (place != SIZE_MAX &&
        memory_grow(&reader->others, &reader->other_capacity, reader->other_count + 1,
                    sizeof *reader->others, "the log's series", NULL))
        reader->others[reader->other_count++] = (struct import_other){place, value};
    else
        reader->log->notes.others_lost++;
}

/* Adds the other values of the row to the log. */
static bool take_others(struct import_reader *reader, const struct import_row *row, uint64_t step)
{
    const double seconds = reader->now - reader->started;
    for (size_t i = 0; row->begun && i < reader->other_count; i++) {
        const struct import_other *other = &reader->others[i];
        const struct scalar_value value = {step, seconds >= 0 ? seconds : (double)NAN,
                                           other->value};
        reader->log->notes.others_lost += reader->log->scalars.values >= SCALARS_MOST;
        if (!scalars_add(&reader->log->scalars, other->place, &value, reader->error))
            return false;
    }
    return true;
}

void import_row_put(struct import_reader *reader, struct import_row *row, const char *name,
                    double value)
{
    bool replaced;
    int rank;
    if (!row->begun)
        reader->other_count = 0;
    row->begun = true;
    const enum import_quantity quantity =
        import_names_offer(&reader->names, name, reader->rows.of_validation, &replaced);
    if (quantity == IMPORT_UNKNOWN && isfinite(value) && strlen(name) < IMPORT_NAME_SIZE &&
        import_name_means(name, &rank) == IMPORT_UNKNOWN)
        put_other(reader, name, value);
    if (quantity == IMPORT_UNKNOWN || (row->has[quantity] && !replaced))
        return;
    row->values[quantity] = value;
    row->has[quantity] = true;
}

/* --- steps --- */

/* Numbers the points anew, because the rows turned out not to be epochs. */
static void count_rows(struct import_reader *reader)
{
    struct imported_log *log = reader->log;
    reader->rows.rows = ROWS_ARE_COUNTED;
    for (size_t i = 0; i < log->validation_count; i++) {
        struct series_validation *test = &log->validations[i];
        size_t at = 0;
        while (at < log->count && log->points[at].iteration <= test->iteration)
            at++;
        test->iteration = at;
    }
    for (size_t i = 0; i < log->count; i++)
        log->points[i].iteration = i + 1;
}

/* Returns the step of a row that has none. */
static uint64_t step_of_row(struct import_reader *reader, const struct import_row *row)
{
    const struct series_point *last = import_last_point(reader->log);
    const double epoch = row->values[IMPORT_EPOCH];
    const bool whole = epoch >= 0 && epoch <= MAX_STEP && epoch == floor(epoch);
    const bool again = last && row->has[IMPORT_LOSS] && epoch == reader->rows.epoch;
    if (reader->rows.rows == ROWS_UNKNOWN && row->has[IMPORT_LOSS])
        reader->rows.rows = whole ? ROWS_ARE_EPOCHS : ROWS_ARE_COUNTED;
    if (reader->rows.rows == ROWS_ARE_EPOCHS && (!whole || again))
        count_rows(reader);
    if (reader->rows.rows == ROWS_ARE_EPOCHS)
        return (uint64_t)epoch;
    return (last ? last->iteration : 0) + row->has[IMPORT_LOSS];
}

/* --- the log --- */

static void fill_point(const struct import_row *row, struct series_point *point)
{
    const double memory = row->values[IMPORT_MEMORY];
    if (row->has[IMPORT_RATE])
        point->learning_rate = (float)row->values[IMPORT_RATE];
    if (row->has[IMPORT_EPOCH])
        point->epoch = (float)row->values[IMPORT_EPOCH];
    if (memory >= 1 && memory < 1e15)
        point->memory_bytes = (uint64_t)memory;
}

static bool take_loss(struct import_reader *reader, const struct import_row *row, uint64_t step)
{
    struct series_point *last = import_last_point(reader->log);
    if (row->has[IMPORT_RATE])
        import_add_rate(reader->log, row->values[IMPORT_RATE]);
    if (!row->has[IMPORT_LOSS]) {
        if (last && last->iteration == step && row->has[IMPORT_RATE])
            last->learning_rate = (float)row->values[IMPORT_RATE];
        return true;
    }
    if (!import_add_point(reader, step, (float)row->values[IMPORT_LOSS], (float)NAN))
        return false;
    fill_point(row, import_last_point(reader->log));
    reader->rows.epoch = row->values[IMPORT_EPOCH];
    return true;
}

/* Returns the accuracy of the validation in the row. One without a word that says of what counts if
 * the row has a validation's loss and no other accuracy of a validation is known. */
static double accuracy_of(const struct import_reader *reader, const struct import_row *row)
{
    if (row->has[IMPORT_TOP1] || !row->has[IMPORT_VAL_LOSS] ||
        reader->names.chosen[IMPORT_TOP1].text[0])
        return row->values[IMPORT_TOP1];
    return row->values[IMPORT_ACCURACY];
}

static bool take_validation(struct import_reader *reader, const struct import_row *row,
                            uint64_t step)
{
    struct imported_log *log = reader->log;
    const double top1 = accuracy_of(reader, row);
    if (isnan(top1) && !row->has[IMPORT_VAL_LOSS] && !row->has[IMPORT_TOP1] &&
        !row->has[IMPORT_TOP5])
        return true;
    struct series_validation *test = import_last_validation(log);
    if (!test || test->iteration != step) {
        if (!import_add_validation(reader, step))
            return false;
        test = import_last_validation(log);
    }
    if (row->has[IMPORT_VAL_LOSS])
        test->loss = (float)row->values[IMPORT_VAL_LOSS];
    if (!isnan(top1))
        test->top1 = (float)top1;
    if (row->has[IMPORT_TOP5])
        test->top5 = (float)row->values[IMPORT_TOP5];
    if (row->has[IMPORT_EPOCH])
        test->epoch = (float)row->values[IMPORT_EPOCH];
    return true;
}

bool import_row_take(struct import_reader *reader, const struct import_row *row)
{
    const double given = row->values[IMPORT_STEP], batch = row->values[IMPORT_BATCH];
    if (row->has[IMPORT_STEP] && !(given >= 0 && given <= MAX_STEP && given == floor(given))) {
        reader->log->notes.damaged++;
        return true;
    }
    if (row->has[IMPORT_TIME])
        reader->now = row->values[IMPORT_TIME];
    if (batch >= 1 && batch <= 65536 && batch == floor(batch))
        reader->log->batch = (size_t)batch;
    const uint64_t step = row->has[IMPORT_STEP] ? (uint64_t)given : step_of_row(reader, row);
    return take_loss(reader, row, step) && take_validation(reader, row, step) &&
           take_others(reader, row, step);
}

/* --- the end --- */

/* Accuracies are fractions unless one of them is above 1. */
static void scale_accuracies(struct imported_log *log)
{
    float largest = 0;
    for (size_t i = 0; i < log->validation_count; i++) {
        const struct series_validation *test = &log->validations[i];
        largest = fmaxf(largest, fmaxf(test->top1, test->top5));
    }
    for (size_t i = 0; largest <= 1 && i < log->validation_count; i++) {
        log->validations[i].top1 *= 100;
        log->validations[i].top5 *= 100;
    }
}

bool import_rows_settle(struct import_reader *reader)
{
    struct imported_log *log = reader->log;
    const bool epochs = reader->rows.rows == ROWS_ARE_EPOCHS || reader->rows.steps_are_epochs;
    const bool from_zero = log->count > 0 && log->points[0].iteration == 0;
    scale_accuracies(log);
    for (size_t i = 0; from_zero && i < log->validation_count; i++)
        log->validations[i].iteration++;
    for (size_t i = 0; from_zero && i < log->scalars.count; i++)
        for (size_t k = 0; k < log->scalars.series[i].count; k++)
            log->scalars.series[i].values[k].step++;
    log->epoch_means = epochs;
    for (size_t i = 0; epochs && i < log->count; i++)
        log->points[i].epoch = (float)(log->points[i].iteration + from_zero);
    for (size_t i = 0; epochs && i < log->validation_count; i++)
        log->validations[i].epoch = (float)log->validations[i].iteration;
    return true;
}

/* --- times --- */

double import_row_time(const char *text)
{
    struct tm date = {0};
    double seconds = 0;
    char *end;
    if (sscanf(text, "%4d-%2d-%2d%*1[T ]%2d:%2d:%lf", &date.tm_year, &date.tm_mon, &date.tm_mday,
               &date.tm_hour, &date.tm_min, &seconds) == 6) {
        date.tm_year -= 1900;
        date.tm_mon--;
        return (double)timegm(&date) + seconds;
    }
    const double value = strtod(text, &end);
    return end > text && !end[strspn(end, " s")] && isfinite(value) ? value : (double)NAN;
}
