#include "runs/values/finding.h"

#include "base/language.h"

static const struct {
    const char *name, *words;
} kinds[] = {[FINDING_NEGATIVE_LOSS] = {"negative-loss", N_("negative loss")},
             [FINDING_RESIDUE] = {"loss-residue", N_("loss residue")},
             [FINDING_OVERFITTING] = {"overfitting", N_("overfitting")},
             [FINDING_DIVERGENCE] = {"divergence", N_("divergence")},
             [FINDING_PLATEAU] = {"plateau", N_("plateau")},
             [FINDING_MEMORY] = {"memory", N_("memory")},
             [FINDING_DATA] = {"data", N_("data")},
             [FINDING_RESUME] = {"resume", N_("resumed")},
             [FINDING_JOURNAL] = {"journal", N_("journal")},
             [FINDING_SCALING] = {"scaling", N_("scaling")},
             [FINDING_FALLBACK] = {"fallback", N_("fallback")},
             [FINDING_WEIGHTS] = {"weights", N_("weights")},
             [FINDING_EARLY_STOP] = {"early-stop", N_("early stop")},
             [FINDING_TIME] = {"time", N_("time")},
             [FINDING_GRAPH] = {"graph", N_("CUDA graph")},
             [FINDING_LOSS_SCALE] = {"loss-scale", N_("loss scale")},
             [FINDING_CUDNN] = {"cudnn", N_("cuDNN")},
             [FINDING_TENSORBOARD] = {"tensorboard", N_("TensorBoard")}};

const char *finding_kind_name(enum finding_kind kind)
{
    return kinds[kind].name;
}

const char *finding_kind_words(enum finding_kind kind)
{
    return kinds[kind].words;
}
