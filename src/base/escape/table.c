/* A table is one list of cells, row after row, the headings first. The writers find widths and
 * alignment anew from the cells, so that a table has no state besides them. */
#include "base/escape/table.h"

#include "base/escape/csv.h"
#include "base/escape/markdown.h"
#include "base/escape/visible.h"
#include "base/memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAST_COLUMN = 24 }; /* a narrower last column is not wrapped */

/* --- filling --- */

struct table table_begin(const char *align, const char *headings)
{
    struct table table = {.align = align};
    for (const char *heading = headings; *heading;) {
        const size_t length = strcspn(heading, "|");
        table_cell(&table, "%.*s", (int)length, heading);
        heading += length + (heading[length] == '|');
        table.columns++;
    }
    return table;
}

void table_free(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table->keys);
    *table = (struct table){0};
}

void table_cell(struct table *table, const char *format, ...)
{
    struct text cell = {0};
    va_list arguments;
    va_start(arguments, format);
    text_append_bytes(&cell, "", 0); /* an empty cell is a text, too */
    visible_append_arguments(&cell, visible_append, format, arguments);
    va_end(arguments);
    table->failed |= cell.failed || !memory_grow(&table->cells, &table->capacity, table->count + 1,
                                                 sizeof *table->cells, "a table", NULL);
    if (table->failed)
        text_free(&cell);
    else
        table->cells[table->count++] = cell.data;
}

void table_fill(struct table *table, size_t count, const char *cell)
{
    for (size_t i = 0; i < count; i++)
        table_cell(table, "%s", cell);
}

void table_key(struct table *table, double key)
{
    table->failed |= !memory_grow(&table->keys, &table->key_capacity, table->capacity,
                                  sizeof *table->keys, "a table", NULL);
    if (!table->failed)
        table->keys[table->count - 1] = key;
}

void table_number(struct table *table, const char *format, double value)
{
    char text[64] = "-";
    if (isfinite(value))
        snprintf(text, sizeof text, format, value);
    table_cell(table, "%s", text);
    table_key(table, value);
}

/* --- columns --- */

static size_t rows_of(const struct table *table)
{
    return table->failed || table->columns == 0 ? 0 : table->count / table->columns;
}

static const char *cell_of(const struct table *table, size_t row, size_t column)
{
    return table->cells[row * table->columns + column];
}

static bool is_number(const char *cell)
{
    char *end;
    strtod(cell, &end);
    return *end == '\0';
}

/* Returns whether the cells of a column are flush right. */
static bool is_right(const struct table *table, size_t column)
{
    const size_t letters = table->align ? strlen(table->align) : 0;
    if (table->align)
        return table->align[column < letters ? column : letters - 1] == 'r';
    for (size_t row = 1; row < rows_of(table); row++)
        if (!is_number(cell_of(table, row, column)) && !strchr(cell_of(table, row, column), '['))
            return false;
    return true;
}

static size_t width_of(const struct table *table, size_t column)
{
    size_t widest = 0;
    for (size_t row = 0; row < rows_of(table); row++) {
        const size_t width = text_columns(cell_of(table, row, column));
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* --- text --- */

/* Returns the columns of a word in UTF-8. Every character takes one column. */
static size_t columns_of_word(const char *word, size_t length)
{
    size_t columns = 0;
    for (size_t i = 0; i < length; i++)
        columns += ((unsigned char)word[i] & 0xc0) != 0x80;
    return columns;
}

void text_append_wrapped(struct text *text, const char *words, size_t length, size_t indent,
                         size_t column, size_t width)
{
    const char *const end = words + length;
    for (const char *word = words; word < end;) {
        const char *const space = memchr(word, ' ', (size_t)(end - word));
        const size_t bytes = (size_t)((space ? space : end) - word);
        const size_t columns = columns_of_word(word, bytes);
        if (column > indent && column + 1 + columns > width) {
            text_append(text, "\n");
            column = 0;
        }
        const size_t blanks = column < indent ? indent - column : column > indent;
        text_append(text, "%*s", (int)blanks, "");
        visible_append_format(text, visible_append, "%.*s", (int)bytes, word);
        column += blanks + columns;
        word += bytes + (space != NULL);
    }
    text_append(text, "\n");
}

/* The places of the columns in lines of text. */
struct columns {
    size_t *widths;
    bool *right;
    size_t width; /* of the lines; 0: not limited */
};

/* Appends a row. Blanks are owed until a cell follows, so that no line ends with some. */
static void append_row(const struct table *table, size_t row, const struct columns *columns,
                       struct text *text)
{
    size_t owed = 0, start = 0;
    for (size_t c = 0; c < table->columns; start += columns->widths[c++] + 2) {
        const char *cell = cell_of(table, row, c);
        const size_t space = columns->widths[c] - text_columns(cell);
        const bool right = columns->right[c], last = c + 1 == table->columns;
        owed += (c > 0 ? 2 : 0) + (right ? space : 0);
        if (cell[0])
            text_append(text, "%*s", (int)owed, "");
        if (last && cell[0] && !right && columns->width >= start + LAST_COLUMN) {
            text_append_wrapped(text, cell, strlen(cell), start, start, columns->width);
            return;
        }
        text_append(text, "%s", cell);
        owed = (cell[0] ? 0 : owed) + (right ? 0 : space);
    }
    text_append(text, "\n");
}

void table_text(const struct table *table, size_t width, struct text *text)
{
    struct columns columns = {
        .widths = memory_new(table->columns, sizeof *columns.widths, "a table", NULL),
        .right = memory_new(table->columns, sizeof *columns.right, "a table", NULL),
        .width = width};
    text->failed |= table->failed || !columns.widths || !columns.right;
    for (size_t c = 0; !text->failed && c < table->columns; c++) {
        columns.widths[c] = width_of(table, c);
        columns.right[c] = is_right(table, c);
    }
    for (size_t row = 0; !text->failed && row < rows_of(table); row++)
        append_row(table, row, &columns, text);
    free(columns.widths);
    free(columns.right);
}

/* --- Markdown --- */

void table_markdown(const struct table *table, struct text *text)
{
    text->failed |= table->failed;
    for (size_t row = 0; row < rows_of(table); row++) {
        for (size_t c = 0; c < table->columns; c++)
            visible_append_format(text, markdown_append, "| %s ", cell_of(table, row, c));
        text_append(text, "|\n");
        for (size_t c = 0; row == 0 && c < table->columns; c++)
            text_append(text, is_right(table, c) ? "| ---: " : "| --- ");
        text_append(text, row == 0 ? "|\n" : "");
    }
}

void table_put_section(struct table *table, const char *title, bool markdown, struct text *text)
{
    visible_append_format(text, markdown ? markdown_append : visible_append,
                          markdown ? "### %s\n\n" : "%s\n", title);
    if (markdown)
        table_markdown(table, text);
    else
        table_text(table, 0, text);
    text_append(text, "\n");
    table_free(table);
}

/* --- CSV --- */

void table_csv(const struct table *table, struct text *text)
{
    text->failed |= table->failed;
    for (size_t row = 0; row < rows_of(table); row++)
        for (size_t c = 0; c < table->columns; c++) {
            const char *cell = cell_of(table, row, c);
            if (row > 0 && is_number(cell))
                text_append(text, "%s", cell); /* a sign is no formula */
            else
                csv_append(text, cell);
            text_append(text, c + 1 < table->columns ? "," : "\n");
        }
}

/* --- LaTeX --- */

void latex_append(struct text *text, const char *plain)
{
    struct text visible = {0};
    visible_append(&visible, plain);
    for (const char *at = visible.data ? visible.data : ""; *at; at++)
        switch (*at) {
        case '\\':
            text_append(text, "\\textbackslash{}");
            break;
        case '~':
            text_append(text, "\\textasciitilde{}");
            break;
        case '^':
            text_append(text, "\\textasciicircum{}");
            break;
        case '-': /* two would become a dash */
            text_append(text, "-{}");
            break;
        case '#':
        case '$':
        case '%':
        case '&':
        case '_':
        case '{':
        case '}':
            text_append(text, "\\%c", *at);
            break;
        case '<':
        case '>':
        case '"':
        case '|':
            text_append(text, "\\char%d{}", *at);
            break;
        default:
            text_append_bytes(text, at, 1);
        }
    text->failed |= visible.failed;
    text_free(&visible);
}

void table_latex(const struct table *table, const char *caption, struct text *text)
{
    text->failed |= table->failed;
    text_append(text, "\\begin{table}\n\\caption{");
    latex_append(text, caption);
    text_append(text, "}\n\\begin{tabular}{");
    for (size_t c = 0; c < table->columns; c++)
        text_append(text, is_right(table, c) ? "r" : "l");
    text_append(text, "}\n\\hline\n");
    for (size_t row = 0; row < rows_of(table); row++) {
        for (size_t c = 0; c < table->columns; c++) {
            /* a row that began with [ would be taken for an argument of the \\ before it */
            text_append(text, c > 0 ? " & " : "{}");
            latex_append(text, cell_of(table, row, c));
        }
        text_append(text, row == 0 ? " \\\\\n\\hline\n" : " \\\\\n");
    }
    text_append(text, "\\hline\n\\end{tabular}\n\\end{table}\n");
}
