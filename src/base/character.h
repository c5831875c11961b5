/* character.h: the characters of text that others wrote (names, paths, messages out of files), and
 * which of them can be shown.
 *
 * A terminal obeys control characters and reorders what follows a bidirectional override;
 * zero-width characters make two names look alike. Such characters are hidden: the program never
 * shows them, and writes a question mark instead. So it does for each byte that is no character.
 * Text is taken for UTF-8, or for the locale's character set where that is neither UTF-8 nor ASCII.
 * visible.h appends whole strings in this way. Thread-safe. */
#ifndef TINCA_BASE_CHARACTER_H
#define TINCA_BASE_CHARACTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns false for control characters (C0, C1, DEL), bidirectional controls, zero-width
 * characters, line and paragraph separators, tags and what is no Unicode character. */
bool character_is_visible(uint32_t code_point);

/* Returns how many bytes the UTF-8 character at `text` takes, 0 when it is none (RFC 3629: also
 * overlong forms, surrogates); *code_point is then not defined. */
size_t character_decode_utf8(const char *text, uint32_t *code_point);

/* Returns how many bytes the character at `text` takes, at least 1 before the NUL; *visible tells
 * whether it can be shown. */
size_t character_length(const char *text, bool *visible);

/* Replaces each hidden character of `text` by a question mark, in place: the text may become
 * shorter. Returns `text`. */
char *character_replace_hidden(char *text);

#endif
