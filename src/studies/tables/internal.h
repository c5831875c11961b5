/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_STUDIES_TABLES_INTERNAL_H
#define TINCA_STUDIES_TABLES_INTERNAL_H

#include "base/escape/table.h"
#include "studies/tables/tables.h"

/* --- tables in the making --- */

/* The tables as texts, and the search for the run that fills a row. */

enum { TABLES_SHEETS = 6, TABLES_DEVICES = COMPARE_DEVICES };

struct tables {
    const struct comparison *runs;
    const char *titles[TABLES_SHEETS]; /* translated */
    struct table sheets[TABLES_SHEETS], *last;
    size_t count;
    struct table notes; /* commands that fill missing cells; each occurs once */
    struct text chart;  /* the command that draws the curves; "": there are none */
    bool out_of_memory;
};

/* --- tables.c --- */

/* Begins a table, the last one from now on, whose headings stand in one text, separated by '|'. */
void tables_begin(struct tables *tables, const char *title, const char *headings);

/* Appends a number to the last table, blank if it is NaN. */
void tables_number(struct tables *tables, int digits, double value);

/* Appends a cell that was not run, and `blanks` empty ones; the command, which runs it, becomes a
 * note. */
void tables_missing(struct tables *tables, size_t blanks, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

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

#endif
