/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_EXCHANGE_LOGS_INTERNAL_H
#define TINCA_EXCHANGE_LOGS_INTERNAL_H

#include "base/error.h"
#include "exchange/logs/import.h"
#include "exchange/logs/import_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- import_rows.c --- */

/* Finds the quantity that the name of a column, a key or a tag means. Trainers name the same
 * quantity in many ways (val_loss, Loss/validation, eval/loss), so a name is read as words. */

enum import_quantity {
    IMPORT_STEP,
    IMPORT_EPOCH,
    IMPORT_TIME, /* seconds, or a date */
    IMPORT_LOSS,
    IMPORT_RATE,
    IMPORT_VAL_LOSS,
    IMPORT_TOP1,     /* accuracy of a validation */
    IMPORT_TOP5,     /* the same */
    IMPORT_ACCURACY, /* of the training, or without a word that says of what */
    IMPORT_BATCH,    /* images per iteration */
    IMPORT_MEMORY,   /* bytes */
    IMPORT_QUANTITIES,
    IMPORT_UNKNOWN = IMPORT_QUANTITIES
};

enum { IMPORT_NAME_SIZE = 96 };

/* The names that were chosen for the quantities. Begin with {0}. */
struct import_names {
    struct import_name {
        char text[IMPORT_NAME_SIZE]; /* "": none yet */
        int rank;                    /* the lower, the better the name fits */
        bool given;                  /* by the user */
    } chosen[IMPORT_QUANTITIES];
    bool several; /* more than one validation accuracy was there, and the user named none */
};

/* Returns what a name means, and how well it fits: *rank is 0 for the plain name, and grows with
 * each word that says less or is unknown. */
enum import_quantity import_name_means(const char *name, int *rank);

/* Takes the user's choice, "loss=NAME,top1=NAME,...". NULL is allowed. Returns false with an error
 * if a quantity is unknown or a name is empty. */
bool import_names_give(struct import_names *names, const char *columns, struct error *error);

/* Offers a name. Returns the quantity whose chosen name it is now, or IMPORT_UNKNOWN. *replaced is
 * set to whether it replaces another name, whose values no longer count. `validation`: the place of
 * the name says that it is of a validation. */
enum import_quantity import_names_offer(struct import_names *names, const char *name,
                                        bool validation, bool *replaced);

/* --- import_reader.c --- */

/* Functions shared by the readers of the frameworks' logs. A framework is a table entry with a
 * function that takes lines and adds their values to the log. */

/* Rows without a step are epochs, or are counted. */
enum import_rows { ROWS_UNKNOWN, ROWS_ARE_EPOCHS, ROWS_ARE_COUNTED };

/* The state of the rows of values (import_rows.c). */
struct rows_state {
    enum import_rows rows;
    double epoch;          /* of the last row with a loss; NaN: none */
    bool of_validation;    /* the values belong to a validation, whatever their names */
    bool steps_are_epochs; /* the steps of an event file count epochs (Keras) */
};

/* The columns of a table (import_table.c). */
struct table_state {
    char (*columns)[IMPORT_NAME_SIZE];
    size_t count;
    char separator; /* '\0': the table's first row is still to come */
};

/* The validation that Lightning's progress bar shows (import_lightning.c). */
struct lightning_state {
    double loss, top1, top5; /* NaN: none */
    bool validated;          /* a validation ran since */
};

/* The position in a log of Caffe (import_caffe.c). */
struct caffe_state {
    bool testing;     /* the next outputs belong to a test, not to an iteration */
    bool in_solver;   /* inside the solver's parameters */
    unsigned outputs; /* next output number of this iteration or test */
    bool printed;     /* the last iteration has a loss, not only the mean */
    size_t losses;    /* iterations with a loss, not only the mean */
    size_t iter_size; /* batches per iteration; 0: not in the log */
    double year;      /* seconds of the years passed since the first line */
};

/* The position in a log of Keras, and the epochs that it has shown (import_keras.c). */
struct keras_state {
    uint64_t passes;           /* epochs started so far */
    uint64_t epoch, epochs;    /* current epoch and their number; 0: none yet */
    uint64_t done, total;      /* its progress, in images or steps */
    uint64_t first;            /* smallest progress: the batch, or one step; 0: none yet */
    bool in_images;            /* progress counts images, not steps */
    struct keras_epoch *shown; /* epochs with a loss */
    size_t count, capacity;    /* of `shown` */
};

struct import_reader {
    struct imported_log *log;
    const struct import_request *request;
    struct error *error;
    bool asked;           /* the user named the framework */
    double now, started;  /* time in the line and in the first line, seconds; NaN: none */
    double rate;          /* iterations per second, as last printed; NaN: none */
    struct import_other { /* a value of the present row that is none of tinca's own */
        size_t place;     /* in the log's scalars */
        double value;
    } * others;
    size_t other_count, other_capacity;
    bool live;   /* while settling: the log still grows */
    double idle; /* while settling: seconds without news */
    bool begun;  /* a line was read */
    bool joined; /* the line is the previous one and its rest, which was on the next line */
    struct import_names names; /* of the values, where they have names */
    struct rows_state rows;
    struct table_state table;
    struct lightning_state lightning;
    struct caffe_state caffe;
    struct keras_state keras;
};

/* The reader of a framework: a function for each line, one for the end (may be NULL), and one that
 * says whether a line can only be of this framework, so that no other reader takes it (may be
 * NULL). The first two return false only with an error. The end works on a copy of reader and log,
 * and may come several times while the log grows: live and idle say how it is then. */
struct import_dialect {
    const char *name;
    bool (*take)(struct import_reader *reader, const char *line);
    bool (*settle)(struct import_reader *reader);
    bool (*claims)(struct import_reader *reader, const char *line);
    bool without_times; /* a line has no time: that of its arrival counts, if it is known */
};
extern const struct import_dialect import_caffe, import_tensorflow, import_keras, import_lightning,
    import_jsonl, import_table, import_events;

enum { IMPORT_HELD_SECONDS = 3 }; /* without news, until what may still change is shown */

/* Returns the size of the first of several records in a line that lacks its line breaks; the length
 * of the line if it has one. */
size_t import_first_record(const char *line);

/* Returns whether `line` is the rest of the line before it, which a terminal or a program has
 * wrapped. *space: the wrapping took the place of a space. */
bool import_is_rest(const char *before, const char *line, bool *space);

/* Removes escape sequences (ESC [ parameters letter), which colour text and move the cursor.
 * */
void import_strip_escapes(char *text);

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

/* Stores the present learning rate. The highest one of the log counts as its setting, since
 * schedules lower it and a warm-up raises it to that. */
void import_add_rate(struct imported_log *log, double rate);

/* Adds a validation with unknown values. Returns false if memory runs out. */
bool import_add_validation(struct import_reader *reader, uint64_t iteration);

/* Returns the last point, or NULL. */
struct series_point *import_last_point(struct imported_log *log);

/* Returns the last validation, or NULL. */
struct series_validation *import_last_validation(struct imported_log *log);

/* --- import_rows.c --- */

/* Values that come with their names: a row of a table, a line of JSON, a scalar of an event file, a
 * progress bar. They become points and validations of the log. */

struct import_row {
    double values[IMPORT_QUANTITIES]; /* NaN with has false: not in the row */
    bool has[IMPORT_QUANTITIES];
    bool begun; /* a value was put, so that the reader's others are of this row */
};

/* Returns a row without values. */
struct import_row import_row_new(void);

/* Offers a name, so that the best one for each quantity is chosen before values are put. */
void import_row_offer(struct import_reader *reader, const char *name);

/* Puts a value into the row, if its name is the chosen one of a quantity, or means none. */
void import_row_put(struct import_reader *reader, struct import_row *row, const char *name,
                    double value);

/* Adds the row to the log. Rows without a step are counted, or are epochs. Returns false if memory
 * runs out. */
bool import_row_take(struct import_reader *reader, const struct import_row *row);

/* Completes a log that was read from rows: accuracies become percent, and steps count from 1. */
bool import_rows_settle(struct import_reader *reader);

/* Reads a time: seconds, or a date such as 2026-11-26T10:11:12.5Z. Returns NaN if it is none. */
double import_row_time(const char *text);

#endif
