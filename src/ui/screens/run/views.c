/* The list of the run screen's views, and their tabs. The first nine have a digit, the last one a
 * letter, since 0 shows the whole curves. */
#include "ui/screens/run/internal.h"

#include "base/language.h"
#include "ui/app/app.h"
#include "ui/terminal/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct view *const views[] = {
    &view_curves, &view_findings, &view_memory, &view_arena, &view_layers,
    &view_gemm,   &view_weights,  &view_sample, &view_loss,  &view_ranks};
enum { VIEWS = sizeof views / sizeof *views };
static const char view_keys[] = "123456789R";
_Static_assert(sizeof view_keys == VIEWS + 1, "each view has a key");

static bool is_available(const struct view *view, const struct run_entry *entry)
{
    return !view->available || (entry && view->available(entry));
}

const struct view *views_shown(const struct app *app, const struct run_entry *entry)
{
    const struct view *view = views[run_model(app)->view];
    return is_available(view, entry) ? view : views[0];
}

struct listing_view *views_table(const struct app *app, const struct view *view)
{
    void *table = (char *)run_model(app) + view->table;
    return view->table > 0 ? table : NULL;
}

bool views_are_offered(const struct run_entry *entry, size_t digit)
{
    return entry && entry->run && digit > 0 && digit <= VIEWS &&
           is_available(views[digit - 1], entry);
}

const char *views_name(size_t digit)
{
    return digit > 0 && digit <= VIEWS ? gettext(views[digit - 1]->name) : NULL;
}

static void show(struct app *app, size_t index)
{
    run_model(app)->view = index;
    run_model(app)->scroll = 0;
}

void views_next(struct app *app, const struct run_entry *entry)
{
    size_t next = run_model(app)->view;
    do
        next = (next + 1) % VIEWS;
    while (!is_available(views[next], entry));
    show(app, next);
}

size_t views_digit(const struct view *view)
{
    size_t index = 0;
    while (views[index] != view)
        index++;
    return index + 1;
}

void views_go(struct app *app, const struct run_entry *entry, size_t digit)
{
    if (digit == 0 || digit > VIEWS)
        app_say(app, ROLE_WARNING, _("There is no such view; the tabs above have their digits."));
    else if (!is_available(views[digit - 1], entry))
        app_say(app, ROLE_WARNING, _("This run has nothing to show there."));
    else
        show(app, digit - 1);
}

/* --- tabs: "1 Curves 2[Findings]3 Memory" --- */

static int tabs_width(const struct run_entry *entry)
{
    int width = 0;
    for (size_t i = 0; i < VIEWS; i++)
        if (is_available(views[i], entry))
            width += 3 + (int)columns_of(gettext(views[i]->name));
    return width;
}

void views_draw_tabs(struct app *app, const struct run_entry *entry, struct rect area)
{
    struct canvas *canvas = &app->canvas;
    const struct view *shown = views_shown(app, entry);
    const bool names = tabs_width(entry) <= area.columns;
    int column = 0;
    if (rect_is_empty(area))
        return;
    for (size_t i = 0; i < VIEWS; i++) {
        const char *name = gettext(views[i]->name);
        if (!is_available(views[i], entry))
            continue;
        const int start = column;
        column = draw_format(canvas, area, 0, column, ROLE_KEY, "%c", view_keys[i]);
        if (views[i] == shown && canvas->cursor_row < 0)
            draw_cursor(canvas, area, 0, column + 1);
        if (views[i] == shown)
            column = draw_format(canvas, area, 0, column, ROLE_STRONG, "[%s]", name);
        else if (names)
            column = draw_format(canvas, area, 0, column, ROLE_FAINT, " %s ", name);
        else
            column = draw_text(canvas, area, 0, column, ROLE_FAINT, " ");
        struct rect tab = {area.row, area.column + start, 1, column - start};
        targets_add(&canvas->targets, tab, view_keys[i], 1);
    }
}

/* --- findings ---
 *
 * The findings about a run, each with the iteration at which it began and what it means. */

/* Draws a finding's kind and place. Returns the row after. */
static int draw_finding(struct app *app, struct rect area, int row, const struct finding *finding)
{
    struct rect words = {area.row, area.column + 2, area.rows, area.columns - 3};
    char text[160];
    draw_text(&app->canvas, area, row, 0, ROLE_BAD, "!");
    const char *kind = finding_kind_words(finding->kind);
    const unsigned long long iteration = finding->iteration;
    if (isnan(finding->epoch))
        snprintf(text, sizeof text, _("%s from iteration %llu"), kind, iteration);
    else
        snprintf(text, sizeof text, _("%s from iteration %llu, epoch %.2f"), kind, iteration,
                 finding->epoch);
    return draw_wrapped(&app->canvas, words, row, ROLE_STRONG, text);
}

static void draw(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_display *display)
{
    const struct rect area = layout->view;
    struct rect inside = {area.row, area.column + 2, area.rows, area.columns - 3};
    int row = 0, count = (int)display->now.finding_count;
    if (count == 0) {
        draw_wrapped(&app->canvas, inside, 1, ROLE_FAINT,
                     _("Nothing found so far. Watched for: negative loss (Caffe's running mean), "
                       "overfitting, divergence, plateaus, memory beyond the forecast."));
        return;
    }
    if (run_model(app)->scroll > count - 1)
        run_model(app)->scroll = count - 1;
    for (int i = run_model(app)->scroll; i < count && row < inside.rows; i++) {
        struct finding finding;
        run_finding(entry->run, (size_t)i, &finding);
        if (i == run_model(app)->scroll)
            draw_cursor(&app->canvas, area, row, 0);
        row = draw_finding(app, area, row, &finding);
        row = draw_wrapped(&app->canvas, inside, row, ROLE_TEXT, finding.text) + 1;
    }
}

static void move(struct app *app, const struct run_entry *entry, int how)
{
    (void)entry;
    run_model(app)->scroll += (int)move_steps(how, 0, 0); /* drawing limits it to the last one */
    run_model(app)->scroll -= run_model(app)->scroll < 0 ? run_model(app)->scroll : 0;
}

const struct view view_findings = {
    .name = N_("Findings"), .draw = draw, .moves = VIEW_SCROLLS, .move = move};

/* --- run model --- */

void run_model_reset(struct run_model *model)
{
    model->scroll = 0;
    model->steady_since = 0;
    curves_invalidate(&model->curves); /* a new run's series may have the address of an old one */
    curve_marks_invalidate(&model->changes);
    model->axis_marks.count = 0;
    model->window = (struct plot_window){0};
    memset(model->holds, 0, sizeof model->holds);
    model->choice.open = false;
}

void run_model_free(struct run_model *model)
{
    curves_free(&model->curves);
    curve_marks_free(&model->changes);
    axis_marks_free(&model->axis_marks);
    plot_free(&model->plot);
    value_range_free(&model->range);
    sample_model_free(&model->sample);
    listing_free(&model->layers);
    listing_free(&model->gemm);
    listing_free(&model->weights);
    listing_free(&model->rank_table);
    run_ranks_free(&model->ranks);
}

/* The extent of the last frame is converted too, because the next key may come before the next
 * frame. */
void run_model_change_axis(struct run_model *model, const struct series *series, enum curve_x from,
                           enum curve_x to)
{
    struct plot_window *window = &model->window;
    double *values[] = {&window->low,         &window->high,           &window->cursor,
                        &window->shown.low,   &window->shown.high,     &window->extent.first,
                        &window->extent.last, &window->extent.all.low, &window->extent.all.high};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        *values[i] = curves_convert(series, from, to, *values[i]);
}
