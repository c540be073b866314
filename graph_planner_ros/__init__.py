"""Task planning for mobile manipulators: scene graph, graph memory, verified plans, memory-aware skills."""

__version__ = "0.1.0"
