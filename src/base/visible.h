/* visible.h: text that others wrote (names, paths, messages out of files), made fit to be shown.
 *
 * A terminal obeys control characters and reorders what follows a bidirectional override;
 * zero-width characters make two names look alike. None of them is ever shown: each becomes one
 * question mark, and so does each byte that is no character. The text is taken for UTF-8, or for
 * the locale's character set where that is neither UTF-8 nor ASCII.
 *
 * text_make_visible (text.h) does this to one string; the functions here do it while a longer text
 * is put together. Thread-safe. */
#ifndef TINCA_BASE_VISIBLE_H
#define TINCA_BASE_VISIBLE_H

#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>

/* Returns false for control characters (C0, C1, DEL), bidirectional controls, zero-width
 * characters, line and paragraph separators, tags and what is no Unicode character. */
bool visible_code_point(uint32_t code_point);

/* Returns how many bytes the UTF-8 character at `text` takes, 0 when it is none (RFC 3629: also
 * overlong forms, surrogates); *code_point is then not defined. */
size_t visible_decode_utf8(const char *text, uint32_t *code_point);

/* Returns how many bytes the character at `text` takes, at least 1 before the NUL; *visible tells
 * whether it can be shown. */
size_t visible_character(const char *text, bool *visible);

/* Appends one line of text; line feeds and tabs become question marks, too. */
void visible_append(struct text *text, const char *line);

/* Appends printf's output, in which each string (%s) is appended by `append`: visible_append for a
 * terminal, markdown_append (markdown.h) for a document. The format itself is ours and stays as it
 * is. %n and numbered arguments are not known. */
typedef void visible_appender(struct text *text, const char *string);
void visible_append_format(struct text *text, visible_appender *append, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void visible_append_arguments(struct text *text, visible_appender *append, const char *format,
                              va_list arguments);

#endif
