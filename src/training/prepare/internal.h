/* internal.h: the parts of prepare (prepare.h).
 *
 * Functions that return false have set the error. */
#ifndef TINCA_TRAINING_PREPARE_INTERNAL_H
#define TINCA_TRAINING_PREPARE_INTERNAL_H

#include "training/prepare/prepare.h"

/* Opens the validation set, if the run has one. A rank other than 0 can work without it: rank 0
 * then validates alone, or with the ranks that have it. */
bool prepare_open_validation(struct preparation *prepared, const struct dataset_request *wish,
                             struct error *error);

/* Opens the test set on rank 0, if the run has one. */
bool prepare_open_test(struct preparation *prepared, const struct dataset_request *wish,
                       struct error *error);

/* Closes the validation set of a rank other than 0, because of an error. Returns false on rank 0,
 * for which that is a failure. */
bool prepare_drop_validation(struct preparation *prepared, const struct error *error);

/* Checks that a set has the same classes as the training set, and numbers them alike. `other` may
 * be NULL. */
bool prepare_check_class_names(const struct preparation *prepared, struct dataset *other,
                               struct error *error);

/* Makes the evaluator of validations; `batch` 0: in batches as large as fit, else in these if they
 * fit. */
bool prepare_make_evaluator(struct preparation *prepared, size_t batch, struct error *error);

/* Returns whether the run writes sample pictures (samples.h), on rank 0. */
bool prepare_has_samples(const struct preparation *prepared);

/* Takes the settings of a configuration, which must outlive them. */
void prepare_take_settings(struct preparation *prepared, const struct run_config *config);

/* Builds the network with as many outputs as the data have classes; `classes` 0: as in the
 * network's file. */
bool prepare_network(struct preparation *prepared, size_t classes, struct error *error);

/* Builds the network again, without plans, if the open data have another number of classes than
 * expected: some pictures cannot be read, or the files have changed. */
bool prepare_fit_classes(struct preparation *prepared, struct error *error);

/* Builds the network of a valid configuration before the data are opened. A student has as many
 * outputs as its teacher if the data's number of classes is not known. */
bool prepare_expected_network(struct preparation *prepared, size_t classes, struct error *error);

/* Checks that labels can be smoothed, mixed and weighted; `what` is the setting that needs it. */
bool prepare_check_cross_entropy(const struct network *network, const char *what,
                                 struct error *error);

/* Smooths the labels, as configured, before the plans are built. */
bool prepare_smooth_labels(struct preparation *prepared, struct error *error);

/* Makes the class weights and the memory of soft targets, if the run has them. */
bool prepare_soft_targets(struct preparation *prepared, struct error *error);

/* Builds network and plans, and fills the forecast. */
bool prepare_unopened(struct preparation *prepared, size_t classes, struct error *error);

/* Builds the method's plans, unless they are built already with these settings. */
bool prepare_plan(struct preparation *prepared, const struct device_driver *driver,
                  const struct plan_settings *settings, struct error *error);

/* Fills the forecast from the plans of these settings, and returns whether the run fits into
 * memory; a rank other than 0 may do without validation. */
bool prepare_fits_memory(struct preparation *prepared, const struct plan_settings *settings,
                         struct error *error);

#endif
