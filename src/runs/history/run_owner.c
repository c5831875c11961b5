/* Reads /proc (proc(5)) to learn about another process; on a system without it only the lock file
 * counts. */
#include "runs/history/run_owner.h"

#include "base/files/file.h"
#include "base/host/spawn.h"
#include "runs/folder/run_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads "NUMBER HOST" from a lock file. Cuts the host at the first character that no host name has.
 */
static void read_lock(const char *path, struct run_owner *owner)
{
    char text[192];
    const int descriptor = file_open_regular(path, NULL);
    const ssize_t length = descriptor < 0 ? 0 : read(descriptor, text, sizeof text - 1);
    if (descriptor >= 0)
        close(descriptor);
    text[length > 0 ? length : 0] = '\0';
    char *name;
    owner->process = strtol(text, &name, 10);
    name += *name == ' ';
    name[strspn(name, "-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")] = '\0';
    snprintf(owner->host, sizeof owner->host, "%.127s", name);
}

bool run_owner_has_open(long number, const char *path)
{
    char descriptors[64];
    struct stat file, status;
    bool found = false;
    if (number <= 0 || stat(path, &file) != 0)
        return false;
    snprintf(descriptors, sizeof descriptors, "/proc/%ld/fd", number);
    DIR *folder = opendir(descriptors);
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));)
        found = fstatat(dirfd(folder), entry->d_name, &status, 0) == 0 &&
                status.st_dev == file.st_dev && status.st_ino == file.st_ino;
    if (folder)
        closedir(folder);
    return found;
}

/* Returns whether a process has a controlling terminal; true if unknown. A process loses it when
 * the terminal hangs up. */
static bool has_terminal(long number)
{
    struct process_stat stat;
    return !process_stat_read(number, &stat) || stat.terminal != 0;
}

bool run_owner_find(const char *directory, struct run_owner *owner)
{
    char *path = file_join(directory, "lock");
    const bool alive = run_directory_is_alive(directory);
    *owner = (struct run_owner){0};
    if (path)
        read_lock(path, owner);
    owner->here = alive && path && run_owner_has_open(owner->process, path);
    owner->alone = owner->here && !has_terminal(owner->process);
    free(path);
    return alive;
}

bool run_owner_stop(const char *directory, struct error *error)
{
    struct run_owner owner;
    if (!run_owner_find(directory, &owner))
        return error_set(error, ERROR_USAGE, directory, "there is nothing to stop",
                         "no process computes this run any more");
    if (!owner.here)
        return error_set(error, ERROR_USAGE, directory, "stop it there, or as that user",
                         "its process runs on another machine or belongs to another user");
    if (owner.process == (long)getpid()) /* a technique of the advisor trains it */
        return error_set(error, ERROR_USAGE, directory,
                         "stop applying techniques on the screen Advisor",
                         "this program itself computes the run");
    if (kill((pid_t)owner.process, SIGTERM) == 0)
        return true;
    return error_set_errno(error, directory, "stop it where it was begun",
                           "its process cannot be sent a signal");
}
