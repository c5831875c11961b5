/* Walks the lists of actions of all screens: no key and no name has two meanings on a screen, every
 * key exists, and every action is explained. The help, the hints and the command palette are made
 * from the same rows, so that what holds for these holds for them. */
#include "tap.h"

#include "ui/app/actions.h"
#include "ui/ui.h"

#include <stdio.h>
#include <string.h>

/* Returns whether two actions of a list have a key in common, and says which. */
static bool share_key(const struct actions *actions, size_t a, size_t b)
{
    const char *keys = actions->list[a].keys;
    struct key_name name;
    while ((keys = key_take_name(keys, &name)))
        if (key_is_among(actions->list[b].keys, name.key)) {
            printf("# %s: %s is both %s and %s\n", actions->title, name.name, actions->list[a].name,
                   actions->list[b].name);
            return true;
        }
    return false;
}

static bool keys_are_unique(const struct actions *actions)
{
    bool unique = true;
    for (size_t a = 0; a < actions->count; a++)
        for (size_t b = a + 1; b < actions->count; b++)
            unique = !share_key(actions, a, b) && unique;
    return unique;
}

static bool names_are_unique(const struct actions *actions)
{
    bool unique = true;
    for (size_t a = 0; a < actions->count; a++)
        for (size_t b = a + 1; b < actions->count; b++)
            if (strcmp(actions->list[a].name, actions->list[b].name) == 0) {
                printf("# %s: %s twice\n", actions->title, actions->list[a].name);
                unique = false;
            }
    return unique;
}

/* Returns whether all keys of an action exist; of "1 .. 9" only the first is its key. */
static bool has_keys(const struct action *action)
{
    const char *keys = action->keys;
    struct key_name name;
    size_t count = 0;
    for (; (keys = key_take_name(keys, &name)); count++)
        if (name.key == UI_NONE && strncmp(name.name, "..", 2) != 0)
            return false;
    return count > 0;
}

/* Returns whether the action's name can be typed after a colon and is no key. */
static bool has_name(const struct action *action)
{
    const size_t length = strlen(action->name);
    return length > 1 && strspn(action->name, "abcdefghijklmnopqrstuvwxyz0123456789-") == length;
}

/* A move needs no words, nor does an action whose hint depends on the state, as those of views. */
static bool is_explained(const struct action *action)
{
    static const char *const moves[] = {"up",      "down",      "left",  "right",
                                        "page-up", "page-down", "first", "last"};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (strcmp(action->name, moves[i]) == 0)
            return true;
    return action->hint || action->help || action->word_with;
}

static bool rows_are_whole(const struct actions *actions)
{
    bool whole = true;
    for (size_t i = 0; i < actions->count; i++) {
        const struct action *action = &actions->list[i];
        const bool runs = (action->run != NULL) != (action->run_with != NULL);
        const bool good = runs && has_keys(action) && has_name(action) && is_explained(action) &&
                          !(action->refused && action->refused_with);
        if (!good)
            printf("# %s: %s\n", actions->title, action->name);
        whole = whole && good;
    }
    return whole;
}

static void check(const struct actions *actions)
{
    tap_ok(keys_are_unique(actions), "%s: each key has one meaning", actions->title);
    tap_ok(names_are_unique(actions), "  and each name");
    tap_ok(rows_are_whole(actions), "  every action has keys, a name, words and a function");
}

static void check_lookup(void)
{
    const struct actions *run = &screens[SCREEN_RUN]->actions;
    const struct action *first = actions_find(run, '1'), *last = actions_find(run, '9');
    char text[32];
    tap_ok(first && last && first != last && !key_is_among(first->keys, '.') &&
               strcmp(key_names(first->keys, text, sizeof text), "1 .. 9") == 0,
           "a range of keys is shown, and only its first key belongs to the action");
    tap_ok(key_is_among("+ (=)", '=') && strcmp(key_names("+ (=)", text, sizeof text), "+") == 0,
           "a key in parentheses works and is not shown");
    tap_ok(key_first("PgDn .") == UI_PAGE_DOWN && key_first("C-l") == UI_CTRL_L &&
               !key_is_among("Enter", UI_NONE),
           "names stand for keys");
}

TEST_CASE(actions_test)
{
    check(&actions_everywhere);
    for (size_t i = 0; i < SCREEN_COUNT; i++)
        if (screens[i]->actions.count > 0)
            check(&screens[i]->actions);
    check_lookup();
    return tap_done();
}
