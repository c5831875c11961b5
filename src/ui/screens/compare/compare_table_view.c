/* The comparison as a table, with notes about the selected row below it, and the list of settings
 * that differ. The columns of mark and network are fixed; Left and Right scroll the others, of
 * which the settings that differ come first. */
#include "ui/screens/compare/internal.h"

#include "base/language.h"
#include "studies/compare/compare.h"
#include "studies/compare/compare_significance.h"
#include "ui/app/run_actions.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/listing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL = 640, NETWORK = 1, HEAD_ROWS = 2, NOTE_ROWS = 4 };
enum { MAX_COLUMNS = 1 + COMPARE_FIGURES };

enum role compare_row_role(const struct compare_model *model, size_t row)
{
    size_t run = compare_model_run_of_row(model, row);
    return run != COMPARE_NO_RUN ? (enum role)(ROLE_SERIES + run % THEME_SERIES) : ROLE_FAINT;
}

int compare_table_rows(const struct compare_model *model)
{
    return HEAD_ROWS + (int)model->table.count + 1 + NOTE_ROWS;
}

/* --- columns --- */

/* The places where the columns are drawn. If not all of them fit, they stand closer together, names
 * are cut, and a network that is the same in all rows is left out, so that what differs comes
 * first. */
struct placing {
    int columns; /* of the table */
    bool narrow;
    int starts[MAX_COLUMNS], widths[MAX_COLUMNS]; /* width 0: not shown */
};

static bool all_fit(const struct compare_model *model, int columns)
{
    int at = 1;
    for (size_t i = 0; i < compare_columns(&model->table); i++)
        at += model->columns.widths[i] + (i > 0 ? 2 : 0);
    return at <= columns;
}

/* Returns whether the cells of a column are names, which lose their middle if they are too long. */
static bool is_name(const struct compare_model *model, size_t column)
{
    struct compare_figure figure;
    return compare_column_figure(&model->table, column, &figure) && compare_figure_is_text(&figure);
}

/* Returns the width of a column; 0: it is left out. */
static int width_of(const struct compare_model *model, const struct placing *placing, size_t column)
{
    enum { NAME = 17 }; /* resnet20-shuffle* */
    const int width = model->columns.widths[column], part = placing->columns / 4,
              most = part > NAME ? part : NAME;
    if (!placing->narrow || !is_name(model, column))
        return width;
    if (column == NETWORK && model->columns.same_network && model->table.field_count > 0)
        return 0;
    return width > most ? most : width;
}

/* Places the columns from `model->left` on behind the first two. Returns whether columns on the
 * right do not fit. */
static bool place_columns(const struct compare_model *model, struct placing *placing)
{
    const int gap = placing->narrow ? 1 : 2;
    const size_t count = compare_columns(&model->table), first = NETWORK + 1 + model->left;
    int at = 1;
    bool cut = false;
    for (size_t i = 0; i < count; i++) {
        int width = width_of(model, placing, i);
        const int room = placing->columns - at;
        placing->widths[i] = placing->starts[i] = 0;
        cut = cut || (width > room && i > first);
        if (cut || width == 0 || (i > NETWORK && i < first))
            continue;
        placing->starts[i] = at;
        placing->widths[i] = width < room ? width : room > 0 ? room : 0;
        at += width + gap;
    }
    return cut;
}

/* Scrolls so that a column that was asked for is among those shown. */
static void show_column(struct compare_model *model, struct placing *placing)
{
    const size_t show = model->columns.show;
    if (show > NETWORK && show - NETWORK - 1 < model->left)
        model->left = show - NETWORK - 1;
    place_columns(model, placing);
    while (show > NETWORK && placing->widths[show] == 0 && model->left < show - NETWORK - 1) {
        model->left++;
        place_columns(model, placing);
    }
    model->columns.show = 0;
}

/* Places the columns as place_columns does, and limits the scrolling to the last column. */
static bool fit_columns(struct compare_model *model, int columns, struct placing *placing)
{
    const size_t count = compare_columns(&model->table);
    const size_t last = count > NETWORK + 2 ? count - NETWORK - 2 : 0;
    placing->columns = columns;
    placing->narrow = !all_fit(model, columns);
    if (model->left > last)
        model->left = last;
    if (model->columns.show > 0)
        show_column(model, placing);
    while (model->left > 0) {
        model->left--;
        if (place_columns(model, placing)) {
            model->left++;
            break;
        }
    }
    return place_columns(model, placing);
}

static void put(struct app *app, struct rect line, size_t column, int start, int width,
                enum role role, const char *text)
{
    struct rect cell = {line.row, line.column + start, line.rows, width};
    if (width <= 0)
        return;
    if (compare_column_is_text(&compare_model(app)->table, column))
        draw_fitted_value(&app->canvas, cell, 0, 0, role, text);
    else
        draw_right(&app->canvas, cell, 0, role, text);
}

/* A click on a heading sorts by that column, on the sort column's heading it reverses the order. */
static void add_heading_target(struct app *app, struct rect line, size_t column, int start,
                               int width)
{
    const struct compare_model *model = compare_model(app);
    const size_t count = compare_columns(&model->table);
    struct rect heading = {line.row, line.column + start, HEAD_ROWS, width};
    const bool sorted = column > 0 && column == model->order.column;
    if (width > 0 && column > 0)
        targets_add(&app->canvas.targets, heading, sorted ? 'r' : 's',
                    sorted ? 1 : (column + count - model->order.column) % count);
}

static void draw_head(struct app *app, struct rect area, const struct placing *placing)
{
    const int *starts = placing->starts, *widths = placing->widths;
    const struct compare_model *model = compare_model(app);
    char upper[CELL], lower[CELL], marked[CELL + 8];
    for (size_t i = 0; i < compare_columns(&model->table); i++) {
        bool sorted = i > 0 && i == model->order.column;
        const int room = widths[i] - sorted;
        compare_model_heading(model, i, room > 0 ? (size_t)room : 0, upper, lower, sizeof upper);
        snprintf(marked, sizeof marked, "%s%s",
                 !sorted                ? ""
                 : model->order.reverse ? app->canvas.glyphs->up
                                        : app->canvas.glyphs->down,
                 lower);
        struct rect line = {area.row, area.column, 1, area.columns};
        add_heading_target(app, line, i, starts[i], widths[i]);
        put(app, line, i, starts[i], widths[i], ROLE_HEADING, upper);
        line.row++;
        put(app, line, i, starts[i], widths[i], sorted ? ROLE_KEY : ROLE_HEADING, marked);
    }
}

static enum role cell_role(const struct compare_model *model, size_t row, size_t column)
{
    return row == model->selected       ? ROLE_FOCUS
           : column <= NETWORK          ? compare_row_role(model, row)
           : model->table.rows[row].run ? ROLE_TEXT
                                        : ROLE_FAINT;
}

/* The names of a column, from the first row shown on. */
struct column_names {
    const struct compare_model *model;
    size_t column;
};

static void write_name(const void *context, size_t index, char *text, size_t size)
{
    const struct column_names *names = context;
    compare_model_cell(names->model, names->model->top + index, names->column, text, size);
}

/* Draws a column of names in `rows` rows. Names that are too long lose their middle, and different
 * ones stay different. */
static void draw_names(struct app *app, struct rect list, int rows, const struct placing *placing,
                       size_t column)
{
    const struct compare_model *model = compare_model(app);
    const struct column_names context = {model, column};
    const int width = placing->widths[column];
    struct short_names names;
    char cell[CELL];
    short_names_make(&names, (size_t)rows, width, app->canvas.glyphs->cut, write_name, &context);
    for (int i = 0; i < rows; i++) {
        const size_t row = model->top + (size_t)i;
        compare_model_cell(model, row, column, cell, sizeof cell);
        put(app, (struct rect){list.row + i, list.column, 1, list.columns}, column,
            placing->starts[column], width, cell_role(model, row, column),
            short_names_get(&names, (size_t)i, cell));
    }
    short_names_free(&names);
}

/* Draws the cells of a row, except for names. */
static void draw_row(struct app *app, struct rect line, size_t row, const struct placing *placing)
{
    const struct compare_model *model = compare_model(app);
    bool selected = row == model->selected;
    char cell[CELL];
    if (selected) {
        draw_fill(&app->canvas, line, ROLE_FOCUS);
        draw_text(&app->canvas, line, 0, 0, ROLE_FOCUS, ">");
        draw_cursor(&app->canvas, line, 0, 0);
    }
    for (size_t i = 0; i < compare_columns(&model->table); i++) {
        if (placing->widths[i] == 0 || is_name(model, i))
            continue;
        compare_model_cell(model, row, i, cell, sizeof cell);
        put(app, line, i, placing->starts[i], placing->widths[i], cell_role(model, row, i), cell);
    }
}

/* --- below the table --- */

static bool any_alike(const struct comparison *table, size_t row)
{
    for (size_t d = 0; d < table->device_count; d++)
        for (size_t i = 0; i < table->count; i++)
            if (compare_rows(table, d, row, i) == COMPARE_INDISTINGUISHABLE)
                return true;
    return false;
}

/* Returns the row of a run with the highest accuracy other than the selected one, or table.count.
 */
static size_t rival_of(const struct compare_model *model)
{
    const struct comparison *table = &model->table;
    size_t best = table->count;
    for (size_t i = 0; i < table->count; i++)
        if (i != model->selected && table->rows[i].run &&
            isfinite(table->rows[i].figures.best_top1) &&
            (best == table->count ||
             table->rows[i].figures.best_top1 > table->rows[best].figures.best_top1))
            best = i;
    return best;
}

/* Draws what is known of the times of the selected row and of the rows with which it took turns or,
 * without any, of the most accurate other row. Returns the next line. */
static int draw_times(struct app *app, struct rect area, int line)
{
    const struct compare_model *model = compare_model(app);
    const struct comparison *table = &model->table;
    const size_t rival = rival_of(model);
    char words[400], text[560];
    for (size_t d = 0; d + table->published_devices < table->device_count; d++)
        for (size_t i = 0; i < table->count; i++) {
            const struct compare_test test = compare_test_times(table, d, model->selected, i);
            if (i == model->selected || !isfinite(test.ratio) ||
                (i != rival && test.turns.blocks == 0))
                continue;
            if (test.kind == TEST_NONE)
                snprintf(words, sizeof words, "%s", test.reason);
            else
                compare_test_text(&test, words, sizeof words);
            snprintf(text, sizeof text,
                     test.kind == TEST_NONE ? _("ms %s: ratio to row %zu %.4g, no verdict: %s")
                     : test.differs
                         ? _("ms %s: ratio to row %zu %.4g, they differ (%s)")
                         : _("ms %s: ratio to row %zu %.4g, no difference is shown (%s)"),
                     table->devices[d], i + 1, test.ratio, words);
            line = draw_wrapped(&app->canvas, area, line, ROLE_TEXT, text);
        }
    return line;
}

/* Draws how the times of one device are to those of another. Returns the row after. */
static int draw_speed_ups(struct app *app, struct rect area, int line)
{
    const struct compare_model *model = compare_model(app);
    const struct comparison *table = &model->table;
    char text[160];
    for (size_t fast = 0; fast < table->device_count; fast++)
        for (size_t slow = 0; slow < table->device_count; slow++) {
            const double factor = compare_speed_up(table, model->selected, fast, slow);
            if (!(factor > 1))
                continue;
            snprintf(text, sizeof text,
                     _("ms %s / ms %s = %.3g (not comparable: measured at "
                       "different times)"),
                     table->devices[slow], table->devices[fast], factor);
            line = draw_wrapped(&app->canvas, area, line, ROLE_TEXT, text);
        }
    return line;
}

/* Returns the origin of the accuracy as part of a sentence about the run and its data. */
static const char *accuracy_words(const char *accuracy)
{
    return strcmp(accuracy, "validation") == 0 ? N_("%.520s on %.512s, validation accuracy")
           : strcmp(accuracy, "measured") == 0 ? N_("%.520s on %.512s, measured accuracy")
                                               : N_("%.520s on %.512s, no accuracy");
}

/* Returns whether the column of E_P is in front: sorted by, or the first of the scrolled ones. */
static bool efficiency_is_in_front(const struct compare_model *model)
{
    struct compare_figure figure;
    const size_t columns[] = {model->order.column, model->left + NETWORK + 1};
    for (size_t i = 0; i < 2; i++)
        if (compare_column_figure(&model->table, columns[i], &figure) &&
            figure.kind == FIGURE_EFFICIENCY)
            return true;
    return false;
}

/* Draws the state of a run that is not done, in the words of the list of runs. Returns the row
 * after. */
static int draw_state(struct app *app, struct rect area, int line, const struct run *run)
{
    char state[FIELD_TEXT], text[FIELD_TEXT + 80];
    struct run_record record;
    for (size_t i = 0; run && i < app_run_count(app); i++) {
        const struct run_entry *entry = app_run_at(app, i);
        if (entry->run != run || entry->snapshot.status == RUN_DONE)
            continue;
        runs_record(entry, &record);
        snprintf(text, sizeof text, _("This run is not done; its state: %s."),
                 run_field_text(FIGURE_STATUS, &record, state, sizeof state));
        return draw_wrapped(&app->canvas, area, line, ROLE_WARNING, text);
    }
    return line;
}

/* Draws the interval of the selected row's accuracy, and the test that compares it with the most
 * accurate other row. Returns the next line. */
static int draw_accuracy(struct app *app, struct rect area, int line)
{
    const struct compare_model *model = compare_model(app);
    const struct compare_row *row = &model->table.rows[model->selected];
    const size_t rival = rival_of(model);
    char words[400], text[480];
    double low, high;
    if (!row->run || !isfinite(row->figures.best_top1))
        return line;
    if (compare_wilson(row, &low, &high)) {
        snprintf(text, sizeof text,
                 _("best top-1 %.2f %%, 95 %% interval %.2f to %.2f %% (Wilson, %zu images)"),
                 row->figures.best_top1, low, high, row->images);
        line = draw_wrapped(&app->canvas, area, line, ROLE_TEXT, text);
    }
    if (rival == model->table.count)
        return line;
    const struct compare_test test = compare_test_rows(&model->table, model->selected, rival);
    compare_test_text(&test, words, sizeof words);
    snprintf(text, sizeof text,
             test.kind == TEST_NONE ? _("best top-1 and that of row %zu: %s")
             : test.differs         ? _("best top-1 differs from that of row %zu (%s)")
                            : _("best top-1: no difference from that of row %zu is shown (%s)"),
             rival + 1, words);
    return draw_wrapped(&app->canvas, area, line, ROLE_TEXT, text);
}

static void draw_notes(struct app *app, struct rect area)
{
    const struct compare_model *model = compare_model(app);
    const struct comparison *table = &model->table;
    const struct compare_row *row = &table->rows[model->selected];
    struct compare_missing missing;
    char text[1400];
    int line = 0;
    if (efficiency_is_in_front(model))
        line =
            draw_wrapped(&app->canvas, area, line, ROLE_STRONG,
                         _("E_P is the best top-1 accuracy in percent per parameter: the higher, "
                           "the more a parameter achieves."));
    if (row->run) {
        snprintf(text, sizeof text, gettext(accuracy_words(row->accuracy)), row->name, row->data);
        line = draw_wrapped(&app->canvas, area, line, ROLE_TEXT, text);
    }
    line = draw_accuracy(app, area, line);
    if (model->published)
        line = draw_wrapped(&app->canvas, area, line, row->run ? ROLE_FAINT : ROLE_TEXT,
                            _("* published: Gondim Santos 2019, CIFAR-10, one image, without "
                              "intervals"));
    line = draw_state(app, area, line, row->run);
    if (any_alike(table, model->selected)) {
        snprintf(text, sizeof text,
                 _("~N: no difference from row N on this device is shown (measured in turns, level "
                   "%g %%, margin %g %%)"),
                 100 * TURNS_LEVEL, 100 * TURNS_MARGIN);
        line = draw_wrapped(&app->canvas, area, line, ROLE_STRONG, text);
    }
    line = draw_times(app, area, line);
    line = draw_speed_ups(app, area, line);
    for (size_t d = 0; d < table->device_count; d++)
        if (compare_energy_unknown(table, model->selected, d)) {
            snprintf(text, sizeof text, _("J/image %s: not known: %s"), table->devices[d],
                     compare_energy_unknown(table, model->selected, d));
            line = draw_wrapped(&app->canvas, area, line, ROLE_FAINT, text);
        }
    for (size_t d = 0; d < table->device_count; d++)
        if (compare_missing(table, model->selected, d, &missing)) {
            snprintf(text, sizeof text, "? %s: %s", missing.what, missing.command);
            line = draw_wrapped(&app->canvas, area, line, ROLE_FAINT, text);
        }
}

void compare_draw_table(struct app *app, struct rect area)
{
    struct compare_model *model = compare_model(app);
    struct placing placing;
    bool notes = area.rows >= 10;
    if (area.rows < HEAD_ROWS + 1 || model->table.count == 0)
        return;
    bool right = fit_columns(model, area.columns - 1, &placing);
    draw_head(app, area, &placing);
    struct rect list = {area.row + HEAD_ROWS, area.column,
                        area.rows - HEAD_ROWS - (notes ? NOTE_ROWS + 1 : 0), area.columns};
    model->top = listing_scroll(model->top, model->selected, (size_t)list.rows, model->table.count);
    int row = 0;
    for (; row < list.rows && model->top + (size_t)row < model->table.count; row++) {
        struct rect line = {list.row + row, list.column, 1, list.columns};
        draw_row(app, line, model->top + (size_t)row, &placing);
        targets_add_row(&app->canvas.targets, line, model->top + (size_t)row, model->selected);
    }
    for (size_t i = 0; i < compare_columns(&model->table); i++)
        if (placing.widths[i] > 0 && is_name(model, i))
            draw_names(app, list, row, &placing, i);
    if (right)
        draw_right(&app->canvas, area, 0, ROLE_FAINT, app->canvas.glyphs->right);
    struct rect below = {list.row + row + 1, area.column + 1, notes ? NOTE_ROWS : 0,
                         area.columns - 2};
    draw_notes(app, below);
}

/* --- settings --- */

enum { LABEL = 17, VALUE = 20 };

/* Returns the cell of a value. */
static struct rect value_cell(struct rect line, size_t column)
{
    line.column += (int)column;
    line.columns -= (int)column;
    if (line.columns > VALUE - 2)
        line.columns = VALUE - 2;
    return line;
}

/* Returns how many runs have a column of whole width beside the labels, at least one. */
static size_t setting_columns(int columns)
{
    const int fitting = (columns - LABEL + 2) / VALUE;
    return fitting > 0 ? (size_t)fitting : 1;
}

static void draw_setting(struct app *app, struct rect line, const struct config_field *field)
{
    const struct compare_model *model = compare_model(app);
    char value[512];
    draw_text(&app->canvas, line, 0, 1, ROLE_FAINT, gettext(field->label));
    const size_t end = LABEL + setting_columns(line.columns) * VALUE;
    for (size_t row = model->left, column = LABEL; row < model->table.count && column < end;
         row++) {
        size_t run = compare_model_run_of_row(model, row);
        if (run == COMPARE_NO_RUN)
            continue;
        config_get(run_config(model->runs[run]), field->key, value, sizeof value);
        draw_fitted_name(&app->canvas, value_cell(line, column), 0, 0, ROLE_TEXT,
                         value[0] ? value : _("none"));
        column += VALUE;
    }
}

static void draw_setting_heads(struct app *app, struct rect line)
{
    const struct compare_model *model = compare_model(app);
    char text[288], mark[24];
    const size_t end = LABEL + setting_columns(line.columns) * VALUE;
    for (size_t row = model->left, column = LABEL; row < model->table.count && column < end;
         row++) {
        size_t run = compare_model_run_of_row(model, row);
        if (run == COMPARE_NO_RUN)
            continue;
        snprintf(text, sizeof text, "%s %s", compare_model_mark(row, mark, sizeof mark),
                 run_facts(model->runs[run])->network);
        draw_fitted_name(&app->canvas, value_cell(line, column), 0, 0, compare_row_role(model, row),
                         text);
        column += VALUE;
    }
}

void compare_draw_settings(struct app *app, struct rect area)
{
    struct compare_model *model = compare_model(app);
    const struct config_field *fields[CONFIG_MAX_FIELDS];
    size_t count = compare_model_differences(model, fields);
    const size_t fitting = setting_columns(area.columns);
    if (model->left + fitting > model->count)
        model->left = model->count > fitting ? model->count - fitting : 0;
    struct rect line = {area.row, area.column, area.rows > 0, area.columns};
    draw_setting_heads(app, line);
    draw_cursor(&app->canvas, line, 0, LABEL);
    if (model->left + fitting < model->count)
        draw_right(&app->canvas, line, 0, ROLE_FAINT, app->canvas.glyphs->right);
    size_t rows = area.rows > 3 ? (size_t)area.rows - 3 : 0;
    if (model->scroll + rows > count)
        model->scroll = count > rows ? count - rows : 0;
    for (size_t i = model->scroll; i < count && i - model->scroll < rows; i++) {
        line.row++;
        draw_setting(app, line, fields[i]);
    }
    struct rect note = {line.row + 2, area.column + 1, area.row + area.rows - line.row - 2,
                        area.columns - 2};
    char text[96];
    if (model->count < 2)
        snprintf(text, sizeof text, _("There is one run: nothing differs."));
    else
        snprintf(text, sizeof text, _("The other %zu settings are the same."),
                 config_field_count - count);
    draw_wrapped(&app->canvas, note, 0, ROLE_FAINT, text);
}
