#include "base/escape/shell.h"

#include "base/character.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool is_hidden(const char *word)
{
    bool visible = true;
    while (*word && visible)
        word += character_length(word, &visible);
    return !visible;
}

/* $'...' (POSIX.1-2024, bash, zsh, ksh): what cannot be shown is written by its bytes. */
static void append_escaped(struct text *text, const char *word)
{
    text_append(text, "$'");
    while (*word) {
        bool visible;
        const size_t length = character_length(word, &visible);
        for (size_t i = 0; !visible && i < length; i++)
            text_append(text, "\\%03o", (unsigned char)word[i]);
        if (visible && strchr("'\\", *word))
            text_append(text, "\\");
        if (visible)
            text_append_bytes(text, word, length);
        word += length;
    }
    text_append(text, "'");
}

void shell_word_append(struct text *text, const char *word)
{
    size_t plain = 0;
    while (word[plain] &&
           (isalnum((unsigned char)word[plain]) || strchr("_./:,=@%+-", word[plain])))
        plain++;
    if (plain > 0 && !word[plain]) {
        text_append(text, "%s", word);
        return;
    }
    if (is_hidden(word)) {
        append_escaped(text, word);
        return;
    }
    text_append(text, "'");
    for (const char *c = word; *c; c++)
        if (*c == '\'')
            text_append(text, "'\\''");
        else
            text_append_bytes(text, c, 1);
    text_append(text, "'");
}

char *shell_operand(const char *word, char *out, size_t size)
{
    struct text text = {0};
    text_append(&text, "%s", word[0] == '-' ? "-- " : "");
    shell_word_append(&text, word);
    snprintf(out, size, "%s", text.data && !text.failed && text.length < size ? text.data : "RUN");
    text_free(&text);
    return out;
}
