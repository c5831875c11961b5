/* prune_taylor.h: the Taylor criterion of a model, over batches of its data. Internal to session/.
 */
#ifndef TINCA_SESSION_COMPRESS_PRUNE_TAYLOR_H
#define TINCA_SESSION_COMPRESS_PRUNE_TAYLOR_H

#include "session/compress/prune_step.h"

/* Computes the gradients of request->batches batches, as training would with the request's
 * settings, and changes no weights. Returns the sums that channel_importance takes, which the
 * caller frees; NULL with an error. */
double *prune_taylor_sums(const struct prune_subject *subject, const struct prune_request *request,
                          const struct prune_hooks *hooks, struct error *error);

#endif
