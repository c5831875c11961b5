/* Walks through the second page of the flowchart (other_means.h). Every decision adds a sentence
 * with its figures and the row that they are of, so that the user can check it against the table.
 */
#include "studies/models/other_means.h"

#include "base/language.h"
#include "runs/settings/config.h"
#include "studies/models/internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *means_verdict_name(enum means_verdict verdict)
{
    static const char *const names[] = {[MEANS_USE] = "use",
                                        [MEANS_MEASURE] = "measure",
                                        [MEANS_TRY] = "try",
                                        [MEANS_NOTHING] = "nothing"};
    return names[verdict];
}

/* --- the network and its reference --- */

static bool choose_network(struct inquiry *inquiry, struct error *error)
{
    struct means_advice *advice = inquiry->advice;
    if (inquiry->request->network)
        snprintf(advice->network, sizeof advice->network, "%s", inquiry->request->network);
    for (size_t i = 0; !inquiry->request->network && i < inquiry->table->count; i++) {
        const struct model_row *row = inquiry_row(inquiry, i);
        if (row->figures.facts.classes == 0)
            continue;
        if (advice->network[0] && strcmp(row->base, advice->network) != 0)
            return error_set(error, ERROR_USAGE, OPTION(network), "give --network NET",
                             "there are models of several networks: %s, %s and perhaps others",
                             advice->network, row->base);
        snprintf(advice->network, sizeof advice->network, "%s", row->base);
    }
    return advice->network[0] ||
           error_set(error, ERROR_USAGE, OPTION(network), "train one first, or name model files",
                     "there are no models");
}

/* Chooses the row that others are compared with: the network without any technique or, without such
 * a row, the most accurate one without techniques after training. */
static bool choose_reference(struct inquiry *inquiry, struct error *error)
{
    struct means_advice *advice = inquiry->advice;
    advice->reference = MODEL_NO_ROW;
    for (size_t i = 0; i < inquiry->table->count; i++) {
        const struct model_row *row = inquiry_row(inquiry, i);
        const struct model_row *found =
            advice->reference == MODEL_NO_ROW ? NULL : inquiry_row(inquiry, advice->reference);
        const bool plain = strcmp(inquiry_name(inquiry, i), advice->network) == 0;
        if (!inquiry_is_of_network(inquiry, i) || strchr(inquiry_name(inquiry, i), '+') ||
            !row->data[0])
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

/* --- the flowchart --- */

static void describe_reference(struct inquiry *inquiry)
{
    const struct model_row *row = inquiry_row(inquiry, inquiry->advice->reference);
    const size_t number = inquiry->advice->reference + 1;
    const char *name = row->figures.facts.name;
    if (row->timed)
        inquiry_note(
            inquiry,
            N_("Row %zu, %s: top-1 %.2f %% (%.2f to %.2f), %.4g ms on %s, %.4g MB, on %s."), number,
            name, row->now.top1, row->now.top1_low, row->now.top1_high, row->now.ms,
            inquiry->table->device, inquiry_megabytes(row), row->data);
    else
        inquiry_note(inquiry, N_("Row %zu, %s: top-1 %.2f %% (%.2f to %.2f), %.4g MB, on %s."),
                     number, name, row->now.top1, row->now.top1_low, row->now.top1_high,
                     inquiry_megabytes(row), row->data);
}

/* Writes how far a row is from the limits, or from the network if there is no limit. */
static void write_distance(const struct inquiry *inquiry, size_t row, double over, char *text,
                           size_t size)
{
    const struct means_request *request = inquiry->request;
    if ((request->faster && isfinite(request->limit_ms)) ||
        (request->smaller && isfinite(request->limit_mb)))
        snprintf(text, size, over > 1 ? _("%.2f times beyond the limit") : _("within the limit"),
                 over);
    else if (request->faster && !inquiry_is_compared(inquiry, inquiry->advice->reference, row))
        snprintf(text, size, "%s",
                 _("its time is not comparable with that of the network: measured at different "
                   "times"));
    else
        snprintf(text, size, "%s",
                 over > 1 ? _("no better than the network") : _("better than the network"));
}

static void describe(struct inquiry *inquiry, size_t row, double over)
{
    const struct model_row *model = inquiry_row(inquiry, row);
    const double points = inquiry_loss(inquiry, inquiry->advice->reference, row);
    char ms[48], loss[64], distance[160];
    if (model->timed)
        snprintf(ms, sizeof ms, "%.4g ms", model->now.ms);
    else
        snprintf(ms, sizeof ms, "%s", _("time not measured"));
    snprintf(loss, sizeof loss, points < 0 ? _("%.2f points gained") : _("%.2f points lost"),
             fabs(points));
    write_distance(inquiry, row, over, distance, sizeof distance);
    inquiry_note(inquiry, N_("Row %zu, %s: %s, %.4g MB, %s: %s."), row + 1,
                 model->figures.facts.name, ms, inquiry_megabytes(model), loss, distance);
}

/* Finds a row that is not measured, so that it cannot be judged. */
static bool find_unmeasured(struct inquiry *inquiry)
{
    for (size_t i = 0; i < inquiry->table->count; i++)
        if (inquiry_concerns(inquiry, i) && !inquiry_is_measured(inquiry, i)) {
            inquiry->advice->verdict = MEANS_MEASURE;
            inquiry->advice->row = i;
            inquiry_note(inquiry,
                         N_("Row %zu, %s, is not measured on %s: tinca models --measure does it."),
                         i + 1, inquiry_name(inquiry, i), inquiry->table->device);
            return true;
        }
    return false;
}

static void find_best(struct inquiry *inquiry)
{
    struct means_advice *advice = inquiry->advice;
    advice->best = advice->reference;
    for (size_t i = 0; i < inquiry->table->count; i++)
        if (inquiry_concerns(inquiry, i) &&
            means_is_better(inquiry->table, inquiry->request, advice->reference, i, advice->best))
            advice->best = i;
}

/* Returns whether a row meets the limits, or would do so in int8, but has lost too much. */
static bool is_worth_distilling(const struct inquiry *inquiry, size_t row)
{
    const size_t reference = inquiry->advice->reference;
    const double over = inquiry_excess(inquiry, reference, row);
    const bool then_int8 = !inquiry->request->faster && strchr(inquiry_name(inquiry, row), '+');
    return inquiry_loss(inquiry, reference, row) > inquiry->request->accept_loss &&
           over <= (then_int8 ? means_int8_bytes : 1);
}

/* Distills a model that meets the limits but has lost too much. */
static bool try_distill(struct inquiry *inquiry)
{
    char step[MEANS_STEP];
    const size_t reference = inquiry->advice->reference;
    snprintf(step, sizeof step, "distill:%s", inquiry_row(inquiry, reference)->path);
    for (size_t i = 0; i < inquiry->table->count; i++) {
        if (!inquiry_concerns(inquiry, i) || i == reference ||
            means_is_ended(inquiry_name(inquiry, i)) ||
            means_has_kind(inquiry_name(inquiry, i), "distill") ||
            !is_worth_distilling(inquiry, i) || !means_take(inquiry, i, step))
            continue;
        describe(inquiry, i, inquiry_excess(inquiry, reference, i));
        inquiry_note(
            inquiry,
            N_("It loses more than the %.4g points that are accepted: train it on with %s as its "
               "teacher."),
            inquiry->request->accept_loss, inquiry_name(inquiry, reference));
        return true;
    }
    return false;
}

/* Tries the accurate rows, the nearest to the limits first. */
static bool try_rows(struct inquiry *inquiry)
{
    const size_t reference = inquiry->advice->reference;
    const struct means_request *request = inquiry->request;
    const double int8 = request->faster ? means_int8_speed(inquiry) : 1;
    double done =
        0; /* rows with a smaller excess were tried, and of equal ones those up to `last` */
    size_t last = MODEL_NO_ROW;
    for (;;) {
        size_t row = MODEL_NO_ROW;
        double nearest = (double)INFINITY;
        for (size_t i = 0; i < inquiry->table->count; i++) {
            const double over = inquiry_excess(inquiry, reference, i);
            if (inquiry_concerns(inquiry, i) &&
                inquiry_loss(inquiry, reference, i) <= request->accept_loss &&
                (over > done || (over == done && last != MODEL_NO_ROW && i > last)) &&
                over < nearest) {
                row = i;
                nearest = over;
            }
        }
        if (row == MODEL_NO_ROW)
            return false;
        const size_t reasons = inquiry->advice->reason_count;
        describe(inquiry, row, nearest);
        const double slow = inquiry_slowness(inquiry, reference, row);
        if (slow > 1 ? means_try_faster(inquiry, row, slow, int8)
                     : means_try_smaller(inquiry, row, inquiry_largeness(inquiry, reference, row)))
            return true;
        inquiry->advice->reason_count = reasons;
        done = nearest;
        last = row;
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
    const double over = inquiry_excess(&inquiry, advice->reference, advice->best);
    if (over <= 1 &&
        inquiry_loss(&inquiry, advice->reference, advice->best) <= request->accept_loss) {
        advice->verdict = MEANS_USE;
        advice->row = advice->best;
        describe(&inquiry, advice->best, over);
    } else if (!try_distill(&inquiry) && !try_rows(&inquiry)) {
        advice->verdict = MEANS_NOTHING;
        advice->row = advice->best;
        describe(&inquiry, advice->best, over);
        inquiry_note(
            &inquiry,
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
