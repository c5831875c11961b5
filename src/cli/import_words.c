#include "cli/import_words.h"

#include "cli/output.h"

const char *const import_devices[] = {"cpu", "cuda", NULL};

void import_words_print(const char *path, const struct import_notes *notes)
{
    if (notes->damaged)
        output_note(ngettext("tinca: %s: %zu damaged line was left out\n",
                             "tinca: %s: %zu damaged lines were left out\n", notes->damaged),
                    path, notes->damaged);
    if (notes->replaced)
        output_note(
            ngettext("tinca: %s: %zu iteration is there twice; the later one was taken\n",
                     "tinca: %s: %zu iterations are there twice; the later ones were taken\n",
                     notes->replaced),
            path, notes->replaced);
    if (notes->several_top1)
        output_note(_("tinca: %s: of several accuracies %s was taken; --columns top1=NAME takes "
                      "another\n"),
                    path, notes->top1_name);
    if (notes->left_out[0])
        output_note(_("tinca: %s: %s is an accuracy of the training, which runs do not have; "
                      "--columns top1=%s takes it as that of a validation\n"),
                    path, notes->left_out, notes->left_out);
}

void import_words_end(const char *path, bool softmax_left_out, const char *kept, bool picture)
{
    if (softmax_left_out)
        output_note(_("tinca: %s: the softmax at the end was left out: loss and predictions have "
                      "it\n"),
                    path);
    if (kept)
        output_note(
            _("tinca: %s: the %s at the end is kept: its outputs are no classes of which an "
              "image has one, so that eval, predict and train take no labels for them; "
              "predict --raw writes them\n"),
            path, kept);
    if (picture)
        output_note(_("tinca: %s: its output is taken as a picture: training and eval compare it "
                      "with the second one of pairs\n"),
                    path);
}
