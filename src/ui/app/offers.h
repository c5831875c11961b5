/* offers.h: what can be done now. Key hints, help, menu and command palette leave out the rest, so
 * that every key they show does something. A key that is left out still explains itself when
 * pressed. */
#ifndef TINCA_UI_APP_OFFERS_H
#define TINCA_UI_APP_OFFERS_H

#include "ui/app/screen.h"
#include "ui/terminal/keys.h"

#include <stdbool.h>

struct app;
struct run_entry;

/* Returns whether the screen has something to show or to do (screen->reachable). */
bool offers_screen(const struct app *app, enum screen_id id);

/* Returns whether the binding of the screen's table, or of keys_everywhere, does something on that
 * screen: its action has a purpose now, and the screen does not give its key another meaning. */
bool offers_binding(const struct app *app, const struct screen *screen,
                    const struct key_table *table, const struct key_binding *binding);

/* Returns the translated hint of a binding: the screen's own word for the present state, or the
 * table's. NULL: it has none. */
const char *offers_hint(const struct app *app, const struct screen *screen,
                        const struct key_binding *binding);

/* Returns the screen that an action of keys_everywhere leads to, or SCREEN_COUNT. */
enum screen_id offers_destination(enum action action);

/* Returns whether an action on a run (pause, stop, resume, name, copy, delete, try, compare,
 * export) does something in the run's present state; true for all other actions. `entry` NULL: no
 * run is selected. */
bool offers_run_action(const struct run_entry *entry, enum action action);

/* Returns whether a run of the lists has files that can be exported. */
bool offers_export(const struct app *app);
/* Returns whether a run of the lists has curves that can be compared. */
bool offers_comparison(const struct app *app);

#endif
