/* json_field.h: members of a struct that are members of a JSON object, described by a table that
 * serves both writing and reading, so that they agree.
 */
#ifndef TINCA_BASE_JSON_JSON_FIELD_H
#define TINCA_BASE_JSON_JSON_FIELD_H

#include "base/json/json.h"

#include <stdbool.h>
#include <stddef.h>

/* A char array, a 64-bit unsigned integer, or a double. */
enum json_field_kind { JSON_FIELD_TEXT, JSON_FIELD_COUNT, JSON_FIELD_NUMBER };

struct json_field {
    const char *key;
    enum json_field_kind kind;
    size_t offset, size; /* the struct's member */
};

/* The offset and size of a struct's member. */
#define JSON_FIELD_AT(type, member)                                                                \
    .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

/* Adds the field of `from`, a struct, to the object. NaN is written as null. Returns false if
 * memory runs out. */
bool json_field_add(struct json *object, const struct json_field *field, const void *from);

/* Reads the field of `to`, a struct, from a value; null is NaN. Returns false if the value is
 * missing, of another kind, or a text that is too long. */
bool json_field_read(const struct json *value, const struct json_field *field, void *to);

#endif
