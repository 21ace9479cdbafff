"""What can be said about all tasks together."""

from __future__ import annotations

from collections.abc import Sequence

from graphnetz._core.text import names, p_value, seeds_word, shorten
from graphnetz.records.analysis import Comparison, Ranking, Verdict

ALL_TASKS = "All tasks"


def across_verdicts(
    ranking: Ranking, *, p_best: Sequence[float], wilcoxon: Sequence[Comparison], unbeaten: Sequence[str], n_failed: int
) -> list[Verdict]:
    """Return ranking, cautions and design limits, most important first.

    ``p_best`` is each ranked model's share of being best, ``unbeaten`` the tasks on which no model beats the baselines.
    """
    out = [_ranking(ranking, p_best)]
    if ranking.dependent and ranking.tasks:
        groups = "; ".join(names(group) for group in ranking.dependent)
        out.append(
            Verdict(
                "warning",
                ALL_TASKS,
                f"These tasks stand on the same graph: {groups}. They are dependent blocks, so the test over tasks "
                "counts them as more evidence than they are.",
            )
        )
    if unbeaten:
        out.append(
            Verdict("warning", ALL_TASKS, f"No model beats the baselines after Holm on {names(unbeaten, most=30)}.")
        )
    coarse = _coarse_wilcoxon(wilcoxon)
    if coarse:
        out.append(Verdict("info", ALL_TASKS, coarse))
    if n_failed:
        plural = "cell" if n_failed == 1 else "cells"
        out.append(Verdict("warning", ALL_TASKS, f"{n_failed} {plural} failed; they are listed under Failures."))
    return out


def _ranking(ranking: Ranking, p_best: Sequence[float]) -> Verdict:
    if ranking.reason:
        return Verdict(
            "untestable", ALL_TASKS, f"The models cannot be ranked across tasks: {ranking.reason}.{_left_out(ranking)}"
        )
    top, k = ranking.order[0], len(ranking.models)
    best = shorten(ranking.models[top])
    how = f"{ranking.test} p = {p_value(ranking.p)}, {k} models, {len(ranking.tasks)} tasks"
    group = [i for i in ranking.order if not ranking.apart(i, top)]
    worse = [ranking.models[i] for i in ranking.order if i not in group]
    level = "different" if worse else "tied"
    if not ranking.rejected:
        text = (
            f"Across tasks the {k} ranked models cannot be told apart ({how}). {best} has the best mean rank, "
            f"{ranking.mean_ranks[top]:.2f}, which is within chance."
        )
    elif not worse:
        text = (
            f"Mean ranks differ across tasks ({how}), but no model is more than the Nemenyi difference "
            f"{ranking.cd:.2f} behind {best}."
        )
    else:
        lead = names([ranking.models[i] for i in group])
        text = (
            f"Across tasks {lead} {'leads' if len(group) == 1 else 'lead together'} ({how}); {best} ranks better than "
            f"{names(worse)} by more than the Nemenyi difference {ranking.cd:.2f}."
        )
    share = f"{100 * p_best[top]:.0f} % of resampled task lists"
    text += f" With other tasks of this kind it would keep the best mean rank in {share}."
    return Verdict(level, ALL_TASKS, text + _left_out(ranking))


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
