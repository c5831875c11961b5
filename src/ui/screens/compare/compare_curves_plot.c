/* The curves of the comparison as numbers: binning on a common x axis, means of groups, the y axis
 * and the values under the cursor. */
#include "ui/screens/compare/internal.h"

#include "runs/values/run_snapshot.h"

#include <float.h>
#include <math.h>

/* --- the x axis --- */

static bool all_over(const struct compare_model *model)
{
    struct run_snapshot snapshot;
    for (size_t i = 0; i < model->count; i++) {
        run_snapshot(model->runs[i], &snapshot);
        if (!run_status_is_over(snapshot.status))
            return false;
    }
    return true;
}

static struct axis common_axis(const struct compare_model *model, const struct curve_view *wanted)
{
    double low = DBL_MAX, high = 0, first, last;
    for (size_t i = 0; i < model->count; i++)
        if (curves_extent(run_series(model->runs[i]), wanted->x, &first, &last)) {
            low = fmin(low, first > 0 ? first : 1e-3);
            high = fmax(high, last);
        }
    if (high <= 0)
        return (struct axis){wanted->log_x ? 0.1 : 0, 1, wanted->log_x};
    if (!all_over(model))
        high = axis_round_up(high);
    if (high <= low)
        high = low * 2;
    return (struct axis){wanted->log_x ? low : 0, high, wanted->log_x};
}

static struct plot_extent extent_of(const struct compare_model *model,
                                    const struct curve_view *wanted, size_t columns)
{
    struct plot_extent extent = {.all = common_axis(model, wanted),
                                 .first = DBL_MAX,
                                 .last = -DBL_MAX,
                                 .columns = columns,
                                 .live = !all_over(model)};
    double first, last;
    for (size_t i = 0; i < model->count; i++)
        if (curves_extent(run_series(model->runs[i]), wanted->x, &first, &last)) {
            size_t points = series_count(run_series(model->runs[i]));
            extent.first = fmin(extent.first, first);
            extent.last = fmax(extent.last, last);
            extent.points = points > extent.points ? points : extent.points;
        }
    return extent;
}

/* --- curves and groups --- */

/* Computes the band of a group from the binned curves: its cost does not depend on the points. */
static bool update_band(struct compare_model *model, const struct compare_entry *entry,
                        size_t width, struct error *error)
{
    struct compare_curves *curves = &model->curves;
    struct band *band = &curves->list[entry->run].band;
    if (!band_reset(band, width, error))
        return false;
    for (size_t i = 0; i < curves->count; i++)
        if (curves->list[i].group == entry->run)
            band_add(band, &curves->list[i].curves, model->trace);
    return true;
}

bool compare_curves_update(struct compare_model *model, const struct curve_view *wanted,
                           size_t columns, struct error *error)
{
    struct compare_curves *curves = &model->curves;
    struct curve_view each = *wanted;
    struct plot_extent extent = extent_of(model, wanted, columns);
    model->x = plot_window_show(&model->window, &extent);
    each.axis = &model->x;
    each.traces = TRACE_BIT(model->trace);
    for (size_t i = 0; i < curves->count; i++)
        if (!curves_update(&curves->list[i].curves, run_series(curves->list[i].run), &each, error))
            return false;
    for (size_t i = 0; i < curves->entry_count; i++)
        if (curves->entries[i].runs > 1 &&
            !update_band(model, &curves->entries[i], wanted->width, error))
            return false;
    return true;
}

/* Adds the marks of all runs of an entry. */
static bool list_marks_of(struct compare_model *model, const struct compare_entry *entry,
                          struct error *error)
{
    struct compare_curves *curves = &model->curves;
    const enum role role = (enum role)(ROLE_SERIES + entry->run % THEME_SERIES);
    struct run_snapshot snapshot;
    for (size_t i = 0; i < curves->count; i++) {
        struct compare_curve *record = &curves->list[i];
        if (entry->runs > 1 ? record->group != entry->run : i != entry->run)
            continue;
        run_snapshot(record->run, &snapshot);
        if (!curve_marks_update(&record->changes, run_series(record->run), error) ||
            !axis_marks_add_run(&curves->marks, record->run, snapshot.finding_count,
                                &record->curves, &record->changes, entry->row, &role, error))
            return false;
    }
    return true;
}

bool compare_curves_list_marks(struct compare_model *model, size_t columns, struct error *error)
{
    struct compare_curves *curves = &model->curves;
    curves->marks.count = 0;
    for (size_t i = 0; i < curves->entry_count; i++)
        if (curves->entries[i].visible && !list_marks_of(model, &curves->entries[i], error))
            return false;
    return axis_marks_place(&curves->marks, &model->x, columns, AXIS_MARKS_ALL, error);
}

bool compare_curves_y_axis(struct compare_model *model, bool log, bool all, struct axis *y,
                           struct error *error)
{
    struct compare_curves *curves = &model->curves;
    value_range_begin(&curves->range, log, all);
    for (size_t i = 0; i < curves->entry_count; i++) {
        const struct compare_entry *entry = &curves->entries[i];
        struct compare_curve *record = &curves->list[entry->run];
        if (!entry->visible)
            continue;
        if (entry->runs > 1 ? !curve_measure(&record->band.extent, &curves->range, error)
                            : !curves_measure(&record->curves, model->trace, &curves->range, error))
            return false;
    }
    *y = value_range_axis(&curves->range, value_range_join_runs(&curves->range));
    return true;
}

size_t compare_curves_nonpositive(const struct compare_model *model)
{
    const struct compare_curves *curves = &model->curves;
    size_t count = 0;
    for (size_t i = 0; i < curves->entry_count; i++)
        for (size_t k = 0; k < curves->count && curves->entries[i].visible; k++)
            if (curves->entries[i].runs > 1 ? curves->list[k].group == curves->entries[i].run
                                            : k == curves->entries[i].run)
                count += curves_nonpositive(&curves->list[k].curves, model->trace);
    return count;
}

size_t compare_curves_outliers(const struct compare_model *model, const struct axis *y)
{
    const struct compare_curves *curves = &model->curves;
    size_t count = 0;
    for (size_t i = 0; i < curves->entry_count; i++) {
        const struct compare_entry *entry = &curves->entries[i];
        const struct compare_curve *record = &curves->list[entry->run];
        if (entry->visible)
            count += entry->runs > 1 ? curve_count_outliers(&record->band.extent, y)
                                     : curves_outliers(&record->curves, model->trace, y);
    }
    return count;
}

/* --- values --- */

/* Returns the value of a run under the cursor; NaN after its end. */
static double value_at_cursor(const struct compare_model *model, const struct curves *curves)
{
    double first, last, cursor = model->window.cursor;
    if (!curves_extent(curves->series, curves->view.x, &first, &last) || cursor > last)
        return NAN;
    if (model->trace >= TRACES_PER_ITERATION)
        return curves_validation_value(curves, model->trace, cursor);
    return curves_value(curves, model->trace,
                        curves_nearest(curves->series, curves->view.x, cursor));
}

static double value_of_run(const struct compare_model *model, const struct curves *curves)
{
    if (!curves->series)
        return NAN;
    if (model->window.cursor_on)
        return value_at_cursor(model, curves);
    return model->trace < TRACES_PER_ITERATION
               ? curves_newest(curves, model->trace)
               : curves_validation_value(curves, model->trace, INFINITY);
}

/* Returns the mean of a group's values under the cursor. It is over the values of the iterations
 * there, not over those of the plot's columns, and so agrees with the values of its runs. */
static double mean_at_cursor(const struct compare_model *model, const struct compare_entry *entry,
                             size_t *runs)
{
    const struct compare_curves *curves = &model->curves;
    double sum = 0;
    *runs = 0;
    for (size_t i = 0; i < curves->count; i++) {
        const struct compare_curve *record = &curves->list[i];
        const double value = record->group == entry->run && record->curves.series
                                 ? value_at_cursor(model, &record->curves)
                                 : (double)NAN;
        sum += isfinite(value) ? value : 0;
        *runs += isfinite(value);
    }
    return *runs > 0 ? sum / (double)*runs : (double)NAN;
}

double compare_curves_value(const struct compare_model *model, const struct compare_entry *entry,
                            size_t *runs)
{
    const struct compare_curve *record = &model->curves.list[entry->run];
    *runs = 1;
    if (entry->runs == 1)
        return value_of_run(model, &record->curves);
    if (model->window.cursor_on)
        return mean_at_cursor(model, entry, runs);
    return band_value(&record->band, record->band.mean.width, runs);
}
