#!/usr/bin/env python3
"""Computes the claims of a case again from its trials, with SciPy, and compares them with evidence.json.

    python3 docs/recompute.py CASE              compares; exit code 1 where something differs
    python3 docs/recompute.py CASE --print      shows what was computed; needs no evidence.json

Nothing of pinwise is used: only study.toml (the arms, margin and level), trials.jsonl (the figures) and SciPy. What is
computed is described in docs/study.md: within each complete block the log ratio of an arm to its reference; over the blocks
Wilcoxon's signed-rank test against the margin on either side, the Hodges-Lehmann estimate with its exact interval, Holm over each
family, two one-sided tests for "equal". Where the figure is a quantile of latency: the quantile over all requests of each arm from the
histograms of the trials, and its BCa interval over whole blocks. Estimates of those have to be the same; the samples of blocks are drawn
here anew, so an end of an interval may lie elsewhere by at most POOLED_TOLERANCE of its width. Needs Python 3.11 and scipy (python3 -m pip install scipy).
"""

import argparse
import base64
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
# Two seeds with 2,000 samples each differ by some per cent of the interval's width; a wrong formula by much more.
POOLED_TOLERANCE = 0.25
POOLED_SAMPLES = 2000


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


def histogram(text):
    """{highest value that counts as the same: how often} of a base64 HdrHistogram (V2 form, not compressed)."""
    raw = base64.b64decode(text)
    cookie, length, _, digits = (int.from_bytes(raw[at : at + 4], "big") for at in (0, 4, 8, 12))
    if cookie & ~0xF0 != 0x1C849303:
        raise ValueError(f"no HdrHistogram of the second form: cookie {cookie:x}")
    lowest = int.from_bytes(raw[16:24], "big")
    unit = lowest.bit_length() - 1
    half_magnitude = max(math.ceil(math.log2(2 * 10**digits)), 1) - 1
    half = 1 << half_magnitude
    counts, index, at, end = {}, 0, 40, 40 + length
    while at < end:
        number, shift = 0, 0
        while True:
            byte, at = raw[at], at + 1
            if shift == 56:
                number |= byte << shift
                break
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        number = (number >> 1) ^ -(number & 1)
        if number < 0:
            index -= number
            continue
        if number:
            bucket, sub = index // half - 1, index % half + half
            if bucket < 0:
                bucket, sub = 0, sub - half
            counts[((sub + 1) << (bucket + unit)) - 1] = number
        index += 1
    return counts


def latencies(folder, trial):
    """{us: how often} of the measured window of a trial."""
    outcome = json.loads((folder / "trials" / f"{trial['index']:04}" / "outcome.json").read_text())
    counts = {}
    for interval in outcome["intervals"]:
        if interval["from_ns"] >= trial["from_ns"] and interval["to_ns"] <= trial["to_ns"]:
            for value, count in histogram(interval["latency"]).items():
                counts[value] = counts.get(value, 0) + count
    return counts


class Pool:
    """The latencies of an arm by block."""

    def __init__(self, blocks):
        self.values = numpy.array(sorted({value for counts in blocks for value in counts}), dtype=float)
        self.up_to = numpy.cumsum([[counts.get(value, 0) for counts in blocks] for value in self.values], axis=0)

    def quantile(self, share, weights):
        """Smallest value that `share` of the values, each block taken `weights` times, are not above."""
        up_to = self.up_to @ weights
        rank = max(1, math.ceil(share * int(up_to[-1])))
        return self.values[int(numpy.searchsorted(up_to, rank))]


def complete_blocks(trials, names, figure):
    """{block: {arm: its trials}} of the blocks in which all arms have trials, all with a figure that a ratio can be taken of."""
    blocks = {}
    for trial in trials:
        blocks.setdefault(trial["block"], {}).setdefault(trial["arm"], {})[trial["position"]] = trial
    usable = lambda trial: math.isfinite(trial["figures"].get(figure, 0)) and trial["figures"].get(figure, 0) > 0
    whole = lambda arms: all(name in arms and all(map(usable, arms[name].values())) for name in names)
    return {b: {name: list(arms[name].values()) for name in names} for b, arms in sorted(blocks.items()) if whole(arms)}


def merged(runs):
    """What several runs counted, together; nothing where one of them tells nothing."""
    return {v: sum(counts.get(v, 0) for counts in runs) for counts in runs for v in counts} if all(runs) else {}


def pooled_ratio(own, reference, share, level):
    """The ratio of the quantiles with its BCa interval over whole blocks (Efron 1987)."""
    blocks = own.up_to.shape[1]
    of = lambda weights: own.quantile(share, weights) / reference.quantile(share, weights)
    estimate = of(numpy.ones(blocks, dtype=int))
    if blocks < 8:
        return estimate, None
    draws = numpy.random.default_rng(1).multinomial(blocks, [1 / blocks] * blocks, size=POOLED_SAMPLES)
    drawn = numpy.sort([of(weights) for weights in draws])
    middle = (numpy.sum(drawn < estimate) + numpy.sum(drawn <= estimate)) / 2 / POOLED_SAMPLES
    bias = stats.norm.ppf(min(max(middle, 0.5 / POOLED_SAMPLES), 1 - 0.5 / POOLED_SAMPLES))
    without = numpy.array([of(numpy.ones(blocks, dtype=int) - numpy.eye(blocks, dtype=int)[b]) for b in range(blocks)])
    moved = without.mean() - without
    spread = numpy.sum(moved**2) ** 1.5
    acceleration = min(max(numpy.sum(moved**3) / (6 * spread), -0.3), 0.3) if spread > 0 else 0.0
    tail = (1 - level) / 2
    ends = []
    for z in (bias + stats.norm.ppf(tail), bias + stats.norm.ppf(1 - tail)):
        share_below = stats.norm.cdf(bias + z / (1 - acceleration * z))
        ends.append(drawn[min(int(share_below * POOLED_SAMPLES), POOLED_SAMPLES - 1)])
    return estimate, sorted(ends)


class Case:
    """The figures of a case: log figure of each arm by complete block, signed so that more is better."""

    def __init__(self, folder):
        study = tomllib.loads((folder / "study.toml").read_text())
        recipe = study["recipe"]
        self.sign = -1.0 if recipe.get("better") == "lower" else 1.0
        self.margin = math.log1p(recipe["precision"]["margin"])
        self.alpha = recipe["precision"]["alpha"]
        self.arms = study["arms"]
        self.folder = folder
        self.recipe = recipe
        trials = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines() if line.strip()]
        self.trials = [trial for trial in trials if not trial.get("failed")]
        names = [arm["name"] for arm in self.arms]
        complete = complete_blocks(self.trials, names, recipe["metric"]).values()
        gain = lambda trial: self.sign * math.log(trial["figures"][recipe["metric"]])
        self.gains = {name: [statistics.fmean(map(gain, block[name])) for block in complete] for name in names}
        self.blocks = len(complete)

    def pooled(self):
        """(figure, arm, ratio of the quantiles over all requests, interval), of figures that are quantiles of latency."""
        named = {"latency_p50_us": 0.5, "latency_p90_us": 0.9, "latency_p99_us": 0.99, "latency_p999_us": 0.999}
        figures = [self.recipe["metric"]] + [also["metric"] for also in self.recipe.get("also", [])]
        for figure in (figure for figure in figures if figure in named):
            blocks = complete_blocks(self.trials, [arm["name"] for arm in self.arms], figure)
            read = {
                (b, arm["name"]): merged([latencies(self.folder, trial) for trial in blocks[b][arm["name"]]])
                for b in blocks
                for arm in self.of_role("baseline", "candidate")
            }
            complete = [b for b in blocks if all(counts for (block, _), counts in read.items() if block == b)]
            of = lambda name: [read[b, name] for b in complete]
            both = [of(arm["name"]) for arm in self.of_role("baseline")]
            reference = Pool([merged(pair) for pair in zip(*both)])
            for arm in self.of_role("candidate"):
                own = Pool(of(arm["name"]))
                yield figure, arm["name"], *pooled_ratio(own, reference, named[figure], 1 - self.alpha)

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


def pooled_differences(case, evidence):
    """In words, where the quantiles over all requests differ from those of evidence.json; and how many were compared."""
    said = {
        (pooled["metric"], row["arm"]): row for pooled in evidence.get("pooled", []) for row in pooled["against_baseline"]
    }
    found, compared = [], 0
    for figure, arm, ratio, ends in case.pooled():
        row, compared = said.pop((figure, arm), None), compared + 1
        if row is None:
            found.append(f"{figure} over all requests, {arm}: missing in evidence.json")
        elif not math.isclose(row["ratio"], ratio, rel_tol=TOLERANCE):
            found.append(f"{figure} over all requests, {arm}: {row['ratio']} in evidence.json, {ratio} here")
        elif row["interval"] and ends:
            room = POOLED_TOLERANCE * (ends[1] - ends[0]) + TOLERANCE
            if any(abs(a - b) > room for a, b in zip(row["interval"], ends)):
                found.append(f"{figure} over all requests, {arm}: interval {row['interval']} in evidence.json, {ends} here")
    found += [f"{figure} over all requests, {arm}: it is not among what the trials give" for figure, arm in said]
    return found, compared


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
    differences, pooled = pooled_differences(case, evidence)
    for difference in differences:
        print(difference)
        status = 1
    print(f"{compared} contrasts of {case.blocks} blocks, {pooled} ratios over all requests: {'they differ' if status else 'all the same'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
