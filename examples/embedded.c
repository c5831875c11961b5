/* embedded: a program that carries its network in itself, and needs no file. model.h is written by
 * tinca export MODEL.safetensors --format c -o model.h. Prints the outputs of a black image. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <tinca.h>

int main(void)
{
    struct tinca_error error;
    tinca_model *net = tinca_model_from_memory(model, model_size, &error);
    tinca_session *session = net ? tinca_prepare(net, NULL, &error) : NULL;
    if (!session) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    struct tinca_shape in = tinca_model_input(net), out = tinca_model_output(net);
    size_t count = out.channels * out.height * out.width;
    uint8_t *black = calloc(in.height * in.width, in.channels);
    float *outputs = calloc(count, sizeof *outputs);
    if (!black || !outputs ||
        tinca_run_pictures(session, black, 1, in.height, in.width, in.channels, outputs, &error))
        return 1;
    for (size_t i = 0; i < count; i++)
        printf("%.9g\n", (double)outputs[i]);
    tinca_session_close(session);
    tinca_model_close(net);
    return 0;
}
