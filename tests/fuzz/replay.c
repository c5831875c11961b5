/* Runs the targets on files without libFuzzer: `replay FOLDER...`, where FOLDER/TARGET/FILE is an
 * input of that target. Prints TAP, one test for each file. */
#include "fuzz.h"

#include "base/files/file.h"
#include "tap.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    fuzz_target *run;
} targets[] = {{"network", fuzz_network},
               {"session", fuzz_session},
               {"safetensors", fuzz_safetensors},
               {"idx", fuzz_idx},
               {"cifar", fuzz_cifar},
               {"png", fuzz_png},
               {"jpeg", fuzz_jpeg},
               {"gz", fuzz_gz},
               {"log", fuzz_log},
               {"checkpoint", fuzz_checkpoint},
               {"preferences", fuzz_preferences},
               {"sweep", fuzz_sweep},
               {"npy", fuzz_npy},
               {"npz", fuzz_npz},
               {"list", fuzz_list},
               {"onnx", fuzz_onnx},
               {"mapping", fuzz_mapping},
               {"prototxt", fuzz_prototxt},
               {"caffemodel", fuzz_caffemodel},
               {"events", fuzz_events}};

static bool feed_file(fuzz_target *run, const char *path)
{
    struct error error;
    size_t size;
    char *data = file_read(path, (size_t)64 << 20, &size, &error);
    if (!data)
        return false;
    run((const uint8_t *)data, size);
    free(data);
    return true;
}

static size_t feed_folder(size_t target, const char *root)
{
    size_t count = 0;
    char *folder = file_join(root, targets[target].name);
    DIR *directory = folder ? opendir(folder) : NULL;
    for (struct dirent *entry; directory && (entry = readdir(directory)); count++) {
        char *path = entry->d_name[0] != '.' ? file_join(folder, entry->d_name) : NULL;
        if (path)
            tap_ok(feed_file(targets[target].run, path), "%s: %s", targets[target].name,
                   entry->d_name);
        free(path);
    }
    if (directory)
        closedir(directory);
    free(folder);
    return count;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s FOLDER...\n", argv[0]);
        return 2;
    }
    for (size_t target = 0; target < sizeof targets / sizeof *targets; target++) {
        size_t count = 0;
        for (int i = 1; i < argc; i++)
            count += feed_folder(target, argv[i]);
        tap_ok(count > 0, "%s has inputs", targets[target].name);
    }
    return tap_done();
}
