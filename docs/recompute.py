#!/usr/bin/env python3
"""Computes the claims of a case again from its trials, with SciPy, and compares them with evidence.json.

    python3 docs/recompute.py CASE              compares; exit code 1 where something differs
    python3 docs/recompute.py CASE --print      shows what was computed; needs no evidence.json

Nothing of pinwise is used: only study.toml (the arms, margin and level), trials.jsonl (the figures) and SciPy. What is
computed is told in docs/study.md: within each complete block the log ratio of an arm to its reference; over the blocks
Wilcoxon's signed-rank test against the margin on either side, the Hodges-Lehmann estimate with its exact interval, Holm over each
family, two one-sided tests for "equal". Needs Python 3.11 and scipy (python3 -m pip install scipy).
"""

import argparse
import json
import math
import pathlib
import statistics
import sys
import tomllib

try:
    import numpy
    from scipy import stats
except ImportError:
    sys.exit("recompute.py: SciPy is not installed - python3 -m pip install scipy")

TOLERANCE = 1e-9


def one_sided(differences, location, side):
    """Exact p that the differences lie on `side` ('greater', 'less') of `location`; ties and zeros by exact permutation."""
    shifted = [d - location for d in differences if d != location]
    if not shifted:
        return 1.0
    magnitudes = [abs(d) for d in shifted]
    if len(set(magnitudes)) == len(magnitudes):
        return stats.wilcoxon(shifted, alternative=side, method="exact").pvalue
    # SciPy's exact method takes no ties: count the sign patterns by twice the midranks.
    ranks = [round(2 * r) for r in stats.rankdata(magnitudes)]
    signed = [r for d, r in zip(shifted, ranks) if (d > 0) == (side == "greater")]
    ways = {0: 1}
    for rank in ranks:
        for total, count in list(ways.items()):
            ways[total + rank] = ways.get(total + rank, 0) + count
    return sum(count for total, count in ways.items() if total >= sum(signed)) / 2 ** len(ranks)


def walsh_averages(differences):
    """All averages of pairs, i <= j, rising."""
    n = len(differences)
    return sorted((differences[i] + differences[j]) / 2 for i in range(n) for j in range(i, n))


def interval(differences, level):
    """The exact interval at `level`: Walsh averages by the quantile of the rank sum; None with too few blocks."""
    n = len(differences)
    ways = numpy.array([1.0])
    for rank in range(1, n + 1):
        ways = numpy.convolve(ways, [1.0] + [0.0] * (rank - 1) + [1.0])
    below = numpy.cumsum(ways) / 2.0**n
    outer = int(numpy.searchsorted(below, (1 - level) / 2, side="right")) - 1
    averages = walsh_averages(differences)
    return None if outer < 0 else (averages[outer], averages[len(averages) - 1 - outer])


def holm(p_values):
    """Holm's adjusted p, in the order given (scipy has no such function)."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, running = [1.0] * len(p_values), 0.0
    for step, i in enumerate(order):
        running = max(running, min(1.0, p_values[i] * (len(p_values) - step)))
        adjusted[i] = running
    return adjusted


class Case:
    """The figures of a case: log figure of each arm by complete block, signed so that more is better."""

    def __init__(self, folder):
        study = tomllib.loads((folder / "study.toml").read_text())
        recipe = study["recipe"]
        self.sign = -1.0 if recipe.get("better") == "lower" else 1.0
        self.margin = math.log1p(recipe["precision"]["margin"])
        self.alpha = recipe["precision"]["alpha"]
        self.arms = study["arms"]
        trials = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines() if line.strip()]
        blocks = {}
        for trial in trials:
            value = trial["figures"].get(recipe["metric"])
            if value is not None and math.isfinite(value) and value > 0:
                of_arm = blocks.setdefault(trial["block"], {}).setdefault(trial["arm"], {})
                of_arm[trial["position"]] = self.sign * math.log(value)
        names = [arm["name"] for arm in self.arms]
        complete = [b for _, b in sorted(blocks.items()) if all(name in b for name in names)]
        self.gains = {name: [statistics.fmean(block[name].values()) for block in complete] for name in names}
        self.blocks = len(complete)

    def of_role(self, *roles):
        return [arm for arm in self.arms if arm["role"] in roles]

    def differences(self, name, reference):
        return [a - b for a, b in zip(self.gains[name], reference)]

    def contrasts(self):
        """(family, arm, differences), each family in the order of evidence.json."""
        baselines = [self.gains[arm["name"]] for arm in self.of_role("baseline")]
        rows = []
        baseline = [statistics.fmean(values) for values in zip(*baselines)]
        if len(baselines) >= 2:
            first = self.of_role("baseline")[0]["name"]
            rows.append(("a_a", first, self.differences(first, baselines[1])))
        for arm in self.of_role("mis-tuning")[:1]:
            rows.append(("control", arm["name"], self.differences(arm["name"], self.control_reference(arm, baseline))))
        if baselines:
            for arm in self.of_role("candidate", "intervention"):
                rows.append(("against_baseline", arm["name"], self.differences(arm["name"], baseline)))
        cpus = [arm for arm in self.of_role("candidate") if "cpu" in arm]
        for arm in cpus if len(cpus) >= 2 else []:
            others = [self.gains[other["name"]] for other in cpus if other is not arm]
            medians = [statistics.median(values) for values in zip(*others)]
            rows.append(("against_other_cpus", arm["name"], self.differences(arm["name"], medians)))
        return rows

    def control_reference(self, mis_tuning, baseline):
        """The arm with the server on the same CPU, or the baseline."""
        wanted = mis_tuning.get("placement", {}).get("server_cpus")
        for arm in self.of_role("candidate"):
            if "cpu" in arm and arm.get("placement", {}).get("server_cpus") == wanted:
                return self.gains[arm["name"]]
        return baseline

    def computed(self):
        """Everything that a contrast of evidence.json claims, by family and arm, but for what the controls withhold."""
        families = {}
        for family, arm, differences in self.contrasts():
            families.setdefault(family, []).append((arm, differences))
        return {
            (family, row["arm"]): row for family, rows in families.items() for row in self.family(rows) if self.blocks
        }

    def family(self, rows):
        different = [
            min(1.0, 2 * min(one_sided(d, self.margin, "greater"), one_sided(d, -self.margin, "less")))
            for _, d in rows
        ]
        for (arm, d), p in zip(rows, holm(different)):
            estimate = statistics.median(walsh_averages(d))
            equal = max(one_sided(d, -self.margin, "greater"), one_sided(d, self.margin, "less"))
            ends = interval(d, 1 - self.alpha)
            if p <= self.alpha:
                verdict = "better" if estimate > 0 else "worse"
            else:
                verdict = "equal" if equal <= self.alpha else "undecided"
            yield {
                "arm": arm,
                "ratio": math.exp(self.sign * estimate),
                "interval": ends and sorted(math.exp(self.sign * end) for end in ends),
                "p_adjusted": p,
                "verdict": verdict,
            }


def differs(ours, theirs):
    """In words, what differs between our row and a contrast of evidence.json."""
    for key in ("ratio", "p_adjusted"):
        if not math.isclose(ours[key], theirs[key], rel_tol=TOLERANCE):
            yield f"{key}: {theirs[key]} in evidence.json, {ours[key]} here"
    if (ours["interval"] is None) != (theirs["interval"] is None) or any(
        not math.isclose(a, b, rel_tol=TOLERANCE) for a, b in zip(ours["interval"] or [], theirs["interval"] or [])
    ):
        yield f"interval: {theirs['interval']} in evidence.json, {ours['interval']} here"
    # The controls may have withheld a claim; they never make one.
    if theirs["verdict"] not in (ours["verdict"], "insensitive", "untrustworthy", "undecided"):
        yield f"verdict: {theirs['verdict']} in evidence.json, {ours['verdict']} here"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", type=pathlib.Path)
    parser.add_argument("--print", action="store_true", dest="show")
    asked = parser.parse_args()
    case = Case(asked.case)
    computed = case.computed()
    if asked.show:
        rows = [{"family": family, **row} for (family, _), row in computed.items()]
        print(json.dumps(rows, indent=2))
        return 0
    evidence = json.loads((asked.case / "evidence.json").read_text())
    if evidence["blocks"] != case.blocks:
        print(f"blocks: {evidence['blocks']} in evidence.json, {case.blocks} here")
        return 1
    status, compared = 0, 0
    for family in ("a_a", "control", "against_baseline", "against_other_cpus"):
        said = evidence[family] or []
        for contrast in said if isinstance(said, list) else [said]:
            compared += 1
            ours = computed.pop((family, contrast["arm"]), None)
            for difference in differs(ours, contrast) if ours else ["it is not among what the trials give"]:
                print(f"{family}, {contrast['arm']}: {difference}")
                status = 1
    for family, arm in computed:
        print(f"{family}, {arm}: missing in evidence.json")
        status = 1
    print(f"{compared} contrasts of {case.blocks} blocks: {'they differ' if status else 'all the same'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
