/* columns.h: the width of text in terminal columns, as opposed to bytes.
 *
 * Widths follow LC_CTYPE. A character that the locale cannot show, or that base/character.h hides
 * (control characters, bidirectional overrides, zero widths), counts as one column and is replaced
 * by '?'. File names and class names therefore cannot send control sequences to the terminal. A
 * line feed is replaced as well: the texts of the program contain none, so it came from a file.
 */
#ifndef TINCA_UI_TERMINAL_COLUMNS_H
#define TINCA_UI_TERMINAL_COLUMNS_H

#include <stddef.h>

/* Returns how many columns the text occupies. */
size_t columns_of(const char *text);

/* Copies as many whole characters as fit into `columns` columns and `size` bytes. Returns the
 * number of columns used. */
size_t columns_fit(const char *text, size_t columns, char *out, size_t size);

/* Copies a name that is too long without its middle, in whose place `mark` (one column) stands:
 * "stage1.0...conv2". Returns the number of columns used. */
size_t columns_fit_middle(const char *text, size_t columns, const char *mark, char *out,
                          size_t size);

/* Shortens `count` names like columns_fit_middle, so that different names stay different: where
 * they would become equal, the cut moves, and where that does not help, the name's number in the
 * list replaces its end. `out` has room for `count` texts of `size` bytes. */
void columns_fit_names(const char *const *names, size_t count, size_t columns, const char *mark,
                       char *out, size_t size);

/* Shortens name `index` of the list like columns_fit_middle, but moves the cut if another name, cut
 * in the same place, would read the same. Returns the number of columns used. */
size_t columns_fit_among(const char *const *names, size_t count, size_t index, size_t columns,
                         const char *mark, char *out, size_t size);

/* Copies a value such as "3.576e-05", "12.2 MiB" or "6.40 of 10" so that it never reads as another
 * value: a number that is too long loses digits after the point, later words give way to `mark`
 * (one column), and a number for which that is not enough is replaced by '#'. Returns the number of
 * columns used. */
size_t columns_fit_value(const char *text, size_t columns, const char *mark, char *out,
                         size_t size);

/* Copies as columns_fit does, but writes `mark` (one column) in place of a number that would be
 * cut, so that the rest does not read as another number. Returns the number of columns used. */
size_t columns_fit_text(const char *text, size_t columns, const char *mark, char *out, size_t size);

/* Copies the next line of a paragraph to `out`, broken at a space. Returns where the following line
 * begins, or NULL after the last line. A word that is longer than a line is cut. */
const char *columns_wrap(const char *text, size_t columns, char *out, size_t size);

/* Returns how many lines columns_wrap makes of the text, at least 1. */
size_t columns_lines(const char *text, size_t columns);

/* Returns the byte offset of the character before byte offset `at`. Combining marks stay with their
 * base character. */
size_t columns_before(const char *text, size_t at);

/* Returns the byte offset of the character after byte offset `at`. */
size_t columns_after(const char *text, size_t at);

#endif
