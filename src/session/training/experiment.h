/* experiment.h: verifies that a resumed run trains the same network on the same data. Internal to
 * session/.
 *
 * RUN/network.json is the network as it is trained, a network file of plain operators
 * (engine/network/network_write.h). RUN/data.json lists what the data sets consist of
 * (data_fingerprint.h). Both are written before the first iteration or, if the disk refuses, before
 * the first checkpoint. */
#ifndef TINCA_SESSION_TRAINING_EXPERIMENT_H
#define TINCA_SESSION_TRAINING_EXPERIMENT_H

#include "session/training/trainer.h"

/* Puts the text of both files into trainer->experiment. Reads the data set's files for their
 * checksums. Returns false with *trainer->error. */
bool experiment_make(struct trainer *trainer);

/* Puts the text of provenance.json (provenance.h) there, after experiment_make. Returns false with
 * *trainer->error. */
bool experiment_make_provenance(struct trainer *trainer);

/* Writes the texts of trainer->experiment. Returns false with an error if the disk refuses; what is
 * not written stays there. */
bool experiment_write(struct trainer *trainer, struct error *error);

void experiment_free(struct trainer *trainer);

/* Compares what was prepared with both files. Returns false if it differs; *trainer->error names
 * the difference. If a file is missing, as in runs of older versions, *known becomes false. Changes
 * no file. */
bool experiment_check(struct trainer *trainer, bool *known);

#endif
