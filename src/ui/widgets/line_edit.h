/* line_edit.h: one line of text being edited, with the usual keys (C-u clears). No drawing. */
#ifndef TINCA_UI_WIDGETS_LINE_EDIT_H
#define TINCA_UI_WIDGETS_LINE_EDIT_H

#include <stdbool.h>
#include <stddef.h>

struct line_edit {
    char text[512];
    size_t cursor;  /* byte offset */
    size_t limit;   /* bytes that may be used, the NUL counted */
    bool untouched; /* the first character typed replaces the whole text */
};

/* Begins with `text`, the cursor at its end. With `replace` typing replaces it, while moving or
 * deleting keeps it. */
void line_edit_begin(struct line_edit *edit, const char *text, size_t limit, bool replace);

/* Applies an editing key or a character; false when the key means nothing here. */
bool line_edit_key(struct line_edit *edit, int key);

/* Completes the path that begins at the last ':' (or at the start), as far as it is unambiguous.
 * False when nothing fits. */
bool line_edit_complete_path(struct line_edit *edit);

/* The part of the text that is shown in `columns` columns so that the cursor is visible: returns
 * the byte offset where it begins, and the cursor's column in it. */
size_t line_edit_window(const struct line_edit *edit, size_t columns, size_t *cursor_column);

#endif
