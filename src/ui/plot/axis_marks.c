/* The marks are listed anew for each frame: a run has few, and their places depend on the axis. */
#include "ui/plot/axis_marks.h"

#include "base/clock.h"
#include "base/language.h"
#include "base/memory.h"
#include "ui/terminal/columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- curve marks --- */

/* A change of the rate is a jump if it is large beside the rate and beside the change before it:
 * the steps of a smooth schedule are like their neighbours, even near its end, where the rate is
 * small. */

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

/* --- marks of the axis --- */

static const enum role kind_roles[AXIS_MARK_KINDS] = {[AXIS_MARK_FINDING] = ROLE_BAD,
                                                      [AXIS_MARK_RATE] = ROLE_RATE,
                                                      [AXIS_MARK_RESUME] = ROLE_WARNING,
                                                      [AXIS_MARK_FORK] = ROLE_WARNING,
                                                      [AXIS_MARK_BEST] = ROLE_GOOD};

void axis_marks_free(struct axis_marks *marks)
{
    free(marks->list);
    free(marks->columns);
    *marks = (struct axis_marks){0};
}

/* --- the list --- */

/* Adds `mark` at a value of the x axis; NaN: it has no place there. */
static void add(struct axis_marks *marks, struct axis_mark mark, enum axis_mark_kind kind,
                size_t index, const enum role *role, double x)
{
    if (isnan(x))
        return;
    mark.kind = kind;
    mark.index = index;
    mark.role = role ? *role : kind_roles[kind];
    mark.x = x;
    marks->list[marks->count++] = mark;
}

/* Returns the x value of the first iteration after a resume; NaN: it has not been done yet. */
static double x_of_resume(const struct curves *curves, uint64_t resume)
{
    const struct series *series = curves->series;
    const uint64_t first = resume + 1;
    const size_t at = curves_nearest(series, X_ITERATION, (double)first);
    if (at == SIZE_MAX || series->points[at].iteration < first)
        return NAN;
    return curves_x(curves, series->points[at].iteration, (double)series->points[at].epoch);
}

/* Returns whether a run that went on after iteration `resume` was resumed there, or left its
 * ancestor there. */
static enum axis_mark_kind kind_of_resume(const struct run *run, uint64_t resume)
{
    const struct run_fork *fork = &run_facts(run)->fork;
    return fork->ancestor[0] && !fork->weights_only && resume == fork->iteration ? AXIS_MARK_FORK
                                                                                 : AXIS_MARK_RESUME;
}

bool axis_marks_add_run(struct axis_marks *marks, const struct run *run, size_t finding_count,
                        const struct curves *curves, const struct curve_marks *changes,
                        size_t owner, const enum role *role, struct error *error)
{
    const struct series *series = curves->series;
    const size_t resumes = series_resume_count(series), best = series_best(series);
    const struct axis_mark mark = {.run = run, .owner = owner};
    struct finding finding;
    if (!memory_grow(&marks->list, &marks->capacity,
                     marks->count + finding_count + changes->rate_count + resumes + 1,
                     sizeof *marks->list, "the marks of a plot", error))
        return false;
    for (size_t i = 0; i < finding_count; i++) {
        run_finding(run, i, &finding);
        add(marks, mark, AXIS_MARK_FINDING, i, role,
            curves_x(curves, finding.iteration, finding.epoch));
    }
    for (size_t i = 0; i < changes->rate_count; i++) {
        const struct series_point *point = &series->points[changes->rates[i]];
        add(marks, mark, AXIS_MARK_RATE, changes->rates[i], role,
            curves_x(curves, point->iteration, (double)point->epoch));
    }
    for (size_t i = 0; i < resumes; i++)
        add(marks, mark, kind_of_resume(run, series->resumes[i]), i, role,
            x_of_resume(curves, series->resumes[i]));
    if (best != SIZE_MAX)
        add(marks, mark, AXIS_MARK_BEST, best, role,
            curves_x_of_validation(curves, &series->validations[best]));
    return true;
}

const struct axis_mark *axis_marks_next(const struct axis_marks *marks, unsigned kinds, double here)
{
    const struct axis_mark *next = NULL, *first = NULL;
    for (size_t i = 0; i < marks->count; i++) {
        const struct axis_mark *mark = &marks->list[i];
        if (!(kinds & AXIS_MARK_BIT(mark->kind)))
            continue;
        if (!first || mark->x < first->x)
            first = mark;
        if (mark->x > here && (!next || mark->x < next->x))
            next = mark;
    }
    return next ? next : first;
}

/* --- columns --- */

/* Returns the column of a value, of `columns`; -1: it is outside the axis. */
static long column_of(double value, const struct axis *x, size_t columns)
{
    const double at = axis_position(x, value);
    return at >= 0 && at <= 1 ? lround(at * (double)(columns - 1)) : -1;
}

bool axis_mark_is_at(const struct axis_mark *mark, const struct axis *x, size_t columns,
                     double value)
{
    const long column = columns > 0 ? column_of(mark->x, x, columns) : -1;
    return column >= 0 && column == column_of(value, x, columns);
}

bool axis_marks_place(struct axis_marks *marks, const struct axis *x, size_t width, unsigned kinds,
                      struct error *error)
{
    marks->width = 0;
    marks->shared = false;
    if (!memory_grow(&marks->columns, &marks->column_capacity, width, sizeof *marks->columns,
                     "the marks of a plot", error))
        return false;
    marks->width = width;
    if (width > 0)
        memset(marks->columns, 0, width * sizeof *marks->columns);
    for (size_t i = 0; i < marks->count && width > 0; i++) {
        const struct axis_mark *mark = &marks->list[i];
        const long at = column_of(mark->x, x, width);
        if (at < 0 || !(kinds & AXIS_MARK_BIT(mark->kind)))
            continue;
        struct axis_mark_column *column = &marks->columns[at];
        column->mixed |= column->count > 0 && marks->list[column->last].role != mark->role;
        column->count++;
        column->last = i;
        marks->shared |= column->count > 1;
    }
    return true;
}

void axis_marks_draw(const struct axis_marks *marks, struct canvas *canvas, struct rect area)
{
    static const char several[] = {AXIS_MARKS_SEVERAL, '\0'};
    for (size_t i = 0; i < marks->width; i++) {
        const struct axis_mark_column *column = &marks->columns[i];
        if (column->count == 0)
            continue;
        const struct axis_mark *mark = &marks->list[column->last];
        draw_text(canvas, area, 0, (int)i, column->mixed ? ROLE_STRONG : mark->role,
                  column->count > 1 ? several : axis_mark_sign(mark->kind, canvas->glyphs));
    }
}

/* --- words --- */

unsigned axis_marks_kinds(const struct axis_marks *marks)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < marks->count; i++)
        kinds |= AXIS_MARK_BIT(marks->list[i].kind);
    return kinds;
}

const char *axis_mark_kind_words(enum axis_mark_kind kind)
{
    static const char *const words[AXIS_MARK_KINDS] = {[AXIS_MARK_FINDING] = N_("finding"),
                                                       [AXIS_MARK_RATE] = N_("new learning rate"),
                                                       [AXIS_MARK_RESUME] = N_("resumed"),
                                                       [AXIS_MARK_FORK] = N_("forked"),
                                                       [AXIS_MARK_BEST] = N_("best epoch")};
    return gettext(words[kind]);
}

const char *axis_mark_sign(enum axis_mark_kind kind, const struct glyphs *glyphs)
{
    return kind == AXIS_MARK_FINDING  ? "!"
           : kind == AXIS_MARK_RATE   ? "L"
           : kind == AXIS_MARK_RESUME ? "R"
           : kind == AXIS_MARK_FORK   ? "F"
                                      : glyphs->best;
}

char *axis_mark_words(const struct axis_mark *mark, char *text, size_t size)
{
    const struct series *series = run_series(mark->run);
    struct finding finding;
    if (mark->kind == AXIS_MARK_FINDING) {
        run_finding(mark->run, mark->index, &finding);
        snprintf(text, size, "%s", gettext(finding_kind_words(finding.kind)));
    } else if (mark->kind == AXIS_MARK_RATE) {
        snprintf(text, size, _("learning rate %.4g -> %.4g"),
                 (double)series->points[mark->index - 1].learning_rate,
                 (double)series->points[mark->index].learning_rate);
    } else if (mark->kind == AXIS_MARK_RESUME || mark->kind == AXIS_MARK_FORK) {
        snprintf(text, size,
                 mark->kind == AXIS_MARK_FORK ? _("forked after iteration %llu")
                                              : _("resumed after iteration %llu"),
                 (unsigned long long)series->resumes[mark->index]);
    } else {
        snprintf(text, size, "%s", axis_mark_kind_words(mark->kind));
    }
    return text;
}

/* --- an axis that is kept --- */

static const uint64_t HOLD = 10000000000; /* nanoseconds */

struct axis axis_hold_take(struct axis_hold *hold, struct axis wanted, unsigned what)
{
    const uint64_t now = clock_nanoseconds();
    const struct axis *last = &hold->axis;
    const bool contains = hold->what == what && wanted.log == last->log &&
                          wanted.low >= last->low && wanted.high <= last->high;
    if (now < hold->until && contains)
        return *last;
    const bool same = contains && wanted.low <= last->low && wanted.high >= last->high;
    if (!same)
        *hold = (struct axis_hold){.axis = wanted, .what = what, .until = now + HOLD};
    return wanted;
}

/* --- plot axes ---
 *
 * Ticks come from axis_ticks, as many as the space allows. A number is left out if it would be cut
 * off or would touch the previous one or the name of the axis. */

char *plot_axes_title(const char *name, bool log, bool all_values, char *text, size_t size)
{
    static const char *const formats[2][2] = {{"%s", N_("%s, all values")},
                                              {N_("%s, log"), N_("%s, log, all values")}};
    snprintf(text, size, gettext(formats[log][all_values]), name);
    return text;
}

/* Draws a number flush right, with a space before the axis if it fits; draws nothing if the number
 * does not fit. */
static void draw_number(struct canvas *canvas, struct rect numbers, int row, const char *text)
{
    int spare = numbers.columns - (int)columns_of(text);
    numbers.columns -= spare > 0;
    if (spare >= 0)
        draw_right(canvas, numbers, row, ROLE_FAINT, text);
}

void plot_axes_draw_y(struct canvas *canvas, struct rect labels, const struct axis *y)
{
    double ticks[AXIS_MAX_TICKS];
    char text[32];
    struct rect numbers = {labels.row, labels.column, labels.rows, labels.columns - 1};
    int limit = labels.rows / 2 > 2 ? labels.rows / 2 : 2;
    size_t count = axis_ticks(y, (size_t)limit, ticks);
    if (rect_is_empty(labels))
        return;
    for (int row = 0; row < labels.rows; row++)
        draw_text(canvas, labels, row, labels.columns - 1, ROLE_RAW, canvas->glyphs->vertical);
    for (size_t i = 0; i < count; i++) {
        int row = (int)lround((1 - axis_position(y, ticks[i])) * (labels.rows - 1));
        draw_number(canvas, numbers, row, axis_label(ticks[i], text, sizeof text));
        draw_text(canvas, labels, row, labels.columns - 1, ROLE_RAW, canvas->glyphs->tick_left);
    }
}

static void draw_x_rule(struct canvas *canvas, struct rect axis, int corner)
{
    struct rect whole = {axis.row, axis.column - corner, 1, axis.columns + corner};
    int column = corner ? draw_text(canvas, whole, 0, 0, ROLE_RAW, canvas->glyphs->corner) : 0;
    while (column < whole.columns)
        column = draw_text(canvas, whole, 0, column, ROLE_RAW, canvas->glyphs->horizontal);
}

static void name_axis(const struct axis *axis, enum curve_x x, char *name, size_t size)
{
    char quantity[40];
    snprintf(quantity, sizeof quantity, x == X_TIME ? _("%s (s)") : "%s", curve_x_name(x));
    snprintf(name, size, axis->log ? _("%s, log") : "%s", quantity);
}

void plot_axes_draw_x(struct canvas *canvas, struct rect area, const struct axis *axis,
                      enum curve_x x, bool labelled_left)
{
    char name[64];
    name_axis(axis, x, name, sizeof name);
    plot_axes_draw_named_x(canvas, area, axis, name, labelled_left);
}

void plot_axes_draw_named_x(struct canvas *canvas, struct rect area, const struct axis *axis,
                            const char *name, bool labelled_left)
{
    double ticks[AXIS_MAX_TICKS];
    char text[32];
    if (rect_is_empty(area))
        return;
    size_t count = axis_ticks(axis, (size_t)(area.columns / 10 > 2 ? area.columns / 10 : 2), ticks);
    bool rule = area.rows >= 2;
    if (rule)
        draw_x_rule(canvas, area, labelled_left);
    int end = area.columns - (int)columns_of(name) - 1, free_from = 0;
    draw_right(canvas, area, area.rows - 1, ROLE_FAINT, name);
    for (size_t i = 0; i < count; i++) {
        int column = (int)lround(axis_position(axis, ticks[i]) * (area.columns - 1));
        int width = (int)strlen(axis_label(ticks[i], text, sizeof text));
        int start = column - width / 2 < 0 ? 0 : column - width / 2;
        if (rule)
            draw_text(canvas, area, 0, column, ROLE_RAW, canvas->glyphs->tick_down);
        if (start < free_from || start + width > end)
            continue;
        draw_text(canvas, area, area.rows - 1, start, ROLE_FAINT, text);
        free_from = start + width + 1;
    }
}

void plot_draw(struct canvas *canvas, struct rect area, const struct plot *plot,
               const enum role *roles, const enum plot_style *styles)
{
    char text[5];
    for (size_t row = 0; row < plot->rows; row++)
        for (size_t column = 0; column < plot->columns; column++) {
            uint16_t series = plot->cells[row * plot->columns + column].series;
            plot_cell_text(plot, row, column, styles[series], text);
            draw_text(canvas, area, (int)row, (int)column, roles[series], text);
        }
}
