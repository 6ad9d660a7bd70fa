"""Rules over calls as a past-time automaton: the trace check and a live gate use the same two functions.

Start at `compile_rule`; then `initial`, `decide` and `step`, or `hits` for a whole trace at once.
"""

from steelyard.rules.automaton import CompiledRule, Decision, State, compile_rule, decide, initial, step
from steelyard.rules.events import Event, events_of
from steelyard.rules.fold import Hit, hits

__all__ = [
    "CompiledRule",
    "Decision",
    "Event",
    "Hit",
    "State",
    "compile_rule",
    "decide",
    "events_of",
    "hits",
    "initial",
    "step",
]
