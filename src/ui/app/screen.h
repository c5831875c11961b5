/* screen.h: the interface that every screen of the workbench implements.
 *
 * A screen is one folder below ui/screens with one such table, listed in screens.inc. Its state is
 * private: the workbench allocates `state_size` zeroed bytes for it, and only files of the screen's
 * folder know their type (app_state in app.h). Screens never include each other; they share data
 * through ui/shared and learn of changes by events.
 */
#ifndef TINCA_UI_APP_SCREEN_H
#define TINCA_UI_APP_SCREEN_H

#include "ui/app/actions.h"
#include "ui/terminal/layout.h"

#include <stdbool.h>
#include <stddef.h>

struct app;
struct run_entry;

enum screen_id {
#define SCREEN(identifier, table) SCREEN_##identifier,
#include "ui/app/screens.inc"
#undef SCREEN
    SCREEN_COUNT
};

/* Changes that a screen may have to respond to, even while another screen is in front. */
enum screen_event {
    EVENT_BEGIN,        /* the program begins: set the initial values of the state */
    EVENT_RUN_REMOVED,  /* a run is about to leave its list: drop every pointer to it */
    EVENT_RUN_REPLACED, /* a run's curves are about to be read again from its folder */
    EVENT_RUN_ENDED,    /* a run of this session has ended */
    EVENT_X_AXIS        /* the x axis of all plots has changed: shared.axes */
};

struct screen {
    const char *name;    /* in the title and in the menu; translated when drawn */
    int letter;          /* its key in the menu */
    const char *purpose; /* its description in the menu; translated when drawn */
    struct actions actions;
    size_t state_size; /* bytes of app_state; 0: the screen has no state */

    /* Every function below except `draw` may be NULL; the comment says what that means. */

    /* Runs when the screen is chosen in the menu. NULL: the screen comes to the front. */
    void (*go)(struct app *app);
    /* Prepares the screen each time app_show brings it to the front. NULL: nothing to prepare. */
    void (*open)(struct app *app);
    /* Frees the memory that the state owns, when the program ends. NULL: it owns none. */
    void (*close)(struct app *app);

    /* Writes the title. NULL: the title is the name. */
    void (*title)(const struct app *app, char *text, size_t size);
    /* Handles a key before the list of actions is searched. Returns whether it did. NULL: the
     * screen handles no key itself. */
    bool (*take_key)(struct app *app, int key);
    /* Returns the keys of what is open over the screen and takes all keys: a line in which text is
     * typed (actions_editing), a list (actions_choosing); else NULL. NULL: nothing ever is. */
    const struct actions *(*over)(const struct app *app);
    /* Returns whether the screen has something to show. NULL: it always has. */
    bool (*reachable)(const struct app *app);
    /* Draws the screen into `body`, the rows between title and message. */
    void (*draw)(struct app *app, struct rect body);
    /* Returns the run that is shown or selected, or NULL. NULL: the screen shows no run. */
    struct run_entry *(*run)(const struct app *app);

    /* Does a little work between two frames, in front or not. Returns whether it wants to be called
     * again at once. NULL: the screen has no such work. */
    bool (*work)(struct app *app);
    /* Returns in how many seconds `work` wants to be called; INFINITY: only after the next key.
     * NULL: only after the next key. */
    double (*busy)(const struct app *app);
    /* Responds to an event. `entry` is the run that it concerns, or NULL. NULL: the screen needs no
     * events. */
    void (*notice)(struct app *app, enum screen_event event, struct run_entry *entry);
};

#endif
