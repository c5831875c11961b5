#include "session/record/differences.h"

#include "base/character.h"
#include "base/language.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void differences_add(struct differences *differences, const char *format, ...)
{
    va_list arguments;
    const size_t used = strlen(differences->text), room = sizeof differences->text - used;
    if (differences->count++ >= DIFFERENCES_WORDED)
        return;
    const size_t joint = (size_t)snprintf(differences->text + used, room, "%s", used ? "; " : "");
    if (joint >= room)
        return;
    va_start(arguments, format);
    vsnprintf(differences->text + used + joint, room - joint, language_text(format), arguments);
    va_end(arguments);
    character_replace_hidden(differences->text);
}

char *differences_words(const struct differences *differences, char *words, size_t size)
{
    const size_t others =
        differences->count > DIFFERENCES_WORDED ? differences->count - DIFFERENCES_WORDED : 0;
    if (others)
        snprintf(words, size, ngettext("%s; and %zu more", "%s; and %zu more", others),
                 differences->text, others);
    else
        snprintf(words, size, "%s", differences->text);
    return words;
}

bool differences_same(const struct json *a, const struct json *b)
{
    char *first = a ? json_print(a, false, NULL) : NULL;
    char *second = b ? json_print(b, false, NULL) : NULL;
    const bool same = first && second ? strcmp(first, second) == 0 : !a && !b;
    free(first);
    free(second);
    return same;
}

const char *differences_value(const struct json *value, char *text)
{
    const char *string = json_string(value);
    char *printed = string || !value ? NULL : json_print(value, false, NULL);
    snprintf(text, DIFFERENCES_VALUE, "%.90s", string ? string : printed ? printed : _("none"));
    free(printed);
    return text;
}
