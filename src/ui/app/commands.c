/* The commands are the bindings of the screen in front that do something now, the keys that mean
 * the same everywhere, and the screens of the menu to which none of these leads. A command is done
 * by its key, exactly as if it had been pressed. */
#include "ui/app/commands.h"

#include "base/language.h"
#include "ui/app/app.h"
#include "ui/app/offers.h"

#include <stdio.h>
#include <string.h>

/* The list while it is made. */
struct builder {
    struct app *app;
    struct chooser_item items[CHOOSER_MAX_ITEMS];
    const char *keys[CHOOSER_MAX_ITEMS];
    bool leads_to[SCREEN_COUNT]; /* a command of the list leads there */
};

static void add(struct builder *builder, const struct command *command, const char *text,
                const char *note)
{
    struct commands *commands = &builder->app->commands;
    if (commands->count == CHOOSER_MAX_ITEMS)
        return;
    struct command *copy = &commands->list[commands->count];
    *copy = *command;
    builder->items[commands->count] = (struct chooser_item){text, note};
    builder->keys[commands->count++] = copy->name;
}

/* Returns whether the key only moves a selection or scrolls: no command needs that. */
static bool only_moves(const struct key_binding *binding)
{
    static const enum action actions[] = {ACTION_UP,        ACTION_DOWN,  ACTION_PAGE_UP,
                                          ACTION_PAGE_DOWN, ACTION_FIRST, ACTION_LAST};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (binding->action == actions[i])
            return true;
    return binding->action == ACTION_COMMANDS;
}

static void add_table(struct builder *builder, const struct key_table *table)
{
    const struct screen *screen = app_screen(builder->app);
    for (size_t i = 0; table && i < table->count; i++) {
        const struct key_binding *binding = &table->bindings[i];
        const char *hint = offers_hint(builder->app, screen, binding), *name = binding->name;
        const char *help = binding->help ? gettext(binding->help) : NULL;
        if (only_moves(binding) || !(hint || help) ||
            !offers_binding(builder->app, screen, table, binding))
            continue;
        const enum screen_id place = offers_destination(binding->action);
        if (place != SCREEN_COUNT)
            builder->leads_to[place] = true;
        struct command command = {.key = binding->key};
        name = gettext(name);
        snprintf(command.name, sizeof command.name, "%.*s", (int)strcspn(name, " "), name);
        add(builder, &command, hint ? hint : help, hint && help ? help : "");
    }
}

static void add_screens(struct builder *builder)
{
    struct app *app = builder->app;
    for (size_t i = 0; i < SCREEN_COUNT; i++) {
        const struct screen *screen = app->screens[i];
        if (builder->leads_to[i] || screen == app_screen(app) ||
            !offers_screen(app, (enum screen_id)i))
            continue;
        struct command command = {.place = (enum screen_id)i};
        snprintf(command.name, sizeof command.name, "m %c", screen->letter);
        add(builder, &command, gettext(screen->name), gettext(screen->purpose));
    }
}

void commands_open(struct app *app, int key)
{
    struct builder builder = {.app = app};
    app->commands.count = 0;
    add_table(&builder, app_screen(app)->keys);
    add_table(&builder, &keys_everywhere);
    add_screens(&builder);
    chooser_begin(&app->commands.chooser, _("Commands"), builder.items, app->commands.count, "",
                  false);
    chooser_show_commands(&app->commands.chooser, builder.keys);
    if (key)
        chooser_key(&app->commands.chooser, key);
}

void commands_key(struct app *app, int key)
{
    struct chooser *chooser = &app->commands.chooser;
    const enum chooser_result result = chooser_key(chooser, key);
    if (result == CHOOSER_OPEN)
        return;
    chooser->open = false;
    if (result == CHOOSER_CANCELLED)
        return;
    const struct command *command = &app->commands.list[chooser->shown[chooser->selected]];
    if (command->key)
        app_press(app, command->key);
    else
        app_go(app, command->place);
}

void commands_draw(struct app *app)
{
    chooser_draw(&app->commands.chooser, &app->canvas);
}
