/* The screen Set up: a form with the fields of config_fields on the left, the panel that describes
 * the configured run on the right (form_panel.c), and an explanation of the focused field below. An
 * error is shown under the field that causes it. */
#include "ui/app/app.h"

#include "base/clock.h"
#include "base/language.h"
#include "ui/screens/setup/internal.h"
#include "ui/shared/completion_sources.h"
#include "ui/shared/form.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/listing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double ANSWER_SECONDS = 0.05;

/* --- keys --- */

static void take_value(struct app *app)
{
    char chosen[FORM_TEXT];
    snprintf(chosen, sizeof chosen, "%s", chooser_choice(&app->choosing.chooser));
    form_set(&app->shared.form, chosen);
    app_form_changed(app);
}

static void open_list(struct app *app)
{
    struct form *form = &app->shared.form;
    const struct config_field *field = form_focused(form);
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    char value[FORM_TEXT];
    const size_t count = form_takes_text(form) ? 0 : form_items(form, form->focus, items);
    if (field->kind == CONFIG_FLAG) {
        form_cycle(form, 1);
        app_form_changed(app);
    } else if (count == 0)
        form_edit(form, NULL);
    else
        chooser_begin(app_choose(app, take_value), gettext(field->label), items, count,
                      form_value(form, form->focus, value, sizeof value),
                      field->kind != CONFIG_CHOICE && !field->choices);
}

static const struct actions *over(const struct app *app)
{
    if (!app->shared.form.editing)
        return NULL;
    return completion_has_source(form_focused(&app->shared.form)) ? &actions_completing
                                                                  : &actions_editing;
}

static void toggle_defaults(struct app *app)
{
    const bool defaults = setup_toggle_defaults(setup_model(app), &app->shared.form);
    app_form_changed(app);
    app_say(app, ROLE_STRONG, "%s",
            defaults ? _("The defaults. D again: what was there before.")
                     : _("What was there before the defaults."));
}

static bool take_key(struct app *app, int key)
{
    struct form *form = &app->shared.form;
    if (key == UI_F5 || key == UI_CTRL_R) /* commands although a text takes the letters */
        return false;
    if (form->editing) {
        form_edit_key(form, key);
        app_form_changed(app);
        return true;
    }
    if (!form_takes_text(form) &&
        (actions_find(&app_screen(app)->actions, key) || actions_find(&actions_everywhere, key)))
        return false;
    return form_edit_by_typing(form, key);
}

static void give_fork_up(struct app *app)
{
    app_say(app, ROLE_STRONG, "%s",
            app->shared.fork.directory[0]
                ? _("No fork any more: this run begins anew.")
                : _("This is no fork: F in the list of runs begins one."));
    app->shared.fork = (struct fork_request){0};
}

static void title(const struct app *app, char *text, size_t size)
{
    const struct run_fork *place = &app->shared.fork_place;
    if (!app->shared.fork.directory[0])
        snprintf(text, size, "%s", _("Set up"));
    else
        snprintf(text, size, _("Fork of %s at iteration %llu (%s)"), place->ancestor,
                 (unsigned long long)place->iteration, place->checkpoint);
}

static const char *refuses_fork(const struct app *app)
{
    return app->shared.fork.directory[0] ? NULL : ACTION_EXPLAINS;
}

static void turn(struct app *app, int direction)
{
    form_cycle(&app->shared.form, direction);
    app_form_changed(app);
}

static void move(struct app *app, int how)
{
    form_move(&app->shared.form, (int)move_steps(how, 8, FORM_MAX_FIELDS));
}

static void show(struct app *app, int screen)
{
    app_show(app, (enum screen_id)screen);
}

static void show_all(struct app *app)
{
    struct form *form = &app->shared.form;
    form_show_all(form, !form->all);
    app_say(app, ROLE_STRONG, "%s",
            form->all ? _("Every setting is shown.")
                      : _("Settings are shown where they mean something."));
}

static void next_pictures(struct app *app)
{
    setup_turn_pictures(setup_model(app), 1);
}

static const struct action actions[] = {
    {"r F5 (C-r)", "run", N_("run"),
     N_("run what the form says; while a run is on: put it in the queue. On a row that holds text, "
        "where letters are typed: F5 or C-r"),
     .run = app_run_form},
    {"Up (S-Tab)", "up", NULL, N_("the field above"), .run_with = move, .argument = MOVE_UP},
    {"Down (Tab)", "down", NULL, N_("the field below (Tab too)"), .run_with = move,
     .argument = MOVE_DOWN},
    {"Left", "previous-value", NULL, N_("the value before"), .run_with = turn, .argument = -1},
    {"Right", "next-value", NULL, N_("the next value"), .run_with = turn, .argument = 1},
    {"Enter (space)", "change", N_("change"), N_("the list of choices, or edit the value"),
     .run = open_list},
    {"/", "search", N_("search"), N_("search the choices of the field"), .run = open_list},
    {"*", "all", N_("all"), N_("every setting, or only those that mean something here"),
     .run = show_all},
    {"p", "pictures", N_("pictures"),
     N_("the pictures of the training data, as large as the screen; v there: what the run takes"),
     .run_with = show, .argument = SCREEN_PICTURES},
    {"L", "find-rate", NULL, N_("look for a learning rate: a short training in which it grows"),
     .run_with = show, .argument = SCREEN_FIND_RATE},
    {"n", "next-pictures", NULL, N_("the next pictures beside the form"), .run = next_pictures},
    {"F", "no-fork", NULL, N_("no fork any more: a run that begins anew"), .run = give_fork_up,
     .refused = refuses_fork},
    {"D", "defaults", NULL, N_("the defaults in all fields; D again: what was there before"),
     .run = toggle_defaults},
    {"Home", "first", NULL, N_("the first field"), .run_with = move, .argument = MOVE_FIRST},
    {"End", "last", NULL, N_("the last field"), .run_with = move, .argument = MOVE_LAST},
#define ACTIONS_PAGES move, NULL
#include "ui/app/actions.inc"
};

/* --- drawing: the fields --- */

/* Returns the error of a field, or NULL. */
static const struct error *field_error(const struct app *app, size_t field)
{
    const struct form *form = &app->shared.form;
    if (field == form->focus && form->edit_error.kind != ERROR_NONE)
        return &form->edit_error;
    if (form->problem.kind != ERROR_NONE)
        return field == form->problem_field ? &form->problem : NULL;
    const bool data = strcmp(form->fields[field]->key, KEY(data)) == 0;
    return data ? setup_data_error(setup_model(app), form) : NULL;
}

static void draw_edit(struct app *app, struct rect line)
{
    const struct line_edit *edit = &app->shared.form.edit;
    size_t column,
        start = line_edit_window(edit, line.columns > 1 ? (size_t)line.columns : 1, &column);
    draw_fill(&app->canvas, line, ROLE_EDIT);
    draw_text(&app->canvas, line, 0, 0, ROLE_EDIT, edit->text + start);
    draw_cursor(&app->canvas, line, 0, (int)column);
}

/* Draws what the value means after it, if all of it fits. */
static void draw_note(struct app *app, struct rect line, size_t field, int column)
{
    char note[96];
    form_note(&app->shared.form, field, note, sizeof note);
    if (column + (int)columns_of(note) <= line.columns)
        draw_text(&app->canvas, line, 0, column, ROLE_FAINT, note);
}

static void draw_value(struct app *app, struct rect line, size_t field, bool focused)
{
    enum { NOTE_COLUMN = 9, FRAME = 5 };
    const struct glyphs *glyphs = app->canvas.glyphs;
    char value[FORM_TEXT], shown[FORM_TEXT];
    form_value(&app->shared.form, field, value, sizeof value);
    const int used_by_value = (int)columns_of(value) + FRAME;
    draw_note(app, line, field, used_by_value > NOTE_COLUMN ? used_by_value : NOTE_COLUMN);
    if (!focused) {
        draw_fitted_name(&app->canvas, line, 0, 2, value[0] ? ROLE_TEXT : ROLE_FAINT,
                         value[0] ? value : _("none"));
        return;
    }
    int room = line.columns - 4;
    int used = (int)columns_fit_middle(value[0] ? value : _("none"), room > 0 ? (size_t)room : 0,
                                       glyphs->cut, shown, sizeof shown);
    struct rect bar = {line.row, line.column, 1, used + 4};
    if (bar.columns > line.columns)
        bar.columns = line.columns;
    draw_fill(&app->canvas, bar, ROLE_FOCUS);
    draw_format(&app->canvas, bar, 0, 0, ROLE_FOCUS, "%s %s %s", glyphs->left, shown,
                glyphs->right);
    draw_cursor(&app->canvas, bar, 0, 2);
}

/* Writes an error below the row that it is about, which it therefore need not name. */
static void write_error(const struct error *error, char *text, size_t size)
{
    const struct error shown = setting_error(error);
    snprintf(text, size, "%s%s%s", shown.why, shown.advice[0] ? "; " : "", shown.advice);
}

static int draw_error(struct app *app, struct rect area, int row, const struct error *error)
{
    char text[800];
    struct rect inside = {area.row, area.column + 4, area.rows, area.columns - 4};
    if (row >= area.rows)
        return row;
    draw_text(&app->canvas, area, row, 2, ROLE_BAD, "!");
    write_error(error, text, sizeof text);
    return draw_wrapped(&app->canvas, inside, row, ROLE_BAD, text);
}

/* Returns the column of the values: after the longest label, which depends on the language. */
static int value_column(const struct form *form, const struct form_layout *layout)
{
    int column = layout->label_columns;
    for (size_t i = 0; i < form->count; i++) {
        int wished = (int)columns_of(gettext(form->fields[i]->label)) + 3;
        column = wished > column && wished <= layout->fields.columns / 2 + 2 ? wished : column;
    }
    return column;
}

static void draw_fields(struct app *app, const struct form_layout *layout)
{
    struct form *form = &app->shared.form;
    int values = value_column(form, layout);
    struct rect area = layout->fields;
    char text[800];
    int error_rows = 0;
    for (size_t i = 0; i < form->count; i++) {
        const struct error *error = field_error(app, i);
        if (!error || area.columns <= 4)
            continue;
        write_error(error, text, sizeof text);
        error_rows = (int)columns_lines(text, (size_t)area.columns - 4);
    }
    form_scroll(form, area.rows > error_rows ? (size_t)(area.rows - error_rows) : 1);
    int row = 0;
    for (size_t i = form->top; i < form->count && row < area.rows; i++, row++) {
        bool focused = i == form->focus;
        const struct error *error = field_error(app, i);
        struct rect line = {area.row + row, area.column + values, 1, area.columns - values};
        struct rect label = {area.row + row, area.column, 1, values - 1};
        draw_text(&app->canvas, area, row, 0, ROLE_BAD, error ? "!" : focused ? ">" : " ");
        draw_text(&app->canvas, label, 0, 2, focused ? ROLE_STRONG : ROLE_FAINT,
                  gettext(form->fields[i]->label));
        if (focused)
            setup_model(app)->focus_row = row;
        if (focused && form->editing)
            draw_edit(app, line);
        else
            draw_value(app, line, i, focused);
        struct rect place = {area.row + row, area.column, 1, area.columns};
        if (!form->editing)
            targets_add_row(&app->canvas.targets, place, i, form->focus);
        if (error)
            row = draw_error(app, area, row + 1, error) - 1;
    }
    draw_scroll_marks(&app->canvas, area, form->top > 0,
                      row >= area.rows && form->top + (size_t)area.rows < form->count);
}

static void draw_help(struct app *app, struct rect area)
{
    const struct config_field *field = form_focused(&app->shared.form);
    const char *help = gettext(field->help);
    if (area.rows >= 3) {
        for (int column = 0; column < area.columns;)
            column =
                draw_text(&app->canvas, area, 0, column, ROLE_RAW, app->canvas.glyphs->horizontal);
        area.row++;
        area.rows--;
    }
    area.column++;
    area.columns -= 2;
    draw_wrapped(&app->canvas, area, 0, ROLE_TEXT, help);
    const char *keys =
        form_takes_text(&app->shared.form)
            ? _("Left and right change it; type or paste a new value; Enter edits it.")
        : field->kind == CONFIG_CHOICE || field->kind == CONFIG_FLAG || field->choices
            ? _("Left and right change it; Enter lists the choices.")
            : _("Left and right change it; Enter lists the choices; or type a value.");
    if (area.rows >= 2 && columns_of(help) <= (size_t)area.columns && !app->choosing.chooser.open &&
        !over(app))
        draw_text(&app->canvas, area, 1, 0, ROLE_FAINT, keys);
}

/* Draws the summary and the help below it; a summary of several lines takes those of the help. */
static void draw_summary_and_help(struct app *app, const struct form_layout *layout)
{
    struct rect summary = layout->summary;
    summary.rows += summary.rows > 0 ? layout->help.rows : 0;
    if (form_panel_draw_summary(app, summary) <= layout->summary.rows)
        draw_help(app, layout->help);
}

/* Draws the candidates over the rows next to the focused one and, where the form is low, over the
 * help. */
static void draw_candidates(struct app *app, const struct form_layout *layout)
{
    struct form *form = &app->shared.form;
    struct rect area = layout->fields;
    area.columns = app->canvas.columns - area.column;
    area.rows = layout->help.row + layout->help.rows - area.row;
    completion_draw(&form->completion, &app->canvas, area, setup_model(app)->focus_row,
                    value_column(form, layout));
}

static void draw(struct app *app, struct rect body)
{
    struct form_layout layout = layout_form(body);
    if (rect_is_empty(layout.fields))
        return;
    draw_fields(app, &layout);
    form_panel_draw(app, layout.panel, rect_is_empty(layout.pictures));
    setup_draw_pictures(setup_model(app), &app->shared.form, &app->canvas, layout.pictures);
    draw_summary_and_help(app, &layout);
    if (app->shared.form.editing && completion_is_shown(&app->shared.form.completion))
        draw_candidates(app, &layout);
}

static void close(struct app *app)
{
    form_cancel_edit(&app->shared.form);
    setup_free(setup_model(app));
}

static bool is_in_front(const struct app *app)
{
    return app_is_in_front(app, SCREEN_SETUP) || app_is_in_front(app, SCREEN_PICTURES);
}

/* Makes the forecast a short time after the last key, even if another screen is in front. */
static bool work(struct app *app)
{
    const bool due =
        app->shared.form.forecast_stale && clock_nanoseconds() >= app->shared.forecast_at;
    if (is_in_front(app)) {
        setup_look_at_others(setup_model(app));
        setup_step(setup_model(app), &app->shared.form);
        form_step(&app->shared.form);
    }
    if (due)
        form_make_forecast(&app->shared.form);
    return due;
}

static double busy(const struct app *app)
{
    const uint64_t now = clock_nanoseconds(), due = app->shared.forecast_at;
    double seconds = INFINITY;
    if (app->shared.form.forecast_stale)
        seconds = due > now ? clock_seconds(now, due) : 0;
    if (is_in_front(app))
        seconds = fmin(seconds, setup_seconds_to_look(setup_model(app)));
    if (is_in_front(app) &&
        (setup_is_waiting(setup_model(app)) || form_is_waiting(&app->shared.form)))
        seconds = fmin(seconds, ANSWER_SECONDS);
    return seconds;
}

static void notice(struct app *app, enum screen_event event, struct run_entry *entry)
{
    (void)entry;
    if (event == EVENT_RUN_ENDED)
        setup_invalidate_past_time(setup_model(app));
}

const struct screen setup_screen = {
    .name = N_("Set up"),
    .letter = 's',
    .purpose = N_("choose network, technique, data and device, and run"),
    .actions = {ACTIONS(N_("Setting up a run"), actions)},
    .state_size = sizeof(struct setup_model),
    .close = close,
    .title = title,
    .take_key = take_key,
    .draw = draw,
    .over = over,
    .work = work,
    .busy = busy,
    .notice = notice,
};
