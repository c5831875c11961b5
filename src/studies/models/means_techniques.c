/* The techniques after training: what int8 is expected to gain, which technique was tried already,
 * which one a row that is too slow or too large takes next, and the name of its result's file
 * (other_means.h). */
#include "studies/models/internal.h"

#include "base/files/file.h"
#include "base/language.h"
#include "engine/devices/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* int8 is assumed to be so many times faster until the table has a measured row: about as much as
 * resnet20 and squeezenet gained with AVX2 (docs/performance.md). */
static const double assumed_int8 = 1.3;
/* Pruning leaves at least this share, which is tried in these steps. */
static const double least_share = 0.1, share_step = 0.05;
/* The share of the FLOPs from which on products of linear layers are worth factorizing for time. */
static const double least_linear_flops = 0.3;

/* --- evidence --- */

bool means_has_kind(const char *name, const char *kind)
{
    char step[32];
    snprintf(step, sizeof step, "+%s", kind);
    const char *found = strstr(name, step);
    return found && strchr(":+", found[strlen(step)]);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the median of what the technique gained in time where it was the last step, in `count`
 * rows, and sets advice->evidence to the last of them; NaN if no row shows it. `own`: only rows of
 * the network. */
static double measured_gain(struct inquiry *inquiry, const char *kind, bool own, size_t *count)
{
    enum { MOST = 64 };
    double gains[MOST];
    *count = 0;
    inquiry->advice->evidence = MODEL_NO_ROW;
    for (size_t i = 0; i < inquiry->table->count && *count < MOST; i++) {
        const char *last = strrchr(inquiry_name(inquiry, i), '+');
        if (!last || !means_has_kind(last, kind) || !isfinite(inquiry_row(inquiry, i)->gain.ms) ||
            (own && !inquiry_is_of_network(inquiry, i)))
            continue;
        gains[(*count)++] = inquiry_row(inquiry, i)->gain.ms;
        inquiry->advice->evidence = i;
    }
    if (*count == 0)
        return (double)NAN;
    qsort(gains, *count, sizeof *gains, by_value);
    return (gains[(*count - 1) / 2] + gains[*count / 2]) / 2;
}

static bool computes_int8(const struct inquiry *inquiry)
{
    size_t number;
    const struct device_driver *driver = device_find(inquiry->table->device, &number, NULL);
    return driver && device_check_precision(driver, PRECISION_INT8, NULL);
}

double means_int8_speed(struct inquiry *inquiry)
{
    size_t count;
    if (!computes_int8(inquiry)) {
        inquiry_note(inquiry,
                     N_("%s does not compute in int8: a quantized model is no faster there."),
                     inquiry->table->device);
        return 1;
    }
    double gain = measured_gain(inquiry, "quantize", true, &count);
    if (isnan(gain))
        gain = measured_gain(inquiry, "quantize", false, &count);
    if (isnan(gain)) {
        inquiry_note(
            inquiry,
            N_("What int8 gains on %s is not measured in any row; it is assumed to be %.2g times "
               "the speed."),
            inquiry->table->device, assumed_int8);
        return assumed_int8;
    }
    const size_t row = inquiry->advice->evidence;
    inquiry_note(
        inquiry,
        N_("int8 was measured on %s beside its origin: %.2f times the speed (median of %zu; the "
           "last one is row %zu, %s)."),
        inquiry->table->device, gain, count, row + 1, inquiry_name(inquiry, row));
    return gain;
}

/* --- techniques --- */

bool means_is_ended(const char *name)
{
    return means_has_kind(name, "quantize") || means_has_kind(name, "half");
}

static bool is_excluded(const struct inquiry *inquiry, size_t row, const char *name)
{
    for (size_t i = 0; i < inquiry->request->excluded_count; i++) {
        const struct means_exclusion *excluded = &inquiry->request->excluded[i];
        if (strcmp(excluded->name, name) == 0 &&
            strcmp(excluded->parent, inquiry_row(inquiry, row)->figures.facts.checksum) == 0)
            return true;
    }
    return false;
}

/* Returns whether --apply has made the row with other settings than those of the request. */
static bool has_other_settings(const struct inquiry *inquiry, size_t made, size_t row,
                               const char *step)
{
    char name[MEANS_FILE_NAME];
    if (!inquiry->request->settings || !inquiry_row(inquiry, made)->of_advice)
        return false;
    means_file_name(inquiry->table, row, inquiry->advice->reference, step,
                    inquiry->request->settings, name);
    return strcmp(file_base_name(inquiry_row(inquiry, made)->path), name) != 0;
}

/* Returns the row with the result of this technique on a row, or MODEL_NO_ROW. */
static size_t find_result(const struct inquiry *inquiry, size_t row, const char *step)
{
    char name[MODEL_NAME * 2];
    const bool by_kind = strncmp(step, "prune", 5) != 0;
    const size_t kind = by_kind ? strcspn(step, ":") : strlen(step);
    const int length =
        snprintf(name, sizeof name, "%s+%.*s", inquiry_name(inquiry, row), (int)kind, step);
    for (size_t i = 0; i < inquiry->table->count; i++) {
        const char *other = inquiry_name(inquiry, i);
        if (inquiry_concerns(inquiry, i) && strncmp(other, name, (size_t)length) == 0 &&
            (other[length] == '\0' || (by_kind && other[length] == ':')) &&
            model_row_is_made_from(inquiry_row(inquiry, i), inquiry_row(inquiry, row)) &&
            !has_other_settings(inquiry, i, row, step))
            return i;
    }
    return MODEL_NO_ROW;
}

/* Returns whether a result of this technique on the row is in the table, or could not be made. */
static bool was_tried(const struct inquiry *inquiry, size_t row, const char *step)
{
    char name[MODEL_NAME + MEANS_STEP];
    snprintf(name, sizeof name, "%s+%s", inquiry_name(inquiry, row), step);
    return find_result(inquiry, row, step) != MODEL_NO_ROW || is_excluded(inquiry, row, name);
}

/* Returns whether the technique was tried on the row and lost too much. */
static bool lost_too_much(const struct inquiry *inquiry, size_t row, const char *step)
{
    const size_t result = find_result(inquiry, row, step);
    return result != MODEL_NO_ROW && inquiry_loss(inquiry, inquiry->advice->reference, result) >
                                         inquiry->request->accept_loss;
}

bool means_take(struct inquiry *inquiry, size_t row, const char *step)
{
    struct means_advice *advice = inquiry->advice;
    if (was_tried(inquiry, row, step))
        return false;
    char name[MODEL_NAME + MEANS_STEP];
    snprintf(name, sizeof name, "%s+%s", inquiry_name(inquiry, row), step);
    advice->verdict = MEANS_TRY;
    advice->row = row;
    snprintf(advice->step, sizeof advice->step, "%s", step);
    snprintf(advice->name, sizeof advice->name, "%.*s", MODEL_NAME - 1, name);
    return true;
}

/* `gain`: the expected speed; 0: it is to make the model smaller. */
static bool take_quantize(struct inquiry *inquiry, size_t row, double gain)
{
    if (means_is_ended(inquiry_name(inquiry, row)) ||
        !means_take(inquiry, row, "quantize:percentile"))
        return false;
    if (gain > 0)
        inquiry_note(inquiry, N_("int8 is expected to have %.2f times the speed: apply it to %s."),
                     gain, inquiry_name(inquiry, row));
    else
        inquiry_note(inquiry,
                     N_("int8 has a quarter of the bytes and needs no training: apply it to %s."),
                     inquiry_name(inquiry, row));
    return true;
}

static bool take_half(struct inquiry *inquiry, size_t row)
{
    if (means_is_ended(inquiry_name(inquiry, row)) || !means_take(inquiry, row, "half:float16"))
        return false;
    inquiry_note(
        inquiry,
        N_("Half precision has half of the bytes and loses almost nothing: apply it to %s."),
        inquiry_name(inquiry, row));
    return true;
}

static double share_for(double over, double by)
{
    return fmax(least_share, fmin(0.9, floor(by / over / share_step) * share_step));
}

/* Returns what the share of parameters is divided by: with int8 afterwards that may be much larger,
 * unless int8 has lost too much already. */
static double bytes_by(const struct inquiry *inquiry, size_t row)
{
    return lost_too_much(inquiry, row, "quantize:percentile") ? 0.95 : means_int8_bytes;
}

/* Notes why a row gets fewer parameters or FLOPs. */
static void note_share(struct inquiry *inquiry, size_t row, double over, bool then_int8)
{
    if (then_int8)
        inquiry_note(
            inquiry,
            N_("%s is %.2f times too large, and int8 alone makes it four times smaller: first "
               "take parameters away, then int8."),
            inquiry_name(inquiry, row), over);
}

/* Prunes to a share, in steps of 5 %. A share that was tried without success is followed by smaller
 * ones, unless it lost too much: they would lose more. `by`: "" for FLOPs, "p" for parameters. */
static bool take_prune(struct inquiry *inquiry, size_t row, double share, const char *by)
{
    char step[48];
    if (means_is_ended(inquiry_name(inquiry, row)) ||
        means_has_kind(inquiry_name(inquiry, row), "prune"))
        return false;
    for (; share >= least_share - share_step / 2; share -= share_step) {
        snprintf(step, sizeof step, "prune:%s%.2g", by, share);
        if (lost_too_much(inquiry, row, step))
            return false;
        if (!means_take(inquiry, row, step))
            continue;
        inquiry_note(inquiry,
                     by[0] ? N_("Prune %s to %.2g of its parameters.")
                           : N_("Prune %s to %.2g of its FLOPs."),
                     inquiry_name(inquiry, row), share);
        return true;
    }
    return false;
}

/* Returns the share of the parameters, or of the FLOPs (two for a weight), that linear layers have.
 */
static double linear_share(const struct model_row *row, bool of_flops)
{
    const struct model_description *facts = &row->figures.facts;
    const double all = of_flops ? (double)facts->flops / 2 : (double)facts->parameters;
    return all > 0 ? fmin(1, (double)facts->linear_parameters / all) : 0;
}

/* Factorizes a network once: to a share of its parameters or, with `share` 0, to the time. */
static bool take_factorize(struct inquiry *inquiry, size_t row, double share)
{
    char step[48];
    const struct model_row *model = inquiry_row(inquiry, row);
    const double limit = inquiry->request->limit_ms, linear = linear_share(model, share == 0);
    if (means_is_ended(inquiry_name(inquiry, row)) ||
        means_has_kind(inquiry_name(inquiry, row), "factorize") ||
        linear < (share > 0 ? 0.5 : least_linear_flops))
        return false;
    if (share > 0)
        snprintf(step, sizeof step, "factorize:p%.2g", share);
    else
        snprintf(step, sizeof step, "factorize:%.4gms",
                 isfinite(limit) ? limit : 0.8 * model->now.ms);
    if (!means_take(inquiry, row, step))
        return false;
    inquiry_note(inquiry,
                 share > 0
                     ? N_("Linear layers have %.0f %% of the parameters of %s: factorize them.")
                     : N_("Linear layers have %.0f %% of the FLOPs of %s: factorize them."),
                 linear * 100, inquiry_name(inquiry, row));
    return true;
}

bool means_try_faster(struct inquiry *inquiry, size_t row, double over, double int8)
{
    if (over <= int8 && int8 > 1 && take_quantize(inquiry, row, int8))
        return true;
    return take_prune(inquiry, row, share_for(over, 0.95), "") ||
           (int8 > 1 && take_quantize(inquiry, row, int8)) || take_factorize(inquiry, row, 0);
}

bool means_try_smaller(struct inquiry *inquiry, size_t row, double over)
{
    const double by = bytes_by(inquiry, row), share = share_for(over, by);
    const size_t reasons = inquiry->advice->reason_count;
    if (over <= 2 && take_half(inquiry, row))
        return true;
    if (over <= 4 && take_quantize(inquiry, row, 0))
        return true;
    note_share(inquiry, row, over, over > 1 && by > 1);
    if (take_factorize(inquiry, row, share) || take_prune(inquiry, row, share, "p"))
        return true;
    inquiry->advice->reason_count = reasons;
    return take_quantize(inquiry, row, 0) || take_half(inquiry, row);
}

/* --- names of results ---
 *
 * The name of a result's file has the name of the network in it, for people, and a checksum of all
 * that the result depends on. */

const char *means_training_data(const struct model_table *table, size_t row, size_t reference,
                                const struct means_settings *settings)
{
    if (settings && settings->data)
        return settings->data;
    return table->rows[row].training[0]         ? table->rows[row].training
           : table->rows[reference].training[0] ? table->rows[reference].training
                                                : NULL;
}

static uLong add(uLong sum, const char *text)
{
    return crc32_z(sum, (const unsigned char *)text, strlen(text) + 1); /* its end, too */
}

/* Returns what identifies the contents of a teacher; its path if it is not in the table. */
static const char *teacher_of(const struct model_table *table, const char *step)
{
    const char *path = strncmp(step, "distill:", 8) == 0 ? step + 8 : "";
    for (size_t i = 0; path[0] && i < table->count; i++)
        if (strcmp(table->rows[i].path, path) == 0)
            return table->rows[i].figures.key;
    return path;
}

char *means_file_name(const struct model_table *table, size_t row, size_t reference,
                      const char *step, const struct means_settings *settings,
                      char name[MEANS_FILE_NAME])
{
    char numbers[64], key[MODEL_DATA_KEY] = "";
    const struct model_row *from = &table->rows[row];
    const char *data = means_training_data(table, row, reference, settings);
    const size_t kind = strcspn(step, ":");
    size_t used = 0;
    if (data)
        model_data_key(data, key);
    snprintf(numbers, sizeof numbers, "%zu %zu", settings->epochs, settings->seed);
    uLong sum = add(crc32_z(0, NULL, 0), from->figures.key);
    sum = add(sum, strncmp(step, "distill:", 8) == 0 ? "distill" : step);
    sum = add(add(add(add(sum, teacher_of(table, step)), key), from->data_key), numbers);
    for (const char *at = from->figures.facts.name; *at && used < 100; at++)
        name[used++] = strchr("/:\\ \t\n", *at) ? '-' : *at;
    snprintf(name + used, MEANS_FILE_NAME - used, "+%.*s-%08lx.safetensors", (int)kind, step, sum);
    return name;
}
