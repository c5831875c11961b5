"""Recomputes with SciPy and scikit-learn what tinca printed in research_long.sh, and prints TAP lines.
usage: research_check.py STUDY.json COMPARE.json EVAL.json PREDICTIONS.csv"""
import csv
import json
import sys

import numpy as np
from scipy import stats
from sklearn import metrics

study, compare, evaluation = (json.load(open(path)) for path in sys.argv[1:4])
rows = list(csv.DictReader(open(sys.argv[4])))
count = 0


def check(name, ours, theirs, tolerance=1e-9):
    global count
    count += 1
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    good = np.allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    print(f"{'ok' if good else 'not ok'} {count} - {name}")
    if not good:
        print(f"# {ours}, not {theirs}")


def values_of(group, key, choose):
    runs = {run["id"]: run for run in study["runs"]}
    return [choose(runs[run]["validation"][key]) for run in group["runs"]]


def last(values):
    return values[-1]


best = {}
for name, group in study["groups"].items():
    for figure, key, choose in (("top1", "top1", last), ("best_top1", "top1", max),
                                ("validation_loss", "loss", last)):
        values = values_of(group, key, choose)
        statistics = group[figure]
        half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
        check(f"{name}: {figure}", [statistics["mean"], statistics["sd"], statistics["ci95"]],
              [np.mean(values), np.std(values, ddof=1), half], 1e-6)
        best[name] = values_of(group, "top1", max)

names = [name.split("@")[0] for name in compare["tests"][0]["runs"]]
welch = stats.ttest_ind(best[names[0]], best[names[1]], equal_var=False)
ours = compare["tests"][0]
check("Welch's test", [abs(ours["statistic"]), ours["p"], ours["degrees_of_freedom"]],
      [abs(welch.statistic), welch.pvalue, welch.df], 1e-5)

label, guess = ([row[key] for row in rows] for key in ("label", "guess"))
classes = [str(i) for i in range(len(evaluation["per_class"]))]
check("confusion matrix", evaluation["confusion"], metrics.confusion_matrix(label, guess, labels=classes))
precision, recall, f1, _ = metrics.precision_recall_fscore_support(label, guess, labels=classes,
                                                                  zero_division=0)
for name, theirs in (("precision", precision), ("recall", recall), ("f1", f1)):
    check(name, [row[name] for row in evaluation["per_class"]], 100 * theirs)
check("macro F1", evaluation["macro_f1"], 100 * np.mean(f1))
right = sum(a == b for a, b in zip(label, guess))
interval = stats.binomtest(right, len(rows)).proportion_ci(method="wilson")
check("Wilson's interval", [evaluation["top1_low"], evaluation["top1_high"]],
      [100 * interval.low, 100 * interval.high])
print(f"1..{count}")
