/* The Loss lab: the arithmetic of Caffe's running mean at one iteration, which shows how the
 * displayed loss can become negative; `tinca explain` prints the same. The view begins at the most
 * interesting iteration, follows the cursor of the curves, and moves with the arrow keys. */
#include "ui/app/app.h"
#include "ui/screens/run/internal.h"

#include "base/language.h"
#include "runs/settings/settings.h"
#include "ui/terminal/columns.h"

#include <math.h>
#include <stdio.h>

enum { MARGIN = 1, INDENT = 2, GAP = 2, PARTS = 10 };

/* --- choice of the iteration --- */

static uint64_t last_of(const struct series *series)
{
    const size_t count = series_count(series);
    return count > 0 ? series->points[count - 1].iteration : 0;
}

/* Chooses the iteration under the curves' cursor if the cursor has moved. */
static void follow_cursor(struct app *app, const struct series *series)
{
    struct loss_model *view = &run_model(app)->loss;
    const struct plot_window *window = &run_model(app)->window;
    if (!window->cursor_on || window->cursor == view->cursor)
        return;
    const size_t point =
        curves_nearest(series, curves_available_x(series, app->shared.axes.x), window->cursor);
    view->cursor = window->cursor;
    if (point < series_count(series))
        view->iteration = series->points[point].iteration;
}

/* Returns the iteration that is shown; 0: there is none. */
static uint64_t shown(struct app *app, const struct run_entry *entry)
{
    struct loss_model *view = &run_model(app)->loss;
    const struct series *series = run_series(entry->run);
    const uint64_t last = last_of(series);
    if (view->series != series)
        *view = (struct loss_model){.series = series, .cursor = NAN};
    follow_cursor(app, series);
    if (view->iteration == 0)
        return loss_lesson_choose(series);
    return view->iteration < last ? view->iteration : last;
}

void loss_view_to_negative(struct app *app, const struct run_entry *entry)
{
    struct loss_model *view = &run_model(app)->loss;
    const uint64_t now = shown(app, entry);
    const uint64_t next = loss_lesson_next_negative(view->series, now);
    if (next > 0)
        view->iteration = next;
    else
        app_say(app, ROLE_FAINT, _("Caffe's mean is nowhere negative in this run."));
}

/* Up and Down scroll; the other moves go to another iteration. */
static void move(struct app *app, const struct run_entry *entry, int how)
{
    struct loss_model *view = &run_model(app)->loss;
    if (!entry || !entry->run)
        return;
    const uint64_t now = shown(app, entry), last = last_of(run_series(entry->run));
    const long part = last / PARTS > 0 ? (long)(last / PARTS) : 1;
    const long across = how == MOVE_LEFT ? -1 : how == MOVE_RIGHT;
    if (how == MOVE_UP || how == MOVE_DOWN)
        view->top = (int)list_move((size_t)view->top, how, 1, (size_t)view->hidden + 1);
    else
        view->iteration = 1 + list_step(now - 1, across + move_steps(how, part, (long)last), last);
}

/* --- drawing --- */

struct widths {
    int label, value, bits, rounding;
};

static int wider(int width, const char *text)
{
    const int columns = (int)columns_of(text);
    return columns > width ? columns : width;
}

static struct widths measure(const struct lesson_line *lines, size_t count)
{
    struct widths widths = {0};
    for (size_t i = 0; i < count; i++) {
        if (!lines[i].value[0])
            continue;
        widths.label = wider(widths.label, lines[i].label);
        widths.value = wider(widths.value, lines[i].value);
        widths.bits = wider(widths.bits, lines[i].bits);
        widths.rounding = wider(widths.rounding, lines[i].rounding);
    }
    return widths;
}

/* Draws a line: label and value, then the rounding and the bits if they fit. */
static void draw_line(struct canvas *canvas, struct rect area, int row,
                      const struct lesson_line *line, const struct widths *widths)
{
    if (!line->value[0]) {
        draw_text(canvas, area, row, 0, ROLE_HEADING, line->label);
        return;
    }
    /* a cut number would be a wrong number, so the label is cut instead */
    const int last = area.columns - (int)columns_of(line->value);
    const int wanted = INDENT + widths->label + GAP, value = wanted < last ? wanted : last;
    const struct rect left = {area.row, area.column, area.rows, value - 1};
    const int beside = value + widths->value + GAP;
    const bool rounding = beside + widths->rounding <= area.columns;
    const bool bits = beside + widths->rounding + GAP + widths->bits <= area.columns;
    draw_text(canvas, left, row, INDENT, ROLE_FAINT, line->label);
    draw_text(canvas, area, row, value, ROLE_TEXT, line->value);
    if (rounding)
        draw_text(canvas, area, row, beside, ROLE_STRONG, line->rounding);
    if (bits)
        draw_text(canvas, area, row, beside + widths->rounding + GAP, ROLE_FAINT, line->bits);
}

static void draw_head(struct canvas *canvas, struct rect area, const struct loss_lesson *lesson,
                      uint64_t last)
{
    char whole[200], brief[96];
    const unsigned long long iteration = lesson->iteration;
    snprintf(whole, sizeof whole,
             _("Iteration %llu of %llu, window %zu (Left, Right: others; f: below zero)"),
             iteration, (unsigned long long)last, lesson->window);
    snprintf(brief, sizeof brief, _("Iteration %llu of %llu, window %zu"), iteration,
             (unsigned long long)last, lesson->window);
    draw_cursor(canvas, area, 0, 0);
    insight_draw_summary(canvas, area, ROLE_STRONG, whole, brief);
}

/* Draws the conclusion from `row` on, which may lie outside the area. Returns the row after it. */
static int draw_sentences(struct canvas *canvas, struct rect area, int row,
                          const struct loss_lesson *lesson)
{
    char text[1200], line[512];
    const char *rest = loss_lesson_conclude(lesson, text, sizeof text);
    while (rest && area.columns > 0) {
        rest = columns_wrap(rest, (size_t)area.columns, line, sizeof line);
        if (row >= 0 && row < area.rows)
            draw_text(canvas, area, row, 0, lesson->caffe < 0 ? ROLE_BAD : ROLE_STRONG, line);
        row++;
    }
    return row;
}

/* Draws how many lines are hidden below the last row. */
static void draw_rest(struct canvas *canvas, struct rect area, int hidden)
{
    char text[80];
    snprintf(text, sizeof text,
             ngettext("Down: %d more line", "Down: %d more lines", (unsigned long)hidden), hidden);
    draw_right(canvas, (struct rect){area.row + area.rows, area.column, 1, area.columns}, 0,
               ROLE_FAINT, text);
}

static void draw_lesson(struct app *app, struct rect area, const struct loss_lesson *lesson)
{
    enum { MARKED_ROWS = 4 }; /* a smaller area has no line for the hidden ones */
    struct loss_model *view = &run_model(app)->loss;
    struct lesson_line lines[LESSON_LINES_MAX];
    const int count = (int)loss_lesson_lines(lesson, lines);
    const struct widths widths = measure(lines, (size_t)count);
    const int rows = area.rows; /* from this row on lines are only counted */
    const int total = count + 1 + draw_sentences(&app->canvas, area, rows, lesson) - rows;
    area.rows -= total > rows && rows >= MARKED_ROWS;
    view->hidden = total > area.rows ? total - area.rows : 0;
    view->top = view->top < view->hidden ? view->top : view->hidden;
    for (int i = view->top; i < count && i - view->top < area.rows; i++)
        draw_line(&app->canvas, area, i - view->top, &lines[i], &widths);
    draw_sentences(&app->canvas, area, count + 1 - view->top, lesson);
    if (area.rows < rows && view->hidden > view->top)
        draw_rest(&app->canvas, area, view->hidden - view->top);
}

static void draw(struct app *app, struct run_entry *entry, const struct run_layout *layout,
                 const struct run_display *display)
{
    (void)display;
    struct error error;
    struct loss_lesson lesson;
    struct loss_model *view = &run_model(app)->loss;
    const struct series *series = run_series(entry->run);
    struct rect area = {layout->view.row, layout->view.column + MARGIN, layout->view.rows,
                        layout->view.columns - 2 * MARGIN};
    const uint64_t iteration = shown(app, entry);
    if (run_facts(entry->run)->mean_only) {
        draw_wrapped(&app->canvas, area, 1, ROLE_FAINT,
                     _("This run was imported from a log that has Caffe's mean, but not the losses "
                       "it was made from."));
        return;
    }
    if (!loss_walk_to(&view->walk, series,
                      measurement_settings(run_config(entry->run)).average_loss, iteration, &lesson,
                      &error)) {
        const int row = draw_wrapped(&app->canvas, area, 1, ROLE_FAINT, error.why);
        draw_wrapped(&app->canvas, area, row, ROLE_FAINT, error.advice);
        return;
    }
    draw_head(&app->canvas, (struct rect){area.row, area.column, 1, area.columns}, &lesson,
              last_of(series));
    area.row++;
    area.rows--;
    draw_lesson(app, area, &lesson);
}

const struct view view_loss = {.name = N_("Loss lab"),
                               .covers_figures = true,
                               .draw = draw,
                               .moves = VIEW_SCROLLS | VIEW_TURNS | VIEW_ENDS | VIEW_PAGES,
                               .move = move};
