/* csv.h: escapes untrusted text for a CSV file. */
#ifndef TINCA_BASE_ESCAPE_CSV_H
#define TINCA_BASE_ESCAPE_CSV_H

#include "base/text.h"

/* Appends a field (RFC 4180: quoted if it holds a comma or a quote), escaped as visible_append
 * does. An apostrophe before a name that starts like a formula makes spreadsheets read it as text.
 */
void csv_append(struct text *text, const char *value);

/* Copies a name without characters that would break a row or a file name: they become _. */
void csv_clean(const char *name, char *out, size_t size);

#endif
