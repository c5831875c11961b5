/* The names of keys: one row each. A character is its own name. */
#include "ui/terminal/keys.h"

#include "base/character.h"
#include "base/language.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int key;
} named[] = {
    {N_("space"), ' '},
    {N_("words"), '/'}, /* for the hint of the menu, which / opens the palette from */
    {N_("Enter"), UI_ENTER},
    {N_("Up"), UI_UP},
    {N_("Down"), UI_DOWN},
    {N_("Left"), UI_LEFT},
    {N_("Right"), UI_RIGHT},
    {N_("Home"), UI_HOME},
    {N_("End"), UI_END},
    {N_("PgUp"), UI_PAGE_UP},
    {N_("PgDn"), UI_PAGE_DOWN},
    {"Tab", UI_TAB},
    {"S-Tab", UI_BACK_TAB},
    {"Esc", UI_ESCAPE},
    {"Backspace", UI_BACKSPACE},
    {"Del", UI_DELETE},
    {"F1", UI_F1},
    {"F5", UI_F5},
    {"F9", UI_F9},
    {"F10", UI_F10},
    {"C-l", UI_CTRL_L},
    {"C-r", UI_CTRL_R},
    {"C-u", UI_CTRL_U},
};

bool key_is_printable(int key)
{
    return key >= ' ' && key < UI_UP && character_is_visible((uint32_t)key);
}

static int key_called(const char *name)
{
    if (name[0] && !name[1])
        return (unsigned char)name[0];
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strcmp(named[i].name, name) == 0)
            return named[i].key;
    return UI_NONE;
}

const char *key_take_name(const char *keys, struct key_name *name)
{
    char word[sizeof name->name];
    keys += strspn(keys, " ");
    size_t length = strcspn(keys, " ");
    if (strncmp(keys, ".. ", 3) ==
        0) /* of "1 .. 9" only the first is a key: others have the rest */
        length += 1 + strcspn(keys + 3, " ");
    const bool hidden = length > 2 && keys[0] == '(';
    if (length == 0)
        return NULL;
    snprintf(word, sizeof word, "%.*s", (int)length - 2 * hidden, keys + hidden);
    name->key = key_called(word);
    name->shown = !hidden;
    snprintf(name->name, sizeof name->name, "%s", gettext(word));
    return keys + length;
}

bool key_is_among(const char *keys, int key)
{
    struct key_name name;
    while (key && (keys = key_take_name(keys, &name)))
        if (name.key == key)
            return true;
    return false;
}

int key_first(const char *keys)
{
    struct key_name name = {0};
    key_take_name(keys, &name);
    return name.key;
}

char *key_names(const char *keys, char *text, size_t size)
{
    struct key_name name;
    size_t used = 0;
    text[0] = '\0';
    while ((keys = key_take_name(keys, &name)) && used < size)
        if (name.shown)
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? " " : "", name.name);
    return text;
}
