/* run_model.h: the state of the run screen: which view is in front, and each view's state. No
 * drawing. */
#ifndef TINCA_UI_SCREENS_RUN_RUN_MODEL_H
#define TINCA_UI_SCREENS_RUN_RUN_MODEL_H

#include "session/findings/loss_lesson.h"
#include "session/values/run_ranks.h"
#include "session/values/run_snapshot.h"
#include "ui/plot/axis_hold.h"
#include "ui/plot/axis_marks.h"
#include "ui/plot/curves.h"
#include "ui/plot/plot_window.h"
#include "ui/plot/trace_choice.h"
#include "ui/screens/run/insight.h"
#include "ui/screens/run/sample_model.h"
#include "ui/terminal/layout.h"

#include <stddef.h>
#include <stdint.h>

struct app;

/* The map of the plan's arena. */
struct arena_model {
    size_t arena;    /* network whose plan is shown, modulo their number */
    size_t selected; /* array, counted from the largest */
};

/* The explanation of Caffe's negative loss. Starts as {0}. */
struct loss_model {
    const struct series *series; /* curves of the run that is shown */
    struct loss_walk walk;
    double cursor;      /* x of the curves' cursor that the view has followed; NaN: none */
    uint64_t iteration; /* chosen by the user; 0: none */
    int top, hidden;    /* first line shown; number of lines that do not fit */
};

struct run_model {
    size_t view;                /* index of the view in front, see views.h */
    struct trace_choice choice; /* curves that are drawn */
    int scroll;                 /* first line of the findings */
    struct plot_window window;
    struct curves curves;
    struct curve_marks changes;
    struct axis_marks axis_marks; /* of the last frame */
    struct plot plot;
    struct rect plot_area;         /* where the panels' plots were drawn; empty: nowhere */
    struct axis_hold holds[UNITS]; /* the y axes of the panels */
    struct value_range range;      /* of the panel that is being measured */
    struct sample_model sample;
    struct insight insight;
    struct insight_table_view layers, gemm, weights, rank_table;
    struct run_ranks ranks; /* a copy of what is shown of them */
    struct arena_model arena;
    struct loss_model loss;
    /* Values that change with every iteration are shown from this snapshot, which is copied only
     * once a second, so that they can be read. */
    struct run_snapshot steady;
    uint64_t steady_since; /* time of the copy (clock_nanoseconds); 0: none yet */
};

/* Returns the state of the run screen. */
struct run_model *run_model(const struct app *app);

/* Resets what belongs to the run that was shown before: curves, zoom, cursor and scrolling. */
void run_model_reset(struct run_model *model);
/* Frees the memory that the model owns. */
void run_model_free(struct run_model *model);

/* Converts the part of the x axis that is shown into the values of another x axis. */
void run_model_change_axis(struct run_model *model, const struct series *series, enum curve_x from,
                           enum curve_x to);

#endif
