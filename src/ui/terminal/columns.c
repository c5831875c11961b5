/* All functions walk a text with next_character, which treats a byte that begins no complete
 * character like a character that cannot be shown: one column wide, replaced by '?'. */
#include "ui/terminal/columns.h"

#include "base/character.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

/* --- names without their middle --- */

/* Returns the longest end of the text that fits into `columns` columns. */
static const char *end_of(const char *text, size_t columns)
{
    size_t rest = columns_of(text);
    while (rest > columns) {
        const struct character character = next_character(text);
        rest -= character.width < 0 ? 1 : (size_t)character.width;
        text += character.bytes;
    }
    while (*text && next_character(text).width == 0) /* a mark without its letter */
        text += next_character(text).bytes;
    return text;
}

/* Writes the first `head` columns of the text, the mark and as much of its end as fits. */
static size_t cut_at(const char *text, size_t head, size_t columns, const char *mark, char *out,
                     size_t size)
{
    size_t used = columns_fit(text, head, out, size), length = strlen(out);
    used += columns_fit(mark, columns - used, out + length, size - length);
    length += strlen(out + length);
    return used +
           columns_fit(end_of(text, columns - used), columns - used, out + length, size - length);
}

size_t columns_fit_middle(const char *text, size_t columns, const char *mark, char *out,
                          size_t size)
{
    if (columns_of(text) <= columns || columns == 0)
        return columns_fit(text, columns, out, size);
    return cut_at(text, columns / 2, columns, mark, out, size);
}

/* The names while they are shortened. */
struct names {
    const char *const *names;
    size_t count, columns;
    const char *mark;
    char *out;
    size_t size;
};

/* Returns whether a name other than name `index` is shortened to `text`. */
static bool is_used(const struct names *all, size_t index, const char *text)
{
    for (size_t i = 0; i < all->count; i++)
        if (i != index && strcmp(all->out + i * all->size, text) == 0 &&
            strcmp(all->names[i], all->names[index]) != 0)
            return true;
    return false;
}

/* Returns the place of cut number `turn`, from the middle outwards, or SIZE_MAX for one that lies
 * outside of the text. */
static size_t cut_place(size_t columns, size_t turn)
{
    const size_t middle = columns / 2, distance = (turn + 1) / 2;
    const size_t head = turn % 2 ? middle + distance : middle - distance;
    return head < columns ? head : SIZE_MAX; /* also a difference below zero */
}

/* Cuts the names that are shortened like name `index` in one other place, the nearest one to the
 * middle that keeps what distinguishes them: "hidden.1~tion" and "hidden.2~tion". */
static bool move_cut_of_all(const struct names *all, size_t index)
{
    enum { MOST = 32 };
    size_t alike[MOST], count = 0;
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->out + i * all->size, all->out + index * all->size) == 0) {
            if (count == MOST)
                return false;
            alike[count++] = i;
        }
    for (size_t turn = 1; turn < 2 * all->columns; turn++) {
        const size_t head = cut_place(all->columns, turn);
        bool used = head == SIZE_MAX;
        for (size_t i = 0; !used && i < count; i++)
            cut_at(all->names[alike[i]], head, all->columns, all->mark,
                   all->out + alike[i] * all->size, all->size);
        for (size_t i = 0; !used && i < count; i++)
            used = is_used(all, alike[i], all->out + alike[i] * all->size);
        if (!used)
            return true;
    }
    for (size_t i = 0; i < count; i++)
        columns_fit_middle(all->names[alike[i]], all->columns, all->mark,
                           all->out + alike[i] * all->size, all->size);
    return false;
}

/* Moves the cut of name `index` to the nearest place at which the result is no other name's. */
static bool move_cut(const struct names *all, size_t index)
{
    char *out = all->out + index * all->size;
    for (size_t turn = 1; turn < 2 * all->columns; turn++) {
        const size_t head = cut_place(all->columns, turn);
        if (head == SIZE_MAX)
            continue;
        cut_at(all->names[index], head, all->columns, all->mark, out, all->size);
        if (!is_used(all, index, out))
            return true;
    }
    return false;
}

/* Ends name `index` in its number in the list. */
static void number_name(const struct names *all, size_t index)
{
    char *out = all->out + index * all->size, number[32];
    snprintf(number, sizeof number, "#%zu", index + 1);
    size_t head = all->columns > strlen(number) + 1 ? all->columns - strlen(number) - 1 : 0;
    do {
        columns_fit(all->names[index], head, out, all->size);
        const size_t length = strlen(out);
        snprintf(out + length, all->size - length, "%s%s", all->mark, number);
    } while (is_used(all, index, out) && head-- > 0);
}

void columns_fit_names(const char *const *names, size_t count, size_t columns, const char *mark,
                       char *out, size_t size)
{
    const struct names all = {names, count, columns, mark, out, size};
    for (size_t i = 0; i < count; i++)
        columns_fit_middle(names[i], columns, mark, out + i * size, size);
    for (size_t i = 0; i < count; i++) {
        size_t same = 0; /* the first name that equals this one */
        while (strcmp(names[same], names[i]) != 0)
            same++;
        if (same < i)
            memcpy(out + i * size, out + same * size, size);
        else if (columns_of(names[i]) > columns && is_used(&all, i, out + i * size) &&
                 !move_cut_of_all(&all, i) && !move_cut(&all, i))
            number_name(&all, i);
    }
}

/* Returns whether another name that is too long reads the same, if both are cut behind `head`
 * columns. */
static bool is_alike(const char *const *names, size_t count, size_t index, size_t head,
                     size_t columns, size_t mark)
{
    char beginning[256];
    const char *name = names[index];
    columns_fit(name, head, beginning, sizeof beginning);
    const size_t bytes = strlen(beginning);
    const char *end = end_of(name, columns - head - mark);
    for (size_t i = 0; i < count; i++)
        if (strncmp(names[i], name, bytes) == 0 && columns_of(names[i]) > columns &&
            strcmp(end_of(names[i], columns - head - mark), end) == 0 &&
            strcmp(names[i], name) != 0)
            return true;
    return false;
}

size_t columns_fit_among(const char *const *names, size_t count, size_t index, size_t columns,
                         const char *mark, char *out, size_t size)
{
    const size_t mark_columns = columns_of(mark);
    for (size_t turn = 1; columns_of(names[index]) > columns && turn < 2 * columns; turn++) {
        const size_t head = cut_place(columns, turn - 1);
        if (head != SIZE_MAX && head + mark_columns <= columns &&
            !is_alike(names, count, index, head, columns, mark_columns))
            return cut_at(names[index], head, columns, mark, out, size);
    }
    return columns_fit_middle(names[index], columns, mark, out, size);
}

/* --- values --- */

/* Returns the bytes of the number at the start of the text, 0 if there is none, and sets the bytes
 * of its mantissa and how many digits follow its point. */
static size_t number_length(const char *text, size_t *mantissa, int *decimals)
{
    size_t at = strspn(text, "+-~");
    size_t digits = strspn(text + at, "0123456789,");
    while (digits > 0 && text[at + digits - 1] == ',') /* separates words, not thousands */
        digits--;
    *decimals = 0;
    at += digits;
    if (text[at] == '.')
        *decimals = (int)strspn(text + at + 1, "0123456789");
    at += *decimals > 0 ? (size_t)*decimals + 1 : 0;
    *mantissa = at;
    if (digits == 0)
        return 0;
    if (text[at] == 'e' || text[at] == 'E') {
        const size_t sign = strspn(text + at + 1, "+-");
        const size_t exponent = strspn(text + at + 1 + sign, "0123456789");
        at += exponent > 0 ? 1 + sign + exponent : 0;
    }
    return at;
}

/* Writes the value with fewer digits after the point of its first number. Returns false if that is
 * not enough. */
static bool drop_digits(const char *text, size_t columns, char *out, size_t size)
{
    size_t mantissa;
    int decimals;
    if (!number_length(text, &mantissa, &decimals) || memchr(text, ',', mantissa) ||
        memchr(text, '~', mantissa))
        return false;
    char number[64];
    snprintf(number, sizeof number, "%.*s", (int)mantissa, text);
    const double value = strtod(number, NULL);
    while (decimals-- > 0) {
        snprintf(out, size, "%.*f%s", decimals, value, text + mantissa);
        if (columns_of(out) <= columns)
            return true;
    }
    return false;
}

/* Writes the words of the text that fit before the mark. Returns false if not even one does. */
static bool drop_words(const char *text, size_t columns, const char *mark, char *out, size_t size)
{
    for (size_t length = strlen(text); length > 0; length--)
        if (text[length] == ' ' && text[length - 1] != ' ') {
            snprintf(out, size, "%.*s%s", (int)length, text, mark);
            if (columns_of(out) <= columns)
                return true;
        }
    return false;
}

size_t columns_fit_value(const char *text, size_t columns, const char *mark, char *out, size_t size)
{
    size_t mantissa;
    int decimals;
    if (columns_of(text) <= columns)
        return columns_fit(text, columns, out, size);
    if (size > 0 &&
        (drop_digits(text, columns, out, size) || drop_words(text, columns, mark, out, size)))
        return columns_of(out);
    if (!number_length(text, &mantissa, &decimals))
        return columns_fit_middle(text, columns, mark, out, size);
    const size_t used = columns < size ? columns : size > 0 ? size - 1 : 0;
    memset(out, '#', used);
    if (size > 0)
        out[used] = '\0';
    return used;
}

/* Returns the byte offset at which a number that reaches across `at` begins, or `at` if there is
 * none: "12.5" and "3e-05" are numbers, the digits of "resnet20" are not. */
static size_t number_across(const char *text, size_t at)
{
    size_t from = at;
    while (from > 0 && strchr("0123456789.,eE+-", text[from - 1]))
        from--;
    if (from > 0 && isalpha((unsigned char)text[from - 1])) /* a part of a word */
        return at;
    while (from < at) {
        size_t mantissa;
        int decimals;
        const size_t length = number_length(text + from, &mantissa, &decimals);
        if (length > 0 && from + length > at)
            return from;
        from += length > 0 ? length : 1;
    }
    return at;
}

size_t columns_fit_text(const char *text, size_t columns, const char *mark, char *out, size_t size)
{
    const size_t used = columns_fit(text, columns, out, size), length = size > 0 ? strlen(out) : 0;
    if (used == 0 || strncmp(text, out, length) != 0 || !text[length])
        return used;
    const size_t from = number_across(text, length);
    if (from == length || from + strlen(mark) >= size)
        return used;
    strcpy(out + from, mark);
    return columns_of(out);
}

/* --- lines --- */

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
