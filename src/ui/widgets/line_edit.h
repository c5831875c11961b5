/* line_edit.h: one editable line of text, with the usual keys (C-u clears). No drawing. */
#ifndef TINCA_UI_WIDGETS_LINE_EDIT_H
#define TINCA_UI_WIDGETS_LINE_EDIT_H

#include "ui/terminal/layout.h"

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

struct canvas;

/* A line for what is searched in a list or a text; its `text` is "" where everything is shown. */
struct search_line {
    bool typing;
    struct line_edit edit;
};

/* Begins to type into an empty line. */
void search_line_begin(struct search_line *search);
/* Handles a key while something is typed; Esc also empties the line later. Returns whether the key
 * was one of these: Up and Down move through what was found. */
bool search_line_key(struct search_line *search, int key);
/* Returns whether the line has to be shown. */
bool search_line_is_shown(const struct search_line *search);
/* Draws the line in `columns` columns of the area, with the cursor while something is typed. */
void search_line_draw(const struct search_line *search, struct canvas *canvas, struct rect area,
                      int columns);

#endif
