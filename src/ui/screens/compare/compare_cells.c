/* The cells of the table on the screen Compare: shorter than those that studies/compare writes, and
 * with the marks that the curves carry instead of numbers of rows. */
#include "ui/screens/compare/internal.h"

#include "base/language.h"
#include "ui/terminal/columns.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 640, WIDEST = 36, MARKS = 35 };

char compare_model_row_mark(size_t row)
{
    return row < 9 ? (char)('1' + row) : row < MARKS ? (char)('a' + row - 9) : '+';
}

char *compare_model_mark(size_t row, char *text, size_t size)
{
    if (row < MARKS)
        snprintf(text, size, "%c", compare_model_row_mark(row));
    else
        snprintf(text, size, "%zu", row + 1);
    return text;
}

/* Replaces the numbers of rows after '~' by the marks of these rows. */
static void name_rows_by_marks(char *text, size_t size)
{
    char named[CELL], *at = strchr(text, '~'), mark[24];
    size_t used = 0;
    if (!at)
        return;
    named[0] = '\0';
    char *next = at + 1;
    while (isdigit((unsigned char)*next) && used < sizeof named) {
        const size_t row = strtoul(next, &next, 10);
        const bool more = *next == ',';
        used += (size_t)snprintf(named + used, sizeof named - used, "%s%s",
                                 compare_model_mark(row - 1, mark, sizeof mark), more ? "," : "");
        next += more;
    }
    if (used < sizeof named)
        snprintf(named + used, sizeof named - used, "%s", next);
    snprintf(at + 1, size - (size_t)(at + 1 - text), "%s", named);
}

char *compare_model_cell(const struct compare_model *model, size_t row, size_t column, char *text,
                         size_t size)
{
    struct compare_figure figure;
    if (!compare_column_figure(&model->table, column, &figure))
        return compare_model_mark(row, text, size);
    compare_cell(&model->table, row, column, text, size);
    if (figure.kind == FIGURE_NETWORK && !model->table.rows[row].run)
        snprintf(text, size, "%s" COMPARE_PUBLISHED, model->table.rows[row].network);
    else if (strcmp(text, _("not measured")) == 0)
        snprintf(text, size, "?");
    else if (figure.kind == FIGURE_TIME)
        name_rows_by_marks(text, size);
    return text;
}

/* Writes the heading of a column; that of a published device carries the mark of published rows. */
static void write_heading(const struct compare_model *model, size_t column, char *text, size_t size)
{
    struct compare_figure figure;
    if (compare_column_figure(&model->table, column, &figure) && figure.kind == FIGURE_TIME &&
        compare_device_is_published(&model->table, figure.device))
        snprintf(text, size, "ms %s" COMPARE_PUBLISHED, model->table.devices[figure.device]);
    else
        compare_heading(&model->table, column, text, size);
}

/* Returns where a heading is broken into two lines so that the longer one is as short as possible:
 * at a space or, in the key of a setting, behind a hyphen; not behind a single letter, which
 * belongs to what follows ("x 10^-3"). 0: nowhere. */
static size_t break_of(const char *heading)
{
    const bool key = islower((unsigned char)heading[0]) && !strchr(heading, ' ');
    size_t best = 0, least = strlen(heading);
    for (size_t i = 1; heading[i] && heading[i + 1]; i++) {
        if (heading[i] != (key ? '-' : ' ') || (i > 1 && heading[i - 2] == ' '))
            continue;
        const size_t first = i + key, second = strlen(heading) - i - 1;
        const size_t longer = first > second ? first : second;
        if (longer < least) {
            best = i;
            least = longer;
        }
    }
    return best;
}

void compare_model_heading(const struct compare_model *model, size_t column, size_t columns,
                           char *upper, char *lower, size_t size)
{
    char text[128];
    write_heading(model, column, text, sizeof text);
    const size_t at = columns_of(text) > columns ? break_of(text) : 0;
    snprintf(upper, size, "%.*s", (int)(at + (text[at] == '-' && at > 0)), text);
    snprintf(lower, size, "%s", at > 0 ? text + at + 1 : text);
}

/* Returns the width of a column. Its heading takes one line, unless a second one makes the column
 * much narrower. */
static size_t measure_column(const struct compare_model *model, size_t column)
{
    enum { MUCH = 3 };
    const size_t mark = column == model->order.column && column > 0;
    char cell[CELL], upper[CELL];
    size_t cells = 0;
    for (size_t row = 0; row < model->table.count; row++) {
        const size_t width = columns_of(compare_model_cell(model, row, column, cell, sizeof cell));
        cells = width > cells ? width : cells;
    }
    compare_model_heading(model, column, SIZE_MAX, upper, cell, sizeof cell);
    size_t whole = columns_of(cell) + mark;
    compare_model_heading(model, column, 0, upper, cell, sizeof cell);
    size_t broken = columns_of(cell) + mark;
    broken = columns_of(upper) > broken ? columns_of(upper) : broken;
    whole = whole > cells ? whole : cells;
    broken = broken > cells ? broken : cells;
    const size_t widest = whole - broken >= MUCH ? broken : whole;
    return widest > WIDEST ? WIDEST : widest;
}

void compare_model_measure_columns(struct compare_model *model)
{
    enum { NETWORK = 1 };
    char first[CELL], other[CELL];
    for (size_t i = 0; i < compare_columns(&model->table); i++)
        model->columns.widths[i] = (int)measure_column(model, i);
    model->columns.same_network = true;
    for (size_t row = 1; row < model->table.count && model->columns.same_network; row++)
        model->columns.same_network =
            strcmp(compare_model_cell(model, 0, NETWORK, first, sizeof first),
                   compare_model_cell(model, row, NETWORK, other, sizeof other)) == 0;
}
