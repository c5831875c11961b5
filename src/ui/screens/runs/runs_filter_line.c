/* Each key parses the text again, so the table follows the typing. Tab extends the last term as far
 * as all candidates agree; pressed again it takes one candidate after the other. */
#include "ui/screens/runs/internal.h"

#include "base/language.h"
#include "ui/app/app.h"
#include "ui/terminal/columns.h"

#include <stdio.h>
#include <string.h>

/* --- the filter --- */

static bool give_record(void *context, size_t index, struct run_record *record)
{
    const struct app *app = context;
    if (index >= app_run_count(app))
        return false;
    runs_record(app_run_at(app, index), record);
    return true;
}

static void find_candidates(struct app *app)
{
    struct runs_filter_line *line = &runs_model(app)->filter_line;
    run_filter_complete(&line->completion, app->shared.runs_search.text, give_record, app);
    line->completed = 0;
}

/* Parses the text. An invalid filter leaves the table as it was. */
static void apply(struct app *app)
{
    struct runs_filter_line *line = &runs_model(app)->filter_line;
    struct run_filter filter;
    line->error = (struct error){0};
    if (run_filter_parse(&filter, app->shared.runs_search.text, &line->error)) {
        line->error = (struct error){0};
        app->shared.runs_filter = filter;
    }
    app->shared.runs_changed = true;
    runs_model_update(app);
}

void runs_filter_set(struct app *app, const char *text)
{
    line_edit_begin(&app->shared.runs_search, text, sizeof app->shared.runs_search.text, false);
    apply(app);
}

void runs_filter_begin(struct app *app)
{
    struct line_edit *search = &app->shared.runs_search;
    char text[sizeof search->text];
    runs_model(app)->filter_line.editing = true;
    snprintf(text, sizeof text, "%s", search->text);
    runs_filter_set(app, text);
    find_candidates(app);
}

/* --- keys --- */

static void replace_term(struct app *app, const char *term)
{
    struct line_edit *search = &app->shared.runs_search;
    char text[sizeof search->text];
    const int length =
        snprintf(text, sizeof text, "%.*s%s", (int)runs_model(app)->filter_line.completion.from,
                 search->text, term);
    if (length > 0 && (size_t)length < sizeof text)
        line_edit_begin(search, text, sizeof search->text, false);
}

static void complete(struct app *app)
{
    struct runs_filter_line *line = &runs_model(app)->filter_line;
    const struct run_completion *completion = &line->completion;
    char common[FILTER_WORD];
    if (completion->count == 0)
        return;
    run_completion_common(completion, common, sizeof common);
    const char *term = app->shared.runs_search.text + completion->from;
    if (line->completed == 0 && strlen(common) > strlen(term)) {
        replace_term(app, common);
        find_candidates(app);
    } else {
        replace_term(app, completion->candidates[line->completed % completion->count]);
        line->completed++;
        if (completion->count == 1)
            find_candidates(app);
    }
    apply(app);
}

bool runs_filter_key(struct app *app, int key)
{
    struct runs_filter_line *line = &runs_model(app)->filter_line;
    struct line_edit *search = &app->shared.runs_search;
    if (!line->editing && !(key == UI_ESCAPE && search->text[0]))
        return false;
    if (key == UI_UP || key == UI_DOWN)
        return false;
    if (key == UI_TAB) {
        complete(app);
        return true;
    }
    if (key == UI_ENTER || key == UI_ESCAPE) {
        line->editing = false;
        if (key == UI_ESCAPE)
            search->text[0] = '\0';
    } else
        line_edit_key(search, key);
    if (line->editing)
        find_candidates(app);
    apply(app);
    return true;
}

/* --- drawing --- */

int runs_filter_rows(const struct app *app, struct rect body)
{
    const struct runs_filter_line *line = &runs_model(app)->filter_line;
    const bool wrong = line->error.kind != ERROR_NONE;
    if (body.rows < 6 || (!wrong && !(line->editing && line->completion.count > 0)))
        return 0;
    return 1;
}

void runs_filter_draw_candidates(struct app *app, struct rect area)
{
    const struct runs_filter_line *line = &runs_model(app)->filter_line;
    const struct run_completion *completion = &line->completion;
    const bool wrong = line->error.kind != ERROR_NONE;
    int column = 1;
    if (area.rows < 1)
        return;
    /* a term that still can become a field or a value is no error yet */
    if (wrong && !(line->editing && completion->count > 0)) {
        char text[600];
        snprintf(text, sizeof text, "! %s", line->error.why);
        draw_text(&app->canvas, area, 0, 1, ROLE_BAD, text);
        return;
    }
    for (size_t i = 0; i < completion->count; i++) {
        const char *candidate = completion->candidates[i];
        if (column + (int)columns_of(candidate) + 3 > area.columns)
            break;
        const bool taken = line->completed > 0 && (line->completed - 1) % completion->count == i;
        column =
            draw_text(&app->canvas, area, 0, column, taken ? ROLE_STRONG : ROLE_FAINT, candidate) +
            2;
    }
}

void runs_filter_draw(struct app *app, struct rect area)
{
    const struct runs_filter_line *line = &runs_model(app)->filter_line;
    int column = draw_text(&app->canvas, area, 0, 1, ROLE_KEY, "/ ");
    size_t cursor, room = area.columns > column + 2 ? (size_t)(area.columns - column - 1) : 1;
    size_t start = line_edit_window(&app->shared.runs_search, room, &cursor);
    draw_text(&app->canvas, area, 0, column, ROLE_TEXT, app->shared.runs_search.text + start);
    if (line->editing)
        draw_cursor(&app->canvas, area, 0, column + (int)cursor);
}
