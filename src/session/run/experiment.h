/* experiment.h: what makes a resumed run the same experiment: its network and its data. Internal to
 * session/.
 *
 * RUN/network.json is the network as it is trained, a network file of plain operators
 * (engine/network/network_write.h); RUN/data.json tells what the data sets consist of
 * (data_fingerprint.h). Both are written before the first iteration; where the disk refuses, before
 * the first checkpoint. */
#ifndef TINCA_SESSION_RUN_EXPERIMENT_H
#define TINCA_SESSION_RUN_EXPERIMENT_H

#include "session/run/trainer.h"

/* Makes the text of both files, which waits in trainer->experiment until it is written. Reads the
 * data set's files for their checksums. */
bool experiment_make(struct trainer *trainer);

/* Writes what waits. False: the disk refuses, what could not be written waits on. */
bool experiment_write(struct trainer *trainer, struct error *error);

void experiment_free(struct trainer *trainer);

/* Compares what was prepared with both files. False: it differs, and *trainer->error names the
 * difference. A file that is missing (an older version's run has none) is no difference:
 * *known becomes false. Changes no file. */
bool experiment_check(struct trainer *trainer, bool *known);

#endif
