/* table.h: a table of texts, which is filled cell by cell, row by row, and written as text,
 * Markdown, CSV or LaTeX. All lists that the program prints are such tables.
 *
 * Names in cells may come from files: hidden characters (character.h) become question marks when a
 * cell is added, and each writer escapes what its format would take for markup. If memory runs out,
 * `failed` says so, and so does that of the text that the table is written to. Not thread-safe. */
#ifndef TINCA_BASE_ESCAPE_TABLE_H
#define TINCA_BASE_ESCAPE_TABLE_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* A table begins with table_begin, or as {.columns = N, .align = ...} followed by a cell for each
 * heading. */
struct table {
    size_t columns;
    /* borrowed: 'l' or 'r' for each column, of which the last one stands for the further ones;
     * NULL: columns of numbers, blanks and notes ("[1]") are flush right */
    const char *align;
    char **cells;           /* the headings first */
    size_t count, capacity; /* number of cells */
    double *keys;           /* of cells that have one, by which rows can be sorted */
    size_t key_capacity;
    bool failed; /* memory was short */
};

/* Returns a table with its headings, which stand in one text with '|' between them. */
struct table table_begin(const char *align, const char *headings);

/* Frees the cells; the table is then empty, and has no columns. */
void table_free(struct table *table);

/* Appends the next cell, written as printf does. */
void table_cell(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends the same cell `count` times. */
void table_fill(struct table *table, size_t count, const char *cell);

/* Gives the last cell a key. */
void table_key(struct table *table, double key);

/* Appends a number, "-" if it is not finite, which is its key, too. `format` is printf's. */
void table_number(struct table *table, const char *format, double value);

/* Each of these appends the table to `text`, with a newline after each row.
 *
 * table_text separates columns, as wide as their widest cell, by two blanks. A last column of texts
 * is wrapped so that no line has more than `width` columns, if enough of them are left for it; 0:
 * nothing is wrapped. */
void table_text(const struct table *table, size_t width, struct text *text);
void table_markdown(const struct table *table, struct text *text);
void table_csv(const struct table *table, struct text *text);
void table_latex(const struct table *table, const char *caption, struct text *text);

/* Appends the table under a title, as text or Markdown, and an empty line; frees the table. */
void table_put_section(struct table *table, const char *title, bool markdown, struct text *text);

/* Appends a string so that it stands for itself in LaTeX. */
void latex_append(struct text *text, const char *plain);

/* Appends the first `length` bytes of a text and a newline, in lines of at most `width` columns,
 * broken between words. The cursor stands at `column`; further lines begin at `indent`. */
void text_append_wrapped(struct text *text, const char *words, size_t length, size_t indent,
                         size_t column, size_t width);

#endif
