/* Drawing of the screen Study as one page, which is laid out from its first line and drawn from
 * line model->scroll on: the form, the runs, the state of the pictures, the results of earlier
 * votes. */
#include "ui/screens/study/internal.h"

#include "base/language.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/listing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct page {
    struct study_model *model;
    struct canvas *canvas;
    struct rect area;
    int line, focused; /* next line and focused line, counted from the top of the page */
};

static struct rect next_line(struct page *page)
{
    const int row = page->line++ - page->model->scroll;
    const bool in_sight = row >= 0 && row < page->area.rows;
    return (struct rect){page->area.row + row, page->area.column, in_sight, page->area.columns};
}

static void put(struct page *page, enum role role, const char *text)
{
    char line[1200];
    while (text && page->area.columns > 4) {
        text = columns_wrap(text, (size_t)page->area.columns, line, sizeof line);
        draw_text(page->canvas, next_line(page), 0, 0, role, line);
    }
}

/* --- form and runs --- */

static const char *const labels[STUDY_FIELDS] = {N_("Participant"), N_("Pictures"),
                                                 N_("Seconds each"), N_("Results in")};

static int label_columns(void)
{
    int widest = 0;
    for (int i = 0; i < STUDY_FIELDS; i++) {
        const int columns = (int)columns_of(gettext(labels[i]));
        widest = columns > widest ? columns : widest;
    }
    return widest;
}

static int draw_mark(struct page *page, struct rect line, size_t focus)
{
    const bool focused = page->model->focus == focus;
    if (!page->model->editing)
        targets_add_row(&page->canvas->targets, line, focus, page->model->focus);
    if (focused) {
        page->focused = page->line - 1;
        if (line.rows > 0)
            draw_fill(page->canvas, line, ROLE_FOCUS);
        draw_cursor(page->canvas, line, 0, 0);
    }
    draw_text(page->canvas, line, 0, 0, focused ? ROLE_FOCUS : ROLE_TEXT, focused ? ">" : " ");
    return 2;
}

static void put_edit(struct page *page, struct rect line, int column)
{
    struct rect box = {line.row, line.column + column, line.rows, line.columns - column};
    size_t cursor;
    if (rect_is_empty(box))
        return;
    size_t start = line_edit_window(&page->model->edit, (size_t)box.columns, &cursor);
    draw_fill(page->canvas, box, ROLE_EDIT);
    draw_text(page->canvas, box, 0, 0, ROLE_EDIT, page->model->edit.text + start);
    draw_cursor(page->canvas, box, 0, (int)cursor);
}

/* Draws the candidates for the focused field beside its line. */
static void draw_candidates(const struct page *page, struct study_model *model)
{
    const int row = page->focused - model->scroll, column = 2 + label_columns() + 2;
    if (model->editing && completion_is_shown(&model->completion))
        completion_draw(&model->completion, page->canvas, page->area, row, column);
}

static void put_fields(struct page *page)
{
    const struct study_model *model = page->model;
    const int label = label_columns();
    for (size_t i = 0; i < STUDY_FIELDS; i++) {
        const bool focused = model->focus == i;
        struct rect line = next_line(page);
        int column = draw_mark(page, line, i);
        const char *value = model->values[i];
        if (!value[0])
            value = i == STUDY_PICTURES ? _("50, or what there is") : _("(none)");
        draw_text(page->canvas, line, 0, column, focused ? ROLE_FOCUS : ROLE_TEXT,
                  gettext(labels[i]));
        if (focused && model->editing)
            put_edit(page, line, column + label + 2);
        else
            draw_text(page->canvas, line, 0, column + label + 2, focused ? ROLE_FOCUS : ROLE_STRONG,
                      value);
    }
}

static void put_runs(struct page *page)
{
    const struct study_model *model = page->model;
    put(page, ROLE_HEADING, _("Whose pictures (space chooses, one or more)"));
    if (model->run_count == 0)
        put(page, ROLE_FAINT,
            _("No run of a network that makes pictures has saved weights yet. The preset pix2pix "
              "of the form sets one up (m s)."));
    for (size_t i = 0; i < model->run_count; i++) {
        const bool focused = model->focus == STUDY_FIELDS + i;
        const enum role role = focused ? ROLE_FOCUS : ROLE_TEXT;
        struct rect line = next_line(page);
        int column = draw_mark(page, line, STUDY_FIELDS + i);
        column =
            draw_text(page->canvas, line, 0, column, role, model->runs[i].chosen ? "[*] " : "[ ] ");
        column = draw_text(page->canvas, line, 0, column, role, model->runs[i].network) + 2;
        draw_text(page->canvas, line, 0, column, focused ? ROLE_FOCUS : ROLE_FAINT,
                  model->runs[i].name);
    }
}

/* --- state --- */

/* Writes where this session will differ from the published study. */
static void put_notes(struct page *page)
{
    const struct study *study = &page->model->job.study;
    char text[300];
    if (study->count < STUDY_IMAGES) {
        snprintf(text, sizeof text, _("%zu pictures are shown instead of %d."), study->count,
                 STUDY_IMAGES);
        put(page, ROLE_WARNING, text);
    }
    if (study->shown_twice) {
        snprintf(text, sizeof text,
                 _("There are too few scenes: %zu are shown twice, real and generated."),
                 study->shown_twice);
        put(page, ROLE_WARNING, text);
    }
    if (study->training_known && study->seen_in_training) {
        snprintf(text, sizeof text,
                 _("The network was trained on the pairs of %zu of the %zu generated pictures: the "
                   "result is too favourable."),
                 study->seen_in_training, study->count / 2);
        put(page, ROLE_WARNING, text);
    }
}

static void put_state(struct page *page)
{
    const struct study_model *model = page->model;
    char text[1100];
    if (model->display_error.kind != ERROR_NONE) {
        put(page, ROLE_BAD, _("This terminal cannot show the pictures:"));
        put(page, ROLE_BAD, error_format(&model->display_error, text, sizeof text));
    }
    if (model->state == STUDY_MAKING && model->of) {
        snprintf(text, sizeof text, _("Making the pictures of %s: %zu of %zu; s cancels it."),
                 model->runs[model->current].network, model->done, model->of);
        put(page, ROLE_KEY, text);
    } else if (model->state == STUDY_MAKING) {
        snprintf(text, sizeof text, _("Making the pictures of %s ..."),
                 model->runs[model->current].network);
        put(page, ROLE_KEY, text);
    } else if (model->state == STUDY_READY) {
        snprintf(text, sizeof text,
                 _("The pictures of %s are ready: r begins the session, which takes over the "
                   "screen."),
                 model->runs[model->current].network);
        put(page, ROLE_GOOD, text);
        put_notes(page);
    }
}

/* --- results --- */

enum { NETWORK, VOTERS, FOOLED, ERROR_RATE, INTERVAL, REAL, COLUMNS };
static const struct listing_column columns[COLUMNS] = {
    [NETWORK] = {N_("network"), 14, 0, false, true},
    [VOTERS] = {N_("voters"), 9, 1, true, false},
    [FOOLED] = {N_("fooled"), 7, 2, true, false},
    [ERROR_RATE] = {N_("error"), 6, 0, true, false},
    [INTERVAL] = {N_("95 %"), 12, 3, true, false},
    [REAL] = {N_("real as real"), 12, 4, true, false},
};

static void put_row(struct page *page, const struct table *texts, size_t row, enum role role)
{
    int starts[COLUMNS], widths[COLUMNS];
    struct rect line = next_line(page);
    const int most = page->area.columns < 76 ? page->area.columns : 76;
    listing_fit(columns, COLUMNS, most - 2, starts, widths);
    for (int i = 0; i < COLUMNS; i++) {
        const struct rect cell = {line.row, line.column + 2 + starts[i], line.rows, widths[i]};
        const char *text = texts->cells[row * COLUMNS + (size_t)i];
        if (columns[i].right)
            draw_right(page->canvas, cell, 0, role, text);
        else
            draw_text(page->canvas, cell, 0, 0, role, text);
    }
}

/* Appends the headings, the results of the votes and those that were published. */
static void fill(struct table *texts, const struct study_file *file)
{
    for (int i = 0; i < COLUMNS; i++)
        table_cell(texts, "%s", gettext(columns[i].title));
    for (size_t i = 0; i < file->count; i++) {
        table_cell(texts, "%s", file->studies[i].network);
        study_add_result(texts, &file->studies[i]);
    }
    for (size_t i = 0; i < study_published_count; i++) {
        table_cell(texts, "%s", study_published[i].network);
        table_cell(texts, "%s", _("published"));
        table_cell(texts, "-");
        table_cell(texts, "%.3f", study_published[i].error_rate);
        table_fill(texts, 2, "-");
    }
}

static void put_results(struct page *page)
{
    const struct study_model *model = page->model;
    char text[1100];
    struct table texts = {.columns = COLUMNS};
    put(page, ROLE_HEADING, _("Results so far"));
    if (model->file_error.kind != ERROR_NONE) {
        put(page, ROLE_BAD, error_format(&model->file_error, text, sizeof text));
        return;
    }
    if (model->file.count == 0)
        put(page, ROLE_FAINT, _("Nobody has voted yet; these rates were published:"));
    fill(&texts, &model->file);
    for (size_t row = 0; !texts.failed && row < texts.count / COLUMNS; row++)
        put_row(page, &texts, row,
                row == 0                   ? ROLE_HEADING
                : row <= model->file.count ? ROLE_TEXT
                                           : ROLE_FAINT);
    table_free(&texts);
    put(page, ROLE_FAINT,
        _("A generated picture has fooled the voters when more than half of the votes call it "
          "real; the error is the share of generated pictures that did so, without practice, and "
          "95 % its interval over the pictures. Real as real: the share of votes on real pictures "
          "that call them real."));
}

/* --- the page --- */

static void put_all(struct page *page, struct study_model *model, struct canvas *canvas,
                    struct rect area)
{
    *page = (struct page){model, canvas, area, 0, 0};
    put_fields(page);
    page->line++;
    put_runs(page);
    put_state(page);
    page->line++;
    put_results(page);
}

static int scroll_for(struct study_model *model, const struct page *page)
{
    const int rows = page->area.rows, furthest = page->line > rows ? page->line - rows : 0;
    int scroll = model->scroll;
    model->furthest = furthest;
    if (model->follow && page->focused < scroll)
        scroll = page->focused;
    if (model->follow && page->focused >= scroll + rows)
        scroll = page->focused - rows + 1;
    return scroll < 0 ? 0 : scroll > furthest ? furthest : scroll;
}

void study_draw(struct study_model *model, struct canvas *canvas, struct rect body)
{
    const int gap = body.rows >= 16;
    struct rect area = {body.row + gap, body.column + 1, body.rows - gap, body.columns - 2};
    struct page page;
    if (rect_is_empty(area))
        return;
    const size_t targets = canvas->targets.count;
    put_all(&page, model, canvas, area);
    const int scroll = scroll_for(model, &page);
    if (scroll != model->scroll) {
        model->scroll = scroll;
        draw_fill(canvas, area, ROLE_TEXT);
        canvas->targets.count = targets;
        put_all(&page, model, canvas, area);
    }
    draw_scroll_marks(canvas, area, scroll > 0, page.line > scroll + area.rows);
    draw_candidates(&page, model);
}
