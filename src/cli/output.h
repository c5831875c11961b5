/* output.h: how the command line speaks: errors, one JSON document, tables. */
#ifndef TINCA_CLI_OUTPUT_H
#define TINCA_CLI_OUTPUT_H

#include "base/error.h"
#include "base/json/json.h"
#include "base/language.h"
#include "engine/graph/tensor.h"
#include "session/values/statistics.h"

#include <stdbool.h>
#include <stddef.h>

/* Prints on standard output, or on standard error, as printf does; each string (%s) is untrusted
 * and made visible (base/escape/visible.h), so that no name out of a file controls the terminal.
 * The program prints with these functions only. */
typedef void output_printer(const char *format, ...) __attribute__((format(printf, 1, 2)));
output_printer output_print, output_note;

/* Shows a line on standard error in the place of the one before, `columns` wide at most. */
void output_live(const char *line, size_t columns);
void output_live_clear(void); /* takes it away */

/* Prints "tinca: what: why: what to do" on standard error; returns the exit status for it. */
int output_error(const struct error *error);

/* Prints the document on standard output and frees it. `complete` is what building it returned;
 * false becomes an error. Returns the exit status. */
int output_json(struct json *root, bool complete);

enum { OUTPUT_WIDTH = 79 };

/* Prints `text` and a newline, broken between words so that lines end by column `width`. The cursor
 * stands at `column`; further lines begin at `indent`. A newline in the text is shown as a question
 * mark, as every control character of an untrusted text is. */
void output_print_wrapped(const char *text, size_t indent, size_t column, size_t width);

/* Prints a text of ours, each of whose newlines begins a paragraph, and a newline. */
void output_print_paragraphs(const char *text, size_t width);

/* "key": [channels, height, width] */
bool output_add_shape(struct json *parent, const char *key, struct shape shape);

/* "key": {"median", "min", "mean", "sd", "ci95"} */
bool output_add_statistics(struct json *parent, const char *key,
                           const struct statistics *statistics);

/* "--json", for the tables of options. */
#define OUTPUT_JSON_OPTION(flag)                                                                   \
    {                                                                                              \
        "json", 0, NULL, N_("Print one JSON document and nothing else."), OPTION_SWITCH, flag, 0,  \
            0, NULL                                                                                \
    }

/* A table of texts whose columns become as wide as their widest cell. */
struct table {
    size_t columns;
    const char *align; /* a letter a column: 'l' or 'r' */
    char **cells;
    size_t count, capacity; /* cells */
    bool failed;
};

/* `headings` is a row of column names with '|' between them. */
struct table table_begin(const char *align, const char *headings);
void table_free(struct table *table);

/* Appends the next cell; printf's. A failed allocation shows when the table is printed. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints on standard output and frees. Returns the exit status. */
int table_print(struct table *table);

#endif
