/* keys.h: the keys of the terminal and their names. */
#ifndef TINCA_UI_TERMINAL_KEYS_H
#define TINCA_UI_TERMINAL_KEYS_H

#include <stdbool.h>
#include <stddef.h>

/* A key is a character's code point, a control character (1..31) or one of these. */
enum ui_key {
    UI_NONE,
    UI_TAB = 9,
    UI_ENTER = 13,
    UI_ESCAPE = 27,
    UI_UP = 0x110000,
    UI_DOWN,
    UI_LEFT,
    UI_RIGHT,
    UI_HOME,
    UI_END,
    UI_PAGE_UP,
    UI_PAGE_DOWN,
    UI_BACK_TAB,
    UI_BACKSPACE,
    UI_DELETE,
    UI_F1,
    UI_F5,
    UI_F9,
    UI_F10,
    UI_PASTE, /* terminal_paste_text returns what */
    UI_CLICK, /* terminal_click_position returns where, also for the next three */
    UI_WHEEL_UP,
    UI_WHEEL_DOWN,
    UI_DRAG, /* the mouse moved while its button was held */
};

enum {
    UI_CTRL_A = 1,
    UI_CTRL_E = 5,
    UI_CTRL_K = 11,
    UI_CTRL_L = 12,
    UI_CTRL_R = 18,
    UI_CTRL_U = 21,
    UI_CTRL_W = 23
};

/* Returns whether the key is a character that a text can hold: no control or function key. */
bool key_is_printable(int key);

/* A key in a list of names such as "PgDn . (space)". */
struct key_name {
    int key;       /* UI_NONE: no key has this name */
    bool shown;    /* the name is not in parentheses */
    char name[16]; /* translated */
};

/* Takes the next name from a list. Returns the rest of the list; NULL: it had no further name. */
const char *key_take_name(const char *keys, struct key_name *name);

/* Returns whether the list has the key. */
bool key_is_among(const char *keys, int key);

/* Returns the first key of a list. */
int key_first(const char *keys);

/* Writes the translated names of a list without those in parentheses. Returns `text`. */
char *key_names(const char *keys, char *text, size_t size);

#endif
