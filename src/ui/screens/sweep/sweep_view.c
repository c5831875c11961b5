/* Drawing of the screen Sweep. The last lines of each view are text: a summary of the set-up, or
 * the selected cell. The table uses the other lines and scrolls in both directions; a cell shows a
 * shade and a number, or its state. Below the last row of a group of seeds is a row of means, which
 * cannot be selected. */
#include "ui/screens/sweep/internal.h"

#include "base/language.h"
#include "base/text.h"
#include "runs/settings/settings.h"
#include "studies/sweep/sweep_after.h"
#include "studies/sweep/sweep_estimate.h"
#include "ui/shared/form.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/listing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL_COLUMNS = 11, GROUP_CELL_COLUMNS = 17 }; /* the latter fits "0.7123 +- 0.013" */

/* Returns the columns of a cell, with the gap after it. */
static int cell_columns(const struct sweep *sweep)
{
    return record_settings(&sweep->cells[0].config).seed_group[0] ? GROUP_CELL_COLUMNS
                                                                  : CELL_COLUMNS;
}

static struct rect cut_bottom(struct rect *area, int rows)
{
    rows = rows > area->rows ? area->rows : rows;
    area->rows -= rows;
    return (struct rect){area->row + area->rows, area->column, rows, area->columns};
}

/* --- set up --- */

static int label_columns(void)
{
    size_t widest = 0;
    for (size_t row = 0; row < SWEEP_ROWS; row++) {
        size_t columns = columns_of(sweep_set_label((enum sweep_row)row));
        widest = columns > widest ? columns : widest;
    }
    return (int)widest + 4;
}

enum { BOX = 4, GAP = 2 }; /* columns of "[x] " before an item, and of the gap after it */

/* Returns the columns of an item such as "[x] lenet", with the gap after it; a long name is
 * shortened to `room` columns. */
static int item_columns(const char *text, int room)
{
    const int columns = (int)columns_of(text) + BOX;
    return (columns < room ? columns : room) + GAP;
}

/* Returns the first item to show so that the selected item is visible. */
static size_t first_item(const struct sweep_list *list, int room)
{
    size_t first = 0;
    int used = 0;
    for (size_t i = 0; i <= list->selected; i++)
        used += item_columns(list->items[i].text, room);
    while (used - GAP > room && first < list->selected)
        used -= item_columns(list->items[first++].text, room);
    return first;
}

static void draw_items(struct app *app, struct rect line, const struct sweep_list *list)
{
    struct canvas *canvas = &app->canvas;
    struct rect inside = {line.row, line.column + 2, line.rows, line.columns - 4};
    size_t first = first_item(list, inside.columns), i = first;
    int at = 0;
    for (; i < list->count; i++) {
        const int columns = item_columns(list->items[i].text, inside.columns);
        const bool selected = i == list->selected;
        const enum role role = selected ? ROLE_FOCUS : ROLE_TEXT;
        struct rect place = {inside.row, inside.column + at, 1, columns - GAP};
        if (at + columns - GAP > inside.columns)
            break;
        if (selected) {
            draw_text(canvas, line, 0, at + 1, ROLE_KEY, ">");
            draw_cursor(canvas, inside, 0, at + 1);
            targets_add(&canvas->targets, place, ' ', 1); /* Enter types another value */
        } else
            targets_add_column(&canvas->targets, place, i, list->selected);
        draw_text(canvas, place, 0, 0, role, list->items[i].chosen ? "[x] " : "[ ] ");
        draw_fitted_name(canvas, place, 0, BOX, role, list->items[i].text);
        at += columns;
    }
    if (first > 0)
        draw_text(canvas, line, 0, 0, ROLE_FAINT, canvas->glyphs->left);
    if (i < list->count)
        draw_text(canvas, line, 0, line.columns - 1, ROLE_FAINT, canvas->glyphs->right);
}

static void draw_edit(struct app *app, struct rect line)
{
    const struct line_edit *edit = &sweep_model(app)->set.edit;
    size_t cursor, room = line.columns > 1 ? (size_t)line.columns - 1 : 1;
    size_t start = line_edit_window(edit, room, &cursor);
    draw_fill(&app->canvas, line, ROLE_EDIT);
    draw_text(&app->canvas, line, 0, 0, ROLE_EDIT, edit->text + start);
    draw_cursor(&app->canvas, line, 0, (int)cursor);
}

/* Returns the text that an empty row shows. */
static const char *empty_text(enum sweep_row row)
{
    if (row == SWEEP_ROW_NAME)
        return _("(after networks and data)");
    if (row == SWEEP_ROW_VARY)
        return _("(as in lr=0.1,0.01)");
    if (row == SWEEP_ROW_AFTER)
        return _("(as in prune:0.5+quantize:percentile)");
    if (row == SWEEP_ROW_ITERATIONS || row == SWEEP_ROW_EPOCHS)
        return _("(the other one counts)");
    return _("(none)");
}

static void draw_row(struct app *app, struct rect line, enum sweep_row row)
{
    char text[FORM_TEXT];
    const struct sweep_set *set = &sweep_model(app)->set;
    bool focused = row == set->focus;
    int labels = label_columns();
    struct rect value = {line.row, line.column + labels, line.rows, line.columns - labels};
    draw_text(&app->canvas, line, 0, 0, focused ? ROLE_KEY : ROLE_TEXT, focused ? ">" : " ");
    draw_text(&app->canvas, line, 0, 2, focused ? ROLE_STRONG : ROLE_FAINT, sweep_set_label(row));
    if (focused && set->editing) {
        draw_edit(app, value);
        return;
    }
    if (focused && sweep_set_is_list(row)) {
        draw_items(app, value, &set->lists[row]);
        return;
    }
    value.column += 2;
    value.columns -= 2;
    sweep_set_text(set, row, text, sizeof text);
    const enum role role = !text[0] ? ROLE_FAINT : focused ? ROLE_FOCUS : ROLE_TEXT;
    if (sweep_set_is_list(row))
        draw_wrapped(&app->canvas, value, 0, role, text); /* whole values, then a mark */
    else
        draw_fitted_name(&app->canvas, value, 0, 0, role, text[0] ? text : empty_text(row));
    if (focused)
        draw_cursor(&app->canvas, value, 0, 0);
}

static void append_memory(const struct sweep *sweep, struct text *text)
{
    char needed[32], available[32];
    const struct sweep_cell *largest = NULL;
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep_is_due(sweep, i) && sweep->cells[i].forecast_known &&
            (!largest || sweep->cells[i].memory_needed > largest->memory_needed))
            largest = &sweep->cells[i];
    if (largest && largest->memory_free > 0)
        text_append(text, _(" At most %s of memory (forecast), %s are free."),
                    text_bytes(largest->memory_needed, needed, sizeof needed),
                    text_bytes(largest->memory_free, available, sizeof available));
    else if (largest)
        text_append(text, _(" At most %s of memory (forecast)."),
                    text_bytes(largest->memory_needed, needed, sizeof needed));
}

static void append_reason(const struct sweep *sweep, struct text *text)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->cells[i].state == SWEEP_SKIPPED || sweep->cells[i].state == SWEEP_CANNOT_FIT) {
            text_append(text, " %s: %s.", sweep->cells[i].id, sweep->cells[i].reason.why);
            return;
        }
}

static enum role describe_plan(const struct sweep_model *model, const struct sweep_job *job,
                               struct text *text)
{
    char counts[200], left[160], error[1200];
    const struct error *problem =
        model->set.edit_error.kind != ERROR_NONE ? &model->set.edit_error : &model->problem;
    if (problem->kind != ERROR_NONE) {
        text_append(text, "! %s",
                    problem->what[0] ? setting_error_format(problem, error, sizeof error)
                                     : problem->why);
        return ROLE_BAD;
    }
    if (model->set.changed || model->planned < model->plan.count) {
        text_append(text, _("Checking cell %zu of %zu ..."), model->planned, model->plan.count);
        return ROLE_FAINT;
    }
    struct sweep_time time = sweep_estimate_left(&job->estimate, &model->plan);
    text_append(text, _("%s. Time (estimate): %s."),
                sweep_counts_text(&model->plan, counts, sizeof counts),
                sweep_time_text(&time, 1, left, sizeof left));
    append_memory(&model->plan, text);
    const struct sweep_disk disk = sweep_disk_left(&job->estimate, &model->plan, 1);
    text_append(text, _(" Disk space (forecast): %s."), sweep_disk_text(&disk, left, sizeof left));
    append_reason(&model->plan, text);
    return ROLE_TEXT;
}

/* Draws a paragraph of at most `most` lines at the bottom of `area` and removes its rows from it.
 */
static void draw_paragraph(struct app *app, struct rect *area, enum role role,
                           const char *sentences, int most)
{
    int room = area->columns > 2 ? area->columns - 2 : 1;
    int lines = (int)columns_lines(sentences, (size_t)room);
    struct rect bottom = cut_bottom(area, lines < most ? lines : most);
    bottom.column++;
    bottom.columns -= 2;
    if (!rect_is_empty(bottom))
        draw_wrapped(&app->canvas, bottom, 0, role, sentences);
}

void sweep_draw_set_up(struct app *app, struct rect area)
{
    struct sweep_model *model = sweep_model(app);
    struct sweep_job *job = &app->shared.sweep;
    struct text text = {0};
    const struct rect whole = area;
    enum role role = describe_plan(model, job, &text);
    int most = area.rows - SWEEP_ROWS - 1;
    draw_paragraph(app, &area, role, text.data ? text.data : "", most < 3 ? 3 : most);
    text_free(&text);
    size_t rows = area.rows > 0 ? (size_t)area.rows : 0;
    model->set.top = listing_scroll(model->set.top, model->set.focus, rows, SWEEP_ROWS);
    for (size_t i = 0; i < rows && model->set.top + i < SWEEP_ROWS; i++) {
        struct rect line = {area.row + (int)i, area.column, 1, area.columns};
        if (!model->set.editing)
            targets_add_row(&app->canvas.targets, line, model->set.top + i, model->set.focus);
        draw_row(app, line, (enum sweep_row)(model->set.top + i)); /* its targets lie on top */
    }
    if (model->set.editing && completion_is_shown(&model->set.completion))
        completion_draw(&model->set.completion, &app->canvas, whole,
                        (int)(model->set.focus - model->set.top), label_columns());
}

/* --- the rows of means below cells that differ in their seed only --- */

/* Returns whether a row of means follows this row of the table: it is the last one of a group of
 * seeds. */
static bool group_ends(const struct sweep *sweep, size_t row)
{
    const size_t columns = sweep_grid_columns(&sweep->grid), rows = sweep->count / columns;
    if (!sweep_seeds_are_alike(sweep, row * columns, row * columns))
        return false; /* it is in no group */
    for (size_t later = row + 1; later < rows; later++)
        if (sweep_seeds_are_alike(sweep, row * columns, later * columns))
            return false;
    return true;
}

/* Returns the number of seeds of a cell's group that have the figure, and sets *all to that of all;
 * 0 if the cell is in no group. */
static size_t group_count(const struct sweep *sweep, size_t member, enum sweep_measure measure,
                          size_t *all)
{
    struct statistics statistics;
    size_t count = 0;
    *all = 0;
    for (size_t i = 0; i < sweep->count; i++)
        *all += sweep_seeds_are_alike(sweep, member, i);
    return *all > 0 && sweep_seeds_compute(sweep, member, measure, &count, &statistics) ? count : 0;
}

/* Writes the label of that row, with the device if the sweep has several. Returns `text`. */
static char *group_label(const struct sweep *sweep, size_t row, char *text, size_t size)
{
    size_t all;
    const struct run_config *config = &sweep->cells[row * sweep_grid_columns(&sweep->grid)].config;
    group_count(sweep, row * sweep_grid_columns(&sweep->grid), SWEEP_LOSS, &all);
    if (sweep_grid_devices(&sweep->grid) > 1)
        snprintf(text, size, ngettext("mean of %zu seed, %s", "mean of %zu seeds, %s", all), all,
                 machine_settings(config).device);
    else
        snprintf(text, size, ngettext("mean of %zu seed", "mean of %zu seeds", all), all);
    return text;
}

/* Writes mean and 95 % interval of a figure over the seeds of a cell, or "-" if none has it.
 * Returns `text`. */
static char *group_text(const struct sweep *sweep, size_t member, enum sweep_measure measure,
                        char *text, size_t size)
{
    struct statistics statistics;
    size_t count;
    if (!sweep_seeds_compute(sweep, member, measure, &count, &statistics) || count == 0)
        snprintf(text, size, "-");
    else if (measure == SWEEP_MEMORY || measure == SWEEP_FORECAST)
        text_bytes((uint64_t)statistics.mean, text, size);
    else
        statistics_mean(statistics.mean, statistics.ci95, text, size);
    return text;
}

/* --- cells --- */

/* Returns the shade of a value, from 0 for the least to 7 for the greatest value of the sweep. */
static size_t sweep_shade(const struct sweep *sweep, enum sweep_measure measure, double value)
{
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (size_t i = 0; i < sweep->count; i++) {
        double other = sweep_cell_value(&sweep->cells[i], measure);
        low = fmin(low, other); /* fmin and fmax ignore NaN */
        high = fmax(high, other);
    }
    bool log = measure != SWEEP_LOSS && low > 0;
    double span = log ? log2(high / low) : high - low;
    double place = log ? log2(value / low) : value - low;
    return span > 0 && place >= 0 ? (size_t)fmin(7, place / span * 8) : 0;
}

/* Returns the translated state of a cell; in English it has at most CELL_COLUMNS - 1 columns. */
static const char *state_word(const struct sweep_cell *cell)
{
    static const char *const words[SWEEP_STATES] = {[SWEEP_WAITING] = N_("waiting"),
                                                    [SWEEP_RUNNING] = N_("running"),
                                                    [SWEEP_DONE] = "-",
                                                    [SWEEP_DIVERGED] = N_("diverged"),
                                                    [SWEEP_INTERRUPTED] = N_("partial"),
                                                    [SWEEP_OUT_OF_MEMORY] = N_("no memory"),
                                                    [SWEEP_DISK_FULL] = N_("disk full"),
                                                    [SWEEP_FAILED] = N_("failed"),
                                                    [SWEEP_CANNOT_FIT] = N_("too large"),
                                                    [SWEEP_SKIPPED] = N_("skipped")};
    return gettext(words[cell->state]);
}

static enum role state_role(const struct sweep_cell *cell)
{
    static const enum role roles[SWEEP_STATES] = {
        [SWEEP_WAITING] = ROLE_FAINT,       [SWEEP_RUNNING] = ROLE_STRONG,
        [SWEEP_DONE] = ROLE_TEXT,           [SWEEP_DIVERGED] = ROLE_WARNING,
        [SWEEP_INTERRUPTED] = ROLE_WARNING, [SWEEP_OUT_OF_MEMORY] = ROLE_BAD,
        [SWEEP_DISK_FULL] = ROLE_BAD,       [SWEEP_FAILED] = ROLE_BAD,
        [SWEEP_CANNOT_FIT] = ROLE_WARNING,  [SWEEP_SKIPPED] = ROLE_FAINT};
    return roles[cell->state];
}

static void draw_cell(struct app *app, struct rect area, size_t index)
{
    char text[48];
    const struct sweep_model *model = sweep_model(app);
    const struct sweep_job *job = &app->shared.sweep;
    const struct sweep_cell *cell = &job->sweep.cells[index];
    bool selected = index == model->selected;
    double value = sweep_cell_value(cell, model->measure);
    enum role role = selected ? ROLE_FOCUS : state_role(cell);
    if (selected) {
        draw_fill(&app->canvas, area, ROLE_FOCUS);
        draw_cursor(&app->canvas, area, 0, 0);
    }
    if (!isnan(value)) {
        size_t shade = sweep_shade(&job->sweep, model->measure, value);
        sweep_cell_text(cell, model->measure, text, sizeof text);
        draw_text(&app->canvas, area, 0, 0, selected ? ROLE_FOCUS : ROLE_GAUGE,
                  app->canvas.glyphs->levels[shade]);
    } else if (cell->state == SWEEP_RUNNING && cell->iterations > 0)
        snprintf(text, sizeof text, "> %.0f %%",
                 100.0 * (double)cell->iteration / (double)cell->iterations);
    else
        snprintf(text, sizeof text, "%s", state_word(cell));
    draw_right(&app->canvas, area, 0, role, text);
}

static int row_label_columns(const struct sweep *sweep, int columns)
{
    char label[160];
    size_t widest = columns_of(_("batch")), per_row = sweep_grid_columns(&sweep->grid);
    for (size_t row = 0; row < sweep->count / per_row; row++) {
        size_t width =
            columns_of(sweep_grid_row_label(&sweep->grid, row, true, label, sizeof label));
        widest = width > widest ? width : widest;
    }
    for (size_t row = 0; row < sweep->count / per_row; row++)
        if (group_ends(sweep, row)) {
            size_t width = columns_of(group_label(sweep, row, label, sizeof label));
            widest = width > widest ? width : widest;
            break; /* all have labels of about this length */
        }
    int most = columns - 3 - cell_columns(sweep) - 1;
    return (int)widest < most ? (int)widest : most > 0 ? most : 0;
}

/* Returns the place of the `i`-th shown column of a line. */
static struct rect cell_place(const struct sweep *sweep, struct rect line, int labels, size_t i)
{
    const int columns = cell_columns(sweep);
    return (struct rect){line.row, line.column + labels + 2 + (int)i * columns, 1, columns - 1};
}

/* Draws the means of the group of seeds whose last row is `row`. */
static void draw_means(struct app *app, struct rect line, size_t row, size_t shown, int labels)
{
    char text[160];
    const struct sweep_model *model = sweep_model(app);
    const struct sweep *sweep = &app->shared.sweep.sweep;
    const size_t columns = sweep_grid_columns(&sweep->grid);
    struct rect name = {line.row, line.column + 1, 1, labels};
    draw_text(&app->canvas, name, 0, 0, ROLE_HEADING, group_label(sweep, row, text, sizeof text));
    for (size_t i = 0; i < shown && model->left + i < columns; i++)
        draw_right(
            &app->canvas, cell_place(sweep, line, labels, i), 0, ROLE_HEADING,
            group_text(sweep, row * columns + model->left + i, model->measure, text, sizeof text));
}

/* Draws a line of the table; row -1 is the heading with the batch sizes. */
static void draw_line(struct app *app, struct rect line, long row, size_t shown, int labels)
{
    char label[160];
    const struct sweep_model *model = sweep_model(app);
    const struct sweep_job *job = &app->shared.sweep;
    size_t columns = sweep_grid_columns(&job->sweep.grid);
    const struct sweep_axis *batches = sweep_grid_axis(&job->sweep.grid, KEY(batch));
    struct rect name = {line.row, line.column + 1, 1, labels};
    if (row >= 0)
        draw_text(&app->canvas, name, 0, 0,
                  (size_t)row == model->selected / columns ? ROLE_STRONG : ROLE_TEXT,
                  sweep_grid_row_label(&job->sweep.grid, (size_t)row, true, label, sizeof label));
    else
        draw_text(&app->canvas, name, 0, 0, ROLE_HEADING, _("batch"));
    for (size_t i = 0; i < shown && model->left + i < columns; i++) {
        struct rect cell = cell_place(&job->sweep, line, labels, i);
        struct target_cell here = {(size_t)row, model->left + i};
        struct target_cell selected = {model->selected / columns, model->selected % columns};
        if (row >= 0) {
            draw_cell(app, cell, (size_t)row * columns + model->left + i);
            targets_add_cell(&app->canvas.targets, cell, here, selected);
        } else
            draw_right(&app->canvas, cell, 0, ROLE_HEADING, batches->values[model->left + i]);
    }
}

static void draw_marks(struct app *app, struct rect line, size_t shown)
{
    const struct sweep_model *model = sweep_model(app);
    const struct sweep_job *job = &app->shared.sweep;
    const struct glyphs *glyphs = app->canvas.glyphs;
    if (model->left > 0)
        draw_text(&app->canvas, line, 0, 0, ROLE_FAINT, glyphs->left);
    if (model->left + shown < sweep_grid_columns(&job->sweep.grid))
        draw_text(&app->canvas, line, 0, line.columns - 1, ROLE_FAINT, glyphs->right);
}

/* Returns the lines of the rows from `top` to `row`, with the means between and after them. */
static size_t lines_down_to(const struct sweep *sweep, size_t top, size_t row)
{
    size_t lines = 0;
    for (size_t i = top; i <= row; i++)
        lines += group_ends(sweep, i) ? 2 : 1;
    return lines;
}

static void draw_table(struct app *app, struct rect area)
{
    struct sweep_model *model = sweep_model(app);
    struct sweep_job *job = &app->shared.sweep;
    size_t columns = sweep_grid_columns(&job->sweep.grid), rows = job->sweep.count / columns;
    int labels = row_label_columns(&job->sweep, area.columns);
    int room = (area.columns - labels - 3) / cell_columns(&job->sweep);
    size_t shown = room > 0 ? (size_t)room : 0, lines = area.rows > 1 ? (size_t)area.rows - 1 : 0;
    model->top = listing_scroll(model->top, model->selected / columns, lines, rows);
    while (lines_down_to(&job->sweep, model->top, model->selected / columns) > lines &&
           model->top < model->selected / columns)
        model->top++;
    model->left = listing_scroll(model->left, model->selected % columns, shown, columns);
    struct rect line = {area.row, area.column, area.rows > 0, area.columns};
    draw_line(app, line, -1, shown, labels);
    draw_marks(app, line, shown);
    size_t row = model->top, used = 0;
    for (; used < lines && row < rows; row++) {
        line.row++, used++;
        draw_line(app, line, (long)row, shown, labels);
        if (used < lines && group_ends(&job->sweep, row)) {
            line.row++, used++;
            draw_means(app, line, row, shown, labels);
        }
    }
    if (lines > 0 && row < rows)
        draw_text(&app->canvas, line, 0, 0, ROLE_FAINT, app->canvas.glyphs->down);
    if (lines > 0 && model->top > 0)
        draw_text(&app->canvas, (struct rect){area.row + 1, area.column, 1, area.columns}, 0, 0,
                  ROLE_FAINT, app->canvas.glyphs->up);
}

/* Writes the details of the selected cell. */
static void describe_cell(const struct sweep_model *model, const struct sweep_job *job,
                          struct text *text)
{
    char duration[32], figure[48], reason[1200];
    const struct sweep_cell *cell = &job->sweep.cells[model->selected];
    const char *state = sweep_state_words(cell->state);
    if (cell->reason.why[0] && cell->state != SWEEP_DONE)
        text_append(text, "%s: %s: %s.", cell->id, state,
                    sweep_reason_text(cell, reason, sizeof reason));
    else
        text_append(text, "%s: %s.", cell->id, state);
    if (cell->state == SWEEP_DONE && cell->result.known) {
        text_append(text, _(" %.4g ms/image, loss %s, memory %s."),
                    cell->result.figures.training_ms, TEXT_NUMBER(cell->result.figures.loss, 4),
                    sweep_cell_text(cell, SWEEP_MEMORY, figure, sizeof figure));
        if (cell->result.figures.first_negative_iteration > 0)
            text_append(text, _(" The running mean is negative from iteration %llu on."),
                        (unsigned long long)cell->result.figures.first_negative_iteration);
    }
    const size_t after = sweep_after_count(&job->sweep);
    if (cell->state == SWEEP_DONE && after > 0)
        text_append(text, _(" After training: %zu of %zu measured, %zu failed; e writes them."),
                    after - cell->after_due - cell->after_failed, after, cell->after_failed);
    size_t seeds;
    const size_t known = group_count(&job->sweep, model->selected, model->measure, &seeds);
    if (known > 0)
        text_append(
            text, _(" Its %zu seeds, %zu of which are known: %s (mean, 95 %% interval)."), seeds,
            known, group_text(&job->sweep, model->selected, model->measure, figure, sizeof figure));
    double seconds = sweep_estimate_cell(&job->estimate, cell);
    if (sweep_is_due(&job->sweep, model->selected) && seconds >= 0)
        text_append(text, _(" It would take about %s (estimate)."),
                    text_duration(seconds, duration, sizeof duration));
    if (cell->run[0] && cell->state != SWEEP_WAITING)
        text_append(text, _(" Enter shows its run."));
}

static void describe_sweep(const struct sweep_job *job, char *text, size_t size)
{
    char left[160];
    size_t done = sweep_count_computed(&job->sweep), all = job->sweep.count;
    struct sweep_time time = sweep_estimate_left(&job->estimate, &job->sweep);
    if (job->paused)
        snprintf(text, size, _("Paused: %zu of %zu done; space goes on."), done, all);
    else if (job->on && time.known > 0)
        snprintf(text, size, _("Running: %zu of %zu done; left (estimate): %s."), done, all,
                 sweep_time_text(&time, 1, left, sizeof left));
    else if (job->on)
        snprintf(text, size, _("Running: %zu of %zu done."), done, all);
    else if (time.known + time.unknown > 0)
        snprintf(text, size, _("Not running: %zu of %zu done; r goes on."), done, all);
    else
        snprintf(text, size, _("Finished: %zu of %zu done."), done, all);
}

/* Draws the state of the sweep and, if it fits, how many cells are in each state. */
static void draw_state(struct app *app, struct rect area)
{
    char sentence[480], counts[200];
    describe_sweep(&app->shared.sweep, sentence, sizeof sentence);
    sweep_counts_text(&app->shared.sweep.sweep, counts, sizeof counts);
    int column = draw_text(&app->canvas, area, 0, 1, ROLE_STRONG, sentence) + 2;
    if (column + (int)columns_of(counts) <= area.columns)
        draw_text(&app->canvas, area, 0, column, ROLE_FAINT, counts);
}

void sweep_draw_cells(struct app *app, struct rect area)
{
    struct sweep_model *model = sweep_model(app);
    struct sweep_job *job = &app->shared.sweep;
    struct text text = {0};
    if (job->sweep.count == 0) {
        draw_wrapped(
            &app->canvas, area, 0, ROLE_FAINT,
            _("No sweep is open: set one up (v) and start it with r, or open an earlier one."));
        return;
    }
    describe_cell(model, job, &text);
    draw_paragraph(app, &area, ROLE_TEXT, text.data ? text.data : "", area.rows > 14 ? 3 : 2);
    text_free(&text);
    draw_state(app, area);
    draw_text(&app->canvas, area, 1, 1, ROLE_HEADING, sweep_measure_title(model->measure));
    area.row += 2;
    area.rows -= 2;
    draw_table(app, area);
}

/* --- earlier --- */

void sweep_draw_earlier(struct app *app, struct rect area)
{
    struct sweep_model *model = sweep_model(app);
    size_t rows = area.rows > 0 ? (size_t)area.rows : 0;
    if (model->name_count == 0)
        draw_wrapped(&app->canvas, area, 0, ROLE_FAINT,
                     _("There are no sweeps yet: set one up (v) and start it with r."));
    model->name_top =
        listing_scroll(model->name_top, model->name_selected, rows, model->name_count);
    for (size_t i = 0; i < rows && model->name_top + i < model->name_count; i++) {
        size_t nth = model->name_top + i;
        bool selected = nth == model->name_selected;
        struct rect line = {area.row + (int)i, area.column, 1, area.columns};
        if (selected) {
            draw_fill(&app->canvas, line, ROLE_FOCUS);
            draw_cursor(&app->canvas, line, 0, 0);
        }
        draw_text(&app->canvas, line, 0, 0, selected ? ROLE_FOCUS : ROLE_TEXT,
                  selected ? ">" : " ");
        draw_text(&app->canvas, line, 0, 2, selected ? ROLE_FOCUS : ROLE_TEXT, model->names[nth]);
        targets_add_row(&app->canvas.targets, line, nth, model->name_selected);
    }
}
