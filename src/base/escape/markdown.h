/* markdown.h: escapes untrusted text for a Markdown document. */
#ifndef TINCA_BASE_ESCAPE_MARKDOWN_H
#define TINCA_BASE_ESCAPE_MARKDOWN_H

#include "base/text.h"

/* Appends `plain` so that it cannot act as markup, HTML or a link, and cannot end a table's cell.
 * Markdown's special characters get a backslash, line ends become spaces, and hidden characters
 * (character.h) become question marks. */
void markdown_append(struct text *text, const char *plain);

#endif
