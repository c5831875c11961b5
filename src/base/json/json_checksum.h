/* json_checksum.h: a CRC-32 of a JSON document's text, as the document's first member:
 * {"crc32": "0a1b2c3d", ...}. It covers every byte of the text; its own eight digits count as
 * zeros, as in a safetensors file (engine/weights/safetensors.h).
 *
 * Who changes such a document on purpose deletes that line: a document without the member is read
 * without a check, as those of earlier versions are. */
#ifndef TINCA_BASE_JSON_JSON_CHECKSUM_H
#define TINCA_BASE_JSON_JSON_CHECKSUM_H

#include "base/json/json.h"

/* Returns the text of an object that has members, with its checksum, owned by the caller (free());
 * NULL when memory is out. */
char *json_print_with_checksum(const struct json *root, struct error *error);

/* Returns false when the document has a checksum that is not the one of its text; the error says
 * that the document was changed, with `advice`, or, if that is NULL, with the advice to bring back
 * a copy or to delete the member. */
bool json_verify_checksum(const struct json_document *document, const char *advice,
                          struct error *error);

#endif
