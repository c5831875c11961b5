/* model_table.h: one table of all the user's models: what each reaches, what it costs, and what the
 * technique after which it is named has gained.
 *
 * A row is a model file: the best model of each run on disk, and files and folders that are named.
 * Files with equal contents are one row.
 * Accuracy, time and energy are those that were measured on the row's data set, on the device
 * (model_figures.h); for a run that was not measured so, its validation gives the accuracy, and
 * tinca measure the time. What was not measured is NaN.
 *
 * The Pareto front: a row is on the front of times (of bytes, of FLOPs) if no other row with the
 * same data set is at least as accurate and as fast (as small, as cheap), and better in one of
 * both. Three fronts of two figures say more than one of four figures, on which almost every row
 * would be. Times are compared only if the two rows took turns (turns.h): a row does so with the
 * rows that it was made from. Of other rows neither is called faster.
 *
 * A row's origin is the model that its last technique was applied to:
 * resnet20+prune:0.5+quantize:mse comes from a resnet20+prune:0.5, and its file has the checksum of
 * that model's file, so that no other model of the name is taken for it. resnet20-shift comes from
 * resnet20 by name; of several with that name and data set the most accurate one counts. Accuracies
 * are compared only if both are of one data set. Not thread-safe. */
#ifndef TINCA_STUDIES_MODELS_MODEL_TABLE_H
#define TINCA_STUDIES_MODELS_MODEL_TABLE_H

#include "base/escape/table.h"
#include "base/json/json.h"
#include "models/list/model_figures.h"
#include "models/list/model_measure.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_NO_ROW SIZE_MAX

enum model_source { MODEL_ACCURACY_UNKNOWN, MODEL_ACCURACY_MEASURED, MODEL_ACCURACY_VALIDATION };

/* The fronts that a row is on, as bits. */
enum { MODEL_FRONT_MS = 1, MODEL_FRONT_BYTES = 2, MODEL_FRONT_FLOPS = 4 };

/* The gain of a model over its origin; NaN if one of the two figures is not known. */
struct model_gain {
    double points; /* of top-1; negative: lost */
    double ms; /* ratio of the times taken in turns with the origin; 1 if no difference is shown */
    double ms_apart; /* ms of this one / of its origin at different times: no verdict; NaN if turns
                        give one */
    double bytes, flops, parameters; /* ratios origin / model: 2 is half of them */
};

struct model_row {
    char path[1024];  /* of the file */
    char shown[1024]; /* the ID of its run, or the path as it was given */
    bool of_run;
    size_t copies;           /* other runs and files with equal contents, which have no rows */
    bool of_advice;          /* tinca advise --apply has made it */
    char base[MODEL_NAME];   /* the name without techniques */
    char origin[MODEL_NAME]; /* the name without its last technique; "": it has none */
    char data[MODEL_SPEC], data_key[MODEL_DATA_KEY]; /* what it is measured on; "": not known */
    char training[MODEL_SPEC]; /* the training data of its run; "": not known */
    struct model_figures figures;
    enum model_source source;
    struct model_measured now; /* what is shown: measured, or from the run */
    bool timed;                /* ms is known */
    unsigned front;
    size_t origin_row; /* MODEL_NO_ROW: it is not in the table */
    struct model_gain gain;
    struct model_layers layers; /* of a quantized model, once model_table_read_layers has run */
};

struct model_table {
    struct model_row *rows;
    size_t count, capacity;
    char device[DEVICE_NAME_SIZE];
    size_t threads;             /* 0: all cores */
    size_t skipped;             /* files and runs that could not be read */
    struct error first_skipped; /* why the first one could not */
};

struct model_table_request {
    const char *const *operands; /* files, folders and runs */
    size_t operand_count;
    bool only_operands; /* no other runs */
    const char *data;   /* SPEC for every row; NULL: each row's */
    const char *device; /* NULL: cpu */
    size_t threads;     /* 0: all cores */
};

/* Gathers the rows and what is stored of them; measures nothing. A model that a request names and
 * that cannot be read is an error; others are counted as skipped. model_table_free frees the table,
 * also after an error. */
bool model_table_read(struct model_table *table, const struct model_table_request *request,
                      struct error *error);
void model_table_free(struct model_table *table);

/* Reads the reports of quantized models. One that is damaged is left out. */
void model_table_read_layers(struct model_table *table);

/* Returns whether the row lacks nothing that model_table_measure would measure. */
bool model_table_is_measured(const struct model_table *table, size_t row);

/* Returns whether the last technique of row `made` was applied to row `from`. Names that do not say
 * so, or checksums that do not agree, mean no; so do files without checksums. */
bool model_row_is_made_from(const struct model_row *made, const struct model_row *from);

/* Finds the turns of two rows, of which one was made from the other; the first model is row `a`.
 * Returns false if there are none. */
bool model_table_turns(const struct model_table *table, size_t a, size_t b, struct turns *turns);

/* Returns whether the row was made from rows with which it took no turns. */
bool model_table_lacks_turns(const struct model_table *table, size_t row);

/* Measures a row and stores the result. Returns false with an error; the row is then unchanged. */
bool model_table_measure(struct model_table *table, size_t row, size_t timed,
                         evaluation_progress *progress, void *context, struct error *error);

/* Computes efficiencies, fronts, origins and gains anew. */
void model_table_complete(struct model_table *table);

/* Returns what is shown of a row as figures, with E_P, top-1 (percent) / parameters. */
struct run_figures model_row_figures(const struct model_row *row);

/* Sorts the rows, the best first; rows without the figure come last. `key` is one of
 * model_sort_names. */
extern const char *const model_sort_names[]; /* NULL-terminated */
void model_table_sort(struct model_table *table, size_t key);

/* Writes the name without its last technique into `origin`, "" if it has none, and returns it.
 * `technique`: the one before training, "none" or "". */
char *model_origin_name(const char *name, const char *technique, char origin[MODEL_NAME]);

/* --- as text: model_table_text.c --- */

/* Returns the number of data sets that rows are measured on. */
size_t model_table_data_sets(const struct model_table *table);
/* Returns the table as it is shown: "-" or "not measured" where nothing is known. The data sets are
 * a column only if there are several. */
struct table model_table_shown(const struct model_table *table);
/* Returns the table with plain numbers. */
struct table model_table_numbers(const struct model_table *table);
/* Appends the ratio of two times of different moments, which is no verdict; nothing if it is not
 * known. */
void model_append_time_ratio(double ratio, char *text, size_t size);

/* Writes the gain in a few words: "-0.31 points, 1.8 x faster, 3.9 x smaller". Returns `text`. */
char *model_gain_text(const struct model_row *row, char *text, size_t size);

/* Returns the table as a document, owned by the caller, or NULL if out of memory. */
struct json *model_table_to_json(const struct model_table *table);
/* Adds one row to `object`. Returns false if out of memory. */
bool model_row_to_json(const struct model_table *table, size_t row, struct json *object);

#endif
