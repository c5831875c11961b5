/* The menu: one line for each screen, with its letter, its name and, in a wide terminal, its
 * purpose. The letters, Enter and clicks lead to a screen. */
#include "ui/app/menu.h"

#include "base/language.h"
#include "ui/app/app.h"

enum { NAME_COLUMN = 5, WHAT_COLUMN = 19, WIDE = 84, NARROW = 26 };

void menu_open(struct app *app)
{
    app->menu = (struct menu){.open = true};
}

static void go(struct app *app, enum screen_id place)
{
    app->menu.open = false;
    app_go(app, place);
}

static void move(struct menu *menu, size_t steps)
{
    menu->selected = (menu->selected + steps) % (size_t)SCREEN_COUNT;
}

void menu_key(struct app *app, int key)
{
    struct menu *menu = &app->menu;
    for (size_t i = 0; i < (size_t)SCREEN_COUNT; i++)
        if (app->screens[i]->letter == key) {
            go(app, (enum screen_id)i);
            return;
        }
    if (key == UI_ENTER)
        go(app, (enum screen_id)menu->selected);
    else if (key == UI_ESCAPE || key == 'm' || key == 'q')
        menu->open = false;
    else if (key == UI_UP || key == UI_BACK_TAB)
        move(menu, (size_t)SCREEN_COUNT - 1);
    else if (key == UI_DOWN || key == UI_TAB)
        move(menu, 1);
    else if (key == UI_HOME || key == UI_END)
        menu->selected = key == UI_HOME ? 0 : (size_t)SCREEN_COUNT - 1;
}

static void draw_place(struct app *app, struct rect list, int row, size_t index)
{
    bool selected = index == app->menu.selected;
    struct rect line = {list.row + row, list.column, 1, list.columns};
    enum role role = selected ? ROLE_FOCUS : ROLE_TEXT;
    if (selected)
        draw_fill(&app->canvas, line, ROLE_FOCUS);
    draw_text(&app->canvas, line, 0, 0, role, selected ? ">" : " ");
    draw_format(&app->canvas, line, 0, 2, selected ? ROLE_FOCUS : ROLE_KEY, "%c",
                app->screens[index]->letter);
    draw_text(&app->canvas, line, 0, NAME_COLUMN, role, gettext(app->screens[index]->name));
    if (list.columns > NARROW)
        draw_text(&app->canvas, line, 0, WHAT_COLUMN, selected ? ROLE_FOCUS : ROLE_FAINT,
                  gettext(app->screens[index]->purpose));
    if (selected)
        draw_cursor(&app->canvas, line, 0, 0);
}

void menu_draw(struct app *app)
{
    struct menu *menu = &app->menu;
    struct rect box =
        layout_dialog(app->canvas.rows - 2, app->canvas.columns, (int)SCREEN_COUNT + 2,
                      app->canvas.columns >= 72 ? WIDE : NARROW);
    box.row += app->canvas.rows > 2;
    struct rect inside = draw_box(&app->canvas, box, _("Go to"));
    if (inside.rows <= 0)
        return;
    size_t room = (size_t)inside.rows;
    if (menu->selected < menu->top)
        menu->top = menu->selected;
    if (menu->selected >= menu->top + room)
        menu->top = menu->selected - room + 1;
    for (size_t row = 0; row < room && menu->top + row < (size_t)SCREEN_COUNT; row++) {
        struct rect line = {inside.row + (int)row, inside.column, 1, inside.columns};
        draw_place(app, inside, (int)row, menu->top + row);
        targets_add(&app->canvas.targets, line, app->screens[menu->top + row]->letter, 1);
    }
    if (menu->top > 0)
        draw_right(&app->canvas, inside, 0, ROLE_FAINT, app->canvas.glyphs->up);
    if (menu->top + room < (size_t)SCREEN_COUNT)
        draw_right(&app->canvas, inside, inside.rows - 1, ROLE_FAINT, app->canvas.glyphs->down);
}
