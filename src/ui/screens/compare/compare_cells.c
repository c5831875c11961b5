/* The cells of the table on the screen Compare: shorter than those that session/compare writes, and
 * with the marks that the curves carry instead of numbers of rows. */
#include "ui/screens/compare/compare_model.h"

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
    if (strcmp(text, _("not measured")) == 0)
        snprintf(text, size, "?");
    else if (figure.kind == FIGURE_TIME)
        name_rows_by_marks(text, size);
    return text;
}

void compare_model_heading(const struct compare_model *model, size_t column, char *upper,
                           char *lower, size_t size)
{
    char text[128];
    compare_heading(&model->table, column, text, sizeof text);
    const size_t end = strcspn(text, " -");
    const bool key = text[end] == '-' && islower((unsigned char)text[0]); /* "step-size" */
    const size_t first = key ? end + 1 : strcspn(text, " ");
    snprintf(upper, size, "%.*s", (int)first, text);
    snprintf(lower, size, "%s", text + first + (text[first] == ' '));
}

static size_t measure_column(const struct compare_model *model, size_t column)
{
    char cell[CELL], lower[CELL];
    compare_model_heading(model, column, cell, lower, sizeof cell);
    size_t widest = columns_of(cell), width = columns_of(lower);
    widest = (width > widest ? width : widest) + (column == model->sort && column > 0);
    for (size_t row = 0; row < model->table.count; row++) {
        width = columns_of(compare_model_cell(model, row, column, cell, sizeof cell));
        widest = width > widest ? width : widest;
    }
    return widest > WIDEST ? WIDEST : widest;
}

void compare_model_measure_columns(struct compare_model *model)
{
    enum { NETWORK = 1 };
    char first[CELL], other[CELL];
    for (size_t i = 0; i < compare_columns(&model->table); i++)
        model->widths[i] = (int)measure_column(model, i);
    model->same_network = true;
    for (size_t row = 1; row < model->table.count && model->same_network; row++)
        model->same_network =
            strcmp(compare_model_cell(model, 0, NETWORK, first, sizeof first),
                   compare_model_cell(model, row, NETWORK, other, sizeof other)) == 0;
}
