/* Writes the comparison as a text table, Markdown or CSV. Text and Markdown show rounded cells with
 * units and marks; CSV has plain numbers, and empty fields where nothing was measured. */
#include "studies/compare/compare_significance.h"
#include "studies/compare/pareto.h"

#include "base/character.h"
#include "base/escape/csv.h"
#include "base/escape/markdown.h"
#include "base/escape/visible.h"
#include "base/language.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
    for (size_t d = 0; comparison->layout->turns && d < comparison->device_count; d++)
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
        for (size_t a = 0; (all || comparison->layout->turns) && a < comparison->count; a++)
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
    const struct statistics *best = &row->seeds.figures[SEED_BEST_TOP1];
    if (compare_wilson(row, &low, &high))
        put(text, style,
            _("%s%zu: best top-1 %.2f %%, 95 %% interval %.2f to %.2f %% (Wilson, %zu images)\n"),
            style->bullet, number, row->figures.best_top1, low, high, row->images);
    else if (row->seeds.counts[SEED_BEST_TOP1] > 1)
        put(text, style,
            _("%s%zu: best top-1 %.2f +- %s %% (mean and 95 %% interval, Student's t), standard "
              "deviation %s, %zu seeds\n"),
            style->bullet, number, best->mean, TEXT_NUMBER(best->ci95, 2), TEXT_NUMBER(best->sd, 2),
            row->seeds.counts[SEED_BEST_TOP1]);
    else if (row->seeds.counts[SEED_BEST_TOP1] == 1)
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

static size_t column_width(const struct comparison *comparison, size_t column)
{
    char cell[CELL];
    size_t widest = text_columns(compare_heading(comparison, column, cell, sizeof cell));
    for (size_t row = 0; row < comparison->count; row++) {
        size_t width = text_columns(compare_cell(comparison, row, column, cell, sizeof cell));
        widest = width > widest ? width : widest;
    }
    return widest;
}

/* Appends a line of the text table: a row, or the headings if `row` is comparison->count. */
static void write_line(const struct comparison *comparison, size_t row, const size_t *widths,
                       struct text *text)
{
    char cell[CELL];
    size_t columns = compare_columns(comparison);
    for (size_t c = 0; c < columns; c++) {
        int width = (int)widths[c];
        if (row == comparison->count)
            compare_heading(comparison, c, cell, sizeof cell);
        else
            compare_cell(comparison, row, c, cell, sizeof cell);
        const bool left = compare_column_is_text(comparison, c);
        if (left && c + 1 == columns)
            width = 0;
        int padding = width - (int)text_columns(cell);
        padding = padding > 0 ? padding : 0;
        text_append(text, "%*s%s%*s%s", left ? 0 : padding, "", cell, left ? padding : 0, "",
                    c + 1 < columns ? "  " : "\n");
    }
}

static void write_text(const struct comparison *comparison, struct text *text, FILE *stream)
{
    size_t widths[1 + COMPARE_FIGURES];
    for (size_t c = 0; c < compare_columns(comparison); c++)
        widths[c] = column_width(comparison, c);
    for (size_t row = 0; row <= comparison->count; row++) /* the headings first */
        write_line(comparison, row > 0 ? row - 1 : comparison->count, widths, text);
    text_drain(text, stream);
    text_append(text, "\n");
    write_runs(comparison, &terminal, text);
    write_notes(comparison, &terminal, text, stream);
    if (comparison->front)
        compare_write_front(comparison, comparison->front, text);
}

static void write_markdown_cell(const char *cell, struct text *text)
{
    visible_append_format(text, markdown_append, " %s |", cell);
}

static void write_markdown(const struct comparison *comparison, struct text *text, FILE *stream)
{
    char cell[CELL];
    size_t columns = compare_columns(comparison);
    text_append(text, "|");
    for (size_t c = 0; c < columns; c++)
        write_markdown_cell(compare_heading(comparison, c, cell, sizeof cell), text);
    text_append(text, "\n|");
    for (size_t c = 0; c < columns; c++)
        text_append(text, c == 1 ? " --- |" : " ---: |");
    for (size_t row = 0; row < comparison->count; row++) {
        text_append(text, "\n|");
        for (size_t c = 0; c < columns; c++)
            write_markdown_cell(compare_cell(comparison, row, c, cell, sizeof cell), text);
    }
    text_append(text, "\n\n");
    write_runs(comparison, &markdown, text);
    write_notes(comparison, &markdown, text, stream);
    if (comparison->front) {
        text_append(text, "- ");
        compare_write_front(comparison, comparison->front, text);
    }
}

static void write_heading(const char *what, const char *device, struct text *text)
{
    char heading[160];
    snprintf(heading, sizeof heading, "%s %s", what, device);
    text_append(text, ",");
    csv_append(text, heading);
}

static void write_csv_number(double value, const char *end, struct text *text)
{
    if (isfinite(value))
        text_append(text, "%.9g", value);
    text_append(text, "%s", end);
}

static void write_csv_count(uint64_t value, struct text *text)
{
    if (value > 0)
        text_append(text, "%" PRIu64, value);
    text_append(text, ",");
}

static void write_csv_time(const struct comparison *comparison, size_t row, size_t device,
                           struct text *text)
{
    const struct measurement *time = compare_time(comparison, row, device);
    text_append(text, ",");
    write_csv_number(time ? time->ms_per_image.mean : (double)NAN, ",", text);
    write_csv_number(time ? time->ms_per_image.sd : (double)NAN, ",", text);
    write_csv_number(time ? time->ms_per_image.ci95 : (double)NAN, ",", text);
    if (time && time->images > 0)
        text_append(text, "%zu", time->images);
    text_append(text, ",");
    if (time && time->on.threads > 0)
        text_append(text, "%zu", time->on.threads);
    text_append(text, ",");
    if (time && time->memory_bytes > 0)
        text_append(text, "%" PRIu64, time->memory_bytes);
    text_append(text, ",");
    bool first = true;
    for (size_t i = 0; comparison->layout->turns && i < comparison->count; i++)
        if (compare_rows(comparison, device, row, i) == COMPARE_INDISTINGUISHABLE) {
            text_append(text, "%s%zu", first ? "" : " ", i + 1);
            first = false;
        }
    text_append(text, ",");
    write_csv_number(time ? time->joules_per_image : (double)NAN, ",", text);
    write_csv_number(time ? time->watts : (double)NAN, ",", text);
    if (time && comparison->rows[row].run)
        text_append(text, "%s", compare_precision(time));
}

/* Appends the results other than top-1. */
static void write_csv_results(const struct run_figures *figures, struct text *text)
{
    write_csv_number(figures->best_top1, ",", text);
    write_csv_number(figures->top5, ",", text);
    write_csv_number(figures->loss, ",", text);
    write_csv_number(figures->validation_loss, ",", text);
    write_csv_number(figures->best_validation_loss, ",", text);
    write_csv_number(figures->test_top1, ",", text);
    write_csv_number(figures->test_top5, ",", text);
    write_csv_number(figures->test_loss, "", text);
}

/* Appends the number of seeds and their standard deviations and intervals, and Wilson's interval.
 */
static void write_csv_spread(const struct compare_row *row, struct text *text)
{
    double low = NAN, high = NAN;
    compare_wilson(row, &low, &high);
    text_append(text, ",");
    if (row->seeds.runs > 0)
        text_append(text, "%zu", row->seeds.runs);
    for (size_t f = 0; f < SEED_FIGURES; f++) {
        const struct statistics *figure = &row->seeds.figures[f];
        const bool known = row->seeds.runs > 0 && row->seeds.counts[f] > 1;
        text_append(text, ",");
        write_csv_number(known ? figure->sd : (double)NAN, ",", text);
        write_csv_number(known ? figure->ci95 : (double)NAN, "", text);
    }
    text_append(text, ",");
    write_csv_number(low, ",", text);
    write_csv_number(high, "", text);
}

static void write_csv_row(const struct comparison *comparison, size_t number, struct text *text)
{
    const struct compare_row *row = &comparison->rows[number];
    text_append(text, "%zu,", number + 1);
    csv_append(text, row->name);
    text_append(text, ",");
    text_append(text, "%s,", row->run ? "no" : "yes");
    csv_append(text, row->network);
    text_append(text, ",");
    csv_append(text, row->technique);
    text_append(text, ",");
    csv_append(text, row->data);
    text_append(text, ",");
    csv_append(text, row->accuracy);
    text_append(text, ",");
    write_csv_number(row->figures.top1, ",", text);
    write_csv_count(row->parameters, text);
    write_csv_number(row->efficiency, ",", text);
    write_csv_count(row->flops, text);
    write_csv_count(row->model_bytes, text);
    if (row->memory_bytes > 0)
        text_append(text, "%" PRIu64, row->memory_bytes);
    text_append(text, ",");
    write_csv_results(&row->figures, text);
    for (size_t d = 0; d < comparison->device_count; d++)
        write_csv_time(comparison, number, d, text);
    for (size_t i = 0; i < comparison->field_count; i++) {
        const struct compare_figure setting = {.kind = FIGURE_SETTING,
                                               .field = comparison->fields[i]};
        char value[CELL];
        text_append(text, ",");
        csv_append(text, compare_figure_text(comparison, number, &setting, value, sizeof value));
    }
    write_csv_spread(row, text);
    if (comparison->front)
        text_append(text, ",%s", compare_front_has(comparison->front, number) ? "yes" : "no");
    text_append(text, "\n");
}

static void write_csv(const struct comparison *comparison, struct text *text, FILE *stream)
{
    text_append(text, "row,run,published,network,technique,data,accuracy,top1,parameters,e_p,flops,"
                      "model_bytes,training_memory_bytes,best_top1,top5,loss,validation_loss,"
                      "best_validation_loss,test_top1,test_top5,test_loss");
    for (size_t d = 0; d < comparison->device_count; d++) {
        static const char *const columns[] = {"ms",
                                              "sd",
                                              "ci95",
                                              "images",
                                              "threads",
                                              "memory_bytes",
                                              "not distinguishable from row",
                                              "joules_per_image",
                                              "watts",
                                              "precision"};
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
            write_heading(columns[i], comparison->devices[d], text);
    }
    for (size_t i = 0; i < comparison->field_count; i++)
        text_append(text, ",%s", comparison->fields[i]->key);
    text_append(text, ",seeds");
    for (size_t f = 0; f < SEED_FIGURES; f++)
        text_append(text, ",%s_sd,%s_ci95", seed_figure_names[f], seed_figure_names[f]);
    text_append(text, ",best_top1_low,best_top1_high%s\n", comparison->front ? ",pareto" : "");
    for (size_t row = 0; row < comparison->count; row++) {
        write_csv_row(comparison, row, text);
        text_drain(text, stream);
    }
}

void compare_write(const struct comparison *comparison, enum compare_format format,
                   struct text *text, FILE *stream)
{
    static void (*const writers[])(const struct comparison *, struct text *,
                                   FILE *) = {[COMPARE_TEXT] = write_text,
                                              [COMPARE_JSON] = compare_write_json,
                                              [COMPARE_CSV] = write_csv,
                                              [COMPARE_MARKDOWN] = write_markdown};
    struct compare_layout layout;
    const struct comparison view = compare_with_layout(comparison, &layout);
    writers[format](&view, text, stream);
    text_drain(text, stream);
}
