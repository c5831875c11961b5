/* observer.h: the observers of a training: each feature that watches it, records it or may end it
 * is an observer in a separate file.
 *
 * An observer is a row of functions, of which it has those that it needs. The loop (loop.c) and the
 * life of a run (worker.c) call a function of all observers in the order of their list
 * (observers.c), and know none of them. Each has a state of `state_bytes`, which is zero at first
 * and private to its file; `trainer` has the shared state. Functions that return false have set
 * *trainer->error, or the given error, and the later observers are not called.
 *
 * A checkpoint has the numbers of `numbers`, each under its key, and the arrays of `arrays`.
 *
 * A run of several processes has its observers on rank 0. Work that all ranks must do, since they
 * share the validations, is in the functions that take a preparation instead of the trainer: the
 * other ranks call these as well. */
#ifndef TINCA_TRAINING_OBSERVER_H
#define TINCA_TRAINING_OBSERVER_H

#include "runs/values/series.h"
#include "training/internal.h"

enum number_kind { COUNT, NUMBER, REAL, FLAG }; /* uint64_t, double, float, bool */

/* A number that a checkpoint stores as "tinca.KEY". */
struct saved_number {
    const char *key; /* NULL: the end of a list */
    enum number_kind kind;
    bool of_trainer; /* `offset` is within struct trainer, else within the state */
    bool added;      /* checkpoints of earlier versions do not have it */
    size_t offset;
};

#define SAVED(kind, key, type, member)                                                             \
    {                                                                                              \
        key, kind, false, false, offsetof(type, member)                                            \
    }
#define SAVED_OF_TRAINER(kind, key, member)                                                        \
    {                                                                                              \
        key, kind, true, false, offsetof(struct trainer, member)                                   \
    }
#define ADDED(kind, key, type, member)                                                             \
    {                                                                                              \
        key, kind, false, true, offsetof(type, member)                                             \
    }
#define ADDED_OF_TRAINER(kind, key, member)                                                        \
    {                                                                                              \
        key, kind, true, true, offsetof(struct trainer, member)                                    \
    }

/* Arrays that a checkpoint stores: one for each learnable parameter of the saved network, of its
 * shape. */
struct saved_arrays {
    const char *prefix; /* before the parameter's name */
    /* Returns whether a run with these settings has the arrays. */
    bool (*are_used)(const struct run_config *config);
    /* Returns the values, laid out as the weights; NULL if they are not used. */
    const float *(*values)(const struct trainer *trainer);
};

/* Returns the first number of these observers that the metadata of an opened checkpoint lacks; NULL
 * if it has all (checkpoint_missing). */
const char *checkpoint_find_missing(const struct safetensors *file,
                                    const struct observer *const *observers);

/* An iteration whose loss is known. */
struct iteration {
    struct series_point point;
    uint64_t now;  /* clock_nanoseconds, when the loss was known */
    bool diverged; /* the loss is not finite: the run ends */
};

struct observer {
    const char *name;
    size_t state_bytes;
    const struct saved_number *numbers;
    const struct saved_arrays *arrays; /* NULL: none */

    /* Returns the bytes that the observer will use in memory, beside its state: on rank 0, and on
     * the others if it has on_all_ranks.prepare. */
    run_bytes *bytes;
    /* Returns the bytes that it will use for a moment, while no decode worker runs. */
    run_bytes *at_rest;

    /* These functions are those of struct run_besides (prepare.h). `follow` comes before
     * after_step. */
    struct {
        bool (*check)(const struct preparation *prepared, struct error *error);
        bool (*prepare)(struct preparation *prepared, struct error *error);
        void (*follow)(struct preparation *prepared, uint64_t iteration);
    } on_all_ranks;

    /* Initialises the state, before a checkpoint may be read. */
    void (*create)(void *state, struct trainer *trainer);
    /* Is called when the run is prepared or restored, and its journal is open. */
    bool (*open)(void *state, struct trainer *trainer);
    /* Is called before the first iteration of this process. */
    void (*begin)(void *state, struct trainer *trainer);

    /* Is called when trainer->batch is set. Its time counts as the iteration's, unless the observer
     * adds it to trainer->clock.iteration; so does that of after_step. */
    void (*before_step)(void *state, struct trainer *trainer);
    /* Is called when the weights are updated. */
    void (*after_step)(void *state, struct trainer *trainer);
    /* Is called when the iteration is over and counted in trainer->moment. An observer may complete
     * the point for those after it. */
    void (*after_iteration)(void *state, struct trainer *trainer, struct iteration *iteration);
    /* Is called after the iteration and, if an epoch is over, its end. */
    bool (*between)(void *state, struct trainer *trainer, bool epoch_over);

    void (*before_validation)(void *state, struct trainer *trainer);
    /* Is called after a validation, when the snapshot already has its figures. */
    void (*after_validation)(void *state, struct trainer *trainer,
                             const struct evaluation *evaluation,
                             const struct series_validation *row);
    /* Is called after the validation of an epoch, before the step of the learning-rate schedule. */
    void (*after_epoch)(void *state, struct trainer *trainer);
    /* Is called when a picture of generated samples was written. */
    void (*after_picture)(void *state, struct trainer *trainer, const char *path);

    /* Obeys a command of the user, between two iterations or within a validation. */
    void (*obey)(void *state, struct trainer *trainer, const struct commands *commands);
    /* Is called when the run pauses or, with `on` false, continues. */
    void (*pause)(void *state, struct trainer *trainer, bool on);

    /* Writes the files that a checkpoint depends on. Returns false if writing fails. */
    bool (*sync)(void *state, struct trainer *trainer, struct error *error);
    /* Brings the numbers up to date, before a checkpoint is written. */
    void (*save)(void *state, struct trainer *trainer);
    /* Is called when numbers and arrays have been read from a checkpoint. */
    void (*restore)(void *state, struct trainer *trainer);

    /* Is called when no iteration will follow. */
    void (*trained)(void *state, struct trainer *trainer);
    /* Makes sure that the run can be resumed from here, because the process may end soon. */
    void (*secure)(void *state, struct trainer *trainer);
    /* Saves the results of the training, whether it was stopped or not. */
    bool (*finish)(void *state, struct trainer *trainer);
    /* Evaluates the test set. The error is ERROR_INTERRUPTED if the run was stopped meanwhile. */
    bool (*test)(void *state, struct trainer *trainer);
    /* Is called when the run ends; `writes`: its folder is still written. */
    void (*end)(void *state, struct trainer *trainer, enum run_status status, bool writes);
    /* Is called when all files of the run are written. */
    void (*afterwards)(void *state, struct trainer *trainer, enum run_status status);
    /* Frees the contents of the state; the preparation still exists. */
    void (*close)(void *state, struct trainer *trainer);
};

/* Allocates the states and creates the observers. Returns false with *trainer->error;
 * observers_free must follow. */
bool observers_create(struct trainer *trainer);
/* Closes the observers and frees the states. */
void observers_free(struct trainer *trainer);

/* The work of a run's observers on each rank. */
extern const struct run_besides observers_besides;

/* Returns the state of an observer, for functions of its own file that are called by name. */
void *observer_state(const struct trainer *trainer, const struct observer *observer);

/* Calls a function of all observers that have it; does nothing before observers_create. */
#define TELL_OBSERVERS(trainer, function, ...)                                                     \
    do {                                                                                           \
        for (size_t i_ = 0; (trainer)->states && (trainer)->observers[i_]; i_++)                   \
            if ((trainer)->observers[i_]->function)                                                \
                (trainer)->observers[i_]->function((trainer)->states[i_], trainer, ##__VA_ARGS__); \
    } while (0)

/* Each calls the function of the same name of all observers, and returns false as soon as one of
 * them does. */
bool observers_open(struct trainer *trainer);
bool observers_between(struct trainer *trainer, bool epoch_over);
bool observers_finish(struct trainer *trainer);
bool observers_test(struct trainer *trainer);

/* Lets all observers write the files that a checkpoint depends on, also after one whose file cannot
 * be written. Returns false with the first error if any failed. */
bool observers_sync(struct trainer *trainer, struct error *error);

#endif
