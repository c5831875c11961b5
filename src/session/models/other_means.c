/* Walks through the second page of the flowchart (other_means.h). Every decision adds a sentence
 * with its figures and the row that they are of, so that the user can check it against the table.
 */
#include "session/models/other_means.h"

#include "base/files/file.h"
#include "base/language.h"
#include "engine/devices/device.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What int8 is assumed to gain in time until the table has a measured row: about what resnet20 and
 * squeezenet gained with AVX2 (docs/performance.md). Then the shares of pruning. */
static const double assumed_int8 = 1.3, least_share = 0.1, share_step = 0.05;
/* How much smaller int8 makes a file for certain: four times, less its scales and its report. Then
 * the share of the FLOPs from which on products of linear layers are worth factorizing for time. */
static const double int8_bytes = 3.7, least_linear_flops = 0.3;

struct inquiry {
    const struct model_table *table;
    const struct means_request *request;
    struct means_advice *advice;
};

const char *means_verdict_name(enum means_verdict verdict)
{
    static const char *const names[] = {[MEANS_USE] = "use",
                                        [MEANS_MEASURE] = "measure",
                                        [MEANS_TRY] = "try",
                                        [MEANS_NOTHING] = "nothing"};
    return names[verdict];
}

__attribute__((format(printf, 2, 3))) static void note(struct inquiry *inquiry, const char *format,
                                                       ...)
{
    struct means_advice *advice = inquiry->advice;
    va_list arguments;
    if (advice->reason_count == MEANS_REASONS)
        return;
    va_start(arguments, format);
    vsnprintf(advice->reasons[advice->reason_count++], MEANS_REASON, gettext(format), arguments);
    va_end(arguments);
}

static const struct model_row *row_of(const struct inquiry *inquiry, size_t row)
{
    return &inquiry->table->rows[row];
}

static const char *name_of(const struct inquiry *inquiry, size_t row)
{
    return row_of(inquiry, row)->figures.facts.name;
}

static double megabytes(const struct model_row *row)
{
    return (double)row->figures.facts.bytes / 1e6;
}

/* --- the rows of the network --- */

static bool is_of_network(const struct inquiry *inquiry, size_t row)
{
    const struct model_row *model = row_of(inquiry, row);
    return strcmp(model->base, inquiry->advice->network) == 0 && model->figures.facts.classes > 0;
}

/* Returns whether the row is of the network and has the reference's data set. */
static bool concerns(const struct inquiry *inquiry, size_t row)
{
    const struct model_row *reference = row_of(inquiry, inquiry->advice->reference);
    return is_of_network(inquiry, row) && row_of(inquiry, row)->data_key[0] &&
           strcmp(row_of(inquiry, row)->data_key, reference->data_key) == 0;
}

static bool choose_network(struct inquiry *inquiry, struct error *error)
{
    struct means_advice *advice = inquiry->advice;
    if (inquiry->request->network)
        snprintf(advice->network, sizeof advice->network, "%s", inquiry->request->network);
    for (size_t i = 0; !inquiry->request->network && i < inquiry->table->count; i++) {
        const struct model_row *row = row_of(inquiry, i);
        if (row->figures.facts.classes == 0)
            continue;
        if (advice->network[0] && strcmp(row->base, advice->network) != 0)
            return error_set(error, ERROR_USAGE, "--network", "give --network NET",
                             "there are models of several networks: %s, %s and perhaps others",
                             advice->network, row->base);
        snprintf(advice->network, sizeof advice->network, "%s", row->base);
    }
    return advice->network[0] ||
           error_set(error, ERROR_USAGE, "--network", "train one first, or name model files",
                     "there are no models");
}

/* Chooses the row that others are compared with: the network without any technique or, without such
 * a row, the most accurate one without techniques after training. */
static bool choose_reference(struct inquiry *inquiry, struct error *error)
{
    struct means_advice *advice = inquiry->advice;
    advice->reference = MODEL_NO_ROW;
    for (size_t i = 0; i < inquiry->table->count; i++) {
        const struct model_row *row = row_of(inquiry, i);
        const struct model_row *found =
            advice->reference == MODEL_NO_ROW ? NULL : row_of(inquiry, advice->reference);
        const bool plain = strcmp(name_of(inquiry, i), advice->network) == 0;
        if (!is_of_network(inquiry, i) || strchr(name_of(inquiry, i), '+') || !row->data[0])
            continue;
        const bool found_plain = found && strcmp(found->figures.facts.name, advice->network) == 0;
        if (!found || (plain && !found_plain) ||
            (plain == found_plain && row->now.top1 > found->now.top1))
            advice->reference = i;
    }
    return advice->reference != MODEL_NO_ROW ||
           error_set(error, ERROR_USAGE, advice->network, "train it first, or name its model file",
                     "there is no model of this network without techniques after training");
}

/* --- requirements --- */

/* Returns how many times too slow a row is: at most 1, it meets the limit. NaN: it is not timed. */
static double slowness(const struct inquiry *inquiry, size_t reference, size_t row)
{
    const struct means_request *request = inquiry->request;
    const struct model_measured *now = &row_of(inquiry, row)->now;
    const struct model_measured *from = &row_of(inquiry, reference)->now;
    const double high = isfinite(now->ms_high) ? now->ms_high : now->ms;
    const double least = isfinite(from->ms_low) ? from->ms_low : from->ms;
    if (!request->faster)
        return 0;
    if (!isfinite(request->limit_ms) && row == reference)
        return nextafter(1, 2); /* it is not faster than itself */
    return high / (isfinite(request->limit_ms) ? request->limit_ms : least);
}

/* Returns how many times too large a row is. */
static double largeness(const struct inquiry *inquiry, size_t reference, size_t row)
{
    const struct means_request *request = inquiry->request;
    const bool limited = isfinite(request->limit_mb);
    const double limit = limited ? request->limit_mb : megabytes(row_of(inquiry, reference));
    const double large = megabytes(row_of(inquiry, row)) / limit;
    if (!request->smaller)
        return 0;
    return !limited && large >= 1 ? fmax(large, nextafter(1, 2)) : large;
}

/* Returns how many times too slow or too large a row is; at most 1: it meets the limits. NaN: its
 * time is not measured. */
static double excess(const struct inquiry *inquiry, size_t reference, size_t row)
{
    const double slow = slowness(inquiry, reference, row);
    return isnan(slow) ? slow : fmax(slow, largeness(inquiry, reference, row));
}

static double lost(const struct inquiry *inquiry, size_t reference, size_t row)
{
    return row_of(inquiry, reference)->now.top1 - row_of(inquiry, row)->now.top1;
}

static bool is_measured(const struct inquiry *inquiry, size_t row)
{
    const struct model_row *model = row_of(inquiry, row);
    return isfinite(model->now.top1) && (model->timed || !inquiry->request->faster);
}

bool means_is_better(const struct model_table *table, const struct means_request *request,
                     size_t reference, size_t a, size_t b)
{
    const struct inquiry inquiry = {table, request, NULL};
    const double loss[] = {lost(&inquiry, reference, a), lost(&inquiry, reference, b)};
    const bool accurate[] = {loss[0] <= request->accept_loss, loss[1] <= request->accept_loss};
    const double over[] = {fmax(1, excess(&inquiry, reference, a)),
                           fmax(1, excess(&inquiry, reference, b))};
    if (!is_measured(&inquiry, a) || !is_measured(&inquiry, b))
        return is_measured(&inquiry, a) && !is_measured(&inquiry, b);
    if (accurate[0] != accurate[1])
        return accurate[0];
    if (over[0] != over[1])
        return over[0] < over[1];
    return loss[0] < loss[1];
}

/* --- evidence --- */

static bool has_kind(const char *name, const char *kind)
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
        const char *last = strrchr(name_of(inquiry, i), '+');
        if (!last || !has_kind(last, kind) || !isfinite(row_of(inquiry, i)->gain.ms) ||
            (own && !is_of_network(inquiry, i)))
            continue;
        gains[(*count)++] = row_of(inquiry, i)->gain.ms;
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

/* Returns how many times the speed int8 is expected to have; 1: none. */
static double expected_of_int8(struct inquiry *inquiry)
{
    size_t count;
    if (!computes_int8(inquiry)) {
        note(inquiry, N_("%s does not compute in int8: a quantized model is no faster there."),
             inquiry->table->device);
        return 1;
    }
    double gain = measured_gain(inquiry, "quantize", true, &count);
    if (isnan(gain))
        gain = measured_gain(inquiry, "quantize", false, &count);
    if (isnan(gain)) {
        note(inquiry,
             N_("What int8 gains on %s is not measured in any row; it is assumed to be %.2g times "
                "the speed."),
             inquiry->table->device, assumed_int8);
        return assumed_int8;
    }
    const size_t row = inquiry->advice->evidence;
    note(inquiry,
         N_("int8 was measured on %s beside its origin: %.2f times the speed (median of %zu; the "
            "last one is row %zu, %s)."),
         inquiry->table->device, gain, count, row + 1, name_of(inquiry, row));
    return gain;
}

/* --- techniques --- */

static bool is_ended(const char *name)
{
    return has_kind(name, "quantize") || has_kind(name, "half");
}

static bool is_excluded(const struct inquiry *inquiry, size_t row, const char *name)
{
    for (size_t i = 0; i < inquiry->request->excluded_count; i++) {
        const struct means_exclusion *excluded = &inquiry->request->excluded[i];
        if (strcmp(excluded->name, name) == 0 &&
            strcmp(excluded->parent, row_of(inquiry, row)->figures.facts.checksum) == 0)
            return true;
    }
    return false;
}

/* Returns whether --apply has made the row with other settings than those of the request. */
static bool has_other_settings(const struct inquiry *inquiry, size_t made, size_t row,
                               const char *step)
{
    char name[MEANS_FILE_NAME];
    if (!inquiry->request->settings || !row_of(inquiry, made)->of_advice)
        return false;
    means_file_name(inquiry->table, row, inquiry->advice->reference, step,
                    inquiry->request->settings, name);
    return strcmp(file_base_name(row_of(inquiry, made)->path), name) != 0;
}

/* Returns the row with the result of this technique on a row, or MODEL_NO_ROW. */
static size_t find_result(const struct inquiry *inquiry, size_t row, const char *step)
{
    char name[MODEL_NAME * 2];
    const bool by_kind = strncmp(step, "prune", 5) != 0;
    const size_t kind = by_kind ? strcspn(step, ":") : strlen(step);
    const int length =
        snprintf(name, sizeof name, "%s+%.*s", name_of(inquiry, row), (int)kind, step);
    for (size_t i = 0; i < inquiry->table->count; i++) {
        const char *other = name_of(inquiry, i);
        if (concerns(inquiry, i) && strncmp(other, name, (size_t)length) == 0 &&
            (other[length] == '\0' || (by_kind && other[length] == ':')) &&
            model_row_is_made_from(row_of(inquiry, i), row_of(inquiry, row)) &&
            !has_other_settings(inquiry, i, row, step))
            return i;
    }
    return MODEL_NO_ROW;
}

/* Returns whether a result of this technique on the row is in the table, or could not be made. */
static bool was_tried(const struct inquiry *inquiry, size_t row, const char *step)
{
    char name[MODEL_NAME + MEANS_STEP];
    snprintf(name, sizeof name, "%s+%s", name_of(inquiry, row), step);
    return find_result(inquiry, row, step) != MODEL_NO_ROW || is_excluded(inquiry, row, name);
}

/* Returns whether the technique was tried on the row and lost too much. */
static bool lost_too_much(const struct inquiry *inquiry, size_t row, const char *step)
{
    const size_t result = find_result(inquiry, row, step);
    return result != MODEL_NO_ROW &&
           lost(inquiry, inquiry->advice->reference, result) > inquiry->request->accept_loss;
}

/* Takes the technique for the row. Returns whether it can be tried. */
static bool take(struct inquiry *inquiry, size_t row, const char *step)
{
    struct means_advice *advice = inquiry->advice;
    if (was_tried(inquiry, row, step))
        return false;
    char name[MODEL_NAME + MEANS_STEP];
    snprintf(name, sizeof name, "%s+%s", name_of(inquiry, row), step);
    advice->verdict = MEANS_TRY;
    advice->row = row;
    snprintf(advice->step, sizeof advice->step, "%s", step);
    snprintf(advice->name, sizeof advice->name, "%.*s", MODEL_NAME - 1, name);
    return true;
}

/* `gain`: the expected speed; 0: it is to make the model smaller. */
static bool take_quantize(struct inquiry *inquiry, size_t row, double gain)
{
    if (is_ended(name_of(inquiry, row)) || !take(inquiry, row, "quantize:percentile"))
        return false;
    if (gain > 0)
        note(inquiry, N_("int8 is expected to have %.2f times the speed: apply it to %s."), gain,
             name_of(inquiry, row));
    else
        note(inquiry, N_("int8 has a quarter of the bytes and needs no training: apply it to %s."),
             name_of(inquiry, row));
    return true;
}

static bool take_half(struct inquiry *inquiry, size_t row)
{
    if (is_ended(name_of(inquiry, row)) || !take(inquiry, row, "half:float16"))
        return false;
    note(inquiry,
         N_("Half precision has half of the bytes and loses almost nothing: apply it to %s."),
         name_of(inquiry, row));
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
    return lost_too_much(inquiry, row, "quantize:percentile") ? 0.95 : int8_bytes;
}

/* Notes why a row gets fewer parameters or FLOPs. */
static void note_share(struct inquiry *inquiry, size_t row, double over, bool then_int8)
{
    if (then_int8)
        note(inquiry,
             N_("%s is %.2f times too large, and int8 alone makes it four times smaller: first "
                "take parameters away, then int8."),
             name_of(inquiry, row), over);
}

/* Prunes to a share, in steps of 5 %. A share that was tried without success is followed by smaller
 * ones, unless it lost too much: they would lose more. `by`: "" for FLOPs, "p" for parameters. */
static bool take_prune(struct inquiry *inquiry, size_t row, double share, const char *by)
{
    char step[48];
    if (is_ended(name_of(inquiry, row)) || has_kind(name_of(inquiry, row), "prune"))
        return false;
    for (; share >= least_share - share_step / 2; share -= share_step) {
        snprintf(step, sizeof step, "prune:%s%.2g", by, share);
        if (lost_too_much(inquiry, row, step))
            return false;
        if (!take(inquiry, row, step))
            continue;
        note(inquiry,
             by[0] ? N_("Prune %s to %.2g of its parameters.")
                   : N_("Prune %s to %.2g of its FLOPs."),
             name_of(inquiry, row), share);
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
    const struct model_row *model = row_of(inquiry, row);
    const double limit = inquiry->request->limit_ms, linear = linear_share(model, share == 0);
    if (is_ended(name_of(inquiry, row)) || has_kind(name_of(inquiry, row), "factorize") ||
        linear < (share > 0 ? 0.5 : least_linear_flops))
        return false;
    if (share > 0)
        snprintf(step, sizeof step, "factorize:p%.2g", share);
    else
        snprintf(step, sizeof step, "factorize:%.4gms",
                 isfinite(limit) ? limit : 0.8 * model->now.ms);
    if (!take(inquiry, row, step))
        return false;
    note(inquiry,
         share > 0 ? N_("Linear layers have %.0f %% of the parameters of %s: factorize them.")
                   : N_("Linear layers have %.0f %% of the FLOPs of %s: factorize them."),
         linear * 100, name_of(inquiry, row));
    return true;
}

static bool try_faster(struct inquiry *inquiry, size_t row, double over, double int8)
{
    if (over <= int8 && int8 > 1 && take_quantize(inquiry, row, int8))
        return true;
    return take_prune(inquiry, row, share_for(over, 0.95), "") ||
           (int8 > 1 && take_quantize(inquiry, row, int8)) || take_factorize(inquiry, row, 0);
}

static bool try_smaller(struct inquiry *inquiry, size_t row, double over)
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

/* --- the flowchart --- */

static void describe_reference(struct inquiry *inquiry)
{
    const struct model_row *row = row_of(inquiry, inquiry->advice->reference);
    const size_t number = inquiry->advice->reference + 1;
    const char *name = row->figures.facts.name;
    if (row->timed)
        note(inquiry,
             N_("Row %zu, %s: top-1 %.2f %% (%.2f to %.2f), %.4g ms on %s, %.4g MB, on %s."),
             number, name, row->now.top1, row->now.top1_low, row->now.top1_high, row->now.ms,
             inquiry->table->device, megabytes(row), row->data);
    else
        note(inquiry, N_("Row %zu, %s: top-1 %.2f %% (%.2f to %.2f), %.4g MB, on %s."), number,
             name, row->now.top1, row->now.top1_low, row->now.top1_high, megabytes(row), row->data);
}

/* Writes how far a row is from the limits, or from the network if there is no limit. */
static void write_distance(const struct inquiry *inquiry, double over, char *text, size_t size)
{
    const struct means_request *request = inquiry->request;
    if ((request->faster && isfinite(request->limit_ms)) ||
        (request->smaller && isfinite(request->limit_mb)))
        snprintf(text, size, over > 1 ? _("%.2f times beyond the limit") : _("within the limit"),
                 over);
    else
        snprintf(text, size, "%s",
                 over > 1 ? _("no better than the network") : _("better than the network"));
}

static void describe(struct inquiry *inquiry, size_t row, double over)
{
    const struct model_row *model = row_of(inquiry, row);
    const double points = lost(inquiry, inquiry->advice->reference, row);
    char ms[48], loss[64], distance[96];
    if (model->timed)
        snprintf(ms, sizeof ms, "%.4g ms", model->now.ms);
    else
        snprintf(ms, sizeof ms, "%s", _("time not measured"));
    snprintf(loss, sizeof loss, points < 0 ? _("%.2f points gained") : _("%.2f points lost"),
             fabs(points));
    write_distance(inquiry, over, distance, sizeof distance);
    note(inquiry, N_("Row %zu, %s: %s, %.4g MB, %s: %s."), row + 1, model->figures.facts.name, ms,
         megabytes(model), loss, distance);
}

/* Finds a row that is not measured, so that it cannot be judged. */
static bool find_unmeasured(struct inquiry *inquiry)
{
    for (size_t i = 0; i < inquiry->table->count; i++)
        if (concerns(inquiry, i) && !is_measured(inquiry, i)) {
            inquiry->advice->verdict = MEANS_MEASURE;
            inquiry->advice->row = i;
            note(inquiry, N_("Row %zu, %s, is not measured on %s: tinca models --measure does it."),
                 i + 1, name_of(inquiry, i), inquiry->table->device);
            return true;
        }
    return false;
}

static void find_best(struct inquiry *inquiry)
{
    struct means_advice *advice = inquiry->advice;
    advice->best = advice->reference;
    for (size_t i = 0; i < inquiry->table->count; i++)
        if (concerns(inquiry, i) &&
            means_is_better(inquiry->table, inquiry->request, advice->reference, i, advice->best))
            advice->best = i;
}

/* Returns whether a row meets the limits, or would do so in int8, but has lost too much. */
static bool is_worth_distilling(const struct inquiry *inquiry, size_t row)
{
    const size_t reference = inquiry->advice->reference;
    const double over = excess(inquiry, reference, row);
    const bool then_int8 = !inquiry->request->faster && strchr(name_of(inquiry, row), '+');
    return lost(inquiry, reference, row) > inquiry->request->accept_loss &&
           over <= (then_int8 ? int8_bytes : 1);
}

/* Distills a model that meets the limits but has lost too much. */
static bool try_distill(struct inquiry *inquiry)
{
    char step[MEANS_STEP];
    const size_t reference = inquiry->advice->reference;
    snprintf(step, sizeof step, "distill:%s", row_of(inquiry, reference)->path);
    for (size_t i = 0; i < inquiry->table->count; i++) {
        if (!concerns(inquiry, i) || i == reference || is_ended(name_of(inquiry, i)) ||
            has_kind(name_of(inquiry, i), "distill") || !is_worth_distilling(inquiry, i) ||
            !take(inquiry, i, step))
            continue;
        describe(inquiry, i, excess(inquiry, reference, i));
        note(inquiry,
             N_("It loses more than the %.4g points that are accepted: train it on with %s as its "
                "teacher."),
             inquiry->request->accept_loss, name_of(inquiry, reference));
        return true;
    }
    return false;
}

/* Tries the accurate rows, the nearest to the limits first. */
static bool try_rows(struct inquiry *inquiry)
{
    const size_t reference = inquiry->advice->reference;
    const struct means_request *request = inquiry->request;
    const double int8 = request->faster ? expected_of_int8(inquiry) : 1;
    double done = 0; /* rows with a smaller excess were tried */
    for (;;) {
        size_t row = MODEL_NO_ROW;
        double nearest = (double)INFINITY;
        for (size_t i = 0; i < inquiry->table->count; i++) {
            const double over = excess(inquiry, reference, i);
            if (concerns(inquiry, i) && lost(inquiry, reference, i) <= request->accept_loss &&
                over > done && over < nearest) {
                row = i;
                nearest = over;
            }
        }
        if (row == MODEL_NO_ROW)
            return false;
        const size_t reasons = inquiry->advice->reason_count;
        describe(inquiry, row, nearest);
        const double slow = slowness(inquiry, reference, row);
        if (slow > 1 ? try_faster(inquiry, row, slow, int8)
                     : try_smaller(inquiry, row, largeness(inquiry, reference, row)))
            return true;
        inquiry->advice->reason_count = reasons;
        done = nearest;
    }
}

bool means_advise(const struct model_table *table, const struct means_request *request,
                  struct means_advice *advice, struct error *error)
{
    *advice = (struct means_advice){.row = MODEL_NO_ROW,
                                    .best = MODEL_NO_ROW,
                                    .reference = MODEL_NO_ROW,
                                    .evidence = MODEL_NO_ROW};
    struct inquiry inquiry = {table, request, advice};
    if (!choose_network(&inquiry, error) || !choose_reference(&inquiry, error))
        return false;
    advice->best = advice->reference;
    if (find_unmeasured(&inquiry))
        return true;
    describe_reference(&inquiry);
    find_best(&inquiry);
    const double over = excess(&inquiry, advice->reference, advice->best);
    if (over <= 1 && lost(&inquiry, advice->reference, advice->best) <= request->accept_loss) {
        advice->verdict = MEANS_USE;
        advice->row = advice->best;
        describe(&inquiry, advice->best, over);
    } else if (!try_distill(&inquiry) && !try_rows(&inquiry)) {
        advice->verdict = MEANS_NOTHING;
        advice->row = advice->best;
        describe(&inquiry, advice->best, over);
        note(&inquiry,
             N_("Every technique that could help was tried, or failed: take a smaller network, or "
                "accept a greater loss."));
    }
    return true;
}

/* --- output --- */

char *means_verdict_text(const struct model_table *table, const struct means_advice *advice,
                         char *text, size_t size)
{
    static const char *const words[] = {[MEANS_USE] = N_("Use %s: it meets the limits."),
                                        [MEANS_MEASURE] = N_("Measure %s first."),
                                        [MEANS_TRY] = N_("Try %s on %s next."),
                                        [MEANS_NOTHING] = N_("Nothing is left to try; the best is "
                                                             "%s.")};
    const char *name = table->rows[advice->row].figures.facts.name;
    if (advice->verdict == MEANS_TRY)
        snprintf(text, size, gettext(words[MEANS_TRY]), advice->step, name);
    else
        snprintf(text, size, gettext(words[advice->verdict]), name);
    return text;
}

static bool add_row(const struct model_table *table, const char *key, size_t row,
                    struct json *object)
{
    return row == MODEL_NO_ROW ? json_add_null(object, key)
                               : model_row_to_json(table, row, json_add_object(object, key));
}

bool means_to_json(const struct model_table *table, const struct means_advice *advice,
                   struct json *object)
{
    const bool tries = advice->verdict == MEANS_TRY;
    bool added =
        json_add_string(object, "network", advice->network) &&
        json_add_string(object, "verdict", means_verdict_name(advice->verdict)) &&
        (tries ? json_add_string(object, "step", advice->step) : json_add_null(object, "step")) &&
        (tries ? json_add_string(object, "name", advice->name) : json_add_null(object, "name")) &&
        add_row(table, "reference", advice->reference, object) &&
        add_row(table, "row", advice->row, object) &&
        add_row(table, "best", advice->best, object) &&
        add_row(table, "evidence", advice->evidence, object);
    struct json *reasons = added ? json_add_array(object, "reasons") : NULL;
    added = reasons;
    for (size_t i = 0; added && i < advice->reason_count; i++)
        added = json_add_string(reasons, NULL, advice->reasons[i]);
    return added;
}
