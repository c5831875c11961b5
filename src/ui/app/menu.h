/* menu.h: the menu that leads to every screen. It is made from the table of screens. */
#ifndef TINCA_UI_APP_MENU_H
#define TINCA_UI_APP_MENU_H

#include <stdbool.h>
#include <stddef.h>

struct app;

struct menu {
    bool open;
    size_t selected, top;
};

/* Opens the menu over the screen in front. */
void menu_open(struct app *app);
/* Takes a key while the menu is open. */
void menu_key(struct app *app, int key);
void menu_draw(struct app *app);

#endif
