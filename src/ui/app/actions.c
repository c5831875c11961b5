/* The actions that mean the same on every screen, the keys that edit a line of text or choose in a
 * list, and which actions do something now. */
#include "base/language.h"
#include "ui/app/app.h"
#include "ui/terminal/terminal.h"

#include <string.h>

static void open_commands(struct app *app)
{
    commands_open(app, false);
}

static void redraw(struct app *app)
{
    (void)app;
    terminal_redraw();
}

/* Keeps F5 from the hints of a dialog: one that would lose its text refuses F5. */
static const char *refused_in_dialog(const struct app *app)
{
    return app->dialog.open ? ACTION_EXPLAINS : NULL;
}

static const struct action everywhere[] = {
#define ACTIONS_EVERYWHERE
#include "ui/actions.inc"
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
    {"F5", "run", N_("run"), NULL, .refused = refused_in_dialog},
};
const struct actions actions_completing = {
    ACTIONS(N_("Typing a value (just begin, or Enter)"), completing)};

static const struct action editing[] = {
    {"Enter", "take", N_("take it"), NULL, .run = NULL},
    {"Esc", "leave", N_("leave it"), NULL, .run = NULL},
    {"C-u", "clear", N_("clear"), NULL, .run = NULL},
    {"F5", "run", N_("run"), NULL, .refused = refused_in_dialog},
};
const struct actions actions_editing = {ACTIONS(NULL, editing)};

static const struct action menu[] = {
    {"Enter", "go", N_("go there"), NULL, .run = NULL},
    {"words", "words", N_("find a command"), NULL, .run = NULL},
    {"Esc", "close", N_("close"), NULL, .run = NULL},
};
static const struct actions actions_menu = {ACTIONS(NULL, menu)};

static const struct action commands[] = {
    {"Enter", "do", N_("do it"), NULL, .run = NULL},
    {"Down", "next", N_("next"), NULL, .run = NULL},
    {"C-u", "clear", N_("clear"), NULL, .run = NULL},
    {"Esc", "close", N_("close"), NULL, .run = NULL},
};
static const struct actions actions_commands = {ACTIONS(NULL, commands)};

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
    return screen->over ? screen->over(app) : NULL;
}

/* --- finding --- */

const struct action *actions_find(const struct actions *actions, int key)
{
    for (size_t i = 0; i < actions->count; i++)
        if (key_is_among(actions->list[i].keys, key))
            return &actions->list[i];
    return NULL;
}

const struct action *actions_named(const struct app *app, const char *name)
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

int action_destination(const struct action *action)
{
    return action->run_with == action_go ? action->argument : SCREEN_COUNT;
}

void action_go(struct app *app, int screen)
{
    app_go(app, (enum screen_id)screen);
}

const char *action_refused_place(const struct app *app, int screen)
{
    return app_offers_screen(app, (enum screen_id)screen) ? NULL : ACTION_EXPLAINS;
}
