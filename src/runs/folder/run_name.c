/* Checks, reads and writes the files of one line that hold what the user wrote about a run. A table
 * gives each its file, the size of its text and the function that finds what is wrong with one. */
#include "runs/folder/run_name.h"

#include "base/character.h"
#include "base/files/file.h"
#include "base/language.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { LINE_SIZE = 512 };

/* A kind of line: `objection` returns NULL if the text is valid, otherwise what is wrong with it.
 */
struct line {
    const char *file, *what, *advice;
    size_t size;
    const char *(*objection)(const char *text);
};

/* Returns `why` if the text has a character that is not visible or is in `forbidden`, and `invalid`
 * if it is not UTF-8; else NULL. */
static const char *character_objection(const char *text, const char *forbidden, const char *why,
                                       const char *invalid)
{
    for (const char *at = text; *at;) {
        uint32_t code_point;
        const size_t bytes = character_decode_utf8(at, &code_point);
        if (bytes == 0)
            return invalid;
        if (!character_is_visible(code_point) || strchr(forbidden, *at))
            return why;
        at += bytes;
    }
    return NULL;
}

static const char *name_objection(const char *name)
{
    if (strlen(name) >= RUN_NAME_SIZE)
        return N_("a name has at most 63 bytes");
    if (name[0] == '-')
        return N_("a name does not begin with \"-\": commands would take it for an option");
    return character_objection(name, "/", N_("a name has no slashes and no control characters"),
                               N_("a name is UTF-8"));
}

static const char *tags_objection(const char *tags)
{
    if (strlen(tags) >= RUN_TAGS_SIZE)
        return N_("the tags of a run have at most 127 bytes together");
    if (tags[0] == '-' || strstr(tags, " -"))
        return N_("a tag does not begin with \"-\"");
    return character_objection(tags, ":<>\"'",
                               N_("a tag has no control characters and none of : < > \" '"),
                               N_("a tag is UTF-8"));
}

static const char *note_objection(const char *note)
{
    if (strlen(note) >= RUN_NOTE_SIZE)
        return N_("a note has at most 255 bytes");
    return character_objection(note, "", N_("a note is one line without control characters"),
                               N_("a note is UTF-8"));
}

static const struct line name_line = {"name.txt", N_("the run's name"), N_("choose another one"),
                                      RUN_NAME_SIZE, name_objection},
                         tags_line = {"tags.txt", N_("the run's tags"), N_("choose others"),
                                      RUN_TAGS_SIZE, tags_objection},
                         note_line = {"note.txt", N_("the run's note"), N_("change it"),
                                      RUN_NOTE_SIZE, note_objection};

/* Copies the text without the spaces around it. */
static void trim(const char *text, char *out, size_t size)
{
    text += strspn(text, " \t\n");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\n", text[length - 1]))
        length--;
    snprintf(out, size, "%.*s", (int)length, text);
}

static bool check_line(const struct line *line, const char *text, struct error *error)
{
    const char *why = line->objection(text);
    return !why || error_set(error, ERROR_USAGE, gettext(line->what), gettext(line->advice), "%s",
                             gettext(why));
}

static char *read_line(const struct line *line, const char *directory, char *text)
{
    char content[LINE_SIZE] = "";
    char *path = file_join(directory, line->file);
    FILE *file = path ? file_open_stream(path, NULL) : NULL;
    free(path);
    const bool read = file && fgets(content, sizeof content, file);
    if (file)
        fclose(file);
    content[strcspn(content, "\n")] = '\0';
    text[0] = '\0';
    if (read && !line->objection(content))
        snprintf(text, line->size, "%s", content);
    return text;
}

static bool write_file(const char *path, const char *text, struct error *error)
{
    char content[LINE_SIZE + 1];
    if (text[0]) {
        int length = snprintf(content, sizeof content, "%s\n", text);
        return file_write(path, content, (size_t)length, true, error);
    }
    if (unlink(path) == 0 || errno == ENOENT)
        return true;
    return error_set_errno(error, path, "check its permissions", "cannot be removed");
}

static bool write_line(const struct line *line, const char *directory, const char *text,
                       struct error *error)
{
    if (!check_line(line, text, error))
        return false;
    char *path = file_join(directory, line->file);
    bool written = path ? write_file(path, text, error) : error_set_memory(error, "a path", 0);
    free(path);
    return written;
}

/* --- the name --- */

char *run_name_read(const char *directory, char *name)
{
    return read_line(&name_line, directory, name);
}

bool run_name_check(const char *name, struct error *error)
{
    char trimmed[LINE_SIZE];
    trim(name, trimmed, sizeof trimmed);
    return check_line(&name_line, trimmed, error);
}

bool run_name_write(const char *directory, const char *name, struct error *error)
{
    char trimmed[LINE_SIZE];
    trim(name, trimmed, sizeof trimmed);
    return write_line(&name_line, directory, trimmed, error);
}

/* --- the tags --- */

bool run_tags_contain(const char *tags, const char *tag)
{
    const size_t length = strlen(tag);
    for (const char *at = tags; *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strcspn(at, " ") == length && strncasecmp(at, tag, length) == 0)
            return true;
    return false;
}

/* Writes the tags with one space between them, each once. */
static void tidy_tags(const char *tags, char *out, size_t size)
{
    char words[LINE_SIZE], *rest = words;
    size_t length = 0;
    snprintf(words, sizeof words, "%s", tags);
    out[0] = '\0';
    for (char *word; (word = strtok_r(rest, " ,\t\n", &rest)) && length < size;)
        if (!run_tags_contain(out, word))
            length +=
                (size_t)snprintf(out + length, size - length, "%s%s", length ? " " : "", word);
}

char *run_tags_read(const char *directory, char *tags)
{
    char tidy[LINE_SIZE], line[RUN_TAGS_SIZE];
    tidy_tags(read_line(&tags_line, directory, line), tidy, sizeof tidy);
    snprintf(tags, RUN_TAGS_SIZE, "%.127s", tidy);
    return tags;
}

bool run_tags_check(const char *tags, struct error *error)
{
    char tidy[LINE_SIZE];
    tidy_tags(tags, tidy, sizeof tidy);
    return check_line(&tags_line, tidy, error);
}

bool run_tags_write(const char *directory, const char *tags, struct error *error)
{
    char tidy[LINE_SIZE];
    tidy_tags(tags, tidy, sizeof tidy);
    return write_line(&tags_line, directory, tidy, error);
}

/* --- the note --- */

char *run_note_read(const char *directory, char *note)
{
    return read_line(&note_line, directory, note);
}

bool run_note_write(const char *directory, const char *note, struct error *error)
{
    char trimmed[LINE_SIZE];
    trim(note, trimmed, sizeof trimmed);
    return write_line(&note_line, directory, trimmed, error);
}

bool run_note_check(const char *note, struct error *error)
{
    char trimmed[LINE_SIZE];
    trim(note, trimmed, sizeof trimmed);
    return check_line(&note_line, trimmed, error);
}
