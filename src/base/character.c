/* Decodes one character at a time and looks it up in a table of hidden ranges. */
#include "base/character.h"

#include <langinfo.h>
#include <string.h>
#include <wchar.h>

bool character_is_visible(uint32_t code_point)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {{0x0000, 0x001f},      {0x007f, 0x009f}, /* controls */
                  {0x061c, 0x061c},                        /* Arabic letter mark */
                  {0x180e, 0x180e},      {0x200b, 0x200f}, /* zero width, direction marks */
                  {0x2028, 0x202e}, /* line separators, bidirectional embedding and override */
                  {0x2060, 0x206f}, /* word joiner, bidirectional isolates */
                  {0xd800, 0xdfff},      {0xfeff, 0xfeff}, /* surrogates, byte order mark */
                  {0xfff9, 0xfffb},      {0xfffe, 0xffff},
                  {0xe0000, 0xe0fff}, /* annotation, tags */
                  {0x110000, UINT32_MAX}};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (code_point >= hidden[i].first && code_point <= hidden[i].last)
            return false;
    return true;
}

size_t character_decode_utf8(const char *bytes, uint32_t *code_point)
{
    const unsigned char *text = (const unsigned char *)bytes;
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const size_t length = text[0] < 0x80   ? 1
                          : text[0] < 0xc2 ? 0
                          : text[0] < 0xe0 ? 2
                          : text[0] < 0xf0 ? 3
                          : text[0] < 0xf5 ? 4
                                           : 0;
    *code_point = length < 2 ? text[0] : text[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        *code_point = *code_point << 6 | (text[i] & 0x3f);
    }
    const bool surrogate = *code_point >= 0xd800 && *code_point <= 0xdfff;
    const bool valid = length > 0 && *code_point >= smallest[length] && *code_point <= 0x10ffff;
    return valid && !surrogate ? length : 0;
}

static size_t decode_in_locale(const char *text, uint32_t *code_point)
{
    wchar_t wide = 0;
    mbstate_t state = {0};
    const size_t length = mbrtowc(&wide, text, strlen(text), &state);
    *code_point = (uint32_t)wide;
    return length > strlen(text) ? 0 : length;
}

/* Returns whether the locale's characters are UTF-8. The C locale counts as such: it does not
 * define bytes above 127, and nearly all files mean UTF-8. */
static bool locale_is_utf8(void)
{
    const char *set = nl_langinfo(CODESET);
    return strcmp(set, "UTF-8") == 0 || strcmp(set, "ANSI_X3.4-1968") == 0 ||
           strcmp(set, "US-ASCII") == 0;
}

size_t character_length(const char *text, bool *visible)
{
    uint32_t code_point;
    *visible = text[0] >= ' ' && text[0] <= '~';
    if (*visible) /* nearly all characters; ASCII is a part of every locale's encoding */
        return 1;
    const size_t length = locale_is_utf8() ? character_decode_utf8(text, &code_point)
                                           : decode_in_locale(text, &code_point);
    *visible = length > 0 && character_is_visible(code_point);
    return length > 0 ? length : text[0] != '\0';
}

char *character_replace_hidden(char *text)
{
    char *out = text;
    for (const char *c = text; *c;) {
        bool visible;
        const size_t length = character_length(c, &visible);
        if (visible)
            memmove(out, c, length);
        else
            *out = '?';
        out += visible ? length : 1;
        c += length;
    }
    *out = '\0';
    return text;
}
