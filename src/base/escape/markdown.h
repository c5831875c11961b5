/* markdown.h: text that others wrote, in a Markdown document. */
#ifndef TINCA_BASE_ESCAPE_MARKDOWN_H
#define TINCA_BASE_ESCAPE_MARKDOWN_H

#include "base/text.h"

/* Appends a text so that it cannot become markup, HTML, a link or the end of a table's cell: every
 * character that Markdown may take for its own gets a backslash, the ends of lines become spaces,
 * and hidden characters (character.h) become question marks. */
void markdown_append(struct text *text, const char *plain);

#endif
