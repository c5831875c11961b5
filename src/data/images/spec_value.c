#include "data/images/spec_value.h"

#include <string.h>

size_t spec_value_length(const char *text)
{
    if (text[0] != '"')
        return strcspn(text, ",");
    const char *at = text + 1;
    while (*at && !(at[0] == '"' && at[1] != '"'))
        at += at[0] == '"' ? 2 : 1;
    return (size_t)(at - text) + strcspn(at, ",");
}

size_t spec_head_length(const char *spec)
{
    const size_t kind = strcspn(spec, ":,");
    return spec[kind] == ':' ? kind + 1 + spec_value_length(spec + kind + 1) : kind;
}

bool spec_value_read(const char *text, size_t length, char *value, size_t size)
{
    size_t used = 0;
    if (text[0] != '"' || length == 0) {
        if (length >= size)
            return false;
        memcpy(value, text, length);
        value[length] = '\0';
        return true;
    }
    size_t i = 1;
    for (; i < length && (text[i] != '"' || (i + 1 < length && text[i + 1] == '"')); i++) {
        if (used + 1 >= size)
            return false;
        value[used++] = text[i];
        i += text[i] == '"';
    }
    value[used] = '\0';
    return i + 1 == length && text[i] == '"';
}

bool spec_value_write(const char *value, char *text, size_t size)
{
    const bool quoted = strchr(value, ',') || value[0] == '"';
    size_t used = 0;
    if (strlen(value) * 2 + 3 > size && strlen(value) + 1 > size)
        return false;
    if (quoted)
        text[used++] = '"';
    for (; *value; value++) {
        if (used + 4 > size)
            return false;
        text[used++] = *value;
        if (quoted && *value == '"')
            text[used++] = '"';
    }
    if (quoted)
        text[used++] = '"';
    text[used] = '\0';
    return true;
}
