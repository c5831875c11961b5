/* compare_figures.h: the quantities of a comparison under one name each: its columns, and the
 * settings of its runs. Sorting, scatter plots, parallel coordinates and the Pareto front use them,
 * so that a name means the same everywhere. */
#ifndef TINCA_STUDIES_COMPARE_COMPARE_FIGURES_H
#define TINCA_STUDIES_COMPARE_COMPARE_FIGURES_H

#include "runs/settings/config.h"
#include "studies/compare/compare.h"

#include <stdbool.h>
#include <stddef.h>

/* The figures of a row in CSV and JSON. */
enum { COMPARE_FILE_FIGURES = 14 };
extern const enum figure compare_file_figures[COMPARE_FILE_FIGURES];

/* Finds a figure by its name: "top1", "ms" and "energy" (of the first device), "ms cpu" or "cpu",
 * "energy cpu", or a setting's key. Returns false with an error that lists the names. */
bool compare_find_figure(const struct comparison *comparison, const char *name,
                         struct compare_figure *figure, struct error *error);

/* Writes the figures of the comparison with a name each into `figures` (COMPARE_FIGURES elements):
 * the settings in which the runs differ, then what was measured. Returns their number. */
size_t compare_list_figures(const struct comparison *comparison, struct compare_figure *figures);

/* Returns whether two figures are the same. */
bool compare_figure_equal(const struct compare_figure *a, const struct compare_figure *b);

/* Returns whether the figure has names instead of numbers. */
bool compare_figure_is_text(const struct compare_figure *figure);

/* Returns whether low or high values of the figure are better, if either is. */
enum figure_better compare_figure_direction(const struct compare_figure *figure);

/* Writes the name that compare_find_figure accepts. Returns `text`. */
char *compare_figure_name(const struct comparison *comparison, const struct compare_figure *figure,
                          char *text, size_t size);

/* Returns a row's number; NaN if it is unknown or the figure has names. */
double compare_figure_value(const struct comparison *comparison, size_t row,
                            const struct compare_figure *figure);

/* Writes a row's value in a few characters ("431 k", "0.03", "resnet20"), "" if it is unknown.
 * Returns `text`. */
char *compare_figure_text(const struct comparison *comparison, size_t row,
                          const struct compare_figure *figure, char *text, size_t size);

#endif
