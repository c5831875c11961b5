/* The actions that mean the same on every screen, the keys that edit a line of text or choose in a
 * list, which actions do something now, and the command palette.
 *
 * The palette lists the actions of the screen in front that do something now, those of all screens,
 * and the screens to which none of these leads. A command is done by its key, exactly as if it had
 * been pressed. The name of any other action, typed in full, does that one or says why not, as long
 * as no line of the list was chosen. Opened from the menu, it lists all screens, before the keys.
 */
#include "base/clock.h"

#include "base/language.h"
#include "ui/app/app.h"
#include "ui/terminal/terminal.h"
#include "ui/widgets/listing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- finding --- */

const struct action *actions_find(const struct actions *actions, int key)
{
    for (size_t i = 0; i < actions->count; i++)
        if (key_is_among(actions->list[i].keys, key))
            return &actions->list[i];
    return NULL;
}

/* Returns the action of the screen in front or of all screens that has this name, or NULL. */
static const struct action *actions_named(const struct app *app, const char *name)
{
    const struct actions *const lists[] = {&app_screen(app)->actions, &actions_everywhere};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        for (size_t i = 0; i < lists[k]->count; i++)
            if (strcmp(lists[k]->list[i].name, name) == 0)
                return &lists[k]->list[i];
    return NULL;
}

/* --- what can be done now --- */

/* Returns why an action of the list would do nothing, or NULL. */
static const char *refusal(const struct app *app, const struct actions *actions,
                           const struct action *action)
{
    const char *why = actions->refused ? actions->refused(app) : NULL;
    return why                    ? why
           : action->refused_with ? action->refused_with(app, action->argument)
           : action->refused      ? action->refused(app)
                                  : NULL;
}

/* Returns whether the screen's list gives the key a meaning of its own now. */
static bool is_taken(const struct app *app, const struct screen *screen, int key)
{
    const struct action *action = actions_find(&screen->actions, key);
    return action && !refusal(app, &screen->actions, action);
}

bool action_is_offered(const struct app *app, const struct screen *screen,
                       const struct actions *actions, const struct action *action)
{
    return !refusal(app, actions, action) &&
           !(actions == &actions_everywhere && is_taken(app, screen, key_first(action->keys)));
}

static void run(struct app *app, const struct action *action)
{
    if (action->run_with)
        action->run_with(app, action->argument);
    else
        action->run(app);
}

/* Returns the screen that the action leads to, or SCREEN_COUNT. */
static int action_destination(const struct action *action)
{
    return action->run_with == action_go ? action->argument : SCREEN_COUNT;
}

void action_run(struct app *app, const struct actions *actions, const struct action *action)
{
    const char *why = refusal(app, actions, action);
    const struct action *common = actions_find(&actions_everywhere, key_first(action->keys));
    if (!why || !why[0])
        run(app, action);
    else if (common && action_destination(common) != SCREEN_COUNT &&
             !refusal(app, &actions_everywhere, common))
        run(app, common);
    else
        app_refuse(app, why);
}

const char *action_hint(const struct app *app, const struct action *action)
{
    const char *word = action->word_with ? action->word_with(app, action->argument)
                       : action->word    ? action->word(app)
                                         : NULL;
    return word ? word : action->hint ? gettext(action->hint) : NULL;
}

void action_go(struct app *app, int screen)
{
    app_go(app, (enum screen_id)screen);
}

const char *action_refused_place(const struct app *app, int screen)
{
    return app_offers_screen(app, (enum screen_id)screen) ? NULL : ACTION_EXPLAINS;
}

/* --- the command palette --- */

/* Returns the screen with this letter in the menu, or SCREEN_COUNT. */
static enum screen_id commands_screen_of(const struct app *app, int letter)
{
    enum screen_id place = 0;
    while (place < SCREEN_COUNT && app->screens[place]->letter != letter)
        place++;
    return place;
}

/* The list while it is made. */
struct builder {
    struct app *app;
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    const char *keys[CHOOSER_MAX_ITEMS];
    bool leads_to[SCREEN_COUNT]; /* a command of the list leads there */
    bool all_screens;            /* the screens come first, with the menu's letters */
};

static void add(struct builder *builder, const struct command *command, const char *text,
                const char *note)
{
    struct commands *commands = &builder->app->commands;
    if (commands->count == CHOOSER_MAX_ITEMS)
        return;
    struct command *copy = &commands->list[commands->count];
    *copy = *command;
    builder->items[commands->count] = (struct chooser_item){text, note};
    builder->keys[commands->count++] = copy->keys;
}

/* Returns whether the action only moves a selection or scrolls: no command needs that. */
static bool only_moves(const struct action *action)
{
    static const int keys[] = {UI_UP, UI_DOWN, UI_PAGE_UP, UI_PAGE_DOWN, UI_HOME, UI_END, ':'};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (key_first(action->keys) == keys[i])
            return true;
    return false;
}

static void add_actions(struct builder *builder, const struct actions *actions)
{
    const struct app *app = builder->app;
    for (size_t i = 0; i < actions->count; i++) {
        const struct action *action = &actions->list[i];
        const char *hint = action_hint(app, action);
        const char *help = action->help ? gettext(action->help) : NULL;
        if (only_moves(action) || !(hint || help) ||
            !action_is_offered(app, app_screen(app), actions, action))
            continue;
        const int place = action_destination(action);
        if (builder->all_screens && actions == &actions_everywhere && place != SCREEN_COUNT)
            continue;
        if (place != SCREEN_COUNT)
            builder->leads_to[place] = true;
        struct key_name name = {0};
        key_take_name(action->keys, &name);
        struct command command = {.action = action};
        snprintf(command.keys, sizeof command.keys, "%s", name.name);
        add(builder, &command, hint ? hint : help, hint && help ? help : "");
    }
}

static void add_screens(struct builder *builder)
{
    struct app *app = builder->app;
    for (size_t i = 0; i < SCREEN_COUNT; i++) {
        const struct screen *screen = app->screens[i];
        const bool needless = builder->leads_to[i] || screen == app_screen(app);
        if ((needless && !builder->all_screens) || !app_offers_screen(app, (enum screen_id)i))
            continue;
        struct command command = {.place = (enum screen_id)i};
        snprintf(command.keys, sizeof command.keys, "m %c", screen->letter);
        add(builder, &command, gettext(screen->name), gettext(screen->purpose));
    }
}

/* Opens the palette over the screen in front. `all_screens`: every screen of the menu is listed,
 * before the keys. */
static void commands_open(struct app *app, bool all_screens)
{
    struct builder builder = {.app = app, .all_screens = all_screens};
    app->commands.count = 0;
    app->commands.letter = 0;
    if (all_screens)
        add_screens(&builder);
    add_actions(&builder, &app_screen(app)->actions);
    add_actions(&builder, &actions_everywhere);
    if (!all_screens)
        add_screens(&builder);
    chooser_begin(&app->commands.chooser, _("Commands"), builder.items, app->commands.count, "",
                  false);
    chooser_show_commands(&app->commands.chooser, builder.keys);
}

const struct action *commands_key(struct app *app, int key)
{
    struct chooser *chooser = &app->commands.chooser;
    const enum screen_id place = commands_screen_of(app, app->commands.letter);
    const struct action *named =
        chooser->selected == 0 ? actions_named(app, chooser->filter.text) : NULL;
    app->commands.letter = 0;
    if (key == UI_ENTER && (place != SCREEN_COUNT || named)) {
        chooser->open = false;
        if (!named)
            app_go(app, place);
        return named;
    }
    const enum chooser_result result = chooser_key(chooser, key);
    if (result == CHOOSER_OPEN)
        return NULL;
    chooser->open = false;
    if (result == CHOOSER_CANCELLED)
        return NULL;
    const struct command *command = &app->commands.list[chooser->shown[chooser->selected]];
    if (!command->action)
        app_go(app, command->place);
    return command->action;
}

double commands_seconds(const struct app *app)
{
    const struct commands *commands = &app->commands;
    const uint64_t now = clock_nanoseconds();
    if (!commands->chooser.open || !commands->letter)
        return INFINITY;
    return commands->letter_until > now ? clock_seconds(now, commands->letter_until) : 0;
}

enum screen_id commands_place(const struct app *app)
{
    return commands_screen_of(app, app->commands.letter);
}

void commands_draw(struct app *app)
{
    chooser_draw(&app->commands.chooser, &app->canvas);
}

/* --- menu ---
 *
 * The menu: one line for each screen that has something to show, with its letter, its name and, in
 * a wide terminal, its purpose. Enter and clicks lead to a screen, and so does its letter. But a
 * letter may also begin a word, so the palette opens with what is typed: LETTER_SECONDS after a
 * letter without another key, or with Enter, its screen is shown; anything else continues the word.
 */

static const double LETTER_SECONDS = 0.5;

enum { NAME_COLUMN = 5, WHAT_COLUMN = 19, WIDE = 84, NARROW = 26 };

static void go(struct app *app, enum screen_id place)
{
    app->menu.open = false;
    app_go(app, place);
}

/* Opens the palette in place of the menu, with what was typed or pasted. m and q, which no screen
 * has, close it if no word follows. */
static void begin_word(struct app *app, int key)
{
    struct commands *commands = &app->commands;
    app->menu.open = false;
    commands_open(app, true);
    if (key == '/' || key == ':')
        return;
    chooser_key(&commands->chooser, key);
    commands->letter =
        key == 'm' || key == 'q' || commands_screen_of(app, key) != SCREEN_COUNT ? key : 0;
    commands->letter_until = clock_nanoseconds() + (uint64_t)(LETTER_SECONDS * 1e9);
}

/* Writes the screens that have something to show, in the order of the menu. Returns their number.
 */
static size_t list_places(const struct app *app, enum screen_id places[SCREEN_COUNT])
{
    size_t count = 0;
    for (enum screen_id i = 0; i < SCREEN_COUNT; i++)
        if (app_offers_screen(app, i))
            places[count++] = i;
    return count;
}

void menu_key(struct app *app, int key)
{
    struct menu *menu = &app->menu;
    enum screen_id places[SCREEN_COUNT];
    const size_t count = list_places(app, places);
    if (key == UI_ENTER)
        go(app, places[menu->selected]);
    else if (key == UI_ESCAPE || key == UI_F9)
        menu->open = false;
    else if (key == UI_UP || key == UI_BACK_TAB)
        menu->selected = (menu->selected + count - 1) % count;
    else if (key == UI_DOWN || key == UI_TAB)
        menu->selected = (menu->selected + 1) % count;
    else if (key == UI_HOME || key == UI_END)
        menu->selected = list_move(menu->selected, move_of_key(key), 1, count);
    else if (key == UI_PASTE || (key != ' ' && key_is_printable(key)))
        begin_word(app, key);
}

static void draw_place(struct app *app, struct rect list, int row, enum screen_id place,
                       bool selected)
{
    struct rect line = {list.row + row, list.column, 1, list.columns};
    enum role role = selected ? ROLE_FOCUS : ROLE_TEXT;
    if (selected)
        draw_fill(&app->canvas, line, ROLE_FOCUS);
    draw_text(&app->canvas, line, 0, 0, role, selected ? ">" : " ");
    draw_format(&app->canvas, line, 0, 2, selected ? ROLE_FOCUS : ROLE_KEY, "%c",
                app->screens[place]->letter);
    draw_text(&app->canvas, line, 0, NAME_COLUMN, role, gettext(app->screens[place]->name));
    if (list.columns > NARROW)
        draw_text(&app->canvas, line, 0, WHAT_COLUMN, selected ? ROLE_FOCUS : ROLE_FAINT,
                  gettext(app->screens[place]->purpose));
    if (selected)
        draw_cursor(&app->canvas, line, 0, 0);
}

void menu_draw(struct app *app)
{
    struct menu *menu = &app->menu;
    enum screen_id places[SCREEN_COUNT];
    const size_t count = list_places(app, places);
    struct rect box = layout_dialog(app->canvas.rows - 2, app->canvas.columns, (int)count + 2,
                                    app->canvas.columns >= 72 ? WIDE : NARROW);
    box.row += app->canvas.rows > 2;
    struct rect inside = draw_box(&app->canvas, box, _("Go to"));
    if (inside.rows <= 0)
        return;
    size_t room = (size_t)inside.rows;
    menu->top = listing_scroll(menu->top, menu->selected, room, count);
    for (size_t row = 0; row < room && menu->top + row < count; row++) {
        struct rect line = {inside.row + (int)row, inside.column, 1, inside.columns};
        const size_t index = menu->top + row;
        draw_place(app, inside, (int)row, places[index], index == menu->selected);
        targets_add_choice(&app->canvas.targets, line, index, menu->selected);
    }
    draw_scroll_marks(&app->canvas, inside, menu->top > 0, menu->top + room < count);
}

/* --- the lists of all screens, and of what is open over one --- */

static void open_menu(struct app *app)
{
    app->menu = (struct menu){.open = true};
}

static void open_commands(struct app *app)
{
    commands_open(app, false);
}

static void redraw(struct app *app)
{
    (void)app;
    terminal_redraw();
}

/* Keeps F5 from the hints of other texts than the form's: it runs the form, and a dialog that would
 * lose its text refuses it. */
static const char *refused_outside_form(const struct app *app)
{
    return app->dialog.open || !app_is_in_front(app, SCREEN_SETUP) ? ACTION_EXPLAINS : NULL;
}

static const struct action everywhere[] = {
#define ACTIONS_EVERYWHERE
#include "ui/app/actions.inc"
};
const struct actions actions_everywhere = {ACTIONS(N_("Everywhere"), everywhere)};

static const struct action completing[] = {
    {"Enter", "take", N_("take it"), N_("take the value"), .run = NULL},
    {"Esc", "leave", N_("leave it"), N_("leave the value as it was"), .run = NULL},
    {"Tab", "complete", N_("complete"),
     N_("complete as far as it is certain, then choose among the candidates; in the form the "
        "arrows choose too, Enter takes one, and Esc closes their list"),
     .run = NULL},
    {"C-u", "clear", N_("clear"),
     N_("clear the line; C-w a word, C-k the rest, C-a and C-e to its ends"), .run = NULL},
    {"F5", "run", N_("run"), NULL, .refused = refused_outside_form},
};
const struct actions actions_completing = {
    ACTIONS(N_("Typing a value (just begin, or Enter)"), completing)};

static const struct action editing[] = {
    {"Enter", "take", N_("take it"), NULL, .run = NULL},
    {"Esc", "leave", N_("leave it"), NULL, .run = NULL},
    {"C-u", "clear", N_("clear"), NULL, .run = NULL},
    {"F5", "run", N_("run"), NULL, .refused = refused_outside_form},
};
const struct actions actions_editing = {ACTIONS(NULL, editing)};

static const struct action menu_keys[] = {
    {"Enter", "go", N_("go there"), NULL, .run = NULL},
    {"words", "words", N_("find a command"), NULL, .run = NULL},
    {"Esc", "close", N_("close"), NULL, .run = NULL},
};
static const struct actions actions_menu = {ACTIONS(NULL, menu_keys)};

static const struct action palette[] = {
    {"Enter", "do", N_("do it"), NULL, .run = NULL},
    {"Down", "next", N_("next"), NULL, .run = NULL},
    {"C-u", "clear", N_("clear"), NULL, .run = NULL},
    {"Esc", "close", N_("close"), NULL, .run = NULL},
};
static const struct actions actions_commands = {ACTIONS(NULL, palette)};

static const struct action choosing[] = {
    {"Enter", "take", N_("take it"), NULL, .run = NULL},
    {"Down", "next", N_("next"), NULL, .run = NULL},
    {"Esc", "close", N_("close"), NULL, .run = NULL},
};
const struct actions actions_choosing = {ACTIONS(NULL, choosing)};

static const struct action choosing_text[] = {
    {"Enter", "take", N_("take it"), NULL, .run = NULL},
    {"Down", "next", N_("next"), NULL, .run = NULL},
    {"Tab", "complete", N_("complete"), NULL, .run = NULL},
    {"Esc", "close", N_("close"), NULL, .run = NULL},
};
const struct actions actions_choosing_text = {ACTIONS(NULL, choosing_text)};

const struct actions *actions_open(const struct app *app)
{
    const struct screen *screen = app_screen(app);
    if (app->dialog.open)
        return app->dialog.choice_count > 0 ? &actions_choosing
               : app->dialog.source         ? &actions_completing
                                            : &actions_editing;
    if (app->menu.open)
        return &actions_menu;
    if (app->commands.chooser.open)
        return &actions_commands;
    if (app->choosing.chooser.open)
        return app->choosing.keys             ? app->choosing.keys
               : app->choosing.chooser.source ? &actions_choosing_text
                                              : &actions_choosing;
    return screen->over ? screen->over(app) : NULL;
}
