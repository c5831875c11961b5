/* keys.h: the keys, the actions that they trigger, and the tables that bind them.
 *
 * Each screen has one table of bindings. It dispatches the keys and supplies the hint line at the
 * bottom and the help screen, so the three always agree.
 */
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

enum action {
    ACTION_NONE,
    ACTION_HELP,
    ACTION_BACK,
    ACTION_REDRAW,
    ACTION_EXPORT,
    ACTION_RUNS,
    ACTION_FORM,
    ACTION_COMPARE,
    ACTION_MENU,
    ACTION_UP, /* as far as ACTION_OPEN: views of a run have bits for them (VIEW_MOVE) */
    ACTION_DOWN,
    ACTION_FIRST,
    ACTION_LAST,
    ACTION_PAGE_UP,
    ACTION_PAGE_DOWN,
    ACTION_LEFT,
    ACTION_RIGHT,
    ACTION_OPEN,
    ACTION_EDIT,
    ACTION_RUN,
    ACTION_RUN_FORM,
    ACTION_ALL,
    ACTION_SEARCH,
    ACTION_PAUSE,
    ACTION_STOP,
    ACTION_SAVE,
    ACTION_RATE,
    ACTION_RATE_UP,
    ACTION_RATE_DOWN,
    ACTION_SCALE,
    ACTION_X,
    ACTION_QUANTITY,
    ACTION_SYMBOLS,
    ACTION_VIEW,
    ACTION_VIEW_1, /* the ten views are consecutive */
    ACTION_VIEW_LAST = ACTION_VIEW_1 + 9,
    ACTION_NEXT,
    ACTION_PREVIOUS,
    ACTION_REMOVE,
    ACTION_MARK,
    ACTION_SORT,
    ACTION_PUBLISHED,
    ACTION_REAL,
    ACTION_GENERATED,
    ACTION_TRACES,
    ACTION_CURSOR,
    ACTION_BEST,
    ACTION_FINDING,
    ACTION_ZOOM_IN,
    ACTION_ZOOM_OUT,
    ACTION_ZOOM_ALL,
    ACTION_PAN_LEFT,
    ACTION_PAN_RIGHT,
    ACTION_SMOOTHING,
    ACTION_RANGE,
    ACTION_NEXT_MARK,
    ACTION_HIDE,
    ACTION_SOLO,
    ACTION_PIN,
    ACTION_GROUPS,
    ACTION_PICTURES,
    ACTION_NEXT_PICTURES,
    ACTION_AS_TRAINED,
    ACTION_DEFAULTS,
    ACTION_SORT_BACK,
    ACTION_REVERSE,
    ACTION_UNMARK,
    ACTION_RENAME,
    ACTION_TAGS,
    ACTION_NOTE,
    ACTION_COLUMNS,
    ACTION_GROUP,
    ACTION_SAVED_VIEWS,
    ACTION_SAVE_VIEW,
    ACTION_UNDO,
    ACTION_EMPTY_TRASH,
    ACTION_PRUNE,
    ACTION_CLONE,
    ACTION_FORK,
    ACTION_RESUME,
    ACTION_FILTER,
    ACTION_WEIGHTS,
    ACTION_FILE,
    ACTION_DATA,
    ACTION_THREADS,
    ACTION_UPDATE,
    ACTION_GO,
    ACTION_TRY,
    ACTION_COMMANDS,
    ACTION_BRUSH_LOW_UP,
    ACTION_BRUSH_LOW_DOWN,
    ACTION_BRUSH_HIGH_UP,
    ACTION_BRUSH_HIGH_DOWN,
    ACTION_BRUSH_CLEAR,
    ACTION_BRUSH_CLEAR_ALL,
};

struct key_binding {
    int key, other; /* `other`: a second key for the same action, or 0 */
    enum action action;
    const char *name; /* the key's name: "Enter"; with a second key both: "? F1" */
    const char *hint; /* one or two words for the bottom line; NULL: not shown there */
    const char *help; /* a sentence for the help screen; NULL: the row above explains it */
};

struct key_table {
    const char *title; /* "While a run is shown"; NULL: the help does not show the table */
    const struct key_binding *bindings;
    size_t count;
};

/* Returns whether the key is a character that a text can hold: no control or function key. */
bool key_is_printable(int key);

/* Returns the action that the table binds to the key, or ACTION_NONE. */
enum action keys_find(const struct key_table *table, int key);

#endif
