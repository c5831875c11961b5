/* spec_value.h: the quoting of values in the name of a data set.
 *
 *     SPEC  = KIND [":" VALUE] {"," OPTION "=" VALUE}
 *     VALUE = characters without a comma, not beginning with a quotation mark
 *           | '"' characters, in which a quotation mark is written twice '"'
 *
 * So folder:"red, green",only="a ""b""" is the folder `red, green` and its class `a "b"`. */
#ifndef TINCA_DATA_IMAGES_SPEC_VALUE_H
#define TINCA_DATA_IMAGES_SPEC_VALUE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the length in bytes, with its quotation marks, of the value that `text` begins with. It
 * ends at a comma or at the end of the text; a quotation that is not closed ends there, too. */
size_t spec_value_length(const char *text);

/* Returns the length of the first item of a SPEC: "KIND:VALUE". */
size_t spec_head_length(const char *spec);

/* Writes the value of `length` bytes without its quotation. Returns false if the quotation is not
 * closed, something follows it, or the value is longer than `size` allows. */
bool spec_value_read(const char *text, size_t length, char *value, size_t size);

/* Writes a value as a SPEC needs it: quoted if it contains a comma or begins with a quotation mark.
 * Returns false if it is longer than `size` allows. */
bool spec_value_write(const char *value, char *text, size_t size);

#endif
