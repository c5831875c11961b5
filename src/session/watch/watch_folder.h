/* watch_folder.h: finds the files of trainings below a folder: TensorBoard's event files, and the
 * metrics.csv of PyTorch Lightning in folders without event files. Internal to this folder.
 *
 * A folder with such files is a training. A folder named after a part of the data belongs to the
 * training in the folder above: train or validation (Keras), eval (TensorFlow's Estimator). */
#ifndef TINCA_SESSION_WATCH_WATCH_FOLDER_H
#define TINCA_SESSION_WATCH_WATCH_FOLDER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct watch_found {
    char *path;     /* of the file */
    char *training; /* of the folder */
    bool validation;
};

struct watch_files {
    struct watch_found *items; /* sorted by training, then by name: the order of their times */
    size_t count, capacity;
};

/* Looks for files. Returns false with an error; `files` starts as {0} and is freed by the caller.
 */
bool watch_folder_scan(const char *folder, struct watch_files *files, struct error *error);
void watch_files_free(struct watch_files *files);

#endif
