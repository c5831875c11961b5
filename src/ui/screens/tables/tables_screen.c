/* The screen Tables: the tables of the studies (studies/tables), from all runs of the user. A
 * background job reads the runs each time the screen is opened, and makes the tables of both
 * studies in all formats; the tables made before stay visible meanwhile. */
#include "ui/app/app.h"
#include "ui/app/run_actions.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/threads/background_job.h"
#include "studies/tables/tables.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/listing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double POLL_SECONDS = 0.1;
enum { STUDIES = 2, FORMATS = 4, SIDEWAYS = 8 /* columns that Left and Right move */ };

static const char *const endings[FORMATS] = {".txt", ".md", ".csv", ".tex"}; /* tables_format */

/* The tables, which the job makes. */
struct tables_texts {
    char votes[512]; /* the file with the votes */
    struct text texts[STUDIES][FORMATS];
    size_t runs;      /* that were read */
    size_t left_out;  /* runs that cannot be read */
    struct error why; /* of the first of them */
};

struct tables_model {
    struct background_job *job;  /* NULL: no runs are being read; it owns `next` meanwhile */
    struct tables_texts next;    /* what the job makes */
    struct tables_texts current; /* what is shown */
    bool made;                   /* `current` has tables */
    uint64_t done, of;
    struct error error; /* why the last job made none; kind ERROR_NONE: it did */
    enum tables_study study;
    int scroll, column;   /* first line and column shown */
    int furthest, widest; /* the greatest values of both, in the last frame */
    int page;             /* lines of the last frame */
};

static struct tables_model *model_of(const struct app *app)
{
    return app_state(app, SCREEN_TABLES);
}

static void free_texts(struct tables_texts *texts)
{
    for (size_t s = 0; s < STUDIES; s++)
        for (size_t f = 0; f < FORMATS; f++)
            text_free(&texts->texts[s][f]);
    *texts = (struct tables_texts){0};
}

/* --- the job --- */

/* tables_runs_open passes this to the functions that it calls. */
struct reading {
    struct tables_texts *texts;
    struct background_job *job;
};

static void count_unreadable(void *context, const struct error *why)
{
    struct tables_texts *texts = ((struct reading *)context)->texts;
    if (texts->left_out++ == 0)
        texts->why = *why;
}

static bool report_progress(void *context, uint64_t done, uint64_t total, struct error *error)
{
    return background_job_progress(((struct reading *)context)->job, done, total, error);
}

static bool write_all(struct tables_texts *texts, const struct tables_runs *runs,
                      struct error *error)
{
    struct study_file votes = {0};
    bool good = study_file_read(&votes, texts->votes, false, error);
    for (int study = 0; study < STUDIES; study++)
        for (int format = 0; format < FORMATS; format++)
            good = good &&
                   tables_write((enum tables_study)study, &runs->comparison, &votes,
                                (enum tables_format)format, &texts->texts[study][format], error);
    study_file_free(&votes);
    return good;
}

static bool make_work(void *subject, struct background_job *job, struct error *error)
{
    struct reading reading = {subject, job};
    struct tables_runs runs = {0};
    const bool good =
        tables_runs_open(&runs, NULL, count_unreadable, report_progress, &reading, error) &&
        write_all(subject, &runs, error);
    reading.texts->runs = runs.count;
    tables_runs_free(&runs);
    return good;
}

static void begin_job(struct app *app)
{
    struct tables_model *model = model_of(app);
    model->done = model->of = 0;
    model->error = (struct error){0};
    snprintf(model->next.votes, sizeof model->next.votes, "%s",
             app->shared.votes[0] ? app->shared.votes : STUDY_FILE);
    model->job = background_job_start(make_work, &model->next, &model->error);
}

static void open(struct app *app)
{
    if (!model_of(app)->job)
        begin_job(app);
}

static bool work(struct app *app)
{
    struct tables_model *model = model_of(app);
    if (!model->job || !background_job_poll(model->job, &model->done, &model->of))
        return false;
    if (background_job_finish(model->job, &model->error)) {
        free_texts(&model->current);
        model->current = model->next;
        model->next = (struct tables_texts){0};
        model->made = true;
        if (model->current.left_out > 0 && app_is_in_front(app, SCREEN_TABLES))
            app_say_error(app, &model->current.why);
    } else
        free_texts(&model->next);
    model->job = NULL;
    return true;
}

static double busy(const struct app *app)
{
    return model_of(app)->job ? POLL_SECONDS : INFINITY;
}

static void close(struct app *app)
{
    struct tables_model *model = model_of(app);
    if (model->job) {
        background_job_cancel(model->job);
        background_job_finish(model->job, NULL);
    }
    free_texts(&model->next);
    free_texts(&model->current);
}

/* --- writing a file --- */

/* Returns the format that the ending of a file name means, or FORMATS. */
static size_t format_of(const char *path)
{
    size_t format = 0;
    const char *ending = strrchr(path, '.');
    while (format < FORMATS && !(ending && strcmp(ending, endings[format]) == 0))
        format++;
    return format;
}

static void note_file(struct app *app)
{
    if (format_of(app->dialog.edit.text) < FORMATS)
        dialog_note_path(app);
    else
        snprintf(app->dialog.note, sizeof app->dialog.note, "%s",
                 _("The name must end in .txt, .md, .csv or .tex."));
}

static void answer_file(struct app *app, size_t choice)
{
    const struct tables_model *model = model_of(app);
    char path[sizeof app->dialog.edit.text];
    struct error error;
    (void)choice;
    memcpy(path, app->dialog.edit.text, sizeof path);
    const size_t format = format_of(path);
    if (format == FORMATS) {
        app->dialog.open = true; /* the note says why */
        return;
    }
    const struct text *text = &model->current.texts[model->study][format];
    if (!dialog_may_write(&app->dialog, file_exists(path)))
        return;
    if (output_file_write(path, text->data, text->length, OUTPUT_TEXT, &error))
        app_say(app, ROLE_GOOD, _("Wrote %s."), path);
    else
        exporting_reopen_dialog(app, &error);
}

static void ask_file(struct app *app)
{
    static const char *const names[STUDIES] = {"tables-trindade.md", "tables-gondim.md"};
    struct dialog *dialog = dialog_begin(app, _("Write the tables"), answer_file);
    char path[sizeof dialog->edit.text];
    snprintf(dialog->text, sizeof dialog->text, "%s",
             _("The ending chooses the format: .txt, Markdown (.md), .csv or LaTeX (.tex)."));
    exporting_path(app, names[model_of(app)->study], path, sizeof path);
    dialog_begin_line(dialog, path, false, completion_of_paths, NULL);
    dialog->edited = note_file;
    note_file(app);
}

/* --- keys --- */

static const char *refuses_stop(const struct app *app)
{
    return model_of(app)->job ? NULL : _("No runs are being read.");
}

static const char *refuses_update(const struct app *app)
{
    return model_of(app)->job ? _("The runs are being read; s stops it.") : NULL;
}

static const char *refuses_tables(const struct app *app)
{
    return model_of(app)->made ? NULL : _("There are no tables yet: u reads the runs.");
}

static const char *refuses_move(const struct app *app, int how)
{
    const struct tables_model *model = model_of(app);
    if (!model->made)
        return refuses_tables(app);
    switch (how) {
    case MOVE_LEFT:
        return model->column > 0 ? NULL : _("These are the first columns.");
    case MOVE_RIGHT:
        return model->column < model->widest ? NULL : _("The last column is visible already.");
    case MOVE_UP:
    case MOVE_PAGE_UP:
    case MOVE_FIRST:
        return model->scroll > 0 ? NULL : _("This is the first line.");
    default:
        return model->scroll < model->furthest ? NULL : _("The last line is visible already.");
    }
}

static void other_study(struct app *app)
{
    struct tables_model *model = model_of(app);
    model->study = model->study == TABLES_TRINDADE ? TABLES_GONDIM : TABLES_TRINDADE;
    model->scroll = model->column = 0;
}

static void stop(struct app *app)
{
    background_job_cancel(model_of(app)->job);
}

static void move(struct app *app, int how)
{
    struct tables_model *model = model_of(app);
    const size_t page = model->page > 1 ? (size_t)model->page - 1 : 1;
    const int columns = how == MOVE_LEFT ? -SIDEWAYS : how == MOVE_RIGHT ? SIDEWAYS : 0;
    model->column = (int)list_step((size_t)model->column, columns, (size_t)model->widest + 1);
    model->scroll = (int)list_move((size_t)model->scroll, how, page, (size_t)model->furthest + 1);
}

static const struct action actions[] = {
    {"v Tab", "other-study", N_("other study"), N_("the tables of the other study"),
     .run = other_study},
    {"o", "write", N_("write"), N_("write the tables of this study to a file"), .run = ask_file,
     .refused = refuses_tables},
    {"u", "update", N_("update"), N_("read all runs again"), .run = begin_job,
     .refused = refuses_update},
    {"s", "stop", NULL, N_("stop reading runs"), .run = stop, .refused = refuses_stop},
#define ACTIONS_LINES move, refuses_move
#include "ui/app/actions.inc"
    {"Left", "left", NULL, N_("the columns to the left"), move, refuses_move,
     .argument = MOVE_LEFT},
    {"Right", "right", N_("more columns"), N_("the columns to the right"), move, refuses_move,
     .argument = MOVE_RIGHT},
    {"PgUp", "page-up", N_("page"), NULL, move, refuses_move, .argument = MOVE_PAGE_UP},
    {"PgDn", "page-down", NULL, NULL, move, refuses_move, .argument = MOVE_PAGE_DOWN},
#define ACTIONS_ENDS move, refuses_move
#include "ui/app/actions.inc"
};

/* --- drawing --- */

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Copies the line that begins at `at` without its end. Returns where the next one begins, or NULL
 * after the last. */
static const char *take_line(const char *at, char *line, size_t size)
{
    const size_t length = strcspn(at, "\n");
    snprintf(line, size, "%.*s", (int)(length < size ? length : size - 1), at);
    return at[length] && at[length + 1] ? at + length + 1 : NULL;
}

/* Returns the part of a line that begins `columns` columns from its start. */
static const char *skip_columns(const char *line, int columns)
{
    size_t at = 0;
    char piece[32];
    while (columns > 0 && line[at]) {
        const size_t next = columns_after(line, at);
        snprintf(piece, sizeof piece, "%.*s", (int)(next - at), line + at);
        columns -= (int)columns_of(piece);
        at = next;
    }
    return line + at;
}

/* Returns the width of the first column of the table that begins at `at` and ends before an empty
 * line: it stays when the others are scrolled sideways. 0: a single line, or no table. */
static int first_column(const char *at)
{
    char line[2048];
    int widest = 0, lines = 0;
    for (; at && *at && *at != '\n'; lines++) {
        at = take_line(at, line, sizeof line);
        char *gap = strstr(line, "  ");
        if (gap)
            *gap = '\0';
        const int width = (int)columns_of(line);
        widest = width > widest ? width : widest;
    }
    return lines > 1 ? widest + 2 : 0;
}

/* Draws a line from column model->column on; its first `fixed` columns stay. */
static void draw_line(struct app *app, struct rect area, int row, int fixed, enum role role,
                      const char *line)
{
    const int column = model_of(app)->column, kept = column > 0 ? fixed : 0;
    draw_text(&app->canvas, area, row, kept, role, skip_columns(line, kept + column));
    if (kept > 0) {
        struct rect first = area;
        first.columns = kept < area.columns ? kept : area.columns;
        draw_text(&app->canvas, first, row, 0, role, line);
    }
}

/* Draws the lines from model->scroll on, and finds how far they can be scrolled. */
static void draw_lines(struct app *app, struct rect area, const char *text)
{
    struct tables_model *model = model_of(app);
    char line[2048] = "", before[2048] = "", next[2048];
    int count = 0, widest = 0, fixed = 0;
    for (const char *at = text; at && *at; count++) {
        if (!line[0])
            fixed = first_column(at);
        at = take_line(at, line, sizeof line);
        next[0] = '\0';
        if (at)
            take_line(at, next, sizeof next);
        const bool heading = line[0] && !before[0] && at && !next[0];
        const int row = count - model->scroll, width = (int)columns_of(line);
        if (row >= 0 && row < area.rows)
            draw_line(app, area, row, fixed, heading ? ROLE_HEADING : ROLE_TEXT, line);
        widest = width > widest ? width : widest;
        memcpy(before, line, sizeof before);
    }
    model->page = area.rows;
    model->furthest = count > area.rows ? count - area.rows : 0;
    model->widest = widest > area.columns ? widest - area.columns : 0;
}

static void draw_state(struct app *app, struct rect row)
{
    const struct tables_model *model = model_of(app);
    char text[400];
    if (model->job && model->of > 0)
        draw_format(&app->canvas, row, 0, 0, ROLE_FAINT, _("Reading the runs: %llu of %llu"),
                    (unsigned long long)model->done, (unsigned long long)model->of);
    else if (model->job)
        draw_text(&app->canvas, row, 0, 0, ROLE_FAINT, _("Reading the runs ..."));
    else if (model->error.kind == ERROR_INTERRUPTED)
        draw_sentence(&app->canvas, row, 0, 0, ROLE_WARNING,
                      _("The reading was stopped; u reads all runs again."));
    else if (model->error.kind != ERROR_NONE)
        draw_sentence(&app->canvas, row, 0, 0, ROLE_BAD,
                      error_format(&model->error, text, sizeof text));
    else if (model->current.left_out > 0)
        draw_format(&app->canvas, row, 0, 0, ROLE_WARNING,
                    _("Runs read: %zu; %zu others cannot be read"), model->current.runs,
                    model->current.left_out);
    else
        draw_format(&app->canvas, row, 0, 0, ROLE_FAINT, _("Runs read: %zu"), model->current.runs);
}

static void draw(struct app *app, struct rect body)
{
    static const char *const studies[STUDIES] = {"Trindade 2017", "Gondim Santos 2019"};
    struct tables_model *model = model_of(app);
    struct rect tabs = {body.row, body.column + 1, 1, body.columns - 2}, state = tabs, area = tabs;
    if (body.rows < 3 || body.columns < 10)
        return;
    state.row++;
    area.row += 2;
    area.rows = body.rows - 2;
    draw_tabs(&app->canvas, tabs, studies, STUDIES, model->study);
    draw_state(app, state);
    draw_cursor(&app->canvas, tabs, 0, 0);
    if (!model->made)
        return;
    const struct text *text = &model->current.texts[model->study][TABLES_TEXT];
    draw_lines(app, area, text->data);
    if (model->scroll > model->furthest || model->column > model->widest) {
        model->scroll = least(model->scroll, model->furthest); /* the terminal has grown */
        model->column = least(model->column, model->widest);
        draw_fill(&app->canvas, area, ROLE_TEXT);
        draw_lines(app, area, text->data);
    }
    draw_scroll_marks(&app->canvas, area, model->scroll > 0, model->scroll < model->furthest);
}

const struct screen tables_screen = {
    .name = N_("Tables"),
    .letter = 'b',
    .purpose = N_("the studies' tables from your runs, and what was not run"),
    .actions = {ACTIONS(N_("The studies' tables"), actions)},
    .state_size = sizeof(struct tables_model),
    .open = open,
    .close = close,
    .draw = draw,
    .work = work,
    .busy = busy,
};
