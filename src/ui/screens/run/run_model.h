/* run_model.h: what the run screen shows of a run and how. No drawing. */
#ifndef TINCA_UI_SCREENS_RUN_RUN_MODEL_H
#define TINCA_UI_SCREENS_RUN_RUN_MODEL_H

#include "session/findings/loss_lesson.h"
#include "session/values/run_snapshot.h"
#include "ui/plot/curves.h"
#include "ui/plot/plot_window.h"
#include "ui/plot/trace_choice.h"
#include "ui/screens/run/insight.h"
#include "ui/screens/run/sample_model.h"

#include <stddef.h>
#include <stdint.h>

struct app;

/* The map of the plan's arena. */
struct arena_model {
    size_t arena;    /* which of the networks' plans is shown */
    size_t selected; /* which of its arrays, the largest first */
};

/* The lesson on Caffe's negative loss. Starts as {0}. */
struct loss_model {
    const struct series *series; /* of the run that is shown */
    struct loss_walk walk;
    double cursor;      /* of the curves, when the view went there; NaN: never */
    uint64_t iteration; /* 0: none was chosen */
    int top, hidden;    /* the first line in sight, and how many do not fit */
};

struct run_model {
    size_t view;                /* see views.h */
    struct trace_choice choice; /* of curves */
    int scroll;
    struct plot_window window;
    struct curves curves;
    struct plot plot;
    struct sample_model sample;
    struct insight insight;
    struct insight_table_view layers, gemm, weights;
    struct arena_model arena;
    struct loss_model loss;
    /* Figures that jitter are shown as of this snapshot, which is renewed once a second. */
    struct run_snapshot steady;
    uint64_t steady_since; /* clock_nanoseconds; 0: not taken yet */
};

/* Returns the state of the run screen. */
struct run_model *run_model(const struct app *app);

/* Forgets what belongs to the run that was shown before. */
void run_model_reset(struct run_model *model);
void run_model_free(struct run_model *model);

/* Converts the part of the x axis that is shown into the values of another x axis. */
void run_model_change_axis(struct run_model *model, const struct series *series, enum curve_x from,
                           enum curve_x to);

#endif
