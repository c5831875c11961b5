#include "ui/shared/setting_words.h"

#include "base/language.h"
#include "runs/settings/config.h"

#include <stdio.h>
#include <string.h>

/* Returns the setting whose option begins at `text`, and sets the length of the option; NULL: none
 * begins there. */
static const struct config_field *option_at(const char *text, size_t *length)
{
    char key[32];
    if (strncmp(text, "--", 2) != 0)
        return NULL;
    const size_t letters = strspn(text + 2, "abcdefghijklmnopqrstuvwxyz0123456789-");
    *length = 2 + letters;
    if (letters >= sizeof key)
        return NULL;
    snprintf(key, sizeof key, "%.*s", (int)letters, text + 2);
    return config_find(key);
}

char *setting_words(const char *text, char *out, size_t size)
{
    size_t used = 0;
    if (strstr(text, "tinca ")) {
        snprintf(out, size, "%s", text);
        return out;
    }
    if (size > 0)
        out[0] = '\0';
    while (*text && used + 1 < size) {
        size_t length = 0;
        const struct config_field *field = option_at(text, &length);
        if (field)
            snprintf(out + used, size - used, "%s", gettext(field->label));
        else
            snprintf(out + used, size - used, "%c", *text);
        used += strlen(out + used);
        text += field ? length : 1;
    }
    return out;
}

struct error setting_error(const struct error *error)
{
    struct error labelled = {.kind = error->kind};
    setting_words(error->what, labelled.what, sizeof labelled.what);
    setting_words(error->why, labelled.why, sizeof labelled.why);
    setting_words(error->advice, labelled.advice, sizeof labelled.advice);
    return labelled;
}

char *setting_error_format(const struct error *error, char *text, size_t size)
{
    const struct error labelled = setting_error(error);
    return error_format(&labelled, text, size);
}
