"""What can be said about all tasks together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphnetz.analysis.comparisons import Comparison
from graphnetz.analysis.ranking import TEST_NAMES, Ranking
from graphnetz.analysis.verdicts import names, seeds_word, unbeaten_tasks
from graphnetz.records import ScoreTable
from graphnetz.report.escape import shorten
from graphnetz.report.page import VerdictView
from graphnetz.report.views import p_value
from graphnetz.stats import rank_stability

ALL_TASKS = "All tasks"


def across_verdicts(
    table: ScoreTable,
    ranking: Ranking,
    grouped: Mapping[str, Sequence[Comparison]],
    wilcoxon: Sequence[Comparison],
    *,
    baselines: Sequence[str],
    n_failed: int,
) -> list[VerdictView]:
    """Return ranking, cautions and design limits, most important first."""
    out = [_ranking(ranking)]
    if ranking.dependent and ranking.omnibus.n:
        groups = "; ".join(names(group) for group in ranking.dependent)
        out.append(
            VerdictView(
                "warning",
                ALL_TASKS,
                f"These tasks stand on the same graph: {groups}. They are dependent blocks, so the test over tasks "
                "counts them as more evidence than they are.",
            )
        )
    unbeaten = unbeaten_tasks(table, grouped, baselines)
    if unbeaten:
        out.append(
            VerdictView("warning", ALL_TASKS, f"No model beats the baselines after Holm on {names(unbeaten, most=30)}.")
        )
    coarse = _coarse_wilcoxon(wilcoxon)
    if coarse:
        out.append(VerdictView("info", ALL_TASKS, coarse))
    if n_failed:
        plural = "cell" if n_failed == 1 else "cells"
        out.append(VerdictView("warning", ALL_TASKS, f"{n_failed} {plural} failed; they are listed under Failures."))
    return out


def _ranking(ranking: Ranking) -> VerdictView:
    test = ranking.omnibus
    if test.reason:
        return VerdictView(
            "untestable", ALL_TASKS, f"The models cannot be ranked across tasks: {test.reason}.{_left_out(ranking)}"
        )
    best = shorten(ranking.models[ranking.order[0]])
    how = f"{TEST_NAMES[test.decided_by]} p = {p_value(test.p)}, {test.k} models, {test.n} tasks"
    if not test.rejected:
        text = (
            f"Across tasks the {test.k} ranked models cannot be told apart ({how}). {best} has the best mean rank, "
            f"{test.mean_ranks[ranking.order[0]]:.2f}, which is within chance."
        )
        return VerdictView("tied", ALL_TASKS, text + _stability(ranking) + _left_out(ranking))
    group = _leading(ranking)
    worse = [ranking.models[i] for i in ranking.order if i not in group]
    lead = names([ranking.models[i] for i in group])
    cd = ranking.posthoc.cd if ranking.posthoc else float("nan")
    if not worse:
        text = (
            f"Mean ranks differ across tasks ({how}), but no model is more than the Nemenyi difference {cd:.2f} "
            f"behind {best}."
        )
        return VerdictView("tied", ALL_TASKS, text + _stability(ranking) + _left_out(ranking))
    text = (
        f"Across tasks {lead} {'leads' if len(group) == 1 else 'lead together'} ({how}); {best} ranks better than "
        f"{names(worse)} by more than the Nemenyi difference {cd:.2f}."
    )
    return VerdictView("different", ALL_TASKS, text + _stability(ranking) + _left_out(ranking))


def _leading(ranking: Ranking) -> list[int]:
    """Models within the critical difference of the best mean rank."""
    best, ranks = ranking.order[0], ranking.omnibus.mean_ranks
    cd = ranking.posthoc.cd * (1 + 1e-12) if ranking.posthoc else 0.0
    return [i for i in ranking.order if ranks[i] - ranks[best] <= cd]


def _stability(ranking: Ranking) -> str:
    found = rank_stability(ranking.values, ranking.greater_is_better)
    top = ranking.order[0]
    share = 100 * found.p_best[top]
    return f" With other tasks of this kind it would keep the best mean rank in {share:.0f} % of resampled task lists."


def _left_out(ranking: Ranking) -> str:
    text = ""
    if ranking.excluded:
        text += f" Not ranked, because missing on some task: {names(list(ranking.excluded))}."
    if ranking.dropped_tasks:
        text += f" Left out, because no model finished: {names(ranking.dropped_tasks)}."
    return text


def _coarse_wilcoxon(wilcoxon: Sequence[Comparison]) -> str:
    """A note when Wilcoxon is shown beside t but cannot reach the level on any task."""
    tested = [pair for pair in wilcoxon if pair.n >= 2]
    if not tested or any(pair.reachable for pair in tested):
        return ""
    n = max(pair.n for pair in tested)
    best = min(pair.smallest_adjusted for pair in tested)
    return (
        f"With {seeds_word(n)} no Wilcoxon test can reach {tested[0].alpha:g} after Holm (smallest possible "
        f"{p_value(best)}): read its column as not testable, not as no difference."
    )
