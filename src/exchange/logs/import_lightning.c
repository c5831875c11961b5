/* Reads the progress that PyTorch Lightning prints, one line that is rewritten:
 *   Epoch 0:  50%|#####     | 5/10 [00:00<00:00, 45.33it/s, v_num=0, train_loss=2.30]
 * or, with its other bar,
 *   Epoch 0/9 ---------- 5/10 0:00:00 - 0:00:00 45.33it/s v_num: 0.000 train_loss: 2.300
 * Epochs count from 0. The bar shows the values of the last validation until the next one, whose
 * own bar ("Validation DataLoader 0: ...") tells that it ran. */
#include "exchange/logs/internal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The progress and the values that a bar shows. */
struct bar {
    uint64_t epoch, done, total;
    double rate;      /* iterations per second; NaN: unknown */
    const char *rest; /* the values */
};

/* Reads " 5/10 [" or "5/10 0:00:00". Returns the text after it, or NULL. */
static const char *read_progress(const char *at, struct bar *bar)
{
    unsigned long long done, total;
    int length = 0;
    at += strspn(at, " ");
    if (!isdigit((unsigned char)*at) ||
        sscanf(at, "%10llu/%10llu %n", &done, &total, &length) != 2 || length == 0 ||
        done > total || total > 1000000000)
        return NULL;
    bar->done = done;
    bar->total = total;
    return at + length;
}

/* Finds the progress behind the drawing of the bar. */
static bool find_progress(const char *line, struct bar *bar)
{
    const char *end = strrchr(line, '|');
    if (end)
        return (bar->rest = read_progress(end + 1, bar)) && bar->rest[0] == '[';
    for (const char *at = strchr(line, ' '); at; at = strchr(at + 1, ' '))
        if ((bar->rest = read_progress(at, bar)) && isdigit((unsigned char)bar->rest[0]) &&
            strchr(bar->rest, ':'))
            return true;
    return false;
}

/* Reads the iterations per second, "45.33it/s" or "1.50s/it". */
static double read_rate(const char *rest)
{
    const char *forward = strstr(rest, "it/s"), *inverse = strstr(rest, "s/it");
    const char *end = forward ? forward : inverse;
    const char *at = end;
    double value;
    while (at && at > rest && (isdigit((unsigned char)at[-1]) || at[-1] == '.'))
        at--;
    if (!at || at == end || !import_number(at, &value) || !(value > 0))
        return (double)NAN;
    return forward ? value : 1 / value;
}

static bool read_bar(const char *line, struct bar *bar)
{
    unsigned long long epoch, epochs;
    int length = 0;
    if (sscanf(line, "Epoch %10llu%n", &epoch, &length) != 1 || length == 0)
        return false;
    const char *at = line + length;
    const bool drawn = *at == ':' && strchr(at, '|');
    if (!drawn && (sscanf(at, "/%10llu %n", &epochs, &length) != 1 || epoch > epochs))
        return false;
    if (epoch > 10000000 || !find_progress(drawn ? at : at + 1, bar))
        return false;
    bar->epoch = epoch;
    bar->rate = read_rate(bar->rest);
    return true;
}

/* Finds the next pair NAME=VALUE or NAME: VALUE. Returns false if there is none. */
static bool next_value(const char **at, char name[IMPORT_NAME_SIZE], double *value)
{
    for (; **at; (*at)++) {
        size_t length = strcspn(*at, "=: ,[]");
        const char *sign = *at + length;
        if (length > 0 && length < IMPORT_NAME_SIZE &&
            (sign[0] == '=' || strncmp(sign, ": ", 2) == 0)) {
            const char *end = import_number(sign + 1, value);
            if (end) {
                snprintf(name, IMPORT_NAME_SIZE, "%.*s", (int)length, *at);
                *at = end;
                return true;
            }
        }
        *at = sign;
        if (!**at)
            break;
    }
    return false;
}

static void read_values(struct import_reader *reader, struct import_row *row, const char *rest)
{
    char name[IMPORT_NAME_SIZE];
    double value;
    for (const char *at = rest; next_value(&at, name, &value);)
        import_row_offer(reader, name);
    for (const char *at = rest; next_value(&at, name, &value);)
        import_row_put(reader, row, name, value);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Leaves the values of a validation in the row only if they are new. */
static void keep_new_validation(struct lightning_state *shown, struct import_row *row, bool at_end)
{
    const double loss = row->values[IMPORT_VAL_LOSS], top1 = row->values[IMPORT_TOP1];
    const double top5 = row->values[IMPORT_TOP5];
    const bool changed =
        !same(loss, shown->loss) || !same(top1, shown->top1) || !same(top5, shown->top5);
    shown->loss = loss;
    shown->top1 = top1;
    shown->top5 = top5;
    if (changed || (shown->validated && at_end)) {
        shown->validated = false;
        return;
    }
    row->has[IMPORT_VAL_LOSS] = row->has[IMPORT_TOP1] = row->has[IMPORT_TOP5] = false;
    row->values[IMPORT_VAL_LOSS] = row->values[IMPORT_TOP1] = row->values[IMPORT_TOP5] =
        (double)NAN;
}

static bool claims(struct import_reader *reader, const char *line)
{
    struct bar bar;
    (void)reader;
    return read_bar(line, &bar) || strncmp(line, "Validation DataLoader ", 22) == 0 ||
           strncmp(line, "Validation:", 11) == 0;
}

static bool take(struct import_reader *reader, const char *line)
{
    struct bar bar;
    struct import_row row = import_row_new();
    if (!read_bar(line, &bar)) {
        reader->lightning.validated |= strncmp(line, "Validation", 10) == 0;
        return true;
    }
    read_values(reader, &row, bar.rest);
    row.has[IMPORT_STEP] = row.has[IMPORT_EPOCH] = true;
    row.values[IMPORT_STEP] = (double)(bar.epoch * bar.total + bar.done);
    row.values[IMPORT_EPOCH] = (double)bar.epoch + (double)bar.done / fmax(1, (double)bar.total);
    row.has[IMPORT_LOSS] = row.has[IMPORT_LOSS] && bar.done > 0;
    reader->rate = bar.rate;
    reader->log->notes.damaged += strchr(line, '[') && !strchr(line, ']');
    keep_new_validation(&reader->lightning, &row, bar.done == bar.total);
    return bar.done == 0 && !row.has[IMPORT_VAL_LOSS] && !row.has[IMPORT_TOP1]
               ? true
               : import_row_take(reader, &row);
}

const struct import_dialect import_lightning = {.name = "lightning",
                                                .take = take,
                                                .settle = import_rows_settle,
                                                .claims = claims,
                                                .without_times = true};
