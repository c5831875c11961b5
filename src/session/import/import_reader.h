/* import_reader.h: functions shared by the readers of the frameworks' logs. A framework is a table
 * entry with a function that takes lines and adds their values to the log. Internal to
 * session/import/. */
#ifndef TINCA_SESSION_IMPORT_IMPORT_READER_H
#define TINCA_SESSION_IMPORT_IMPORT_READER_H

#include "base/error.h"
#include "session/import/import.h"
#include "session/import/import_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_reader {
    struct imported_log *log;
    const struct import_request *request;
    struct error *error;
    bool asked;          /* the user named the framework */
    double now, started; /* time in the line and in the first line, seconds; NaN: none */
    double rate;         /* iterations per second, as last printed; NaN: none */

    /* Caffe */
    bool testing;     /* the next outputs belong to a test, not to an iteration */
    bool in_solver;   /* inside the solver's parameters */
    unsigned outputs; /* next output number of this iteration or test */
    bool printed;     /* the last iteration has a loss, not only the mean */
    size_t losses;    /* iterations with a loss, not only the mean */
    size_t iter_size; /* batches per iteration; 0: not in the log */
    double year;      /* seconds of the years passed since the first line */

    /* Keras */
    uint64_t passes;           /* epochs started so far */
    uint64_t epoch, epochs;    /* current epoch and their number; 0: none yet */
    uint64_t done, total;      /* its progress, in images or steps */
    uint64_t first;            /* smallest progress: the batch, or one step; 0: none yet */
    bool in_images;            /* progress counts images, not steps */
    struct keras_epoch *shown; /* epochs with a loss */
    size_t shown_count, shown_capacity;
};

/* The reader of a framework: a function for each line, and one for the end (may be NULL). Both
 * return false only with an error. */
struct import_dialect {
    const char *name;
    bool (*take)(struct import_reader *reader, const char *line);
    bool (*settle)(struct import_reader *reader);
};
extern const struct import_dialect import_caffe, import_tensorflow, import_keras;

/* Reads the number at the start of `text`, including other systems' spellings of NaN and infinity
 * (1.#QNAN). Returns the text after it, or NULL if there is none. */
const char *import_number(const char *text, double *value);

/* Reads the number after `key` in the line, ignoring case, with spaces, '=' and ':' between them.
 * Returns the text after it, or NULL. */
const char *import_find_number(const char *line, const char *key, double *value);

/* Reads a count in the same way. Returns false if there is none. */
bool import_find_count(const char *line, const char *key, uint64_t *value);

/* Reads the quoted name after `key` in lower case; leaves `text` unchanged if there is none. */
void import_find_quoted(const char *line, const char *key, char *text, size_t size);

/* Adds an iteration. If the log goes back, the training was resumed there, and the later values
 * replace the earlier ones. A repeated line is ignored. Returns false if memory runs out. */
bool import_add_point(struct import_reader *reader, uint64_t iteration, float loss, float caffe);

/* Adds a validation with unknown values. Returns false if memory runs out. */
bool import_add_validation(struct import_reader *reader, uint64_t iteration);

/* Returns the last point, or NULL. */
struct series_point *import_last_point(struct imported_log *log);

/* Returns the last validation, or NULL. */
struct series_validation *import_last_validation(struct imported_log *log);

#endif
