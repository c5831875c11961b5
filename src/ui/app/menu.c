#include "ui/app/menu.h"

#include "base/language.h"
#include "ui/app/app.h"

static void open_form(struct app *app)
{
    app_show(app, &screen_form);
}

static void open_run(struct app *app)
{
    if (app->runs.count > 0)
        app_show_run(app, app->runs.count - 1);
    else
        app_say(app, ROLE_WARNING,
                _("No run was started in this session; r on the form starts one."));
}

static void open_settings(struct app *app)
{
    app_show(app, &screen_settings);
}

static void open_pictures(struct app *app)
{
    app_show(app, &screen_pictures);
}

static void open_log(struct app *app)
{
    app->log_view.left_end = false;
    app_show(app, &screen_log);
}

static void open_help(struct app *app)
{
    app->help_scroll = 0;
    app_show(app, &screen_help);
}

const struct place places[] = {
    {'s', N_("Set up"), N_("choose network, technique, data and device, and run"), open_form},
    {'i', N_("Pictures"), N_("the images of the form's training data"), open_pictures},
    {'r', N_("Run"), N_("the latest run: curves, memory, findings"), open_run},
    {'o', N_("Runs"), N_("the runs of this session and of earlier ones"), app_show_runs},
    {'c', N_("Compare"), N_("curves and tables of several runs"), compare_open},
    {'t', N_("Try it"), N_("what a model says of images; its confusion matrix"), try_open},
    {'a', N_("Advisor"), N_("which technique to use, read off one's own runs"), advisor_open},
    {'p', N_("Study"), N_("can people tell a network's pictures from real ones?"), study_open},
    {'w', N_("Sweep"), N_("a grid of runs: networks, techniques, batches, devices"), sweep_show},
    {'e', N_("Export"), N_("write runs as JSON, CSV, a picture or a report"), ask_export},
    {'l', N_("Log"), N_("what was told: starts, ends, findings, errors"), open_log},
    {'d', N_("Devices"), N_("processor, memory and GPUs, and how busy they are"), devices_open},
    {',', N_("Settings"), N_("colours, symbols, mouse, language and where exports go"),
     open_settings},
    {'h', N_("Help"), N_("every key, and the words used"), open_help},
};
const size_t place_count = sizeof places / sizeof *places;

/* --- the menu: where there is room, with what each place is for --- */

enum { NAME_COLUMN = 5, WHAT_COLUMN = 19, WIDE = 84, NARROW = 26 };

void menu_open(struct app *app)
{
    app->menu = (struct menu){.open = true};
}

static void go(struct app *app, size_t place)
{
    app->menu.open = false;
    places[place].open(app);
}

static void move(struct menu *menu, size_t steps)
{
    menu->selected = (menu->selected + steps) % place_count;
}

void menu_key(struct app *app, int key)
{
    struct menu *menu = &app->menu;
    for (size_t i = 0; i < place_count; i++)
        if (places[i].key == key) {
            go(app, i);
            return;
        }
    if (key == UI_ENTER)
        go(app, menu->selected);
    else if (key == UI_ESCAPE || key == 'm' || key == 'q')
        menu->open = false;
    else if (key == UI_UP || key == UI_BACK_TAB)
        move(menu, place_count - 1);
    else if (key == UI_DOWN || key == UI_TAB)
        move(menu, 1);
    else if (key == UI_HOME || key == UI_END)
        menu->selected = key == UI_HOME ? 0 : place_count - 1;
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
                places[index].key);
    draw_text(&app->canvas, line, 0, NAME_COLUMN, role, gettext(places[index].name));
    if (list.columns > NARROW)
        draw_text(&app->canvas, line, 0, WHAT_COLUMN, selected ? ROLE_FOCUS : ROLE_FAINT,
                  gettext(places[index].what));
    if (selected)
        draw_cursor(&app->canvas, line, 0, 0);
}

void menu_draw(struct app *app)
{
    struct menu *menu = &app->menu;
    struct rect box = layout_dialog(app->canvas.rows - 2, app->canvas.columns, (int)place_count + 2,
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
    for (size_t row = 0; row < room && menu->top + row < place_count; row++) {
        struct rect line = {inside.row + (int)row, inside.column, 1, inside.columns};
        draw_place(app, inside, (int)row, menu->top + row);
        targets_add(&app->canvas.targets, line, places[menu->top + row].key, 1);
    }
    if (menu->top > 0)
        draw_right(&app->canvas, inside, 0, ROLE_FAINT, app->canvas.glyphs->up);
    if (menu->top + room < place_count)
        draw_right(&app->canvas, inside, inside.rows - 1, ROLE_FAINT, app->canvas.glyphs->down);
}
