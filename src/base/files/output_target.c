/* Follows symbolic links one by one, because a link may lead to a descriptor (/dev/stdout and its
 * like), which the kernel would open anew instead of sharing its position. */
#include "base/files/output_file.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LINKS = 40 }; /* the kernel's own limit */

static const char choose_another[] = "choose another place";

/* --- descriptors --- */

int output_descriptor(const char *name)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(name, "-") == 0 || strcmp(name, "/dev/stdout") == 0)
        return STDOUT_FILENO;
    if (strcmp(name, "/dev/stderr") == 0)
        return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const size_t length = strlen(folders[i]);
        size_t number;
        if (strncmp(name, folders[i], length) == 0 && text_to_size(name + length, &number) &&
            number <= INT_MAX)
            return (int)number;
    }
    return -1;
}

/* Checks a descriptor. It must be inherited from the user's shell: everything that this program
 * opens itself has the flag close-on-exec. */
static bool find_descriptor(struct output_target *target, enum output_content content,
                            struct error *error)
{
    const int flags = fcntl(target->descriptor, F_GETFL);
    target->kind = OUTPUT_DESCRIPTOR;
    if (flags < 0 || (fcntl(target->descriptor, F_GETFD) & FD_CLOEXEC))
        return error_set(error, ERROR_INPUT, target->path, choose_another,
                         "this descriptor is not open");
    if ((flags & O_ACCMODE) == O_RDONLY)
        return error_set(error, ERROR_INPUT, target->path, choose_another,
                         "this descriptor cannot be written to");
    if (content == OUTPUT_BINARY && isatty(target->descriptor))
        return error_set(error, ERROR_INPUT, target->path, "name a file, or redirect it",
                         "this is a terminal, and the document is not text");
    return true;
}

/* --- links --- */

/* Returns the target of the symbolic link `path`, relative to the current folder; owned by the
 * caller. */
static char *read_link(const char *path, struct error *error)
{
    char text[PATH_MAX];
    const ssize_t length = readlink(path, text, sizeof text - 1);
    if (length < 0) {
        error_set_errno(error, path, choose_another, "cannot read this link");
        return NULL;
    }
    text[length] = '\0';
    const char *slash = strrchr(path, '/');
    if (text[0] == '/' || !slash)
        return memory_copy_text(text, error);
    const size_t size = (size_t)(slash - path) + 1 + (size_t)length + 1;
    char *joined = memory_new(size, 1, path, error);
    if (joined)
        snprintf(joined, size, "%.*s/%s", (int)(slash - path), path, text);
    return joined;
}

/* Follows target->path until it is no symbolic link, or names a descriptor. */
static bool follow_links(struct output_target *target, struct error *error)
{
    struct stat status;
    for (int links = 0; lstat(target->path, &status) == 0 && S_ISLNK(status.st_mode); links++) {
        char *next = links < MAX_LINKS ? read_link(target->path, error) : NULL;
        if (links == MAX_LINKS)
            return error_set(error, ERROR_INPUT, target->path, choose_another,
                             "the symbolic links go round in a circle");
        if (!next)
            return false;
        free(target->path);
        target->path = next;
        target->descriptor = output_descriptor(next);
        if (target->descriptor >= 0)
            break;
    }
    return true;
}

/* --- files --- */

static bool find_new(struct output_target *target, struct error *error)
{
    const char *name = file_base_name(target->path);
    char *copy = memory_copy_text(target->path, error);
    if (!copy)
        return false;
    const char *folder = dirname(copy);
    bool found = false;
    target->kind = OUTPUT_NEW;
    if (!name[0])
        error_set(error, ERROR_INPUT, target->path, "name a file", "this is a folder's name");
    else if (!file_is_directory(folder))
        error_set(error, ERROR_SYSTEM, target->path, "create it first, or choose another",
                  "the folder %s does not exist", folder);
    else if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
        error_set_errno(error, target->path, "choose another folder",
                        "no file can be written there");
    else
        found = true;
    free(copy);
    return found;
}

/* Checks an existing file. `name` is the name that the user gave; target->path is where its links
 * lead. */
static bool find_existing(struct output_target *target, const char *name, struct error *error)
{
    struct stat real;
    const mode_t mode = target->old.st_mode;
    const bool same = lstat(target->path, &real) == 0 && real.st_dev == target->old.st_dev &&
                      real.st_ino == target->old.st_ino;
    if (S_ISDIR(mode))
        return error_set(error, ERROR_INPUT, name, "name a file", "this is a folder");
    if (S_ISSOCK(mode))
        return error_set(error, ERROR_INPUT, name, "name a file", "this is a socket");
    if (faccessat(AT_FDCWD, name, W_OK, AT_EACCESS) != 0)
        return error_set_errno(error, name, "choose another place, or change its permissions",
                               "it cannot be written to");
    target->kind = !S_ISREG(mode)                      ? OUTPUT_STREAM
                   : same && target->old.st_nlink == 1 ? OUTPUT_REPLACED
                                                       : OUTPUT_IN_PLACE;
    if (same)
        return true;
    /* the text of /proc/PID/fd/N, for example, is not the path of the file that it leads to */
    free(target->path);
    target->path = memory_copy_text(name, error);
    return target->path;
}

static bool find(struct output_target *target, const char *name, enum output_content content,
                 struct error *error)
{
    target->descriptor = output_descriptor(name);
    if (target->descriptor >= 0)
        return find_descriptor(target, content, error);
    if (!name[0])
        return error_set(error, ERROR_USAGE, "-o", "name a file", "the name is empty");
    /* stat first: the kernel may forbid following a link that another user made */
    const bool exists = stat(name, &target->old) == 0;
    if (!exists && errno != ENOENT)
        return error_set_errno(error, name, choose_another, "cannot be opened");
    if (!follow_links(target, error))
        return false;
    if (target->descriptor >= 0)
        return find_descriptor(target, content, error);
    return exists ? find_existing(target, name, error) : find_new(target, error);
}

bool output_target_find(struct output_target *target, const char *name, enum output_content content,
                        struct error *error)
{
    *target = (struct output_target){.path = memory_copy_text(name, error)};
    if (target->path && find(target, name, content, error))
        return true;
    output_target_free(target);
    return false;
}

void output_target_free(struct output_target *target)
{
    free(target->path);
    target->path = NULL;
}
