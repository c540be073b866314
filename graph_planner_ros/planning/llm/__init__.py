"""Planning with language models that propose and a task graph that decides."""

from graph_planner_ros.planning.llm.action_planner import ActionPlanner
from graph_planner_ros.planning.llm.action_selection import Selection, SelectionStatus, select_action
from graph_planner_ros.planning.llm.guesses import GuessingPlanner
from graph_planner_ros.planning.llm.key_objects import ModelExperience, key_objects, search_suggestions
from graph_planner_ros.planning.llm.planner import LlmPlanner, ModelPlanning
from graph_planner_ros.planning.llm.reading import KEY, Names, ParsedPlan, read_plan
from graph_planner_ros.planning.llm.replanning import Reviser

__all__ = [
    "KEY",
    "ActionPlanner",
    "GuessingPlanner",
    "LlmPlanner",
    "ModelExperience",
    "ModelPlanning",
    "Names",
    "ParsedPlan",
    "Reviser",
    "Selection",
    "SelectionStatus",
    "key_objects",
    "read_plan",
    "search_suggestions",
    "select_action",
]
