#include "session/values/inspection.h"

#include <math.h>
#include <stdlib.h>

static void free_network(struct inspection_network *network)
{
    free(network->layers);
    free(network->gemm);
    free(network->tensors);
}

void inspection_free(struct inspection *inspection)
{
    if (!inspection)
        return;
    for (size_t i = 0; i < INSPECTION_NETWORKS; i++)
        free_network(&inspection->networks[i]);
    for (size_t i = 0; i < INSPECTION_NETWORKS + 1; i++)
        free(inspection->arenas[i].arrays);
    free(inspection);
}

double inspection_update_ratio(const struct inspection_tensor *tensor)
{
    return tensor->norm > 0 ? tensor->update_norm / tensor->norm : NAN;
}

double inspection_gflops(const struct inspection_layer *layer)
{
    double flops = layer->forward_flops + layer->backward_flops;
    double seconds = layer->forward_seconds + layer->backward_seconds;
    return flops > 0 && seconds > 0 ? flops / seconds * 1e-9 : NAN;
}
