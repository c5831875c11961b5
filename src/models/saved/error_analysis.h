/* error_analysis.h: which classes a model confuses, and how far its probabilities can be trusted.
 * Counted from outcomes (evaluate.h). Not thread safe. */
#ifndef TINCA_MODELS_SAVED_ERROR_ANALYSIS_H
#define TINCA_MODELS_SAVED_ERROR_ANALYSIS_H

#include "base/error.h"
#include "models/saved/evaluate.h"
#include <stddef.h>
#include <stdint.h>

/* A confusion matrix. */
struct confusion {
    size_t classes, images;
    uint32_t *counts;  /* [true class][predicted class] */
    uint32_t *totals;  /* images by true class */
    uint32_t *guessed; /* images by predicted class */
    uint32_t *none;    /* by true class: images whose output was NaN or infinite */
    size_t right;      /* images that were classified correctly */
};

/* Creates an empty matrix. Returns false with an error if out of memory. */
bool confusion_create(struct confusion *confusion, size_t classes, struct error *error);
void confusion_free(struct confusion *confusion); /* leaves it {0} */

/* Counts an outcome, unless its label or guess is not one of the classes. */
void confusion_add(struct confusion *confusion, const struct outcome *outcome);

/* Returns how many images of class `label` were predicted as class `guess`. */
uint32_t confusion_count(const struct confusion *confusion, size_t label, size_t guess);

/* Returns the percentage of the images of a class that were classified correctly; NaN if there are
 * none. */
double confusion_accuracy(const struct confusion *confusion, size_t label);

/* --- the analysis --- */

enum { CALIBRATION_BINS = 15 };

/* The images whose guess has a probability within one of CALIBRATION_BINS equal parts of (0, 1]. */
struct calibration_bin {
    size_t images, right;
    double confidence; /* the sum of the probabilities */
};

struct error_analysis {
    struct confusion confusion;
    struct calibration_bin bins[CALIBRATION_BINS];
};

/* Figures of one class in percent; NaN where there is nothing to divide by. */
struct class_figures {
    size_t images, guessed; /* images of the class; images that were predicted as it */
    double precision, recall, f1;
};

/* Creates an empty analysis. Returns false with an error if out of memory. */
bool error_analysis_create(struct error_analysis *analysis, size_t classes, struct error *error);
void error_analysis_free(struct error_analysis *analysis); /* leaves it {0} */

/* Counts an outcome. */
void error_analysis_add(struct error_analysis *analysis, const struct outcome *outcome);

/* Returns the figures of a class. */
struct class_figures error_analysis_class(const struct error_analysis *analysis, size_t label);

/* Returns the mean of F1 (percent) over the classes that occur among labels or guesses. */
double error_analysis_macro_f1(const struct error_analysis *analysis);

/* Returns the expected calibration error in [0, 1] (Guo et al. 2017): the mean over the images of
 * the distance between a bin's accuracy and its mean confidence. NaN without images. */
double error_analysis_calibration(const struct error_analysis *analysis);

#endif
