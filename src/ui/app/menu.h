/* menu.h: the menu of all screens, made from the table of screens. */
#ifndef TINCA_UI_APP_MENU_H
#define TINCA_UI_APP_MENU_H

#include <stdbool.h>
#include <stddef.h>

struct app;

struct menu {
    bool open;
    size_t selected, top; /* rows: the selected one and the first one in view */
};

/* Opens the menu over the screen in front. */
void menu_open(struct app *app);
/* Handles a key while the menu is open: a screen's letter goes there, Esc closes the menu. */
void menu_key(struct app *app, int key);
/* Draws the menu over the screen in front. */
void menu_draw(struct app *app);

#endif
