/* Groups and views are chosen in a chooser. The list of columns stays open while fields are
 * switched on and off: a column that is switched on comes last. Changes of columns are saved when
 * it is closed. */
#include "ui/screens/runs/internal.h"

#include "base/language.h"
#include "ui/app/app.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/listing.h"

#include <stdio.h>
#include <string.h>

/* --- the filter ---
 *
 * Each key parses the text again, so the table follows the typing. Tab extends the last term as far
 * as all candidates agree; pressed again it takes one candidate after the other. */

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

/* Sets the filter. An invalid one is shown with its error; the table keeps the one before. */
static void runs_filter_set(struct app *app, const char *text)
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

enum { PAGE = 10, BOX_COLUMNS = 76 };

/* --- groups --- */

static bool can_group(size_t field)
{
    return !run_field_is_figure(field) && field != FIGURE_ID && field != FIGURE_BEGUN &&
           field != FIGURE_NOTE && field != FIGURE_DISK;
}

static void take_group(struct app *app)
{
    runs_model_group(app, run_field_find(chooser_choice(&app->choosing.chooser)));
}

void runs_choose_group(struct app *app)
{
    struct runs_model *model = runs_model(app);
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    size_t count = 0;
    items[count++] = (struct chooser_item){_("none"), _("no groups")};
    for (int differing = 1; differing >= 0; differing--) /* first those that are shown */
        for (size_t field = 0; field < run_field_count() && count < CHOOSER_MAX_ITEMS; field++)
            if (can_group(field) && (runs_columns_place(&model->columns, field) > 0) == differing)
                items[count++] =
                    (struct chooser_item){run_field_key(field), gettext(run_field_help(field))};
    chooser_begin(app_choose(app, take_group), _("Group by"), items, count,
                  model->group == FIELD_NONE ? items[0].text : run_field_key(model->group), false);
}

/* --- views --- */

static void save_views(struct app *app)
{
    struct error error;
    if (!saved_views_write(&runs_model(app)->views, &error))
        app_say_error(app, &error);
}

static void use_view(struct app *app, const struct saved_view *view)
{
    struct runs_model *model = runs_model(app);
    memcpy(model->columns.chosen, view->columns, sizeof model->columns.chosen);
    model->columns.chosen_count = view->column_count;
    model->sort = view->sort;
    model->backwards = view->backwards;
    runs_model_group(app, view->group);
    runs_filter_set(app, view->filter);
}

static void take_view(struct app *app)
{
    const struct saved_view none = {.sort = FIELD_NONE, .group = FIELD_NONE};
    const struct saved_view *view =
        saved_views_find(&runs_model(app)->views, chooser_choice(&app->choosing.chooser));
    use_view(app, view ? view : &none);
}

/* Removes the selected view, and opens the list again, which borrows the names. */
static bool remove_view(struct app *app, int key)
{
    struct runs_model *model = runs_model(app);
    const char *name = chooser_choice(&app->choosing.chooser);
    if (key != UI_DELETE)
        return false;
    if (!name || !saved_views_find(&model->views, name)) {
        app_refuse(app, _("Only saved views can be removed."));
        return true;
    }
    app_say(app, ROLE_GOOD, _("The view \"%s\" is removed."), name);
    saved_views_remove(&model->views, name);
    save_views(app);
    runs_choose_view(app);
    return true;
}

void runs_choose_view(struct app *app)
{
    struct runs_model *model = runs_model(app);
    static const struct action keys[] = {
        {"Enter", "take", N_("take it"), NULL, .run = NULL},
        {"Down", "next", N_("next"), NULL, .run = NULL},
        {"Del", "remove", N_("remove"), NULL, .run = NULL},
        {"Esc", "close", N_("close"), NULL, .run = NULL},
    };
    static const struct actions of_views = {ACTIONS(NULL, keys)};
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    size_t count = 0;
    items[count++] = (struct chooser_item){_("all runs"), _("no filter, no groups, newest first")};
    for (size_t i = 0; i < model->views.count; i++)
        items[count++] =
            (struct chooser_item){model->views.list[i].name, model->views.list[i].filter};
    chooser_begin(app_choose(app, take_view), _("Saved views (Del removes one)"), items, count, "",
                  false);
    app->choosing.take_key = remove_view;
    app->choosing.keys = &of_views;
}

static void answer_view_name(struct app *app, size_t choice)
{
    struct runs_model *model = runs_model(app);
    struct dialog *dialog = &app->dialog;
    struct error error;
    struct saved_view view = {.column_count = model->columns.chosen_count,
                              .sort = model->sort,
                              .group = model->group,
                              .backwards = model->backwards};
    (void)choice;
    snprintf(view.name, sizeof view.name, "%.47s", dialog->edit.text);
    snprintf(view.filter, sizeof view.filter, "%s", app->shared.runs_search.text);
    memcpy(view.columns, model->columns.chosen, sizeof view.columns);
    if (!saved_views_put(&model->views, &view, &error)) {
        dialog->open = true;
        snprintf(dialog->note, sizeof dialog->note, "%.190s", error.why);
        return;
    }
    save_views(app);
    app_say(app, ROLE_GOOD, _("The view \"%s\" is saved: v shows it again."), view.name);
}

void runs_ask_view_name(struct app *app)
{
    struct dialog *dialog = dialog_begin(app, _("A name for this view"), answer_view_name);
    snprintf(
        dialog->text, sizeof dialog->text, "%s",
        _("Filter, columns, order and groups are saved. A view of the same name is replaced."));
    line_edit_begin(&dialog->edit, "", VIEW_NAME, false);
}

/* --- columns --- */

void runs_choose_columns(struct app *app)
{
    struct runs_choosers *choosers = &runs_model(app)->choosers;
    choosers->choosing_columns = true;
    choosers->column = choosers->top = 0;
}

static void end_columns(struct app *app)
{
    struct runs_model *model = runs_model(app);
    struct saved_view *present = &model->views.present;
    const struct runs_columns *columns = &model->columns;
    model->choosers.choosing_columns = false;
    if (present->column_count == columns->chosen_count &&
        memcmp(present->columns, columns->chosen, columns->chosen_count * sizeof(size_t)) == 0)
        return;
    memcpy(present->columns, columns->chosen, sizeof present->columns);
    present->column_count = columns->chosen_count;
    save_views(app);
}

static bool columns_key(struct app *app, int key)
{
    struct runs_model *model = runs_model(app);
    struct runs_choosers *choosers = &model->choosers;
    const enum move how = move_of_key(key);
    if (key == ' ' || key == UI_ENTER)
        runs_columns_toggle(&model->columns, choosers->column);
    else if (key == 'a')
        model->columns.chosen_count = 0;
    else if (key == UI_ESCAPE || key == 'q' || key == 'C')
        end_columns(app);
    else if (how != MOVES)
        choosers->column = list_move(choosers->column, how, PAGE, run_field_count());
    app->shared.runs_changed = true;
    runs_model_update(app);
    return true;
}

static void draw_columns(struct app *app)
{
    struct runs_model *model = runs_model(app);
    struct runs_choosers *choosers = &model->choosers;
    struct canvas *canvas = &app->canvas;
    struct rect box = layout_dialog(canvas->rows - 2, canvas->columns, (int)run_field_count() + 4,
                                    BOX_COLUMNS); /* title and hints stay visible */
    box.row += canvas->rows > 2;
    struct rect inside = draw_box(canvas, box, _("Columns"));
    const size_t rows = inside.rows > 1 ? (size_t)inside.rows - 1 : 0;
    choosers->top = listing_scroll(choosers->top, choosers->column, rows, run_field_count());
    for (size_t i = 0; i < rows && choosers->top + i < run_field_count(); i++) {
        const size_t field = choosers->top + i;
        const bool selected = field == choosers->column;
        const size_t place = runs_columns_place(&model->columns, field);
        const struct rect line = {inside.row + (int)i, inside.column, 1, inside.columns};
        const enum role role = selected ? ROLE_FOCUS : ROLE_TEXT;
        char number[24] = "  ";
        if (selected)
            draw_fill(canvas, line, ROLE_FOCUS);
        if (place > 0)
            snprintf(number, sizeof number, "%2zu", place);
        draw_format(canvas, line, 0, 0, role, "%s[%s] %s", selected ? ">" : " ", number,
                    run_field_key(field));
        draw_sentence(canvas, line, 0, 24, selected ? ROLE_FOCUS : ROLE_FAINT,
                      gettext(run_field_help(field)));
        targets_add_row(&canvas->targets, line, field, choosers->column);
        if (selected)
            draw_cursor(canvas, line, 0, 0);
    }
    draw_text(canvas, inside, inside.rows - 1, 0, ROLE_FAINT,
              model->columns.chosen_count > 0 ? _("a automatic, space toggles, Esc ends")
                                              : _("automatic; space toggles, Esc ends"));
}

bool runs_choosers_key(struct app *app, int key)
{
    return runs_model(app)->choosers.choosing_columns && columns_key(app, key);
}

const struct actions *runs_choosers_over(const struct app *app)
{
    static const struct action columns[] = {
        {"space", "toggle", N_("toggle"), NULL, .run = NULL},
        {"Down", "next", N_("next"), NULL, .run = NULL},
        {"a", "automatic", N_("automatic"), NULL, .run = NULL},
        {"Esc", "close", N_("close"), NULL, .run = NULL},
    };
    static const struct actions of_columns = {ACTIONS(NULL, columns)};
    return runs_model(app)->choosers.choosing_columns ? &of_columns : NULL;
}

void runs_choosers_draw(struct app *app)
{
    if (!runs_model(app)->choosers.choosing_columns)
        return;
    targets_clear(&app->canvas.targets);
    draw_columns(app);
}
