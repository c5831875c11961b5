#include "session/files/sample_files.h"

#include "base/portable/portable.h"
#include "base/text.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Parses a name such as "sample-0012.png". */
static bool parse_name(const char *name, size_t *epoch)
{
    static const char prefix[] = "sample-", suffix[] = ".png";
    char digits[24];
    size_t length = strlen(name), around = sizeof prefix - 1 + sizeof suffix - 1;
    if (length <= around || length - around >= sizeof digits ||
        strncmp(name, prefix, sizeof prefix - 1) != 0 ||
        strcmp(name + length - (sizeof suffix - 1), suffix) != 0)
        return false;
    snprintf(digits, sizeof digits, "%.*s", (int)(length - around), name + sizeof prefix - 1);
    return text_to_size(digits, epoch);
}

static bool take(struct sample_file *file, const char *directory, const char *name, size_t epoch)
{
    struct stat status;
    int length = snprintf(file->path, sizeof file->path, "%s/%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof file->path || stat(file->path, &status) != 0)
        return false;
    file->epoch = epoch;
    file->stamp = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    return true;
}

bool sample_file_newest(const char *run_directory, struct sample_file *file)
{
    char newest[256] = "";
    size_t newest_epoch = 0, epoch;
    DIR *directory = opendir(run_directory);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (parse_name(entry->d_name, &epoch) && (!newest[0] || epoch > newest_epoch)) {
            snprintf(newest, sizeof newest, "%s", entry->d_name);
            newest_epoch = epoch;
        }
    if (directory)
        closedir(directory);
    return newest[0] && take(file, run_directory, newest, newest_epoch);
}

size_t sample_examples(const struct run_facts *facts)
{
    size_t images = facts->validation_images ? facts->validation_images : facts->images;
    if (facts->classes > 0)
        return 0;
    return images < SAMPLES ? images : SAMPLES;
}
