"""What can be said about all tasks together."""

from __future__ import annotations

from collections.abc import Sequence

from graphnetz._core.text import names, p_value, seeds_word, shorten
from graphnetz.records.analysis import Comparison, Ranking, Verdict
from graphnetz.records.views import RankSetView

ALL_TASKS = "All tasks"
MOST_PLACES = 8
"""Models whose places a sentence lists; the table holds all."""


def across_verdicts(
    ranking: Ranking, *, wilcoxon: Sequence[Comparison], unbeaten: Sequence[str], n_tasks: int, n_failed: int
) -> list[Verdict]:
    """Return ranking, places, cautions and design limits, most important first.

    ``unbeaten`` are the tasks, of ``n_tasks``, on which no model beats the baselines.
    """
    out = [_ranking(ranking), *_places(ranking.sets)]
    if ranking.dependent and ranking.tasks:
        groups = "; ".join(names(group) for group in ranking.dependent)
        out.append(
            Verdict(
                "warning",
                ALL_TASKS,
                f"These tasks stand on the same graph: {groups}. They are dependent blocks: the test over mean ranks "
                "counts them as more evidence than they are, places count each graph once.",
            )
        )
    if unbeaten:
        where = f"any of the {n_tasks} tasks" if len(unbeaten) == n_tasks > 3 else names(unbeaten, most=30)
        out.append(
            Verdict(
                "warning",
                ALL_TASKS,
                f"No model is shown to beat the baselines on {where}.",
                claims=("baselines",),
            )
        )
    coarse = _coarse_wilcoxon(wilcoxon)
    if coarse:
        out.append(Verdict("info", ALL_TASKS, coarse))
    if n_failed:
        plural = "cell" if n_failed == 1 else "cells"
        out.append(Verdict("warning", ALL_TASKS, f"{n_failed} {plural} failed; they are listed under Failures."))
    return out


def _ranking(ranking: Ranking) -> Verdict:
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
        first = [ranking.models[i] for i in ranking.order if ranking.mean_ranks[i] <= ranking.mean_ranks[top] + 1e-9]
        verb = "has" if len(first) == 1 else "share"
        text = (
            f"Across tasks the mean ranks of {k} models are not shown to differ ({how}); {names(first)} {verb} the "
            f"best one, {ranking.mean_ranks[top]:.2f}."
        )
    elif not worse:
        text = (
            f"Mean ranks differ across tasks ({how}), but no model is more than the Nemenyi difference "
            f"{ranking.cd:.2f} behind {best}."
        )
    else:
        # Places may show more than mean ranks do; nobody who is shown behind by either leads.
        behind = {ranking.sets.models[j] for _, j in ranking.sets.better}
        lead = [ranking.models[i] for i in group if ranking.models[i] not in behind]
        verb = "is" if len(lead) == 1 else "are"
        opening = f"{names(lead)} {verb} not shown behind any model" if lead else "mean ranks differ"
        text = (
            f"Across tasks {opening} ({how}); {best} ranks better than {names(worse)} by more than the Nemenyi "
            f"difference {ranking.cd:.2f}."
        )
    return Verdict(level, ALL_TASKS, text + _left_out(ranking), claims=("ranks-differ",) if ranking.rejected else ())


def _places(sets: RankSetView) -> list[Verdict]:
    """Which places the models may have on other tasks of this kind."""
    if len(sets.models) < 2 or sets.n_tasks < 2:
        return []
    if sets.reason:
        return [Verdict("untestable", ALL_TASKS, f"Places for other tasks of this kind are open: {sets.reason}.")]
    k, shown = len(sets.models), sets.models[:MOST_PLACES]
    listed = ", ".join(
        f"{shorten(model)} {'may be placed ' if i == 0 else ''}{sets.text(i)}" for i, model in enumerate(shown)
    )
    rest = f" and so on for {k - len(shown)} more" if k > len(shown) else ""
    alone = sets.high[0] == 1
    end = f"{shorten(sets.models[0])} is shown to be first alone" if alone else "no model is shown to be first alone"
    late = [model for model, gone in zip(sets.models, sets.missing, strict=True) if gone]
    note = f" Tasks that {names(late)} omit{'s' if len(late) == 1 else ''} count as worst." if late else ""
    level = "different" if sets.better else "tied"
    basis = f"{100 * sets.level:g} % for all places together, {sets.n_blocks} independent tasks"
    text = f"For other tasks of this kind {listed}{rest} of {k}; {end}.{note}"
    return [Verdict(level, ALL_TASKS, text, basis, claims=("rank-set",))]


def _left_out(ranking: Ranking) -> str:
    text = ""
    if ranking.excluded:
        missing = names(list(ranking.excluded))
        text += f" Not ranked, because missing on some task or on the seeds that others share: {missing}."
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
