"""Planning with language models that propose and a task graph that decides."""

from graph_planner_ros.planning.llm.planner import LlmPlanner, ModelPlanning
from graph_planner_ros.planning.llm.reading import KEY, Names, ParsedPlan, read_plan

__all__ = ["KEY", "LlmPlanner", "ModelPlanning", "Names", "ParsedPlan", "read_plan"]
