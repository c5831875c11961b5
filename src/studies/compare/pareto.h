/* pareto.h: the Pareto front of points with two figures each: the points that no other point
 * dominates. A point dominates another one if it is at least as good in both figures and better in
 * one. */
#ifndef TINCA_STUDIES_COMPARE_PARETO_H
#define TINCA_STUDIES_COMPARE_PARETO_H

#include "studies/compare/compare_figures.h"

#include <stdbool.h>
#include <stddef.h>

struct pareto_point {
    double x, y;
    size_t row; /* the caller's number of the point */
};

/* Moves the points of the front of two numbers to the beginning of `points`, the best x first, and
 * returns their number. `high_x`, `high_y`: high values are better. The values must be finite.
 * Equal points are on the front together. */
size_t pareto_front(struct pareto_point *points, size_t count, bool high_x, bool high_y);

/* The relation of the figure of point `a` to that of point `b`. */
enum pareto_order { PARETO_UNKNOWN, PARETO_EQUAL, PARETO_BETTER, PARETO_WORSE };

/* Returns PARETO_BETTER, _WORSE or _EQUAL of two numbers; `high`: high ones are better. */
enum pareto_order pareto_order_numbers(double a, double b, bool high);

/* Returns whether a point dominates another one, by the order of both figures: at least as good in
 * both and better in one. An unknown order is no reason to call a point dominated. */
bool pareto_dominates(enum pareto_order x, enum pareto_order y);

/* The front of a comparison in two figures. Rows are ordered by their numbers, but by times only if
 * these were taken in turns (compare_rows) or both are published in one table, and never by
 * energies, which are measured at different times. */
struct compare_front {
    struct compare_figure x, y;
    size_t *rows, count; /* its members, the best x first */
    size_t unknown;      /* rows that lack a figure, which are not considered */
    size_t undecided;    /* pairs of the front that times of different moments do not order */
};

/* Finds the front of the rows. Returns false with an error if it is not known which values of a
 * figure are better, or when there is no memory. The caller frees it with compare_front_free. */
bool compare_find_front(const struct comparison *comparison, const struct compare_figure *x,
                        const struct compare_figure *y, struct compare_front *front,
                        struct error *error);
/* Returns whether a row is on the front. */
bool compare_front_has(const struct compare_front *front, size_t row);
/* Frees the list of rows and leaves `*front` {0}. */
void compare_front_free(struct compare_front *front);

/* Finds the figures of "X,Y". Returns false with an error if there are not two names or one is
 * unknown. */
bool compare_parse_front(const struct comparison *comparison, const char *names,
                         struct compare_figure *x, struct compare_figure *y, struct error *error);

/* Appends the front in one line: "Pareto front of parameters and top1: 2, 5", and how many rows
 * lack a figure. */
void compare_write_front(const struct comparison *comparison, const struct compare_front *front,
                         struct text *text);

/* Adds the front to `object` as "pareto". Returns false if memory runs out. */
bool compare_front_to_json(const struct comparison *comparison, const struct compare_front *front,
                           struct json *object);

#endif
