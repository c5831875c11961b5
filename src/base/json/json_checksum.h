/* json_checksum.h: a CRC-32 of a JSON document's text, stored as its first member:
 * {"crc32": "0a1b2c3d", ...}. It covers every byte of the text; its eight digits count as zeros,
 * as in a safetensors file (engine/weights/safetensors.h).
 *
 * Documents without the member are valid, such as those of earlier versions. A user who edits a
 * document on purpose deletes the line.
 */
#ifndef TINCA_BASE_JSON_JSON_CHECKSUM_H
#define TINCA_BASE_JSON_JSON_CHECKSUM_H

#include "base/json/json.h"

/* Returns the text of a non-empty object with its checksum, owned by the caller (free()), or NULL
 * if out of memory. */
char *json_print_with_checksum(const struct json *root, struct error *error);

/* Returns false if the document has a checksum that does not match its text. The error then says
 * that the document was changed, with `advice`; if that is NULL, it advises to restore a copy or to
 * delete the member. */
bool json_verify_checksum(const struct json_document *document, const char *advice,
                          struct error *error);

#endif
