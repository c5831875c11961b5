/* Writes the comparison as a text table, Markdown or CSV. Text and Markdown show rounded cells with
 * units and marks; CSV has plain numbers, and empty fields where nothing was measured. */
#include "studies/compare/compare_figures.h"
#include "studies/compare/compare_significance.h"
#include "studies/compare/pareto.h"

#include "base/escape/markdown.h"
#include "base/escape/table.h"
#include "base/escape/visible.h"
#include "base/language.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL = 640 };
static const char unknown[] = N_("not measured");

/* --- notes below a table --- */

static bool times_are_apart(const struct comparison *comparison, size_t device)
{
    const struct measurement *first = NULL;
    for (size_t i = 0; i < comparison->count; i++) {
        const struct measurement *time = compare_time(comparison, i, device);
        if (!comparison->rows[i].run || !time)
            continue;
        if (first && !measured_on_same(&first->on, &time->on))
            return true;
        first = time;
    }
    return false;
}

static bool data_differ(const struct comparison *comparison)
{
    const struct compare_row *first = NULL;
    for (size_t i = 0; i < comparison->count; i++) {
        const struct compare_row *row = &comparison->rows[i];
        if (!row->run)
            continue;
        if (first && strcmp(first->data, row->data) != 0)
            return true;
        first = row;
    }
    return false;
}

static bool any_mark(const struct comparison *comparison)
{
    for (size_t d = 0; comparison->turns && d < comparison->device_count; d++)
        for (size_t a = 0; a < comparison->count; a++)
            for (size_t b = a + 1; b < comparison->count; b++)
                if (compare_rows(comparison, d, a, b) == COMPARE_INDISTINGUISHABLE)
                    return true;
    return false;
}

/* The style of lines of notes: their bullet, and the escaping of names in them. */
struct style {
    const char *bullet;
    visible_appender *append;
};
static const struct style terminal = {"", visible_append}, markdown = {"- ", markdown_append};

__attribute__((format(printf, 3, 4))) static void put(struct text *text, const struct style *style,
                                                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    visible_append_arguments(text, style->append, format, arguments);
    va_end(arguments);
}

static void write_speed_ups(const struct comparison *comparison, const struct style *style,
                            struct text *text)
{
    for (size_t row = 0; row < comparison->count; row++)
        for (size_t fast = 0; fast < comparison->device_count; fast++)
            for (size_t slow = 0; slow < comparison->device_count; slow++) {
                const double factor = compare_speed_up(comparison, row, fast, slow);
                if (factor > 1 && comparison->rows[row].run)
                    put(text, style,
                        _("%s%zu: ms %s / ms %s = %.3g (not comparable: measured at different "
                          "times)\n"),
                        style->bullet, row + 1, comparison->devices[slow],
                        comparison->devices[fast], factor);
            }
}

/* Writes once for each device why the energy of rows is not known. */
static void write_energy_unknown(const struct comparison *comparison, const struct style *style,
                                 struct text *text)
{
    for (size_t d = 0; d < comparison->device_count; d++) {
        const char *reason = NULL;
        for (size_t row = 0; row < comparison->count && !reason; row++)
            reason = compare_energy_unknown(comparison, row, d);
        if (reason)
            put(text, style, _("%sJ/image %s: not known: %s\n"), style->bullet,
                comparison->devices[d], reason);
    }
}

/* Returns the row with the highest accuracy, the first of equal ones, or comparison->count. */
static size_t most_accurate(const struct comparison *comparison)
{
    size_t best = comparison->count;
    for (size_t i = 0; i < comparison->count; i++) {
        const struct compare_row *row = &comparison->rows[i];
        if (row->run && isfinite(row->figures.best_top1) &&
            (best == comparison->count ||
             row->figures.best_top1 > comparison->rows[best].figures.best_top1))
            best = i;
    }
    return best;
}

/* Writes which accuracies differ: of all pairs or, of many rows, of each row and the best one. */
static void write_tests(const struct comparison *comparison, const struct style *style,
                        struct text *text, FILE *stream)
{
    const size_t best = most_accurate(comparison);
    const bool all = compare_all_pairs(comparison);
    char words[400];
    size_t tested = 0;
    for (size_t a = 0; best < comparison->count && a < comparison->count; a++) {
        /* of many rows only the best one, unless this is it */
        const bool each = all || a == best;
        const size_t first = each || best < a ? a + 1 : best;
        const size_t end = each ? comparison->count : best + 1;
        for (size_t b = first; b < end; b++) {
            const struct compare_row *x = &comparison->rows[a], *y = &comparison->rows[b];
            if (!x->run || !y->run || isnan(x->figures.best_top1) || isnan(y->figures.best_top1))
                continue;
            const struct compare_test test = compare_test_rows(comparison, a, b);
            tested += test.kind != TEST_NONE;
            compare_test_text(&test, words, sizeof words);
            put(text, style,
                test.kind == TEST_NONE ? _("%sbest top-1 of %zu and %zu: %s\n")
                : test.differs         ? _("%sbest top-1 of %zu and %zu: they differ (%s)\n")
                               : _("%sbest top-1 of %zu and %zu: no difference is shown (%s)\n"),
                style->bullet, a + 1, b + 1, words);
            text_drain(text, stream);
        }
    }
    if (tested > 1)
        put(text, style, _("%sp values are not corrected for the number of tests\n"),
            style->bullet);
}

/* Writes what is known of the times of two rows on a device: a verdict only of turns. */
static void write_time_test(const struct comparison *comparison, size_t device, size_t a, size_t b,
                            const struct style *style, struct text *text)
{
    const struct compare_test test = compare_test_times(comparison, device, a, b);
    const char *name = comparison->devices[device];
    char words[400];
    if (!isfinite(test.ratio))
        return;
    if (test.kind == TEST_NONE)
        snprintf(words, sizeof words, "%s", test.reason);
    else
        compare_test_text(&test, words, sizeof words);
    put(text, style,
        test.kind == TEST_NONE && test.turns.blocks == 0
            ? _("%sms %s of %zu and %zu: ratio %.4g, %s (tinca compare --measure takes turns)\n")
        : test.kind == TEST_NONE ? _("%sms %s of %zu and %zu: ratio %.4g, no verdict: %s\n")
        : test.differs           ? _("%sms %s of %zu and %zu: ratio %.4g, they differ (%s)\n")
                       : _("%sms %s of %zu and %zu: ratio %.4g, no difference is shown (%s)\n"),
        style->bullet, name, a + 1, b + 1, test.ratio, words);
}

/* Returns how many pairs of runs have a time each on a device, `in_turns` of which took turns, and
 * no turns with each other. */
static size_t count_pairs_apart(const struct comparison *comparison, size_t device, size_t in_turns)
{
    size_t measured = 0;
    for (size_t i = 0; i < comparison->count; i++)
        measured += comparison->rows[i].run && compare_time(comparison, i, device);
    const size_t pairs = measured * (measured - (measured > 0)) / 2;
    return pairs > in_turns ? pairs - in_turns : 0;
}

/* Writes the times of pairs: of all or, of many rows, those that took turns and the number of the
 * others. */
static void write_time_tests(const struct comparison *comparison, const struct style *style,
                             struct text *text, FILE *stream)
{
    const bool all = compare_all_pairs(comparison);
    for (size_t d = 0; d + comparison->published_devices < comparison->device_count; d++) {
        size_t in_turns = 0;
        for (size_t a = 0; (all || comparison->turns) && a < comparison->count; a++)
            for (size_t b = a + 1; b < comparison->count; b++) {
                const bool turns = compare_took_turns(comparison, d, a, b);
                in_turns +=
                    turns && compare_time(comparison, a, d) && compare_time(comparison, b, d);
                if (all || turns) {
                    write_time_test(comparison, d, a, b, style, text);
                    text_drain(text, stream);
                }
            }
        const size_t apart = all ? 0 : count_pairs_apart(comparison, d, in_turns);
        if (apart > 0)
            put(text, style,
                ngettext("%sms %s: %zu pair of rows is not comparable: measured at different times "
                         "(--pairs has its ratio, tinca compare --measure takes turns)\n",
                         "%sms %s: %zu pairs of rows are not comparable: measured at different "
                         "times (--pairs has their ratios, tinca compare --measure takes turns)\n",
                         apart),
                style->bullet, comparison->devices[d], apart);
    }
}

static void write_notes(const struct comparison *comparison, const struct style *style,
                        struct text *text, FILE *stream)
{
    if (any_mark(comparison))
        put(text, style,
            _("%s~N: no difference from row N on this device is shown (measured in turns, level "
              "%g %%, margin %g %%)\n"),
            style->bullet, 100 * TURNS_LEVEL, 100 * TURNS_MARGIN);
    for (size_t d = 0; d < comparison->device_count; d++)
        if (times_are_apart(comparison, d))
            put(text, style,
                _("%sms %s: measured on different machines or with different numbers of "
                  "threads; such rows are not compared\n"),
                style->bullet, comparison->devices[d]);
    if (data_differ(comparison))
        put(text, style, _("%saccuracies of different data are not comparable\n"), style->bullet);
    if (comparison->published_devices > 0)
        put(text, style,
            _("%spublished: Gondim Santos 2019, CIFAR-10, one image, without intervals\n"),
            style->bullet);
    write_tests(comparison, style, text, stream);
    write_time_tests(comparison, style, text, stream);
    write_speed_ups(comparison, style, text);
    write_energy_unknown(comparison, style, text);
    struct compare_missing missing;
    for (size_t row = 0; row < comparison->count; row++)
        for (size_t d = 0; d < comparison->device_count; d++)
            if (compare_missing(comparison, row, d, &missing))
                put(text, style, "%s%s: %zu, %s: %s\n", style->bullet,
                    missing.stale ? _("stale, the model has changed since") : gettext(unknown),
                    row + 1, missing.what, missing.command);
}

/* Writes the interval of the accuracy: a share of images, or a mean over seeds. */
static void write_interval(const struct compare_row *row, size_t number, const struct style *style,
                           struct text *text)
{
    double low, high;
    const struct statistics *best = &row->seeds.figures[FIGURE_BEST_TOP1];
    if (compare_wilson(row, &low, &high))
        put(text, style,
            _("%s%zu: best top-1 %.2f %%, 95 %% interval %.2f to %.2f %% (Wilson, %zu images)\n"),
            style->bullet, number, row->figures.best_top1, low, high, row->images);
    else if (row->seeds.counts[FIGURE_BEST_TOP1] > 1)
        put(text, style,
            _("%s%zu: best top-1 %.2f +- %s %% (mean and 95 %% interval, Student's t), standard "
              "deviation %s, %zu seeds\n"),
            style->bullet, number, best->mean, TEXT_NUMBER(best->ci95, 2), TEXT_NUMBER(best->sd, 2),
            row->seeds.counts[FIGURE_BEST_TOP1]);
    else if (row->seeds.counts[FIGURE_BEST_TOP1] == 1)
        put(text, style, _("%s%zu: best top-1 %.2f %%, of one seed: it has no spread\n"),
            style->bullet, number, best->mean);
}

static void write_run(const struct compare_row *row, size_t number, const struct style *style,
                      struct text *text)
{
    static const struct {
        const char *accuracy, *words;
    } kinds[] = {{"validation", N_("%s%zu: %s on %s (validation accuracy)\n")},
                 {"measured", N_("%s%zu: %s on %s (measured accuracy)\n")},
                 {"none", N_("%s%zu: %s on %s (no accuracy)\n")}};
    if (row->run && run_facts(row->run)->imported[0]) {
        put(text, style, _("%s%zu: %s, imported from a log of %s\n"), style->bullet, number,
            row->name, run_facts(row->run)->imported);
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].accuracy, row->accuracy) == 0)
            put(text, style, gettext(kinds[i].words), style->bullet, number, row->name, row->data);
    write_interval(row, number, style, text);
}

static void write_runs(const struct comparison *comparison, const struct style *style,
                       struct text *text)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const struct compare_row *row = &comparison->rows[i];
        if (row->run)
            write_run(row, i + 1, style, text);
    }
}

/* --- formats --- */

/* Returns the table as text and Markdown show it, with `align` as its alignment. */
static struct table make_table(const struct comparison *comparison, char align[2 + COMPARE_FIGURES])
{
    char cell[CELL];
    struct table table = {.columns = compare_columns(comparison), .align = align};
    for (size_t c = 0; c < table.columns; c++) {
        align[c] = compare_column_is_text(comparison, c) ? 'l' : 'r';
        table_cell(&table, "%s", compare_heading(comparison, c, cell, sizeof cell));
    }
    align[table.columns] = '\0';
    for (size_t row = 0; row < comparison->count; row++)
        for (size_t c = 0; c < table.columns; c++)
            table_cell(&table, "%s", compare_cell(comparison, row, c, cell, sizeof cell));
    return table;
}

static void write_document(const struct comparison *comparison, const struct style *style,
                           struct text *text, FILE *stream)
{
    char align[2 + COMPARE_FIGURES];
    struct table table = make_table(comparison, align);
    if (style == &markdown)
        table_markdown(&table, text);
    else
        table_text(&table, 0, text);
    table_free(&table);
    text_append(text, "\n");
    text_drain(text, stream);
    write_runs(comparison, style, text);
    write_notes(comparison, style, text, stream);
    if (comparison->front) {
        text_append(text, "%s", style->bullet);
        compare_write_front(comparison, comparison->front, text);
    }
}

/* --- CSV --- */

static void add_number(struct table *table, double value)
{
    char text[48];
    table_cell(table, "%s", figure_print_exact(value, text, sizeof text));
}

/* Adds the numbers of the rows that are not shown to differ on a device. */
static void add_alike(struct table *table, const struct comparison *comparison, size_t row,
                      size_t device)
{
    struct text list = {0};
    for (size_t i = 0; comparison->turns && i < comparison->count; i++)
        if (compare_rows(comparison, device, row, i) == COMPARE_INDISTINGUISHABLE)
            text_append(&list, "%s%zu", list.length > 0 ? " " : "", i + 1);
    table_cell(table, "%s", list.data ? list.data : "");
    table->failed |= list.failed;
    text_free(&list);
}

static void add_time(struct table *table, const struct comparison *comparison, size_t row,
                     size_t device)
{
    static const struct measurement none = {
        .ms_per_image = {NAN, NAN, NAN, NAN, NAN}, .joules_per_image = NAN, .watts = NAN};
    const struct measurement *found = compare_time(comparison, row, device);
    const struct measurement *time = found ? found : &none;
    add_number(table, time->ms_per_image.mean);
    add_number(table, time->ms_per_image.sd);
    add_number(table, time->ms_per_image.ci95);
    add_number(table, figure_of_count(time->images));
    add_number(table, figure_of_count(time->on.threads));
    add_number(table, figure_of_count(time->memory_bytes));
    add_alike(table, comparison, row, device);
    add_number(table, time->joules_per_image);
    add_number(table, time->watts);
    table_cell(table, "%s", found && comparison->rows[row].run ? compare_precision(found) : "");
}

/* Adds the number of seeds and their standard deviations and intervals, and Wilson's interval. */
static void add_spread(struct table *table, const struct compare_row *row)
{
    double low = NAN, high = NAN;
    compare_wilson(row, &low, &high);
    add_number(table, figure_of_count(row->seeds.runs));
    for (size_t f = 0; f < FIGURE_RESULTS; f++) {
        const struct statistics *figure = &row->seeds.figures[figure_results[f]];
        const bool known = row->seeds.runs > 0 && row->seeds.counts[figure_results[f]] > 1;
        add_number(table, known ? figure->sd : (double)NAN);
        add_number(table, known ? figure->ci95 : (double)NAN);
    }
    add_number(table, low);
    add_number(table, high);
}

static void add_row(struct table *table, const struct comparison *comparison, size_t number)
{
    const struct compare_row *row = &comparison->rows[number];
    const char *const texts[] = {
        row->name, row->run ? "no" : "yes", row->network, row->technique, row->data, row->accuracy};
    char value[CELL];
    table_cell(table, "%zu", number + 1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        table_cell(table, "%s", texts[i]);
    for (size_t f = 0; f < COMPARE_FILE_FIGURES; f++)
        add_number(table, figure_of(&row->figures, compare_file_figures[f]));
    for (size_t d = 0; d < comparison->device_count; d++)
        add_time(table, comparison, number, d);
    for (size_t i = 0; i < comparison->field_count; i++) {
        const struct compare_figure setting = {.kind = FIGURE_SETTING,
                                               .field = comparison->fields[i]};
        table_cell(table, "%s",
                   compare_figure_text(comparison, number, &setting, value, sizeof value));
    }
    add_spread(table, row);
    if (comparison->front)
        table_cell(table, "%s", compare_front_has(comparison->front, number) ? "yes" : "no");
}

static void add_headings(struct table *table, const struct comparison *comparison)
{
    static const char *const of_time[] = {"ms",
                                          "sd",
                                          "ci95",
                                          "images",
                                          "threads",
                                          "memory_bytes",
                                          "not distinguishable from row",
                                          "joules_per_image",
                                          "watts",
                                          "precision"};
    for (size_t f = 0; f < COMPARE_FILE_FIGURES; f++)
        table_cell(table, "%s", figure_rows[compare_file_figures[f]].member);
    for (size_t d = 0; d < comparison->device_count; d++)
        for (size_t i = 0; i < sizeof of_time / sizeof *of_time; i++)
            table_cell(table, "%s %s", of_time[i], comparison->devices[d]);
    for (size_t i = 0; i < comparison->field_count; i++)
        table_cell(table, "%s", comparison->fields[i]->key);
    table_cell(table, "seeds");
    for (size_t f = 0; f < FIGURE_RESULTS; f++) {
        table_cell(table, "%s_sd", figure_rows[figure_results[f]].member);
        table_cell(table, "%s_ci95", figure_rows[figure_results[f]].member);
    }
    table_cell(table, "best_top1_low");
    table_cell(table, "best_top1_high");
    if (comparison->front)
        table_cell(table, "pareto");
    table->columns = table->count;
}

static void write_csv(const struct comparison *comparison, struct text *text)
{
    struct table table = table_begin("l", "row|run|published|network|technique|data|accuracy");
    add_headings(&table, comparison);
    for (size_t row = 0; row < comparison->count; row++)
        add_row(&table, comparison, row);
    table_csv(&table, text);
    table_free(&table);
}

void compare_write(const struct comparison *comparison, enum compare_format format,
                   struct text *text, FILE *stream)
{
    if (format == COMPARE_JSON)
        compare_write_json(comparison, text, stream);
    else if (format == COMPARE_CSV)
        write_csv(comparison, text);
    else
        write_document(comparison, format == COMPARE_MARKDOWN ? &markdown : &terminal, text,
                       stream);
    text_drain(text, stream);
}
