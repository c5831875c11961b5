/* run_preprocessing.h: the preprocessing of a run's pictures.
 *
 * A new run follows a model: its teacher; else the model whose weights it begins with, of --weights
 * or of the ancestor that it is a fork of; else the saved model that is its network. Only the
 * settings normalise and filter, and the data's options filter and orient, override it. A model's
 * size before the crop holds in proportion for a network with another input. A resumed run keeps
 * the preprocessing that its data.json records, even if these files have changed. With several
 * ranks, rank 0 resolves it and sends it to the others.
 */
#ifndef TINCA_MODELS_SAVED_RUN_PREPROCESSING_H
#define TINCA_MODELS_SAVED_RUN_PREPROCESSING_H

#include "data/images/preprocessing.h"
#include "runs/settings/config.h"

/* Plain values, which ranks send as they are. */
struct run_preprocessing {
    bool recorded;              /* by the run itself; conflicting settings are refused */
    char path[512];             /* the model that is followed; "": there is none */
    struct preprocessing model; /* the preprocessing of that model */
    /* The preprocessing with which the data sets are opened: the model's, with the filter of the
     * settings. Without a model or a record it has neither sizes nor the name of a normalisation.
     */
    struct preprocessing given;
};

/* Returns the preprocessing of a new run. `ancestor` is the file of the weights that a fork begins
 * with instead of those of --weights, or NULL. */
struct run_preprocessing run_preprocessing_of(const struct run_config *config,
                                              const char *ancestor);

/* Returns the preprocessing of a resumed run: the record in data.json of its folder. A run of an
 * earlier version has none and follows the teacher or the saved network, but not the weights, with
 * the luma of JPEG files. */
struct run_preprocessing run_preprocessing_again(const struct run_config *config,
                                                 const char *directory);

/* Adds the member "preprocessing" of data.json. Returns false if out of memory. */
bool run_preprocessing_record(const struct preprocessing *preprocessing, struct json *tree);

/* Returns whether both give the same numbers for a picture. `fixed`: the set's images are of fixed
 * size and only normalised. */
bool run_preprocessing_same(const struct preprocessing *a, const struct preprocessing *b,
                            bool fixed);

/* Writes the settings of a preprocessing, as "filter=bicubic, orient=no, normalisation
 * \"measured\"". Returns `text`. */
char *run_preprocessing_words(const struct preprocessing *preprocessing, bool fixed, char *text,
                              size_t size);

#endif
