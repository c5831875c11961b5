/* run_text.h: what the run screen says about a run, as labels and values. No drawing. */
#ifndef TINCA_UI_SCREENS_RUN_RUN_TEXT_H
#define TINCA_UI_SCREENS_RUN_RUN_TEXT_H

#include "session/record/run.h"
#include "ui/terminal/layout.h"
#include "ui/terminal/theme.h"

#include <stddef.h>

struct run_line {
    const char *label; /* "" with a value: a continuation; label alone: a heading */
    char value[64];
    enum role role;
};

enum { RUN_LINES_MAX = 40, RUN_GRID_ROWS = 4 };

/* What the lines are made from: `now` is the newest snapshot, `steady` one of at most a second ago,
 * for what jitters. */
struct run_display {
    const struct run_config *config;
    const struct run_facts *facts; /* NULL while preparing */
    struct run_snapshot now, steady;
    double smoothed; /* NaN: none yet */
};

/* The lines for a density: for NORMAL and SMALL a grid of RUN_GRID_ROWS rows, column by column. */
size_t run_text_lines(const struct run_display *news, enum density density, struct run_line *lines);

/* "34.2 %  1:23 gone, 2:41 to go"; shorter when there is little room. */
char *run_text_progress(const struct run_display *news, int columns, char *text, size_t size);

/* Done part of the run, 0..1. */
double run_text_fraction(const struct run_snapshot *snapshot);

#endif
