/* import_reader.h: what the readers of the frameworks' logs share: a framework is one table entry
 * that takes lines, and adds what they tell to the log. Internal to session/import_*.c. */
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
    bool asked;          /* the framework was named, not found out */
    double now, started; /* seconds that the line's own clock shows; NaN: it has none */
    double rate;         /* iterations a second that the log named last; NaN: none */

    /* Caffe */
    bool testing;     /* outputs that follow are of a test, not of a training iteration */
    bool in_solver;   /* within the solver's parameters */
    unsigned outputs; /* of this iteration or test: the next that is new */
    bool printed;     /* the last iteration has a loss of its own */
    size_t losses;    /* iterations with a loss of their own */
    size_t iter_size; /* batches of an iteration; 0: not said */
    double year;      /* seconds of the years that have passed meanwhile */

    /* Keras */
    uint64_t passes;          /* epochs begun so far */
    uint64_t epoch, epochs;   /* the one that is on, of how many; 0: none yet */
    uint64_t done, total;     /* of its progress, in whatever that counts */
    uint64_t first;           /* the smallest progress seen: the batch, or one step; 0: none yet */
    bool in_images;           /* progress counts images, not steps */
    struct keras_epoch *kept; /* epochs with a loss */
    size_t kept_count, kept_capacity;
};

/* One framework: a line, and what follows at the end (NULL: nothing). Both false only with an
 * error. */
struct import_dialect {
    const char *name;
    bool (*take)(struct import_reader *reader, const char *line);
    bool (*settle)(struct import_reader *reader);
};
extern const struct import_dialect import_caffe, import_tensorflow, import_keras;

/* The number that `text` begins with, also as other systems write what is none (1.#QNAN); NULL:
 * there is none, else what follows it. */
const char *import_number(const char *text, double *value);

/* The number after `key` in the line, in whatever case, spaces, '=' and ':' between them. */
const char *import_find_number(const char *line, const char *key, double *value);

/* The same of a count; false: there is none, or it is no count. */
bool import_find_count(const char *line, const char *key, uint64_t *value);

/* The name in quotes after `key`, in small letters; `text` stays as it is without one. */
void import_find_quoted(const char *line, const char *key, char *text, size_t size);

/* An iteration; where the log goes back, it was resumed there, and what comes later holds. A line
 * that says the same again is passed over. False when memory is out. */
bool import_add_point(struct import_reader *reader, uint64_t iteration, float loss, float caffe);
bool import_add_validation(struct import_reader *reader, uint64_t iteration);

/* NULL: none yet. */
struct series_point *import_last_point(struct imported_log *log);
struct series_validation *import_last_validation(struct imported_log *log);

#endif
