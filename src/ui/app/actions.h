/* actions.h: what a screen can do, one row an action. Keys, key hints, help, menu, clicks, the
 * command palette with its names, and the test that a key has one meaning come from these rows.
 *
 * A screen's list is in its file; rows that several screens share are in ui/app/actions.inc.
 */
#ifndef TINCA_UI_APP_ACTIONS_H
#define TINCA_UI_APP_ACTIONS_H

#include "ui/terminal/keys.h"

#include <stdbool.h>
#include <stddef.h>

struct app;
struct screen;

struct action {
    const char *keys; /* their names, as in "PgDn . (space)"; those in parentheses are not shown */
    const char *name; /* what it is called after `:`, the same in all languages: "next-view" */
    const char *hint; /* one or two words for the bottom line; NULL: not shown there */
    const char *help; /* a sentence for the help screen; NULL: the row above explains it */
    /* As `run`, `refused` and `word`, for rows that share functions and differ in the argument. */
    void (*run_with)(struct app *app, int argument);
    const char *(*refused_with)(const struct app *app, int argument);
    const char *(*word_with)(const struct app *app, int argument);
    int argument;
    /* Does the action. NULL, as `run_with`: the key belongs to a text or a list that is open over
     * the screen. */
    void (*run)(struct app *app);
    /* Returns why the action would do nothing now, as a translated sentence, or NULL if it would do
     * something. An action that is refused is not offered, and its key shows the sentence.
     * ACTION_EXPLAINS: it is not offered either, but `run` says why. NULL: it is always offered. */
    const char *(*refused)(const struct app *app);
    /* Returns the translated hint for the present state, or NULL: `hint` fits. NULL: it does
     * always.
     */
    const char *(*word)(const struct app *app);
};

struct actions {
    const char *title; /* "While a run is shown"; NULL: the help does not show the list */
    const struct action *list;
    size_t count;
    /* Returns why no action of the list would do anything now, as `refused` of an action. NULL: it
     * is up to the actions. */
    const char *(*refused)(const struct app *app);
};

/* The title and the rows of an array, as members of struct actions. */
#define ACTIONS(heading, rows)                                                                     \
    .title = heading, .list = rows, .count = sizeof(rows) / sizeof *(rows)

#define ACTION_EXPLAINS ""

/* The actions that mean the same on every screen, and the keys of what is open over a screen: a
 * line of text, which Tab completes or not, and a list to choose from. */
extern const struct actions actions_everywhere, actions_editing, actions_completing,
    actions_choosing, actions_choosing_text;

/* Returns the keys of what is open over the screen or typed on it: the hints are these alone. NULL:
 * the screen's own keys work. */
const struct actions *actions_open(const struct app *app);

/* Returns the action with this key, or NULL. */
const struct action *actions_find(const struct actions *actions, int key);

/* Returns whether the action of the screen's list or of another one does something on that screen
 * now, and the screen does not give its key another meaning. Key hints, help, menu and palette
 * leave out the rest; a key that is left out still explains itself when pressed. */
bool action_is_offered(const struct app *app, const struct screen *screen,
                       const struct actions *actions, const struct action *action);

/* Does an action of the list, or shows why it is refused. One that the screen refuses leaves its
 * key to what the key means everywhere, if that leads to a screen. */
void action_run(struct app *app, const struct actions *actions, const struct action *action);

/* Returns the translated hint of an action in the present state. NULL: it has none. */
const char *action_hint(const struct app *app, const struct action *action);

/* Goes to a screen as the menu does (app_go). Many actions do only this. */
void action_go(struct app *app, int screen);
/* Returns ACTION_EXPLAINS if the screen has nothing to show. */
const char *action_refused_place(const struct app *app, int screen);

#endif
