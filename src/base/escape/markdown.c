#include "base/escape/markdown.h"

#include "base/character.h"

#include <string.h>

void markdown_append(struct text *text, const char *plain)
{
    while (*plain) {
        bool visible;
        const size_t length = character_length(plain, &visible);
        if (strchr("\n\r\t", *plain))
            text_append_bytes(text, " ", 1);
        else if (!visible)
            text_append_bytes(text, "?", 1);
        else {
            if (strchr("\\`*_{}[]<>|#&~$!", *plain))
                text_append_bytes(text, "\\", 1);
            text_append_bytes(text, plain, length);
        }
        plain += length;
    }
}
