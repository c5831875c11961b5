/* The states of a run: it waits, is computed here (perhaps paused), is computed by another process
 * and only watched, has ended, or could not be started or read. Each action names the states in
 * which it has a purpose. */
#include "ui/app/offers.h"

#include "base/language.h"
#include "session/values/run_snapshot.h"
#include "ui/app/app.h"
#include "ui/app/run_actions.h"

enum screen_id offers_destination(enum action action)
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

bool offers_screen(const struct app *app, enum screen_id id)
{
    const struct screen *screen = app->screens[id];
    return !screen->reachable || screen->reachable(app);
}

static bool offers_action(const struct app *app, const struct screen *screen, enum action action)
{
    return !screen->offers || screen->offers(app, action);
}

/* Returns whether the screen's table gives the key a meaning of its own now. */
static bool is_taken(const struct app *app, const struct screen *screen, int key)
{
    const enum action action = screen->keys ? keys_find(screen->keys, key) : ACTION_NONE;
    return action && offers_action(app, screen, action);
}

bool offers_binding(const struct app *app, const struct screen *screen,
                    const struct key_table *table, const struct key_binding *binding)
{
    if (table != &keys_everywhere)
        return offers_action(app, screen, binding->action);
    const enum screen_id place = offers_destination(binding->action);
    return !is_taken(app, screen, binding->key) &&
           (place == SCREEN_COUNT || offers_screen(app, place));
}

const char *offers_hint(const struct app *app, const struct screen *screen,
                        const struct key_binding *binding)
{
    const char *hint = screen->hint ? screen->hint(app, binding->action) : NULL;
    return hint ? hint : binding->hint ? gettext(binding->hint) : NULL;
}

/* --- runs --- */

static bool can_try(const struct run_entry *entry)
{
    bool saved = entry->snapshot.checkpoints > 0;
    for (size_t kind = 0; kind < RUN_SAVED_KINDS; kind++)
        saved = saved || entry->models[kind];
    return saved && run_entry_directory(entry) && !entry->imported[0];
}

/* Returns whether nothing but its files is known of a saved run, or not even these. */
static bool is_unread(const struct run_entry *entry)
{
    return run_entry_is_saved(entry) && !entry->outline_known;
}

bool offers_run_action(const struct run_entry *entry, enum action action)
{
    const bool active = entry && run_entry_is_active(entry);
    const bool unreadable = entry && run_entry_is_saved(entry) && entry->refused;
    const bool known = entry && !unreadable && !is_unread(entry);
    const bool files = entry && run_entry_directory(entry);
    const bool waiting = entry && run_entry_is_waiting(entry), live = entry && entry->live;
    switch (action) {
    case ACTION_PAUSE:
    case ACTION_SAVE:
    case ACTION_RATE:
    case ACTION_RATE_UP:
    case ACTION_RATE_DOWN:
        return active;
    case ACTION_STOP:
        return active || (live && entry->owner.alone);
    case ACTION_RESUME:
        return known && files && run_actions_may_resume(entry, NULL);
    case ACTION_RENAME:
        return files;
    case ACTION_MARK:
        return files && !waiting;
    case ACTION_CLONE:
        return known;
    case ACTION_REMOVE:
        return (files || waiting) && !active && !live;
    case ACTION_TRY:
        return known && can_try(entry);
    case ACTION_COMPARE:
        return known && entry->snapshot.iteration > 0;
    case ACTION_EXPORT:
        return known && files;
    default:
        return true;
    }
}

bool offers_export(const struct app *app)
{
    for (size_t i = 0; i < app_run_count(app); i++)
        if (run_entry_directory(app_run_at(app, i)))
            return true;
    return false;
}

bool offers_comparison(const struct app *app)
{
    for (size_t i = 0; i < app_run_count(app); i++) {
        const struct run_entry *entry = app_run_at(app, i);
        if (is_unread(entry) || offers_run_action(entry, ACTION_COMPARE))
            return true;
    }
    return false;
}
