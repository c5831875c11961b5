#include "session/storage/run_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>

uint64_t run_disk_bytes(const char *directory)
{
    uint64_t bytes = 0;
    struct stat status;
    DIR *stream = opendir(directory);
    for (struct dirent *entry; stream && (entry = readdir(stream));)
        if (fstatat(dirfd(stream), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode))
            bytes += (uint64_t)status.st_size;
    if (stream)
        closedir(stream);
    return bytes;
}
