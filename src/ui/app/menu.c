/* The menu: one line for each screen that has something to show, with its letter, its name and, in
 * a wide terminal, its purpose. Enter and clicks lead to a screen, and so does its letter. But a
 * letter may also begin a word, so the palette opens with what is typed: LETTER_SECONDS after a
 * letter without another key, or with Enter, its screen is shown; anything else continues the word.
 */
#include "ui/app/menu.h"

#include "base/clock.h"
#include "base/language.h"
#include "ui/app/app.h"
#include "ui/widgets/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double LETTER_SECONDS = 0.5;

enum { NAME_COLUMN = 5, WHAT_COLUMN = 19, WIDE = 84, NARROW = 26 };

static void go(struct app *app, enum screen_id place)
{
    app->menu.open = false;
    app_go(app, place);
}

/* Opens the palette in place of the menu, with what was typed or pasted. m and q, which no screen
 * has, close it if no word follows. */
static void begin_word(struct app *app, int key)
{
    struct commands *commands = &app->commands;
    app->menu.open = false;
    commands_open(app, true);
    if (key == '/' || key == ':')
        return;
    chooser_key(&commands->chooser, key);
    commands->letter =
        key == 'm' || key == 'q' || commands_screen_of(app, key) != SCREEN_COUNT ? key : 0;
    commands->letter_until = clock_nanoseconds() + (uint64_t)(LETTER_SECONDS * 1e9);
}

/* Writes the screens that have something to show, in the order of the menu. Returns their number.
 */
static size_t list_places(const struct app *app, enum screen_id places[SCREEN_COUNT])
{
    size_t count = 0;
    for (enum screen_id i = 0; i < SCREEN_COUNT; i++)
        if (app_offers_screen(app, i))
            places[count++] = i;
    return count;
}

void menu_key(struct app *app, int key)
{
    struct menu *menu = &app->menu;
    enum screen_id places[SCREEN_COUNT];
    const size_t count = list_places(app, places);
    if (key == UI_ENTER)
        go(app, places[menu->selected]);
    else if (key == UI_ESCAPE || key == UI_F9)
        menu->open = false;
    else if (key == UI_UP || key == UI_BACK_TAB)
        menu->selected = (menu->selected + count - 1) % count;
    else if (key == UI_DOWN || key == UI_TAB)
        menu->selected = (menu->selected + 1) % count;
    else if (key == UI_HOME || key == UI_END)
        menu->selected = list_move(menu->selected, move_of_key(key), 1, count);
    else if (key == UI_PASTE || (key != ' ' && key_is_printable(key)))
        begin_word(app, key);
}

static void draw_place(struct app *app, struct rect list, int row, enum screen_id place,
                       bool selected)
{
    struct rect line = {list.row + row, list.column, 1, list.columns};
    enum role role = selected ? ROLE_FOCUS : ROLE_TEXT;
    if (selected)
        draw_fill(&app->canvas, line, ROLE_FOCUS);
    draw_text(&app->canvas, line, 0, 0, role, selected ? ">" : " ");
    draw_format(&app->canvas, line, 0, 2, selected ? ROLE_FOCUS : ROLE_KEY, "%c",
                app->screens[place]->letter);
    draw_text(&app->canvas, line, 0, NAME_COLUMN, role, gettext(app->screens[place]->name));
    if (list.columns > NARROW)
        draw_text(&app->canvas, line, 0, WHAT_COLUMN, selected ? ROLE_FOCUS : ROLE_FAINT,
                  gettext(app->screens[place]->purpose));
    if (selected)
        draw_cursor(&app->canvas, line, 0, 0);
}

void menu_draw(struct app *app)
{
    struct menu *menu = &app->menu;
    enum screen_id places[SCREEN_COUNT];
    const size_t count = list_places(app, places);
    struct rect box = layout_dialog(app->canvas.rows - 2, app->canvas.columns, (int)count + 2,
                                    app->canvas.columns >= 72 ? WIDE : NARROW);
    box.row += app->canvas.rows > 2;
    struct rect inside = draw_box(&app->canvas, box, _("Go to"));
    if (inside.rows <= 0)
        return;
    size_t room = (size_t)inside.rows;
    menu->top = table_scroll(menu->top, menu->selected, room, count);
    for (size_t row = 0; row < room && menu->top + row < count; row++) {
        struct rect line = {inside.row + (int)row, inside.column, 1, inside.columns};
        const size_t index = menu->top + row;
        draw_place(app, inside, (int)row, places[index], index == menu->selected);
        targets_add_choice(&app->canvas.targets, line, index, menu->selected);
    }
    draw_scroll_marks(&app->canvas, inside, menu->top > 0, menu->top + room < count);
}
