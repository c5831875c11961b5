#include "base/escape/csv.h"

#include "base/escape/visible.h"

#include <ctype.h>
#include <string.h>

void csv_append(struct text *text, const char *value)
{
    const bool formula = value[0] && strchr("=+-@", value[0]), quoted = strpbrk(value, ",\"");
    struct text shown = {0};
    visible_append(&shown, value);
    text->failed |= shown.failed;
    text_append(text, "%s%s", quoted ? "\"" : "", formula ? "'" : "");
    for (const char *c = shown.data ? shown.data : ""; *c; c++)
        text_append(text, *c == '"' ? "\"\"" : "%c", *c);
    text_append(text, "%s", quoted ? "\"" : "");
    text_free(&shown);
}

void csv_clean(const char *name, char *out, size_t size)
{
    size_t i = 0;
    for (; name[i] && i + 1 < size; i++)
        out[i] = isalnum((unsigned char)name[i]) || strchr("._-", name[i]) ? name[i] : '_';
    out[i] = '\0';
}
