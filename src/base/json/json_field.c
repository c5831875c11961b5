#include "base/json/json_field.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "counts are kept in 64 bits");

bool json_field_add(struct json *object, const struct json_field *field, const void *from)
{
    const char *place = (const char *)from + field->offset;
    uint64_t count;
    double number;
    switch (field->kind) {
    case JSON_FIELD_TEXT:
        return json_add_string(object, field->key, place);
    case JSON_FIELD_COUNT:
        memcpy(&count, place, sizeof count);
        return json_add_count(object, field->key, count);
    default:
        memcpy(&number, place, sizeof number);
        return json_add_number(object, field->key, number);
    }
}

bool json_field_read(const struct json *value, const struct json_field *field, void *to)
{
    char *place = (char *)to + field->offset;
    double number = NAN;
    size_t count;
    switch (field->kind) {
    case JSON_FIELD_TEXT:
        return json_string(value) &&
               (size_t)snprintf(place, field->size, "%s", json_string(value)) < field->size;
    case JSON_FIELD_COUNT:
        if (!json_count(value, &count))
            return false;
        memcpy(place, &count, sizeof count);
        return true;
    default:
        if (!json_number(value, &number) && !json_is_null(value))
            return false;
        memcpy(place, &number, sizeof number);
        return true;
    }
}
