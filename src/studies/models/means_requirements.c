/* The rows of an inquiry, and how far they are from what is required. */
#include "studies/models/internal.h"

#include "base/language.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void inquiry_note(struct inquiry *inquiry, const char *format, ...)
{
    struct means_advice *advice = inquiry->advice;
    va_list arguments;
    if (advice->reason_count == MEANS_REASONS)
        return;
    va_start(arguments, format);
    vsnprintf(advice->reasons[advice->reason_count++], MEANS_REASON, gettext(format), arguments);
    va_end(arguments);
}

const struct model_row *inquiry_row(const struct inquiry *inquiry, size_t row)
{
    return &inquiry->table->rows[row];
}

const char *inquiry_name(const struct inquiry *inquiry, size_t row)
{
    return inquiry_row(inquiry, row)->figures.facts.name;
}

double inquiry_megabytes(const struct model_row *row)
{
    return (double)row->figures.facts.bytes / 1e6;
}

/* --- the rows of the network --- */

bool inquiry_is_of_network(const struct inquiry *inquiry, size_t row)
{
    const struct model_row *model = inquiry_row(inquiry, row);
    return strcmp(model->base, inquiry->advice->network) == 0 && model->figures.facts.classes > 0;
}

bool inquiry_concerns(const struct inquiry *inquiry, size_t row)
{
    const struct model_row *reference = inquiry_row(inquiry, inquiry->advice->reference);
    return inquiry_is_of_network(inquiry, row) && inquiry_row(inquiry, row)->data_key[0] &&
           strcmp(inquiry_row(inquiry, row)->data_key, reference->data_key) == 0;
}

/* --- requirements --- */

bool inquiry_is_compared(const struct inquiry *inquiry, size_t reference, size_t row)
{
    struct turns turns;
    return row == reference || (model_table_turns(inquiry->table, row, reference, &turns) &&
                                turns_test(&turns).verdict != TURNS_NONE);
}

/* Returns how slow a row is compared with another one: below 1 only if turns show that it is
 * faster.
 */
static double relative_slowness(const struct inquiry *inquiry, size_t reference, size_t row)
{
    struct turns turns;
    const double slower = nextafter(1, 2);
    if (row == reference || !model_table_turns(inquiry->table, row, reference, &turns))
        return slower;
    const struct turns_test test = turns_test(&turns);
    return test.verdict == TURNS_FIRST_FASTER    ? test.high
           : test.verdict == TURNS_SECOND_FASTER ? test.ratio
                                                 : slower;
}

double inquiry_slowness(const struct inquiry *inquiry, size_t reference, size_t row)
{
    const struct means_request *request = inquiry->request;
    const struct model_measured *now = &inquiry_row(inquiry, row)->now;
    if (!request->faster)
        return 0;
    if (!isfinite(request->limit_ms))
        return relative_slowness(inquiry, reference, row);
    return (isfinite(now->ms_high) ? now->ms_high : now->ms) / request->limit_ms;
}

double inquiry_largeness(const struct inquiry *inquiry, size_t reference, size_t row)
{
    const struct means_request *request = inquiry->request;
    const bool limited = isfinite(request->limit_mb);
    const double limit =
        limited ? request->limit_mb : inquiry_megabytes(inquiry_row(inquiry, reference));
    const double large = inquiry_megabytes(inquiry_row(inquiry, row)) / limit;
    if (!request->smaller)
        return 0;
    return !limited && large >= 1 ? fmax(large, nextafter(1, 2)) : large;
}

double inquiry_excess(const struct inquiry *inquiry, size_t reference, size_t row)
{
    const double slow = inquiry_slowness(inquiry, reference, row);
    return isnan(slow) ? slow : fmax(slow, inquiry_largeness(inquiry, reference, row));
}

double inquiry_loss(const struct inquiry *inquiry, size_t reference, size_t row)
{
    return inquiry_row(inquiry, reference)->now.top1 - inquiry_row(inquiry, row)->now.top1;
}

bool inquiry_is_measured(const struct inquiry *inquiry, size_t row)
{
    const struct model_row *model = inquiry_row(inquiry, row);
    const bool in_turns =
        isfinite(inquiry->request->limit_ms) || !model_table_lacks_turns(inquiry->table, row);
    return isfinite(model->now.top1) && (!inquiry->request->faster || (model->timed && in_turns));
}

/* Returns 1 if turns show that row `a` is faster than row `b`, -1 if they show that it is slower,
 * and 0 without a verdict: times of different moments order no rows. */
static int order_times(const struct model_table *table, size_t a, size_t b)
{
    struct turns turns;
    if (!model_table_turns(table, a, b, &turns))
        return 0;
    const enum turns_verdict verdict = turns_test(&turns).verdict;
    return (verdict == TURNS_FIRST_FASTER) - (verdict == TURNS_SECOND_FASTER);
}

/* Returns 1 if row `a` is nearer to the limits than row `b`, -1 if it is farther away, 0 if that is
 * not known. A row that meets all of them is nearer; of rows that are too slow, turns decide, and
 * then the sizes do. */
static int order_distances(const struct inquiry *inquiry, size_t reference, size_t a, size_t b)
{
    const bool meets[] = {inquiry_excess(inquiry, reference, a) <= 1,
                          inquiry_excess(inquiry, reference, b) <= 1};
    const bool slow[] = {inquiry_slowness(inquiry, reference, a) > 1,
                         inquiry_slowness(inquiry, reference, b) > 1};
    if (meets[0] || meets[1])
        return meets[0] - meets[1];
    if (slow[0] != slow[1])
        return slow[1] - slow[0];
    const int times = slow[0] ? order_times(inquiry->table, a, b) : 0;
    if (times != 0)
        return times;
    const double large[] = {fmax(1, inquiry_largeness(inquiry, reference, a)),
                            fmax(1, inquiry_largeness(inquiry, reference, b))};
    return (large[0] < large[1]) - (large[0] > large[1]);
}

bool means_is_better(const struct model_table *table, const struct means_request *request,
                     size_t reference, size_t a, size_t b)
{
    const struct inquiry inquiry = {table, request, NULL};
    const double loss[] = {inquiry_loss(&inquiry, reference, a),
                           inquiry_loss(&inquiry, reference, b)};
    const bool accurate[] = {loss[0] <= request->accept_loss, loss[1] <= request->accept_loss};
    if (!inquiry_is_measured(&inquiry, a) || !inquiry_is_measured(&inquiry, b))
        return inquiry_is_measured(&inquiry, a) && !inquiry_is_measured(&inquiry, b);
    if (accurate[0] != accurate[1])
        return accurate[0];
    const int nearer = order_distances(&inquiry, reference, a, b);
    if (nearer != 0)
        return nearer > 0;
    return loss[0] < loss[1];
}
