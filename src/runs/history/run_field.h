/* run_field.h: everything that a list of runs can show, sort, group and filter by: one list of
 * fields. First come the fields of a run itself (id, status, tag, loss, top1, ...), then all
 * settings of its configuration (config.h). A field is its number in that list. Thread-safe.
 */
#ifndef TINCA_RUNS_HISTORY_RUN_FIELD_H
#define TINCA_RUNS_HISTORY_RUN_FIELD_H

#include "runs/settings/config.h"
#include "runs/values/run_snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The facts about a run from which the fields are read. Everything is borrowed; no text is NULL. */
struct run_record {
    const struct run_config *config;
    const struct run_snapshot *snapshot;
    const char *id, *name, *tags, *note;
    const char *network;        /* as runs are called everywhere: "resnet20-dsc" */
    const char *status;         /* untranslated: run_snapshot_word, "waiting", ... */
    const char *imported;       /* the framework whose log was imported, or "" */
    size_t parameters;          /* 0: unknown */
    uint64_t disk_bytes;        /* of its folder's files; 0: unknown */
    size_t place;               /* in the queue of all processes, from 1; 0: it waits in none */
    bool known;                 /* all was read; else only ID and status are valid */
    bool started;               /* the snapshot has figures */
    struct run_figures figures; /* set by run_record_fill */
};

/* Fills in the figures of a record from its other members. Returns `record`. */
struct run_record *run_record_fill(struct run_record *record);

/* The first fields are those of figures.inc that have a key; the settings follow, without
 * "network".
 */
enum { FIELD_NONE = 1000 };

enum { FIELD_TEXT = 600 }; /* bytes for the text of any field */

/* Returns how many fields there are. */
size_t run_field_count(void);
/* Returns the key of a field, as filters name it: "top1", "weight-decay". */
const char *run_field_key(size_t field);
/* Returns the untranslated heading of a field's column: "top-1"; settings have their key. */
const char *run_field_heading(size_t field);
/* Returns an untranslated sentence about the field. */
const char *run_field_help(size_t field);
/* Returns the field with this key, or FIELD_NONE. */
size_t run_field_find(const char *key);
/* Returns the field of a setting. */
size_t run_field_of_setting(const struct config_field *setting);

/* Returns whether the field has numbers; the others have texts. */
bool run_field_is_number(size_t field);
/* Returns whether the field is a figure that a run computes, such as the loss: a group of runs has
 * a mean of it. */
bool run_field_is_figure(size_t field);
/* Returns the number that a record has in the field; NaN if it is unknown or the field has texts.
 */
double run_field_number(size_t field, const struct run_record *record);
/* Writes what the record has in the field, as tables show it; "" if it is unknown. Returns `text`.
 * The status is not translated. */
char *run_field_text(size_t field, const struct run_record *record, char *text, size_t size);
/* Writes a number as tables show it in the column of this field; "" for NaN. Returns `text`. */
char *run_field_print(size_t field, double value, char *text, size_t size);

/* Compares two records by a field, as qsort does. Unknown values come last, even backwards. */
int run_field_compare(size_t field, const struct run_record *a, const struct run_record *b,
                      bool backwards);

#endif
