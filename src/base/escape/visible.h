/* visible.h: copies foreign text (names, paths, messages from files) into text that is shown, with
 * hidden characters (character.h) as question marks. Thread-safe. */
#ifndef TINCA_BASE_ESCAPE_VISIBLE_H
#define TINCA_BASE_ESCAPE_VISIBLE_H

#include "base/text.h"

#include <stdarg.h>

/* Appends `line`; its line feeds and tabs become question marks, too. */
void visible_append(struct text *text, const char *line);

/* Appends a string in a form that is safe where the text goes: visible_append for a terminal,
 * markdown_append (markdown.h) for a document. */
typedef void visible_appender(struct text *text, const char *string);

/* Appends printf's output, but passes the string of each %s through `append`. The format itself is
 * trusted and copied unchanged. %n and numbered arguments are not supported. */
void visible_append_format(struct text *text, visible_appender *append, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void visible_append_arguments(struct text *text, visible_appender *append, const char *format,
                              va_list arguments);

#endif
