/* columns.h: text measured in the terminal's columns, not in bytes.
 *
 * Everything follows LC_CTYPE. What the locale cannot show, and what base/character.h hides
 * (control characters, bidirectional overrides, zero widths), becomes '?', so that nothing from a
 * file name or a class name can disturb the screen. A line feed is such a character, too: the
 * workbench's own texts contain none, so one that is there came out of a file.
 */
#ifndef TINCA_UI_TERMINAL_COLUMNS_H
#define TINCA_UI_TERMINAL_COLUMNS_H

#include <stddef.h>

/* How many columns the whole text takes. */
size_t columns_of(const char *text);

/* Copies what fits into `columns` columns and `size` bytes, whole characters only; returns the
 * columns used. */
size_t columns_fit(const char *text, size_t columns, char *out, size_t size);

/* The next line of a paragraph that is broken at spaces: copies it to `out` and returns where the
 * following line begins, or NULL when this was the last. A word longer than a line is cut. */
const char *columns_wrap(const char *text, size_t columns, char *out, size_t size);

/* How many lines columns_wrap makes of it (at least 1). */
size_t columns_lines(const char *text, size_t columns);

/* The byte offset of the character before, or after, byte offset `at`. Combining marks stay with
 * their base. */
size_t columns_before(const char *text, size_t at);
size_t columns_after(const char *text, size_t at);

#endif
