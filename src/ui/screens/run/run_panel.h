/* run_panel.h: one plot of the Curves view while a frame is drawn: its axes, legend and marks.
 * Internal to run_plot.c, run_legend.c and run_marks.c. */
#ifndef TINCA_UI_SCREENS_RUN_RUN_PANEL_H
#define TINCA_UI_SCREENS_RUN_RUN_PANEL_H

#include "ui/app/app.h"
#include "ui/plot/trace.h"
#include "ui/widgets/legend.h"

/* The owner of a plot's cell: trace + 1, or one of these. */
enum { OWNER_ZERO = TRACES + 1, OWNER_FINDING, OWNERS };

struct run_panel {
    enum trace_unit unit;
    unsigned traces;  /* bits of the traces that are drawn in this panel */
    unsigned follows; /* bits of those whose values the y axis follows */
    bool first;       /* top panel: its legend also describes the whole view */
    bool log;         /* logarithmic y axis */
    struct axis y;
    struct plot_layout layout;
    struct legend legend;
    size_t curves_named; /* the items of the legend that name curves come first */
};

/* The data that all panels of a frame share. */
struct run_picture {
    struct app *app;
    const struct run_entry *entry;
    const struct series *series;
    bool adversarial; /* two networks are trained against each other */
    size_t point;     /* point nearest to the cursor; SIZE_MAX: there is no cursor */
};

/* --- run_marks.c --- */

/* Adds a mark to the plot's cells at the iteration at which each finding begins. */
void run_marks_add(const struct run_picture *picture, const struct run_panel *panel);
/* Draws the findings' names beside their marks, in cells that are empty. Call it after the plot's
 * cells were drawn. */
void run_marks_draw_words(const struct run_picture *picture, const struct run_panel *panel);
/* The marks on the x axis: a jump of the learning rate, and a resume. */
enum { MARK_RATE = 'L', MARK_RESUME = 'R', MARK_FORK = 'F' };

/* Returns the mark of resume number `index` of the series: MARK_FORK where the run left its
 * ancestor, otherwise MARK_RESUME. */
char run_mark_of_resume(const struct run_picture *picture, size_t index);

/* Marks the best epoch, jumps of the learning rate and resumes on the line of the x axis. */
void run_marks_draw_on_axis(const struct run_picture *picture, struct rect axis);
/* Draws what lies under the cursor: iteration, epoch, time and findings; with `values` also the
 * values of the curves. */
void run_marks_draw_readout(const struct run_picture *picture, unsigned traces, struct rect area,
                            bool values);

/* --- run_legend.c --- */

/* Returns whether the trace is drawn with its letter, because the panel has more curves of its
 * kind.
 */
bool run_panel_is_lettered(const struct run_panel *panel, enum trace trace);
/* Fills in the panel's legend. `brief`: values without the curves' names, for a narrow panel. */
void run_panel_make_legend(const struct run_picture *picture, struct run_panel *panel, bool brief);
/* Writes the value of a trace under the cursor. Returns `text`. */
const char *run_panel_value(const struct run_picture *picture, enum trace trace, char *text,
                            size_t size);

#endif
