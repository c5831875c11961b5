/* Checks the folder and its entries: types, owners, permissions, incomplete and foreign files. */
#include "training/check/internal.h"

#include "base/files/file.h"
#include "base/language.h"
#include "runs/folder/folder_trust.h"
#include "runs/folder/run_directory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* --- pictures --- */

/* Checks a sample's PNG by its chunks: each ends with its CRC-32, and the next follows at once. */

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Reads the rest of a chunk: `left` bytes of data and the CRC-32 of type and data. Returns whether
 * it matches. */
static bool read_chunk(FILE *stream, const unsigned char *type, uint32_t left)
{
    unsigned char block[4096];
    unsigned long sum = crc32_z(0, type, 4);
    while (left > 0) {
        const size_t most = left < sizeof block ? left : sizeof block;
        const size_t got = fread(block, 1, most, stream);
        if (got == 0)
            return false;
        sum = crc32_z(sum, block, got);
        left -= (uint32_t)got;
    }
    return fread(block, 1, 4, stream) == 4 && big_endian(block) == sum;
}

static bool is_whole(FILE *stream)
{
    static const unsigned char signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    unsigned char head[8];
    if (fread(head, 1, 8, stream) != 8 || memcmp(head, signature, 8) != 0)
        return false;
    while (fread(head, 1, 8, stream) == 8) {
        if (!read_chunk(stream, head + 4, big_endian(head)))
            return false;
        if (memcmp(head + 4, "IEND", 4) == 0)
            return fgetc(stream) == EOF;
    }
    return false;
}

static void check_picture(struct check *check, const char *file)
{
    struct error error = {0};
    char *path = check_path(check, file);
    FILE *stream = path ? file_open_stream(path, &error) : NULL;
    free(path);
    if (!stream)
        check_report(check, file, RUN_PROBLEM_ERROR, REMEDY_DELETE, "%s", error.why);
    else if (!is_whole(stream))
        check_report(check, file, RUN_PROBLEM_ERROR, REMEDY_DELETE,
                     _("it is not a complete picture: a checksum does not match"));
    if (stream)
        fclose(stream);
}

/* --- the folder --- */

static const char *kind_of(mode_t mode)
{
    if (S_ISLNK(mode))
        return N_("it is a symbolic link, not a file");
    if (S_ISDIR(mode))
        return N_("it is a folder, not a file");
    if (S_ISFIFO(mode))
        return N_("it is a FIFO, not a file");
    return N_("it is a device or a socket, not a file");
}

/* Reports a file that another user owns or can change. For the folder this is an error, because all
 * other commands then refuse the run. */
static void inspect_owner(struct check *check, const char *file, const struct stat *status)
{
    const enum run_problem_severity severity =
        strcmp(file, ".") == 0 ? RUN_PROBLEM_ERROR : RUN_PROBLEM_WARNING;
    const enum folder_trust trust = folder_trust_of(status);
    if (trust == FOLDER_OF_ANOTHER_USER)
        check_report(check, file, severity, REMEDY_OWNER, _("it belongs to user %lu"),
                     (unsigned long)status->st_uid);
    else if (trust != FOLDER_TRUSTED)
        check_report(check, file, severity, REMEDY_PERMISSIONS,
                     _("other users may write to it (mode %03o)"),
                     (unsigned)status->st_mode & 0777);
}

static bool is_part(const char *name)
{
    const size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".part") == 0;
}

static void inspect_entry(struct check *check, const char *name, const struct stat *status)
{
    struct check_file_state *state = check_find_state(check, name);
    const bool regular = S_ISREG(status->st_mode);
    if (!state && !run_directory_is_own_file(name)) {
        check_report(check, name, RUN_PROBLEM_WARNING, REMEDY_MOVE, _("tinca did not write it"));
        return;
    }
    if (state)
        state->presence = regular ? FILE_HERE : FILE_STRANGE;
    if (!regular) {
        check_report(check, name, RUN_PROBLEM_ERROR, REMEDY_MOVE, "%s",
                     gettext(kind_of(status->st_mode)));
        return;
    }
    inspect_owner(check, name, status);
    if (is_part(name) && !check->alive)
        check_report(check, name, RUN_PROBLEM_WARNING, REMEDY_DELETE,
                     _("it was left half written when a process was killed"));
    else if (strncmp(name, "sample-", 7) == 0 && !is_part(name))
        check_picture(check, name);
}

int check_compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool inspect_entries(struct check *check)
{
    struct dirent **entries;
    struct stat status;
    const int count = scandir(check->directory, &entries, NULL, check_compare_names);
    if (count < 0) {
        check_report(check, ".", RUN_PROBLEM_ERROR, REMEDY_PERMISSIONS,
                     _("it cannot be listed: %s"), strerror(errno));
        return false;
    }
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        char *path = strcmp(name, ".") && strcmp(name, "..") ? check_path(check, name) : NULL;
        if (path &&
            lstat(path, &status) == 0) /* else a run that is training has replaced the file */
            inspect_entry(check, name, &status);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return true;
}

bool check_folder(struct check *check)
{
    struct stat status;
    if (lstat(check->directory, &status) != 0) {
        check_report(check, ".", RUN_PROBLEM_ERROR, REMEDY_NONE, "%s", strerror(errno));
        return false;
    }
    if (!S_ISDIR(status.st_mode)) {
        const bool link = S_ISLNK(status.st_mode);
        check_report(check, ".", RUN_PROBLEM_WARNING, REMEDY_MOVE, "%s",
                     link ? _("it is a symbolic link, not a folder")
                          : _("it is not a folder, so it is not a run"));
        if (!link || !file_is_directory(check->directory))
            return false;
    }
    if (stat(check->directory, &status) == 0)
        inspect_owner(check, ".", &status);
    return inspect_entries(check);
}
