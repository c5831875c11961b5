/* places.h: where one can go in the workbench, and the menu that leads there. One table: the menu,
 * its letters and the help are made from it. */
#ifndef TINCA_UI_APP_MENU_H
#define TINCA_UI_APP_MENU_H

#include <stdbool.h>
#include <stddef.h>

struct app;

struct place {
    int key; /* its letter in the menu */
    const char *name, *what;
    void (*open)(struct app *app);
};

extern const struct place places[];
extern const size_t place_count;

struct menu {
    bool open;
    size_t selected, top;
};

void menu_open(struct app *app);
void menu_key(struct app *app, int key);
void menu_draw(struct app *app);

#endif
