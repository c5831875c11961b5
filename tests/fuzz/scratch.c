#include "fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static void give_up(const char *what)
{
    perror(what);
    exit(99);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static void remove_folder(void)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The folder is in memory if possible, since a target writes files in each call. */
static void make_folder(void)
{
    static const char *const places[] = {"/dev/shm", "/tmp"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(folder, sizeof folder, "%s/tinca-fuzz-XXXXXX", places[i]);
        if (mkdtemp(folder)) {
            atexit(remove_folder);
            return;
        }
    }
    give_up("a scratch folder");
}

const char *scratch_path(const char *name)
{
    static char paths[4][128];
    static size_t next;
    char *path = paths[next++ % 4];
    if (!folder[0])
        make_folder();
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

const char *scratch_write(const char *name, const void *data, size_t size)
{
    const char *path = scratch_path(name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || (size > 0 && write(file, data, size) != (ssize_t)size) || close(file) != 0)
        give_up(path);
    return path;
}
