/* The keys that mean the same on every screen, those that edit a line of text or choose in a list,
 * and which keys do something now. */
#include "ui/app/app.h"

#include "base/language.h"
#include "ui/app/run_cells.h"
#include "ui/app/run_loading.h"
#include "ui/shared/run_offers.h"

static const struct key_binding everywhere[] = {
    {'?', UI_F1, ACTION_HELP, "? F1", N_("help"), N_("this help")},
    {'q', UI_ESCAPE, ACTION_BACK, "q Esc", N_("back"),
     N_("back; q on the first screen: quit (asks while a run is on)")},
    {UI_F10, 0, ACTION_BACK, "F10", NULL, N_("the same as q, also while a text is typed")},
    {UI_F5, UI_CTRL_R, ACTION_RUN_FORM, "F5 C-r", NULL,
     N_("run what the form says, from every screen, also while a text is typed")},
    {'m', UI_F9, ACTION_MENU, "m F9", N_("menu"),
     N_("everywhere one can go: a letter alone goes to its screen after half a second, or at once "
        "with Enter; words find a command, as after :")},
    {':', 0, ACTION_COMMANDS, ":", N_("command"),
     N_("all that can be done now: type words of it, Enter does it")},
    {'o', 0, ACTION_RUNS, "o", N_("runs"), N_("the runs, of this session and of earlier ones")},
    {'e', 0, ACTION_EXPORT, "e", N_("export"),
     N_("export the session, this run or the marked ones: JSON, CSV, picture, report; asks")},
    {'c', 0, ACTION_COMPARE, "c", N_("compare"),
     N_("compare runs: the marked ones, or those that the list shows")},
    {UI_CTRL_L, 0, ACTION_REDRAW, "C-l", NULL, N_("draw the screen afresh")},
};
const struct key_table keys_everywhere = {N_("Everywhere"), everywhere,
                                          sizeof everywhere / sizeof *everywhere};

static const struct key_binding editing[] = {
    {UI_ENTER, 0, ACTION_NONE, N_("Enter"), N_("take it"), N_("take the value")},
    {UI_ESCAPE, 0, ACTION_NONE, "Esc", N_("leave it"), N_("leave the value as it was")},
    {UI_TAB, 0, ACTION_NONE, "Tab", N_("complete"),
     N_("complete as far as it is certain, then choose among the candidates; in the form the "
        "arrows choose too, Enter takes one, and Esc closes their list")},
    {UI_CTRL_U, 0, ACTION_NONE, "C-u", N_("clear"),
     N_("clear the line; C-w a word, C-k the rest, C-a and C-e to its ends")},
    {UI_F5, 0, ACTION_NONE, "F5", N_("run"), NULL},
};
const struct key_table keys_editing = {N_("Typing a value (just begin, or Enter)"), editing,
                                       sizeof editing / sizeof *editing};

static const struct key_binding menu[] = {
    {UI_ENTER, 0, ACTION_NONE, N_("Enter"), N_("go there"), NULL},
    {'/', 0, ACTION_NONE, N_("words"), N_("find a command"), NULL},
    {UI_ESCAPE, 0, ACTION_NONE, "Esc", N_("close"), NULL},
};
static const struct key_table keys_menu = {NULL, menu, sizeof menu / sizeof *menu};

static const struct key_binding commands[] = {
    {UI_ENTER, 0, ACTION_NONE, N_("Enter"), N_("do it"), NULL},
    {UI_DOWN, 0, ACTION_NONE, N_("Down"), N_("next"), NULL},
    {UI_CTRL_U, 0, ACTION_NONE, "C-u", N_("clear"), NULL},
    {UI_ESCAPE, 0, ACTION_NONE, "Esc", N_("close"), NULL},
};
static const struct key_table keys_commands = {NULL, commands, sizeof commands / sizeof *commands};

static const struct key_binding choosing[] = {
    {UI_ENTER, 0, ACTION_NONE, N_("Enter"), N_("take it"), NULL},
    {UI_DOWN, 0, ACTION_NONE, N_("Down"), N_("next"), NULL},
    {UI_TAB, 0, ACTION_NONE, "Tab", N_("complete"), NULL},
    {UI_ESCAPE, 0, ACTION_NONE, "Esc", N_("close"), NULL},
};
const struct key_table keys_choosing = {NULL, choosing, sizeof choosing / sizeof *choosing};

const struct key_table *app_open_keys(const struct app *app)
{
    const struct screen *screen = app_screen(app);
    const struct key_table *list = NULL;
    if (app->dialog.open)
        return app->dialog.choice_count > 0 ? &keys_choosing : &keys_editing;
    if (app->menu.open)
        return &keys_menu;
    if (app->commands.chooser.open)
        return &keys_commands;
    if (screen->list_keys)
        list = screen->list_keys(app);
    return list || !app_is_typing(app) ? list : &keys_editing;
}

/* --- what can be done now --- */

enum screen_id app_destination(enum action action)
{
    static const struct {
        enum action action;
        enum screen_id screen;
    } screens[] = {{ACTION_HELP, SCREEN_HELP},
                   {ACTION_RUNS, SCREEN_RUNS},
                   {ACTION_FORM, SCREEN_SETUP},
                   {ACTION_EXPORT, SCREEN_EXPORT},
                   {ACTION_COMPARE, SCREEN_COMPARE}};
    for (size_t i = 0; i < sizeof screens / sizeof *screens; i++)
        if (screens[i].action == action)
            return screens[i].screen;
    return SCREEN_COUNT;
}

bool app_offers_screen(const struct app *app, enum screen_id id)
{
    const struct screen *screen = app->screens[id];
    return !screen->reachable || screen->reachable(app);
}

static bool offers_action(const struct app *app, const struct screen *screen, enum action action)
{
    return (!screen->offers || screen->offers(app, action)) &&
           !(screen->refuses && screen->refuses(app, action));
}

/* Returns whether the screen's table gives the key a meaning of its own now. */
static bool is_taken(const struct app *app, const struct screen *screen, int key)
{
    const enum action action = screen->keys ? keys_find(screen->keys, key) : ACTION_NONE;
    return action && offers_action(app, screen, action);
}

bool app_offers_binding(const struct app *app, const struct screen *screen,
                        const struct key_table *table, const struct key_binding *binding)
{
    if (binding->action == ACTION_NONE && binding->key == UI_TAB)
        return app->dialog.open ? app->dialog.choice_count == 0 && app->dialog.source
                                : screen->completes && screen->completes(app);
    if (binding->action == ACTION_NONE) /* a dialog that would lose its text refuses F5 */
        return binding->key != UI_F5 || !app->dialog.open;
    if (table != &keys_everywhere)
        return offers_action(app, screen, binding->action);
    const enum screen_id place = app_destination(binding->action);
    return !is_taken(app, screen, binding->key) &&
           (place == SCREEN_COUNT || app_offers_screen(app, place));
}

const char *app_hint(const struct app *app, const struct screen *screen,
                     const struct key_binding *binding)
{
    const char *hint = screen->hint ? screen->hint(app, binding->action) : NULL;
    return hint ? hint : binding->hint ? gettext(binding->hint) : NULL;
}

bool app_offers_export(const struct app *app)
{
    const struct screen *front = app_screen(app);
    const struct run_entry *here = front->run ? front->run(app) : NULL;
    for (size_t i = 0; i < app_run_count(app); i++) {
        const struct run_entry *entry = app_run_at(app, i);
        const bool offered =
            entry == here || !run_entry_is_saved(entry) || (entry->marked && runs_match(app, i));
        if (offered && run_entry_directory(entry))
            return true;
    }
    return false;
}

bool app_offers_comparison(const struct app *app)
{
    for (size_t i = 0; i < app_run_count(app); i++) {
        const struct run_entry *entry = app_run_at(app, i);
        if (loading_is_unread(entry) || run_offers_action(entry, ACTION_COMPARE))
            return true;
    }
    return false;
}
