/* run_panel.h: one of the plots of a run while a frame is drawn. Internal to run_plot.c,
 * run_legend.c and run_marks.c. */
#ifndef TINCA_UI_SCREENS_RUN_RUN_PANEL_H
#define TINCA_UI_SCREENS_RUN_RUN_PANEL_H

#include "ui/app/app.h"
#include "ui/plot/trace.h"
#include "ui/widgets/legend.h"

/* What owns a cell of a plot: trace + 1, or one of these. */
enum { OWNER_ZERO = TRACES + 1, OWNER_FINDING, OWNERS };

struct run_panel {
    enum trace_unit unit;
    unsigned traces; /* those of this unit that are drawn */
    bool first;      /* of the plots: it carries what concerns them all */
    bool log;
    struct axis y;
    struct plot_layout layout;
    struct legend legend;
    size_t curves_named; /* the items of the legend that name curves come first */
};

/* What all panels of a frame share. */
struct run_picture {
    struct app *app;
    const struct run_entry *entry;
    const struct series *series;
    bool contest;
    size_t point; /* nearest to the cursor; SIZE_MAX: there is no cursor */
};

/* --- run_marks.c --- */

/* Marks where findings set in, in the plot's cells; and after these were drawn, words beside the
 * marks where they hide nothing. */
void run_marks_add(const struct run_picture *picture, const struct run_panel *panel);
void run_marks_draw_words(const struct run_picture *picture, const struct run_panel *panel);
/* The best epoch, below the x axis' ticks. */
void run_marks_draw_best(const struct run_picture *picture, struct rect axis);
/* Iteration, epoch, time and what is found there; `values`: those of all curves, too. */
void run_marks_draw_readout(const struct run_picture *picture, unsigned traces, struct rect area,
                            bool values);

/* --- run_legend.c --- */

/* Whether other curves of its kind share the plot: then each carries its letter. */
bool run_panel_is_lettered(const struct run_panel *panel, enum trace trace);
/* `brief`: values without names, where there is no room for both. */
void run_panel_make_legend(const struct run_picture *picture, struct run_panel *panel, bool brief);
/* The value of a trace under the cursor, as text. */
const char *run_panel_value(const struct run_picture *picture, enum trace trace, char *text,
                            size_t size);

#endif
