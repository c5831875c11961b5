/* observer.h: what happens beside the iterations of a training: each thing that watches it, records
 * it or may end it is an observer, in a file of its own.
 *
 * An observer is a row of functions, of which it has those that it needs. The loop (loop.c) and the
 * life of a run (worker.c) call a function of all observers in the order of their list
 * (observers.c), and know none of them. Each has a state of `state_bytes`, which is zero at first
 * and private to its file; `trainer` has what they share. Functions that return false have set
 * *trainer->error, or the given error, and the later observers are not called.
 *
 * A checkpoint has the numbers of `numbers`, each under its key, and the arrays of `arrays`.
 *
 * A run of several processes has its observers on rank 0. What must happen on all ranks, since they
 * share the validations, is done by the functions that take a preparation instead of the trainer:
 * the other ranks call these as well. */
#ifndef TINCA_TRAINING_OBSERVER_H
#define TINCA_TRAINING_OBSERVER_H

#include "runs/values/series.h"
#include "training/internal.h"

enum number_kind { COUNT, NUMBER, REAL, FLAG }; /* uint64_t, double, float, bool */

/* A number that a checkpoint has as "tinca.KEY". */
struct saved_number {
    const char *key; /* NULL: the end of a list */
    enum number_kind kind;
    bool of_trainer; /* `offset` is that of a member of struct trainer, else of the state */
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

/* Arrays that a checkpoint has: one for each learnable parameter of the network that is saved, of
 * its shape. */
struct saved_arrays {
    const char *prefix; /* before the parameter's name */
    /* Returns whether a run with these settings has them. */
    bool (*are_used)(const struct run_config *config);
    /* Returns the values, as those of weights; NULL if they are not used. */
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

    /* Returns the bytes that the observer will hold in memory, beside its state: on rank 0, and on
     * the others if it has on_all_ranks.prepare. */
    run_bytes *bytes;
    /* Returns those that it will hold for a moment, while no decode worker runs. */
    run_bytes *at_rest;

    /* As in struct run_besides (prepare.h). `follow` comes before after_step. */
    struct {
        bool (*check)(const struct preparation *prepared, struct error *error);
        bool (*prepare)(struct preparation *prepared, struct error *error);
        void (*follow)(struct preparation *prepared, uint64_t iteration);
    } on_all_ranks;

    /* Gives the state its first values, before a checkpoint may be read. */
    void (*create)(void *state, struct trainer *trainer);
    /* The run is prepared or restored, and its journal is open. */
    bool (*open)(void *state, struct trainer *trainer);
    /* The first iteration of this process is next. */
    void (*begin)(void *state, struct trainer *trainer);

    /* trainer->batch is there. The time that this takes is the iteration's, unless the observer
     * adds it to trainer->clock.iteration; so is that of after_step. */
    void (*before_step)(void *state, struct trainer *trainer);
    /* The weights are updated. */
    void (*after_step)(void *state, struct trainer *trainer);
    /* The iteration is over and counted in trainer->moment. An observer may complete the point for
     * those after it. */
    void (*after_iteration)(void *state, struct trainer *trainer, struct iteration *iteration);
    /* After the iteration and, if an epoch is over, its end. */
    bool (*between)(void *state, struct trainer *trainer, bool epoch_over);

    void (*before_validation)(void *state, struct trainer *trainer);
    /* The snapshot has the figures already. */
    void (*after_validation)(void *state, struct trainer *trainer,
                             const struct evaluation *evaluation,
                             const struct series_validation *row);
    /* After the validation of an epoch, before the step of the learning-rate schedule. */
    void (*after_epoch)(void *state, struct trainer *trainer);
    /* A picture of generated samples was written. */
    void (*after_picture)(void *state, struct trainer *trainer, const char *path);

    /* The user asks for something, between two iterations or within a validation. */
    void (*obey)(void *state, struct trainer *trainer, const struct commands *commands);
    /* The run pauses or, with `on` false, goes on. */
    void (*pause)(void *state, struct trainer *trainer, bool on);

    /* Writes what a checkpoint depends on. Returns false if the disk refuses. */
    bool (*sync)(void *state, struct trainer *trainer, struct error *error);
    /* Brings the numbers up to date, before a checkpoint is written. */
    void (*save)(void *state, struct trainer *trainer);
    /* Numbers and arrays have been read from a checkpoint. */
    void (*restore)(void *state, struct trainer *trainer);

    /* No iteration will follow. */
    void (*trained)(void *state, struct trainer *trainer);
    /* The process may end soon: makes sure that the run can be resumed from here. */
    void (*secure)(void *state, struct trainer *trainer);
    /* Saves the results of the training, whether it was stopped or not. */
    bool (*finish)(void *state, struct trainer *trainer);
    /* Evaluates the test set. The error is ERROR_INTERRUPTED if the run was stopped meanwhile. */
    bool (*test)(void *state, struct trainer *trainer);
    /* The run ends; `writes`: its folder is still written. */
    void (*end)(void *state, struct trainer *trainer, enum run_status status, bool writes);
    /* All files of the run are written. */
    void (*afterwards)(void *state, struct trainer *trainer, enum run_status status);
    /* Frees what the state has; the preparation is still there. */
    void (*close)(void *state, struct trainer *trainer);
};

/* Allocates the states and creates the observers. Returns false with *trainer->error;
 * observers_free must follow. */
bool observers_create(struct trainer *trainer);
/* Closes the observers and frees the states. */
void observers_free(struct trainer *trainer);

/* What the observers of a run do together on each rank. */
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

/* Each does the same with the function of its name, and returns false as soon as one does. */
bool observers_open(struct trainer *trainer);
bool observers_between(struct trainer *trainer, bool epoch_over);
bool observers_finish(struct trainer *trainer);
bool observers_test(struct trainer *trainer);

/* Lets all observers write what a checkpoint depends on, also after one whose file the disk
 * refuses: it may take the others. Returns false with the first error if any was refused. */
bool observers_sync(struct trainer *trainer, struct error *error);

#endif
