/* classify MODEL.safetensors PICTURE.ppm: prints the five most probable classes of a picture. */
#include <stdio.h>
#include <stdlib.h>
#include <tinca.h>

/* Reads a PNM file of bytes, grey (P5) or RGB (P6), without comments. Returns NULL if it is none.
 */
static uint8_t *read_picture(const char *path, size_t *height, size_t *width, size_t *channels)
{
    FILE *file = fopen(path, "rb");
    char kind;
    if (!file || fscanf(file, "P%c %5zu %5zu 255", &kind, width, height) != 3 || fgetc(file) == EOF)
        return NULL;
    *channels = kind == '6' ? 3 : 1;
    size_t size = *height * *width * *channels;
    uint8_t *picture = malloc(size);
    return picture && fread(picture, 1, size, file) == size ? picture : NULL;
}

int main(int argc, char **argv)
{
    struct tinca_error error = {TINCA_OK, "usage: classify MODEL.safetensors PICTURE.ppm"};
    size_t height, width, channels;
    tinca_model *model = argc == 3 ? tinca_model_open(argv[1], &error) : NULL;
    tinca_session *session = model ? tinca_prepare(model, NULL, &error) : NULL;
    uint8_t *picture = session ? read_picture(argv[2], &height, &width, &channels) : NULL;
    size_t classes = picture ? tinca_model_classes(model) : 0;
    float *scores = classes ? calloc(classes, sizeof *scores) : NULL;
    if (!scores ||
        tinca_run_pictures(session, picture, 1, height, width, channels, scores, &error)) {
        fprintf(stderr, "%s\n", session ? "no classifier, or no PNM picture" : error.text);
        return 1;
    }
    tinca_probabilities(scores, classes, scores);
    for (int i = 0; i < 5; i++) {
        size_t best = 0;
        for (size_t c = 1; c < classes; c++)
            best = scores[c] > scores[best] ? c : best;
        printf("%6.2f %%  %s\n", 100 * scores[best], tinca_model_class_name(model, best));
        scores[best] = -1;
    }
    tinca_session_close(session);
    tinca_model_close(model);
    return 0;
}
