#include "ui/widgets/short_names.h"

#include "ui/terminal/columns.h"

#include <stdlib.h>

void short_names_make(struct short_names *list, size_t count, int columns, const char *mark,
                      short_names_writer *writer, const void *context)
{
    char *whole = malloc(count * SHORT_NAME_SIZE);
    const char **names = malloc(count * sizeof *names);
    *list = (struct short_names){malloc(count * SHORT_NAME_SIZE), count};
    if (!whole || !names || !list->texts) {
        short_names_free(list);
    } else {
        for (size_t i = 0; i < count; i++) {
            writer(context, i, whole + i * SHORT_NAME_SIZE, SHORT_NAME_SIZE);
            names[i] = whole + i * SHORT_NAME_SIZE;
        }
        columns_fit_names(names, count, columns > 0 ? (size_t)columns : 0, mark, list->texts,
                          SHORT_NAME_SIZE);
    }
    free(whole);
    free(names);
}

const char *short_names_get(const struct short_names *list, size_t index, const char *name)
{
    return index < list->count ? list->texts + index * SHORT_NAME_SIZE : name;
}

void short_names_free(struct short_names *list)
{
    free(list->texts);
    *list = (struct short_names){0};
}
