/* experiment.h: what makes a resumed run the same experiment: its network and its data. Internal to
 * session/.
 *
 * RUN/network.json is the network as it is trained, a network file of plain operators
 * (engine/network_write.h); RUN/data.json tells what the data sets consist of (data_fingerprint.h).
 * Both are written once, before the first iteration. */
#ifndef TINCA_SESSION_EXPERIMENT_H
#define TINCA_SESSION_EXPERIMENT_H

#include "session/trainer.h"

/* Writes both files. Reads the data set's files for their checksums. */
bool experiment_write(struct trainer *trainer);

/* Compares what was prepared with both files. False: it differs, and *trainer->error names the
 * difference. A file that is missing (an older version's run has none) is no difference:
 * *known becomes false. Changes no file. */
bool experiment_check(struct trainer *trainer, bool *known);

#endif
