/* visible.h: text that others wrote, put into a longer text that is to be shown. Hidden characters
 * (character.h) become question marks. Thread-safe. */
#ifndef TINCA_BASE_ESCAPE_VISIBLE_H
#define TINCA_BASE_ESCAPE_VISIBLE_H

#include "base/text.h"

#include <stdarg.h>

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
