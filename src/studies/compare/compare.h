/* compare.h: the table that compares runs, as in the dissertation.
 *
 * Each run is a row: accuracy, parameters, E_P (accuracy per parameter), FLOPs, size of the saved
 * model, memory, and the time of one image on each device that any of the runs was measured on. A
 * value that was not measured is unknown, never zero; compare_missing gives the command that
 * measures it. The published figures (Gondim Santos 2019) can be added as marked rows.
 *
 * Not thread-safe. Rows borrow their runs.
 */
#ifndef TINCA_STUDIES_COMPARE_COMPARE_H
#define TINCA_STUDIES_COMPARE_COMPARE_H

#include "base/error.h"
#include "base/json/json.h"
#include "base/text.h"
#include "models/measure/measurement.h"
#include "models/saved/correct_images.h"
#include "runs/folder/run_name.h"
#include "runs/history/seed_group.h"
#include "runs/record/run.h"
#include "runs/settings/config_differences.h"
#include "runs/values/run_facts.h"
#include "runs/values/run_snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMPARE_DEVICES = 16 };

struct compare_front;

struct compare_row {
    const struct run *run;     /* NULL: a published row */
    char name[520];            /* ID or folder, as commands accept it; "published" */
    char given[RUN_NAME_SIZE]; /* the name that the user gave; "": none */
    char network[256];         /* with technique and rate */
    char base[64];             /* `network` without its technique */
    char technique[16];
    char data[640];       /* what the accuracy was measured on */
    const char *accuracy; /* source of the accuracies: "validation", "measured", "published",
                             "none" */
    /* The results of the run, what it is, and E_P (best top-1 / parameters). Without validation its
     * accuracies and its validation loss are those measured; a published row has those published.
     * The memory is forecast for training. */
    struct run_figures figures;
    struct measurements ms;        /* times published or of turns have a mean, NaN as interval */
    size_t images;                 /* that the accuracies were measured on; 0: unknown */
    struct correct_images correct; /* of the validations; {0}: unknown */
    /* The row of a group of seeds has means as results, and `run` is one of its runs. */
    struct seed_statistics seeds; /* runs 0: the row is a single run */
    const struct run **members;   /* seeds.runs runs, borrowed */
};

/* The figure or setting that a column, or an axis of a plot, shows. */
struct compare_figure {
    enum figure kind;                 /* or FIGURE_SETTING: the setting `field` of the run */
    size_t device;                    /* of FIGURE_TIME and FIGURE_ENERGY: in comparison->devices */
    const struct config_field *field; /* of FIGURE_SETTING */
};

/* No comparison has more figures than this. */
enum { COMPARE_FIGURES = FIGURES + 2 * COMPARE_DEVICES + CONFIG_MAX_FIELDS };

struct comparison {
    struct compare_row *rows;
    size_t count, capacity;
    /* the columns of times: the user's devices, then the published ones */
    char devices[COMPARE_DEVICES][DEVICE_NAME_SIZE];
    size_t device_count; /* including the published devices */
    size_t published_devices;
    /* the settings in which the runs differ, which are columns too, see compare_add_settings */
    const struct config_field *fields[CONFIG_MAX_FIELDS];
    size_t field_count;
    /* as of compare_complete or compare_add_settings: the figures of the columns, and whether any
     * row took turns, so that times can be alike */
    struct compare_figure columns[COMPARE_FIGURES];
    size_t column_count;
    bool turns;
    const struct compare_front *front; /* borrowed; the outputs name its members. NULL: none */
    bool pairs; /* text and JSON have what belongs to each pair of rows (compare_all_pairs) */
};

/* --- files of a run --- */

/* Reads the files of a run's directory that a comparison shows besides the run. */

struct compare_files {
    char name[520];            /* the run's name, as a command's operand */
    char given[RUN_NAME_SIZE]; /* the name that the user gave it, or "" */
    uint64_t model_bytes;
    struct measurements ms;
    struct correct_images correct; /* {0}: unknown, or damaged */
};

/* Reads the files. Returns false with an error if the measurements cannot be read; the rest is
 * valid even then. */
bool compare_read_files(struct compare_files *files, const struct run_facts *facts,
                        struct error *error);
void compare_files_free(struct compare_files *files);

/* --- rows --- */

/* Adds a row for the run and copies `files`, without reading any file. `comparison` starts as {0}.
 */
bool compare_add(struct comparison *comparison, const struct run *run,
                 const struct compare_files *files, struct error *error);

/* Reads the run's files and adds its row. */
bool compare_add_run(struct comparison *comparison, const struct run *run, struct error *error);

/* Makes the rows of the group of seeds `group` one row, which stands at the place of the first, or
 * (NULL) does so for each group of which there are at least two rows. */
bool compare_merge_seeds(struct comparison *comparison, const char *group, struct error *error);

/* Computes E_P from the other figures of a row. */
void compare_row_rate(struct compare_row *row);

/* Frees what a row has allocated. */
void compare_row_free(struct compare_row *row);

/* Returns whether the accuracy of a row is a share of images that are known, and computes the 95 %
 * confidence interval of its best top-1 (Wilson) in percent. A group of seeds has none: its
 * interval is that of the mean. */
bool compare_wilson(const struct compare_row *row, double *low, double *high);

/* Adds the published rows of the networks in the table, or all of them if none is published. Call
 * it after the runs have been added. */
bool compare_add_published(struct comparison *comparison, struct error *error);

/* A result that Gondim Santos (2019) published for CIFAR-10. */
struct published_result {
    const char *base, *technique;
    double top1; /* percent */
    size_t parameters;
    double gpu_ms, cpu_ms; /* for one image; published without intervals */
};

extern const struct published_result published_results[];
extern const size_t published_result_count;
extern const char published_gpu[], published_cpu[]; /* the devices that they were measured on */

/* Finds the settings in which the runs differ, and makes them columns. Call it after the runs have
 * been added. */
bool compare_add_settings(struct comparison *comparison, struct error *error);

/* Adds columns for the devices on which rows took turns, and for the first run's device if nothing
 * was measured yet, so that the missing times have a column. A row that was not measured by itself
 * on a device gets the time of the newest turns that its present model took with another row. Call
 * it when all rows are added. Returns false with an error. */
bool compare_complete(struct comparison *comparison, struct error *error);

/* Returns whether the outputs have what belongs to each of the n(n - 1) / 2 pairs of rows: on
 * request, and of a table of at most four rows. */
bool compare_all_pairs(const struct comparison *comparison);

/* Frees the rows, and sets the comparison to {0}. */
void compare_free(struct comparison *comparison);

/* Sorts the rows by a figure, which compare_find_figure finds by its name (compare_figures.h). The
 * best row comes first (highest accuracy and E_P, lowest values of the rest), with `reverse` the
 * worst one; unknown values are last either way, and equal rows keep their order. Fails if there is
 * no such figure. */
bool compare_sort(struct comparison *comparison, const char *column, bool reverse,
                  struct error *error);

/* Returns whether only published rows have times on the device. */
bool compare_device_is_published(const struct comparison *comparison, size_t device);

/* Returns the time of a row on a device, or NULL if it was not measured or is stale. */
const struct measurement *compare_time(const struct comparison *comparison, size_t row,
                                       size_t device);

/* Returns the precision in which a time was measured. */
const char *compare_precision(const struct measurement *time);

/* Returns whether the row was measured on the device before its model changed. */
bool compare_is_stale(const struct comparison *comparison, size_t row, size_t device);

/* Returns the energy of an image of a row on a device, in joules; NaN if it is not known. */
double compare_joules(const struct comparison *comparison, size_t row, size_t device);

/* Returns why that is not known, or NULL if it is known or no reason was recorded. */
const char *compare_energy_unknown(const struct comparison *comparison, size_t row, size_t device);

/* Returns whether any row's energy on the device is known. */
bool compare_has_energy(const struct comparison *comparison, size_t device);

/* Returns the speed-up of the row on device `fast` over device `slow`: the ratio of the mean times.
 * Returns NaN if one time is unknown or they come from different machines. */
double compare_speed_up(const struct comparison *comparison, size_t row, size_t fast, size_t slow);

/* A time that is missing from a row, and the command that measures it. */
struct compare_missing {
    size_t row;
    bool stale; /* measured before the model changed */
    char what[96];
    char command[1024];
};

/* Finds out whether the time of a row on a device is missing. Returns false if it is known or
 * cannot be measured; else fills `missing`. */
bool compare_missing(const struct comparison *comparison, size_t row, size_t device,
                     struct compare_missing *missing);

/* Writes the command that measures a row on a device, with the number of threads of the other rows.
 * Writes "" if it does not fit. */
void compare_measure_command(const struct comparison *comparison, size_t row, const char *device,
                             char *command, size_t size);

/* Returns the number of threads that rows were measured with on the device, or 0. */
size_t compare_threads(const struct comparison *comparison, const char *device);

/* --- as text --- */

enum compare_format { COMPARE_TEXT, COMPARE_JSON, COMPARE_CSV, COMPARE_MARKDOWN };

/* Returns the number of columns of the table as the user sees it: number, network, the settings
 * that the network's name does not contain, what is known of the run, its time on each device, and
 * the energy of an image on each device where it is known for any row. */
size_t compare_columns(const struct comparison *comparison);

/* Sets *figure to that of a column. Returns false for column 0, the number of the row. */
bool compare_column_figure(const struct comparison *comparison, size_t column,
                           struct compare_figure *figure);

/* Returns whether the cells of a column are flush left. */
bool compare_column_is_text(const struct comparison *comparison, size_t column);

/* Writes the heading of a column. Returns `text`. */
char *compare_heading(const struct comparison *comparison, size_t column, char *text, size_t size);

/* Writes the text of a cell. Returns `text`. */
char *compare_cell(const struct comparison *comparison, size_t row, size_t column, char *text,
                   size_t size);

/* Appends the whole table to `text`; text->failed is set if memory runs out. If `stream` is not
 * NULL, the parts go there as soon as they are written, and `text` ends empty. */
void compare_write(const struct comparison *comparison, enum compare_format format,
                   struct text *text, FILE *stream);

/* Does so for JSON: {"devices": [...], "not_measured": [...], "runs": [...]}, and "tests": [...]
 * if compare_all_pairs. */
void compare_write_json(const struct comparison *comparison, struct text *text, FILE *stream);

/* Adds one row to `object`, as in "runs". Returns false if memory runs out. */
bool compare_row_to_json(const struct comparison *comparison, size_t row, struct json *object);

#endif
