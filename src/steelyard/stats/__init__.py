"""Numbers to numbers: intervals, means, repeated trials, paired tests, corrections, sample sizes."""

from steelyard.stats.clustered import mean_interval, standard_error, weighted_mean
from steelyard.stats.intervals import (
    clopper_pearson,
    clopper_pearson_lower,
    clopper_pearson_upper,
    wilson,
)
from steelyard.stats.multiple import benjamini_hochberg, holm
from steelyard.stats.paired import mcnemar_exact, paired_difference
from steelyard.stats.power import certifying_sample_size, minimum_detectable_effect, sample_size
from steelyard.stats.repeats import mean_pass_at_k, mean_pass_hat_k, pass_at_k, pass_hat_k
from steelyard.stats.results import Adjustment, Interval, PairedTest, RepeatRate, Status

__all__ = [
    "Adjustment",
    "Interval",
    "PairedTest",
    "RepeatRate",
    "Status",
    "benjamini_hochberg",
    "certifying_sample_size",
    "clopper_pearson",
    "clopper_pearson_lower",
    "clopper_pearson_upper",
    "holm",
    "mcnemar_exact",
    "mean_interval",
    "mean_pass_at_k",
    "mean_pass_hat_k",
    "minimum_detectable_effect",
    "paired_difference",
    "pass_at_k",
    "pass_hat_k",
    "sample_size",
    "standard_error",
    "weighted_mean",
    "wilson",
]
