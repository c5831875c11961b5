/* library.h: the structures and helpers that the files of libtinca share. The library's interface
 * is include/tinca.h; nothing of the program includes this folder.
 *
 * It uses the engine, and of runs and models only the reading of saved models and the location of
 * the machine's figures: no curses, no image formats, no MPI. */
#ifndef TINCA_LIBRARY_LIBRARY_H
#define TINCA_LIBRARY_LIBRARY_H

#include "base/error.h"
#include "data/loader/augment.h"
#include "models/saved/model_file.h"

#include <pthread.h>
#include <tinca.h>

/* The only symbols that the library exports. */
#define TINCA_EXPORT __attribute__((visibility("default")))

struct tinca_model {
    struct model saved; /* without device, plan and execution */
    char name[NETWORK_SHORT_NAME];
    struct shape output;
    struct sample_table table; /* of the model's normalisation */
    pthread_mutex_t
        lock; /* guards the members below, and changes of saved.network and saved.weights */
    size_t sessions;
    bool copied; /* a device has a copy of the weights, for the only session */
    bool closed; /* tinca_model_close was called: the last session frees the model */
};

/* Fills `out` (may be NULL) from an error of the engine. Returns its status. */
enum tinca_status library_fail(struct tinca_error *out, const struct error *error);

/* Fills `out` (may be NULL) for a wrong argument. Returns TINCA_ERROR_ARGUMENT. */
enum tinca_status library_refuse(struct tinca_error *out, const char *what, const char *why);

/* Removes a session of a model, and frees a closed model without further sessions. */
void library_leave_model(struct tinca_model *model);

#endif
