/* Writes the tables of a study in one of the formats. All formats have the same cells. If memory
 * runs out, cells are left out; only tables_write checks it. */
#include "studies/tables/internal.h"

#include "base/escape/csv.h"
#include "base/escape/markdown.h"
#include "base/escape/visible.h"
#include "base/language.h"

static void write_table(const struct table *table, const char *title, enum tables_format format,
                        struct text *text)
{
    switch (format) {
    case TABLES_TEXT:
        visible_append_format(text, visible_append, "%s\n\n", title);
        table_text(table, 0, text);
        break;
    case TABLES_MARKDOWN:
        visible_append_format(text, markdown_append, "## %s\n\n", title);
        table_markdown(table, text);
        break;
    case TABLES_CSV:
        visible_append_format(text, csv_append, "%s\n", title);
        table_csv(table, text);
        break;
    default:
        table_latex(table, title, text);
        break;
    }
    text_append(text, "\n");
}

static void write_notes(const struct tables *tables, enum tables_format format, struct text *text)
{
    static visible_appender *const append[] = {[TABLES_TEXT] = visible_append,
                                               [TABLES_MARKDOWN] = markdown_append,
                                               [TABLES_CSV] = csv_append,
                                               [TABLES_LATEX] = latex_append};
    static const char *const before[] = {[TABLES_TEXT] = "[%zu] ",
                                         [TABLES_MARKDOWN] = "- \\[%zu\\] ",
                                         [TABLES_CSV] = "[%zu],",
                                         [TABLES_LATEX] = "\\par\\noindent [%zu] "};
    if (tables->notes.count > 0) {
        append[format](text, _("Not run: the commands"));
        text_append(text, format == TABLES_MARKDOWN ? "\n\n" : "\n");
    }
    for (size_t i = 0; i < tables->notes.count; i++) {
        text_append(text, before[format], i + 1);
        append[format](text, tables->notes.cells[i]);
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

bool tables_write(enum tables_study study, const struct comparison *runs,
                  const struct study_file *votes, enum tables_format format, struct text *text,
                  struct error *error)
{
    struct tables tables = {.runs = runs};
    if (study == TABLES_TRINDADE)
        tables_trindade(&tables);
    else
        tables_gondim(&tables, votes);
    text->failed |= tables.out_of_memory || tables.chart.failed || tables.notes.failed;
    for (size_t i = 0; i < tables.count; i++) {
        write_table(&tables.sheets[i], tables.titles[i], format, text);
        table_free(&tables.sheets[i]);
    }
    if (!text->failed)
        write_notes(&tables, format, text);
    table_free(&tables.notes);
    text_free(&tables.chart);
    return !text->failed || error_set_memory(error, "the tables", 0);
}
