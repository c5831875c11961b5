/* figures.h: the figures of runs, models and cells of sweeps, as the rows of figures.inc. A figure
 * means, is called and is printed the same in every list. Thread-safe. */
#ifndef TINCA_RUNS_FIGURES_H
#define TINCA_RUNS_FIGURES_H

#include "base/json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum figure {
#define FIGURE_TEXT(id, ...) FIGURE_##id,
#define FIGURE(id, ...)      FIGURE_##id,
#include "runs/figures.inc"
#undef FIGURE_TEXT
#undef FIGURE
    FIGURES,
    FIGURE_SETTING = FIGURES,             /* in lists of figures: a setting of the run */
    FIGURES_OF_RUNS = FIGURE_IMPORTED + 1 /* the fields of the list of runs */
};

enum figure_better { FIGURE_NEITHER, FIGURE_LESS, FIGURE_MORE };

enum figure_unit {
    FIGURE_NAMES, /* it has texts, not numbers */
    FIGURE_PLAIN,
    FIGURE_OF_LOSS, /* NaN is a result, too */
    FIGURE_PERCENT,
    FIGURE_PER_PARAMETER,
    FIGURE_COUNT,
    FIGURE_BYTES,
    FIGURE_DURATION
};

struct figure_row {
    const char *key, *name, *title, *heading, *help; /* untranslated */
    enum figure_better better;
    enum figure_unit unit;
    const char *format;
    const char *member; /* of struct run_figures, and the name in files; NULL: it has texts */
    size_t offset;      /* of the member */
};
extern const struct figure_row figure_rows[FIGURES];

/* The figures of a run, a model or a cell. Accuracies are in percent. A figure that does not exist,
 * or was not measured yet, is NaN. */
struct run_figures {
    bool has_loss;       /* an iteration is done, so a loss of NaN is what it computed */
    bool has_validation; /* a validation is done, likewise */
#define FIGURE_TEXT(...)
#define FIGURE(id, member, ...) double member;
#include "runs/figures.inc"
#undef FIGURE_TEXT
#undef FIGURE
};

/* The results of training, which groups of seeds have means of. */
enum { FIGURE_RESULTS = 9 };
extern const enum figure figure_results[FIGURE_RESULTS];

/* Returns figures of which none is known. */
struct run_figures run_figures_unknown(void);

/* Returns a figure; NaN if it is unknown or has texts. */
double figure_of(const struct run_figures *figures, enum figure figure);

/* Returns the place of a figure that has numbers. */
double *figure_place(struct run_figures *figures, enum figure figure);

/* Returns the figure of this name, or FIGURES. */
enum figure figure_find(const char *name);

/* Returns a count as a figure, which is unknown if it is 0. */
double figure_of_count(uint64_t count);

/* Returns such a figure as a count, 0 if it is unknown. */
uint64_t figure_to_count(double value);

/* Writes a value as lists of runs show it; "" for NaN unless it is a loss. Returns `text`. */
char *figure_print(enum figure figure, double value, char *text, size_t size);

/* Writes a value in a few characters for plots ("431 k", "0.03"), "" if it is not finite. Returns
 * `text`. */
char *figure_print_short(enum figure figure, double value, char *text, size_t size);

/* Writes a value as CSV has it, a whole number with all its digits; "" if it is not finite. Returns
 * `text`. */
char *figure_print_exact(double value, char *text, size_t size);

/* Adds a figure under its name, or null if it is not finite. Returns false if out of memory. */
bool figure_to_json(enum figure figure, const struct run_figures *figures, struct json *object);

#endif
