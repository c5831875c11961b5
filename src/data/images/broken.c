#include "data/images/broken.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool broken_list_add(struct broken_list *list, const char *path, const struct error *reason,
                     struct error *error)
{
    list->count++;
    if (list->named >= BROKEN_NAMED)
        return true;
    if (!memory_grow(&list->file, &list->capacity, list->named + 1, sizeof *list->file,
                     "the list of unreadable pictures", error))
        return false;
    struct broken_file *file = &list->file[list->named];
    file->path = memory_copy_text(path, error);
    file->why = file->path ? memory_copy_text(reason->why, error) : NULL;
    if (file->why) {
        list->named++;
        return true;
    }
    free(file->path);
    return false;
}

char *broken_list_words(const struct broken_list *list, char *text, size_t size)
{
    enum { REST = 24 }; /* room for "and N more" */
    size_t used = 0, i = 0;
    text[0] = '\0';
    for (; i < list->named; i++) {
        const struct broken_file *file = &list->file[i];
        const char *slash = strrchr(file->path, '/');
        while (slash && slash > file->path && slash[-1] != '/')
            slash--; /* includes the name of the folder, which is the class */
        const int length =
            snprintf(text + used, size - used, "%s%.80s (%.80s)", i ? ", " : "",
                     slash && slash > file->path ? slash : file_base_name(file->path), file->why);
        if (length < 0 || used + (size_t)length + REST >= size) {
            text[used] = '\0';
            break;
        }
        used += (size_t)length;
    }
    if (i < list->count && used + REST < size)
        snprintf(text + used, size - used, _("%s%zu more"), used ? ", " : "", list->count - i);
    return text;
}

void broken_list_free(struct broken_list *list)
{
    for (size_t i = 0; i < list->named; i++) {
        free(list->file[i].path);
        free(list->file[i].why);
    }
    free(list->file);
    *list = (struct broken_list){0};
}
