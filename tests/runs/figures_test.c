/* Tables of texts in each format, and the rows of figures.inc. */
#include "base/escape/table.h"
#include "runs/figures.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- tables --- */

static struct table make(const char *align)
{
    struct table table = table_begin(align, "name|top-1|note");
    table_cell(&table, "%s", "a_b");
    table_cell(&table, "%.1f", -9.5);
    table_fill(&table, 1, "");
    table_cell(&table, "%s", "a\033[1mlong\nname");
    table_cell(&table, "-");
    table_cell(&table, "=%s", "1,2");
    return table;
}

static void check(const char *align, void (*write)(const struct table *, struct text *),
                  const char *wanted, const char *what)
{
    struct table table = make(align);
    struct text text = {0};
    write(&table, &text);
    const bool good = !text.failed && strcmp(text.data, wanted) == 0;
    if (!good)
        tap_note("%s", text.data ? text.data : "out of memory");
    tap_ok(good, "%s", what);
    text_free(&text);
    table_free(&table);
}

static void write_text(const struct table *table, struct text *text)
{
    table_text(table, 0, text);
}

static void write_narrow(const struct table *table, struct text *text)
{
    table_text(table, 54, text);
}

static void write_latex(const struct table *table, struct text *text)
{
    table_latex(table, "50 %", text);
}

static void test_formats(void)
{
    check("lrl", write_text,
          "name            top-1  note\n"
          "a_b              -9.5\n"
          "a?[1mlong?name      -  =1,2\n",
          "text: columns of equal width, no blanks at the ends of lines, nothing hidden");
    check("r", write_text,
          "          name  top-1  note\n"
          "           a_b   -9.5\n"
          "a?[1mlong?name      -  =1,2\n",
          "the last letter of the alignment stands for the further columns");
    check("lrl", table_markdown,
          "| name | top-1 | note |\n"
          "| --- | ---: | --- |\n"
          "| a\\_b | -9.5 |  |\n"
          "| a?\\[1mlong?name | - | =1,2 |\n",
          "Markdown: markup is escaped");
    check("lrl", table_csv,
          "name,top-1,note\n"
          "a_b,-9.5,\n"
          "a?[1mlong?name,'-,\"'=1,2\"\n",
          "CSV: a formula is none, a negative number stays one");
    check(NULL, write_latex,
          "\\begin{table}\n\\caption{50 \\%}\n\\begin{tabular}{lll}\n\\hline\n"
          "{}name & top-{}1 & note \\\\\n\\hline\n"
          "{}a\\_b & -{}9.5 &  \\\\\n"
          "{}a?[1mlong?name & -{} & =1,2 \\\\\n"
          "\\hline\n\\end{tabular}\n\\end{table}\n",
          "LaTeX: markup is escaped, and a column with a mark is none of numbers");
}

static void test_wrapping(void)
{
    struct table table = table_begin("lrl", "RUN|LOSS|WHY");
    struct text text = {0};
    table_cell(&table, "a");
    table_cell(&table, "0.5");
    table_cell(&table, "words that do not fit into one line");
    table_text(&table, 36, &text);
    tap_ok(strcmp(text.data, "RUN  LOSS  WHY\n"
                             "a     0.5  words that do not fit\n"
                             "           into one line\n") == 0,
           "the last column is wrapped between words");
    text_free(&text);
    table_free(&table);
    check("lrl", write_narrow,
          "name            top-1  note\n"
          "a_b              -9.5\n"
          "a?[1mlong?name      -  =1,2\n",
          "short cells are not");
}

static void test_numbers(void)
{
    struct table table = {.columns = 1, .align = "r"};
    table_cell(&table, "%s", "dB");
    table_number(&table, "%+.1f", 0.25);
    table_number(&table, "%+.1f", NAN);
    table_cell(&table, "%s", "1.5 MiB");
    table_key(&table, 1.5e6);
    tap_ok(!table.failed && table.count == 4 && strcmp(table.cells[1], "+0.2") == 0 &&
               strcmp(table.cells[2], "-") == 0,
           "a number that is unknown is a dash");
    tap_ok(table.keys[1] == 0.25 && isnan(table.keys[2]) && table.keys[3] == 1.5e6,
           "numbers are keys, and other cells can have one");
    table_free(&table);
}

/* --- figures --- */

static void test_rows(void)
{
    struct run_figures figures = run_figures_unknown();
    bool unknown = true, found = true, own = true;
    for (enum figure i = 0; i < FIGURES; i++) {
        const char *name = figure_rows[i].name;
        unknown &= isnan(figure_of(&figures, i));
        found &= !name || figure_find(name) == i;
        if (figure_rows[i].unit == FIGURE_NAMES)
            continue;
        *figure_place(&figures, i) = i;
        own &= figure_of(&figures, i) == (double)i;
    }
    for (enum figure i = 0; i < FIGURES; i++)
        own &= figure_rows[i].unit == FIGURE_NAMES || figure_of(&figures, i) == (double)i;
    tap_ok(unknown, "nothing is known at first");
    tap_ok(own, "each figure has a place of its own");
    tap_ok(found && figure_find("no figure") == FIGURES, "each name means one figure");
}

static bool prints(enum figure figure, double value, const char *list, const char *brief)
{
    char one[32], two[32];
    figure_print(figure, value, one, sizeof one);
    figure_print_short(figure, value, two, sizeof two);
    return strcmp(one, list) == 0 && strcmp(two, brief) == 0;
}

static void test_printing(void)
{
    char text[32];
    tap_ok(prints(FIGURE_TOP1, 91.5, "91.50", "91.5") &&
               prints(FIGURE_PARAMETERS, 430500, "430 k", "430 k") &&
               prints(FIGURE_DISK, 1048576, "1.00 MiB", "1.00 MiB"),
           "a figure has one format in lists, and a short one in plots");
    tap_ok(prints(FIGURE_TOP1, NAN, "", "") && prints(FIGURE_LOSS, NAN, "NaN", "") &&
               prints(FIGURE_LOSS, INFINITY, "inf", ""),
           "an unknown value is blank, but a loss that is not finite is a result");
    tap_ok(strcmp(figure_print_exact(12345678901, text, sizeof text), "12345678901") == 0 &&
               strcmp(figure_print_exact(0.1, text, sizeof text), "0.1") == 0 &&
               strcmp(figure_print_exact(NAN, text, sizeof text), "") == 0,
           "whole numbers have all their digits in files");
    tap_ok(isnan(figure_of_count(0)) && figure_to_count(figure_of_count(7)) == 7 &&
               figure_to_count(NAN) == 0,
           "a count of 0 is unknown");
}

TEST_CASE(figures_test)
{
    test_formats();
    test_wrapping();
    test_numbers();
    test_rows();
    test_printing();
    return tap_done();
}
