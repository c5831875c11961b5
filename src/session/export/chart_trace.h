/* chart_trace.h: the curves that a chart shows, and their points. Internal to session/export/. */
#ifndef TINCA_SESSION_EXPORT_CHART_TRACE_H
#define TINCA_SESSION_EXPORT_CHART_TRACE_H

#include "session/export/canvas.h"
#include "session/export/chart.h"

enum trace_value {
    TRACE_LOSS,
    TRACE_SMOOTHED,
    TRACE_CAFFE, /* the loss as Caffe averages it */
    TRACE_DISCRIMINATOR,
    TRACE_VALIDATION, /* this and the following have one point for each validation */
    TRACE_TOP1,
    TRACE_TOP5,
    TRACE_PIXELS
};

struct trace {
    const struct run *run;
    enum trace_value value;
    struct canvas_colour colour;
    double width; /* points */
    size_t dash;  /* index of the dash pattern; 0: solid */
    char label[256];
};

enum { MAX_TRACES = 2 * CHART_MAX_RUNS + 8 };

struct traces {
    struct trace trace[MAX_TRACES];
    size_t count;
};

/* A point of a curve, and the smoothing up to it. Starts as {.smoothed = NAN}. */
struct trace_position {
    double smoothed;
    double x, y;
};

/* Fills the loss curves and the accuracy curves of `count` runs. Curves without points are left
 * out. */
void traces_choose(struct traces *losses, struct traces *accuracies, struct run *const *runs,
                   size_t count);

/* Returns whether the losses of all runs are smoothed in the same way. */
bool traces_are_smoothed_alike(struct run *const *runs, size_t count);

/* Returns whether the curve has one point for each validation and none for each iteration. */
bool trace_is_validation(const struct trace *trace);

/* Returns the number of points of the curve. */
size_t trace_point_count(const struct trace *trace);

/* Sets `at` to point `i`. Call it for i = 0, 1, 2, ... in turn, since the smoothed loss follows
 * from the point before. */
void trace_read_point(const struct trace *trace, enum chart_x kind, size_t i,
                      struct trace_position *at);

/* Returns the one of the three values (seconds since the start) that the x axis shows. */
double trace_x(enum chart_x kind, double iteration, double epoch, double seconds);

/* Sets the dashes of `pen` to those of the trace; 0 is solid. */
void trace_set_dashes(const struct trace *trace, struct canvas_pen *pen);

#endif
