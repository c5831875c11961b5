/* Prints tables as text, Markdown, CSV or LaTeX. All formats have the same cells; names that come
 * from files are escaped in each. */
#include "studies/tables/internal.h"

#include "base/escape/csv.h"
#include "base/escape/markdown.h"
#include "base/escape/visible.h"
#include "base/language.h"

#include <stdlib.h>
#include <string.h>

static size_t rows_of(const struct tables_sheet *sheet)
{
    return sheet->count / sheet->columns; /* with the headings */
}

static const char *cell_of(const struct tables_sheet *sheet, size_t row, size_t column)
{
    return sheet->cells[row * sheet->columns + column];
}

/* Returns whether every cell of a column is a number, blank, or missing: such columns are flush
 * right. */
static bool is_numeric(const struct tables_sheet *sheet, size_t column)
{
    for (size_t row = 1; row < rows_of(sheet); row++) {
        char *end;
        const char *cell = cell_of(sheet, row, column);
        strtod(cell, &end);
        if (*end != '\0' && !strchr(cell, '['))
            return false;
    }
    return true;
}

/* --- text --- */

static size_t width_of(const struct tables_sheet *sheet, size_t column)
{
    size_t widest = 0;
    for (size_t row = 0; row < rows_of(sheet); row++) {
        const size_t width = text_columns(cell_of(sheet, row, column));
        if (width > widest)
            widest = width;
    }
    return widest;
}

static void pad(struct text *text, size_t count)
{
    text_append(text, "%*s", (int)count, "");
}

static void print_text(const struct tables_sheet *sheet, struct text *text)
{
    visible_append(text, sheet->title);
    text_append(text, "\n\n");
    for (size_t row = 0; row < rows_of(sheet); row++) {
        size_t owed = 0; /* blanks that only a later cell needs */
        for (size_t c = 0; c < sheet->columns; c++) {
            const char *cell = cell_of(sheet, row, c);
            const size_t space = width_of(sheet, c) - text_columns(cell);
            const bool right = is_numeric(sheet, c);
            owed += (c > 0 ? 2 : 0) + (right ? space : 0);
            if (cell[0]) {
                pad(text, owed);
                visible_append(text, cell);
                owed = 0;
            }
            owed += right ? 0 : space;
        }
        text_append(text, "\n");
    }
}

/* --- Markdown --- */

static void print_markdown(const struct tables_sheet *sheet, struct text *text)
{
    text_append(text, "## ");
    markdown_append(text, sheet->title);
    text_append(text, "\n\n");
    for (size_t row = 0; row < rows_of(sheet); row++) {
        for (size_t c = 0; c < sheet->columns; c++) {
            text_append(text, "| ");
            markdown_append(text, cell_of(sheet, row, c));
            text_append(text, " ");
        }
        text_append(text, "|\n");
        for (size_t c = 0; row == 0 && c < sheet->columns; c++)
            text_append(text, is_numeric(sheet, c) ? "| ---: " : "| --- ");
        if (row == 0)
            text_append(text, "|\n");
    }
}

/* --- CSV --- */

static void print_csv(const struct tables_sheet *sheet, struct text *text)
{
    csv_append(text, sheet->title);
    text_append(text, "\n");
    for (size_t row = 0; row < rows_of(sheet); row++)
        for (size_t c = 0; c < sheet->columns; c++) {
            const char *cell = cell_of(sheet, row, c);
            if (row > 0 && is_numeric(sheet, c))
                text_append(text, "%s", cell); /* a sign is no formula */
            else
                csv_append(text, cell);
            text_append(text, c + 1 < sheet->columns ? "," : "\n");
        }
}

/* --- LaTeX --- */

static void append_latex(struct text *text, const char *plain)
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

static void print_latex(const struct tables_sheet *sheet, struct text *text)
{
    text_append(text, "\\begin{table}\n\\caption{");
    append_latex(text, sheet->title);
    text_append(text, "}\n\\begin{tabular}{");
    for (size_t c = 0; c < sheet->columns; c++)
        text_append(text, is_numeric(sheet, c) ? "r" : "l");
    text_append(text, "}\n\\hline\n");
    for (size_t row = 0; row < rows_of(sheet); row++) {
        for (size_t c = 0; c < sheet->columns; c++) {
            /* a row that began with [ would be taken for an argument of the \\ before it */
            text_append(text, c > 0 ? " & " : "{}");
            append_latex(text, cell_of(sheet, row, c));
        }
        text_append(text, row == 0 ? " \\\\\n\\hline\n" : " \\\\\n");
    }
    text_append(text, "\\hline\n\\end{tabular}\n\\end{table}\n");
}

/* --- notes --- */

static void print_notes(const struct tables *tables, enum tables_format format, struct text *text)
{
    static visible_appender *const append[] = {[TABLES_TEXT] = visible_append,
                                               [TABLES_MARKDOWN] = markdown_append,
                                               [TABLES_CSV] = csv_append,
                                               [TABLES_LATEX] = append_latex};
    static const char *const before[] = {[TABLES_TEXT] = "[%zu] ",
                                         [TABLES_MARKDOWN] = "- \\[%zu\\] ",
                                         [TABLES_CSV] = "[%zu],",
                                         [TABLES_LATEX] = "\\par\\noindent [%zu] "};
    if (tables->note_count > 0) {
        append[format](text, _("Not run: the commands"));
        text_append(text, format == TABLES_MARKDOWN ? "\n\n" : "\n");
    }
    for (size_t i = 0; i < tables->note_count; i++) {
        text_append(text, before[format], i + 1);
        append[format](text, tables->notes[i]);
        text_append(text, "\n");
    }
    if (tables->chart.length == 0)
        return;
    text_append(text, format == TABLES_LATEX ? "\\par\\noindent " : "\n");
    append[format](text, _("The curves as a picture:"));
    text_append(text, format == TABLES_CSV ? "," : " ");
    append[format](text, tables->chart.data);
    text_append(text, "\n");
}

static void tables_print(const struct tables *tables, enum tables_format format, struct text *text)
{
    static void (*const printers[])(const struct tables_sheet *,
                                    struct text *) = {[TABLES_TEXT] = print_text,
                                                      [TABLES_MARKDOWN] = print_markdown,
                                                      [TABLES_CSV] = print_csv,
                                                      [TABLES_LATEX] = print_latex};
    for (size_t i = 0; i < tables->sheet_count; i++) {
        printers[format](&tables->sheets[i], text);
        text_append(text, "\n");
    }
    print_notes(tables, format, text);
}

static void free_tables(struct tables *tables)
{
    for (size_t s = 0; s < tables->sheet_count; s++) {
        for (size_t i = 0; i < tables->sheets[s].count; i++)
            free(tables->sheets[s].cells[i]);
        free(tables->sheets[s].cells);
    }
    for (size_t i = 0; i < tables->note_count; i++)
        free(tables->notes[i]);
    free(tables->notes);
    text_free(&tables->chart);
}

bool tables_write(enum tables_study study, const struct comparison *runs,
                  const struct study_file *votes, enum tables_format format, struct text *text,
                  struct error *error)
{
    struct tables tables = {.runs = runs};
    if (study == TABLES_TRINDADE)
        tables_trindade(&tables);
    else
        tables_gondim(&tables, votes);
    if (!tables.out_of_memory && !tables.chart.failed)
        tables_print(&tables, format, text);
    const bool good = !tables.out_of_memory && !tables.chart.failed && !text->failed;
    free_tables(&tables);
    return good || error_set_memory(error, "the tables", 0);
}
