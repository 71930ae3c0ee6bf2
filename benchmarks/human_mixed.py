"""Claim: the mixed model of a study's answers is statsmodels' or above it, and its intervals cover what they say.

Run: python benchmarks/human_mixed.py [--studies 100]

Simulated annotators, no people. First 60 small studies (30 items, 10 annotators, 3 an item) without and with an effect
of annotators: how often statsmodels' search ends below our likelihood, how often above, and how long both take. Then
studies of Table 1's size as `benchmarks/human_study.py` draws them ("shared"), with the shares of Table 1: how often
intervals of differences to the base hold the truth, beside those of clustered variances.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

# A file beside this one is named like a package of ours, so its own folder may not be searched first.
sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
import pandas as pd
import statsmodels.api as sm
from statsmodels.regression.mixed_linear_model import MixedLMParams

from apportion.evaluation.human_agreement.mixed_model import mixed_mean
from apportion.evaluation.human_agreement.two_way_anova import mean_of_answers
from benchmarks.human_study import BASE, CRITERIA, SHARED, TABLE_1, draw
from benchmarks.measure import tell

SMALL = 60
CLEARLY = 0.01
"""Of log-likelihood."""


def beside_statsmodels(by_annotator: float) -> None:
    below = above = 0
    ours_s = theirs_s = 0.0
    items = np.repeat(np.arange(30), 3)
    for seed in range(SMALL):
        rng = np.random.default_rng(seed)
        people = np.concatenate([rng.permutation(10) for _ in range(9)])
        values = 0.5 * rng.standard_normal(30)[items] + by_annotator * rng.standard_normal(10)[people]
        values = values + rng.standard_normal(90)
        begun = time.process_time()
        ours = mixed_mean(values, items, people)
        ours_s += time.process_time() - begun
        assert ours is not None
        data = pd.DataFrame({"value": values, "item": items, "person": people, "all": 1})
        crossed = {"item": "0 + C(item)", "person": "0 + C(person)"}
        begun = time.process_time()
        model = sm.MixedLM.from_formula("value ~ 1", groups="all", re_formula="0", vc_formula=crossed, data=data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = model.fit(reml=True)
        theirs_s += time.process_time() - begun
        ratios = np.maximum([ours.item_variance, ours.annotator_variance], 1e-9) / ours.residual_variance
        at_ours = model.loglike(MixedLMParams.from_components(np.zeros(1), vcomp=ratios, cov_re=np.zeros((0, 0))))
        below += int(at_ours > theirs.llf + CLEARLY)
        above += int(theirs.llf > at_ours + CLEARLY)
    named = {"studies": SMALL, "sd of annotators": by_annotator, "simulated": True}
    tell("statsmodels ends below our likelihood", below, "studies", **named)
    tell("statsmodels ends above it", above, "studies", **named)
    tell("a fit of ours", 1000 * ours_s / SMALL, "ms of processor time", **named)
    tell("a fit of statsmodels", 1000 * theirs_s / SMALL, "ms of processor time", **named)


def coverage(studies: int) -> None:
    shares = np.array(list(TABLE_1.values())) / 100
    base = list(TABLE_1).index(BASE)
    mixed, clustered = [], []
    rng = np.random.default_rng(2)
    for _ in range(studies):
        answers = draw(shares, SHARED, rng)[CRITERIA[0]]
        for k in (k for k in range(len(TABLE_1)) if k != base):
            truth = shares[k, 0] - shares[base, 0]
            differences = answers.values[:, k] - answers.values[:, base]
            fitted = mixed_mean(differences, answers.items, answers.annotators)
            beside = mean_of_answers(differences, answers.items, answers.annotators)
            if fitted is not None:
                mixed.append(fitted.low <= truth <= fitted.high)
            if beside is not None and beside.low is not None and beside.high is not None:
                clustered.append(beside.low <= truth <= beside.high)
    named = {"studies": studies, "cells": len(mixed), "simulated": True}
    tell("intervals of the mixed model that hold the truth (connection)", float(np.mean(mixed)), "share", **named)
    tell("clustered intervals that hold it", float(np.mean(clustered)), "share", **named)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=100)
    studies = parser.parse_args().studies
    for by_annotator in (0.0, 0.5):
        beside_statsmodels(by_annotator)
    coverage(studies)
