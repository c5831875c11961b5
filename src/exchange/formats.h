/* formats.h: the table of the formats that other programs know. Each is a row of formats.inc: how
 * its files are called and recognised, what they carry, who reads and who writes them. */
#ifndef TINCA_EXCHANGE_FORMATS_H
#define TINCA_EXCHANGE_FORMATS_H

#include "base/files/content.h"
#include "exchange/export/chart.h"
#include "exchange/frame/exchange.h"
#include "runs/record/run.h"

#include <stdbool.h>
#include <stddef.h>

/* The kinds of contents that a file of a format carries. */
enum format_carries {
    CARRIES_NETWORK = 1,
    CARRIES_WEIGHTS = 2,
    CARRIES_MODEL = CARRIES_NETWORK | CARRIES_WEIGHTS,
    CARRIES_RUNS = 4, /* curves and results */
    CARRIES_LOG = 8,  /* of a training of another program */
    CARRIES_CHART = 16,
    CARRIES_TABLE = 32, /* of results; commands print it themselves */
    CARRIES_EXPORTED = CARRIES_MODEL | CARRIES_RUNS | CARRIES_CHART /* by tinca export */
};

/* Writes runs to `path` (output_file.h), a folder if the format says so. Returns false with an
 * error.
 */
typedef bool run_exporter(struct run *const *runs, size_t count, const char *path,
                          struct error *error);

/* The options of tinca import and export that not every format has. */
enum format_options {
    OPTIONS_PRECISION = 1,
    OPTIONS_ONNX = 2,  /* --fold-batch-norm, --int8-weights */
    OPTIONS_NAMES = 4, /* --names, --classes */
    OPTIONS_CAFFE = 8  /* --weights, --channel-order, --input */
};

struct format {
    const char *name;    /* as in --format or --framework */
    const char *title;   /* of its files (N_); NULL: as content.h names the first of `contents` */
    const char *endings; /* ".md .markdown "; "": none; its own one comes first */
    unsigned carries;    /* of enum format_carries */
    unsigned options;    /* of enum format_options */
    enum content contents[2]; /* by which files are recognised; CONTENT_UNKNOWN: by none */
    const char *dialog;       /* in the list of the dialog Export (N_); NULL: not there */
    model_importer *import;   /* NULL: none */
    model_exporter *export_model;
    run_exporter *export_runs;
    enum canvas_format chart; /* with CARRIES_CHART */
};

enum { FORMATS_MOST = 32 };

extern const struct format formats[];
extern const size_t format_count;

/* Fills names[] with the names of the formats that carry any of these, and with NULL behind them.
 * Returns names. */
const char *const *format_names(const char *names[FORMATS_MOST], unsigned carries);

/* Returns the format of this name that carries any of these; NULL: there is none. */
const struct format *format_named(const char *name, unsigned carries);

/* Returns the number of the choice that the ending of a path stands for, or `otherwise`. */
size_t format_choice(const char *const *choices, const char *path, size_t otherwise);

/* Returns the first format whose files have this content; NULL: there is none. */
const struct format *format_of_content(enum content content);

/* Returns the format of a file that can be imported as a model, by its content or else its ending;
 * NULL: it is none. */
const struct format *format_of_model(const char *path);

/* Returns whether a format is a report, which the studies write. */
bool format_is_report(const struct format *format);

/* Writes runs in a format other than a report; `settings` are those of charts. Returns false with
 * an error. */
bool format_write_runs(const struct format *format, struct run *const *runs, size_t count,
                       const struct chart_settings *settings, const char *path,
                       struct error *error);

/* --- format_describe.c --- */

/* Reports what a file is, what it carries and what reads it. */
void format_describe(const char *path, struct exchange_report *report);

#endif
