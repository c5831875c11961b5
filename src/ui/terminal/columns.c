/* All functions walk a text with next_character, which treats a byte that begins no complete
 * character like a character that cannot be shown: one column wide, replaced by '?'. */
#include "ui/terminal/columns.h"

#include "base/character.h"

#include <string.h>
#include <wchar.h>

struct character {
    size_t bytes;
    int width; /* columns; -1: it cannot be shown */
};

static struct character next_character(const char *text)
{
    mbstate_t state = {0};
    wchar_t wide;
    size_t bytes = mbrtowc(&wide, text, strlen(text), &state);
    if (bytes == 0 || bytes > strlen(text)) /* the end, or an invalid or incomplete sequence */
        return (struct character){*text != '\0', -1};
    return (struct character){bytes, character_is_visible((uint32_t)wide) ? wcwidth(wide) : -1};
}

size_t columns_of(const char *text)
{
    size_t columns = 0;
    while (*text) {
        struct character character = next_character(text);
        columns += character.width < 0 ? 1 : (size_t)character.width;
        text += character.bytes;
    }
    return columns;
}

size_t columns_fit(const char *text, size_t columns, char *out, size_t size)
{
    size_t used = 0, length = 0;
    while (*text && size > 0) {
        struct character character = next_character(text);
        size_t width = character.width < 0 ? 1 : (size_t)character.width;
        size_t bytes = character.width < 0 ? 1 : character.bytes;
        if (used + width > columns || length + bytes >= size)
            break;
        memcpy(out + length, character.width < 0 ? "?" : text, bytes);
        length += bytes;
        used += width;
        text += character.bytes;
    }
    if (size > 0)
        out[length] = '\0';
    return used;
}

const char *columns_wrap(const char *text, size_t columns, char *out, size_t size)
{
    const char *end = text, *space = NULL;
    size_t used = 0;
    while (*end) {
        struct character character = next_character(end);
        size_t width = character.width < 0 ? 1 : (size_t)character.width;
        if (used + width > columns)
            break;
        if (*end == ' ')
            space = end;
        used += width;
        end += character.bytes;
    }
    if (*end && *end != ' ' && space && space > text)
        end = space;
    else if (end == text && *end)
        end += next_character(end).bytes; /* wider than the line, but each call must advance */
    size_t length = (size_t)(end - text) < size ? (size_t)(end - text) : size - 1;
    memcpy(out, text, length);
    out[length] = '\0';
    while (*end == ' ')
        end++;
    return *end ? end : NULL;
}

size_t columns_lines(const char *text, size_t columns)
{
    char line[1024];
    size_t lines = 0;
    while (text) {
        text = columns_wrap(text, columns, line, sizeof line);
        lines++;
    }
    return lines;
}

size_t columns_after(const char *text, size_t at)
{
    if (!text[at])
        return at;
    at += next_character(text + at).bytes;
    while (text[at]) {
        struct character character = next_character(text + at);
        if (character.width != 0)
            break;
        at += character.bytes;
    }
    return at;
}

size_t columns_before(const char *text, size_t at)
{
    size_t before = 0;
    for (size_t next = 0; next < at; next = columns_after(text, next))
        before = next;
    return before;
}
