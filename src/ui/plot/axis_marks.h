/* axis_marks.h: the marks of one or several runs on the x axis of a plot: jumps of the learning
 * rate, resumes, forks, findings and best epochs. Marks that share a column are drawn as one '+',
 * so that none hides another. */
#ifndef TINCA_UI_PLOT_AXIS_MARKS_H
#define TINCA_UI_PLOT_AXIS_MARKS_H

#include "base/axis.h"
#include "base/error.h"
#include "runs/record/run.h"
#include "runs/values/series.h"
#include "ui/plot/curves.h"
#include "ui/terminal/draw.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- marks of one curve --- */

/* The iterations of a run at which its conditions changed: the learning rate jumped, or the run was
 * resumed. A schedule that changes the rate smoothly makes no jumps. No drawing. */

struct curve_marks { /* starts as {0} */
    const struct series *series;
    size_t *rates; /* indices of the points from which a new learning rate holds, ascending */
    size_t rate_count, capacity;
    size_t scanned; /* points of the series that were looked at */
};

/* Adds the jumps in the points that are new in `series`. Returns false with an error if out of
 * memory. */
bool curve_marks_update(struct curve_marks *marks, const struct series *series,
                        struct error *error);

/* Makes the next update start again; see curves_invalidate. */
void curve_marks_invalidate(struct curve_marks *marks);

/* Frees the memory and leaves `*marks` {0}. */
void curve_marks_free(struct curve_marks *marks);

enum axis_mark_kind {
    AXIS_MARK_FINDING,
    AXIS_MARK_RATE,   /* a new learning rate holds from here */
    AXIS_MARK_RESUME, /* the first iteration after a resume */
    AXIS_MARK_FORK,   /* the first iteration after the run left its ancestor */
    AXIS_MARK_BEST,   /* the best epoch */
    AXIS_MARK_KINDS
};

#define AXIS_MARK_BIT(kind) (1u << (kind))
#define AXIS_MARKS_ALL      (AXIS_MARK_BIT(AXIS_MARK_KINDS) - 1)

struct axis_mark {
    enum axis_mark_kind kind;
    const struct run *run;
    size_t index;   /* of the finding, the point or the resume */
    size_t owner;   /* what the caller calls the run */
    enum role role; /* its colour */
    double x;       /* its value on the x axis */
};

struct axis_mark_column {
    size_t count, last; /* how many marks are in the column; the last of them */
    bool mixed;         /* they have several colours */
};

struct axis_marks { /* starts as {0} */
    struct axis_mark *list;
    size_t count, capacity;
    struct axis_mark_column *columns; /* see axis_marks_place */
    size_t width, column_capacity;
    bool shared; /* a column has several marks */
};

/* The sign of several marks in one place. */
enum { AXIS_MARKS_SEVERAL = '+' };

/* Frees the memory and leaves `*marks` {0}. */
void axis_marks_free(struct axis_marks *marks);

/* Adds the marks of a run, whose curves and changes are up to date. `finding_count`: of its
 * snapshot. `role`: the colour of the run; NULL: each kind has a colour. Returns false with an
 * error if out of memory. */
bool axis_marks_add_run(struct axis_marks *marks, const struct run *run, size_t finding_count,
                        const struct curves *curves, const struct curve_marks *changes,
                        size_t owner, const enum role *role, struct error *error);

/* Sorts the marks of some kinds (a set of AXIS_MARK_BIT) into the `width` columns of an axis.
 * Returns false with an error if out of memory. */
bool axis_marks_place(struct axis_marks *marks, const struct axis *x, size_t width, unsigned kinds,
                      struct error *error);

/* Draws the columns on the first line of `area`. */
void axis_marks_draw(const struct axis_marks *marks, struct canvas *canvas, struct rect area);

/* Returns the first mark of some kinds behind `here` or, if there is none, the first of all; NULL:
 * there are no such marks. */
const struct axis_mark *axis_marks_next(const struct axis_marks *marks, unsigned kinds,
                                        double here);

/* Returns whether a mark is drawn in the column of a value, on an axis of `columns` cells. */
bool axis_mark_is_at(const struct axis_mark *mark, const struct axis *x, size_t columns,
                     double value);

/* Returns the set of the kinds (AXIS_MARK_BIT) that are listed. */
unsigned axis_marks_kinds(const struct axis_marks *marks);

/* Returns the words of a legend for marks of a kind, translated. */
const char *axis_mark_kind_words(enum axis_mark_kind kind);

/* Returns the sign of a mark. */
const char *axis_mark_sign(enum axis_mark_kind kind, const struct glyphs *glyphs);

/* Writes what a mark means: "learning rate 0.1 -> 0.01". Returns `text`. */
char *axis_mark_words(const struct axis_mark *mark, char *text, size_t size);

/* --- an axis that is kept --- */

/* Keeps the y axis of a live curve for a while. Each change of an axis moves all dots of a plot,
 * which the eye must follow and the terminal's line must carry. */

struct axis_hold { /* starts as {0} */
    struct axis axis;
    unsigned what;  /* what the axis was made for */
    uint64_t until; /* clock_nanoseconds; 0: nothing is held */
};

/* Returns the axis to show instead of `wanted`: the last one, if it was chosen in the last ten
 * seconds, contains the wanted one and was made for the same (`what`: traces, options); otherwise
 * the wanted one. */
struct axis axis_hold_take(struct axis_hold *hold, struct axis wanted, unsigned what);

/* --- plot axes ---
 *
 * draws a plot and its axes on the screen. */

/* Writes the title of a plot: what it shows, whether its y axis is logarithmic, and whether all
 * values, outliers too, have made its range. Returns `text`. */
char *plot_axes_title(const char *name, bool log, bool all_values, char *text, size_t size);

/* Draws the y axis and its numbers into the `labels` of a plot_layout. */
void plot_axes_draw_y(struct canvas *canvas, struct rect labels, const struct axis *y);

/* Draws the x axis, its numbers and its name into the `axis` of a plot_layout. `labelled_left`:
 * there are labels on the left, so the line meets the y axis in a corner. */
void plot_axes_draw_x(struct canvas *canvas, struct rect area, const struct axis *axis,
                      enum curve_x x, bool labelled_left);

/* Draws an x axis of any quantity in the same way, with its name. */
void plot_axes_draw_named_x(struct canvas *canvas, struct rect area, const struct axis *axis,
                            const char *name, bool labelled_left);

/* Draws a plot cell by cell. `roles` and `styles` are indexed by series; index 0 is not used. */
void plot_draw(struct canvas *canvas, struct rect area, const struct plot *plot,
               const enum role *roles, const enum plot_style *styles);

#endif
