/* The screen Settings: the table of the workbench's preferences. A change takes effect at once and
 * is written to the configuration file, unless that file contains errors. */
#include "ui/app/app.h"

#include "base/language.h"
#include "ui/terminal/columns.h"
#include "ui/widgets/listing.h"

#include <stdio.h>
#include <string.h>

enum { VALUE_SIZE = 512, LABELS_MOST = 24 };

struct settings_state {
    size_t selected, top;
};

static struct settings_state *settings_state(const struct app *app)
{
    return app_state(app, SCREEN_SETTINGS);
}

static const struct preference *selected(const struct app *app)
{
    return &preference_table[settings_state(app)->selected];
}

/* --- changing --- */

static void save(struct app *app)
{
    struct error error = {0};
    if (app->options->broken.kind != ERROR_NONE)
        app_say(app, ROLE_WARNING,
                _("Changed for now, not saved: the configuration file has an error; correct or "
                  "remove %s."),
                app->options->broken.what);
    else if (!preferences_write(&app->shared.saved_preferences, &error))
        app_say_error(app, &error);
    else
        app_say(app, ROLE_GOOD, "%s", _("Changed and saved."));
}

static bool change(struct app *app, const char *value, struct error *error)
{
    const char *key = selected(app)->key;
    if (!preferences_set(&app->shared.preferences, key, value, error))
        return false;
    preferences_set(&app->shared.saved_preferences, key, value, NULL);
    app_apply_preferences(app);
    save(app);
    return true;
}

static void answer_value(struct app *app, size_t choice)
{
    struct error error = {0};
    char value[VALUE_SIZE];
    (void)choice;
    snprintf(value, sizeof value, "%s", app->dialog.edit.text);
    if (change(app, value, &error))
        return;
    snprintf(app->dialog.note, sizeof app->dialog.note, "%.90s; %.90s", error.why, error.advice);
    app->dialog.open = true;
}

static void ask_value(struct app *app)
{
    const struct preference *preference = selected(app);
    char value[VALUE_SIZE];
    struct dialog *dialog = dialog_begin(app, gettext(preference->label), answer_value);
    snprintf(dialog->text, sizeof dialog->text, "%s", gettext(preference->help));
    preferences_get(&app->shared.preferences, preference->key, value, sizeof value);
    dialog_begin_line(dialog, value, false, completion_of_paths, NULL); /* the folder of exports */
    dialog->edit.limit = preference->size;
}

/* Returns the next or previous choice; wraps around at the ends. */
static const char *next_choice(const struct preference *preference, const char *value,
                               int direction)
{
    static const char *const flags[] = {"no", "yes", NULL};
    const char *const *choices = preference->kind == PREFERENCE_FLAG ? flags : preference->choices;
    size_t count = 0, at = 0;
    for (; choices[count]; count++)
        if (strcmp(choices[count], value) == 0)
            at = count;
    return choices[(at + (direction > 0 ? 1 : count - 1)) % count];
}

static void turn(struct app *app, int direction)
{
    const struct preference *preference = selected(app);
    char value[VALUE_SIZE];
    if (preference->kind == PREFERENCE_TEXT) {
        ask_value(app);
        return;
    }
    preferences_get(&app->shared.preferences, preference->key, value, sizeof value);
    change(app, next_choice(preference, value, direction), NULL);
}

static void set_default(struct app *app)
{
    struct preferences defaults;
    char value[VALUE_SIZE];
    preferences_defaults(&defaults);
    change(app, preferences_get(&defaults, selected(app)->key, value, sizeof value), NULL);
}

/* Returns whether the selected setting has its default, in this session and in the file. */
static bool is_default(const struct app *app)
{
    struct preferences defaults;
    char value[VALUE_SIZE], present[VALUE_SIZE], saved[VALUE_SIZE];
    const char *key = selected(app)->key;
    preferences_defaults(&defaults);
    preferences_get(&defaults, key, value, sizeof value);
    preferences_get(&app->shared.preferences, key, present, sizeof present);
    preferences_get(&app->shared.saved_preferences, key, saved, sizeof saved);
    return strcmp(present, value) == 0 && strcmp(saved, value) == 0;
}

static const char *refuses_default(const struct app *app)
{
    return is_default(app) ? _("This setting has its default value.") : NULL;
}

static void next_value(struct app *app)
{
    turn(app, 1);
}

static void previous_value(struct app *app)
{
    turn(app, -1);
}

static void move(struct app *app, int how)
{
    size_t *at = &settings_state(app)->selected;
    *at = list_move(*at, how, 1, PREFERENCE_COUNT);
}

static const struct action actions[] = {
    {"Up (S-Tab)", "up", NULL, N_("the setting above"), move, NULL, .argument = MOVE_UP},
    {"Down (Tab)", "down", NULL, N_("the setting below (Tab too)"), move, NULL,
     .argument = MOVE_DOWN},
    {"Left", "previous-value", NULL, N_("the value before"), .run = previous_value},
    {"Right", "next-value", N_("change"), N_("the next value"), .run = next_value},
    {"Enter (space)", "edit", N_("edit"), N_("the next value, or type one"), .run = next_value},
    {"d", "default", N_("default"), N_("the default of the setting"), .run = set_default,
     .refused = refuses_default},
    {"Home", "first", NULL, N_("the first setting"), move, NULL, .argument = MOVE_FIRST},
    {"End", "last", NULL, N_("the last setting"), move, NULL, .argument = MOVE_LAST},
};

/* --- drawing --- */

static int label_columns(void)
{
    int widest = 0;
    for (size_t i = 0; i < PREFERENCE_COUNT; i++) {
        const int columns = (int)columns_of(gettext(preference_table[i].label));
        widest = columns > widest ? columns : widest;
    }
    return widest < LABELS_MOST ? widest : LABELS_MOST;
}

static void draw_row(struct app *app, struct rect list, int row, size_t index, int value_column)
{
    const struct preference *preference = &preference_table[index];
    const bool here = index == settings_state(app)->selected;
    char value[VALUE_SIZE], saved[VALUE_SIZE];
    struct rect label = {list.row + row, list.column, 1, value_column};
    struct rect line = {list.row + row, list.column + value_column, 1, list.columns - value_column};
    preferences_get(&app->shared.preferences, preference->key, value, sizeof value);
    preferences_get(&app->shared.saved_preferences, preference->key, saved, sizeof saved);
    draw_text(&app->canvas, label, 0, 0, ROLE_TEXT, here ? ">" : " ");
    draw_text(&app->canvas, label, 0, 2, here ? ROLE_STRONG : ROLE_FAINT,
              gettext(preference->label));
    const char *shown = value[0] ? value : _("(not set)");
    int column =
        here ? draw_format(&app->canvas, line, 0, 0, ROLE_FOCUS, "%s %s %s",
                           app->canvas.glyphs->left, shown, app->canvas.glyphs->right)
             : draw_text(&app->canvas, line, 0, 2, value[0] ? ROLE_TEXT : ROLE_FAINT, shown);
    if (strcmp(value, saved) != 0)
        draw_text(&app->canvas, line, 0, column + 2, ROLE_FAINT, _("(this time only)"));
    if (here)
        draw_cursor(&app->canvas, line, 0, 2);
}

static void draw_rows(struct app *app, struct rect list)
{
    struct settings_state *view = settings_state(app);
    const size_t room = list.rows > 0 ? (size_t)list.rows : 1;
    const int value_column = label_columns() + 4;
    view->top = listing_scroll(view->top, view->selected, room, PREFERENCE_COUNT);
    for (size_t row = 0; row < room && view->top + row < PREFERENCE_COUNT; row++) {
        struct rect line = {list.row + (int)row, list.column, 1, list.columns};
        draw_row(app, list, (int)row, view->top + row, value_column);
        targets_add_row(&app->canvas.targets, line, view->top + row, view->selected);
    }
    draw_scroll_marks(&app->canvas, list, view->top > 0, view->top + room < PREFERENCE_COUNT);
}

static void draw(struct app *app, struct rect body)
{
    const int help = body.rows >= 8 ? 3 : body.rows >= 4 ? 1 : 0;
    struct rect list = {body.row, body.column, body.rows - help, body.columns};
    struct rect below = {body.row + list.rows, body.column + 1, help, body.columns - 2};
    if (rect_is_empty(list))
        return;
    draw_rows(app, list);
    draw_wrapped(&app->canvas, below, help == 3, ROLE_TEXT, gettext(selected(app)->help));
}

const struct screen settings_screen = {
    .name = N_("Settings"),
    .letter = ',',
    .purpose = N_("colours, symbols, mouse, language and where exports go"),
    .actions = {ACTIONS(N_("Settings of the workbench"), actions)},
    .state_size = sizeof(struct settings_state),
    .draw = draw,
};
