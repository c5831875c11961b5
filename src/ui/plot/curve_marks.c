/* A change of the rate is a jump if it is large beside the rate and beside the change before it:
 * the steps of a smooth schedule are like their neighbours, even near its end, where the rate is
 * small. */
#include "ui/plot/axis_marks.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

static const double LEAST_PART = 0.01, LEAST_RATIO = 4;

void curve_marks_invalidate(struct curve_marks *marks)
{
    marks->series = NULL;
    marks->rate_count = marks->scanned = 0;
}

void curve_marks_free(struct curve_marks *marks)
{
    free(marks->rates);
    *marks = (struct curve_marks){0};
}

static bool is_jump(const struct series_point *point)
{
    const double now = (double)point->learning_rate, before = (double)point[-1].learning_rate;
    const double change = fabs(now - before);
    const double last = fabs(before - (double)point[-2].learning_rate);
    return change > LEAST_PART * fabs(before) && change > LEAST_RATIO * last;
}

bool curve_marks_update(struct curve_marks *marks, const struct series *series, struct error *error)
{
    const size_t count = series_count(series);
    if (marks->series != series)
        curve_marks_invalidate(marks);
    marks->series = series;
    for (; marks->scanned < count; marks->scanned++) {
        if (marks->scanned < 2 || !is_jump(&series->points[marks->scanned]))
            continue;
        if (!memory_grow(&marks->rates, &marks->capacity, marks->rate_count + 1,
                         sizeof *marks->rates, "the marks of a curve", error))
            return false;
        marks->rates[marks->rate_count++] = marks->scanned;
    }
    return true;
}
