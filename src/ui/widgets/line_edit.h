/* line_edit.h: one editable line of text, with the usual keys (C-u clears). No drawing. */
#ifndef TINCA_UI_WIDGETS_LINE_EDIT_H
#define TINCA_UI_WIDGETS_LINE_EDIT_H

#include <stdbool.h>
#include <stddef.h>

struct line_edit {
    char text[512];
    size_t cursor;          /* byte offset */
    size_t limit;           /* bytes that may be used, including the NUL */
    bool replace_on_typing; /* the first character typed replaces the whole text */
};

/* Begins with `text` and the cursor at its end. With `replace`, the first character typed replaces
 * the text, while moving the cursor or deleting edits it. */
void line_edit_begin(struct line_edit *edit, const char *text, size_t limit, bool replace);

/* Applies an editing key, inserts a character or, for UI_PASTE, the pasted text. Returns false if
 * the key has no effect here. */
bool line_edit_key(struct line_edit *edit, int key);

/* Returns the byte offset where the visible part begins so that the cursor lies within `columns`
 * columns, and sets the cursor's column in that part. */
size_t line_edit_window(const struct line_edit *edit, size_t columns, size_t *cursor_column);

#endif
