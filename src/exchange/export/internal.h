/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_EXCHANGE_EXPORT_INTERNAL_H
#define TINCA_EXCHANGE_EXPORT_INTERNAL_H

#include "base/axis.h"
#include "base/error.h"
#include "base/files/output_file.h"
#include "base/json/json.h"
#include "base/text.h"
#include "data/formats/zip.h"
#include "exchange/export/canvas.h"
#include "exchange/export/chart.h"
#include "runs/record/run.h"
#include "runs/settings/config.h"

#include <stdio.h>

/* --- chart_sheet.c --- */

/* Draws texts and straight lines on the canvas of a chart. */

/* A canvas with the functions that draw on it. */
struct sheet {
    const struct canvas_module *draw;
    struct canvas *canvas;
    double width, height; /* points */
};

/* The text size in points: that of a caption in a paper. */
enum { SHEET_TEXT = 8 };

/* Draws a text, which may have any encoding (sheet_append_utf8). `align` is the share of the text
 * that lies left of (x, y): 0, 0.5 or 1. A text longer than `limit` points is drawn smaller. */
void sheet_text(const struct sheet *sheet, double x, double y, double align, double limit,
                const char *text, const struct canvas_font *font);
/* Draws a text like sheet_text, but upwards, for the title of a y axis. */
void sheet_text_upwards(const struct sheet *sheet, double x, double y, double align, double limit,
                        const char *text, const struct canvas_font *font);

/* Returns the length of a text in points. */
double sheet_text_width(const struct sheet *sheet, const char *text,
                        const struct canvas_font *font);

/* Appends `text` as UTF-8. Bytes that are not UTF-8 are converted from the locale's character set.
 * Control characters, and bytes that are invalid in both, become question marks. */
void sheet_append_utf8(struct text *out, const char *text);

/* Draws a straight line. */
void sheet_line(const struct sheet *sheet, struct canvas_point from, struct canvas_point to,
                double width, struct canvas_colour colour);

extern const struct canvas_colour sheet_ink, sheet_grey;
/* The fonts of labels and of secondary text such as tick values. */
extern const struct canvas_font sheet_label, sheet_secondary_label;

/* --- chart_trace.c --- */

/* The curves that a chart shows, and their points. */

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

/* --- chart_panel.c --- */

/* A rectangle with two axes and curves in it. */

struct panel {
    const struct sheet *sheet;
    double left, top, right, bottom;
    struct axis x, y;
    enum chart_x kind;
};

/* Draws grid, ticks, axis titles and frame. With `x_title` NULL the x axis has no labels: it shares
 * those of the panel below. */
void panel_draw_axes(const struct panel *panel, const char *x_title, const char *y_title);

/* Draws the curves, with a disc at each validation and a ring around the best one. */
void panel_draw_traces(const struct panel *panel, const struct chart_traces *traces);

/* Draws a vertical line where each finding of the run begins, with its name. */
void panel_draw_findings(const struct panel *panel, const struct run *run);

/* Draws the sample of a curve that a legend shows, centred on (x, y). */
void panel_draw_sample(const struct sheet *sheet, const struct chart_trace *trace, double x,
                       double y, double length);

/* --- csv_key.c --- */

/* The columns of the studies' CSV files that identify a run.
 *
 * The studies' key is network,mode,batch. If several runs of a table have the same key, further
 * columns hold the settings in which they differ, or the ID if all settings are equal. They follow
 * the studies' columns, so that programs that know only those can ignore them. */

struct csv_key {
    bool *varies; /* [config_field_count] */
    bool with_id;
};

/* Finds the settings that distinguish the `count` runs of a table. csv_key_free frees them. */
bool csv_key_create(struct csv_key *key, struct run *const *runs, size_t count,
                    struct error *error);

/* Frees the columns. */
void csv_key_free(struct csv_key *key);

/* Writes ",lr,seed": the names of the further columns. */
void csv_key_write_names(const struct csv_key *key, FILE *stream);

enum { CSV_KEY_SIZE = 128 };
/* Writes the studies' key of a run, "lenet,CPU,016", to `text`. Returns `text`. */
char *csv_key_print(const struct run *run, char text[CSV_KEY_SIZE]);

/* Writes ",0.1,3": a run's further columns. */
void csv_key_write_further(const struct csv_key *key, const struct run *run, FILE *stream);

/* --- export_record.c --- */

/* Besides settings and curves, a session file has the labels of a run, how it came about, its
 * network, its data, its model and its measurements. */

/* Returns an object with these members, each only if the run has it; "damaged" lists the files that
 * cannot be read. The caller frees it. Returns NULL with an error if memory is short. */
struct json *export_record(const struct run_facts *facts, const struct run_snapshot *snapshot,
                           struct error *error);

/* --- npz_file.c --- */

/* An .npz file of NumPy that is being written: a ZIP archive of .npy arrays. */

struct npz_file {
    struct output_file output;
    struct zip_writer zip;
};

/* Begins the file. Returns false with an error. */
bool npz_file_open(struct npz_file *npz, const char *path, struct error *error);

/* Adds an array in row order; `type` is as in NumPy, "<f4". Returns false with an error. */
bool npz_file_add(struct npz_file *npz, const char *name, const char *type, const size_t *shape,
                  size_t dimensions, const void *data, size_t bytes, struct error *error);

/* Adds a text, as an array without dimensions of NumPy's type str. Returns false with an error. */
bool npz_file_add_text(struct npz_file *npz, const char *name, const char *text,
                       struct error *error);

/* Completes the file if `complete`, or else leaves the target unchanged. Frees it in any case.
 * Returns false if it is not complete, or with an error if it cannot be written. */
bool npz_file_close(struct npz_file *npz, bool complete, struct error *error);

#endif
