/* Checks, reads and writes the one line of name.txt. */
#include "session/files/run_name.h"

#include "base/character.h"
#include "base/files/file.h"
#include "base/language.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns NULL if the text is a valid name, otherwise what is wrong with it. */
static const char *objection(const char *name)
{
    if (strlen(name) >= RUN_NAME_SIZE)
        return N_("a name has at most 63 bytes");
    if (name[0] == '-')
        return N_("a name does not begin with \"-\": commands would take it for an option");
    for (const char *at = name; *at;) {
        uint32_t code_point;
        const size_t bytes = character_decode_utf8(at, &code_point);
        if (bytes == 0)
            return N_("a name is UTF-8");
        if (!character_is_visible(code_point) || *at == '/')
            return N_("a name has no slashes and no control characters");
        at += bytes;
    }
    return NULL;
}

/* Copies the text without the spaces around it. */
static void trim(const char *text, char *out, size_t size)
{
    text += strspn(text, " \t\n");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\n", text[length - 1]))
        length--;
    snprintf(out, size, "%.*s", (int)length, text);
}

char *run_name_read(const char *directory, char *name)
{
    char line[2 * RUN_NAME_SIZE] = "";
    char *path = file_join(directory, "name.txt");
    FILE *file = path ? file_open_stream(path, NULL) : NULL;
    free(path);
    bool read = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    name[0] = '\0';
    if (!read)
        return name;
    line[strcspn(line, "\n")] = '\0';
    if (!objection(line))
        snprintf(name, RUN_NAME_SIZE, "%.63s", line); /* no longer: see objection */
    return name;
}

static bool write_file(const char *path, const char *name, struct error *error)
{
    char line[RUN_NAME_SIZE + 1];
    if (name[0]) {
        int length = snprintf(line, sizeof line, "%s\n", name);
        return file_write(path, line, (size_t)length, true, error);
    }
    if (unlink(path) == 0 || errno == ENOENT)
        return true;
    return error_set_errno(error, path, "check its permissions", "cannot be removed");
}

bool run_name_write(const char *directory, const char *name, struct error *error)
{
    char trimmed[512];
    trim(name, trimmed, sizeof trimmed);
    const char *why = objection(trimmed);
    if (why)
        return error_set(error, ERROR_USAGE, "the run's name", "choose another one", "%s",
                         gettext(why));
    char *path = file_join(directory, "name.txt");
    bool written = path ? write_file(path, trimmed, error) : error_set_memory(error, "a path", 0);
    free(path);
    return written;
}
