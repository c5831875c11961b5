/* chart_trace.h: the curves that a chart shows, and their points. Internal to session/export/. */
#ifndef TINCA_SESSION_EXPORT_CHART_TRACE_H
#define TINCA_SESSION_EXPORT_CHART_TRACE_H

#include "session/export/canvas.h"
#include "session/export/chart.h"

enum chart_trace_value {
    CHART_TRACE_LOSS,
    CHART_TRACE_SMOOTHED,
    CHART_TRACE_CAFFE, /* the loss as Caffe averages it */
    CHART_TRACE_DISCRIMINATOR,
    CHART_TRACE_VALIDATION, /* this and the following have one point for each validation */
    CHART_TRACE_TOP1,
    CHART_TRACE_TOP5,
    CHART_TRACE_PIXELS
};

struct chart_trace {
    const struct run *run;
    enum chart_trace_value value;
    struct canvas_colour colour;
    double width; /* points */
    size_t dash;  /* index of the dash pattern; 0: solid */
    char label[256];
};

enum { CHART_TRACES_MAX = 2 * CHART_MAX_RUNS + 8 };

struct chart_traces {
    struct chart_trace trace[CHART_TRACES_MAX];
    size_t count;
};

/* A point of a curve, and the smoothing up to it. Starts as {.smoothed = NAN}. */
struct chart_trace_position {
    double smoothed;
    double x, y;
};

/* Fills the loss curves and the accuracy curves of `count` runs. Curves without points are left
 * out. */
void chart_traces_choose(struct chart_traces *losses, struct chart_traces *accuracies,
                         struct run *const *runs, size_t count);

/* Returns whether the losses of all runs are smoothed in the same way. */
bool chart_traces_are_smoothed_alike(struct run *const *runs, size_t count);

/* Returns whether the curve has one point for each validation and none for each iteration. */
bool chart_trace_is_validation(const struct chart_trace *trace);

/* Returns the number of points of the curve. */
size_t chart_trace_point_count(const struct chart_trace *trace);

/* Sets `at` to point `i`. Call it for i = 0, 1, 2, ... in turn, since the smoothed loss follows
 * from the point before. */
void chart_trace_read_point(const struct chart_trace *trace, enum chart_x kind, size_t i,
                            struct chart_trace_position *at);

/* Returns the one of the three values (seconds since the start) that the x axis shows. */
double chart_trace_x(enum chart_x kind, double iteration, double epoch, double seconds);

/* Sets the dashes of `pen` to those of the trace; 0 is solid. */
void chart_trace_set_dashes(const struct chart_trace *trace, struct canvas_pen *pen);

#endif
