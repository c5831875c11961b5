/* predict_rows.h: what tinca predict writes for each picture: a row of text, CSV or JSON, and the
 * network's output as a NumPy array. Rows are written to the file as they are computed, so that
 * memory does not grow and an interrupted prediction can be continued. Not thread safe. */
#ifndef TINCA_SESSION_MODEL_PREDICT_ROWS_H
#define TINCA_SESSION_MODEL_PREDICT_ROWS_H

#include "base/json/json.h"
#include "session/model/evaluate.h"

#include <stdio.h>

enum predict_format { PREDICT_TEXT, PREDICT_CSV, PREDICT_JSON, PREDICT_DOCUMENT };

/* The array of all outputs, [pictures, C, H, W] or [pictures, classes]; a picture that cannot be
 * read has NaN. */
struct predict_raw {
    const char *path; /* NULL: not asked for */
    FILE *stream;
    size_t values; /* numbers of a picture */
};

/* Creates the file with its header; with `done` pictures, opens the file of an interrupted
 * prediction behind them. Returns false with an error. */
bool predict_raw_open(struct predict_raw *raw, const struct model *model, size_t pictures,
                      size_t done, struct error *error);

/* Appends an output (NULL: NaN). */
void predict_raw_add(struct predict_raw *raw, const float *output);

/* Writes what is buffered. Returns false with an error. */
bool predict_raw_flush(struct predict_raw *raw, struct error *error);

/* Closes the file, if it is open. */
void predict_raw_close(struct predict_raw *raw);

struct predict_rows {
    enum predict_format format;
    const struct model *model;
    struct prediction *predictions; /* [top], of the current picture */
    bool ranked;                    /* the picture has predictions: its logits are numbers */
    size_t top;
    char *const *paths; /* all pictures */
    size_t count, done; /* done: that an earlier prediction has written */
    size_t broken;      /* pictures that cannot be read, those of the earlier prediction included */
    const char *path;   /* the file; NULL: `standard` */
    FILE *standard;     /* standard output */
    FILE *stream;
    struct json *list; /* PREDICT_DOCUMENT: the pictures */
};

/* Opens the file, or continues it: counts the rows that it has, checks that they are of the first
 * pictures, and cuts off half a row. Returns false with an error. */
bool predict_rows_open(struct predict_rows *rows, bool continues, struct error *error);

/* Writes the row of a picture: of its logits or, if it cannot be read (logits NULL), of the reason.
 * Returns false with an error. */
bool predict_rows_add(struct predict_rows *rows, size_t index, const float *logits,
                      const struct error *broken, struct error *error);

/* Writes what is buffered. Returns false with an error. */
bool predict_rows_flush(struct predict_rows *rows, struct error *error);

/* Closes the file, if it is open. */
void predict_rows_close(struct predict_rows *rows);

#endif
