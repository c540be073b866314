"""The groups of commands of ``graph-planner``, a file each; `graph_planner_ros.cli` puts them together."""
