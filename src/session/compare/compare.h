/* compare.h: the dissertation's table, from the user's own runs.
 *
 * A row a run: accuracy, parameters, E_P, FLOPs, size of the saved model, memory, and the time of
 * one image on each device that any of the runs was measured on. A value that was not measured is
 * unknown, never zero, and comes with the command that would measure it. The published figures
 * (Gondim Santos 2019) can stand beside as rows that are marked so.
 *
 * Not thread safe. Rows borrow the runs they were made from.
 */
#ifndef TINCA_SESSION_COMPARE_COMPARE_H
#define TINCA_SESSION_COMPARE_COMPARE_H

#include "base/error.h"
#include "base/json/json.h"
#include "base/text.h"
#include "session/measure/compare_files.h"
#include "session/measure/measurement.h"
#include "session/record/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMPARE_DEVICES = 16 };

struct compare_row {
    const struct run *run;     /* NULL: published */
    char name[520];            /* what commands call the run: ID, or folder; "published" */
    char given[RUN_NAME_SIZE]; /* what its user called it; "": nothing */
    char network[64];          /* with its suffixes */
    char base[64];             /* the same without its technique */
    char technique[16];
    char data[512];         /* what the accuracy was measured on */
    const char *accuracy;   /* "validation", "measured", "published", "none": where top1 is from */
    double top1;            /* percent; NaN: unknown */
    double efficiency;      /* E_P: top1 / parameters; NaN: unknown */
    size_t parameters;      /* 0: unknown */
    uint64_t flops;         /* of one image; 0: unknown */
    uint64_t model_bytes;   /* 0: no model is saved */
    uint64_t memory_bytes;  /* that training was planned to take; 0: unknown */
    struct measurements ms; /* published ones have a mean and no interval (NaN) */
};

struct comparison {
    struct compare_row *rows;
    size_t count, capacity;
    char devices[COMPARE_DEVICES][DEVICE_NAME_SIZE]; /* columns of times, the user's first */
    size_t device_count;                             /* in all; the published ones are the last */
    size_t published_devices;
};

/* Adds a row for the run, and copies what was read; touches no file. `comparison` starts from {0}.
 */
bool compare_add(struct comparison *comparison, const struct run *run,
                 const struct compare_files *files, struct error *error);

/* Reads, and adds. */
bool compare_add_run(struct comparison *comparison, const struct run *run, struct error *error);

/* Adds the published rows of the networks that are compared (of all, when none of those is known).
 * Runs must have been added before. */
bool compare_add_published(struct comparison *comparison, struct error *error);

/* "cpu" where nothing was measured yet, so that what is missing has a column. To be called when all
 * rows are there. */
void compare_complete(struct comparison *comparison);

void compare_free(struct comparison *comparison);

/* By network, run, top1, e_p, parameters, flops, size, memory, ms (the first device) or the name
 * of a device: best first (accuracy and E_P fall, the rest rises), the unknown last. */
bool compare_sort(struct comparison *comparison, const char *column, struct error *error);
extern const char *const compare_sort_keys[]; /* NULL-terminated */

/* NULL: not measured, or stale. */
const struct measurement *compare_time(const struct comparison *comparison, size_t row,
                                       size_t device);

/* Whether the row was measured on the device, but its model has changed since. */
bool compare_is_stale(const struct comparison *comparison, size_t row, size_t device);

/* How many times as fast as on device `slow` the row's images are on device `fast`: the ratio of
 * the means. NaN: one of the two is not known, or they were measured on different machines. */
double compare_speed_up(const struct comparison *comparison, size_t row, size_t fast, size_t slow);

/* Two rows on a device: told apart by their intervals, or not, or not to be compared at all
 * (missing, published, another machine, another number of threads). */
enum compare_relation { COMPARE_UNRELATED, COMPARE_DISTINGUISHABLE, COMPARE_INDISTINGUISHABLE };
enum compare_relation compare_rows(const struct comparison *comparison, size_t device, size_t a,
                                   size_t b);

/* What is not known of a row, and how to come to know it. A row has at most one gap a device. */
struct compare_gap {
    size_t row;
    bool stale; /* it was measured, but the model has changed since */
    char what[96];
    char command[1024];
};
bool compare_gap(const struct comparison *comparison, size_t row, size_t device,
                 struct compare_gap *gap);

/* The command that measures a row on a device, with the threads that others used there. */
void compare_measure_command(const struct comparison *comparison, size_t row, const char *device,
                             char *command, size_t size);

/* Threads that rows were measured with on the device; 0: none was. */
size_t compare_threads(const struct comparison *comparison, const char *device);

/* --- as text --- */

enum compare_format { COMPARE_TEXT, COMPARE_JSON, COMPARE_CSV, COMPARE_MARKDOWN };

/* The cells of the table for people: how many columns, their headings, what stands there. */
size_t compare_columns(const struct comparison *comparison);
char *compare_heading(const struct comparison *comparison, size_t column, char *text, size_t size);
char *compare_cell(const struct comparison *comparison, size_t row, size_t column, char *text,
                   size_t size);

/* Appends the whole table; text->failed tells of a lack of memory. */
void compare_write(const struct comparison *comparison, enum compare_format format,
                   struct text *text);

/* {"devices": [...], "runs": [...], "not_measured": [...]}; NULL: out of memory. */
struct json *compare_to_json(const struct comparison *comparison);

/* One row, as in "runs". */
bool compare_row_to_json(const struct comparison *comparison, size_t row, struct json *object);

#endif
