/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_STUDIES_TABLES_INTERNAL_H
#define TINCA_STUDIES_TABLES_INTERNAL_H

#include "studies/tables/tables.h"

/* --- tables in the making --- */

/* The tables as texts, and the search for the run that fills a row. */

enum { TABLES_SHEETS = 6, TABLES_DEVICES = COMPARE_DEVICES };

struct tables_sheet {
    const char *title; /* translated */
    size_t columns;
    char **cells; /* the headings first */
    size_t count, capacity;
};

struct tables {
    const struct comparison *runs;
    struct tables_sheet sheets[TABLES_SHEETS];
    size_t sheet_count;
    char **notes; /* commands that fill missing cells; each occurs once */
    size_t note_count, note_capacity;
    struct text chart; /* the command that draws the curves; "": there are none */
    bool out_of_memory;
};

/* --- tables.c --- */

/* Begins a table whose headings stand in one text, separated by '|'. */
void tables_begin(struct tables *tables, const char *title, const char *headings);

/* Append a cell to the last table: formatted; a number, blank if it is NaN; nothing. */
void tables_cell(struct tables *tables, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tables_number(struct tables *tables, int digits, double value);
void tables_blank(struct tables *tables, size_t cells);

/* Appends a cell that was not run; the command, which runs it, becomes a note. */
void tables_missing(struct tables *tables, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Collects the devices of the runs whose network begins with one of `families` (NULL-terminated):
 * "cpu" and "cuda:0" first, then the others. Returns their number. */
size_t tables_devices(const struct tables *tables, const char *const *families,
                      const char *devices[TABLES_DEVICES]);

/* Returns whether the network's name is the family's or continues it with a suffix. */
bool tables_is_of(const char *network, const char *family);

/* Returns the row of a run that has at least one iteration and was not imported. */
bool tables_is_usable(const struct compare_row *row);

/* --- one file for each study --- */

void tables_trindade(struct tables *tables);
void tables_gondim(struct tables *tables, const struct study_file *votes);

/* --- tables_write.c --- */

#endif
