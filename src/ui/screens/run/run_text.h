/* run_text.h: the settings and values of a run as lines of text. No drawing. */
#ifndef TINCA_UI_SCREENS_RUN_RUN_TEXT_H
#define TINCA_UI_SCREENS_RUN_RUN_TEXT_H

#include "session/record/run.h"
#include "ui/terminal/layout.h"
#include "ui/terminal/theme.h"

#include <stddef.h>

struct run_line {
    const char *label; /* "": the value continues the line above */
    char value[64];    /* "": the label is a heading */
    enum role role;
};

enum { RUN_LINES_MAX = 40, RUN_GRID_ROWS = 4 };

/* The data of a run from which a frame is drawn. `now` is the newest snapshot; `steady` is up to a
 * second old and holds the values that change with every iteration. */
struct run_display {
    const struct run_config *config;
    const struct run_facts *facts; /* NULL while preparing */
    struct run_snapshot now, steady;
    double smoothed; /* NaN: none yet */
};

/* Fills in `lines` (RUN_LINES_MAX of them) for a density and returns their number. DENSITY_NORMAL
 * and DENSITY_SMALL give a grid of RUN_GRID_ROWS rows, column by column. */
size_t run_text_lines(const struct run_display *news, enum density density, struct run_line *lines);

/* Writes "34.2 %  1:23 gone, 2:41 to go", shorter if it has more than `columns` columns. Returns
 * `text`. */
char *run_text_progress(const struct run_display *news, int columns, char *text, size_t size);

/* Returns the completed part of the run, 0..1. */
double run_text_fraction(const struct run_snapshot *snapshot);

#endif
