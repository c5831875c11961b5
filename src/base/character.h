/* character.h: decides which characters of foreign text (names, paths, messages from files) are
 * safe to show.
 *
 * Terminals obey control characters, bidirectional overrides reorder the text after them, and
 * zero-width characters make different names look alike. The program calls such characters hidden:
 * it never shows them and writes a question mark instead. It treats bytes that form no character in
 * the same way. Text is UTF-8, unless the locale has a character set other than UTF-8 and ASCII.
 * base/escape/visible.h copies whole strings by these rules. Thread-safe.
 */
#ifndef TINCA_BASE_CHARACTER_H
#define TINCA_BASE_CHARACTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns false for hidden characters: control characters (C0, C1, DEL), bidirectional controls,
 * zero-width characters, line and paragraph separators, tags, and values that are not Unicode
 * characters. */
bool character_is_visible(uint32_t code_point);

/* Decodes the UTF-8 character at `text` into *code_point and returns its length in bytes. Returns 0
 * if the bytes are not valid UTF-8 by RFC 3629 (overlong forms and surrogates are not);
 * *code_point is then undefined. */
size_t character_decode_utf8(const char *text, uint32_t *code_point);

/* Returns the length in bytes, at least 1, of the character at `text`, which must not be empty.
 * Sets *visible to whether the character may be shown. */
size_t character_length(const char *text, bool *visible);

/* Replaces each hidden character of `text` by a question mark, in place; the text may become
 * shorter. Returns `text`. */
char *character_replace_hidden(char *text);

#endif
