/* predict_rows.h: the output of tinca predict for each picture: a row of text, CSV or JSON, and the
 * network's output as a NumPy array. Rows are written to FILE.part as they are computed, so that
 * memory does not grow and an interrupted prediction can be continued; at the end FILE.part becomes
 * FILE (output_file_open_part). Not thread safe. */
#ifndef TINCA_MODELS_SAVED_PREDICT_ROWS_H
#define TINCA_MODELS_SAVED_PREDICT_ROWS_H

#include "base/files/output_file.h"
#include "base/json/json.h"
#include "models/saved/evaluate.h"

#include <stdio.h>
#include <time.h>

enum predict_format { PREDICT_TEXT, PREDICT_CSV, PREDICT_JSON, PREDICT_DOCUMENT };

/* The array of all outputs, [pictures, C, H, W] or [pictures, classes]; a picture that cannot be
 * read has NaN. */
struct predict_raw {
    const char *path; /* NULL: not asked for */
    struct output_file output;
    FILE *earlier; /* the outputs of the interrupted prediction that were not yet compared */
    size_t values; /* numbers of a picture */
    size_t pictures, header;
};

/* Begins the file, or opens it again. Returns false with an error, also if there is an array of
 * another prediction. */
bool predict_raw_open(struct predict_raw *raw, const struct model *model, size_t pictures,
                      bool continues, struct error *error);

/* Writes the header, or continues after the outputs of `done` pictures. */
bool predict_raw_begin(struct predict_raw *raw, const struct model *model, size_t done,
                       struct error *error);

/* Appends an output (NULL: NaN). */
void predict_raw_add(struct predict_raw *raw, const float *output);

/* Writes the buffered outputs. Returns false with an error. */
bool predict_raw_flush(struct predict_raw *raw, struct error *error);

/* Makes FILE.part the file. Returns false with an error. */
bool predict_raw_commit(struct predict_raw *raw, struct error *error);

/* Closes the file, if it is open, and leaves FILE.part. */
void predict_raw_close(struct predict_raw *raw);

struct predict_rows {
    enum predict_format format;
    const struct model *model;
    struct prediction *predictions; /* [top], of the current picture */
    bool ranked;                    /* the picture has predictions: none of its logits is NaN */
    size_t top;
    char *const *paths; /* all pictures */
    size_t count, done; /* done: rows of an earlier prediction that are kept */
    size_t first;       /* the first picture to compute: the last of those with logits, or `done` */
    bool has_last;      /* there is such a picture */
    float *last, *old;  /* [classes]: the logits of that picture; of the row that is read */
    size_t broken;      /* pictures that cannot be read, those of the earlier prediction included */
    const char *path;   /* the file; NULL: `standard` */
    FILE *standard;     /* standard output */
    struct output_file output; /* with `path` */
    FILE *stream;
    struct timespec written; /* when the rows of the earlier prediction were written */
    struct json *list;       /* PREDICT_DOCUMENT: the pictures */
};

/* Opens the file, or continues it: keeps the rows up to the first that is damaged, whose picture
 * was changed since, or whose output is not in `raw`, and checks that they are of the first
 * pictures. A row is damaged if it is not what would be written for its logits. Returns false with
 * an error. */
bool predict_rows_open(struct predict_rows *rows, bool continues, struct predict_raw *raw,
                       struct error *error);

/* Writes the row of a picture: from its logits or, if it cannot be read (logits NULL), with the
 * reason. If the picture has its row already, only checks that the logits are the same. Returns
 * false with an error. */
bool predict_rows_add(struct predict_rows *rows, size_t index, const float *logits,
                      const struct error *broken, struct error *error);

/* Writes the buffered rows. Returns false with an error. */
bool predict_rows_flush(struct predict_rows *rows, struct error *error);

/* Returns the file that --continue can continue; NULL if there is none. */
const char *predict_rows_part(const struct predict_rows *rows);

/* Makes FILE.part the file. Returns false with an error. */
bool predict_rows_commit(struct predict_rows *rows, struct error *error);

/* Closes the file, if it is open, and leaves FILE.part. */
void predict_rows_close(struct predict_rows *rows);

#endif
