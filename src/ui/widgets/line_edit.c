/* The text is multibyte in the current locale. The cursor is a byte offset that columns_before and
 * columns_after move by whole characters. */
#include "ui/widgets/line_edit.h"

#include "ui/terminal/columns.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/keys.h"
#include "ui/terminal/terminal.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <wchar.h>

void line_edit_begin(struct line_edit *edit, const char *text, size_t limit, bool replace)
{
    *edit = (struct line_edit){.replace_on_typing = replace};
    edit->limit = limit < sizeof edit->text ? limit : sizeof edit->text;
    snprintf(edit->text, edit->limit, "%s", text);
    edit->cursor = strlen(edit->text);
}

static void cut(struct line_edit *edit, size_t from, size_t to)
{
    memmove(edit->text + from, edit->text + to, strlen(edit->text + to) + 1);
    edit->cursor = from;
}

static bool insert_bytes(struct line_edit *edit, const char *bytes, size_t count)
{
    size_t length = strlen(edit->text);
    if (length + count >= edit->limit)
        return false;
    memmove(edit->text + edit->cursor + count, edit->text + edit->cursor,
            length - edit->cursor + 1);
    memcpy(edit->text + edit->cursor, bytes, count);
    edit->cursor += count;
    return true;
}

/* Inserts a text at the cursor, or does nothing and returns false if the line cannot hold it. */
static bool line_edit_insert(struct line_edit *edit, const char *text)
{
    if ((edit->replace_on_typing ? 0 : strlen(edit->text)) + strlen(text) >= edit->limit)
        return false;
    if (edit->replace_on_typing)
        cut(edit, 0, strlen(edit->text));
    edit->replace_on_typing = false;
    return insert_bytes(edit, text, strlen(text));
}

/* A text that does not fit is not inserted at all: half a path would name another file. */
static bool paste(struct line_edit *edit)
{
    const bool inserted = line_edit_insert(edit, terminal_paste_text());
    terminal_set_paste_outcome(inserted ? PASTE_INSERTED : PASTE_TOO_LONG);
    return inserted;
}

static bool insert_character(struct line_edit *edit, int key)
{
    char bytes[16]; /* at least MB_LEN_MAX in every locale */
    mbstate_t state = {0};
    if (!key_is_printable(key))
        return false;
    size_t count = wcrtomb(bytes, (wchar_t)key, &state);
    if (count == (size_t)-1)
        return false;
    if (edit->replace_on_typing)
        cut(edit, 0, strlen(edit->text));
    insert_bytes(edit, bytes, count); /* a full line ignores the character */
    return true;
}

/* Returns where the word before the cursor begins. */
static size_t word_start(const struct line_edit *edit)
{
    size_t at = edit->cursor;
    while (at > 0 && strchr(" /,:", edit->text[at - 1]))
        at--;
    while (at > 0 && !strchr(" /,:", edit->text[at - 1]))
        at--;
    return at;
}

static bool move_or_cut(struct line_edit *edit, int key)
{
    size_t end = strlen(edit->text), at = edit->cursor;
    switch (key) {
    case UI_LEFT:
        edit->cursor = columns_before(edit->text, at);
        return true;
    case UI_RIGHT:
        edit->cursor = columns_after(edit->text, at);
        return true;
    case UI_HOME:
    case UI_CTRL_A:
        edit->cursor = 0;
        return true;
    case UI_END:
    case UI_CTRL_E:
        edit->cursor = end;
        return true;
    case UI_BACKSPACE:
        cut(edit, columns_before(edit->text, at), at);
        return true;
    case UI_DELETE:
        cut(edit, at, columns_after(edit->text, at));
        edit->cursor = at;
        return true;
    case UI_CTRL_U:
        cut(edit, 0, end);
        return true;
    case UI_CTRL_K:
        cut(edit, at, end);
        return true;
    case UI_CTRL_W:
        cut(edit, word_start(edit), at);
        return true;
    default:
        return false;
    }
}

bool line_edit_key(struct line_edit *edit, int key)
{
    if (key == UI_PASTE)
        return paste(edit);
    bool used = move_or_cut(edit, key) || insert_character(edit, key);
    if (used)
        edit->replace_on_typing = false;
    return used;
}

size_t line_edit_window(const struct line_edit *edit, size_t columns, size_t *cursor_column)
{
    char before[sizeof edit->text];
    snprintf(before, sizeof before, "%.*s", (int)edit->cursor, edit->text);
    size_t start = 0;
    while (columns_of(before + start) + 1 > columns && before[start])
        start = columns_after(before, start);
    *cursor_column = columns_of(before + start);
    return start;
}

void search_line_begin(struct search_line *search)
{
    search->typing = true;
    line_edit_begin(&search->edit, "", sizeof search->edit.text, false);
}

bool search_line_key(struct search_line *search, int key)
{
    if (!search->typing && !(key == UI_ESCAPE && search->edit.text[0]))
        return false;
    if (key == UI_UP || key == UI_DOWN)
        return false;
    if (key == UI_ENTER || key == UI_ESCAPE) {
        search->typing = false;
        if (key == UI_ESCAPE)
            search->edit.text[0] = '\0';
    } else
        line_edit_key(&search->edit, key);
    return true;
}

bool search_line_is_shown(const struct search_line *search)
{
    return search->typing || search->edit.text[0];
}

void search_line_draw(const struct search_line *search, struct canvas *canvas, struct rect area,
                      int columns)
{
    const int start = draw_text(canvas, area, 0, 1, ROLE_KEY, "/ "), room = columns - start - 1;
    size_t cursor, from = line_edit_window(&search->edit, room > 1 ? (size_t)room : 1, &cursor);
    draw_text(canvas, area, 0, start, ROLE_TEXT, search->edit.text + from);
    if (search->typing)
        draw_cursor(canvas, area, 0, start + (int)cursor);
}
