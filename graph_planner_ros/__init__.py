"""Task planning for mobile manipulators: scene graph, graph memory, verified plans, memory-aware skills."""

import pkgutil

# The generated message modules (msg, srv, action) are part of this package. In a source checkout they lie in the
# build's folder, further down the module search path, and this joins both. In an installed package it adds nothing.
__path__ = pkgutil.extend_path(__path__, __name__)

__version__ = "0.1.0"
