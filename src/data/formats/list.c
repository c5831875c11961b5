/* Reads pictures that a CSV file names: one row a picture, "path,label" (RFC 4180).
 *
 * Paths are relative to the folder of the list. If every label is a number, it is the number of the
 * class; otherwise the labels are names, and the classes are numbered in the order of the names. A
 * first row is a heading if its first field is "path", or its second "label", "class" or "target".
 */
#include "base/files/file.h"
#include "base/files/user_path.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/portable/portable.h"
#include "base/text.h"
#include "data/formats/internal.h"
#include "data/formats/scan.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { LIST_LIMIT = 256 << 20, LONGEST_PATH = 4000, LONGEST_LABEL = 255 };

struct row {
    char *path;
    const char *label; /* both inside the text of the file */
};

struct rows {
    char *text;
    struct row *row;
    size_t count, capacity;
    bool unlabelled; /* rows may lack labels */
    bool absolute;   /* a path is absolute, or leaves the folder of the list */
};

/* --- rows --- */

/* Returns the next field of a row, without its quotation, and moves *at behind its comma; *at
 * becomes NULL at the end of the row. Returns NULL if a quotation is not closed. Changes the text.
 */
static char *next_field(char **at)
{
    char *from = *at, *to = *at, *field = *at;
    const bool quoted = *from == '"';
    for (from += quoted; *from && (quoted ? from[0] != '"' || from[1] == '"' : *from != ',');) {
        from += quoted && *from == '"';
        *to++ = *from++;
    }
    if (quoted && (*from != '"' || (*++from && *from != ',')))
        return NULL;
    *at = *from == ',' ? from + 1 : NULL;
    *to = '\0';
    return field;
}

static bool refuse_row(const char *path, size_t number, const char *why, struct error *error)
{
    return error_set(error, ERROR_INPUT, path, "write each row as PATH,LABEL", N_("row %zu: %s"),
                     number, language_text(why));
}

static bool is_heading(const char *label)
{
    return strcasecmp(label, "path") == 0 || strcasecmp(label, "label") == 0 ||
           strcasecmp(label, "class") == 0 || strcasecmp(label, "target") == 0;
}

/* Splits the row at *at, which ends before `end`, and moves *at to the next one. */
static bool take_row(struct rows *rows, const char *path, char **at, size_t number,
                     struct error *error)
{
    char *end = *at + strcspn(*at, "\n"), *next = *end ? end + 1 : end;
    struct row row = {0};
    *end = '\0';
    end -= end > *at && end[-1] == '\r';
    *end = '\0';
    if (end == *at) {
        *at = next;
        return true;
    }
    char *field = *at;
    row.path = next_field(&field);
    row.label = row.path && field ? next_field(&field) : row.path ? "" : NULL;
    *at = next;
    if (!row.path || !row.label)
        return refuse_row(path, number, N_("a quotation is not closed"), error);
    if (!row.path[0] || (!row.label[0] && !rows->unlabelled))
        return refuse_row(path, number, N_("the path or the label is missing"), error);
    if (strlen(row.path) > LONGEST_PATH || strlen(row.label) > LONGEST_LABEL)
        return refuse_row(path, number, N_("the path or the label is too long"), error);
    if (number == 1 && (is_heading(row.label) || is_heading(row.path)))
        return true;
    if (!memory_grow(&rows->row, &rows->capacity, rows->count + 1, sizeof *rows->row,
                     "a list of pictures", error))
        return false;
    rows->absolute |= row.path[0] == '/' || strstr(row.path, "..");
    rows->row[rows->count++] = row;
    return true;
}

static bool read_rows(struct rows *rows, const char *path, struct error *error)
{
    size_t size, number = 1;
    rows->text = file_read(path, LIST_LIMIT, &size, error);
    if (!rows->text)
        return false;
    if (strlen(rows->text) != size)
        return error_set(error, ERROR_INPUT, path, "give a CSV file",
                         "it has a NUL byte at byte %zu and is no text", strlen(rows->text));
    for (char *at = rows->text; *at; number++)
        if (!take_row(rows, path, &at, number, error))
            return false;
    return rows->count > 0 || error_set(error, ERROR_INPUT, path, "write each row as PATH,LABEL",
                                        "the list names no picture");
}

/* --- classes --- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Adds the different names of `sorted` to the classes. */
static bool add_names(struct name_list *classes, const char *const *sorted, size_t count,
                      struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && strcmp(sorted[i], sorted[i - 1]) == 0)
            continue;
        if (!memory_grow(&classes->name, &classes->capacity, classes->count + 1,
                         sizeof *classes->name, "the classes", error) ||
            !(classes->name[classes->count] = memory_copy_text(sorted[i], error)))
            return false;
        classes->count++;
    }
    return true;
}

static bool name_classes(const struct rows *rows, struct name_list *classes, struct error *error)
{
    const char **sorted = memory_new(rows->count, sizeof *sorted, "the classes", error);
    if (!sorted)
        return false;
    size_t count = 0;
    for (size_t i = 0; i < rows->count;
         i++) /* most lists are sorted by class, so few names repeat */
        if (i == 0 || strcmp(rows->row[i].label, sorted[count - 1]) != 0)
            sorted[count++] = rows->row[i].label;
    qsort(sorted, count, sizeof *sorted, compare_names);
    const bool named = add_names(classes, sorted, count, error);
    free(sorted);
    return named;
}

/* Returns the number of classes if all labels are numbers, else 0. */
static size_t count_numbers(const struct rows *rows)
{
    size_t most = 0, label;
    for (size_t i = 0; i < rows->count; i++) {
        if (!text_to_size(rows->row[i].label, &label) || label >= SPEC_MAX_CLASSES)
            return 0;
        most = label > most ? label : most;
    }
    return most + 1;
}

static bool number_classes(struct name_list *classes, size_t count, struct error *error)
{
    char number[24];
    for (size_t i = 0; i < count; i++) {
        snprintf(number, sizeof number, "%zu", i);
        const char *name = number;
        if (!add_names(classes, &name, 1, error))
            return false;
    }
    return true;
}

/* --- opening --- */

static size_t label_of(const struct pictures *pictures, bool numbers, const char *label)
{
    size_t number = 0;
    if (numbers) {
        text_to_size(label, &number);
        return number;
    }
    char **found = bsearch(&label, pictures->classes.name, pictures->classes.count,
                           sizeof *pictures->classes.name, compare_names);
    return (size_t)(found - pictures->classes.name);
}

static bool add_rows(struct source *source, const struct rows *rows, const char *path,
                     struct error *error)
{
    struct pictures *pictures = source->state;
    const size_t numbers = count_numbers(rows);
    if (!(numbers ? number_classes(&pictures->classes, numbers, error)
                  : name_classes(rows, &pictures->classes, error)))
        return false;
    source->classes = pictures->classes.count;
    if (source->classes > SPEC_MAX_CLASSES)
        return error_set(error, ERROR_INPUT, path, "name the classes in the second field",
                         "%zu different labels: more than %d classes", source->classes,
                         SPEC_MAX_CLASSES);
    for (size_t i = 0; i < rows->count; i++) {
        const size_t label = label_of(pictures, numbers, rows->row[i].label);
        if (!pictures_add(source, rows->row[i].path, (uint32_t)label, error))
            return false;
    }
    return source->images > 0 ||
           error_set(error, ERROR_INPUT, path, "paths are relative to the folder of the list",
                     "none of its %zu pictures can be read; the first, %s: %s", source->skipped,
                     pictures->broken.file[0].path, pictures->broken.file[0].why);
}

/* Returns the folder of the list, owned by the caller, or NULL with an error. */
static char *folder_of(const char *path, struct error *error)
{
    char *real = realpath(path, NULL);
    if (!real) {
        error_set_errno(error, path, "give a CSV file of rows PATH,LABEL", "cannot open the file");
        return NULL;
    }
    char *slash = strrchr(real, '/');
    slash[slash == real] = '\0';
    return real;
}

/* Adds the paths in the first column of a list, with or without labels. Paths that are not absolute
 * are below the folder of the list. Returns false with an error. */
static bool list_read_paths(const char *path, struct name_list *paths, struct error *error)
{
    struct rows rows = {.unlabelled = true};
    char *folder = folder_of(path, error);
    bool read = folder && read_rows(&rows, path, error);
    for (size_t i = 0; read && i < rows.count; i++) {
        const char *name = rows.row[i].path;
        char *whole = name[0] == '/' ? memory_copy_text(name, NULL) : file_join(folder, name);
        read = whole ? name_list_add(paths, whole, error) : error_set_memory(error, "a path", 0);
        free(whole);
    }
    free(rows.row);
    free(rows.text);
    free(folder);
    return read;
}

static bool open_list(struct source *source, const struct spec *spec, struct rows *rows,
                      struct error *error)
{
    struct pictures *pictures = source->state;
    if (spec->split_given)
        return error_set(error, ERROR_USAGE, spec->text, "give a list for each split",
                         "split=: a list is not divided into train and test");
    pictures->root = folder_of(spec->directory, error);
    if (!pictures->root || !read_rows(rows, spec->directory, error))
        return false;
    source->root = rows->absolute ? "/" : pictures->root;
    return add_rows(source, rows, spec->directory, error);
}

bool list_open(struct source *source, const struct spec *spec, struct error *error)
{
    struct rows rows = {0};
    if (!pictures_create(source, spec, error))
        return false;
    const bool opened = open_list(source, spec, &rows, error);
    free(rows.row);
    free(rows.text);
    if (!opened)
        pictures_close(source);
    return opened;
}

/* Returns the number of classes of a list, or 0 if it cannot be read. */
static size_t count_classes(const char *path)
{
    struct rows rows = {0};
    struct name_list names = {0};
    size_t classes = 0;
    if (read_rows(&rows, path, NULL) && (classes = count_numbers(&rows)) == 0 &&
        name_classes(&rows, &names, NULL))
        classes = names.count;
    name_list_free(&names);
    free(rows.row);
    free(rows.text);
    return classes <= SPEC_MAX_CLASSES ? classes : 0;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_unchanged(const struct stat *before, const struct stat *now)
{
    return before->st_dev == now->st_dev && before->st_ino == now->st_ino &&
           before->st_size == now->st_size && is_same_time(&before->st_mtim, &now->st_mtim) &&
           is_same_time(&before->st_ctim, &now->st_ctim);
}

/* Keeps the result for the last list: the form asks after each change, and a sweep for each cell,
 * and a million rows take most of a second. */
size_t list_classes(const struct spec *spec)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static struct stat counted;
    static size_t classes;
    struct stat now;
    if (stat(spec->directory, &now) != 0)
        return 0;
    pthread_mutex_lock(&mutex);
    if (!is_unchanged(&counted, &now))
        classes = count_classes(spec->directory);
    counted = now;
    const size_t found = classes;
    pthread_mutex_unlock(&mutex);
    return found;
}

enum { DEEPEST = 32 };

static bool add_folder(struct name_list *paths, const char *folder, int depth, struct error *error)
{
    struct name_list pictures = {0}, folders = {0};
    bool added = depth <= DEEPEST ? scan_folder(folder, &pictures, &folders, error)
                                  : error_set(error, ERROR_INPUT, folder,
                                              "is there a link to a folder above it?",
                                              "more than %d folders are nested", DEEPEST);
    for (size_t i = 0; added && i < pictures.count + folders.count; i++) {
        const bool picture = i < pictures.count;
        char *path =
            file_join(folder, picture ? pictures.name[i] : folders.name[i - pictures.count]);
        added = path ? picture ? name_list_add(paths, path, error)
                               : add_folder(paths, path, depth + 1, error)
                     : error_set_memory(error, "a path", 0);
        free(path);
    }
    name_list_free(&pictures);
    name_list_free(&folders);
    return added;
}

bool picture_paths_add(struct name_list *paths, struct name_list *lists, const char *operand,
                       struct error *error)
{
    static const char list[] = "list:";
    char path[4096];
    if (strncmp(operand, list, strlen(list)) != 0)
        return file_is_directory(operand) ? add_folder(paths, operand, 0, error)
                                          : name_list_add(paths, operand, error);
    const char *name = operand + strlen(list), *home = user_path_home(name);
    snprintf(path, sizeof path, "%s%s", home ? home : "", home ? name + 1 : name);
    return name_list_add(lists, path, error) && list_read_paths(path, paths, error);
}
