/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_UI_SCREENS_RUN_INTERNAL_H
#define TINCA_UI_SCREENS_RUN_INTERNAL_H

#include "data/images/image.h"
#include "models/saved/samples.h"
#include "runs/findings/loss_lesson.h"
#include "runs/folder/inspection.h"
#include "runs/record/run.h"
#include "runs/values/run_ranks.h"
#include "runs/values/run_snapshot.h"
#include "ui/app/app.h"
#include "ui/plot/axis_marks.h"
#include "ui/plot/curves.h"
#include "ui/plot/plot.h"
#include "ui/plot/trace.h"
#include "ui/shared/run_list.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/keys.h"
#include "ui/terminal/layout.h"
#include "ui/terminal/theme.h"
#include "ui/widgets/legend.h"
#include "ui/widgets/listing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- insight.c --- */

/* The views of a run's insides (layers, GEMM, weights, arena) request an inspection from the run's
 * worker, and show it in tables that scroll and can be sorted. */

struct app;

/* The last request for an inspection and its answer. */
struct insight {
    const struct run *run; /* the run that was asked */
    uint64_t iteration;    /* iteration of the last answer; 0: none */
    uint64_t answered;     /* time of the last answer (clock_nanoseconds) */
    bool absent;           /* the last frame had none to show */
    bool asked;            /* a request is pending */
};

/* Requests an inspection of the run if there is none or it is old. Inspections are so rare that
 * they cost the run at most a hundredth of its time. */
void insight_request(struct insight *insight, struct run_entry *entry);

/* Returns the newest inspection, valid until the next call for this run. If there is none, it draws
 * into `area` why and what to do, and returns NULL. */
const struct inspection *insight_get(struct app *app, struct run_entry *entry, struct rect area);

/* Writes which iterations were measured, as the start of a sentence: "Iterations 5 to 20", or, for
 * a run that is over, "The last iterations, 485 to 500". Returns `text`. */
const char *insight_when(const struct inspection *seen, const struct run_entry *entry, char *text,
                         size_t size);

/* The parts of a view's area. */
struct insight_layout {
    struct rect summary, table, details; /* empty: not shown */
};
/* Returns how `area` is divided into a summary line, the table and `rows` lines of details. If
 * table and details do not both fit, one of them is shown, as view->details says. */
struct insight_layout insight_layout(struct listing_view *view, struct rect area, int rows);

/* Draws a formatted text from `row` on, in as many lines as it needs. Returns the row after it. */
int insight_draw_text(struct canvas *canvas, struct rect area, int row, enum role role,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Draws why a view has nothing to show. */
void insight_draw_absence(struct canvas *canvas, struct rect area, const char *why);
/* Draws `sentence` into one line or, if it does not fit, `brief`. */
void insight_draw_summary(struct canvas *canvas, struct rect area, enum role role,
                          const char *sentence, const char *brief);

/* --- sample_view.c --- */

/* The newest sample picture that a run has saved, shown in character cells. A background thread
 * checks once a second whether there is a newer file, and decodes it. */

struct detached_task;
struct sample_check;

struct sample_model {
    size_t example;                   /* first example shown */
    char directory[512];              /* folder of the run whose samples are shown */
    struct detached_task *background; /* thread that checks the directory; NULL: none */
    struct sample_check *check;       /* that thread's data */
    uint64_t checked_at;              /* time of the last check (clock_nanoseconds); 0: never */
    bool found;                       /* `file` is a sample of the run */
    struct sample_file file;
    struct image image; /* its pixels */
    struct error error; /* why the file cannot be shown; kind ERROR_NONE: it can */
    /* the cells of `count` examples from number `from` on, each picture in `room` */
    struct halfblocks thirds[3]; /* input, generated, target */
    struct rect room;
    size_t from, count;
};

/* Returns whether a check is running, so that the view must be drawn again soon. */
bool sample_model_busy(const struct sample_model *model);

/* Frees the model's memory. A running check ends on its own. */
void sample_model_free(struct sample_model *model);

/* Returns how many of `examples` pictures of height x width pixels are shown above each other in
 * rows x columns cells: as many as leave each picture three quarters of the size that it would have
 * alone, at least one. */
size_t sample_model_fit(size_t examples, size_t height, size_t width, int rows, int columns);

/* --- views.c: what the views share --- */

/* The state of the run screen: which view is in front, and each view's state. No drawing. */

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
    size_t view;                /* index of the view in front, see views.c */
    struct trace_choice choice; /* curves that are drawn */
    int scroll;                 /* first line of the findings */
    struct plot_window window;
    struct curves curves;
    struct curve_marks changes;
    struct axis_marks axis_marks; /* of the last frame */
    struct plot plot;
    struct axis_hold holds[UNITS]; /* the y axes of the panels */
    struct value_range range;      /* of the panel that is being measured */
    struct sample_model sample;
    struct insight insight;
    struct listing_view layers, gemm, weights, rank_table;
    struct run_ranks ranks; /* a copy of what is shown of them */
    struct arena_model arena;
    struct loss_model loss;
    /* Values that change with every iteration are shown from this snapshot, which is copied only
     * once a second, so that they can be read. */
    struct run_snapshot steady;
    uint64_t steady_since; /* time of the copy (clock_nanoseconds); 0: none yet */
};

/* Returns the state of the run screen. */
static inline struct run_model *run_model(const struct app *app)
{
    return app_state(app, SCREEN_RUN);
}

/* Resets what belongs to the run that was shown before: curves, zoom, cursor and scrolling. */
void run_model_reset(struct run_model *model);
/* Frees the memory that the model owns. */
void run_model_free(struct run_model *model);

/* Converts the part of the x axis that is shown into the values of another x axis. */
void run_model_change_axis(struct run_model *model, const struct series *series, enum curve_x from,
                           enum curve_x to);

/* --- the panels of Curves: curves_view.c, run_legend.c, run_marks.c --- */

/* One plot of the Curves view while a frame is drawn: its axes, legend and
 * marks. */

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
/* Marks the best epoch, jumps of the learning rate and resumes on the line of the x axis. */
void run_marks_draw_on_axis(const struct run_picture *picture, struct rect axis);
/* Draws what lies under the cursor: iteration, epoch, time and findings; with `values` also the
 * values of the curves. */
void run_marks_draw_readout(const struct run_picture *picture, unsigned traces, struct rect area,
                            bool values);

/* --- run_legend.c --- */

/* Returns whether the trace is drawn with its letter, because the panel has more curves of its
 * kind. */
bool run_panel_is_lettered(const struct run_panel *panel, enum trace trace);
/* Fills in the panel's legend. `brief`: values without the curves' names, for a narrow panel. */
void run_panel_make_legend(const struct run_picture *picture, struct run_panel *panel, bool brief);
/* Writes the value of a trace under the cursor. Returns `text`. */
const char *run_panel_value(const struct run_picture *picture, enum trace trace, char *text,
                            size_t size);

/* --- curves_view.c --- */

/* The curves of a run with axes, legends and marks. Each unit (loss, percent, learning rate) has
 * its own panel; the panels stand above each other and share the x axis. */

/* Adds the run's new points to the curves, for panels in run->view and run->rate. Call it before
 * each frame, whichever view is in front, because it also computes the smoothed loss. */
void run_plot_update(struct app *app, const struct run_entry *entry, const struct run_layout *run);

/* Moves the cursor to the best epoch. */
void run_plot_to_best(struct app *app, const struct run_entry *entry);
/* Moves the cursor to the next finding. */
void run_plot_to_finding(struct app *app, const struct run_entry *entry);
/* Moves the cursor to the next mark of any kind. */
void run_plot_to_mark(struct app *app);

/* --- run_view.c --- */

/* The settings and values of a run as lines of text. No drawing. */

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

/* --- views.c --- */

/* The run screen's drawing. Each of its views is one file (NAME_view.c) with one table; views.c
 * lists them. The tabs, the key for the next view and the digit keys are made from that list. */

struct app;

#define VIEW_MOVE(how) (1U << (how))
enum {
    VIEW_SCROLLS = VIEW_MOVE(MOVE_UP) | VIEW_MOVE(MOVE_DOWN),
    VIEW_TURNS = VIEW_MOVE(MOVE_LEFT) | VIEW_MOVE(MOVE_RIGHT),
    VIEW_ENDS = VIEW_MOVE(MOVE_FIRST) | VIEW_MOVE(MOVE_LAST),
    VIEW_PAGES = VIEW_MOVE(MOVE_PAGE_UP) | VIEW_MOVE(MOVE_PAGE_DOWN),
    VIEW_TABLE = VIEW_SCROLLS | VIEW_TURNS | VIEW_ENDS | VIEW_PAGES
};

struct view {
    const char *name;    /* on its tab; translated when drawn */
    bool covers_figures; /* on a small screen it also uses the rows of the run's values */
    bool inspects;       /* needs inspections (insight.c), requested while it is in front */
    /* Returns whether the run has this view. NULL: every run has it. */
    bool (*available)(const struct run_entry *entry);
    void (*draw)(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_display *display);
    unsigned moves; /* VIEW_MOVE of those that it has */
    /* Makes one of these moves. NULL: it has none, or they are those of its table. */
    void (*move)(struct app *app, const struct run_entry *entry, int how);
    size_t table; /* offset in struct run_model of the table whose rows it shows; 0: none */
};

/* Goes to the next iteration of the loss lab at which Caffe's mean is negative. */
void loss_view_to_negative(struct app *app, const struct run_entry *entry);

extern const struct view view_curves, view_findings, view_memory, view_arena, view_layers,
    view_gemm, view_weights, view_sample, view_loss, view_ranks;

/* Returns the view's table, or NULL. */
struct listing_view *views_table(const struct app *app, const struct view *view);

/* Returns the view in front: the chosen one or, if the run does not have it, the first. */
const struct view *views_shown(const struct app *app, const struct run_entry *entry);

/* Returns whether there is a view number `digit` and the run has it. */
bool views_are_offered(const struct run_entry *entry, size_t digit);
/* Returns the translated name of view number `digit`, or NULL if there is none. */
const char *views_name(size_t digit);
/* Goes to the next view that the run has. */
void views_next(struct app *app, const struct run_entry *entry);
/* Returns the number of a view, counted from 1: the digit at its tab; 10 has a letter. */
size_t views_digit(const struct view *view);
/* Goes to view number `digit`, counted from 1. */
void views_go(struct app *app, const struct run_entry *entry, size_t digit);

/* Draws the shown run: the tabs, the view in front, the run's values and its progress. */
void run_view_draw(struct app *app, struct rect body);

/* Draws the tabs in one line: digits and names or, where they do not all fit, only the name of the
 * view in front. */
void views_draw_tabs(struct app *app, const struct run_entry *entry, struct rect area);

#endif
