/* menu.h: the menu of screens, and the command palette: everything that can be done now, found by
 * its words. Both are made from the lists of actions and of screens, so that they list what the
 * keys do and nothing twice. */
#ifndef TINCA_UI_APP_MENU_H
#define TINCA_UI_APP_MENU_H

#include "ui/app/screen.h"
#include "ui/widgets/chooser.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app;

struct menu {
    bool open;
    size_t selected, top; /* rows: the selected one and the first one in view */
};

/* Handles a key while the menu is open: Enter goes to the selected screen, Esc closes the menu, and
 * text opens the palette with it. */
void menu_key(struct app *app, int key);
/* Draws the menu over the screen in front. */
void menu_draw(struct app *app);

struct command {
    const struct action *action; /* NULL: `place` is a screen of the menu */
    enum screen_id place;        /* used if `action` is NULL */
    char keys[16];               /* how its key, or the menu's letter, is written */
};

struct commands {
    struct chooser chooser; /* chooser.open: the palette is open */
    struct command list[CHOOSER_MAX_ITEMS];
    size_t count;
    int letter;            /* all that was typed after `m`; what it means in the menu is done */
    uint64_t letter_until; /* then (clock_nanoseconds), unless another key comes; 0: no letter */
};

/* Returns the screen with this letter in the menu, or SCREEN_COUNT. */
enum screen_id commands_screen_of(const struct app *app, int letter);
/* Opens the palette over the screen in front. `all_screens`: every screen of the menu is listed,
 * before the keys. */
void commands_open(struct app *app, bool all_screens);
/* Returns in how many seconds a letter that was typed in the menu counts as the whole word;
 * INFINITY: none was. */
double commands_seconds(const struct app *app);
/* Returns the screen that this letter means in the menu, or SCREEN_COUNT. */
enum screen_id commands_place(const struct app *app);
/* Handles a key while the palette is open: Enter does the selected command or the one whose name
 * is typed, Esc closes it. Returns the action that the caller then does; NULL: none. */
const struct action *commands_key(struct app *app, int key);
/* Draws the palette over the screen in front. */
void commands_draw(struct app *app);

#endif
