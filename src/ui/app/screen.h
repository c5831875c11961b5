/* screen.h: the interface that every screen of the workbench implements.
 *
 * A screen is one folder below ui/screens with one such table, listed in screens.inc. Its state is
 * private: the workbench allocates `state_size` zeroed bytes for it, and only the screen's own
 * files know what they hold (app_state in app.h). Screens never include each other; they share data
 * through ui/shared and tell each other of changes by events.
 */
#ifndef TINCA_UI_APP_SCREEN_H
#define TINCA_UI_APP_SCREEN_H

#include "ui/terminal/keys.h"
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

/* Changes that a screen may have to follow, even while another one is in front. */
enum screen_event {
    EVENT_RUN_REMOVED,  /* a run leaves its list: nobody may use it after this call */
    EVENT_RUN_REPLACED, /* a run's curves are about to be read afresh from its folder */
    EVENT_RUN_ENDED,    /* a run of this session has ended */
    EVENT_X_AXIS        /* the x axis of all plots has changed: shared.axes */
};

struct screen {
    const char *name;    /* of its title and its line in the menu; shown by gettext */
    int letter;          /* its key in the menu */
    const char *purpose; /* what the menu says about it; shown by gettext */
    const struct key_table *keys;
    size_t state_size; /* bytes; 0: it has no state */

    /* Gives the state its first values. NULL: all bytes are zero. */
    void (*begin)(struct app *app);
    /* What its letter in the menu does. NULL: it comes to the front. */
    void (*go)(struct app *app);
    /* Prepares the screen each time it comes to the front by app_show. NULL: nothing to prepare. */
    void (*open)(struct app *app);
    /* Frees what the state holds, at the end of the program. NULL: it holds nothing. */
    void (*close)(struct app *app);

    /* Writes the title. NULL: the title is the name. */
    void (*title)(const struct app *app, char *text, size_t size);
    /* Takes a key before the table of keys; returns whether it did. NULL: it takes none. */
    bool (*take_key)(struct app *app, int key);
    void (*act)(struct app *app, enum action action); /* does what a key of the table asks for */
    void (*draw)(struct app *app, struct rect body);
    /* Returns whether letters are typed into a field now instead of being commands. NULL: never. */
    bool (*typing)(const struct app *app);
    /* Returns the run that is shown or selected, or NULL. NULL: the screen shows no run. */
    struct run_entry *(*run)(const struct app *app);

    /* Does a little work between two frames, in front or not. Returns whether it wants to be called
     * again at once. NULL: it has none. */
    bool (*work)(struct app *app);
    /* Returns in how many seconds `work` wants to be called; INFINITY: only after the next key.
     * NULL: never. */
    double (*busy)(const struct app *app);
    /* Follows a change of a run (NULL: the event concerns none). NULL: it follows none. */
    void (*notice)(struct app *app, enum screen_event event, struct run_entry *entry);
};

#endif
